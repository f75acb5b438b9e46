//! Orders that are due become ready again. The next due time is known, so that nobody hammers the
//! database; news brings an earlier one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use pagurus_broker::{ConsumeSpec, QueueSource};
use pagurus_domain::activation::{NEVER_REPEATED, Stream, repeat_at};
use pagurus_domain::low_water::LowWater;
use pagurus_domain::number::saturated;
use pagurus_runtime::metrics::{Count, Level, Span, Work};
use pagurus_runtime::node::chain;
use pagurus_runtime::stats::Series;
use pagurus_runtime::task::{BackgroundTask, NextTurn, TurnPause};
use pagurus_runtime::{Effects, Host, news, order_log};
use pagurus_store::Error;
use pagurus_store::hot::due;
use pagurus_store::hot::due::Woken;
use pagurus_store::outside::orders;
use pagurus_store::upkeep::first::{self, First, TimedList};
use pagurus_wire::message::{DueNews, news as key};
use tokio::sync::Notify;

use crate::waker::{Turned, Waker};

/// Longest time without a look at the table, which finds what news did not announce.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Pause after a failure of the database.
const AFTER_ERROR: Duration = Duration::from_secs(1);
/// Interval between two looks for repeats.
const REPEATS_EVERY: Duration = Duration::from_secs(5);

/// Earliest due time announced by news, for each stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hints {
    earliest: Arc<Mutex<BTreeMap<Stream, Timestamp>>>,
    changed: Arc<Notify>,
}

impl Hints {
    fn tell(&self, stream: Stream, at: Timestamp) {
        let mut earliest = self.earliest.lock().unwrap_or_else(PoisonError::into_inner);
        let known = earliest.entry(stream).or_insert(at);
        *known = (*known).min(at);
        drop(earliest);
        self.changed.notify_waiters();
    }

    pub(crate) fn take(&self, stream: Stream) -> Option<Timestamp> {
        self.earliest.lock().unwrap_or_else(PoisonError::into_inner).remove(&stream)
    }

    fn peek(&self, stream: Stream) -> Option<Timestamp> {
        self.earliest.lock().unwrap_or_else(PoisonError::into_inner).get(&stream).copied()
    }

    /// Waits for the time that news has announced for a stream, also where other news announces an earlier one meanwhile.
    pub(crate) async fn passed(&self, stream: Stream) {
        loop {
            let changed = self.changed.notified();
            let hint = self.peek(stream);
            let hint_passed = async {
                match hint {
                    Some(at) => {
                        let from_now = at.duration_since(Timestamp::now());
                        tokio::time::sleep(Duration::try_from(from_now).unwrap_or_default()).await;
                    }
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = hint_passed => return,
                () = changed => {}
            }
        }
    }
}

/// Listens to news of due times from workers.
///
/// # Errors
/// The consumer cannot be made.
pub(crate) fn listen(
    host: Host,
    hints: Hints,
) -> anyhow::Result<impl Future<Output = anyhow::Result<()>> + Send + 'static> {
    let consumer = host.broker.consume(ConsumeSpec {
        queue: QueueSource::Exclusive {
            name_hint: format!("due.{}", host.node),
            bindings: vec![(host.broker.names().news.clone(), key::DUE.to_owned())],
            max_length: 10_000,
        },
        prefetch: 200,
        ack_on_take: true,
        own_connection: false,
    })?;
    Ok(async move {
        loop {
            let batch = tokio::select! {
                batch = consumer.next_batch(100) => batch,
                () = host.draining.cancelled() => return Ok(()),
            };
            for delivery in batch {
                let read = news::read::<DueNews>(&host.metrics, "due", &delivery.body);
                let Some(content) = read else { continue };
                for due in content.due {
                    if let (Ok(stream), Ok(at)) = (due.stream.parse(), Timestamp::from_millisecond(due.at)) {
                        hints.tell(stream, at);
                    }
                }
            }
        }
    })
}

/// Waking of what is due in one stream.
pub(crate) struct WakeStream {
    stream: Stream,
    waker: Waker,
    hints: Hints,
}

impl WakeStream {
    pub fn new(stream: Stream, hints: Hints) -> Self {
        Self { stream, waker: Waker::new(stream), hints }
    }
}

impl BackgroundTask for WakeStream {
    const PAUSE: TurnPause = |_| AFTER_ERROR;
    const FIRST: NextTurn = NextTurn::AtOnce;

