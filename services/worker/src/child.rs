//! Child orders: registered by their parent's stage, many in one transaction.
//!
//! The end of a child comes back as a callback of its parent: the notification of the child is
//! addressed to the request that the parent registered.

use std::sync::Arc;

use jiff::Timestamp;
use pagurus_domain::id::{OrderNo, RequestId};
use pagurus_domain::order::notification::{NotifyRequest, Occasion, Target};
use pagurus_domain::order::registration::{NewOrder, Request, Rules};
use pagurus_domain::scenario::stage::{Answer, ChildOrder};
use pagurus_runtime::batch::{Failed, Shape};
use pagurus_runtime::metrics::Count;
use pagurus_runtime::node::chain;
use pagurus_runtime::scenarios::Catalogue;
use pagurus_runtime::{Batcher, Host, news};
use pagurus_store::children::{self, NewChild};
use pagurus_store::orders::Registered;
use pagurus_store::stages::Claimed;
use pagurus_store::{Error, Store};
use std::time::Duration;

/// How children are gathered.
const GATHER: Shape = Shape { max: 200, lanes: 1, linger: Duration::from_millis(2) };

/// Orders that start orders that start orders: deeper is a scenario that starts itself.
const MAX_DEPTH: i32 = 20;

/// Registers children.
#[derive(Clone)]
pub(crate) struct Children {
    catalogue: Catalogue,
    rules: Arc<Rules>,
    store: Store,
    batcher: Batcher<NewChild, Registration, Error>,
}

/// What became of a child; the text says why it can never be registered.
type Registration = Result<(), String>;

impl Children {
    pub fn new(host: &Host, catalogue: Catalogue) -> Self {
        let registering = host.clone();
        Self {
            catalogue,
            rules: Arc::new(host.settings.registration_rules()),
            store: host.store.clone(),
            batcher: Batcher::start(GATHER, crate::concerns_one, move |batch: Arc<[NewChild]>| {
                let host = registering.clone();
                async move { register(&host, &batch).await }
            }),
        }
    }

    /// Registers a child of the claimed order; waits for the database as long as the stage may.
    pub async fn start(&self, host: &Host, parent: &Claimed, child: &ChildOrder) -> Answer {
        let mut wait = Duration::from_millis(50);
        loop {
            match self.try_start(parent, child).await {
                Ok(Ok(())) => return Answer::OrderStarted,
                Ok(Err(why)) => return Answer::OrderRefused(why),
                Err(why) => {
                    host.metrics.count(Count::StoreErrors, "child", 1);
                    tracing::warn!(order = parent.id, why, "a child order could not be stored yet");
                    tokio::time::sleep(wait).await;
                    wait = (wait * 2).min(Duration::from_secs(2));
                }
            }
        }
    }

    /// The outer error may pass.
    async fn try_start(&self, parent: &Claimed, child: &ChildOrder) -> Result<Registration, String> {
        let order = match self.check(parent, child).await {
            Ok(Ok(order)) => order,
            Ok(Err(why)) => return Ok(Err(why)),
            Err(error) => return Err(chain(&error)),
        };
        match self.batcher.submit(NewChild { parent: parent.no, order }).await {
            Ok(registration) => Ok(registration),
            Err(Failed::Gone(_)) => Err("the worker is being stopped".into()),
            Err(Failed::Handler(error)) if error.is_transient() => Err(chain(&*error)),
            Err(Failed::Handler(error)) => Ok(Err(error.to_string())),
        }
    }

    async fn check(&self, parent: &Claimed, child: &ChildOrder) -> Result<Result<NewOrder, String>, Error> {
        let request = match Request::read(&child.registration) {
            Ok(request) => request,
            Err(faults) => return Ok(Err(told(&faults))),
        };
        let client = self.store.work().await?;
        self.catalogue.refresh(&client).await?;
        drop(client);
        let Some(known) = self.catalogue.find(&request.scenario, request.scenario_version) else {
            return Ok(Err(format!("there is no scenario `{}` in that version", request.scenario)));
        };
        let scenario = match known.scenario {
            Ok(scenario) => scenario,
            Err(why) => return Ok(Err(format!("scenario `{}` cannot be read: {why}", request.scenario))),
        };
        Ok(match request.check(known.no, &scenario, &self.rules, Timestamp::now()) {
            Ok(mut order) => {
                order.trace.clone_from(&parent.trace);
                order.request.notify = child.request.map(notify);
                Ok(order)
            }
            Err(faults) => Err(told(&faults)),
        })
    }
}

fn told(faults: &[pagurus_domain::document::Fault]) -> String {
    let faults: Vec<String> =
        faults.iter().map(|fault| format!("{}: {}", fault.pointer, fault.message)).collect();
    faults.join("; ")
}

/// The wish that brings the end of a child back to its parent.
fn notify(request: RequestId) -> NotifyRequest {
    NotifyRequest {
        url: Target::callback_url(request),
        target: Target::Callback(request),
        correlation_id: Some(request.to_string()),
        timezone: None,
        on: vec![Occasion::Final],
    }
}

async fn register(host: &Host, batch: &[NewChild]) -> Result<Vec<Registration>, Error> {
    let mut client = host.store.work().await?;
    let parents: Vec<OrderNo> = batch.iter().map(|child| child.parent).collect();
    let depths = children::depths(&client, &parents).await?;
    let depth = |child: &NewChild| depths.get(&child.parent).copied().unwrap_or(0) + 1;
    // Ids are unique within one call of the store; a double of this batch is judged by the next.
    let mut seen = std::collections::HashSet::new();
    let (mut new, mut of) = (Vec::new(), Vec::new());
    for child in batch.iter().filter(|child| depth(child) <= MAX_DEPTH) {
        if seen.insert(child.order.request.id.clone()) {
            new.push(child.clone());
            of.push(depth(child));
        }
    }
    let tx = client.transaction().await?;
    let registered = children::register(&tx, &new, &of).await?;
    tx.commit().await?;
    drop(client);
    let ready = registered.iter().filter_map(|registered| match registered {
        Registered::Accepted { ready, .. } => ready.as_ref(),
        _ => None,
    });
    news::ready(host, ready).await;
    let mut outcomes: std::collections::HashMap<&str, Registration> = new
        .iter()
        .zip(&registered)
        .map(|(child, registered)| (child.order.request.id.as_str(), outcome(registered)))
        .collect();
    Ok(batch
        .iter()
        .map(|child| match depth(child) {
            too_deep if too_deep > MAX_DEPTH => Err(format!(
                "more than {MAX_DEPTH} orders started one another: does a scenario start itself?"
            )),
            _ => outcomes.entry(&child.order.request.id).or_insert(Ok(())).clone(),
        })
        .collect())
}

fn outcome(registered: &Registered) -> Registration {
    match registered {
        Registered::Accepted { .. } | Registered::Duplicate(_) => Ok(()),
        Registered::Conflict(_) => Err("another order bears the id of this child".into()),
        Registered::Cycle(way) => Err(format!("the child would wait for itself: {}", way.join(" → "))),
    }
}
