//! What a request asks by its path and its query. Whatever cannot be read is answered by a problem that
//! names the field; the words of the framework reach nobody.
#![allow(clippy::disallowed_types, reason = "the one place where the framework's own extractors are used")]

use std::error::Error;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::extract::path::ErrorKind;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::http::request::Parts;
use jiff::{SignedDuration, Timestamp};
use pagurus_domain::document::parse_duration;
use pagurus_wire::problem::{Problem, Type};
use serde::de::DeserializeOwned;

use super::{Answer, Outcome};

/// The query of a request.
pub(super) struct Query<T>(pub(super) T);

/// What stands in the path of a request.
pub(super) struct Path<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Answer;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Outcome<Self> {
        let read = axum::extract::Query::<T>::from_request_parts(parts, state).await;
        read.map(|axum::extract::Query(query)| Self(query)).map_err(|refused| unread_query(&refused))
    }
}

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Answer;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Outcome<Self> {
        let read = axum::extract::Path::<T>::from_request_parts(parts, state).await;
        read.map(|axum::extract::Path(path)| Self(path)).map_err(unread_path)
    }
}

fn unread_query(refused: &QueryRejection) -> Answer {
    let mut cause: Option<&(dyn Error + 'static)> = Some(refused);
    while let Some(inner) = cause {
        if let Some(error) = inner.downcast_ref::<serde_path_to_error::Error<serde::de::value::Error>>() {
            let told = error.inner().to_string();
            let field = error.path().iter().next().map(ToString::to_string);
            // A field that stands twice has no place, but its name is told.
            return match field.or_else(|| Some(told.split('`').nth(1)?.to_owned())) {
                Some(field) => invalid(&format!("/{field}"), &format!("{field} cannot be read: {told}")),
                None => Answer(Problem::new(Type::Invalid, format!("the query cannot be read: {told}"))),
            };
        }
        cause = inner.source();
    }
    Answer(Problem::new(Type::Invalid, "the query cannot be read"))
}

fn unread_path(refused: PathRejection) -> Answer {
    let PathRejection::FailedToDeserializePathParams(failed) = refused else {
        return Answer(Problem::new(Type::Internal, "the engine failed to read its own path"));
    };
    match failed.kind() {
        ErrorKind::InvalidUtf8InPathParam { key } | ErrorKind::ParseErrorAtKey { key, .. } => {
            invalid(&format!("/{key}"), &format!("{key} cannot be read from the path: it is not UTF-8"))
        }
        other => Answer(Problem::new(Type::Invalid, format!("the path cannot be read: {other}"))),
    }
}

/// A field that was read and makes no sense.
pub(super) fn invalid(pointer: &str, told: &str) -> Answer {
    let mut problem = Problem::new(Type::Invalid, told);
    problem.pointer = Some(pointer.to_owned());
    Answer(problem)
}

/// How many to a page.
pub(super) fn limit(asked: Option<&str>, usual: usize, most: usize) -> Outcome<usize> {
    let limit = asked.map_or(Ok(usual), str::parse).ok().filter(|limit| (1..=most).contains(limit));
    limit.ok_or_else(|| invalid("/limit", &format!("limit must be 1 to {most}")))
}

/// A duration, or a number of seconds.
pub(super) fn duration(field: &str, text: &str) -> Outcome<Duration> {
    let seconds = text.parse().map(Duration::from_secs);
    seconds
        .or_else(|_| parse_duration(text))
        .map_err(|error| invalid(&format!("/{field}"), &format!("{field}: {error}")))
}

/// A time, or a duration back from now.
pub(super) fn moment(text: &str, now: Timestamp) -> Option<Timestamp> {
    text.parse()
        .ok()
        .or_else(|| now.checked_sub(SignedDuration::try_from(parse_duration(text).ok()?).ok()?).ok())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use axum::http::Request;
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    struct Asked {
        #[serde(rename = "fromLine")]
        from_line: Option<usize>,
        name: Option<String>,
    }

    async fn read(query: &str) -> Result<Asked, Problem> {
        let (mut parts, ()) = Request::get(format!("/x?{query}")).body(()).unwrap().into_parts();
        let read = Query::<Asked>::from_request_parts(&mut parts, &()).await;
        read.map(|Query(asked)| asked).map_err(|Answer(problem)| problem)
    }

    #[tokio::test]
    async fn api_a_query_that_cannot_be_read_names_its_field() {
        let asked = read("fromLine=3&name=%C3%A9&other=1").await.unwrap();
        assert_eq!((asked.from_line, asked.name.as_deref()), (Some(3), Some("é")));
        for (query, field) in [
            ("fromLine=x", "fromLine"),
            ("fromLine=", "fromLine"),
            ("fromLine=-1", "fromLine"),
            ("name=a&name=b", "name"),
        ] {
            let problem = read(query).await.unwrap_err();
            assert_eq!((problem.status, problem.pointer), (422, Some(format!("/{field}"))), "{query}");
            let detail = problem.detail;
            assert!(detail.starts_with(&format!("{field} cannot be read: ")), "{detail}");
        }
    }

    #[test]
    fn api_a_duration_is_seconds_or_has_units() {
        assert_eq!(duration("timeout", "90").unwrap(), duration("timeout", "1m30s").unwrap());
        let Answer(problem) = duration("timeout", "soon").unwrap_err();
        assert_eq!(problem.pointer.as_deref(), Some("/timeout"));
    }
}
