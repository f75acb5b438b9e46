//! The ends of the orders of a measurement. Orders are followed in groups by their numbers; the ids of a
//! group share a prefix. A group is counted until none of it goes on, read once, and forgotten.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use pagurus_domain::order::Status;
use pagurus_wire::order::{OrderLine, Page};
use pagurus_wire::search::OrderCounts;

use super::{Bench, GRACE};
use crate::client::ApiClient;
use crate::failure::CliError;
use crate::screen::{ProgressMeter, Screen};

/// Orders of a group.
const GROUP: u64 = 2000;
/// Interval between two looks.
const EVERY: Duration = Duration::from_millis(500);
/// Groups of one look.
const LOOKED: usize = 8;
/// Orders of a page.
const PAGE: &str = "500";

/// Groups that are not over, by their numbers: orders of each that were given out, and answered.
#[derive(Debug, Default)]
pub(super) struct Groups {
    open: BTreeMap<u64, Group>,
    /// The group at which the last look ended.
    looked: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Group {
    begun: u64,
    answered: u64,
}

/// The id of an order.
pub(super) fn id_of(prefix: &str, number: u64) -> String {
    format!("{}{:04}", prefix_of(prefix, number / GROUP), number % GROUP)
}

/// Returns the common prefix of all ids of a group.
fn prefix_of(prefix: &str, group: u64) -> String {
    format!("{prefix}-{group:06}-")
}

/// Parts of a range of numbers, by group.
fn parts(numbers: &Range<u64>) -> impl Iterator<Item = (u64, u64)> {
    let Range { start, end } = numbers.clone();
    let groups = start / GROUP..end.div_ceil(GROUP);
    groups.map(move |group| (group, end.min((group + 1) * GROUP) - start.max(group * GROUP)))
}

impl Groups {
    /// Notes numbers that are being sent.
    pub fn begin(&mut self, numbers: &Range<u64>) {
        for (group, count) in parts(numbers) {
            self.open.entry(group).or_default().begun += count;
        }
    }

    /// Notes numbers for which the server has answered, or will not.
    pub fn answered(&mut self, numbers: &Range<u64>) {
        for (group, count) in parts(numbers) {
            self.open.entry(group).or_default().answered += count;
        }
    }

    /// The next groups to look at: those of which nothing is under way, and nothing more to come.
    fn due(&mut self, is_sent: bool) -> Vec<u64> {
        let is_due = |group: &Group| group.answered == group.begun && (is_sent || group.begun == GROUP);
        let due = |range: (std::ops::Bound<u64>, std::ops::Bound<u64>)| {
            self.open.range(range).filter(|(_, group)| is_due(group)).map(|(group, _)| *group)
        };
        use std::ops::Bound::{Excluded, Included, Unbounded};
        let later = due((Excluded(self.looked), Unbounded));
        let groups: Vec<u64> = later.chain(due((Unbounded, Included(self.looked)))).take(LOOKED).collect();
        self.looked = groups.last().copied().unwrap_or(self.looked);
        groups
    }
}

/// Looks until all is sent and has ended, or nobody wants to wait any longer.
pub(super) async fn all(bench: &Bench, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    let mut progress = ProgressMeter::new(0, screen);
    let mut sent_at = None;
    let followed = loop {
        if let Err(failure) = look(bench, client).await
            && !failure.is_away()
        {
            break Err(failure);
        }
        let (is_sent, is_over) = {
            let state = bench.state();
            let known = if bench.orders == u64::MAX { state.figures.sent } else { bench.orders };
            progress.at(state.figures.ended(), known);
            (state.is_sent, state.is_sent && state.groups.open.is_empty())
        };
        let since = is_sent.then(|| *sent_at.get_or_insert_with(Instant::now));
        let is_late = since.is_some_and(|since| since.elapsed() >= bench.end_within);
        if is_over || is_late || (is_sent && bench.stop.is_cancelled()) {
            break Ok(());
        }
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            () = bench.stop.cancelled(), if !is_sent => tokio::time::sleep(EVERY / 10).await,
        }
    };
    progress.end();
    // Of what goes on, some have ended: those are measured, too.
    let rest: Vec<u64> = bench.state().groups.open.keys().copied().collect();
    let last_look = async {
        for group in rest {
            take(bench, group, client).await?;
        }
        Ok(())
    };
    match followed {
        Ok(()) => tokio::time::timeout(GRACE, last_look).await.unwrap_or(Ok(())),
        Err(failure) => Err(failure),
    }
}

/// Counts some groups, and takes those of which nothing goes on.
async fn look(bench: &Bench, client: &ApiClient) -> Result<(), CliError> {
    let due = {
        let mut state = bench.state();
        let is_sent = state.is_sent;
        state.groups.due(is_sent)
    };
    for group in due {
        let query = [("idPrefix", prefix_of(&bench.prefix, group)), ("by", "status".to_owned())];
        let counts: OrderCounts = client.get("/v1/counts", &query).await?.read()?;
        let goes_on = counts.items.iter().any(|count| count.key.first().is_some_and(|word| !is_final(word)));
        if !goes_on {
            take(bench, group, client).await?;
        }
    }
    Ok(())
}

/// Reads the orders of a group page by page, notes those that have ended, and forgets the group.
async fn take(bench: &Bench, group: u64, client: &ApiClient) -> Result<(), CliError> {
    let mut cursor: Option<String> = None;
    // A page that cannot be read is asked for again by the next look: nothing is noted before all are there.
    let mut ended: Vec<OrderLine> = Vec::new();
    loop {
        let mut query = vec![("idPrefix", prefix_of(&bench.prefix, group)), ("limit", PAGE.to_owned())];
        query.extend(cursor.take().map(|cursor| ("cursor", cursor)));
        let page: Page<OrderLine> = client.get("/v1/orders", &query).await?.read()?;
        ended.extend(page.items.into_iter().filter(|line| is_final(&line.status)));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    let mut state = bench.state();
    state.groups.open.remove(&group);
    ended.iter().for_each(|line| state.figures.end(line));
    Ok(())
}

fn is_final(status: &str) -> bool {
    status.parse::<Status>().is_ok_and(Status::is_final)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn ui_a_group_is_looked_at_when_all_of_it_was_answered() {
        let mut groups = Groups::default();
        groups.begin(&(0..GROUP + 5));
        assert!(groups.due(false).is_empty() && groups.due(true).is_empty(), "all is under way");
        groups.answered(&(0..GROUP + 5));
        assert_eq!(groups.due(false), [0], "more of the second one may come");
        assert_eq!(groups.due(true), [1, 0], "from behind the last one on");
    }

    #[test]
    fn ui_a_look_is_bounded_and_reaches_every_group() {
        let mut groups = Groups::default();
        let numbers = 0..GROUP * 20;
        groups.begin(&numbers);
        groups.answered(&numbers);
        let mut seen: Vec<u64> = (0..3).flat_map(|_| groups.due(false)).collect();
        assert_eq!(seen.len(), 3 * LOOKED);
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 20);
    }

    #[test]
    fn ui_ids_of_a_group_share_a_prefix() {
        assert_eq!(id_of("b", 0), "b-000000-0000");
        assert_eq!(id_of("b", GROUP), "b-000001-0000");
        assert_eq!(id_of("b", 2 * GROUP - 1), "b-000001-1999");
        assert_eq!(parts(&(1..2 * GROUP)).collect::<Vec<_>>(), [(0, GROUP - 1), (1, GROUP)]);
    }
}
