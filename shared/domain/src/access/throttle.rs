//! Throttle of failed logins, by name and by address: each failure beyond a few makes the next try wait, twice as long as the
//! one before. Guessing takes for ever, and nobody can lock somebody else out from another address.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;

/// Subjects of failures that are remembered at most; of more the one that failed longest ago is forgotten.
pub const MOST: usize = 10_000;
/// Time after its last failure at which a subject is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(15 * 60);

/// Bounds of a subject.
struct ThrottleBounds {
    /// LoginFailures without a wait.
    free: u32,
    /// Longest wait.
    longest: Duration,
}

/// Subject of failures.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Subject {
    /// A name from one address.
    NameAt(String, String),
    /// A name from anywhere.
    Name(String),
    /// An address, whatever the name.
    Address(String),
}

impl Subject {
    const fn bounds(&self) -> ThrottleBounds {
        match self {
            Self::NameAt(..) => ThrottleBounds { free: 5, longest: Duration::from_secs(60) },
            // A short wait: a stranger who fails on purpose from many addresses must not hold the owner up.
            Self::Name(_) => ThrottleBounds { free: 50, longest: Duration::from_secs(5) },
            // Many people may come from one address.
            Self::Address(_) => ThrottleBounds { free: 20, longest: Duration::from_secs(300) },
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct LoginFailures {
    count: u32,
    last: Timestamp,
}

/// Failed logins of one node.
#[derive(Debug, Default)]
pub struct LoginThrottle(HashMap<Subject, LoginFailures>);

impl LoginThrottle {
    /// Time until a login under this name from this address may be tried; none if it may be tried now. Without an address, where
    /// all come through one gateway, the name alone counts.
    #[must_use]
    pub fn wait(&self, name: &str, address: Option<&str>, now: Timestamp) -> Option<Duration> {
        let waits = subjects(name, address).into_iter().filter_map(|subject| {
            let failures = self.0.get(&subject)?;
            let until = failures.last + wait_after(failures.count, &subject.bounds());
            Duration::try_from(until - now).ok().filter(|wait| !wait.is_zero())
        });
        waits.max()
    }

    /// Counts a login as failed, before it is tried: many tries at once are as many failures.
    pub fn count(&mut self, name: &str, address: Option<&str>, now: Timestamp) {
        for subject in subjects(name, address) {
            if self.0.len() >= MOST && !self.0.contains_key(&subject) {
                self.forget_one(now);
            }
            let failures = self.0.entry(subject).or_insert(LoginFailures { count: 0, last: now });
            if now > failures.last + FORGOTTEN {
                failures.count = 0;
            }
            *failures = LoginFailures { count: failures.count.saturating_add(1), last: now };
        }
    }

    /// Takes back the count of a login that showed nothing, because nobody could be asked.
    pub fn take_back(&mut self, name: &str, address: Option<&str>) {
        for subject in subjects(name, address) {
            self.decrement(&subject);
        }
    }

    /// Takes back the count of a login that has succeeded, and forgets the failures of its name. Those of the address stay: an
    /// account of one's own must not pay for guesses at others.
    pub fn succeeded(&mut self, name: &str, address: Option<&str>) {
        for subject in subjects(name, address) {
            match subject {
                Subject::Address(_) => self.decrement(&subject),
                Subject::Name(_) | Subject::NameAt(..) => _ = self.0.remove(&subject),
            }
        }
    }

    fn decrement(&mut self, subject: &Subject) {
        if let Some(failures) = self.0.get_mut(subject) {
            failures.count = failures.count.saturating_sub(1);
        }
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

fn subjects(name: &str, address: Option<&str>) -> Vec<Subject> {
    // As directories compare names.
    let name = name.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let of_address = address.map(|address| {
        [Subject::NameAt(name.clone(), address.to_owned()), Subject::Address(address.to_owned())]
    });
    of_address.into_iter().flatten().chain([Subject::Name(name)]).collect()
}

fn wait_after(failures: u32, bounds: &ThrottleBounds) -> Duration {
    match failures.checked_sub(bounds.free) {
        None => Duration::ZERO,
        Some(beyond) => Duration::from_secs(1_u64 << beyond.min(20)).min(bounds.longest),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).unwrap()
    }

    const HOME: Option<&str> = Some("10.0.0.1");
    const ELSEWHERE: Option<&str> = Some("10.0.0.9");

    fn seconds(seconds: u64) -> Option<Duration> {
        Some(Duration::from_secs(seconds))
    }

    #[test]
    fn ui_1_each_failure_beyond_five_doubles_the_wait_of_a_name_at_its_address() {
        let mut throttle = LoginThrottle::default();
        for _ in 0..4 {
            throttle.count("Anna", HOME, at(0));
        }
        assert_eq!(throttle.wait("anna", HOME, at(0)), None);
        for wait in [1, 2, 4, 8, 16, 32, 60, 60] {
            throttle.count("anna", HOME, at(0));
            assert_eq!(throttle.wait("ANNA", HOME, at(0)), seconds(wait));
        }
        assert_eq!(throttle.wait("anna", ELSEWHERE, at(0)), None, "a stranger does not lock the owner out");
        assert_eq!(throttle.wait("anna", HOME, at(60)), None);
        assert_eq!(throttle.wait("boris", HOME, at(0)), None);
        assert_eq!(throttle.wait(" Anna\u{a0} ", HOME, at(0)), seconds(60), "the same name to a directory");
        throttle.take_back("anna", HOME);
        throttle.take_back("anna", HOME);
        assert_eq!(throttle.wait("anna", HOME, at(0)), seconds(32), "ten failures are left");
        throttle.succeeded("anna", HOME);
        assert_eq!(throttle.wait("anna", HOME, at(0)), None);
    }

    #[test]
    fn ui_1_an_address_that_guesses_names_waits_and_a_login_of_its_own_does_not_help() {
        let mut throttle = LoginThrottle::default();
        for no in 0..22 {
            throttle.count(&format!("n{no}"), HOME, at(0));
        }
        throttle.succeeded("n1", HOME);
        assert_eq!(throttle.wait("anna", HOME, at(0)), seconds(2));
        assert_eq!(throttle.wait("anna", ELSEWHERE, at(0)), None);
        throttle.count("anna", HOME, at(1000));
        assert_eq!(throttle.wait("anna", HOME, at(1000)), None, "it has rested for a quarter of an hour");
    }

    #[test]
    fn ui_1_a_name_that_is_guessed_from_everywhere_waits_for_seconds() {
        let mut throttle = LoginThrottle::default();
        for no in 0..60 {
            let address = format!("10.0.1.{no}");
            throttle.count("anna", Some(&address).filter(|_| no % 2 == 0).map(|address| &**address), at(0));
        }
        assert_eq!(throttle.wait("anna", HOME, at(0)), seconds(5));
        assert_eq!(throttle.wait("anna", None, at(0)), seconds(5));
        assert_eq!(throttle.wait("boris", None, at(0)), None);
    }

    #[test]
    fn qlt_8_memory_is_bounded() {
        let mut throttle = LoginThrottle::default();
        for no in 0..5_000 {
            throttle.count(&format!("n{no}"), Some(&format!("a{no}")), at(no / 1000));
        }
        assert!(throttle.0.len() <= MOST);
        throttle.count("last", HOME, at(13));
        assert!(throttle.0.contains_key(&Subject::Name("last".into())));
    }
}
