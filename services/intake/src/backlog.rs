//! Bounds of a backlog (DSP-17): whose orders the API refuses for now, because too many of the same flow or queue wait
//! already. Orders by message are taken all the same: refused, they would be lost.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use pagurus_domain::order::registration::{Request, flow_marker};
use pagurus_runtime::Host;
use pagurus_runtime::metrics::{Count, Level};
use pagurus_runtime::node::chain;
use pagurus_runtime::task::{BackgroundTask, NextTurn, TurnPause};
use pagurus_runtime::trouble::store_problem;
use pagurus_store::Error;
use pagurus_store::hot::queues;
use pagurus_store::outside::orders;
use pagurus_store::upkeep::flows;
use pagurus_wire::problem::{Problem, Type};

/// Interval between two looks: with the second in which the dispatcher writes, a figure is at most two seconds old.
const EVERY: Duration = Duration::from_secs(1);
/// Largest number of flows that are refused at a time.
const MOST: i64 = 10_000;

/// The flows that have too many stages waiting, with their number. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Backlog {
    full: Arc<RwLock<HashMap<String, i64>>>,
}

impl BackgroundTask for Backlog {
    const PAUSE: TurnPause = |_| EVERY;
    const FIRST: NextTurn = NextTurn::AtOnce;
    const TAKES_WORK: bool = false;

    async fn turn(&mut self, host: &Host) -> NextTurn {
        let full = match host.settings().distribution.max_backlog_of_flow {
            None => HashMap::new(),
            Some(bound) => {
                let read = async { flows::backlog(&host.store.api().await?, i64::from(bound), MOST).await };
                match read.await {
                    Ok(full) => full.into_iter().collect(),
                    Err(error) => {
                        host.metrics.count(Count::StoreErrors, "backlog", 1);
                        tracing::warn!(error = chain(&error), "the backlog of flows cannot be read");
                        // Old figures would refuse orders for no reason any more.
                        HashMap::new()
                    }
                }
            }
        };
        host.metrics.level(Level::BacklogFull, "", full.len() as f64);
        *self.full.write().unwrap_or_else(PoisonError::into_inner) = full;
        NextTurn::AfterPause
    }
}

impl Backlog {
    /// Refuses an order of a flow or queue that has too many waiting. One that is registered already adds nothing to it,
    /// and gets its usual answer.
    pub async fn check(&self, host: &Host, request: &Request, queue: Option<&str>) -> Result<(), Problem> {
        let failed = |error| store_problem(host, "backlog", &error);
        let Some((by, detail)) = self.full(host, request, queue).await.map_err(failed)? else {
            return Ok(());
        };
        let known = async { orders::known(&host.store.api().await?, &[request.id.as_str()]).await };
        // Where that cannot be read, it is refused for now, and the sender asks again.
        if known.await.is_ok_and(|known| known.contains_key(&request.id)) {
            return Ok(());
        }
        host.metrics.count(Count::BacklogRefused, by, 1);
        Err(Problem::new(Type::Busy, detail))
    }

    /// Returns what is full: `flow` or `queue`, and a sentence about it.
    async fn full(
        &self,
        host: &Host,
        request: &Request,
        queue: Option<&str>,
    ) -> Result<Option<(&'static str, String)>, Error> {
        let settings = host.settings();
        if let Some(bound) = settings.distribution.max_backlog_of_flow
            && let Some((flow, waiting)) = self.full_flow(&settings.distribution.flow_attributes, request)
        {
            let detail = format!(
                "{waiting} stages of the flow `{flow}` wait to run, and the limit is {bound}; send the order later"
            );
            return Ok(Some(("flow", detail)));
        }
        let (Some(bound), Some(queue)) = (settings.distribution.max_backlog_of_queue, queue) else {
            return Ok(None);
        };
        let is_full = queues::has_waiting(&host.store.api().await?, queue, i64::from(bound)).await?;
        let detail = || {
            format!("{bound} orders wait in the queue `{queue}`, which is the limit; send the order later")
        };
        Ok(is_full.then(|| ("queue", detail())))
    }

    fn full_flow(&self, attributes: &[String], request: &Request) -> Option<(String, i64)> {
        let full = self.full.read().unwrap_or_else(PoisonError::into_inner);
        if full.is_empty() {
            return None;
        }
        let flow = flow_marker(attributes, request);
        full.get(&flow).map(|waiting| (flow, *waiting))
    }
}
