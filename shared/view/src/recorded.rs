//! Record of a flow: what was counted in each minute of it, of its calls, and of the other flows that call the same systems.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use jiff::{SignedDuration, Timestamp};
use pagurus_domain::number::saturated;
use pagurus_runtime::stats::{Series, counted_as, is_counted_alone, pair, pair_of};
use pagurus_store::Error;
use pagurus_store::lists::stats::{self, KeyPoint};
use pagurus_store::upkeep::flows;
use pagurus_wire::problem::{Problem, Type};

use crate::Views;
use crate::stats::{MINUTE, whole_minute};

/// Time that a record goes back.
const SPAN: SignedDuration = SignedDuration::from_hours(1);
/// Processes add their counts within this time.
const LATE: SignedDuration = SignedDuration::from_secs(15);
/// Other flows of a record at most: those with most calls.
const MOST_OTHERS: usize = 20;
/// Called systems of a record at most.
const MOST_SYSTEMS: usize = 10;
/// Keys and rows that are read at most.
const KEYS: i64 = 10_000;
const ROWS: i64 = 50_000;

/// Series of a flow.
const OF_FLOWS: [Series; 4] = [Series::FlowCame, Series::FlowStages, Series::FlowWaits, Series::FlowRepeats];
/// Series of a system and a flow.
const OF_CALLS: [Series; 3] = [Series::Answered, Series::CalledBack, Series::CallsFailed];

/// Counts of one series in one minute of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedCount {
    /// The series.
    pub series: Series,
    /// Number of the minute in the record.
    pub minute: usize,
    /// The flow, by its place in the record.
    pub flow: usize,
    /// The called system, by its place in the record, where calls are counted.
    pub system: Option<usize>,
    /// Number of them.
    pub count: f64,
    /// Seconds that they took in all.
    pub seconds: f64,
}

/// Record of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// Start of the first minute.
    pub from: Timestamp,
    /// Number of minutes.
    pub minutes: usize,
    /// Names of the flows, as they are counted; the first is the one that is asked about.
    pub flows: Vec<String>,
    /// The called systems.
    pub systems: Vec<String>,
    /// Counts.
    pub counts: Vec<RecordedCount>,
}

impl Views {
    /// The record of the last hour of a flow.
    pub async fn recorded(&self, flow: &str) -> Result<Recorded, Problem> {
        let until = whole_minute(Timestamp::now().saturating_sub(LATE).unwrap_or(Timestamp::UNIX_EPOCH));
        let from = until.saturating_sub(SPAN).unwrap_or(Timestamp::UNIX_EPOCH);
        let read = async {
            let client = self.host.store.reports().await?;
            let is_known = flows::one(&client, flow).await?.is_some();
            if !is_counted_alone(flow) {
                return Ok((is_known, vec![flow.to_owned()], Vec::new(), Vec::new()));
            }
            let all = stats::keys(&client, &OF_CALLS.map(Series::as_str), from, KEYS).await?;
            let keys = keys_around(flow, &all);
            let calls = OF_CALLS.map(Series::as_str);
            let calls = stats::of_keys(&client, &calls, (from, until), &keys, ROWS).await?;
            let flows = flows_of(flow, &calls);
            let stages = OF_FLOWS.map(Series::as_str);
            let stages = stats::of_keys(&client, &stages, (from, until), &flows, ROWS).await?;
            Ok::<_, Error>((is_known, flows, calls, stages))
        };
        let (is_known, flows, calls, stages) = read.await.map_err(self.failed("stats"))?;
        // Of a minute without a stage nothing is counted: the record begins with the first that has one of the flow.
        let first = stages.iter().find(|point| point.key == flows[0]).map(|point| point.minute);
        let Some(first) = first else {
            let nothing = format!("nothing was recorded of the flow `{flow}` in the last hour");
            return Err(if is_known {
                Problem::new(Type::NotFound, nothing)
            } else {
                Problem::no_flow(flow)
            });
        };
        Ok(recorded((first, until), flows, &calls, &stages))
    }
}

/// The pairs whose system the flow calls.
fn keys_around(flow: &str, keys: &[String]) -> Vec<String> {
    let all: HashSet<&str> = keys.iter().map(String::as_str).collect();
    let is_own = |system: &&str| all.contains(&*counted_as(&pair(system, flow)));
    let systems: BTreeSet<&str> =
        keys.iter().filter_map(|key| pair_of(key)).map(|(system, _)| system).filter(is_own).collect();
    let systems: BTreeSet<&str> = systems.into_iter().take(MOST_SYSTEMS).collect();
    keys.iter()
        .filter(|key| pair_of(key).is_some_and(|(system, _)| systems.contains(system)))
        .cloned()
        .collect()
}

