//! Orders that wait for others: expected states held against scenarios, missed conditions that end
//! an order, polling, and what no end of a pre-condition settled (ORD-14, 15).
//!
//! News makes a look quicker; the table is what is looked at.

use pagurus_command::recovery::{self, EndWanted};
use pagurus_domain::activation::Stream;
use pagurus_domain::classes::{DEPENDENCY_FAILED, DEPENDENCY_INVALID};
use pagurus_domain::id::OrderNo;
use pagurus_domain::number::saturated;
use pagurus_domain::order::dependency::{Stand, StartDecision};
use pagurus_domain::order::transition::Cause;
use pagurus_runtime::metrics::Count;
use pagurus_runtime::node::chain;
use pagurus_runtime::scenarios::Catalogue;
use pagurus_runtime::task::{BackgroundTask, NextTurn, TurnPause};
use pagurus_runtime::{Effects, Host};
use pagurus_scenario::admission::unknown_states;
use pagurus_store::hot::control;
use pagurus_store::hot::dependencies::{self, Condition, Cursor};
use pagurus_store::{Client, Error};

use crate::due::Hints;

/// Orders that are settled in one transaction.
const BATCH: usize = 100;

/// The look at conditions.
pub(crate) struct ConditionLook {
    host: Host,
    catalogue: Catalogue,
    /// Position of the slow pass over reactive conditions.
    cursor: Cursor,
    hints: Hints,
}

impl BackgroundTask for ConditionLook {
    const PAUSE: TurnPause = |settings| settings.start_control.interval;
    const FIRST: NextTurn = NextTurn::AtOnce;

    async fn turn(&mut self, host: &Host) -> NextTurn {
        self.hints.take(Stream::Dependent);
        if let Err(error) = self.look().await {
            host.metrics.count(Count::StoreErrors, "conditions", 1);
            tracing::warn!(error = chain(&error), "conditions could not be looked at");
        }
        NextTurn::AfterPause
    }

    fn news(&self) -> impl Future<Output = ()> + Send {
        self.hints.passed(Stream::Dependent)
    }
}

impl ConditionLook {
    pub fn new(host: &Host, hints: Hints) -> Self {
        let catalogue = Catalogue::of(&host.live);
        Self { host: host.clone(), catalogue, cursor: Cursor::default(), hints }
    }

    async fn look(&mut self) -> Result<(), Error> {
        let limit = saturated::<i64>(self.host.settings().activation.batch);
        let mut after = OrderNo(0);
        loop {
            let client = self.host.store.recovery().await?;
            let nos = dependencies::urgent(&client, after, limit).await?;
            drop(client);
            self.settle(&nos).await?;
            match nos.last() {
                Some(last) if i64::try_from(nos.len()).is_ok_and(|count| count == limit) => {
                    after = OrderNo(*last)
                }
                _ => break,
            }
        }
        // Polling promises a look at each of them; of the others only what was lost is searched for,
        // a page at a time, and on at once where something was found.
        let mut cursor = Some(Cursor::default());
        while let Some(from) = cursor {
            cursor = self.page(false, &from, limit).await?.1;
        }
        loop {
            let (found, next) = self.page(true, &self.cursor.clone(), limit).await?;
            let more = next.is_some() && found > 0;
            self.cursor = next.unwrap_or_default();
            if !more {
                return Ok(());
            }
        }
    }

    /// Settles one page; returns the number of orders, and where the next page begins.
    async fn page(
        &self,
        reactive: bool,
        from: &Cursor,
        limit: i64,
    ) -> Result<(usize, Option<Cursor>), Error> {
        let client = self.host.store.recovery().await?;
        let (nos, next) = dependencies::unsettled(&client, reactive, from, limit).await?;
        drop(client);
        self.settle(&nos).await?;
        Ok((nos.len(), next))
    }

    async fn settle(&self, nos: &[i64]) -> Result<(), Error> {
        for batch in nos.chunks(BATCH) {
            if self.host.draining.is_cancelled() || self.host.is_offline() {
                return Ok(());
            }
            let ends = self.settle_batch(batch).await?;
            for no in ends {
                self.end(no).await?;
            }
        }
        Ok(())
    }

