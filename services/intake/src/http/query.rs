//! Path and query of a request, as values. Whatever cannot be read is answered by a problem that
//! names the field; the words of the framework reach nobody.
#![allow(clippy::disallowed_types, reason = "the one place where the framework's own extractors are used")]

use std::error::Error;
use std::marker::PhantomData;
use std::time::Duration;

use axum::extract::path::ErrorKind;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{FromRequestParts, Request};
use axum::http::Uri;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::Response;
use pagurus_domain::document::{Fault, nearest, parse_duration, pointer_to};
use pagurus_wire::problem::{Problem, Type};
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Visitor};

use super::{HttpResult, ProblemResponse};

/// The query of a request.
pub(super) struct Query<T>(pub(super) T);

/// The query of a request as its pairs, for names that are not known beforehand: the handler refuses unknown ones. The type
/// has the fields that the document names.
pub(super) struct Pairs<T>(pub(super) Vec<(String, String)>, pub(super) PhantomData<T>);

/// The query of a request that has none.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
pub(super) struct Nothing {}

/// No query.
pub(super) type NoQuery = Query<Nothing>;

/// Values of the path of a request.
pub(super) struct Path<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = ProblemResponse;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> HttpResult<Self> {
        refuse_unknown(&parts.uri, names_of::<T>())?;
        let read = axum::extract::Query::<T>::from_request_parts(parts, state).await;
        read.map(|axum::extract::Query(query)| Self(query)).map_err(|refused| unread_query(&refused))
    }
}

impl<T, S: Send + Sync> FromRequestParts<S> for Pairs<T> {
    type Rejection = ProblemResponse;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> HttpResult<Self> {
        let read = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(&parts.uri);
        read.map(|axum::extract::Query(pairs)| Self(pairs, PhantomData))
            .map_err(|refused| unread_query(&refused))
    }
}

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = ProblemResponse;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> HttpResult<Self> {
        let read = axum::extract::Path::<T>::from_request_parts(parts, state).await;
        read.map(|axum::extract::Path(path)| Self(path)).map_err(unread_path)
    }
}

/// Refuses every parameter of a request whose route has none: `?dryRun=true` at an action that knows no dry run must not
/// carry it out.
pub(super) async fn refuse_any(request: Request, next: Next) -> HttpResult<Response> {
    refuse_unknown(request.uri(), &[])?;
    Ok(next.run(request).await)
}

/// Refuses unknown parameters: ignored silently, they would give a client that filters by them everything.
fn refuse_unknown(uri: &Uri, known: &[&str]) -> HttpResult<()> {
    // The reader itself reports what cannot be read at all.
    let Ok(axum::extract::Query(pairs)) = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(uri)
    else {
        return Ok(());
    };
    let faults: Vec<Fault> = pairs
        .iter()
        .filter(|(name, _)| !known.contains(&&**name))
        .map(|(name, _)| {
            let fault = Fault::placed(None, pointer_to("", name), "is not a parameter of this query");
            match (nearest(name, known.iter().copied()), known) {
                (Some(name), _) => fault.hint(format!("did you mean `{name}`?")),
                (None, []) => fault.hint("it has none"),
                (None, known) => fault.hint(format!("there are: {}", known.join(", "))),
            }
        })
        .collect();
    if faults.is_empty() { Ok(()) } else { Err(ProblemResponse(Problem::of_faults(Type::Invalid, &faults))) }
}

/// Returns the fields of a struct, asked of its own reader, so that they stand at one place only. Empty for a
/// struct with flattened fields, which therefore has no place in a query.
fn names_of<'de, T: Deserialize<'de>>() -> &'static [&'static str] {
    let mut names = FieldNames(&[]);
    // It reads nothing: the names are all that is wanted.
    let _ = T::deserialize(&mut names);
    names.0
}

struct FieldNames(&'static [&'static str]);

