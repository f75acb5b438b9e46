//! Retention (ORD-26): orders whose time is over are removed, and those that never end are ended first; slowly, by
//! ascending number, in steps that disturb nobody.

use std::time::{Duration, Instant};

use pagurus_command::recovery::{EndWanted, end_all};
use pagurus_domain::classes::RETENTION_EXPIRED;
use pagurus_domain::id::OrderNo;
use pagurus_domain::number::saturated;
use pagurus_domain::order::transition::Cause;
use pagurus_domain::retention::{Retained, RetentionTerms, retained};
use pagurus_runtime::Host;
use pagurus_runtime::metrics::{Count, Work};
use pagurus_runtime::scenarios::{Catalogue, Known};
use pagurus_runtime::task::{BackgroundTask, NextTurn, TurnPause};
use pagurus_store::outside::access;
use pagurus_store::upkeep::retention::{self, OrderAge};
use pagurus_store::upkeep::walks::{self, Step};
use pagurus_store::{Client, Error};

use crate::recover::note;

/// Names of the walks: over the orders, over the queues, and what has no order of its own.
const ORDERS: &str = "retention";
const QUEUES: &str = "retention-queues";
/// Orders of one step.
const PAGE: i64 = 500;
/// Interval at which somebody asks whether it is time for a step.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Pause between two rounds over the orders.
const BETWEEN_ROUNDS: Duration = Duration::from_secs(10);
/// Pause between two steps over the queues, and what they look at.
const QUEUES_EVERY: Duration = Duration::from_secs(60);
const QUEUE_PAGE: i64 = 5000;

/// Removal of orders.
pub(crate) struct Remover {
    host: Host,
    catalogue: Catalogue,
}

impl Remover {
    pub fn new(host: &Host) -> Self {
        Self { catalogue: Catalogue::of(&host.live), host: host.clone() }
    }

    /// Takes the next step over the orders, if it is time for it.
    async fn orders(&self, terms: RetentionTerms, rate: u32) -> Result<(), Error> {
        let begun = Instant::now();
        let Some(ages) = self.take(rate).await? else { return Ok(()) };
        let client = self.host.store.operations().await?;
        let (mut old, mut endless) = (Vec::new(), Vec::new());
        for age in &ages {
            match self.judge(&client, age, terms).await? {
                Retained::Kept => {}
                Retained::Ended => endless.push(end(age.no)),
                Retained::Removed => old.extend(age.finished_at.map(|at| (age.no, at))),
            }
        }
        drop(client);
        end_all(&self.host, &endless).await;
        if !old.is_empty() {
            let mut client = self.host.store.operations().await?;
            let tx = client.transaction().await?;
            let removed = retention::remove(&tx, &old).await?;
            tx.commit().await?;
            for status in &removed {
                self.host.metrics.count(Count::Removed, status, 1);
            }
        }
        self.host.metrics.batch(Work::RemoveOrders, begun.elapsed());
        Ok(())
    }

    async fn take(&self, rate: u32) -> Result<Option<Vec<OrderAge>>, Error> {
        let mut client = self.host.store.operations().await?;
        let Some((tx, Step { after_no, .. })) = walks::take(&mut client, ORDERS).await? else {
            return Ok(None);
        };
        let ages = retention::ages(&tx, after_no, PAGE).await?;
        let is_full = i64::try_from(ages.len()).is_ok_and(|count| count == PAGE);
        let next =
            ages.last().filter(|_| is_full).map(|last| Step { after_no: last.no.0, ..Step::default() });
        let time = Duration::from_secs(1) * saturated::<u32>(ages.len()) / rate;
        let pause = if next.is_some() { time } else { time.max(BETWEEN_ROUNDS) };
        walks::come_to(&tx, ORDERS, next.as_ref(), pause).await?;
        tx.commit().await?;
        Ok(Some(ages))
    }

    async fn judge(&self, client: &Client, age: &OrderAge, terms: RetentionTerms) -> Result<Retained, Error> {
        let known = self.catalogue.get(client, age.scenario).await?.and_then(Known::readable);
        let own = known.and_then(|scenario| scenario.retention);
        Ok(retained(age.created_at, age.finished_at, terms, own, age.now))
    }

    /// Queues without members, and what operators and nodes left behind.
    async fn rest(&self, terms: RetentionTerms) -> Result<(), Error> {
        let mut client = self.host.store.operations().await?;
        let Some((tx, Step { after, .. })) = walks::take(&mut client, QUEUES).await? else {
            return Ok(());
        };
        let last = retention::forget_queues(&tx, &after, QUEUE_PAGE).await?;
        let next = last.map(|after| Step { after_no: 0, after });
        walks::come_to(&tx, QUEUES, next.as_ref(), QUEUES_EVERY).await?;
        tx.commit().await?;
        access::forget_sessions(&client, QUEUE_PAGE).await?;
        retention::forget_the_past(&client, terms.ended, QUEUE_PAGE).await
    }
}

impl BackgroundTask for Remover {
    const PAUSE: TurnPause = |_| LOOK_EVERY;

    async fn turn(&mut self, host: &Host) -> NextTurn {
        let settings = host.settings().retention;
        if let Some(rate) = settings.rate {
            let terms = RetentionTerms { ended: settings.ended, in_progress: settings.in_progress };
            note(host, "retention", self.orders(terms, rate).await);
            note(host, "retention", self.rest(terms).await);
        }
        NextTurn::AfterPause
    }
}

fn end(no: OrderNo) -> EndWanted {
    EndWanted {
        no,
        pass: None,
        cause: Cause::Expired,
        class: Some(RETENTION_EXPIRED),
        message: "the order had not ended for as long as any order is kept".to_owned(),
    }
}