    /// Settles what can be; the orders that it ends.
    async fn settle_batch(&self, nos: &[i64]) -> Result<Vec<OrderNo>, Error> {
        let mut client = self.host.store.recovery().await?;
        let others = self.host.store.api().await?;
        let tx = client.transaction().await?;
        let waiting = dependencies::lock_waiting(&tx, nos).await?;
        let (mut starts, mut ends, mut checked) = (Vec::new(), Vec::new(), Vec::new());
        for (no, conditions) in dependencies::judged(&tx, &waiting).await? {
            if self.end_by(&others, no, &conditions).await?.is_some() {
                ends.push(no);
                continue;
            }
            let found = conditions.iter().filter(|one| one.stand == Stand::Found);
            checked.extend(found.map(|one| (no, one.before.clone(), Stand::Open)));
            if dependencies::verdict(&conditions) == StartDecision::Start {
                starts.push(no.0);
            }
        }
        dependencies::settle(&tx, &checked).await?;
        let ready = dependencies::start(&tx, &starts).await?;
        tx.commit().await?;
        drop((client, others));
        for stage in &ready {
            self.host.metrics.count_by(Count::Activations, &[Stream::Dependent.as_str(), &stage.flow], 1);
        }
        Effects::of_ready(&ready).send(&self.host).await;
        Ok(ends)
    }

    /// Ends an order by its conditions, if they still say so under the lock of the order.
    async fn end(&self, no: OrderNo) -> Result<(), Error> {
        let mut client = self.host.store.recovery().await?;
        let others = self.host.store.api().await?;
        let tx = client.transaction().await?;
        let locked = control::lock_all(&tx, &[no.0]).await?.orders;
        if locked.is_empty() {
            // The order has moved: the next look finds where to.
            return Ok(());
        }
        let conditions = dependencies::judged(&tx, &[no.0]).await?.remove(&no).unwrap_or_default();
        let mut effects = Effects::default();
        if let Some(end) = self.end_by(&others, no, &conditions).await? {
            recovery::end_locked(&self.host, &tx, &locked, &[end], &mut effects).await?;
        }
        tx.commit().await?;
        drop((client, others));
        effects.send(&self.host).await;
        Ok(())
    }

    /// The end that the conditions of an order demand, if they do.
    async fn end_by(
        &self,
        client: &Client,
        no: OrderNo,
        conditions: &[Condition],
    ) -> Result<Option<EndWanted>, Error> {
        for condition in conditions.iter().filter(|one| one.stand == Stand::Found) {
            if let Some(message) = self.invalid(client, condition).await? {
                let (cause, class) = (Cause::DependencyFailed, Some(DEPENDENCY_INVALID));
                return Ok(Some(EndWanted { no, pass: None, cause, class, message }));
            }
        }
        let (cause, class, index) = match dependencies::verdict(conditions) {
            StartDecision::Start | StartDecision::Wait => return Ok(None),
            StartDecision::Fail(index) => (Cause::DependencyFailed, Some(DEPENDENCY_FAILED), index),
            StartDecision::Cancel(index) => (Cause::Canceled, None, index),
        };
        Ok(Some(EndWanted { no, pass: None, cause, class, message: missed(&conditions[index]) }))
    }

    /// Fault of expected states, by the scenario of the order they are expected of. One
    /// that cannot be read by this process refuses nothing.
    async fn invalid(&self, client: &Client, condition: &Condition) -> Result<Option<String>, Error> {
        let Some((_, _, scenario)) = condition.order else { return Ok(None) };
        let known = self.catalogue.get(client, scenario).await?;
        let Some(scenario) = known.and_then(|known| known.scenario.ok()) else { return Ok(None) };
        let unknown = unknown_states(&condition.states, &scenario);
        Ok(unknown.first().map(|(_, fault)| {
            format!("it was to wait for order `{}`, which cannot end so: {fault}", condition.before)
        }))
    }
}

fn missed(condition: &Condition) -> String {
    let ended = match &condition.order {
        Some((status, Some(step), _)) => format!("ended `{status}` in state `{step}`"),
        Some((status, None, _)) => format!("ended `{status}`"),
        None => "is gone".to_owned(),
    };
    format!("order `{}` {ended}, and not in: {}", condition.before, condition.states.join(", "))
}
