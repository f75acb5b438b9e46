//! Trouble that lasts: when to tell of it, so that the log neither keeps silent nor overflows.

use std::time::{Duration, Instant};

/// Between two lines about the same trouble.
const AGAIN_AFTER: Duration = Duration::from_secs(60);

/// A trouble: when it began, and when it was last reported.
#[derive(Clone, Copy, Debug)]
pub struct Lasting {
    patience: Duration,
    began: Option<Instant>,
    reported: Option<Instant>,
}

impl Lasting {
    /// Makes a trouble that is reported once it has lasted for `patience`, and then once a minute.
    #[must_use]
    pub const fn noted_after(patience: Duration) -> Self {
        Self { patience, began: None, reported: None }
    }

    /// True while it was there at the last look.
    #[must_use]
    pub const fn is_there(&self) -> bool {
        self.began.is_some()
    }

    /// Looks once more. True if it is to be reported now.
    pub fn look(&mut self, is_there: bool, now: Instant) -> bool {
        if !is_there {
            *self = Self::noted_after(self.patience);
            return false;
        }
        let began = *self.began.get_or_insert(now);
        let is_due = match self.reported {
            Some(reported) => now.duration_since(reported) >= AGAIN_AFTER,
            None => now.duration_since(began) >= self.patience,
        };
        if is_due {
            self.reported = Some(now);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_is_reported_when_it_lasts_and_then_once_a_minute() {
        let begin = Instant::now();
        let mut trouble = Lasting::noted_after(Duration::from_secs(10));
        let mut reported =
            |second: u64, is_there| trouble.look(is_there, begin + Duration::from_secs(second));
        let seconds: Vec<u64> = (0..100).filter(|second| reported(*second, true)).collect();
        assert_eq!(seconds, [10, 70]);
        assert!(!reported(100, false) && !reported(101, true) && !reported(105, true));
        assert!(reported(111, true), "another trouble");
    }
}
