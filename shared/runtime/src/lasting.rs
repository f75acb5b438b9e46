//! Trouble that lasts: when to tell of it, so that the log neither keeps silent nor overflows.

use std::time::{Duration, Instant};

/// Between two lines about the same trouble.
const AGAIN_AFTER: Duration = Duration::from_secs(60);

/// A trouble, with when it began and was told last.
#[derive(Clone, Copy, Debug)]
pub struct Lasting {
    bear: Duration,
    began: Option<Instant>,
    told: Option<Instant>,
}

impl Lasting {
    /// Trouble that is told once it has lasted for so long, and then once a minute.
    #[must_use]
    pub const fn told_after(bear: Duration) -> Self {
        Self { bear, began: None, told: None }
    }

    /// True while it was there at the last look.
    #[must_use]
    pub const fn is_there(&self) -> bool {
        self.began.is_some()
    }

    /// Looks once more. True if it is to be told now.
    pub fn look(&mut self, is_there: bool, now: Instant) -> bool {
        if !is_there {
            *self = Self::told_after(self.bear);
            return false;
        }
        let began = *self.began.get_or_insert(now);
        let is_due = match self.told {
            Some(told) => now.duration_since(told) >= AGAIN_AFTER,
            None => now.duration_since(began) >= self.bear,
        };
        if is_due {
            self.told = Some(now);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_is_told_when_it_lasts_and_then_once_a_minute() {
        let begin = Instant::now();
        let mut trouble = Lasting::told_after(Duration::from_secs(10));
        let mut told = |second: u64, is_there| trouble.look(is_there, begin + Duration::from_secs(second));
        let seconds: Vec<u64> = (0..100).filter(|second| told(*second, true)).collect();
        assert_eq!(seconds, [10, 70]);
        assert!(!told(100, false) && !told(101, true) && !told(105, true));
        assert!(told(111, true), "another trouble");
    }
}
