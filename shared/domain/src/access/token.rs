//! Tokens of programs: `pgr_`, an id of six characters that may be shown, 256 bits of chance, and a checksum.
//!
//! The prefix lets scanners of secrets find a token that leaked; the checksum lets them, and us, tell a token from noise
//! without asking anybody.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// First characters of each token.
pub const PREFIX: &str = "pgr_";
/// Bytes of chance that a token is made of: 3 for its id, 32 for its secret.
pub const CHANCE: usize = 35;
/// Characters of an id.
const ID: usize = 6;
/// Characters of the checksum.
const CHECKSUM: usize = 8;
/// Characters behind the prefix.
const LENGTH: usize = 2 * CHANCE + CHECKSUM;

/// A token. It is shown once, when it is made, and only its digest is stored.
#[derive(Clone, PartialEq, Eq)]
pub struct ProgramToken(String);

/// Digest of a secret that is looked up by it: a token, or the cookie of a session.
pub type SecretDigest = [u8; 32];

impl ProgramToken {
    /// Makes a token of chance, which must come from a cryptographic generator.
    #[must_use]
    pub fn of(chance: [u8; CHANCE]) -> Self {
        let body = hex(&chance);
        Self(format!("{PREFIX}{body}{}", checksum(&body)))
    }

    /// Reads a token. None if its form or its checksum is wrong: then nobody need be asked.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let rest = text.strip_prefix(PREFIX)?;
        let is_hex = rest.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if rest.len() != LENGTH || !is_hex {
            return None;
        }
        let (body, sum) = rest.split_at(LENGTH - CHECKSUM);
        (checksum(body) == sum).then(|| Self(text.to_owned()))
    }

    /// Id, by which the token is listed and revoked.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.0[PREFIX.len()..PREFIX.len() + ID]
    }

    /// The whole token, to be shown to its owner.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Digest by which it is stored. A fast one is enough: what it hides is chance, not a password.
    #[must_use]
    pub fn digest(&self) -> SecretDigest {
        digest(&self.0)
    }
}

/// Shows the id alone: tokens must not get into logs.
impl fmt::Debug for ProgramToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProgramToken({})", self.id())
    }
}

/// Digest of a secret.
#[must_use]
pub fn digest(secret: &str) -> SecretDigest {
    Sha256::digest(secret.as_bytes()).into()
}

/// Bytes in hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn checksum(body: &str) -> String {
    hex(&digest(body)[..CHECKSUM / 2])
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ui_1_a_token_is_read_back_and_another_is_not(chance: [u8; CHANCE], at in 0..82_usize, to in "[0-9a-zA-Z_]") {
            let token = ProgramToken::of(chance);
            prop_assert_eq!(token.reveal().len(), 82);
            prop_assert_eq!(ProgramToken::read(token.reveal()), Some(token.clone()));
            let mut other = token.reveal().to_owned();
            other.replace_range(at..=at, &to);
            prop_assert_eq!(ProgramToken::read(&other).is_some(), other == token.reveal());
            let shown = format!("{token:?}");
            prop_assert!(!shown.contains(&token.reveal()[12..40]));
        }

        #[test]
        fn ui_1_no_text_breaks_the_reader(text in "(pgr_)?.{0,90}") {
            let _ = ProgramToken::read(&text);
        }
    }

    #[test]
    fn ui_1_a_token_shows_its_id() {
        let token = ProgramToken::of([0xab; CHANCE]);
        assert_eq!(token.id(), "ababab");
        assert!(token.reveal().starts_with("pgr_ababab"));
    }
}
