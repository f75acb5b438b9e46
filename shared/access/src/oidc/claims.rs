//! Judgement of what tokens claim (OpenID Connect Core 1.0, section 3.1.3.7; Back-Channel Logout 1.0, section 2.6). Never reads a
//! clock: `now` is an argument.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use super::flaw::Flaw;

/// Time for which a logout token counts after its issue, beside the clock skew.
pub(super) const LOGOUT_AGE: SignedDuration = SignedDuration::from_mins(5);
/// Event that makes a token a logout token.
const LOGOUT_EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";
/// Longest identifier that is taken, in bytes. The standard has 255 for `sub`.
const MAX_ID: usize = 255;

/// Facts that every token is held against.
#[derive(Clone, Debug)]
pub(super) struct ExpectedClaims {
    pub(super) issuer: String,
    pub(super) client_id: String,
    /// Classes of authentication of which an ID token must have one; any if there are none.
    pub(super) acr: Vec<String>,
    /// Difference between clocks that is tolerated.
    pub(super) skew: SignedDuration,
}

/// TokenClaims of a token whose signature was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TokenClaims(pub(super) Map<String, Value>);

/// Person and session of a logout token, and its identifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JudgedLogout {
    pub(super) sub: Option<String>,
    pub(super) sid: Option<String>,
    pub(super) jti: String,
}

impl TokenClaims {
    /// A claim that is a text, if it is there.
    fn text(&self, claim: &'static str) -> Result<Option<&str>, Flaw> {
        match self.0.get(claim) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Flaw::form(claim, "a text")),
        }
    }

    fn needed(&self, claim: &'static str) -> Result<&str, Flaw> {
        self.text(claim)?.ok_or(Flaw::Missing(claim))
    }

    /// A claim that identifies something, if it is there.
    pub(super) fn id(&self, claim: &'static str) -> Result<Option<&str>, Flaw> {
        let id = self.text(claim)?;
        let is_usable = |id: &str| (1..=MAX_ID).contains(&id.len()) && !id.contains(char::is_control);
        if id.is_none_or(is_usable) {
            return Ok(id);
        }
        Err(Flaw::form(claim, "a text of 1 to 255 bytes without control characters"))
    }

    /// The person that the claims are about.
    pub(super) fn subject(&self) -> Result<&str, Flaw> {
        self.id("sub")?.ok_or(Flaw::Missing("sub"))
    }

    fn time(&self, claim: &'static str) -> Result<Option<Timestamp>, Flaw> {
        let expected = "a number of seconds since 1970";
        match self.0.get(claim) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Number(number)) => {
                // Some providers write parts of seconds; a cast of what is too large ends at the largest number.
                #[allow(clippy::cast_possible_truncation, reason = "saturates, and is checked below")]
                let seconds = number.as_i64().or_else(|| number.as_f64().map(|seconds| seconds as i64));
                let time = seconds.and_then(|seconds| Timestamp::from_second(seconds).ok());
                time.map(Some).ok_or_else(|| Flaw::form(claim, expected))
            }
            Some(_) => Err(Flaw::form(claim, expected)),
        }
    }

    fn audiences(&self) -> Result<Vec<String>, Flaw> {
        let refused = || Flaw::form("aud", "a text or a list of texts");
        match self.0.get("aud") {
            None | Some(Value::Null) => Err(Flaw::Missing("aud")),
            Some(value) => texts(value).ok_or_else(refused),
        }
    }

    /// Checks an ID token that answers a login with this nonce.
    pub(super) fn judge_id(
        &self,
        expected: &ExpectedClaims,
        nonce: &str,
        now: Timestamp,
    ) -> Result<(), Flaw> {
        self.judge_origin(expected)?;
        self.time("exp")?.ok_or(Flaw::Missing("exp"))?;
        self.time("iat")?.ok_or(Flaw::Missing("iat"))?;
        self.judge_times(expected.skew, now)?;
        if self.text("nonce")?.ok_or(Flaw::Missing("nonce"))? != nonce {
            return Err(Flaw::Nonce);
        }
        if !expected.acr.is_empty() {
            let class = self.needed("acr")?;
            if !expected.acr.iter().any(|listed| listed == class) {
                return Err(Flaw::Class(class.to_owned()));
            }
        }
        self.subject().map(|_| ())
    }

    /// Checks a logout token but for its repetition.
    pub(super) fn judge_logout(
        &self,
        expected: &ExpectedClaims,
        now: Timestamp,
    ) -> Result<JudgedLogout, Flaw> {
        self.judge_origin(expected)?;
        let issued = self.time("iat")?.ok_or(Flaw::Missing("iat"))?;
        self.judge_times(expected.skew, now)?;
        let ago = now.duration_since(issued);
        if ago > LOGOUT_AGE + expected.skew {
            return Err(Flaw::TooOld { at: issued, ago });
        }
        let event = self.0.get("events").and_then(|events| events.get(LOGOUT_EVENT));
        if !event.is_some_and(Value::is_object) {
            return Err(Flaw::NoEvent);
        }
        if self.0.contains_key("nonce") {
            return Err(Flaw::HasNonce);
        }
        let owned = |id: Option<&str>| id.map(str::to_owned);
        let (sub, sid) = (owned(self.id("sub")?), owned(self.id("sid")?));
        if sub.is_none() && sid.is_none() {
            return Err(Flaw::NobodyNamed);
        }
        let jti = owned(self.id("jti")?).ok_or(Flaw::Missing("jti"))?;
        Ok(JudgedLogout { sub, sid, jti })
    }

    /// Checks who issued the token, and for whom.
    fn judge_origin(&self, expected: &ExpectedClaims) -> Result<(), Flaw> {
        let issuer = self.needed("iss")?;
        if issuer != expected.issuer {
            return Err(Flaw::Issuer { found: issuer.to_owned(), expected: expected.issuer.clone() });
        }
        let audiences = self.audiences()?;
        if !audiences.contains(&expected.client_id) {
            return Err(Flaw::Audience(audiences));
        }
        match self.text("azp")? {
            Some(party) if party != expected.client_id => Err(Flaw::Party(party.to_owned())),
            None if audiences.len() > 1 => Err(Flaw::NoParty),
            _ => Ok(()),
        }
    }

    /// Checks the times that the token has: `exp`, `iat` and `nbf`.
    fn judge_times(&self, skew: SignedDuration, now: Timestamp) -> Result<(), Flaw> {
        if let Some(at) = self.time("exp")? {
            let ago = now.duration_since(at);
            if ago >= skew {
                return Err(Flaw::Expired { at, ago });
            }
        }
        for claim in ["iat", "nbf"] {
            let Some(at) = self.time(claim)? else { continue };
            let until = at.duration_since(now);
            if until > skew {
                return Err(Flaw::NotYet { claim, at, until });
            }
        }
        Ok(())
    }
}

/// The texts of a list of texts, or of one text; none if it is something else.
pub(super) fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(items) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
        _ => None,
    }
}
