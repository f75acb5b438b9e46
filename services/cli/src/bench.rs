//! `pagurus bench`: loads an installation over its API with orders of one scenario, and tells how soon they were accepted and
//! ended. These are real orders, with an id prefix of their own.
//!
//! Never keeps anything of a single order: what is remembered are distributions of times, and groups that are not over yet.

mod figures;
mod follow;
mod send;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use clap::Args;
use clap::builder::NonEmptyStringValueParser as Text;
use pagurus_runtime::interrupted;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use self::figures::Figures;
use self::follow::Groups;
use crate::client::ApiClient;
use crate::failure::CliError;
use crate::input;
use crate::operation::watch::confirm_or;
use crate::screen::Screen;

/// Orders, where neither their number nor a time is given.
const USUAL_ORDERS: u64 = 1000;
/// Time for requests under way, and for a last look, once somebody has asked to stop.
const GRACE: Duration = Duration::from_secs(10);

/// Orders to send, and how.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of the scenario
    #[arg(long, value_parser = Text::new())]
    scenario: String,
    /// Number of orders to send [default: 1000, or as many as possible within --for]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    orders: Option<u64>,
    /// Stop sending after this time, such as `30s` or `5m`
    #[arg(long = "for", value_name = "DURATION", value_parser = input::parse_duration)]
    duration: Option<Duration>,
    /// Concurrent requests
    #[arg(long, default_value_t = 4, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=256))]
    parallel: u16,
    /// Orders per request
    #[arg(long, default_value_t = 100, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    batch: u16,
    /// Parameters of each order: a JSON object, or @FILE
    #[arg(long, value_name = "JSON")]
    params: Option<String>,
    /// Longest wait for orders to end after the last one is sent
    #[arg(long, default_value = "1m", value_name = "DURATION", value_parser = input::parse_duration)]
    end_within: Duration,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

/// A measurement that is under way.
struct Bench {
    /// Begin of all ids.
    prefix: String,
    scenario: String,
    /// Parameters of each order, as JSON.
    params: String,
    orders: u64,
    batch: u64,
    end_within: Duration,
    /// No batch begins after it.
    until: Option<Instant>,
    begun: Instant,
    /// Cancelled where somebody wants it to end, or no order is registered.
    stop: CancellationToken,
    state: Mutex<State>,
}

/// Knowledge of the measurement so far.
#[derive(Default)]
struct State {
    /// Number of the next order.
    next: u64,
    figures: Figures,
    groups: Groups,
    /// Problem of a batch of which no order was registered: the others would fare no better.
    hopeless: Option<CliError>,
    /// True once no batch is under way and none will be.
    is_sent: bool,
}

impl Bench {
    fn of(arguments: &Arguments) -> Result<Self, CliError> {
        let params =
            arguments.params.as_deref().map_or_else(|| Ok(serde_json::Map::new()), input::params_of)?;
        let usual = if arguments.duration.is_some() { u64::MAX } else { USUAL_ORDERS };
        // The last part of the id of this time is chance: two measurements at once do not meet.
        let unique = Uuid::now_v7().simple().to_string();
        let begun = Instant::now();
        Ok(Self {
            prefix: format!("bench-{}", &unique[unique.len() - 12..]),
            scenario: arguments.scenario.clone(),
            params: serde_json::Value::Object(params).to_string(),
            orders: arguments.orders.unwrap_or(usual),
            batch: arguments.batch.into(),
            end_within: arguments.end_within,
            until: arguments.duration.and_then(|duration| begun.checked_add(duration)),
            begun,
            stop: CancellationToken::new(),
            state: Mutex::default(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs a measurement, and prints what was measured however it ends.
pub(crate) async fn run(arguments: &Arguments, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    if !arguments.yes {
        let until =
            || arguments.duration.map_or_else(String::new, |time| format!(" for {} s", time.as_secs()));
        let count = arguments.orders.or(arguments.duration.is_none().then_some(USUAL_ORDERS));
        let count = count.map_or_else(|| "orders".to_owned(), |count| format!("{count} orders"));
        let warning = format!(
            "this sends {count} of scenario `{}`{} to {}; the orders are real",
            arguments.scenario,
            until(),
            client.base()
        );
        screen.note(&warning);
        confirm_or(screen, "say --yes")?;
    }
    let bench = Bench::of(arguments)?;
    screen.note(&format!(
        "the ids of the orders start with {}; Ctrl-C stops and shows the results so far",
        bench.prefix
    ));
    let interrupted = tokio::spawn(until_interrupted(bench.stop.clone()));
    let (_, followed) = tokio::join!(
        send::all(&bench, usize::from(arguments.parallel), client),
        follow::all(&bench, client, screen)
    );
    interrupted.abort();
    let State { figures, hopeless, .. } = std::mem::take(&mut *bench.state());
    if screen.json {
        screen.value(&figures.to_value(&bench.prefix, &bench.scenario))?;
    } else {
        screen.line(&figures.table(screen))?;
        if figures.not_ended() > 0 {
            screen.note(&format!(
                "unfinished orders continue: pagurus order list --id-prefix {}",
                bench.prefix
            ));
        }
    }
    followed?;
    hopeless.map_or_else(|| figures.verdict(), Err)
}

/// The first Ctrl-C ends the measurement, the second the program.
async fn until_interrupted(stop: CancellationToken) {
    interrupted().await;
    stop.cancel();
    interrupted().await;
    std::process::exit(130);
}
