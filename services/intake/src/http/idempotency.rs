//! Keys by which a repeated request is known.

use axum::http::HeaderMap;
use pagurus_wire::problem::{Problem, Type};

use super::HttpResult;

/// Returns the key of the client, plain or as a quoted string: `abc` and `"abc"` are one key.
pub(super) fn key_of(headers: &HeaderMap) -> HttpResult<Option<&str>> {
    let detail = "the header `Idempotency-Key` may contain only visible ASCII characters";
    let key = headers.get("idempotency-key").map(|value| value.to_str()).transpose();
    let key = key.map_err(|_| Problem::new(Type::Invalid, detail))?;
    Ok(key.map(|key| key.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(key)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[test]
    fn ord_22_a_key_in_quotes_is_the_same_key() {
        let key = |text: &'static str| {
            let headers = HeaderMap::from_iter([("idempotency-key".parse().unwrap(), text.parse().unwrap())]);
            key_of(&headers).map(|key| key.map(str::to_owned)).unwrap().unwrap()
        };
        assert_eq!(
            (key("\"abc\""), key("abc"), key("\"abc")),
            ("abc".into(), "abc".into(), "\"abc".to_owned())
        );
    }
}
