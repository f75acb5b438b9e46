//! The time that passes in a walk, and how long the queue of a sequential order was held in retries.

use super::Rest;

/// The queue of an order, and its clock. All times are in seconds.
pub struct Queue {
    /// Seconds for which it may be held in retries; `None` if there is no queue, or none any more.
    longest: Option<i64>,
    pub now: i64,
    /// The time in the retries that are over.
    over: i64,
    /// Start and end of those that go on, with that time counted in.
    span: Option<(i64, i64)>,
}

impl Queue {
    /// The queue at the start of the first stage.
    pub fn new(longest: Option<i64>) -> Self {
        Self { longest, now: 0, over: 0, span: None }
    }

    pub fn is_held(&self) -> bool {
        self.longest.is_some()
    }

    /// True if there was a queue to be given up.
    pub fn release(&mut self) -> bool {
        self.longest.take().is_some()
    }

    /// True if the order may hold it for so long once more.
    pub fn allows(&self, wait: i64) -> bool {
        self.longest.is_none_or(|longest| self.now - self.since() + wait <= longest)
    }

    fn since(&self) -> i64 {
        self.span.map_or(self.now - self.over, |(since, _)| since)
    }

    /// Ends the time in retries: none goes on.
    pub fn settle(&mut self) {
        if let Some((since, until)) = self.span.take() {
            self.over = until - since;
        }
    }

    /// Starts over: what was held before counts no more.
    pub fn begin_again(&mut self) {
        (self.over, self.span) = (0, None);
    }

    /// Returns when this rest is over.
    pub fn rest(&mut self, rest: Rest) -> i64 {
        match rest {
            Rest::Retry(wait) | Rest::Later(wait) => {
                self.span = Some((self.since(), self.now + wait));
                self.now + wait
            }
            // A sleep gives the queue up.
            Rest::Sleep => {
                self.begin_again();
                self.now + 3600
            }
            Rest::Wait(wait) | Rest::Child(wait) => self.now + wait,
            Rest::Poll(at) => at,
        }
    }

    /// Starts the next stage, a second after it is due.
    pub fn pass(&mut self, due: i64) {
        self.now = self.now.max(due) + 1;
    }
}
