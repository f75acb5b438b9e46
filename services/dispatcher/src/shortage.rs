//! Stages that may run while no worker takes any: when to report it. Reads nothing itself.

use std::time::{Duration, Instant};

use pagurus_dispatch::Stats;

/// Interval between two warnings of one shortage.
const AGAIN_AFTER: Duration = Duration::from_secs(60);
/// Time that a shortage must last before it is reported: after a start the workers come at their pace.
const GRACE: Duration = Duration::from_secs(2);

/// A shortage of workers, and when it began and was last reported.
#[derive(Debug, Default)]
pub(crate) struct Shortage {
    began: Option<Instant>,
    reported: Option<Instant>,
}

impl Shortage {
    /// True while stages may run and no worker takes any.
    pub const fn is_there(&self) -> bool {
        self.began.is_some()
    }

    /// Looks at the dispatcher once more: the number of stages that wait for a worker, if that is to be reported now.
    pub fn look(&mut self, stats: &Stats, now: Instant) -> Option<usize> {
        let waiting = stats.waiting.iter().sum();
        if waiting == 0 || stats.nodes.iter().any(|node| node.allowance > 0) {
            *self = Self::default();
            return None;
        }
        let began = *self.began.get_or_insert(now);
        let is_due = match self.reported {
            Some(reported) => now.duration_since(reported) >= AGAIN_AFTER,
            None => now.duration_since(began) >= GRACE,
        };
        is_due.then(|| {
            self.reported = Some(now);
            waiting
        })
    }
}

#[cfg(test)]
mod tests {
    use pagurus_dispatch::{NodeState, NodeStats};
    use pagurus_domain::id::Incarnation;

    use super::*;

    fn stats(waiting: usize, allowances: &[u32]) -> Stats {
        let node = |(at, allowance): (usize, &u32)| NodeStats {
            node: Incarnation(at as i64),
            state: NodeState::Up,
            allowance: *allowance,
            in_progress: 0,
        };
        Stats {
            waiting: [0, waiting, 0],
            parallel: 0,
            sequential: 0,
            flows: Vec::new(),
            nodes: allowances.iter().enumerate().map(node).collect(),
            queues: 0,
            waiting_bytes: 0,
        }
    }

    #[test]
    fn dsp_1_a_shortage_of_workers_is_reported_once_a_minute_while_it_lasts() {
        let begin = Instant::now();
        let mut shortage = Shortage::default();
        let mut look = |second: u64, waiting: usize, allowances: &[u32]| {
            shortage.look(&stats(waiting, allowances), begin + Duration::from_secs(second))
        };
        assert_eq!(look(0, 3, &[]), None, "the workers may be about to come");
        let seconds: Vec<u64> = (1..=150).filter(|second| look(*second, 3, &[0]).is_some()).collect();
        assert_eq!(seconds, [2, 62, 122]);
        assert_eq!(look(200, 3, &[0, 8]), None, "a worker came");
        assert_eq!((look(201, 5, &[]), look(203, 5, &[])), (None, Some(5)), "another shortage");
        assert_eq!(look(300, 0, &[]), None, "nothing waits");
    }
}
