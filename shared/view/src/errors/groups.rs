//! Groups of failed and retrying orders, put together from their hours.

use std::collections::BTreeMap;

use jiff::Timestamp;
use pagurus_domain::id::OrderNo;
use pagurus_store::lists::errors::{ExaminedErrors, Hour};
use pagurus_wire::errors::{ErrorGroup, ErrorGroups, ErrorHour};

use super::ParsedErrorGroupsQuery;

/// Ids shown of each group.
const SAMPLE: usize = 5;

/// Makes a page of groups, the largest first, and the numbers of a few orders of each.
pub(super) fn page(
    asked: &ParsedErrorGroupsQuery,
    failed: &ExaminedErrors,
    retrying: &ExaminedErrors,
) -> (ErrorGroups, Vec<Vec<OrderNo>>) {
    let count = |hours: &[Hour]| hours.iter().map(|hour| hour.orders).sum::<i64>();
    let (failed_in_all, retrying_in_all) = (count(&failed.hours), count(&retrying.hours));
    let is_cut = |errors: &ExaminedErrors| errors.examined >= asked.examine;
    // Where the newest fill the bound, what is older was not read: the window begins with them. Those who do not see all of them
    // learn no more than the time of their own.
    let oldest =
        if asked.sees_all { failed.oldest } else { failed.hours.iter().map(|hour| hour.first).min() };
    let oldest = oldest.filter(|_| is_cut(failed));
    let since = oldest.map_or(asked.since, |oldest| oldest.max(asked.since));

    let mut gathered: BTreeMap<(Option<&str>, Option<&str>), Gathered> = BTreeMap::new();
    for (hours, is_failed) in [(&failed.hours, true), (&retrying.hours, false)] {
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
        complete: !is_cut(failed) && !is_cut(retrying),
        failed: failed_in_all,
        retrying: retrying_in_all,
        items,
        next,
    };
    (view, samples)
}

/// Group that is summed up hour by hour.
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
    use pagurus_store::lists::errors::{By, Filter};

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

    fn asked(limit: usize, from: usize) -> ParsedErrorGroupsQuery {
        ParsedErrorGroupsQuery {
            by: By::Class,
            filter: Filter::default(),
            since: at("09:00:00"),
            limit,
            from,
            examine: 100,
            sees_all: true,
        }
    }

    fn examined(hours: &[Hour]) -> ExaminedErrors {
        let examined = hours.iter().map(|hour| hour.orders).sum();
        ExaminedErrors { hours: hours.to_vec(), examined, oldest: hours.iter().map(|hour| hour.first).min() }
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
        let (failed, retrying) = (examined(&failed), examined(&retrying));
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
        let failed = examined(&[hour(Some("a"), "10:00:00", 100, "10:20:00", &[1])]);
        let (view, _) = page(&asked(1, 0), &failed, &examined(&[]));
        assert_eq!((view.complete, view.since), (false, at("10:00:00")));
        // Conditions that only some of the examined orders meet change nothing of it.
        let few = ExaminedErrors { hours: Vec::new(), examined: 100, oldest: Some(at("10:05:00")) };
        let (view, _) = page(&asked(1, 0), &few, &examined(&[]));
        assert_eq!((view.complete, view.since, view.failed), (false, at("10:05:00"), 0));
        let of_others = ParsedErrorGroupsQuery { sees_all: false, ..asked(1, 0) };
        assert_eq!(page(&of_others, &few, &examined(&[])).0.since, at("09:00:00"), "failures of others");
    }
}