impl<'de> Deserializer<'de> for &mut FieldNames {
    type Error = serde::de::value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(serde::de::Error::custom("there is nothing here"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.0 = fields;
        self.deserialize_any(visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

fn unread_query(refused: &QueryRejection) -> ProblemResponse {
    let mut cause: Option<&(dyn Error + 'static)> = Some(refused);
    while let Some(inner) = cause {
        if let Some(error) = inner.downcast_ref::<serde_path_to_error::Error<serde::de::value::Error>>() {
            let reason = error.inner().to_string();
            let field = error.path().iter().next().map(ToString::to_string);
            // A field that stands twice has no place, but its name is in the text.
            return match field.or_else(|| Some(reason.split('`').nth(1)?.to_owned())) {
                Some(field) => invalid(&field, format!("{field} cannot be read: {reason}")),
                None => ProblemResponse(Problem::new(
                    Type::Invalid,
                    format!("the query cannot be read: {reason}"),
                )),
            };
        }
        cause = inner.source();
    }
    ProblemResponse(Problem::new(Type::Invalid, "the query cannot be read"))
}

fn unread_path(refused: PathRejection) -> ProblemResponse {
    let PathRejection::FailedToDeserializePathParams(failed) = refused else {
        return ProblemResponse(Problem::new(Type::Internal, "the engine failed to read its own path"));
    };
    match failed.kind() {
        ErrorKind::InvalidUtf8InPathParam { key } | ErrorKind::ParseErrorAtKey { key, .. } => {
            invalid(key, format!("{key} cannot be read from the path: it is not UTF-8"))
        }
        other => ProblemResponse(Problem::new(Type::Invalid, format!("the path cannot be read: {other}"))),
    }
}

/// Returns the problem of a field that was read and makes no sense.
fn invalid(field: &str, detail: String) -> ProblemResponse {
    ProblemResponse(Problem::new(Type::Invalid, detail).at(format!("/{field}")))
}

/// Reads a duration, or a number of seconds.
pub(super) fn duration(field: &str, text: &str) -> HttpResult<Duration> {
    let seconds = text.parse().map(Duration::from_secs);
    seconds.or_else(|_| parse_duration(text)).map_err(|error| invalid(field, format!("{field}: {error}")))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use axum::http::Request;

    use super::*;

    #[derive(Debug, serde::Deserialize)]
    struct Asked {
        #[serde(rename = "fromLine")]
        from_line: Option<usize>,
        name: Option<String>,
    }

    async fn read(query: &str) -> Result<Asked, Problem> {
        let (mut parts, ()) = Request::get(format!("/x?{query}")).body(()).unwrap().into_parts();
        let read = Query::<Asked>::from_request_parts(&mut parts, &()).await;
        read.map(|Query(asked)| asked).map_err(|ProblemResponse(problem)| problem)
    }

    #[tokio::test]
    async fn api_a_query_that_cannot_be_read_names_its_field() {
        let asked = read("fromLine=3&name=%C3%A9").await.unwrap();
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

    #[tokio::test]
    async fn qlt_8_a_query_with_a_parameter_that_nobody_knows_is_refused() {
        let problem = read("fromline=3&name=a&elephant=1").await.unwrap_err();
        assert_eq!((problem.status, problem.pointer.as_deref()), (422, Some("/fromline")));
        let hints: Vec<_> = problem.errors.iter().filter_map(|error| error.hint.as_deref()).collect();
        assert_eq!(hints, ["did you mean `fromLine`?", "there are: fromLine, name"]);
        assert_eq!(names_of::<Nothing>(), [""; 0]);
    }

    #[test]
    fn api_a_duration_is_seconds_or_has_units() {
        assert_eq!(duration("timeout", "90").unwrap(), duration("timeout", "1m30s").unwrap());
        let ProblemResponse(problem) = duration("timeout", "soon").unwrap_err();
        assert_eq!(problem.pointer.as_deref(), Some("/timeout"));
    }
}
