//! `pagurus top`: what the engine does now, on one screen: rates, backlogs, flows, systems, nodes.

mod page;

use std::time::Duration;

use clap::Args;
use pagurus_wire::cluster::LeaseLine;
use pagurus_wire::flows::{FlowView, SystemView};
use pagurus_wire::nodes::NodeView;
use pagurus_wire::stats::StatsView;
use serde::Serialize;

use crate::client::ApiClient;
use crate::failure::CliError;
use crate::screen::Screen;
use crate::watch;

/// Settings of the view.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Show the page once and exit; this is the default if the output is not a terminal
    #[arg(long)]
    once: bool,
    /// Number of flows and of systems to show
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=500))]
    rows: u16,
}

/// Interval between two looks: the dispatcher writes each second, and one look at the present serves all who ask within two.
const EVERY: Duration = Duration::from_secs(2);
/// Time that is looked back over, and its steps.
const TIME: [(&str, &str); 2] = [("since", "20m"), ("step", "1m")];

/// Everything on the screen.
#[derive(Debug, Serialize)]
struct Sight {
    stats: StatsView,
    flows: Vec<FlowView>,
    systems: Vec<SystemView>,
    nodes: Vec<NodeView>,
    leases: Vec<LeaseLine>,
}

/// Shows it once, or until interrupted.
pub(crate) async fn run(arguments: &Arguments, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    let rows = usize::from(arguments.rows);
    let turn = async |screen: &Screen| {
        let sight = look(client).await?;
        if screen.json { screen.value(&sight) } else { screen.line(&page::page(&sight, rows, screen)) }
    };
    if arguments.once || !screen.is_terminal() {
        return turn(screen).await;
    }
    let turn = &turn;
    watch::run(EVERY, screen, |screen| async move { turn(&screen).await }).await
}

async fn look(client: &ApiClient) -> Result<Sight, CliError> {
    let time = TIME.map(|(name, value)| (name, value.to_owned()));
    Ok(Sight {
        stats: client.get("/v1/stats", &time).await?.read()?,
        flows: client.all("/v1/flows").await?,
        systems: client.all("/v1/systems").await?,
        nodes: client.all("/v1/nodes").await?,
        leases: client.all("/v1/leases").await?,
    })
}
