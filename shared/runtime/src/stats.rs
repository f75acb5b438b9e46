//! Counts of each minute, for charts and replays: counted in memory, and added to the database every few seconds.
//! Nothing is decided by these counts, and nobody waits for them.
//!
//! The promise: charts, not accounts. While the database is away, counts of thirty minutes are kept, and
//! older ones are dropped. A turn whose answer was lost is sent again under its number, and is not added twice.
//! A process that is killed takes with it what it counted since its last turn; one that stops adds it.

mod series;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pagurus_domain::id::Incarnation;
use pagurus_domain::number::saturated;
use pagurus_domain::order::{OrderError, Status};
use pagurus_domain::system::{CallKind, CallOutcome, CallSamples, duration_of};
use pagurus_store::lists::stats::{self, BOUNDS, Buckets, Delta};
use pagurus_store::{Error, Store};

use crate::Host;
use crate::cap::Cap;
use crate::chain::chain;
use crate::metrics::Count;

pub use series::Series;

/// Between two turns.
const EVERY: Duration = Duration::from_secs(10);
/// Minutes that are kept while they cannot be added.
const MOST_MINUTES: usize = 30;

/// Key of a system and a flow. A system has no space in its name.
#[must_use]
pub fn pair(system: &str, flow: &str) -> String {
    format!("{system} {flow}")
}

/// The system and the flow of a key; none where it is not one of both.
#[must_use]
pub fn pair_of(key: &str) -> Option<(&str, &str)> {
    key.split_once(' ')
}

/// The key under which a word is counted, as long as there are not too many of them: the word itself, but for a strange one.
#[must_use]
pub fn counted_as(word: &str) -> String {
    crate::cap::cut(word)
}

/// True if a word has a key of its own: it is neither cut, nor the key of all words beyond the bound.
#[must_use]
pub fn is_counted_alone(word: &str) -> bool {
    word != crate::cap::OTHER && counted_as(word) == word
}

/// Counts of one key.
#[derive(Clone, Debug, Default)]
struct KeyCounts {
    count: i64,
    sum: f64,
    buckets: Option<Buckets>,
}

impl KeyCounts {
    /// Adds the time of one.
    fn time(&mut self, seconds: f64, has_buckets: bool) {
        self.sum += seconds;
        if !has_buckets {
            return;
        }
        let place = BOUNDS.iter().position(|bound| seconds <= *bound).unwrap_or(BOUNDS.len());
        self.buckets.get_or_insert_default()[place] += 1;
    }
}

type Minute = HashMap<(Series, String), KeyCounts>;
/// Minutes by their number since the process began.
type Minutes = BTreeMap<u64, Minute>;

/// Counts that are being added. They stay as they are until the database has answered.
#[derive(Debug)]
struct StatsBatch {
    node: Incarnation,
    number: i64,
    minutes: Minutes,
}

/// Counts of one process, by the minute. Cheap to clone.
#[derive(Clone, Debug)]
pub struct MinuteCounts {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    begun: Instant,
    caps: [Cap; Series::ALL.len()],
    minutes: Mutex<Minutes>,
    /// The turn that is under way, and the number of the last one.
    turn: tokio::sync::Mutex<(Option<StatsBatch>, i64)>,
}

impl Default for MinuteCounts {
    fn default() -> Self {
        let inner = Inner {
            begun: Instant::now(),
            caps: Default::default(),
            minutes: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }
}

impl MinuteCounts {
    /// Counts something.
    pub fn count(&self, series: Series, key: &str) {
        self.note(self.inner.begun.elapsed(), series, key, None);
    }

    /// Counts something that took a time.
    pub fn time(&self, series: Series, key: &str, time: Duration) {
        self.note(self.inner.begun.elapsed(), series, key, Some(time));
    }

    /// Counts the end of a life.
    pub fn life_ended(&self, scenario: &str, status: Status) {
        if let Some(series) = Series::ended(status) {
            self.count(series, scenario);
        }
    }

    /// Counts an error.
    pub fn error(&self, error: &OrderError) {
        self.count(Series::ErrorClasses, error.class.as_deref().unwrap_or_default());
        if let Some(system) = &error.system {
            self.count(Series::ErrorSystems, system);
        }
    }

    /// Counts calls, each with its time.
    pub fn calls(&self, samples: &CallSamples) {
        let series = match (&samples.outcome, samples.kind) {
            (CallOutcome::Answered, CallKind::Direct) => Series::Answered,
            (CallOutcome::Answered, CallKind::Asynchronous) => Series::CalledBack,
            (CallOutcome::Failed(_), _) => Series::CallsFailed,
            (CallOutcome::Sent | CallOutcome::Declined | CallOutcome::Held, _) => return,
        };
        let key = pair(&samples.system, &samples.flow);
        self.add(self.inner.begun.elapsed(), series, &key, |counts| {
            counts.count += i64::from(samples.count);
            let times = samples.latencies.counts();
            counts.sum +=
                times.map(|(step, count)| duration_of(step).as_secs_f64() * f64::from(count)).sum::<f64>();
        });
    }

    fn note(&self, now: Duration, series: Series, key: &str, time: Option<Duration>) {
        self.add(now, series, key, |counts| {
            counts.count += 1;
            if let Some(time) = time {
                counts.time(time.as_secs_f64(), series.has_buckets());
            }
        });
    }

    fn add(&self, now: Duration, series: Series, key: &str, add: impl FnOnce(&mut KeyCounts)) {
        let key = self.inner.caps[series as usize].admit(key);
        let mut minutes = self.inner.minutes.lock().unwrap_or_else(PoisonError::into_inner);
        add(minutes.entry(minute_of(now)).or_default().entry((series, key)).or_default());
        while minutes.len() > MOST_MINUTES {
            minutes.pop_first();
        }
    }

