//! Promises of orders (ORD-31): looks at each when its time has come, marks once those that will probably be late, and
//! learns from lives that have ended what remains from state to state. Orders are marked in [`pagurus_command::jeopardy`].

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use pagurus_command::jeopardy::mark_late;
use pagurus_domain::low_water::LowWater;
use pagurus_domain::number::saturated;
use pagurus_domain::order::Status;
use pagurus_domain::promise::{ExpectedEnd, PromiseVerdict, RemainingTimes};
use pagurus_runtime::Host;
use pagurus_runtime::metrics::{Count, Work};
use pagurus_runtime::scenarios::Catalogue;
use pagurus_runtime::task::{BackgroundTask, NextTurn, TurnPause};
use pagurus_store::lists::promises::{self, FinishedLife, NewJeopardy, PromiseStand, RecentLives};
use pagurus_store::upkeep::first::{self, TimedList};
use pagurus_store::{Client, Error};
use pagurus_view::{Foresight, plain_reason};

use crate::recover::note;

/// Interval between two looks.
const EVERY: Duration = Duration::from_secs(1);
/// Promises of one step; steps follow each other at once while batches are full.
const BATCH: i64 = 500;
/// Steps of one look, at most: other looks go on beside.
const MOST_STEPS: usize = 20;
/// An activator that has taken promises and does not get on with them leaves them to the others after this time.
const TAKEN_FOR: Duration = Duration::from_secs(30);
/// Orders that are marked in one transaction.
const MARKED: usize = 100;
/// Lives of one step that are learnt from: more of the same say nothing new.
const LEARNT: usize = 200;
/// Events of histories that are read to learn from one step.
const MOST_EVENTS: i64 = 20_000;
/// Lives that are searched while few of a scenario are known.
const RECENT: RecentLives = RecentLives { looked: 20_000, wanted: 200 };
/// Time after which they are searched again.
const RECENT_EVERY: Duration = Duration::from_secs(600);

/// The look at promises.
pub(crate) struct PromiseChecker {
    host: Host,
    catalogue: Catalogue,
    /// Time at which lives of a scenario were looked for among the newest.
    searched: HashMap<String, Instant>,
    low_water: LowWater,
}

impl BackgroundTask for PromiseChecker {
    const PAUSE: TurnPause = |_| EVERY;

    async fn turn(&mut self, host: &Host) -> NextTurn {
        let begun = Instant::now();
        let looked = self.steps().await;
        if !matches!(looked, Ok(0)) {
            host.metrics.batch(Work::Promises, begun.elapsed());
        }
        note(host, "promises", looked.map(|_| ()));
        NextTurn::AfterPause
    }
}

impl PromiseChecker {
    pub fn new(host: &Host) -> Self {
        Self {
            host: host.clone(),
            catalogue: Catalogue::of(&host.live),
            searched: HashMap::new(),
            low_water: LowWater::default(),
        }
    }

    /// Looks at all promises whose time has come; returns their number.
    async fn steps(&mut self) -> Result<usize, Error> {
        let mut looked = 0;
        for _ in 0..MOST_STEPS {
            let client = self.host.store.operations().await?;
            let first = first::look(&client, TimedList::Promises, &mut self.low_water).await?;
            let Some(first) = first.come() else { break };
            let taken = promises::take(&client, first, TAKEN_FOR, BATCH).await?;
            drop(client);
            looked += taken.len();
            self.learn_from(&taken.ended).await?;
            self.judge(&taken.open).await?;
            if taken.len() < saturated::<usize>(BATCH) {
                break;
            }
        }
        Ok(looked)
    }

    /// Judges orders that have not ended.
    async fn judge(&mut self, nos: &[i64]) -> Result<(), Error> {
        if nos.is_empty() {
            return Ok(());
        }
        let client = self.host.store.operations().await?;
        let stands = promises::stands(&client, nos).await?;
        let times = self.times_of(&client, &stands).await?;
        let nothing = RemainingTimes::default();
        let (mut fine, mut late) = (Vec::new(), Vec::new());
        let mut foresight = Foresight::default();
        for stand in stands {
            let times = times.get(&stand.scenario).unwrap_or(&nothing);
            match foresight.judge(&client, &stand, times).await? {
                PromiseVerdict::Fine(next) => fine.push((stand.no, next)),
                PromiseVerdict::Jeopardy(expected) => late.push((stand, expected)),
            }
        }
        promises::look_again(&client, &fine).await?;
        drop(client);
        for late in late.chunks(MARKED) {
            match self.mark(late).await {
                Err(error) if error.is_contention() => self.mark_one_by_one(late).await?,
                outcome => outcome?,
            }
        }
        Ok(())
    }