/// True if a key is that of this flow, and of a system. The name of the flow is cut where both are too long.
fn is_of(key: &str, system: &str, flow: &str) -> bool {
    counted_as(&pair(system, flow)) == key
}

/// The flow, and behind it the others that call its systems, those with most calls.
fn flows_of(flow: &str, calls: &[KeyPoint]) -> Vec<String> {
    let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
    for point in calls {
        if let Some((system, other)) = pair_of(&point.key)
            && !is_of(&point.key, system, flow)
        {
            *counts.entry(other).or_default() += point.count;
        }
    }
    let mut others: Vec<(&str, i64)> = counts.into_iter().collect();
    others.sort_by_key(|(_, count)| -count);
    let others = others.into_iter().take(MOST_OTHERS).map(|(other, _)| other.to_owned());
    std::iter::once(flow.to_owned()).chain(others).collect()
}

fn recorded(
    (from, until): (Timestamp, Timestamp),
    flows: Vec<String>,
    calls: &[KeyPoint],
    stages: &[KeyPoint],
) -> Recorded {
    let minute_at = |at: Timestamp| saturated::<usize>(((at.as_second() - from.as_second()) / MINUTE).max(0));
    let systems: BTreeSet<&str> =
        calls.iter().filter_map(|point| pair_of(&point.key)).map(|(system, _)| system).collect();
    let systems: Vec<String> = systems.into_iter().map(str::to_owned).collect();
    let counts = stages.iter().chain(calls).filter(|point| point.minute >= from).filter_map(|point| {
        let series = Series::of_word(&point.what)?;
        let (system, flow) = match pair_of(&point.key).filter(|_| OF_CALLS.contains(&series)) {
            Some((system, _)) => {
                let flow = flows.iter().position(|flow| is_of(&point.key, system, flow))?;
                (Some(systems.iter().position(|one| one == system)?), flow)
            }
            None => (None, flows.iter().position(|one| *one == point.key)?),
        };
        let minute = minute_at(point.minute);
        Some(RecordedCount { series, minute, flow, system, count: point.count as f64, seconds: point.sum })
    });
    let counts = counts.collect();
    Recorded { from, minutes: minute_at(until), flows, systems, counts }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(minute * MINUTE).unwrap_or_default()
    }

    fn point(what: Series, minute: i64, key: &str, count: i64) -> KeyPoint {
        KeyPoint { what: what.as_str().to_owned(), minute: at(minute), key: key.to_owned(), count, sum: 1.0 }
    }

    #[test]
    fn a_record_holds_the_flow_its_systems_and_who_else_calls_them() {
        // In the order of a database whose collation is not that of bytes.
        let keys =
            ["crm:80 Zoo", "crm:80 bills", "crm:80 tariff", "dpi:80 other", "other"].map(str::to_owned);
        assert_eq!(keys_around("tariff", &keys), keys[..3]);
        assert_eq!(keys_around("Zoo", &keys), keys[..3]);
        assert_eq!(keys_around("nobody", &keys), [""; 0]);
        let calls = [
            point(Series::Answered, 5, "crm:80 bills", 7),
            point(Series::Answered, 6, "crm:80 tariff", 3),
            point(Series::CallsFailed, 1, "crm:80 tariff", 1),
            point(Series::Answered, 6, "crm:80 tariff-change", 2),
        ];
        let flows = flows_of("tariff", &calls);
        assert_eq!(flows, ["tariff", "bills", "tariff-change"]);
        assert_eq!(flows_of("tariff-change", &calls), ["tariff-change", "bills", "tariff"]);
        let stages = [point(Series::FlowCame, 5, "tariff", 4), point(Series::FlowCame, 7, "strange", 4)];
        let record = recorded((at(5), at(9)), flows, &calls, &stages);
        assert_eq!((record.minutes, &record.systems[..]), (4, &["crm:80".to_owned()][..]));
        let seen: Vec<_> = record
            .counts
            .iter()
            .map(|one| (one.series, one.minute, one.flow, one.system, one.count))
            .collect();
        let expected = [
            (Series::FlowCame, 0, 0, None, 4.0),
            (Series::Answered, 0, 1, Some(0), 7.0),
            (Series::Answered, 1, 0, Some(0), 3.0),
            (Series::Answered, 1, 2, Some(0), 2.0),
        ];
        assert_eq!(seen, expected, "what was before the first minute is left out");
    }
}