    /// Adds what was counted since the last turn; first the turn before, where nobody answered to it.
    ///
    /// # Errors
    /// The database fails: the same is sent again with the next call.
    pub async fn flush(&self, store: &Store, node: Incarnation) -> Result<(), Error> {
        let mut under_way = self.inner.turn.lock().await;
        let is_again = under_way.0.is_some();
        self.send(&mut under_way, store, node).await?;
        if is_again { self.send(&mut under_way, store, node).await } else { Ok(()) }
    }

    /// Adds one turn.
    async fn send(
        &self,
        (turn, last): &mut (Option<StatsBatch>, i64),
        store: &Store,
        node: Incarnation,
    ) -> Result<(), Error> {
        if turn.is_none() {
            *turn = self.next_turn(node, *last + 1);
        }
        let Some(StatsBatch { node, number, minutes }) = turn else { return Ok(()) };
        *last = *number;
        let deltas = deltas(minutes, minute_of(self.inner.begun.elapsed()));
        let client = store.operations().await?;
        match stats::add(&client, *node, *number, &deltas).await {
            Err(error) if error.is_transient() => return Err(error),
            // No later try would fare better.
            Err(error) => tracing::error!(error = chain(&error), "counts of the last minutes are dropped"),
            Ok(_) => {}
        }
        *turn = None;
        Ok(())
    }

    /// Everything that was counted, as the next turn; none where nothing was.
    fn next_turn(&self, node: Incarnation, number: i64) -> Option<StatsBatch> {
        let mut minutes = self.inner.minutes.lock().unwrap_or_else(PoisonError::into_inner);
        let minutes = std::mem::take(&mut *minutes);
        (!minutes.is_empty()).then_some(StatsBatch { node, number, minutes })
    }
}

fn minute_of(since_begin: Duration) -> u64 {
    since_begin.as_secs() / 60
}

fn deltas(minutes: &Minutes, now: u64) -> Vec<Delta> {
    let rows =
        minutes.iter().flat_map(|(minute, keys)| keys.iter().map(move |(key, counts)| (minute, key, counts)));
    rows.map(|(minute, (series, key), counts)| Delta {
        what: series.as_str(),
        key: key.clone(),
        minutes_ago: saturated::<i32>(now.saturating_sub(*minute)),
        count: counts.count,
        sum: counts.sum,
        buckets: counts.buckets,
    })
    .collect()
}

/// Adds counts, turn by turn, as long as the life of the node lasts.
pub(crate) async fn write(host: Host) {
    loop {
        tokio::time::sleep(EVERY).await;
        if let Err(error) = host.stats.flush(&host.store, host.node).await {
            host.metrics.count(Count::StoreErrors, "stats", 1);
            tracing::warn!(error = chain(&error), "counts of the last minutes could not be stored yet");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(stats: &MinuteCounts) -> Vec<Delta> {
        let turn = stats.next_turn(Incarnation(1), 1);
        let mut deltas = turn.map_or_else(Vec::new, |turn| deltas(&turn.minutes, 40));
        deltas.sort_by_key(|delta| (delta.what, delta.minutes_ago));
        deltas
    }

    #[test]
    fn every_series_has_its_own_place_and_word() {
        let words: std::collections::BTreeSet<&str> =
            Series::ALL.iter().map(|series| series.as_str()).collect();
        assert_eq!(words.len(), Series::ALL.len());
        assert!(Series::ALL.iter().enumerate().all(|(place, series)| *series as usize == place));
    }

    #[test]
    fn counts_of_one_minute_are_one_delta_with_its_times_in_buckets() {
        let stats = MinuteCounts::default();
        let minute = Duration::from_secs(38 * 60);
        for millis in [1, 5, 200, 60_000] {
            let now = minute + Duration::from_secs(20);
            stats.note(now, Series::Stages, "success", Some(Duration::from_millis(millis)));
        }
        stats.note(minute, Series::Registered, "s", None);
        let deltas = kept(&stats);
        assert_eq!(deltas.len(), 2);
        assert_eq!((deltas[0].what, deltas[0].count, deltas[0].buckets), ("registered", 1, None));
        assert_eq!((deltas[1].count, deltas[1].minutes_ago), (4, 2));
        assert_eq!(deltas[1].buckets, Some([1, 1, 0, 0, 1, 0, 0, 0, 0, 1]));
        assert!((deltas[1].sum - 60.206).abs() < 1e-9, "{deltas:?}");
        assert_eq!(kept(&stats), [], "they are reported once");
    }

    #[test]
    fn minutes_that_cannot_be_added_are_kept_up_to_a_bound_the_newest() {
        let stats = MinuteCounts::default();
        for minute in 0..40 {
            stats.note(Duration::from_secs(60 * minute), Series::Registered, "s", None);
        }
        let deltas = kept(&stats);
        assert_eq!(deltas.len(), MOST_MINUTES);
        assert_eq!((deltas[0].minutes_ago, deltas[MOST_MINUTES - 1].minutes_ago), (1, 30));
    }

    #[test]
    fn keys_beyond_the_cap_are_counted_together() {
        let stats = MinuteCounts::default();
        for number in 0..crate::cap::MOST_WORDS + 5 {
            stats.count(Series::Registered, &format!("s-{number}"));
        }
        let other: Vec<i64> = kept(&stats)
            .iter()
            .filter(|delta| delta.key == crate::cap::OTHER)
            .map(|delta| delta.count)
            .collect();
        assert_eq!(other, [5]);
    }
}
