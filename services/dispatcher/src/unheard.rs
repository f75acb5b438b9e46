//! Wake-ups whose command was lost: stages that the tables told of, and of which no news came (ACT-3).
//! A stage that waits for capacity is known, and never counted here.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};

use pagurus_domain::activation::Stream;
use pagurus_domain::id::{Attempt, OrderNo};

/// News that comes later than its row was read by so much was not lost; it was slow.
const PATIENCE: Duration = Duration::from_secs(5);

/// Woken stages that were read and not heard of yet: at most what is read within [`PATIENCE`].
#[derive(Debug, Default)]
pub(crate) struct Unheard {
    streams: HashMap<(OrderNo, Attempt), (Stream, String)>,
    read: VecDeque<(Instant, OrderNo, Attempt)>,
}

impl Unheard {
    /// A woken stage was read that nothing was known of.
    pub fn read(&mut self, (no, attempt): (OrderNo, Attempt), stream: Stream, flow: &str, now: Instant) {
        if self.streams.insert((no, attempt), (stream, flow.to_owned())).is_none() {
            self.read.push_back((now, no, attempt));
        }
    }

    /// News of a stage came.
    pub fn heard(&mut self, no: OrderNo, attempt: Attempt) {
        if !self.streams.is_empty() {
            self.streams.remove(&(no, attempt));
        }
    }

    /// Number of commands that are found lost by now, by stream and flow; each is told once.
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
        let begin = Instant::now();
        let mut unheard = Unheard::default();
        for no in 1..=3 {
            unheard.read((OrderNo(no), Attempt(2)), Stream::Retry, "a", begin);
        }
        unheard.read((OrderNo(4), Attempt(2)), Stream::Wait, "b", begin);
        unheard.heard(OrderNo(1), Attempt(1));
        unheard.heard(OrderNo(2), Attempt(2));
        assert!(unheard.lost(begin + PATIENCE / 2).is_empty());
        let lost = unheard.lost(begin + PATIENCE);
        assert_eq!(
            lost,
            BTreeMap::from([((Stream::Retry, "a".to_owned()), 2), ((Stream::Wait, "b".to_owned()), 1)])
        );
        assert!(unheard.lost(begin + 2 * PATIENCE).is_empty(), "counted twice");
        assert!(unheard.streams.is_empty() && unheard.read.is_empty());
    }
}
