//! Conditions of a request about the version that it changes: `If-Match` and `If-None-Match` (RFC 9110, section 13).

use axum::http::header::{IF_MATCH, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderName};
use pagurus_store::outside::scenarios::Expected;
use pagurus_wire::problem::{Problem, Type};

use super::HttpResult;

/// Version that a request to store another one expects to find.
pub(super) fn expected(headers: &HeaderMap) -> HttpResult<Expected> {
    let (wanted, unwanted) = (text(headers, &IF_MATCH)?, text(headers, &IF_NONE_MATCH)?);
    match (wanted.as_deref(), unwanted.as_deref()) {
        (None, None) => Ok(Expected::Anything),
        (Some("*"), None) => Ok(Expected::Something),
        (Some(tags), None) => Ok(Expected::Tagged(tags_in(tags)?)),
        (None, Some("*")) => Ok(Expected::Nothing),
        (None, Some(_)) => Err(invalid("`If-None-Match` can only be `*` here: there is no version yet")),
        (Some(_), Some(_)) => Err(invalid("send `If-Match` or `If-None-Match`, not both")),
    }
}

/// Returns all values of a header, as one list.
fn text(headers: &HeaderMap, name: &HeaderName) -> HttpResult<Option<String>> {
    let mut values = Vec::new();
    for value in headers.get_all(name) {
        let detail = format!("the header `{name}` may contain only visible ASCII characters");
        values.push(value.to_str().map_err(|_| invalid(detail))?.trim());
    }
    Ok((!values.is_empty()).then(|| values.join(", ")))
}

/// Returns the tags of a list. A weak one never matches: no two versions are said to be as good as each other.
fn tags_in(list: &str) -> HttpResult<Vec<String>> {
    let tag = |word: &str| {
        let word = word.trim();
        let is_weak = word.starts_with("W/");
        let quoted = word.strip_prefix("W/").unwrap_or(word);
        // Without quotes, too, as people write it.
        let inside = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(quoted);
        let is_plain = !inside.is_empty() && !inside.contains(['"', ' ']);
        let detail = "`If-Match` is `*`, or a list of tags like \"4-9f86d081884c7d65\", as `ETag` gave them";
        if is_plain { Ok((!is_weak).then(|| inside.to_owned())) } else { Err(invalid(detail)) }
    };
    let tags: HttpResult<Vec<Option<String>>> = list.split(',').map(tag).collect();
    Ok(tags?.into_iter().flatten().collect())
}

fn invalid(detail: impl Into<String>) -> super::ProblemResponse {
    Problem::new(Type::Invalid, detail).into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    fn read(lines: &[(&'static str, &'static str)]) -> Result<Expected, String> {
        let headers = lines.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        expected(&HeaderMap::from_iter(headers)).map_err(|answer| answer.0.detail)
    }

    #[test]
    fn http_what_is_expected_is_a_tag_in_quotes_or_plain_or_anything_that_is_there() {
        let tags = |tags: &[&str]| Ok(Expected::Tagged(tags.iter().map(|tag| (*tag).to_owned()).collect()));
        assert_eq!(read(&[]), Ok(Expected::Anything));
        assert_eq!(read(&[("if-match", "*")]), Ok(Expected::Something));
        assert_eq!(read(&[("if-none-match", "*")]), Ok(Expected::Nothing));
        assert_eq!(read(&[("if-match", "\"4-ab\"")]), tags(&["4-ab"]));
        assert_eq!(read(&[("if-match", "4-ab, \"5-cd\"")]), tags(&["4-ab", "5-cd"]));
        assert_eq!(read(&[("if-match", "W/\"4-ab\"")]), tags(&[]), "a weak one matches nothing");
        for bad in [
            &[("if-match", "")][..],
            &[("if-match", "\"a b\"")],
            &[("if-match", "\"a")],
            &[("if-none-match", "\"a\"")],
            &[("if-match", "*"), ("if-none-match", "*")],
        ] {
            assert!(read(bad).is_err(), "{bad:?}");
        }
    }
}
