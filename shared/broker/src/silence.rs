//! Destinations of others that confirm nothing, such as a quorum queue without its majority.
//!
//! A message to such a destination holds its batch until the time for its confirm has passed. So nothing more goes there for a
//! while, which doubles with each attempt; and of all silent destinations one is tried at a time, so that they never hold more than
//! one batch. A destination is silent if the broker confirmed others meanwhile, or if it was silent twice: the broker as a whole may
//! have been slow.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::{error::Error, message::Message, publisher::Published};

/// Time for which a destination is left alone after its first silence.
const FIRST: Duration = Duration::from_secs(10);
/// The longest such time.
const LONGEST: Duration = Duration::from_secs(300);
/// Silent destinations that are known at a time; of more, some are tried like any other.
const MOST: usize = 10_000;

/// Exchange and routing key.
pub(crate) type QueueAddress = (String, String);

/// The destinations that are silent.
#[derive(Debug, Default)]
pub(crate) struct SilentDestinations(Mutex<KnownSilences>);

#[derive(Debug, Default)]
struct KnownSilences {
    silent: HashMap<QueueAddress, Silence>,
    /// The one that is tried now, and until when its outcome is awaited.
    tried: Option<(QueueAddress, Instant)>,
}

#[derive(Clone, Copy, Debug)]
struct Silence {
    noted_at: Instant,
    until: Instant,
    /// Zero after a first silence that may have been the broker's.
    rest: Duration,
}

impl SilentDestinations {
    /// Says of each message whether it may go. The outcome of a trial is awaited for `patience`.
    pub fn admit(&self, messages: &[Message], now: Instant, patience: Duration) -> Vec<bool> {
        let mut known = self.lock();
        if known.silent.is_empty() {
            return vec![true; messages.len()];
        }
        messages.iter().map(|message| known.admits(message, now, patience)).collect()
    }

    /// Notes the outcome of messages that went together.
    pub fn note(&self, destinations: &[QueueAddress], published: &[Published], now: Instant) {
        let mut known = self.lock();
        // What it took at the same time shows that the broker is well.
        let is_well = published.iter().any(is_answered);
        for (destination, published) in destinations.iter().zip(published) {
            known.note(destination, published, is_well, now);
        }
    }

    fn lock(&self) -> MutexGuard<'_, KnownSilences> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KnownSilences {
    fn admits(&mut self, message: &Message, now: Instant, patience: Duration) -> bool {
        let destination = destination(message);
        let Some(silence) = self.silent.get(&destination).filter(|silence| !silence.rest.is_zero()) else {
            return true;
        };
        if now < silence.until || self.tried.as_ref().is_some_and(|(_, until)| now < *until) {
            return false;
        }
        self.tried = Some((destination, now + patience));
        true
    }

    fn note(&mut self, destination: &QueueAddress, published: &Published, is_well: bool, now: Instant) {
        self.tried.take_if(|(tried, _)| tried == destination);
        if is_answered(published) {
            self.silent.remove(destination);
        }
        if !matches!(published, Published::Failed(Error::TimedOut(_))) {
            return;
        }
        let before = self.silent.get(destination);
        // Messages that went together are one attempt.
        if before.is_some_and(|silence| now == silence.noted_at || now < silence.until) {
            return;
        }
        let rest = match before {
            // It may be the broker that says nothing.
            None if !is_well => Duration::ZERO,
            None => FIRST,
            Some(silence) => (silence.rest * 2).clamp(FIRST, LONGEST),
        };
        if before.is_none() && self.silent.len() >= MOST {
            self.silent.retain(|_, silence| now < silence.until + LONGEST);
        }
        if self.silent.len() < MOST {
            tracing::warn!(
                exchange = destination.0,
                key = destination.1,
                ?rest,
                "a destination confirms nothing"
            );
            let silence = Silence { noted_at: now, until: now + rest, rest };
            self.silent.insert(destination.clone(), silence);
        }
    }
}

/// True if the broker said where the message is.
const fn is_answered(published: &Published) -> bool {
    matches!(published, Published::Confirmed | Published::Unroutable { .. })
}

/// Destination of a message.
pub(crate) fn destination(message: &Message) -> QueueAddress {
    (message.exchange.clone(), message.key.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);

    fn to(key: &str) -> Message {
        Message::json("", key, Vec::new())
    }

    /// Messages to these destinations went together; each was confirmed or not.
    fn ends(silent: &SilentDestinations, all: &[(&str, bool)], now: Instant) {
        let destinations: Vec<QueueAddress> = all.iter().map(|(key, _)| destination(&to(key))).collect();
        let published = |confirms| match confirms {
            true => Published::Confirmed,
            false => Published::Failed(Error::TimedOut(PATIENCE)),
        };
        let published: Vec<Published> = all.iter().map(|(_, confirms)| published(*confirms)).collect();
        silent.note(&destinations, &published, now);
    }

    #[test]
    fn ord_19_a_destination_that_confirms_nothing_is_left_alone_for_longer_and_longer_and_the_others_are_not()
    {
        let (silent, begun) = (SilentDestinations::default(), Instant::now());
        let at = |second| begun + Duration::from_secs(second);
        let admits = |second| silent.admit(&[to("dead"), to("well"), to("dead")], at(second), PATIENCE);
        assert_eq!(admits(0), [true, true, true]);
        ends(&silent, &[("dead", false), ("well", true), ("dead", false)], at(10));
        assert_eq!(admits(19), [false, true, false]);
        assert_eq!(admits(20), [true, true, false], "one message tries it");
        assert_eq!(admits(21), [false, true, false]);
        ends(&silent, &[("dead", false)], at(30));
        assert_eq!(admits(49), [false, true, false]);
        assert_eq!(admits(50), [true, true, false]);
        assert_eq!(admits(60), [true, true, false], "the outcome of the trial never came");
        ends(&silent, &[("dead", true)], at(61));
        assert_eq!(admits(61), [true, true, true]);
    }

    #[test]
    fn ord_19_a_broker_that_is_slow_once_makes_no_destination_silent() {
        let (silent, now) = (SilentDestinations::default(), Instant::now());
        ends(&silent, &[("a", false), ("b", false), ("a", false)], now);
        assert_eq!(silent.admit(&[to("a"), to("a"), to("b")], now, PATIENCE), [true, true, true]);
        let later = now + PATIENCE;
        ends(&silent, &[("a", false)], later);
        ends(&silent, &[("b", true)], later);
        assert_eq!(silent.admit(&[to("a"), to("b")], later, PATIENCE), [false, true]);
    }

    #[test]
    fn ord_19_of_many_silent_destinations_one_is_tried_at_a_time() {
        let (silent, begun) = (SilentDestinations::default(), Instant::now());
        ends(&silent, &[("a", false), ("b", false), ("well", true)], begun);
        let later = begun + FIRST;
        assert_eq!(silent.admit(&[to("a"), to("b")], later, PATIENCE), [true, false]);
        ends(&silent, &[("a", false)], later);
        assert_eq!(silent.admit(&[to("a"), to("b")], later, PATIENCE), [false, true]);
    }
}
