//! Failed and retrying orders in groups, and what a failure would get (ERR-14).

use std::collections::BTreeMap;

use axum::Json;
use axum::body::Body;
use axum::extract::{Query, State};
use jiff::{SignedDuration, Timestamp};
use pagurus_domain::document::parse_duration;
use pagurus_domain::id::OrderNo;
use pagurus_domain::retry;
use pagurus_store::errors::{self, By, Hour, MOST};
use pagurus_wire::errors::{ErrorGroup, ErrorGroups, ErrorHour, Explained, Question};
use pagurus_wire::problem::{Problem, Type};
use serde::Deserialize;

use super::{Answer, Outcome, body_of, store_problem};
use crate::{Intake, register};

/// Window where none is asked for.
const USUAL_WINDOW: SignedDuration = SignedDuration::from_hours(24);
/// Longest window: its hours are listed one by one.
const MAX_WINDOW: SignedDuration = SignedDuration::from_hours(31 * 24);
/// Groups on a page, where nothing else is asked for, and at most.
const USUAL_LIMIT: usize = 50;
const MAX_LIMIT: usize = 500;
/// Ids told of each group.
const SAMPLE: usize = 5;

/// Query of the groups.
#[derive(Debug, Deserialize)]
pub(super) struct GroupsQuery {
    by: Option<String>,
    since: Option<String>,
    limit: Option<usize>,
    cursor: Option<String>,
}

/// `POST /v1/classify`
pub(super) async fn classify(State(intake): State<Intake>, body: Body) -> Outcome<Json<Explained>> {
    let bytes = body_of(body, intake.host.settings.intake.max_body_bytes).await?;
    let question: Question = serde_json::from_value(register::parse(&bytes)?)
        .map_err(|error| Problem::new(Type::Invalid, error.to_string()))?;
    let told = retry::explain(&intake.host.settings.errors, &question.as_asked())
        .map_err(|fault| Problem::of_faults(Type::Invalid, &[fault]))?;
    Ok(Json(told.into()))
}

/// `GET /v1/errors`
pub(super) async fn groups(
    State(intake): State<Intake>,
    Query(query): Query<GroupsQuery>,
) -> Outcome<Json<ErrorGroups>> {
    let asked = Asked::read(&query, Timestamp::now())?;
    let found = async {
        let client = intake.host.store.api().await?;
        let failed = errors::failed(&client, asked.by, asked.since).await?;
        let retrying = errors::retrying(&client, asked.by).await?;
        let (mut view, samples) = page(&asked, &failed, &retrying);
        let wanted: Vec<OrderNo> = samples.iter().flatten().copied().collect();
        let mut ids = errors::ids(&client, &wanted).await?;
        for (group, sample) in view.items.iter_mut().zip(samples) {
            group.orders = sample.iter().filter_map(|no| ids.remove(no)).collect();
        }
        Ok::<_, pagurus_store::Error>(view)
    }
    .await;
    Ok(Json(found.map_err(|error| store_problem(&intake.host, "errors", &error))?))
}

/// A query that was understood.
#[derive(Debug)]
struct Asked {
    by: By,
    since: Timestamp,
    limit: usize,
    /// How many groups the pages before had.
    from: usize,
}

impl Asked {
    fn read(query: &GroupsQuery, now: Timestamp) -> Outcome<Self> {
        let invalid = |pointer: &str, told: &str| {
            let mut problem = Problem::new(Type::Invalid, told);
            problem.pointer = Some(pointer.to_owned());
            Answer(problem)
        };
        let by = query.by.as_deref().unwrap_or("class");
        let by = By::of(by).ok_or_else(|| {
            invalid(
                "/by",
                match by {
                    "system" => {
                        "called systems are not stored with an order yet; by is class, scenario or state"
                    }
                    _ => "by is class, scenario or state",
                },
            )
        })?;
        let oldest = now - MAX_WINDOW;
        let since = match query.since.as_deref() {
            None => Some(now - USUAL_WINDOW),
            Some(text) => text.parse().ok().or_else(|| before(now, text)),
        };
        let since = since.filter(|since| (oldest..=now).contains(since)).ok_or_else(|| {
            invalid("/since", "since is a time, or a duration back from now like `6h`, of at most 31d")
        })?;
        let limit = query.limit.unwrap_or(USUAL_LIMIT);
        if !(1..=MAX_LIMIT).contains(&limit) {
            return Err(invalid("/limit", &format!("limit must be 1 to {MAX_LIMIT}")));
        }
        let from = query.cursor.as_deref().unwrap_or("0").parse();
        let from = from.map_err(|_| invalid("/cursor", "cursor is not one of ours"))?;
        Ok(Self { by, since, limit, from })
    }
}

