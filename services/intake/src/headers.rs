//! Headers that both transports understand.

use axum::http::HeaderMap;
use jiff::Timestamp;
use pagurus_domain::time;
use pagurus_wire::problem::{Problem, Type};

/// The header with the client's sending time, and its older name.
pub(crate) const SENT_TIME: [&str; 2] = ["request-sent-time", "crab-request-sent-time"];

/// The header with the status of a called system's step, and its older name.
pub(crate) const STEP_STATUS: [&str; 2] = ["step-status", "step_status"];

/// Returns the sending time of a request; one that cannot be read is refused (ORD-17).
pub(crate) fn sent_time_of(headers: &HeaderMap) -> Result<Option<Timestamp>, Problem> {
    let Some((name, value)) = SENT_TIME.iter().find_map(|name| Some((name, headers.get(*name)?))) else {
        return Ok(None);
    };
    let text = value.to_str().unwrap_or_default();
    let read = time::read_sending_time(text);
    read.map(Some).ok_or_else(|| unreadable_sent_time(&format!("the header `{name}`"), text))
}

/// Returns the problem of a sending time that cannot be read.
pub(crate) fn unreadable_sent_time(place: &str, value: &str) -> Problem {
    Problem::new(Type::Invalid, format!("{place} {}", time::sending_time_fault(value)))
}

/// Returns the status of the step that a callback answers.
pub(crate) fn step_status_of(headers: &HeaderMap) -> Option<&str> {
    STEP_STATUS.iter().find_map(|name| headers.get(*name)).and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn api_the_older_name_of_the_step_status_is_read_behind_the_newer_one() {
        let mut headers = HeaderMap::new();
        assert_eq!(step_status_of(&headers), None);
        headers.insert("step_status", HeaderValue::from_static("older"));
        assert_eq!(step_status_of(&headers), Some("older"));
        headers.insert("step-status", HeaderValue::from_static("newer"));
        assert_eq!(step_status_of(&headers), Some("newer"));
    }
}
