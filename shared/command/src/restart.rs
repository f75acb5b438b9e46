//! Restarts: where the new life begins, with which parameters and variables, and until when.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::id::OrderNo;
use pagurus_domain::order::dependency::written_way;
use pagurus_runtime::costly;
use pagurus_scenario::params::{is_costly, params_faults};
use pagurus_scenario::stage::Snapshot;
use pagurus_scenario::start::start_state;
use pagurus_scenario::{Scenario, StateId};
use pagurus_store::hot::control::{self, Locked};
use pagurus_store::hot::dependencies;
use pagurus_store::hot::dependencies::cycles::WaitGraph;
use pagurus_store::outside::amend::{Postponement, Reopening};
use pagurus_store::outside::answers::kept;
use pagurus_store::{Error, Tx};
use pagurus_wire::problem::{Problem, Type};
use serde_json::{Map, Value, json};

use crate::terms::Terms;
use crate::{Commands, Snapshots, changed_params, read_snapshot};

/// Request for a restart.
#[derive(Clone, Debug, Default)]
pub struct Restart {
    /// `initial`, or the name of a state; none means the last entry point.
    pub from: Option<String>,
    /// Changed parameters.
    pub params: Option<Value>,
    /// The version of its scenario under which the order goes on; none means the one that it has.
    pub scenario_version: Option<i32>,
    /// True if it begins although conditions of its start are still open.
    pub ignore_conditions: bool,
    /// True if it keeps the answers of the former life.
    pub keep_callbacks: bool,
    /// Sending time of the request, by the client.
    pub sent_at: Option<Timestamp>,
}

/// Note to a client whose sending time lay in the future.
pub const CLAMPED: &str = "the sending time lay in the future; the time of receipt counts";

/// Snapshots and parameters of orders, as far as an action wants to know them.
#[derive(Debug, Default)]
pub(crate) struct RestartState {
    snapshots: Snapshots,
    /// Parameters, where they are to be replaced.
    params: HashMap<OrderNo, String>,
    /// Orders that a new life lets wait for others again, each with those: conditions that were not met before it ended.
    unmet: BTreeMap<OrderNo, Vec<String>>,
    /// Names of the requests that were answered in the life before.
    answered: HashMap<OrderNo, BTreeSet<String>>,
}

impl RestartState {
    /// Reads it for all of these locked orders.
    pub async fn read(tx: &Tx<'_>, restart: Option<&Restart>, orders: &[Locked]) -> Result<Self, Error> {
        let Some(restart) = restart else { return Ok(Self::default()) };
        let nos: Vec<i64> = orders.iter().map(|order| order.head.no.0).collect();
        let goes_on = restart.from.as_deref() != Some("initial");
        let unmet =
            if restart.ignore_conditions { BTreeMap::new() } else { dependencies::closed(tx, &nos).await? };
        Ok(Self {
            snapshots: if goes_on { control::snapshots(tx, &nos).await? } else { Snapshots::default() },
            params: if restart.params.is_some() { control::params(tx, &nos).await? } else { HashMap::new() },
            unmet,
            answered: if restart.keep_callbacks { HashMap::new() } else { kept::answered(tx, &nos).await? },
        })
    }

    /// A warning of the answers that the state reads at which the new life begins, and that only the former life has.
    fn missed_answers(&self, order: &Locked, scenario: &Scenario, begins_at: StateId) -> Option<String> {
        let answered = self.answered.get(&order.head.no)?;
        let read = scenario.answers_read_in(begins_at);
        let missed: Vec<String> =
            read.intersection(answered).map(|name| format!("`callbacks.{name}`")).collect();
        (!missed.is_empty()).then(|| {
            format!(
                "state `{}` reads {}, which the new life does not have: `keepCallbacks` keeps the answers of the former one",
                scenario.state(begins_at).name,
                missed.join(", ")
            )
        })
    }

    /// Conditions that the new life of an order waits for before it begins (ORD-22).
    pub fn postponement(&self, order: &Locked, restart: &Restart) -> Option<Postponement> {
        if restart.ignore_conditions {
            return None;
        }
        let later = order.start_at.filter(|at| *at > order.now).map(Postponement::Until);
        if self.unmet.contains_key(&order.head.no) { Some(Postponement::ForOthers) } else { later }
    }

    /// True if an order has conditions that were not met before it ended.
    pub fn has_unmet(&self) -> bool {
        !self.unmet.is_empty()
    }