fn before(now: Timestamp, text: &str) -> Option<Timestamp> {
    now.checked_sub(SignedDuration::try_from(parse_duration(text).ok()?).ok()?).ok()
}

/// One page of groups, the largest first, and the numbers of a few orders of each.
fn page(asked: &Asked, failed: &[Hour], retrying: &[Hour]) -> (ErrorGroups, Vec<Vec<OrderNo>>) {
    let count = |hours: &[Hour]| hours.iter().map(|hour| hour.orders).sum::<i64>();
    let (failed_in_all, retrying_in_all) = (count(failed), count(retrying));
    // Where the newest fill the bound, what is older was not read: the window begins with them.
    let cut = failed_in_all >= MOST;
    let oldest = failed.iter().map(|hour| hour.first).min();
    let since = oldest.filter(|_| cut).map_or(asked.since, |oldest| oldest.max(asked.since));

    let mut gathered: BTreeMap<(Option<&str>, Option<&str>), Gathered> = BTreeMap::new();
    for (hours, is_failed) in [(failed, true), (retrying, false)] {
        for hour in hours {
            let key = (hour.key.as_deref(), hour.scenario.as_deref());
            gathered.entry(key).or_default().add(hour, is_failed, asked.since);
        }
    }
    let mut groups: Vec<_> = gathered.into_iter().collect();
    // Stable: among equals the alphabet, so that pages fit together.
    groups.sort_by_key(|(_, group)| std::cmp::Reverse(group.failed + group.retrying));
    let end = asked.from.saturating_add(asked.limit);
    let next = (groups.len() > end).then(|| end.to_string());
    let (items, samples) = groups
        .into_iter()
        .skip(asked.from)
        .take(asked.limit)
        .map(|((key, scenario), group)| group.finish(key, scenario))
        .unzip();
    let view = ErrorGroups {
        by: asked.by.as_str().to_owned(),
        since,
        complete: !cut && retrying_in_all < MOST,
        failed: failed_in_all,
        retrying: retrying_in_all,
        items,
        next,
    };
    (view, samples)
}

/// One group as its hours come in.
#[derive(Debug, Default)]
struct Gathered {
    failed: i64,
    retrying: i64,
    hours: BTreeMap<Timestamp, (i64, i64)>,
    /// Orders with the end of the hour's last, to find the newest.
    sample: Vec<(Timestamp, OrderNo)>,
}

impl Gathered {
    fn add(&mut self, hour: &Hour, is_failed: bool, since: Timestamp) {
        *(if is_failed { &mut self.failed } else { &mut self.retrying }) += hour.orders;
        self.sample.extend(hour.sample.iter().map(|no| (hour.last, *no)));
        // An order may be in retry for longer than the window: it counts, but in no hour of it.
        if hour.last >= since {
            let (failed, retrying) = self.hours.entry(hour.from).or_default();
            *(if is_failed { failed } else { retrying }) += hour.orders;
        }
    }

    fn finish(mut self, key: Option<&str>, scenario: Option<&str>) -> (ErrorGroup, Vec<OrderNo>) {
        self.sample.sort_by_key(|(last, _)| std::cmp::Reverse(*last));
        let last_at = self.sample.first().map_or(Timestamp::UNIX_EPOCH, |(last, _)| *last);
        let hours = self.hours.into_iter();
        let hours = hours.map(|(from, (failed, retrying))| ErrorHour { from, failed, retrying }).collect();
        let group = ErrorGroup {
            key: key.map(str::to_owned),
            scenario: scenario.map(str::to_owned),
            failed: self.failed,
            retrying: self.retrying,
            last_at,
            hours,
            orders: Vec::new(),
        };
        (group, self.sample.into_iter().take(SAMPLE).map(|(_, no)| no).collect())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        format!("2026-01-02T{text}Z").parse().unwrap()
    }

