//! Waking of one stream: in full batches while all flows go, and at their pace while more is due than they go through (ACT-5).

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use pagurus_domain::activation::{LEAST_AHEAD, Stream, WakingPace};
use pagurus_domain::low_water::LowWater;
use pagurus_domain::number::saturated;
use pagurus_runtime::Host;
use pagurus_runtime::metrics::Level;
use pagurus_store::Error;
use pagurus_store::hot::due::by_flow::{self, DuePage};
use pagurus_store::hot::due::{self, Woken};
use pagurus_store::upkeep::first::{self, TimedList};
use pagurus_store::upkeep::flows;

/// Interval between two looks at what is woken and not begun, while everything goes.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The same while a flow is held back, or a batch was full. A look takes at most a tenth of the time, and half of it where as
/// much was woken since the last one as may be woken of a flow: on a slow machine much is woken in ten times a look.
const LOOK_SOON: Duration = Duration::from_millis(50);
const SHARE_OF_TIME: u32 = 10;
const MOST_UNSEEN: u64 = LEAST_AHEAD;
/// Woken stages that are counted at most: a narrow row each.
const COUNTED: i64 = 50_000;
/// Due orders whose flows are looked at in one page.
const PAGE: usize = 500;
/// Rest while a flow is held back.
const PACED: Duration = Duration::from_millis(100);

/// Orders that were woken in a turn, and the pause after it.
pub(crate) struct Turned {
    pub woken: Vec<Woken>,
    pub rest: Duration,
}

/// Wakes one stream.
#[derive(Debug)]
pub(crate) struct Waker {
    stream: Stream,
    pace: WakingPace,
    /// Time of the last look at what is woken, and its length.
    looked: Option<(Instant, Duration)>,
    was_full: bool,
    /// Stages that were woken since that look.
    unseen: u64,
    /// Due orders that were passed over so far, while what is held back is searched for what is not.
    passed: usize,
    /// Low water marks of what is due, and of what is woken.
    pub low_water: LowWater,
    low_water_of_woken: LowWater,
}

impl Waker {
    pub fn new(stream: Stream) -> Self {
        Self {
            stream,
            pace: WakingPace::default(),
            looked: None,
            was_full: false,
            unseen: 0,
            passed: 0,
            low_water: LowWater::default(),
            low_water_of_woken: LowWater::default(),
        }
    }

    /// Wakes a batch of what is due, `from` a time on.
    pub async fn turn(
        &mut self,
        host: &Host,
        from: Timestamp,
        repeat_at: Timestamp,
    ) -> Result<Turned, Error> {
        self.look(host).await?;
        let held = self.pace.held().count();
        host.metrics.level(Level::ActivationHeld, self.stream.as_str(), held as f64);
        let batch = host.settings().activation.batch;
        if held > 0 {
            let woken = self.wake_at_pace(host, from, batch, repeat_at).await?;
            return Ok(Turned { woken, rest: PACED });
        }
        self.passed = 0;
        let mut client = host.store.recovery().await?;
        let tx = client.transaction().await?;
        let woken = due::wake(&tx, self.stream, from, saturated::<i64>(batch), repeat_at).await?;
        tx.commit().await?;
        // Rows that another activator holds are left to it; a full batch is followed by the next.
        self.was_full = woken.len() >= batch;
        self.unseen += woken.len() as u64;
        let rest = if self.was_full { Duration::ZERO } else { host.settings().activation.precision / 10 };
        Ok(Turned { woken, rest })
    }

    /// Notes that nothing is due.
    pub fn rest(&mut self, host: &Host) {
        self.was_full = false;
        host.metrics.level(Level::ActivationHeld, self.stream.as_str(), 0.0);
    }

    /// Reads how much is woken and not begun, where that is not known well enough.
    async fn look(&mut self, host: &Host) -> Result<(), Error> {
        let soon = self.was_full || self.pace.held().next().is_some();
        let is_due = self.looked.is_none_or(|(at, took)| {
            let apart = match soon {
                _ if self.unseen >= MOST_UNSEEN => took,
                true => LOOK_SOON.max(took * SHARE_OF_TIME),
                false => LOOK_EVERY,
            };
            at.elapsed() >= apart
        });
        if !is_due {
            return Ok(());
        }
        let begun = Instant::now();
        let client = host.store.recovery().await?;
        let first = first::look(&client, TimedList::Woken, &mut self.low_water_of_woken).await?;
        let woken = match first.at {
            Some(from) => by_flow::woken(&client, from, COUNTED).await?,
            None => Vec::new(),
        };
        let busy: Vec<&str> = woken.iter().map(|(flow, _)| flow.as_str()).collect();
        let rates: BTreeMap<String, f64> =
            if busy.is_empty() { BTreeMap::new() } else { flows::throughputs(&client, &busy).await? };
        self.pace = WakingPace::of(woken, &rates);
        self.unseen = 0;
        self.looked = Some((Instant::now(), begun.elapsed()));
        Ok(())
    }

    /// Wakes what its flow has room for: of the oldest, of the newest, and of a page between them that moves on with each turn, so
    /// that what is held back, however much, hides nothing.
    async fn wake_at_pace(
        &mut self,
        host: &Host,
        from: Timestamp,
        batch: usize,
        repeat_at: Timestamp,
    ) -> Result<Vec<Woken>, Error> {
        let mut client = host.store.recovery().await?;
        let mut found = Vec::new();
        for page in [DuePage::Oldest { after: 0 }, DuePage::Newest, DuePage::Oldest { after: self.passed }] {
            if page == (DuePage::Oldest { after: 0 }) && !found.is_empty() {
                continue;
            }
            let rows = by_flow::page(&client, self.stream, from, page, PAGE).await?;
            if let DuePage::Oldest { after } = page {
                self.passed = if rows.len() < PAGE { 0 } else { after + PAGE };
            }
            found.extend(rows);
        }
        let mut seen = HashSet::with_capacity(found.len());
        let due = found.iter().filter(|(no, _)| seen.insert(*no)).map(|(no, flow)| (*no, flow.as_str()));
        let chosen = self.pace.choose(due, batch);
        if chosen.is_empty() {
            return Ok(Vec::new());
        }
        let tx = client.transaction().await?;
        let woken = by_flow::wake_these(&tx, self.stream, &chosen, repeat_at).await?;
        tx.commit().await?;
        Ok(woken)
    }
}
