//! `pagurus flows what-if`: the last hour of a flow, played through other settings.

use clap::Args;
use pagurus_domain::flow::DistributionMode;
use pagurus_scenario::value::percent_encode;
use pagurus_wire::what_if::{WhatIfSystem, WhatIfTotals, WhatIfView};
use serde::Serialize;

use crate::client::ApiClient;
use crate::failure::CliError;
use crate::input::given;
use crate::screen::{Screen, harmless, time};

/// Likeness below which a replay says little.
const LIKE: f64 = 0.8;

/// Changes to what was.
#[derive(Debug, Args, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WhatIf {
    /// Name of the flow
    #[serde(skip)]
    flow: String,
    /// Mode of distribution: simple, rated_flows, stopped_flows, limited_flows
    #[arg(long)]
    mode: Option<DistributionMode>,
    /// Greatest limit of the flow
    #[arg(long, value_name = "STAGES")]
    max_limit: Option<u32>,
    /// Weight of the flow beside others
    #[arg(long)]
    weight: Option<u32>,
    /// Factor of the stages that come: with 2, twice as many
    #[arg(long, value_name = "FACTOR")]
    load: Option<f64>,
    /// Factor of the time that the called systems take for a call
    #[arg(long, value_name = "FACTOR")]
    call_time: Option<f64>,
    /// Factor of the calls that the called systems work on at once
    #[arg(long, value_name = "FACTOR")]
    capacity: Option<f64>,
}

/// Plays the flow, and shows the sums side by side.
pub(crate) async fn run(asked: &WhatIf, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    let path = format!("/v1/flows/{}/what-if", percent_encode(&asked.flow));
    let reply = client.post(&path, &given(asked)?).await?;
    reply.show(screen, |view: &WhatIfView| shown(view, screen))
}

/// A figure, by its name.
type Figure = (&'static str, fn(&WhatIfTotals) -> String);

const FIGURES: [Figure; 6] = [
    ("stages that came", |totals| format!("{:.0}", totals.came)),
    ("ended", |totals| format!("{:.0}", totals.ended)),
    ("repeated", |totals| format!("{:.0}", totals.repeated)),
    ("wait on average", |totals| totals.wait_ms.map_or_else(String::new, |ms| format!("{:.1} s", ms / 1e3))),
    ("most waiting", |totals| format!("{:.0}", totals.most_waiting)),
    ("waiting at the end", |totals| format!("{:.0}", totals.waiting_at_end)),
];

fn shown(view: &WhatIfView, screen: &Screen) -> String {
    let three = &view.totals;
    let rows = FIGURES.map(|(name, figure)| {
        [name.to_owned(), figure(&three.recorded), figure(&three.replayed), figure(&three.changed)]
    });
    let mut lines = vec![format!("{} to {}", time(view.from), time(view.until))];
    lines.push(screen.table(&["", "RECORDED", "AS IT WAS", "OTHERWISE"], &rows));
    if view.skipped_minutes > 0 {
        lines.push(format!(
            "only the last {} minutes: more stages came than a replay takes",
            view.steps.len()
        ));
    }
    lines.extend(view.systems.iter().map(system));
    lines.push(format!("the replay as it was is like the record by {:.0} %", view.likeness * 100.0));
    if view.likeness < LIKE {
        lines.push("that is too little to rely on".to_owned());
    }
    lines.join("\n")
}

fn system(system: &WhatIfSystem) -> String {
    let WhatIfSystem { system, at_once, was_full, call_ms, .. } = system;
    let name = harmless(system);
    if *was_full {
        format!("{name}: works on {at_once} calls at once, {call_ms:.0} ms each")
    } else {
        format!(
            "{name}: was never at its limit, so nobody knows what more it can do; assumed: {at_once} calls at once, \
             {call_ms:.0} ms each"
        )
    }
}
