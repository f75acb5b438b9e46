//! Child orders: registered by their parent's stage, many in one transaction.
//!
//! The end of a child comes back as a callback of its parent: the notification of the child is
//! addressed to the request that the parent registered.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::classes::ORDER_REFUSED;
use pagurus_domain::id::{OrderNo, RequestId};
use pagurus_domain::order::dependency::{around_child, behind_holder};
use pagurus_domain::order::registration::{NewOrder, Request, Rules};
use pagurus_domain::trace::TraceContext;
use pagurus_runtime::batch::{Failed, Linger, Shape};
use pagurus_runtime::node::chain;
use pagurus_runtime::scenarios::{Catalogue, Known};
use pagurus_runtime::stats::Series;
use pagurus_runtime::traces::{SpanKind, names};
use pagurus_runtime::{Batcher, Effects, Host, costly, order_log};
use pagurus_scenario::stage::{Answer, ChildOrder};
use pagurus_scenario::{admission, params};
use pagurus_store::hot::stages::Claimed;
use pagurus_store::outside::children::{self, NewChild};
use pagurus_store::outside::orders::Registered;
use pagurus_store::{Client, Error};
use serde_json::Value;

use crate::Worker;
use crate::trouble::StageTrouble;

/// Gathering of children.
const GATHER: Shape = Shape { max: 200, lanes: 1, linger: Linger::UnderLoad(Duration::from_millis(2)) };

/// Largest depth of orders that start orders: deeper is a scenario that starts itself.
const MAX_DEPTH: i32 = 20;

/// Gathering of children whose parameters take long to check: they wait for one another, and nobody else
/// for them.
const ALONE: Shape = Shape { max: 1, lanes: 1, linger: Linger::Never };

/// A child that a stage asks for, well-formed.
#[derive(Clone, Debug)]
struct ChildRequest {
    parent: OrderNo,
    trace: Option<String>,
    request: Request,
    /// Request that its end answers.
    answers: Option<RequestId>,
}

/// Registers children. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Children {
    together: Batcher<ChildRequest, Option<Registration>, Error>,
    costly: Batcher<ChildRequest, Option<Registration>, Error>,
}

/// Outcome of the registration of a child; the text says why it can never be registered.
type Registration = Result<(), String>;

impl Children {
    pub fn new(host: &Host, catalogue: Catalogue) -> Self {
        let registrar = ChildRegistrar { host: host.clone(), catalogue };
        let start = |shape: Shape, costly: Costly| {
            let registrar = registrar.clone();
            Batcher::start(
                shape,
                pagurus_store::Error::concerns_one_item,
                move |batch: Arc<[ChildRequest]>| {
                    let registrar = registrar.clone();
                    async move { registrar.register(&batch, costly).await }
                },
            )
        };
        Self { together: start(GATHER, Costly::Left), costly: start(ALONE, Costly::Checked) }
    }

    /// Registers a child of the claimed order; waits for the database as long as the stage may.
    pub async fn start(
        &self,
        worker: &Worker,
        parent: &Claimed,
        child: &ChildOrder,
        trace: Option<&TraceContext>,
    ) -> Answer {
        let mut span = worker.host.traces.within(trace, SpanKind::Internal, "order.register");
        if let Some(id) = child.registration.get("id").and_then(Value::as_str) {
            span.set_text(names::ORDER_ID, id);
        }
        let trace = span.context().map(TraceContext::stored);
        let mut trouble = StageTrouble::with(worker, parent, "child");
        loop {
            match self.try_start(parent, child, trace.clone()).await {
                Ok(Ok(())) => return Answer::OrderStarted,
                Ok(Err(why)) => {
                    span.fail(ORDER_REFUSED, &why);
                    return Answer::OrderRefused(why);
                }
                Err(why) => trouble.wait_out(&why).await,
            }
        }
    }

    /// Tries to register a child. The outer error may pass.
    async fn try_start(
        &self,
        parent: &Claimed,
        child: &ChildOrder,
        trace: Option<String>,
    ) -> Result<Registration, String> {
        let request = match Request::read(child.registration.clone()) {
            Ok(request) => request,
            Err(faults) => return Ok(Err(summary(&faults))),
        };
        let wanted = ChildRequest { parent: parent.head.no, trace, request, answers: child.request };
        let registered = match self.together.submit(wanted.clone()).await {
            Ok(None) => self.costly.submit(wanted).await,
            other => other,
        };
        match registered {
            Ok(Some(registration)) => Ok(registration),
            Ok(None) | Err(Failed::Gone(_)) => Err("the worker is being stopped".into()),
            Err(Failed::Handler(error)) if error.is_transient() => Err(chain(&*error)),
            Err(Failed::Handler(error)) => Ok(Err(error.to_string())),
        }
    }
}

fn is_costly(known: Option<&Known>, request: &Request) -> bool {
    let scenario = known.and_then(|known| known.scenario.as_ref().ok());
    scenario.is_some_and(|scenario| params::is_costly(&request.params, scenario))
}

