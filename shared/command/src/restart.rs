//! Restarts: where the new life begins, with which parameters and variables, and until when.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::id::OrderNo;
use pagurus_domain::order::registration::{is_costly, params_faults};
use pagurus_domain::scenario::stage::Snapshot;
use pagurus_domain::scenario::{Scenario, StateKind};
use pagurus_runtime::costly;
use pagurus_store::amend::Reopening;
use pagurus_store::control::{self, Locked};
use pagurus_store::{Error, Tx};
use pagurus_wire::problem::{Problem, Type};
use serde_json::{Value, json};

use crate::terms::Terms;
use crate::{Commands, Snapshots, read_snapshot};

/// Request for a restart.
#[derive(Clone, Debug, Default)]
pub struct Restart {
    /// `initial`, or the name of a state; none means the last entry point.
    pub from: Option<String>,
    /// Changed parameters.
    pub params: Option<Value>,
    /// Sending time of the request, by the client.
    pub sent_at: Option<Timestamp>,
}

/// Note to a client whose sending time lay in the future.
pub const CLAMPED: &str = "the sending time lay in the future; the time of receipt counts";

/// Snapshots and parameters of orders, as far as an action wants to know them.
#[derive(Debug, Default)]
pub(crate) struct Stored {
    snapshots: Snapshots,
    /// Parameters, where they are to be replaced.
    params: HashMap<OrderNo, String>,
}

impl Stored {
    /// Reads it for all of these locked orders.
    ///
    /// # Errors
    /// The database fails.
    pub async fn read(tx: &Tx<'_>, restart: Option<&Restart>, orders: &[Locked]) -> Result<Self, Error> {
        let Some(restart) = restart else { return Ok(Self::default()) };
        let nos: Vec<i64> = orders.iter().map(|order| order.head.no.0).collect();
        let goes_on = restart.from.as_deref() != Some("initial");
        Ok(Self {
            snapshots: if goes_on { control::snapshots(tx, &nos).await? } else { Snapshots::default() },
            params: if restart.params.is_some() { control::params(tx, &nos).await? } else { HashMap::new() },
        })
    }
}

impl Commands {
    /// The new life of a locked order, and what was not done quite as asked for.
    ///
    /// # Errors
    /// The database failed; the inner error is the problem to answer with.
    pub(crate) async fn reopening<'a>(
        &self,
        tx: &Tx<'_>,
        order: &Locked,
        restart: &Restart,
        terms: Terms<'a>,
        stored: &Stored,
    ) -> Result<Result<(Reopening<'a>, Option<String>), Problem>, Error> {
        let scenario = match self.scenario_of(tx, order).await? {
            Ok(scenario) => scenario,
            Err(problem) => return Ok(Err(problem)),
        };
        let from = match begin(restart, order, &scenario) {
            Ok(from) => from,
            Err(problem) => return Ok(Err(problem)),
        };
        let faults = restart.params.as_ref().map_or_else(Vec::new, |params| {
            costly::run(is_costly(params, &scenario), || params_faults(params, &scenario))
        });
        if !faults.is_empty() {
            return Ok(Err(Problem::of_faults(Type::Invalid, &faults)));
        }
        // From an entry point the scenario goes on with what it had; from the start it has nothing.
        let snapshot = match &from {
            None => None,
            Some(_) => {
                let vars = read_snapshot(&stored.snapshots, order.head.no)?.vars;
                Some(Snapshot::entering(from.clone(), vars).to_value().to_string())
            }
        };
        let sent_at = restart.sent_at.map_or(order.now, |sent| sent.min(order.now));
        let note = restart.sent_at.filter(|sent| *sent > order.now).map(|_| CLAMPED.to_owned());
        let start_deadline = order
            .start_period
            .and_then(|seconds| u64::try_from(seconds).ok())
            .and_then(|seconds| sent_at.checked_add(Duration::from_secs(seconds)).ok());
        let former_params =
            stored.params.get(&order.head.no).and_then(|params| serde_json::from_str::<Value>(params).ok());
        let mut detail = terms.detail(json!({
            "reason": terms.reason, "from": from.as_deref().unwrap_or("initial"), "formerParams": former_params,
        }));
        if let Some(note) = &note {
            detail["note"] = note.as_str().into();
        }
        let reopening = Reopening {
            snapshot,
            params: restart.params.as_ref().map(ToString::to_string),
            start_deadline,
            process_timeout: scenario.timeouts.process.or(self.host.settings().recovery.process_timeout),
            source: terms.by.source(),
            detail: detail.to_string(),
        };
        Ok(Ok((reopening, note)))
    }
}

/// The state at which the new life begins; none is the initial one.
fn begin(restart: &Restart, order: &Locked, scenario: &Scenario) -> Result<Option<String>, Problem> {
    match restart.from.as_deref() {
        None => Ok(order.entry_point.clone()),
        Some("initial") => Ok(None),
        Some(name) => match scenario.state_named(name).map(|state| scenario.state(state).kind) {
            Some(StateKind::Plain | StateKind::Polling) => Ok(Some(name.to_owned())),
            found => {
                let message = match found {
                    None => format!("the scenario has no state `{name}`"),
                    Some(kind) => format!("state `{name}` is {kind}: nothing could begin there"),
                };
                Err(Problem::new(Type::Invalid, message).at("/from"))
            }
        },
    }
}
