//! Flaws of tokens, each with a text that says which part is wrong. Never repeats a token, a code or a secret.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use thiserror::Error;

/// Longest part of a text from outside that is repeated, in letters.
const MAX_SHOWN: usize = 100;

/// A kind of token that is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    Id,
    Logout,
}

impl fmt::Display for TokenKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Id => "ID token",
            Self::Logout => "logout token",
        })
    }
}

/// The first thing that is wrong with a token: what follows "the ID token".
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum Flaw {
    #[error("is no signed JSON Web Token: {0}")]
    NoToken(&'static str),
    #[error("is of the type {}, which is another kind of token", shown(.0))]
    Type(String),
    #[error("has header fields that must be understood and are not (`crit`)")]
    Critical,
    #[error("is signed by the algorithm {}, which `access.oidc.algorithms` does not list", shown(.0))]
    Algorithm(String),
    #[error("is signed by the key {}, which the provider does not publish for this algorithm", shown(.0))]
    UnknownKey(String),
    #[error("names no key, and the keys of the provider have not exactly one for its algorithm")]
    NoKeyNamed,
    #[error("has a signature that does not match the key of the provider")]
    Signature,
    #[error("lacks the claim `{0}`")]
    Missing(&'static str),
    #[error("has the claim `{claim}` in a wrong form: it must be {expected}")]
    Form { claim: String, expected: &'static str },
    #[error("is of the issuer {}, not of {}", shown(.found), shown(.expected))]
    Issuer { found: String, expected: String },
    #[error("is for the audience {}, not for this client", listed(.0))]
    Audience(Vec<String>),
    #[error("was issued to the client {} (claim `azp`), not to this client", shown(.0))]
    Party(String),
    #[error("is for several audiences, and lacks the claim `azp` that says to which client it was issued")]
    NoParty,
    #[error("expired at {at}, {} ago", seconds(.ago))]
    Expired { at: Timestamp, ago: SignedDuration },
    #[error("is not valid yet: its claim `{claim}` is {at}, {} from now; compare the clocks", seconds(.until))]
    NotYet { claim: &'static str, at: Timestamp, until: SignedDuration },
    #[error("has a `nonce` that is not the one of this login")]
    Nonce,
    #[error("says that the person signed in by {}, which `access.oidc.acr` does not list", shown(.0))]
    Class(String),
    #[error("has no event of a back-channel logout (claim `events`)")]
    NoEvent,
    #[error("has a `nonce`, which only ID tokens may have")]
    HasNonce,
    #[error("names neither a person (`sub`) nor a session (`sid`)")]
    NobodyNamed,
    #[error("is too old: it was issued at {at} (claim `iat`), {} ago", seconds(.ago))]
    TooOld { at: Timestamp, ago: SignedDuration },
    #[error("was used before: its `jti` is known")]
    Repeated,
}

impl Flaw {
    /// A claim of a wrong form.
    pub(super) fn form(claim: &str, expected: &'static str) -> Self {
        Self::Form { claim: claim.to_owned(), expected }
    }

    /// True if other keys of the provider could mend it.
    pub(super) const fn is_of_keys(&self) -> bool {
        matches!(self, Self::UnknownKey(_) | Self::NoKeyNamed)
    }
}

/// A text from outside as texts of failures repeat it: bounded, on one line.
pub(super) fn shown(text: &str) -> String {
    let end = text.char_indices().nth(MAX_SHOWN).map_or(text.len(), |(index, _)| index);
    let more = if end < text.len() { "…" } else { "" };
    format!("`{}{more}`", text[..end].escape_debug())
}

fn listed(texts: &[String]) -> String {
    let few: Vec<String> = texts.iter().take(3).map(|text| shown(text)).collect();
    if few.is_empty() { "of nobody".to_owned() } else { few.join(", ") }
}

fn seconds(time: &SignedDuration) -> String {
    format!("{} s", time.as_secs())
}