    /// Graph of what these orders would wait for in a new life. It is empty where nobody waits for any of them: then none
    /// closes a cycle.
    pub async fn wait_graph(&self, tx: &Tx<'_>, orders: &[Locked]) -> Result<WaitGraph, Error> {
        if !orders.iter().any(|order| order.awaited && self.unmet.contains_key(&order.head.no)) {
            return Ok(WaitGraph::default());
        }
        let before: BTreeSet<&str> = self.unmet.values().flatten().map(String::as_str).collect();
        let graph = WaitGraph::from(tx, &before.into_iter().collect::<Vec<_>>()).await?;
        // The graph of many together may be too large where that of each is small.
        if graph.is_cut() && orders.len() > 1 { Err(Error::Contended) } else { Ok(graph) }
    }

    /// Adds to the graph what an order waits for in its new life. Refuses an order that would wait for itself: one that waits
    /// for it was registered after it had ended (ORD-14).
    pub fn check_cycle(&self, order: &Locked, graph: &mut WaitGraph) -> Result<(), Problem> {
        let before = self.unmet.get(&order.head.no).into_iter().flatten();
        let before: Vec<&str> = before.map(String::as_str).collect();
        let Some(way) = graph.refuse(&order.head.id, &before, order.awaited) else { return Ok(()) };
        let message = format!(
            "the order would wait for itself: {}; each waits for the next. `ignoreConditions` restarts it without waiting",
            written_way(&way)
        );
        Err(Problem::new(Type::Refused, message).with_status(order.status))
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
        stored: &RestartState,
    ) -> Result<Result<(Reopening<'a>, Option<String>), Problem>, Error> {
        let (scenario, other) = match self.chosen(tx, order, restart.scenario_version).await? {
            Ok(chosen) => chosen,
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
            None if restart.keep_callbacks => {
                Some(Snapshot::entering(&scenario.state(scenario.initial).name, Map::new()))
            }
            None => None,
            Some(from) => {
                let former = read_snapshot(&stored.snapshots, order.head.no)?;
                let rounds = restart.keep_callbacks.then(|| former.rounds.clone());
                Some(Snapshot { rounds: rounds.unwrap_or_default(), ..former.restarted_at(from) })
            }
        };
        let sent_at = restart.sent_at.map_or(order.now, |sent| sent.min(order.now));
        let clamped = restart.sent_at.filter(|sent| *sent > order.now).map(|_| CLAMPED.to_owned());
        let begins_at =
            from.as_deref().and_then(|from| scenario.state_named(from)).unwrap_or(scenario.initial);
        let missed = stored.missed_answers(order, &scenario, begins_at);
        let notes: Vec<String> = clamped.into_iter().chain(missed).collect();
        let note = (!notes.is_empty()).then(|| notes.join("; "));
        let start_deadline = order
            .start_period
            .and_then(|seconds| u64::try_from(seconds).ok())
            .and_then(|seconds| sent_at.checked_add(Duration::from_secs(seconds)).ok());
        let former_params =
            stored.params.get(&order.head.no).and_then(|params| serde_json::from_str::<Value>(params).ok());
        let mut detail = terms.detail(json!({
            "reason": terms.reason, "from": from.as_deref().unwrap_or("initial"), "formerParams": former_params,
            "scenarioVersion": restart.scenario_version, "formerScenarioVersion": order.scenario_version,
            "ignoreConditions": restart.ignore_conditions, "keepCallbacks": restart.keep_callbacks,
        }));
        if let Some(note) = &note {
            detail["note"] = note.as_str().into();
        }
        let reopening = Reopening {
            snapshot: snapshot.map(|snapshot| snapshot.to_text()),
            keeps_answers: restart.keep_callbacks,
            entry_point: from,
            scenario: other,
            postponed: stored.postponement(order, restart),
            params: restart.params.as_ref().map(|params| changed_params(params, &scenario)),
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
    let named = restart.from.as_deref();
    // A state may have the name of the word.
    let from = match named {
        Some("initial") => None,
        named => named.or(order.entry_point.as_deref()),
    };
    match from {
        None => Ok(None),
        Some(name) => {
            let is_stored = named.is_none() && restart.scenario_version.is_some();
            let pointer = if is_stored { "/scenarioVersion" } else { "/from" };
            let state = start_state(scenario, name, pointer);
            state
                .map(|state| Some(state.name.clone()))
                .map_err(|fault| Problem::of_faults(Type::Invalid, &[fault]))
        }
    }
}