/// Returns the order of a child, checked against its scenario.
fn check(known: Option<Known>, rules: &Rules, wanted: &ChildRequest) -> Result<NewOrder, String> {
    let request = &wanted.request;
    let known =
        known.ok_or_else(|| format!("there is no scenario `{}` in that version", request.scenario))?;
    let scenario =
        known.scenario.map_err(|why| format!("scenario `{}` cannot be read: {why}", request.scenario))?;
    let checked =
        admission::check_request(Arc::new(request.clone()), known.no, &scenario, rules, Timestamp::now());
    let mut order = checked.map_err(|faults| summary(&faults))?;
    order.trace.clone_from(&wanted.trace);
    order.answers = wanted.answers;
    Ok(order)
}

fn summary(faults: &[pagurus_domain::document::Fault]) -> String {
    let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
    faults.join("; ")
}

/// The treatment of children whose parameters take long to check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Costly {
    /// Skip them, so that they do not delay the rest of the batch.
    Left,
    /// Check and register them like any other.
    Checked,
}

#[derive(Clone)]
struct ChildRegistrar {
    host: Host,
    catalogue: Catalogue,
}

impl ChildRegistrar {
    /// Registers children: one outcome for each, in order; `None` for one that was skipped.
    async fn register(
        &self,
        batch: &[ChildRequest],
        costly: Costly,
    ) -> Result<Vec<Option<Registration>>, Error> {
        let mut client = self.host.store.work().await?;
        self.catalogue.refresh(&client).await?;
        let parents: Vec<OrderNo> = batch.iter().map(|wanted| wanted.parent).collect();
        let depths = children::depths(&client, &parents).await?;
        let settings = self.host.settings();
        let (rules, most) = (settings.registration_rules(), settings.scenario.max_children);
        let full = full(&client, batch, most).await?;
        let mut outcomes: Vec<Option<Registration>> = Vec::with_capacity(batch.len());
        // Ids are unique within one call of the store: the first of an id goes in.
        let mut seen = HashSet::new();
        let (mut new, mut of, mut places) = (Vec::new(), Vec::new(), Vec::new());
        for (place, wanted) in batch.iter().enumerate() {
            let depth = depths.get(&wanted.parent).copied().unwrap_or(0) + 1;
            let Request { scenario, scenario_version, .. } = &wanted.request;
            let known = self.catalogue.find(&client, scenario, *scenario_version).await?;
            let is_costly = is_costly(known.as_ref(), &wanted.request);
            if is_costly && costly == Costly::Left {
                outcomes.push(None);
                continue;
            }
            let checked = match costly::run(is_costly, || check(known, &rules, wanted)) {
                Ok(_) if depth > MAX_DEPTH => Err(format!(
                    "more than {MAX_DEPTH} orders started one another: does a scenario start itself?"
                )),
                Ok(_) if full.contains(wanted.request.id.as_str()) => Err(format!(
                    "the order has started {most} others; `scenario.max_children` lets it start no more"
                )),
                Ok(_) if !seen.insert(wanted.request.id.as_str()) => Err(TAKEN.to_owned()),
                other => other,
            };
            outcomes.push(Some(checked.map(|order| {
                new.push(NewChild { parent: wanted.parent, order });
                of.push(depth);
                places.push(place);
            })));
        }
        if new.is_empty() {
            return Ok(outcomes);
        }
        let tx = client.transaction().await?;
        let registered = children::register(&tx, &new, &of).await?;
        tx.commit().await?;
        drop(client);
        let mut effects = Effects::default();
        registered.iter().for_each(|one| effects.registered(one));
        effects.send(&self.host).await;
        for (place, registered) in places.into_iter().zip(&registered) {
            if matches!(registered, Registered::Accepted { .. }) {
                self.host.stats.count(Series::Registered, &batch[place].request.scenario);
                order_log::registered(&batch[place].request, None);
            }
            outcomes[place] = Some(outcome(registered));
        }
        Ok(outcomes)
    }
}

/// Returns the ids of those that would be one child too many for their parents. The repeat of what is
/// registered already is not among them.
async fn full<'b>(client: &Client, batch: &'b [ChildRequest], most: u32) -> Result<HashSet<&'b str>, Error> {
    let of: Vec<OrderNo> = batch.iter().map(|wanted| wanted.parent).collect();
    let full = children::full(client, &of, most).await?;
    let wanted = batch.iter().filter(|wanted| full.contains(&wanted.parent));
    let mut ids: HashMap<&str, OrderNo> =
        wanted.map(|wanted| (wanted.request.id.as_str(), wanted.parent)).collect();
    if !ids.is_empty() {
        let asked: Vec<&str> = ids.keys().copied().collect();
        let known = children::parents(client, &asked).await?;
        ids.retain(|id, parent| known.get(*id) != Some(parent));
    }
    Ok(ids.into_keys().collect())
}

/// Reason for refusing a child with an id of somebody else.
const TAKEN: &str = "another order has the id of this child";

fn outcome(registered: &Registered) -> Registration {
    match registered {
        Registered::Accepted { .. } | Registered::Duplicate(_) => Ok(()),
        Registered::Conflict(_) => Err(TAKEN.to_owned()),
        Registered::Cycle(way) => Err(around_child(way)),
        Registered::Behind { queue, awaiting } => Err(behind_holder(queue, awaiting)),
    }
}
