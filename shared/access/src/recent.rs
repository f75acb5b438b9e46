//! Owners of secrets that were looked up a moment ago. A secret that counts no more is refused within [`LONGEST`] on every
//! node, and the database is asked twice a second for each secret in use, however many requests there are.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use pagurus_domain::access::Identity;
use pagurus_domain::access::token::SecretDigest;

/// Age from which on an answer is looked up again.
const FRESH: Duration = Duration::from_millis(400);
/// Age up to which an answer counts while another request looks it up.
const LONGEST: Duration = Duration::from_millis(900);
/// Owners that are remembered at most.
const MOST: usize = 10_000;

struct RecentOwner {
    identity: Identity,
    /// Moment at which the look-up began that found it.
    found: Instant,
    /// Moment at which the last look-up began.
    asked: Instant,
}

/// Owners that were found lately. Remembers no secret that has none: a stranger could fill the memory with those.
#[derive(Default)]
pub(crate) struct RecentOwners(HashMap<SecretDigest, RecentOwner>);

impl RecentOwners {
    /// Owner of a secret, where that is known well enough. None where this request has to look it up.
    pub fn get(&mut self, digest: &SecretDigest, now: Instant) -> Option<Identity> {
        let owner = self.0.get_mut(digest)?;
        let age = now.saturating_duration_since(owner.found);
        let asked_since = now.saturating_duration_since(owner.asked) < FRESH;
        if age < FRESH || age < LONGEST && asked_since {
            return Some(owner.identity.clone());
        }
        owner.asked = now;
        None
    }

    /// True if the owner of a secret is known, and counts.
    pub fn knows(&self, digest: &SecretDigest, now: Instant) -> bool {
        self.0.get(digest).is_some_and(|owner| now.saturating_duration_since(owner.found) < LONGEST)
    }

    /// Keeps the result of a look-up that began at `asked`: an owner, or that there is none.
    pub fn put(&mut self, digest: SecretDigest, identity: Option<Identity>, asked: Instant) {
        match identity {
            None => self.forget(&digest),
            Some(identity) => {
                if self.0.len() >= MOST {
                    self.0.retain(|_, owner| asked.saturating_duration_since(owner.found) < LONGEST);
                }
                if self.0.len() < MOST {
                    self.0.insert(digest, RecentOwner { identity, found: asked, asked });
                }
            }
        }
    }

    /// Forgets a secret that has just lost its owner.
    pub fn forget(&mut self, digest: &SecretDigest) {
        self.0.remove(digest);
    }

    /// Forgets all, where it is not known which secret has lost its owner.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use pagurus_domain::access::{AccessRole, LoginMethod};

    use super::*;

    fn of(name: &str) -> Option<Identity> {
        Some(Identity::unlimited(name.into(), AccessRole::Client, LoginMethod::Token))
    }

    #[test]
    fn qlt_15_a_secret_is_looked_up_again_by_one_request_and_never_believed_for_a_second() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let (mut owners, digest) = (RecentOwners::default(), [7; 32]);
        assert_eq!(owners.get(&digest, at(0)), None);
        owners.put(digest, of("shop"), at(0));
        assert_eq!(owners.get(&digest, at(399)), of("shop"));
        assert_eq!(owners.get(&digest, at(400)), None, "this one looks");
        assert_eq!(owners.get(&digest, at(401)), of("shop"), "the others go on meanwhile");
        assert_eq!(owners.get(&digest, at(900)), None, "the look takes too long: nobody goes on");
        owners.put(digest, of("shop"), at(900));
        assert_eq!(owners.get(&digest, at(1200)), of("shop"));
        owners.put(digest, None, at(1300));
        assert_eq!(owners.get(&digest, at(1301)), None);
    }

    #[test]
    fn qlt_8_no_more_owners_are_remembered_than_there_is_memory_for() {
        let start = Instant::now();
        let mut owners = RecentOwners::default();
        for no in 0..12_000_u32 {
            let mut digest = [0; 32];
            digest[..4].copy_from_slice(&no.to_be_bytes());
            owners.put(digest, of("shop"), start);
        }
        assert_eq!(owners.0.len(), MOST);
        owners.put([9; 32], of("later"), start + LONGEST);
        assert_eq!(owners.0.len(), 1, "those that count no more have made place");
    }
}
