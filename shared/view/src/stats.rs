//! The engine in figures: present contents of the tables, by bounded reads, and recent counts.
//!
//! The look at the present is shared by all who ask within two seconds: however many charts there are, the database is asked
//! as often as by one.

mod own;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use pagurus_domain::activation::Stream;
use pagurus_domain::document::parse_duration;
use pagurus_domain::low_water::{LowNumber, LowWater};
use pagurus_domain::number::saturated;
use pagurus_domain::order::Status;
use pagurus_runtime::stats::Series;
use pagurus_store::hot::outbox;
use pagurus_store::lists::measures::{self, Measured};
use pagurus_store::lists::stats::{self, Totals};
use pagurus_store::upkeep::first::{self, TimedList};
use pagurus_store::upkeep::walks;
use pagurus_store::{Client, Error};
use pagurus_wire::problem::Problem;
use pagurus_wire::stats::{
    ActivationStats, CheckStats, EndedLives, ErrorStats, NamedCount, ScenarioStats, StatsCount, StatsNow,
    StatsRates, StatsStep, StatsView, SystemStats,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::Views;
use crate::query::{invalid, moment};

/// Time that is looked back over, where nothing else is asked for, and at most.
const USUAL_TIME: SignedDuration = SignedDuration::from_hours(1);
const LONGEST_TIME: SignedDuration = SignedDuration::from_hours(7 * 24);
/// Steps of an answer, where nothing else is asked for, and at most.
const USUAL_STEPS: i64 = 60;
const MOST_STEPS: i64 = 1500;
/// Rows of one series that are read at most.
const ROWS: i64 = 50_000;
/// Names of an answer.
const NAMES: usize = 100;
/// Time for which a look at the present serves others.
const NOW_CACHE: Duration = Duration::from_secs(2);
pub(crate) const MINUTE: i64 = 60;

/// Query of the figures.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct StatsQuery {
    /// Start of the time range: a time, or a duration back from now; default: one hour, at most seven days.
    since: Option<String>,
    /// Length of a step, whole minutes; default: at most sixty steps.
    step: Option<String>,
}

/// The look at the present that all share.
pub(crate) type SharedNow = tokio::sync::Mutex<StatsCache>;

/// The last look at the present, and when it was.
#[derive(Debug, Default)]
pub(crate) struct StatsCache {
    last: Option<(Instant, Timestamp, StatsNow)>,
    /// Place from which ready orders are read.
    ready: LowNumber,
    /// Place from which due orders are read, by group.
    due: BTreeMap<&'static str, LowWater>,
}

const COUNTED: [Series; 9] = [
    Series::Registered,
    Series::Succeeded,
    Series::Failed,
    Series::Interrupted,
    Series::Canceled,
    Series::Stages,
    Series::ErrorClasses,
    Series::ErrorSystems,
    Series::Calls,
];

impl Views {
    /// The engine in figures.
    pub async fn stats(&self, query: &StatsQuery) -> Result<StatsView, Problem> {
        let now = Timestamp::now();
        let (since, step) = window(query, now)?;
        if !self.scope.has_every_name() {
            return self.own_stats(since, step.unsigned_abs()).await;
        }
        let words = COUNTED.map(Series::as_str);
        let read = async {
            // The session is taken before the lock on the shared look, so that nobody waits for a session while holding it.
            let client = self.host.store.reports().await?;
            let (at, present) = self.now(&client).await?;
            let length = Duration::from_secs(step.unsigned_abs());
            let totals = stats::totals(&client, &words, since, length, ROWS).await?;
            let minute = whole_minute(now).saturating_sub(SignedDuration::from_mins(1)).unwrap_or(now);
            let minute_length = Duration::from_secs(MINUTE.unsigned_abs());
            let last = stats::totals(&client, &words, minute, minute_length, ROWS).await?;
            Ok((at, present, totals, last, minute))
        };
        let (at, now, totals, last, minute) = read.await.map_err(self.failed("stats"))?;
        let since = totals.values().filter_map(|series| series.cut_at).fold(since, Timestamp::max);
        Ok(StatsView {
            at,
            since,
            step_seconds: step.unsigned_abs(),
            now,
            rates: rates(&last, minute),
            steps: steps(&totals),
            scenarios: scenarios(&totals),
            errors: errors(&totals),
            systems: systems(&totals),
        })
    }

    /// The present, looked at by one for all.
    pub(crate) async fn now(&self, client: &Client) -> Result<(Timestamp, StatsNow), Error> {
        let mut shared = self.now.lock().await;
        if let Some((looked, at, now)) = &shared.last
            && looked.elapsed() < NOW_CACHE
        {
            return Ok((*at, now.clone()));
        }
        let now = look(client, &mut shared).await?;
        let at = Timestamp::now();
        shared.last = Some((Instant::now(), at, now.clone()));
        Ok((at, now))
    }
}