    /// Remaining times of lives of the scenarios of these orders. Where too little is known, it is learnt from the newest
    /// orders first, in bounds.
    async fn times_of(
        &mut self,
        client: &Client,
        stands: &[PromiseStand],
    ) -> Result<HashMap<String, RemainingTimes>, Error> {
        let mut names: Vec<&str> = stands.iter().map(|stand| stand.scenario.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let mut known = promises::remaining_times(client, &names).await?;
        for name in names {
            let is_known = known.get(name).is_some_and(RemainingTimes::is_known);
            let is_searched = self.searched.get(name).is_some_and(|at| at.elapsed() < RECENT_EVERY);
            if is_known || is_searched {
                continue;
            }
            self.searched.insert(name.to_owned(), Instant::now());
            let recent = promises::recent_lives(client, name, RECENT).await?;
            let lives = promises::ended(client, &recent).await?;
            self.learn(&lives.iter().collect::<Vec<_>>(), &[]).await?;
            known.extend(promises::remaining_times(client, &[name]).await?);
        }
        Ok(known)
    }

    /// Marks orders of which some are locked, or on their way from one place to another: those are looked at again soon, and
    /// keep no other back.
    async fn mark_one_by_one(&self, late: &[(PromiseStand, ExpectedEnd)]) -> Result<(), Error> {
        let mut moved = Vec::new();
        for one in late.chunks(1) {
            match self.mark(one).await {
                Err(error) if error.is_contention() => {
                    moved.extend(one.iter().map(|(stand, _)| (stand.no, soon(stand.now))));
                }
                outcome => outcome?,
            }
        }
        promises::look_again(&self.host.store.operations().await?, &moved).await
    }

    /// Marks orders that will probably be late, and tells of them: once in each life.
    async fn mark(&self, late: &[(PromiseStand, ExpectedEnd)]) -> Result<(), Error> {
        let client = self.host.store.operations().await?;
        let mut new = Vec::with_capacity(late.len());
        for (stand, expected) in late {
            let reason = plain_reason(&client, &self.catalogue, &self.host.settings(), &stand.id).await?;
            new.push(NewJeopardy {
                no: stand.no,
                promise_at: stand.order.promise_at,
                expected_at: expected.p90,
                cause: cause(&reason.unwrap_or_default(), &stand.scenario, expected),
            });
        }
        drop(client);
        mark_late(&self.host, new).await
    }

    /// Counts lives with a promise that have ended, learns from those that were served, and forgets their promises.
    async fn learn_from(&self, ended: &[(i64, Timestamp)]) -> Result<(), Error> {
        if ended.is_empty() {
            return Ok(());
        }
        let nos: Vec<i64> = ended.iter().map(|(no, _)| *no).collect();
        let promised: HashMap<i64, Timestamp> = ended.iter().copied().collect();
        let lives = promises::ended(&self.host.store.operations().await?, &nos).await?;
        let served: Vec<&FinishedLife> =
            lives.iter().filter(|life| life.status == Status::Success).take(LEARNT).collect();
        self.learn(&served, &nos).await?;
        for life in &lives {
            let outcome = match life.status {
                Status::Success if life.ended_at <= promised[&life.no.0] => "kept",
                Status::Success => "late",
                _ => "unserved",
            };
            self.host.metrics.count_by(Count::Promises, &[&life.scenario, outcome], 1);
        }
        Ok(())
    }

    /// Learns from lives that were served, in one transaction with the forgetting of these promises: from each once.
    async fn learn(&self, lives: &[&FinishedLife], done: &[i64]) -> Result<(), Error> {
        let mut client = self.host.store.operations().await?;
        let mut entries = promises::entries_of(&client, lives, MOST_EVENTS).await?;
        // By name: two that learn never wait for each other in a circle.
        let mut by_scenario: BTreeMap<&str, Vec<&FinishedLife>> = BTreeMap::new();
        for life in lives {
            by_scenario.entry(&life.scenario).or_default().push(life);
        }
        let tx = client.transaction().await?;
        for (scenario, lives) in by_scenario {
            let learnt: Vec<_> =
                lives.iter().map(|life| (*life, entries.remove(&life.no).unwrap_or_default())).collect();
            let change = |times: &mut RemainingTimes| {
                learnt
                    .iter()
                    .for_each(|(life, entered)| times.learn(entered, life.started_at, life.ended_at));
            };
            promises::learn(&tx, scenario, change).await?;
        }
        promises::forget(&tx, done).await?;
        Ok(tx.commit().await?)
    }
}

/// The time at which orders are looked at again that could not be marked.
fn soon(now: Timestamp) -> Timestamp {
    now.checked_add(SignedDuration::from_secs(2)).unwrap_or(now)
}

/// Returns the reason why an order will probably be late, in words.
fn cause(reason: &str, scenario: &str, expected: &ExpectedEnd) -> String {
    let basis = if expected.is_known {
        format!(
            "by what orders of scenario `{scenario}` took recently, nine of ten like it end by {}",
            expected.p90
        )
    } else {
        format!(
            "too few orders of scenario `{scenario}` have ended to tell more than when it can end at the earliest"
        )
    };
    format!("{reason}; {basis}")
}