    fn hour(key: Option<&str>, from: &str, orders: i64, last: &str, sample: &[i64]) -> Hour {
        Hour {
            key: key.map(str::to_owned),
            scenario: None,
            from: at(from),
            orders,
            first: at(from),
            last: at(last),
            sample: sample.iter().copied().map(OrderNo).collect(),
        }
    }

    fn asked(limit: usize, from: usize) -> Asked {
        Asked { by: By::Class, since: at("09:00:00"), limit, from }
    }

    #[test]
    fn err_14_hours_of_a_group_come_together_and_the_largest_group_is_first() {
        let failed = [
            hour(Some("small"), "10:00:00", 1, "10:10:00", &[7]),
            hour(Some("big"), "10:00:00", 2, "10:20:00", &[2, 1]),
            hour(Some("big"), "11:00:00", 4, "11:20:00", &[6, 5, 4, 3]),
        ];
        let retrying = [
            hour(Some("small"), "10:00:00", 3, "10:30:00", &[9]),
            hour(None, "08:00:00", 1, "08:30:00", &[8]),
        ];
        let (view, samples) = page(&asked(2, 0), &failed, &retrying);
        assert_eq!((view.failed, view.retrying, view.complete), (7, 4, true));
        let counts: Vec<_> = view
            .items
            .iter()
            .map(|group| (group.key.as_deref().unwrap(), group.failed, group.retrying))
            .collect();
        assert_eq!(counts, [("big", 6, 0), ("small", 1, 3)]);
        let small = &view.items[1];
        assert_eq!(small.hours, [ErrorHour { from: at("10:00:00"), failed: 1, retrying: 3 }]);
        assert_eq!(small.last_at, at("10:30:00"));
        assert_eq!(samples[0], [6, 5, 4, 3, 2].map(OrderNo), "the newest first, five at most");
        assert_eq!(samples[1], [9, 7].map(OrderNo));

        let (rest, _) = page(&asked(2, view.next.unwrap().parse().unwrap()), &failed, &retrying);
        assert_eq!((rest.items.len(), rest.next), (1, None));
        assert_eq!((rest.items[0].key.as_deref(), rest.items[0].retrying), (None, 1));
        assert_eq!(rest.items[0].hours, [], "it came into retry before the window");
    }

    #[test]
    fn err_14_a_count_that_met_its_bound_says_so() {
        let failed = [hour(Some("a"), "10:00:00", MOST, "10:20:00", &[1])];
        let (view, _) = page(&asked(1, 0), &failed, &[]);
        assert_eq!((view.complete, view.since), (false, at("10:00:00")));
    }

    #[test]
    fn err_14_the_window_is_a_time_or_a_duration() {
        let now = at("12:00:00");
        let read = |since: Option<&str>, by: Option<&str>| {
            let query = GroupsQuery {
                by: by.map(str::to_owned),
                since: since.map(str::to_owned),
                limit: None,
                cursor: None,
            };
            Asked::read(&query, now).map(|asked| asked.since).map_err(|Answer(problem)| problem.pointer)
        };
        assert_eq!(read(Some("2h"), None), Ok(at("10:00:00")));
        assert_eq!(read(Some("2026-01-02T09:00:00Z"), Some("state")), Ok(at("09:00:00")));
        assert_eq!(read(None, Some("scenario")), Ok(now - USUAL_WINDOW));
        for bad in ["yesterday", "32d", "2026-01-03T00:00:00Z", ""] {
            assert_eq!(read(Some(bad), None), Err(Some("/since".into())), "{bad}");
        }
        assert_eq!(read(None, Some("system")), Err(Some("/by".into())));
    }
}
