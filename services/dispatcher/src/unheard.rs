//! Wake-ups whose command was lost: stages that were found in the tables, but not in any news (ACT-3).
//! A stage that waits for capacity is known, and never counted here.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};

use pagurus_domain::activation::Stream;
use pagurus_domain::id::{Attempt, OrderNo};

/// Longest delay of news, after its row was read, that does not count as a loss.
const PATIENCE: Duration = Duration::from_secs(5);

/// Woken stages that were read and not heard of yet: at most what is read within [`PATIENCE`].
#[derive(Debug, Default)]
pub(crate) struct Unheard {
    streams: HashMap<(OrderNo, Attempt), (Stream, String)>,
    read: VecDeque<(Instant, OrderNo, Attempt)>,
}

impl Unheard {
    /// Notes a woken stage that was read and was not known.
    pub fn read(&mut self, (no, attempt): (OrderNo, Attempt), stream: Stream, flow: &str, now: Instant) {
        if self.streams.insert((no, attempt), (stream, flow.to_owned())).is_none() {
            self.read.push_back((now, no, attempt));
        }
    }

    /// Notes that news of a stage came.
    pub fn heard(&mut self, no: OrderNo, attempt: Attempt) {
        if !self.streams.is_empty() {
            self.streams.remove(&(no, attempt));
        }
    }

    /// Number of commands that are found lost by now, by stream and flow; each is reported once.
    pub fn lost(&mut self, now: Instant) -> BTreeMap<(Stream, String), u64> {
        let mut lost = BTreeMap::new();
        while let Some((_, no, attempt)) =
            self.read.pop_front_if(|(read, ..)| now.saturating_duration_since(*read) >= PATIENCE)
        {
            if let Some(of) = self.streams.remove(&(no, attempt)) {
                *lost.entry(of).or_default() += 1;
            }
        }
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn act_3_what_was_read_counts_as_lost_unless_its_news_comes_soon() {
        let start = Instant::now();
        let mut unheard = Unheard::default();
        for no in 1..=3 {
            unheard.read((OrderNo(no), Attempt(2)), Stream::Retry, "a", start);
        }
        unheard.read((OrderNo(4), Attempt(2)), Stream::Wait, "b", start);
        unheard.heard(OrderNo(1), Attempt(1));
        unheard.heard(OrderNo(2), Attempt(2));
        assert!(unheard.lost(start + PATIENCE / 2).is_empty());
        let lost = unheard.lost(start + PATIENCE);
        assert_eq!(
            lost,
            BTreeMap::from([((Stream::Retry, "a".to_owned()), 2), ((Stream::Wait, "b".to_owned()), 1)])
        );
        assert!(unheard.lost(start + 2 * PATIENCE).is_empty(), "counted twice");
        assert!(unheard.streams.is_empty() && unheard.read.is_empty());
    }
}
