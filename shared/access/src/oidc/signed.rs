//! Signed tokens: JSON Web Signature (RFC 7515) in its compact form. What a token claims is read only after its signature was
//! checked with a key of the provider, by an algorithm of the settings.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use openidconnect::core::{CoreJsonWebKey, CoreJsonWebKeySet, CoreJwsSigningAlgorithm};
use openidconnect::{JsonWebKey as _, JsonWebKeyAlgorithm, JsonWebKeyUse as _, JwsSigningAlgorithm as _};
use serde::Deserialize;
use serde_json::Value;

use super::claims::TokenClaims;
use super::flaw::{Flaw, TokenKind};

/// Longest token that is read, in bytes; those of large directories have some thousands.
const MAX_TOKEN: usize = 64 * 1024;

/// Algorithms by which tokens may be signed, with their names.
#[derive(Debug)]
pub(super) struct Algorithms(Vec<(String, CoreJwsSigningAlgorithm)>);

impl Algorithms {
    /// The algorithms of these names; the name that is none.
    pub(super) fn of_names(names: &[String]) -> Result<Self, String> {
        let known = |name: &String| {
            let algorithm = serde_json::from_value(Value::String(name.clone()));
            let algorithm: CoreJwsSigningAlgorithm = algorithm.map_err(|_| name.clone())?;
            let is_public = algorithm.key_type().is_some() && !algorithm.uses_shared_secret();
            if is_public { Ok((name.clone(), algorithm)) } else { Err(name.clone()) }
        };
        Ok(Self(names.iter().map(known).collect::<Result<_, _>>()?))
    }

    fn find(&self, name: &str) -> Result<&CoreJwsSigningAlgorithm, Flaw> {
        let found = self.0.iter().find(|(known, _)| known == name).map(|(_, algorithm)| algorithm);
        found.ok_or_else(|| Flaw::Algorithm(name.to_owned()))
    }
}

#[derive(Deserialize)]
struct TokenHeader {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    crit: Option<Value>,
}

/// A token whose signature was not checked yet.
pub(super) struct SignedToken<'a> {
    header: TokenHeader,
    /// Part that is signed: header and payload as they came.
    signed: &'a str,
    payload: Vec<u8>,
    signature: Vec<u8>,
}

impl<'a> SignedToken<'a> {
    /// Reads a token of this kind.
    pub(super) fn read(text: &'a str, kind: TokenKind) -> Result<Self, Flaw> {
        if text.len() > MAX_TOKEN {
            return Err(Flaw::NoToken("it is longer than 64 KiB"));
        }
        let parts: Vec<&str> = text.split('.').collect();
        let [header, payload, signature] = parts[..] else {
            return Err(Flaw::NoToken("it must have three parts"));
        };
        let bytes = |part| {
            BASE64_URL_SAFE_NO_PAD.decode(part).map_err(|_| Flaw::NoToken("a part is not in Base64 for URLs"))
        };
        let header: TokenHeader = serde_json::from_slice(&bytes(header)?)
            .map_err(|_| Flaw::NoToken("its header is no JSON with an algorithm"))?;
        if header.crit.is_some() {
            return Err(Flaw::Critical);
        }
        check_type(header.typ.as_deref(), kind)?;
        let signed = &text[..text.len() - signature.len() - 1];
        Ok(Self { header, signed, payload: bytes(payload)?, signature: bytes(signature)? })
    }

    /// The claims, if one of these keys has signed the token.
    pub(super) fn claims(&self, keys: &CoreJsonWebKeySet, allowed: &Algorithms) -> Result<TokenClaims, Flaw> {
        let algorithm = allowed.find(&self.header.alg)?;
        let key = self.key(keys, algorithm)?;
        key.verify_signature(algorithm, self.signed.as_bytes(), &self.signature)
            .map_err(|_| Flaw::Signature)?;
        match serde_json::from_slice(&self.payload) {
            Ok(Value::Object(claims)) => Ok(TokenClaims(claims)),
            _ => Err(Flaw::NoToken("its content is no JSON object")),
        }
    }

    /// The one key that fits: the one that is named, or the only one for the algorithm (OpenID Connect Core 1.0, section 10.1).
    fn key<'k>(
        &self,
        keys: &'k CoreJsonWebKeySet,
        algorithm: &CoreJwsSigningAlgorithm,
    ) -> Result<&'k CoreJsonWebKey, Flaw> {
        let kid = self.header.kid.as_deref();
        let is_named =
            |key: &&CoreJsonWebKey| kid.is_none_or(|kid| key.key_id().is_some_and(|id| id.as_str() == kid));
        let mut fitting = keys.keys().iter().filter(is_named).filter(|key| fits(key, algorithm));
        match (fitting.next(), fitting.next(), kid) {
            (Some(key), None, _) => Ok(key),
            (_, _, Some(kid)) => Err(Flaw::UnknownKey(kid.to_owned())),
            (_, _, None) => Err(Flaw::NoKeyNamed),
        }
    }
}

/// True for a key that may check signatures of this algorithm.
fn fits(key: &CoreJsonWebKey, algorithm: &CoreJwsSigningAlgorithm) -> bool {
    let is_for_signatures = key.key_use().is_none_or(|purpose| purpose.allows_signature());
    let is_for_algorithm = match key.signing_alg() {
        JsonWebKeyAlgorithm::Unspecified => true,
        JsonWebKeyAlgorithm::Algorithm(own) => own == algorithm,
        JsonWebKeyAlgorithm::Unsupported => false,
    };
    is_for_signatures && is_for_algorithm && algorithm.key_type().as_ref() == Some(key.key_type())
}

/// Refuses tokens that say themselves that they are of another kind (RFC 8725, section 3.11).
fn check_type(typ: Option<&str>, kind: TokenKind) -> Result<(), Flaw> {
    let Some(typ) = typ else { return Ok(()) };
    let lower = typ.to_ascii_lowercase();
    match (lower.strip_prefix("application/").unwrap_or(&lower), kind) {
        ("jwt" | "jose", _) | ("logout+jwt", TokenKind::Logout) => Ok(()),
        _ => Err(Flaw::Type(typ.to_owned())),
    }
}
