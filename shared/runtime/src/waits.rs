//! Waits between tries.

use std::time::Duration;

/// Waits that double, from a first one to a longest one.
#[derive(Clone, Copy, Debug)]
pub struct Waits {
    first: Duration,
    next: Duration,
    longest: Duration,
}

impl Waits {
    /// Waits that begin with this one.
    #[must_use]
    pub const fn between(first: Duration, longest: Duration) -> Self {
        Self { first, next: first, longest }
    }

    /// The next wait.
    pub fn take(&mut self) -> Duration {
        let wait = self.next;
        self.next = (wait * 2).min(self.longest);
        wait
    }

    /// Sleeps for the next wait.
    pub async fn pause(&mut self) {
        tokio::time::sleep(self.take()).await;
    }

    /// Begins with the first one again.
    pub const fn begin_again(&mut self) {
        self.next = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_begin_again() {
        let mut waits = Waits::between(Duration::from_millis(20), Duration::from_millis(70));
        let taken = [20, 40, 70, 70].map(Duration::from_millis);
        assert_eq!([(); 4].map(|()| waits.take()), taken);
        waits.begin_again();
        assert_eq!(waits.take(), Duration::from_millis(20));
    }
}
