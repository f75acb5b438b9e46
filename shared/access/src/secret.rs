//! Secrets that this program makes: tokens, and cookies of sessions.

use pagurus_domain::access::token::{CHANCE, ProgramToken, SecretDigest, digest, hex};
use rand::Rng as _;

/// A new token.
pub(crate) fn new_token() -> ProgramToken {
    let mut chance = [0; CHANCE];
    rand::rng().fill(&mut chance[..]);
    ProgramToken::of(chance)
}

/// Secret of a session, which only the browser has, in a cookie.
#[derive(Clone)]
pub struct SessionSecret(String);

/// Characters of the secret: 256 bits in hexadecimal digits.
const LENGTH: usize = 64;
/// Characters of the id of a session.
const ID: usize = 12;

impl SessionSecret {
    pub(crate) fn new() -> Self {
        let mut chance = [0; LENGTH / 2];
        rand::rng().fill(&mut chance[..]);
        Self(hex(&chance))
    }

    /// Reads the value of a cookie; none if it is no secret of ours.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let is_ours = text.len() == LENGTH && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_ours.then(|| Self(text.to_owned()))
    }

    /// The secret, for the cookie.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Digest by which the session is found.
    #[must_use]
    pub fn digest(&self) -> SecretDigest {
        digest(&self.0)
    }

    /// Id by which the session is listed and ended.
    pub(crate) fn id(&self) -> String {
        hex(&self.digest()[..ID / 2])
    }
}

/// Text that a page of ours has to send with each change in a session. It follows from the secret, which a page of another
/// site cannot read.
#[must_use]
pub fn csrf_token(secret: &SessionSecret) -> String {
    hex(&digest(&format!("csrf {}", secret.0))[..16])
}