/// Begin and length of a step that a query asks for, in whole minutes.
fn window(query: &StatsQuery, now: Timestamp) -> Result<(Timestamp, i64), Problem> {
    let asked = query.since.as_deref().map(|text| {
        moment(text, now).ok_or_else(|| invalid("/since", "since must be a time, or a duration such as 2h"))
    });
    let asked = asked.transpose()?.unwrap_or_else(|| now.saturating_sub(USUAL_TIME).unwrap_or(now));
    let length = now.duration_since(asked);
    if length.is_negative() || length > LONGEST_TIME {
        return Err(invalid("/since", "since must lie within the last seven days"));
    }
    let minutes = (length.as_secs() / MINUTE + 1).max(1);
    let step = match query.step.as_deref() {
        None => (minutes + USUAL_STEPS - 1) / USUAL_STEPS * MINUTE,
        Some(text) => {
            let seconds = parse_duration(text).ok().and_then(|step| i64::try_from(step.as_secs()).ok());
            let seconds = seconds.filter(|seconds| *seconds >= MINUTE && seconds % MINUTE == 0);
            seconds.ok_or_else(|| invalid("/step", "step must be a whole number of minutes, such as 5m"))?
        }
    };
    if minutes * MINUTE / step > MOST_STEPS {
        let message =
            format!("this would give more than {MOST_STEPS} steps: choose longer steps, or a shorter time");
        return Err(invalid("/step", message));
    }
    Ok((whole_minute(asked), step))
}

/// The minute of a time.
pub(crate) fn whole_minute(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second().div_euclid(MINUTE) * MINUTE).unwrap_or(at)
}

async fn look(client: &Client, present: &mut StatsCache) -> Result<StatsNow, Error> {
    let waiting = measures::waiting(client).await?;
    let rows = measures::statuses(client).await?;
    let (unsent, parked, age) = outbox::shown::backlog(client).await?;
    let exact = |count: i64| StatsCount { count: saturated::<u64>(count), estimated: false };
    Ok(StatsNow {
        statuses: statuses(&rows, &waiting),
        waiting: waiting.into_iter().map(|(name, measured)| named(name, measured)).collect(),
        activation: activation(client, &mut present.due).await?,
        open_requests: count(measures::open_requests(client).await?),
        unsent_notifications: exact(unsent),
        parked_notifications: exact(parked),
        refused_messages: count(measures::refused(client).await?),
        inconsistent: count(measures::inconsistent(client).await?),
        consistency_check: walks::view(client, walks::CHECK).await?.map(|walk| CheckStats {
            rounds: walk.rounds,
            share: walk.share(),
            begun_at: walk.begun_at,
            ended_at: walk.ended_at,
        }),
        oldest_ready_seconds: measures::oldest_ready_seconds(client, &mut present.ready).await?,
        oldest_notification_seconds: age,
    })
}

/// Delay by which the orders of each group are woken (ACT-6).
async fn activation(
    client: &Client,
    low_waters: &mut BTreeMap<&'static str, LowWater>,
) -> Result<Vec<ActivationStats>, Error> {
    let mut groups = Vec::new();
    // Dependent orders are woken by the ends of others, and have no time.
    for stream in Stream::ALL.iter().filter(|stream| **stream != Stream::Dependent) {
        let low_water = low_waters.entry(stream.as_str()).or_default();
        let first = first::look(client, TimedList::Due(*stream), low_water).await?;
        let late = first.come().map_or(0, |at| first.now.duration_since(at).as_millis());
        groups.push(ActivationStats {
            group: stream.as_str().to_owned(),
            current_processing_lag_ms: saturated::<u64>(late),
        });
    }
    Ok(groups)
}

fn count(measured: Measured) -> StatsCount {
    StatsCount { count: measured.count as u64, estimated: measured.is_estimated }
}

fn named(name: &str, measured: Measured) -> NamedCount {
    NamedCount { name: name.to_owned(), count: count(measured) }
}

