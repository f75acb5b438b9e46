//! Signatures of webhooks, by Standard Webhooks: HMAC-SHA256 over id, time and body.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Least length of a secret, in bytes.
const SHORTEST: usize = 24;
/// Prefix of a secret that is written in base64.
const PREFIX: &str = "whsec_";

/// Why a text has no secrets to sign with. It holds nothing of the text, so that no message shows a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnusableSecret {
    /// Text behind the prefix of a coded secret that is not base64.
    #[error("what follows `{PREFIX}` in a signing secret must be base64")]
    NotBase64,
    /// Secret that is too short, or none at all.
    #[error("a signing secret must have {SHORTEST} bytes or more")]
    TooShort,
}

/// The secrets with which the notifications of a receiver are signed: one, or several while it changes from one to another.
#[derive(Clone)]
pub struct SigningSecrets(Vec<Vec<u8>>);

/// Secrets must not get into logs.
impl fmt::Debug for SigningSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} secrets", self.0.len())
    }
}

impl SigningSecrets {
    /// Reads secrets that stand apart by white space: `whsec_` and base64, or plain text.
    ///
    /// # Errors
    /// There is none, one is not base64, or one is too short.
    pub fn parse(text: &str) -> Result<Self, UnusableSecret> {
        let secrets = text.split_whitespace().map(|word| match word.strip_prefix(PREFIX) {
            Some(coded) => BASE64_STANDARD.decode(coded).map_err(|_| UnusableSecret::NotBase64),
            None => Ok(word.as_bytes().to_vec()),
        });
        let secrets = secrets.collect::<Result<Vec<_>, _>>()?;
        if secrets.is_empty() || secrets.iter().any(|secret| secret.len() < SHORTEST) {
            return Err(UnusableSecret::TooShort);
        }
        Ok(Self(secrets))
    }

    /// The value of `webhook-signature`: a signature by each secret. `seconds` is that of `webhook-timestamp`.
    #[must_use]
    pub fn sign(&self, id: &str, seconds: i64, body: &[u8]) -> String {
        let signatures = self.0.iter().filter_map(|secret| {
            // A key of any length is one.
            let mut mac = Hmac::<Sha256>::new_from_slice(secret).ok()?;
            mac.update(format!("{id}.{seconds}.").as_bytes());
            mac.update(body);
            Some(format!("v1,{}", BASE64_STANDARD.encode(mac.finalize().into_bytes())))
        });
        signatures.collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    /// The example of the standard's own libraries.
    #[test]
    fn ord_18_a_signature_is_that_of_the_standard() {
        let secrets = SigningSecrets::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signature =
            secrets.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn ord_18_while_a_secret_changes_both_sign() {
        let (old, new) = ("an-old-secret-of-26-bytes-", "a-new-secret-of-25-bytes-");
        let sign = |text: &str| SigningSecrets::parse(text).unwrap().sign("m", 1, b"{}");
        assert_eq!(sign(&format!("{new}\n{old}\n")), format!("{} {}", sign(new), sign(old)));
    }

    #[test]
    fn ord_18_a_secret_that_is_short_or_unreadable_is_refused_and_not_shown() {
        use UnusableSecret::{NotBase64, TooShort};
        let long_and_short = "a-secret-that-is-long-enough short";
        let refused = [
            ("", TooShort),
            ("short", TooShort),
            ("whsec_c2hvcnQ=", TooShort),
            (long_and_short, TooShort),
            ("whsec_?", NotBase64),
        ];
        for (text, problem) in refused {
            assert_eq!(SigningSecrets::parse(text).unwrap_err(), problem, "{text}");
        }
        assert_eq!(NotBase64.to_string(), "what follows `whsec_` in a signing secret must be base64");
        assert_eq!(TooShort.to_string(), "a signing secret must have 24 bytes or more");
        assert_eq!(format!("{:?}", SigningSecrets::parse(&"s".repeat(24)).unwrap()), "1 secrets");
    }

    proptest::proptest! {
        #[test]
        fn ord_18_qlt_8_no_text_of_a_secret_breaks_the_reader(text in "(whsec_)?[ -~]{0,60}") {
            if let Ok(secrets) = SigningSecrets::parse(&text) {
                proptest::prop_assert!(!secrets.sign("id", 0, b"").is_empty());
            }
        }
    }
}
