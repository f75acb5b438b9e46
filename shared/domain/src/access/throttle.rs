//! Throttle of failed logins, by name and by address: each failure beyond a few makes the next try wait, twice as long as the
//! one before. Nobody is locked out for long, and guessing takes for ever.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;

/// Subjects of failures that are remembered at most; of more the one that failed longest ago is forgotten.
pub const MOST: usize = 10_000;
/// Failures of a name without a wait, and the longest wait. A stranger who fails on purpose holds its owner up for so long.
const OF_NAME: Patience = Patience { free: 5, longest: Duration::from_secs(60) };
/// The same of an address: many people may come from one.
const OF_ADDRESS: Patience = Patience { free: 20, longest: Duration::from_secs(300) };
/// Time after its last failure at which a subject is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(15 * 60);

struct Patience {
    free: u32,
    longest: Duration,
}

/// Subject of failures.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Subject {
    Name(String),
    Address(String),
}

impl Subject {
    const fn patience(&self) -> Patience {
        match self {
            Self::Name(_) => OF_NAME,
            Self::Address(_) => OF_ADDRESS,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Failures {
    count: u32,
    last: Timestamp,
}

/// Failed logins of one node.
#[derive(Debug, Default)]
pub struct LoginThrottle(HashMap<Subject, Failures>);

impl LoginThrottle {
    /// Time until a login under this name from this address may be tried; none if it may be tried now.
    #[must_use]
    pub fn wait(&self, name: &str, address: &str, now: Timestamp) -> Option<Duration> {
        let waits = subjects(name, address).into_iter().filter_map(|subject| {
            let failures = self.0.get(&subject)?;
            let until = failures.last + wait_after(failures.count, &subject.patience());
            Duration::try_from(until - now).ok().filter(|wait| !wait.is_zero())
        });
        waits.max()
    }

    /// Notes a failed login.
    pub fn failed(&mut self, name: &str, address: &str, now: Timestamp) {
        for subject in subjects(name, address) {
            if self.0.len() >= MOST && !self.0.contains_key(&subject) {
                self.forget_one(now);
            }
            let failures = self.0.entry(subject).or_insert(Failures { count: 0, last: now });
            if now > failures.last + FORGOTTEN {
                failures.count = 0;
            }
            *failures = Failures { count: failures.count.saturating_add(1), last: now };
        }
    }

    /// Forgets the failures of a name that has logged in. Those of the address stay: one account of one's own must not pay for
    /// guesses at others.
    pub fn succeeded(&mut self, name: &str) {
        self.0.remove(&Subject::Name(name.to_lowercase()));
    }

    fn forget_one(&mut self, now: Timestamp) {
        self.0.retain(|_, failures| now <= failures.last + FORGOTTEN);
        if self.0.len() >= MOST
            && let Some(oldest) =
                self.0.iter().min_by_key(|(_, failures)| failures.last).map(|(key, _)| key.clone())
        {
            self.0.remove(&oldest);
        }
    }
}

fn subjects(name: &str, address: &str) -> [Subject; 2] {
    [Subject::Name(name.to_lowercase()), Subject::Address(address.to_owned())]
}

fn wait_after(failures: u32, patience: &Patience) -> Duration {
    match failures.checked_sub(patience.free) {
        None => Duration::ZERO,
        Some(beyond) => Duration::from_secs(1_u64 << beyond.min(20)).min(patience.longest),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).unwrap()
    }

    #[test]
    fn ui_1_each_failure_beyond_five_doubles_the_wait_of_a_name() {
        let mut throttle = LoginThrottle::default();
        for _ in 0..4 {
            throttle.failed("Anna", "10.0.0.1", at(0));
        }
        assert_eq!(throttle.wait("anna", "10.0.0.1", at(0)), None);
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
            throttle.failed("anna", "10.0.0.1", at(0));
            assert_eq!(throttle.wait("ANNA", "10.0.0.9", at(0)), Some(Duration::from_secs(seconds)));
        }
        assert_eq!(throttle.wait("anna", "10.0.0.1", at(60)), None);
        assert_eq!(throttle.wait("boris", "10.0.0.1", at(0)), None);
        throttle.succeeded("anna");
        assert_eq!(throttle.wait("anna", "10.0.0.1", at(0)), None);
    }

    #[test]
    fn ui_1_an_address_that_guesses_names_waits_and_a_login_of_its_own_does_not_help() {
        let mut throttle = LoginThrottle::default();
        for no in 0..22 {
            throttle.failed(&format!("n{no}"), "10.0.0.1", at(0));
        }
        throttle.succeeded("n1");
        assert_eq!(throttle.wait("anna", "10.0.0.1", at(0)), Some(Duration::from_secs(4)));
        assert_eq!(throttle.wait("anna", "10.0.0.2", at(0)), None);
        throttle.failed("anna", "10.0.0.1", at(1000));
        assert_eq!(
            throttle.wait("anna", "10.0.0.1", at(1000)),
            None,
            "it has rested for a quarter of an hour"
        );
    }

    #[test]
    fn qlt_8_memory_is_bounded() {
        let mut throttle = LoginThrottle::default();
        for no in 0..12_000 {
            throttle.failed(&format!("n{no}"), &format!("a{no}"), at(no / 1000));
        }
        assert!(throttle.0.len() <= MOST);
        throttle.failed("last", "10.0.0.1", at(13));
        assert!(throttle.0.contains_key(&Subject::Name("last".into())));
    }
}
