//! Restarts: where the new life begins, with which parameters and variables, and until when.

use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::order::registration::{is_costly, params_faults};
use pagurus_domain::scenario::StateKind;
use pagurus_domain::scenario::stage::Snapshot;
use pagurus_runtime::costly;
use pagurus_store::amend::{self, Reopening};
use pagurus_store::control::{self, Allowed, Locked};
use pagurus_store::stages::ReadyStage;
use pagurus_store::{Error, Tx};
use pagurus_wire::problem::{Problem, Type};
use serde_json::{Map, Value, json};

use super::{Terms, scenario_of, stored_snapshot};
use crate::Intake;
use crate::register::CLAMPED;

/// How a restart is asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Restart {
    /// `initial`, or the name of a state; none means the last entry point.
    pub from: Option<String>,
    /// Changed parameters.
    pub params: Option<Value>,
    /// When the client says it sent the request.
    pub sent_at: Option<Timestamp>,
}

/// Begins a new life of a locked order. The stage that is ready with it, and what was not done quite as
/// asked for.
///
/// # Errors
/// The database failed; the inner error is the problem to answer with.
pub(super) async fn reopen(
    intake: &Intake,
    tx: &Tx<'_>,
    allowed: Allowed<'_>,
    restart: &Restart,
    terms: Terms<'_>,
) -> Result<Result<(ReadyStage, Option<String>), Problem>, Error> {
    let order = allowed.order();
    let scenario = match scenario_of(intake, tx, order).await? {
        Ok(scenario) => scenario,
        Err(problem) => return Ok(Err(problem)),
    };
    let from = match restart.from.as_deref() {
        None => order.entry_point.clone(),
        Some("initial") => None,
        Some(name) => match scenario.state_named(name).map(|state| scenario.state(state).kind) {
            Some(StateKind::Plain | StateKind::Polling) => Some(name.to_owned()),
            found => {
                let told = match found {
                    None => format!("the scenario has no state `{name}`"),
                    Some(kind) => format!("state `{name}` is {kind}: nothing could begin there"),
                };
                let mut problem = Problem::new(Type::Invalid, told);
                problem.pointer = Some("/from".into());
                return Ok(Err(problem));
            }
        },
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
            let vars = stored_vars(tx, order).await?;
            Some(Snapshot::entering(from.clone(), vars).to_value().to_string())
        }
    };
    let sent_at = restart.sent_at.map_or(order.now, |sent| sent.min(order.now));
    let note = restart.sent_at.filter(|sent| *sent > order.now).map(|_| CLAMPED.to_owned());
    let start_deadline = order
        .start_period
        .and_then(|seconds| u64::try_from(seconds).ok())
        .and_then(|seconds| sent_at.checked_add(Duration::from_secs(seconds)).ok());
    let former_params = match &restart.params {
        Some(_) => serde_json::from_str::<Value>(&control::params(tx, order.no).await?).ok(),
        None => None,
    };
    let mut detail = terms.keyed(json!({
        "reason": terms.reason, "from": from.as_deref().unwrap_or("initial"), "formerParams": former_params,
    }));
    if let Some(note) = &note {
        detail["note"] = note.as_str().into();
    }
    let reopening = Reopening {
        snapshot,
        params: restart.params.as_ref().map(ToString::to_string),
        start_deadline,
        process_timeout: scenario.timeouts.process.or(intake.rules.process_timeout),
        source: terms.source,
        detail: detail.to_string(),
    };
    Ok(Ok((amend::reopen(tx, allowed, &reopening).await?, note)))
}

async fn stored_vars(tx: &Tx<'_>, order: &Locked) -> Result<Map<String, Value>, Error> {
    Ok(stored_snapshot(tx, order).await?.vars)
}
