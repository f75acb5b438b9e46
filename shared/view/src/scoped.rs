//! What those who ask may see at all: the things of tenants that they do not belong to are not there for them.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use pagurus_domain::access::scope::{AccessScope, OwnedKind};
use pagurus_domain::order::registration::{Request, flow_marker};
use pagurus_domain::schedule::OrderTemplate;
use pagurus_store::lists::scope;
use pagurus_store::outside::operations;
use pagurus_store::upkeep::schedules;
use pagurus_wire::problem::{Problem, Type};
use serde_json::Value;

use crate::Views;
use crate::history::parsed;

/// Kind of a thing that an address names, and that belongs to a flow, a queue or a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScopedKind {
    /// An order, by its id.
    Order,
    /// A flow, a queue or a scenario.
    Owned(OwnedKind),
    /// A schedule: it is seen by those who see its order.
    Schedule,
    /// An operation: it is seen by those who see all that its maker sees.
    Operation,
}

impl Views {
    /// The same views for somebody of this scope.
    #[must_use]
    pub fn seen_in(&self, scope: AccessScope) -> Self {
        Self { scope, ..self.clone() }
    }

    /// Lets pass who sees a thing.
    ///
    /// # Errors
    /// The problem that a thing has which is not there.
    pub async fn admit(&self, kind: ScopedKind, name: &str) -> Result<(), Problem> {
        if self.scope.has_every_name() {
            return Ok(());
        }
        match kind {
            ScopedKind::Order => {
                let names = async { scope::names_of(&self.host.store.api().await?, name).await };
                let names = names.await.map_err(self.failed("scope"))?;
                let is_seen = names.is_some_and(|names| names.are_in(&self.scope));
                if is_seen { Ok(()) } else { Err(Problem::no_order(name)) }
            }
            ScopedKind::Owned(OwnedKind::Flow) if self.has_flow(name) => Ok(()),
            ScopedKind::Owned(OwnedKind::Flow) => Err(Problem::no_flow(name)),
            ScopedKind::Owned(kind) if self.scope.has(kind, name) => Ok(()),
            ScopedKind::Owned(OwnedKind::Scenario) => Err(Problem::no_scenario(name, None)),
            ScopedKind::Owned(OwnedKind::Queue) => Err(Problem::no_queue(name)),
            ScopedKind::Schedule => {
                let found = async { schedules::find(&self.host.store.api().await?, name).await };
                let found = found.await.map_err(self.failed("schedules"))?;
                let is_seen = found.is_none_or(|found| self.has_template(&parsed(&found.template)));
                if is_seen { Ok(()) } else { Err(Problem::no_schedule(name)) }
            }
            ScopedKind::Operation => {
                // A text that is no number is refused by who reads it.
                let Ok(no) = name.parse::<i64>() else { return Ok(()) };
                let found = async { operations::find(&self.host.store.api().await?, no).await };
                let found = found.await.map_err(self.failed("operation"))?;
                let is_seen = found.is_some_and(|found| self.scope.has_work_of(found.tenants.as_deref()));
                if is_seen { Ok(()) } else { Err(Problem::no_operation(no)) }
            }
        }
    }

    /// True if a flow is seen: as itself, and as one of its scenario, where flows are made by scenarios.
    pub(crate) fn has_flow(&self, flow: &str) -> bool {
        let settings = self.host.settings();
        let attribute = settings.distribution.flows.scenario_attribute;
        let scenario = attribute.and_then(|place| flow.split('|').nth(place));
        self.scope.has(OwnedKind::Flow, flow)
            && scenario.is_none_or(|scenario| self.scope.has(OwnedKind::Scenario, scenario))
    }

    /// Lets pass who sees the orders of a template.
    ///
    /// # Errors
    /// The problem of a name that is not there, or not theirs.
    pub fn admit_template(&self, order: &Value) -> Result<(), Problem> {
        let text = |name: &str| order.get(name).and_then(Value::as_str);
        admit_names(&self.scope, text("scenario").unwrap_or_default(), None, text("queue"))
    }

    /// True if the orders of a schedule are seen: by scenario and queue, as far as its template names them, and by the flow and
    /// queue that one of them would have now.
    pub(crate) fn has_template(&self, order: &Value) -> bool {
        if self.scope.has_every_name() {
            return true;
        }
        let text = |name: &str| order.get(name).and_then(Value::as_str);
        text("scenario").is_none_or(|name| self.scope.has(OwnedKind::Scenario, name))
            && text("queue").is_none_or(|name| self.scope.has(OwnedKind::Queue, name))
            && sample(order).is_none_or(|request| self.has_request(&request))
    }

    fn has_request(&self, request: &Request) -> bool {
        let flow = flow_marker(&self.host.settings().distribution.flow_attributes, request);
        let queue = self.catalogue.queue_of(request);
        self.scope.has_order(&flow, queue.as_deref(), &request.scenario)
    }

    /// Scope of those who ask.
    #[must_use]
    pub const fn scope(&self) -> &AccessScope {
        &self.scope
    }
}

/// An order of a template, as it would be now; none if nobody could register it.
fn sample(order: &Value) -> Option<Request> {
    let name = "sample";
    let template = OrderTemplate::read(order.clone(), name).ok()?;
    template.request(name, name.to_owned(), Timestamp::now(), &TimeZone::UTC).ok()
}

/// Lets pass who may register an order of these names.
///
/// # Errors
/// The problem of a scenario that is not there, or of a flow or a queue that is not theirs.
pub fn admit_names(
    scope: &AccessScope,
    scenario: &str,
    flow: Option<&str>,
    queue: Option<&str>,
) -> Result<(), Problem> {
    if !scope.has(OwnedKind::Scenario, scenario) {
        return Err(Problem::unknown_scenario(scenario));
    }
    for (kind, name) in [(OwnedKind::Flow, flow), (OwnedKind::Queue, queue)] {
        if name.is_some_and(|name| !scope.has(kind, name)) {
            let message = format!("the {kind} belongs to a tenant that is not yours (`access.tenants`)");
            return Err(Problem::new(Type::Forbidden, message).at(format!("/{kind}")));
        }
    }
    Ok(())
}