/// Orders by status, in the order in which the law names them. Rows of running orders have their former status, so the number
/// of what runs is taken from its place, and what is suspended from the streams: statistics of the server know rare
/// statuses badly.
fn statuses(rows: &[(String, Measured)], waiting: &[(&'static str, Measured)]) -> Vec<NamedCount> {
    let mut counts: BTreeMap<Status, Measured> = BTreeMap::new();
    for (word, measured) in rows {
        if let Ok(status) = word.parse::<Status>() {
            counts.insert(status, *measured);
        }
    }
    let are_estimates = rows.iter().any(|(_, measured)| measured.is_estimated);
    let mut places: BTreeMap<Status, Measured> = BTreeMap::new();
    for (reason, measured) in waiting {
        let Some(status) = status_of(reason) else { continue };
        let sum = places.entry(status).or_default();
        sum.count += measured.count;
        sum.is_estimated |= measured.is_estimated;
    }
    if let Some(running) = places.remove(&Status::Running) {
        counts.insert(Status::Running, running);
    }
    if are_estimates {
        counts.extend(places);
    }
    let counted = counts.into_iter().filter(|(_, measured)| measured.count > 0.0);
    counted.map(|(status, measured)| named(status.as_str(), measured)).collect()
}

/// The status in which orders are that wait for a reason; none of what may run, which is in the one that it rests in.
fn status_of(reason: &str) -> Option<Status> {
    Some(match reason {
        "sleep_youngest" | "sleep_middle" | "sleep_oldest" => Status::Sleep,
        "postponed" | "dependent" => Status::Postponed,
        "worker" => return None,
        other => other.parse().ok()?,
    })
}

type SeriesTotals = BTreeMap<String, Totals>;

/// The steps of a series.
fn steps_of(totals: &SeriesTotals, series: Series) -> &[(Timestamp, i64, f64)] {
    totals.get(series.as_str()).map_or(&[], |totals| &totals.steps)
}

/// The keys of a series.
fn keys_of(totals: &SeriesTotals, series: Series) -> &[(String, i64, f64)] {
    totals.get(series.as_str()).map_or(&[], |totals| &totals.keys)
}

/// The place of a count in a sum of ends.
type PlaceOfEnd = fn(&mut EndedLives) -> &mut i64;

/// The series of ends, each with its place in a sum.
const ENDS: [(Series, PlaceOfEnd); 4] = [
    (Series::Succeeded, |ended| &mut ended.success),
    (Series::Failed, |ended| &mut ended.fail),
    (Series::Interrupted, |ended| &mut ended.interrupted),
    (Series::Canceled, |ended| &mut ended.canceled),
];

fn rates(totals: &SeriesTotals, minute: Timestamp) -> StatsRates {
    let rate = |series: Series| {
        let step = steps_of(totals, series).iter().find(|(at, ..)| *at == minute);
        step.map_or(0.0, |(_, count, _)| *count as f64 / MINUTE as f64)
    };
    StatsRates {
        registered: rate(Series::Registered),
        ended: ENDS.iter().map(|(series, _)| rate(*series)).sum(),
        failed: rate(Series::Failed),
        stages: rate(Series::Stages),
        calls: rate(Series::Calls),
    }
}

fn steps(totals: &SeriesTotals) -> Vec<StatsStep> {
    let mut steps: BTreeMap<Timestamp, StatsStep> = BTreeMap::new();
    let mut add = |series: Series, put: &dyn Fn(&mut StatsStep, i64, f64)| {
        for (at, count, sum) in steps_of(totals, series) {
            let step = steps.entry(*at).or_insert_with(|| StatsStep {
                at: *at,
                registered: 0,
                ended: EndedLives::default(),
                stages: 0,
                stage_seconds: None,
                calls: 0,
            });
            put(step, *count, *sum);
        }
    };
    add(Series::Registered, &|step, count, _| step.registered = count);
    for (series, place) in ENDS {
        add(series, &|step, count, _| *place(&mut step.ended) = count);
    }
    add(Series::Stages, &|step, count, sum| {
        step.stages = count;
        step.stage_seconds = (count > 0).then(|| sum / count as f64);
    });
    add(Series::Calls, &|step, count, _| step.calls = count);
    steps.into_values().collect()
}

fn scenarios(totals: &SeriesTotals) -> Vec<ScenarioStats> {
    let mut found: BTreeMap<&str, ScenarioStats> = BTreeMap::new();
    let mut add = |series: Series, put: &dyn Fn(&mut ScenarioStats, i64)| {
        for (scenario, count, _) in keys_of(totals, series) {
            let one = found.entry(scenario).or_insert_with(|| ScenarioStats {
                scenario: scenario.clone(),
                registered: 0,
                ended: EndedLives::default(),
            });
            put(one, *count);
        }
    };
    add(Series::Registered, &|one, count| one.registered = count);
    for (series, place) in ENDS {
        add(series, &|one, count| *place(&mut one.ended) = count);
    }
    let mut found: Vec<ScenarioStats> = found.into_values().collect();
    // Stable: among equals the alphabet.
    found.sort_by_key(|one| std::cmp::Reverse(one.registered + one.ended.total()));
    found.truncate(NAMES);
    found
}

fn errors(totals: &SeriesTotals) -> Vec<ErrorStats> {
    let keys = keys_of(totals, Series::ErrorClasses).iter().take(NAMES);
    keys.map(|(class, count, _)| ErrorStats { class: class.clone(), count: *count }).collect()
}

fn systems(totals: &SeriesTotals) -> Vec<SystemStats> {
    let errors: BTreeMap<&str, i64> = keys_of(totals, Series::ErrorSystems)
        .iter()
        .map(|(system, count, _)| (system.as_str(), *count))
        .collect();
    let keys = keys_of(totals, Series::Calls).iter().take(NAMES);
    keys.map(|(system, calls, sum)| SystemStats {
        system: system.clone(),
        calls: *calls,
        mean_seconds: if *calls > 0 { sum / *calls as f64 } else { 0.0 },
        errors: errors.get(system.as_str()).copied().unwrap_or_default(),
    })
    .collect()
}

#[cfg(test)]
mod tests;
