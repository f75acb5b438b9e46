//! Headers that both doors understand: the client's sending time and the trace context.

use axum::http::HeaderMap;
use jiff::Timestamp;
use pagurus_domain::time;
use pagurus_wire::problem::{Problem, Type};

/// The header with the client's sending time, and its older name.
pub(crate) const SENT_TIME: [&str; 2] = ["request-sent-time", "crab-request-sent-time"];

/// The header with the status of a called system's step, and its older name.
pub(crate) const STEP_STATUS: [&str; 2] = ["step-status", "step_status"];

/// The sending time of a request; one that cannot be read is refused (ORD-17).
pub(crate) fn sent_time_of(headers: &HeaderMap) -> Result<Option<Timestamp>, Problem> {
    let Some((name, value)) = SENT_TIME.iter().find_map(|name| Some((name, headers.get(*name)?))) else {
        return Ok(None);
    };
    let read = value.to_str().ok().and_then(time::read_sending_time);
    read.map(Some).ok_or_else(|| unreadable_sent_time(&format!("the header `{name}`")))
}

/// The answer to a sending time that cannot be read.
pub(crate) fn unreadable_sent_time(place: &str) -> Problem {
    Problem::new(Type::Invalid, format!("{place} must be {}, or milliseconds since 1970", time::RANGE))
}

/// A well-formed `traceparent` (W3C Trace Context, version 00); anything else is as good as none.
pub(crate) fn read_trace(parent: &str) -> Option<String> {
    let parts: Vec<&str> = parent.split('-').collect();
    let hex = |part: &str, length: usize| {
        part.len() == length
            && part.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    };
    let zero = |part: &str| part.bytes().all(|byte| byte == b'0');
    let [version, trace, span, flags] = parts[..] else { return None };
    let good =
        version == "00" && hex(trace, 32) && hex(span, 16) && hex(flags, 2) && !zero(trace) && !zero(span);
    good.then(|| parent.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amqp_3_only_well_formed_trace_contexts_are_taken() {
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        assert_eq!(read_trace(good).as_deref(), Some(good));
        for bad in [
            "",
            "00-0-0-01",
            &good.to_uppercase(),
            &good.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)),
        ] {
            assert_eq!(read_trace(bad), None, "{bad}");
        }
    }
}