    async fn turn(&mut self, host: &Host) -> NextTurn {
        let stream = self.stream;
        if let Some(hint) = self.hints.take(stream) {
            self.waker.low_water.lower(hint);
        }
        match wake(host, stream, &mut self.waker).await {
            Ok(wait) => NextTurn::After(wait),
            Err(error) => {
                host.metrics.count(Count::StoreErrors, "wake", 1);
                tracing::warn!(
                    stream = stream.as_str(),
                    error = chain(&error),
                    "what is due could not be woken"
                );
                NextTurn::AfterPause
            }
        }
    }

    fn news(&self) -> impl Future<Output = ()> + Send {
        self.hints.passed(self.stream)
    }
}

/// Wakes one batch; returns the time to rest until the next is due.
async fn wake(host: &Host, stream: Stream, waker: &mut Waker) -> Result<Duration, Error> {
    let settings = &host.settings().activation;
    let client = host.store.recovery().await?;
    let First { at, now } = first::look(&client, TimedList::Due(stream), &mut waker.low_water).await?;
    let Some(next) = at else {
        host.metrics.level(Level::ActivationLag, stream.as_str(), 0.0);
        waker.rest(host);
        return Ok(LOOK_EVERY);
    };
    drop(client);
    let lag = Duration::try_from(now.duration_since(next)).unwrap_or_default();
    host.metrics.level(Level::ActivationLag, stream.as_str(), lag.as_secs_f64());
    if next > now {
        waker.rest(host);
        let until = Duration::try_from(next.duration_since(now)).unwrap_or_default();
        return Ok(until.min(LOOK_EVERY));
    }
    let begun = Instant::now();
    let repeats = settings.mode.repeats(stream);
    let repeat = if repeats { repeat_at(now, lag, settings.min_shift) } else { NEVER_REPEATED };
    let Turned { woken, rest } = waker.turn(host, next, repeat).await?;
    let scan =
        if matches!(stream, Stream::Wait | Stream::Polling) { Work::ScanCalls } else { Work::ScanTimers };
    host.metrics.batch(scan, begun.elapsed());
    for Woken { stage, due_at, overdue } in &woken {
        let delay = Duration::try_from(now.duration_since(*due_at)).unwrap_or_default();
        host.metrics.span(Span::ActivationDelay, &stage.flow, delay);
        host.metrics.count_by(Count::Activations, &[stream.as_str(), &stage.flow], 1);
        if let Some(task) = overdue {
            host.metrics.count_by(Count::WorkTimeouts, &[&task.scenario, &task.actor], 1);
            host.stats.count(Series::TasksOverdue, &task.actor);
        }
    }
    Effects::of_ready(woken.iter().map(|woken| &woken.stage)).send(host).await;
    log_woken(host, stream, &woken).await?;
    Ok(rest)
}

/// Writes a line for each order that was woken, below the commit (ORD-6). Their names are read for that alone.
async fn log_woken(host: &Host, stream: Stream, woken: &[Woken]) -> Result<(), Error> {
    if woken.is_empty() || !order_log::is_detailed() {
        return Ok(());
    }
    let nos: Vec<i64> = woken.iter().map(|woken| woken.stage.no.0).collect();
    for (order, transaction) in orders::names(&host.store.recovery().await?, &nos).await? {
        if !order_log::is_wanted(&order) {
            continue;
        }
        tracing::debug!(target: order_log::TARGET, order, transaction, stream = stream.as_str(), "an order was woken");
    }
    Ok(())
}

/// Repetition of commands that nobody followed (ACT-3). The dispatcher counts those that it did not know.
#[derive(Default)]
pub(crate) struct Repeats {
    low_water: LowWater,
}

impl BackgroundTask for Repeats {
    const PAUSE: TurnPause = |_| REPEATS_EVERY;

    async fn turn(&mut self, host: &Host) -> NextTurn {
        if let Err(error) = repeat(host, &mut self.low_water).await {
            host.metrics.count(Count::StoreErrors, "repeat", 1);
            tracing::warn!(error = chain(&error), "commands could not be repeated");
        }
        NextTurn::AfterPause
    }
}

async fn repeat(host: &Host, low_water: &mut LowWater) -> Result<(), Error> {
    let settings = &host.settings().activation;
    let limit = saturated::<i64>(settings.batch);
    loop {
        let mut client = host.store.recovery().await?;
        let first = first::look(&client, TimedList::Repeats, low_water).await?;
        let Some(from) = first.come() else { return Ok(()) };
        let tx = client.transaction().await?;
        let repeated = due::repeat(&tx, from, limit, settings.min_shift).await?;
        tx.commit().await?;
        drop(client);
        let count = repeated.len();
        // Whether a command was lost the dispatcher knows: a stage may as well wait for capacity.
        let mut effects = Effects::default();
        for (stream, stage) in &repeated {
            effects.repeats(stage, *stream);
        }
        effects.send(host).await;
        if count < settings.batch {
            return Ok(());
        }
    }
}
