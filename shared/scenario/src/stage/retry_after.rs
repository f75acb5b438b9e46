//! Time for which a called system or an actor asks to be left alone (DSP-16): the header `retry-after` of its answer.
//! Must never judge whether the answer is good.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::{Callback, Response};

/// Name of the header.
const RETRY_AFTER: &str = "retry-after";

/// The wish of an answer over HTTP: only refusals for too much work carry one.
pub(super) fn of_response(response: &Response, now: Timestamp) -> Option<Duration> {
    if !matches!(response.status, 429 | 503) {
        return None;
    }
    let (_, value) = response.headers.iter().find(|(name, _)| name == RETRY_AFTER)?;
    of_text(value, now)
}

impl Callback {
    /// The wish of a callback, or of a decision, as much of it as is left now: it counts from the time of receipt.
    pub(super) fn retry_after(&self, now: Timestamp) -> Option<Duration> {
        let headers = self.value.value().get("headers")?.as_object()?;
        let (_, value) = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(RETRY_AFTER))?;
        let received_at = self.received_at.unwrap_or(now);
        let wish = match value {
            Value::String(text) => of_text(text, received_at),
            Value::Number(seconds) => Duration::try_from_secs_f64(seconds.as_f64()?).ok(),
            _ => None,
        }?;
        let passed = Duration::try_from(now.duration_since(received_at)).unwrap_or(Duration::ZERO);
        Some(wish.saturating_sub(passed)).filter(|left| !left.is_zero())
    }
}

/// Seconds, or a date (RFC 9110, 10.2.3).
fn of_text(text: &str, now: Timestamp) -> Option<Duration> {
    if let Ok(seconds) = text.trim().parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let at = jiff::fmt::rfc2822::parse(text.trim()).ok()?.timestamp();
    Duration::try_from(at.duration_since(now)).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn dsp_16_the_wish_of_a_callback_is_seconds_or_a_date_and_counts_from_its_receipt() {
        let received: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let after = |seconds: u64| received.checked_add(Duration::from_secs(seconds)).unwrap();
        let wish = |headers: Value, now| {
            let value = json!({"headers": headers}).into();
            let received_at = Some(received);
            let callback =
                Callback { name: "r".into(), value, received_at, body: String::new(), step_status: None };
            callback.retry_after(now).map(|left| left.as_millis())
        };
        for (headers, now, left) in [
            (json!({"retry-after": "30"}), after(0), Some(30_000)),
            (json!({"Retry-After": " 30 "}), after(10), Some(20_000)),
            (json!({"RETRY-AFTER": 30}), after(0), Some(30_000)),
            (json!({"retry-after": 1.5}), after(0), Some(1_500)),
            (json!({"retry-after": "Thu, 01 Jan 2026 00:01:00 GMT"}), after(15), Some(45_000)),
            (json!({"retry-after": "30"}), after(30), None),
            (json!({"retry-after": "0"}), after(0), None),
            (json!({"retry-after": -1}), after(0), None),
            (json!({"retry-after": "soon"}), after(0), None),
            (json!({"retry-after": true}), after(0), None),
            (json!({"retry-after": "Wed, 31 Dec 2025 00:00:00 GMT"}), after(0), None),
            (json!({"retry": "30"}), after(0), None),
            (Value::Null, after(0), None),
        ] {
            assert_eq!(wish(headers.clone(), now), left, "{headers} at {now}");
        }
    }
}
