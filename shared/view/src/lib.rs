//! Views: everything that is shown of orders, scenarios, queues and nodes, as values that serialize.
//!
//! A view changes nothing, and knows no transport: it takes a query that an intake has read, looks at a bounded number of
//! rows, leaves out what nobody is shown, and answers with a value or with the problem to answer with.

mod actors;
mod audit;
mod callbacks;
mod calls;
mod cluster;
mod decisions;
mod dependencies;
mod doctor;
mod errors;
mod explain;
mod export;
mod flows;
mod foresight;
mod hidden;
mod history;
mod ledger;
mod log;
mod notifications;
mod operations;
mod order;
mod orders;
mod part;
mod query;
mod queues;
mod recorded;
mod refused;
mod retry;
mod scenarios;
mod schedules;
mod scoped;
mod searches;
mod stand;
mod stats;
mod steps;
mod stream;
mod subscriptions;
mod tasks;
mod windows;

use std::sync::Arc;

use pagurus_domain::access::scope::AccessScope;
use pagurus_runtime::Host;
use pagurus_runtime::scenarios::Catalogue;
use pagurus_runtime::search::Finder;
use pagurus_runtime::secrets::DeploymentSecrets;
use pagurus_runtime::trouble::store_problem;
use pagurus_store::Error;
use pagurus_wire::problem::Problem;
use tokio::sync::Semaphore;

pub use audit::{AuditChainQuery, AuditQuery};
pub use callbacks::CallbacksQuery;
pub use calls::call_view;
pub use decisions::DecisionsQuery;
pub use errors::{ErrorGroupsQuery, ErrorOrdersQuery};
pub use explain::{Foresight, plain_reason};
pub use export::ExportQuery;
pub use flows::{FlowsQuery, StopsQuery, SystemsQuery};
pub use history::EventsQuery;
pub use ledger::{LedgerFields, LedgerQuery};
pub use log::LogQuery;
pub use notifications::NotificationsQuery;
pub use operations::{OperationOrdersQuery, OperationsQuery};
pub use orders::{CountsFields, OrdersFields, OrdersQuery};
pub use part::PartQuery;
pub use query::{ListQuery, moment};
pub use queues::QueueQuery;
pub use recorded::{Recorded, RecordedCount};
pub use refused::refused_view;
pub use schedules::{ScheduleRunsQuery, ScheduleTimesQuery};
pub use scoped::{ScopedKind, admit_names};
pub use searches::SearchesQuery;
pub use stats::StatsQuery;
pub use stream::FoundEvents;
pub use windows::WindowsQuery;

/// Views, with all that they need of their process. Cheap to clone.
#[derive(Clone)]
pub struct Views {
    host: Host,
    catalogue: Catalogue,
    /// The secrets that nothing that is shown may hold.
    secrets: Arc<DeploymentSecrets>,
    /// Lists that look through many rows at a time, so that reads by key find a connection.
    searches: Arc<Semaphore>,
    /// Figures of the present, shared by all who ask.
    now: Arc<stats::SharedNow>,
    /// Scope of those who ask.
    scope: AccessScope,
}

impl Views {
    /// The views of a process with this catalogue and these secrets, as those see them who see everything.
    #[must_use]
    pub fn of(host: Host, catalogue: Catalogue, secrets: Arc<DeploymentSecrets>) -> Self {
        let searches = (host.settings().database.api_connections / 2).max(1);
        let (searches, now) = (Arc::new(Semaphore::new(searches)), Arc::default());
        Self { host, catalogue, secrets, searches, now, scope: AccessScope::WHOLE }
    }

    /// Finder of orders by conditions.
    fn finder(&self) -> Finder {
        Finder { catalogue: self.catalogue.clone(), secrets: Arc::clone(&self.secrets) }
    }

    /// The problem to answer with where the database fails in this operation.
    fn failed(&self, operation: &str) -> impl Fn(Error) -> Problem {
        move |error| store_problem(&self.host, operation, &error)
    }
}
