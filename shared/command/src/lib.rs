//! Everything that is done to an order from outside its stages: by clients and operators (cancel, interrupt,
//! kill, restart, repair, update, clone, move to another version, call, release of a queue, repeat of
//! notifications), and by the engine itself (end, hand out again, mark as late).
//!
//! Each action locks, asks the law, writes, and sends its effects below the commit. Services bring who asks
//! and what for; nothing here knows over which transport it came.

pub mod act;
pub mod amend;
pub mod answer;
pub mod call;
pub mod check;
mod clone;
pub mod flows;
pub mod jeopardy;
pub mod migrate;
mod nodes;
pub mod operations;
pub mod queue;
pub mod recovery;
mod register;
mod repair;
pub mod request;
pub mod resend;
mod restart;
mod schedules;
mod searches;
pub mod shift;
mod subscriptions;
mod terms;
mod texts;
mod tries;
mod windows;

use std::collections::HashMap;
use std::sync::Arc;

use pagurus_domain::attributes::attribute_values;
use pagurus_domain::id::{OrderNo, ScenarioNo};
use pagurus_domain::order::principal::{Door, Principal};
use pagurus_domain::order::transition::{Cause, Refused};
use pagurus_runtime::Host;
use pagurus_runtime::metrics::{Count, Guard};
use pagurus_runtime::scenarios::{Catalogue, Known};
use pagurus_runtime::secrets::DeploymentSecrets;
use pagurus_scenario::Scenario;
use pagurus_scenario::stage::Snapshot;
use pagurus_store::hot::control::{self, Locked};
use pagurus_store::outside::amend::ChangedParams;
use pagurus_store::{Error, Tx};
use pagurus_wire::problem::{Problem, Type};
use serde_json::Value;

pub use act::{Acted, LifeAction};
pub use clone::CloneOrigin;
pub use restart::{CLAMPED, Restart};
pub use schedules::{PutTerms, ScheduleTurn};
pub use terms::Terms;
pub use windows::WindowAction;

/// Commands on orders, with all that they need of their process. Cheap to clone.
#[derive(Clone)]
pub struct Commands {
    /// The process.
    pub host: Host,
    /// Scenarios of the installation.
    pub catalogue: Catalogue,
    /// The secrets that nothing that is shown or stored may hold.
    pub secrets: Arc<DeploymentSecrets>,
}

impl Commands {
    /// The commands of a process that has no catalogue of its own.
    #[must_use]
    pub fn of(host: Host) -> Self {
        let secrets = DeploymentSecrets::of(&host.live);
        Self { catalogue: Catalogue::of(&host.live), secrets: Arc::new(secrets), host }
    }

    /// Counts actions that were carried out.
    fn note(&self, action: &str, door: Door, count: usize) {
        self.host.metrics.count_by(Count::Actions, &[action, door.as_str()], count as u64);
    }

    /// Counts a change of an order that the law refused; other problems are no guards.
    fn note_refused(&self, cause: Cause, problem: &Problem) {
        let refused = problem.kind() == Some(Type::Refused);
        self.host.metrics.guard_refused(Guard::Law(cause), usize::from(refused));
    }

    /// The version of the scenario that an order runs.
    ///
    /// # Errors
    /// The database failed; the inner error is the problem to answer with.
    async fn scenario_of(
        &self,
        tx: &Tx<'_>,
        order: &Locked,
    ) -> Result<Result<Arc<Scenario>, Problem>, Error> {
        let known = self.catalogue.get(tx, order.head.scenario).await?;
        Ok(known.and_then(Known::readable).ok_or_else(|| {
            let message =
                format!("scenario `{}` version {} cannot be read", order.scenario, order.scenario_version);
            Problem::new(Type::UnknownScenario, message)
        }))
    }
}

impl Commands {
    /// The scenario of an order in another version of it, with our number of that.
    ///
    /// # Errors
    /// The database failed; the inner error is the problem to answer with.
    async fn version_of(
        &self,
        tx: &Tx<'_>,
        order: &Locked,
        version: i32,
    ) -> Result<Result<(Arc<Scenario>, ScenarioNo), Problem>, Error> {
        let known = self.catalogue.find(tx, &order.scenario, Some(version)).await?;
        let found = known.and_then(|known| Some((known.no, known.readable()?)));
        Ok(found.map(|(no, scenario)| (scenario, no)).ok_or_else(|| {
            let message = format!("scenario `{}` has no version {version} that can be read", order.scenario);
            let mut problem = Problem::new(Type::Invalid, message);
            problem.pointer = Some("/scenarioVersion".into());
            problem
        }))
    }

    /// The scenario that an order is to go on with, and our number of it where that is another version.
    async fn chosen(
        &self,
        tx: &Tx<'_>,
        order: &Locked,
        version: Option<i32>,
    ) -> Result<Result<(Arc<Scenario>, Option<ScenarioNo>), Problem>, Error> {
        Ok(match version {
            None => self.scenario_of(tx, order).await?.map(|scenario| (scenario, None)),
            Some(version) => {
                self.version_of(tx, order, version).await?.map(|(scenario, no)| (scenario, Some(no)))
            }
        })
    }
}

/// Changed parameters with the values by which their order is found.
fn changed_params(params: &Value, scenario: &Scenario) -> ChangedParams {
    ChangedParams { text: params.to_string(), attributes: attribute_values(&scenario.search, params) }
}

/// Adds to the detail of an event who caused it.
fn caused(mut detail: Value, by: &Principal) -> Value {
    detail["by"] = by.to_value();
    detail
}

/// The answer where the law refuses.
fn refused(refused: Refused) -> Problem {
    Problem::new(Type::Refused, refused.to_string()).with_status(refused.status)
}

/// Positions and variables of locked orders, as JSON.
type Snapshots = HashMap<OrderNo, String>;

/// Position and variables of an order; blank where it has none. One that cannot be read is an error:
/// taken for blank, it would cost the order its variables.
fn read_snapshot(stored: &Snapshots, no: OrderNo) -> Result<Snapshot, Error> {
    let Some(text) = stored.get(&no) else { return Ok(Snapshot::default()) };
    let read = serde_json::from_str::<Value>(text)
        .map_err(|error| error.to_string())
        .and_then(|value| Snapshot::from_value(&value).map_err(|error| error.to_string()));
    read.map_err(|found| Error::Broken { what: "contexts.snapshot", found })
}

/// Reads the position and variables of one order.
async fn stored_snapshot(tx: &Tx<'_>, order: &Locked) -> Result<Snapshot, Error> {
    read_snapshot(&control::snapshots(tx, &[order.head.no.0]).await?, order.head.no)
}
