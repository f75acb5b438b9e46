//! Webhooks: check of their sender, and their content.

use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::Value;
use sha2::Sha256;

/// Age for which a webhook is usually good: one that was caught on its way cannot be played again later.
pub const MAX_AGE: Duration = Duration::from_secs(300);
/// Prefix of a secret in Base64.
const PREFIX: &str = "whsec_";

/// A webhook that was not signed with the secret, or not just now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the webhook is not signed with the secret, or was not sent just now")]
pub struct NotGenuine;

/// Content of a webhook, if it is genuine and no older than `max_age`, for which [`MAX_AGE`] will mostly do.
///
/// `header` gives a header field by its name in lower case; `body` is as it came, byte for byte. A notification may come twice,
/// under the same `webhook-id`: the receiver must be able to handle that.
///
/// # Errors
/// The webhook is not signed with the secret, or was not sent just now.
pub fn verify_webhook<'h>(
    header: impl Fn(&str) -> Option<&'h str>,
    body: &[u8],
    secret: &str,
    max_age: Duration,
) -> Result<Value, NotGenuine> {
    let now = SystemTime::UNIX_EPOCH.elapsed().map_err(|_| NotGenuine)?;
    verify_at(header, body, secret, max_age, now.as_secs())
}

fn verify_at<'h>(
    header: impl Fn(&str) -> Option<&'h str>,
    body: &[u8],
    secret: &str,
    max_age: Duration,
    now: u64,
) -> Result<Value, NotGenuine> {
    let field = |name: &str| header(name).ok_or(NotGenuine);
    let (id, seconds, given) =
        (field("webhook-id")?, field("webhook-timestamp")?, field("webhook-signature")?);
    let sent: u64 = seconds.parse().map_err(|_| NotGenuine)?;
    if now.abs_diff(sent) > max_age.as_secs() {
        return Err(NotGenuine);
    }
    let key = match secret.strip_prefix(PREFIX) {
        Some(text) => STANDARD.decode(text).map_err(|_| NotGenuine)?,
        None => secret.as_bytes().to_vec(),
    };
    let mut signed = Hmac::<Sha256>::new_from_slice(&key).map_err(|_| NotGenuine)?;
    signed.update(format!("{id}.{seconds}.").as_bytes());
    signed.update(body);
    // There are several while the secret changes.
    let mut tags = given.split(' ').filter_map(|one| STANDARD.decode(one.strip_prefix("v1,")?).ok());
    if !tags.any(|tag| signed.clone().verify_slice(&tag).is_ok()) {
        return Err(NotGenuine);
    }
    serde_json::from_slice(body).map_err(|_| NotGenuine)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[test]
    fn webhooks_are_taken_from_those_who_know_the_secret() {
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let header = |name: &str| match name {
            "webhook-id" => Some("msg_p5jXN8AQM9LWM0D4loKWxJek"),
            "webhook-timestamp" => Some("1614265330"),
            "webhook-signature" => Some("v1,other v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
            _ => None,
        };
        let body = br#"{"test": 2432232314}"#;
        let verify = |secret: &str, body: &[u8], now| verify_at(header, body, secret, MAX_AGE, now);
        assert_eq!(verify(secret, body, 1_614_265_331).unwrap()["test"], 2_432_232_314_u64);
        assert_eq!(verify(secret, b"{}", 1_614_265_331), Err(NotGenuine));
        assert_eq!(verify(secret, body, 1_614_265_631), Err(NotGenuine), "too old");
        assert_eq!(verify(secret, body, 1_614_265_000), Err(NotGenuine), "from the future");
        assert_eq!(verify("another", body, 1_614_265_331), Err(NotGenuine));
    }
}
