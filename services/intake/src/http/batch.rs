//! Many orders in one request. Items are counted while the body is read, and read a window at a time:
//! what a body costs is bounded whatever stands in it.

mod count;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use bytes::Bytes;
use futures_util::future::join_all;
use pagurus_domain::access::scope::AccessScope;
use pagurus_domain::order::registration::Request;
use pagurus_wire::order::RegisteredView;
use pagurus_wire::problem::{Problem, Type};
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;

use self::count::{BatchFormat, ItemCounter};
use super::body::{off_runtime, read_within};
use super::caller::Scope;
use super::dry_run::{DryRun, RegistrationQuery, would_be};
use super::query::Query;
use super::registration::{registered, submit};
use super::{HttpResult, ProblemResponse};
use crate::Intake;
use crate::register::{self, RegistrationOutcome as Registration, weight};

/// Items that wait for the database at a time.
const WINDOW: usize = 1000;
/// Memory for which items are read at a time, by estimate; one item is read whatever it takes.
const WINDOW_WEIGHT: usize = 32 * 1024 * 1024;
/// Faults that one answer lists; of later items only the first is listed.
const MAX_LISTED: usize = 1000;

/// `POST /v1/orders/batch`: a JSON array, or one order a line.
pub(super) async fn create(
    State(intake): State<Intake>,
    Query(query): Query<RegistrationQuery>,
    Scope(scope): Scope,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Json<Vec<RegisteredView>>> {
    let settings = &intake.host.settings().intake;
    let max = settings.max_batch_orders;
    let form = form_of(&headers);
    let mut count = ItemCounter::new(form);
    let look = |piece: &[u8]| {
        if count.feed(piece) <= max {
            return Ok(());
        }
        Err(Problem::new(Type::TooLarge, format!("more than {max} orders in one batch")))
    };
    let body = read_within(&intake, body, settings.max_batch_body_bytes, look).await?;
    let items = off_runtime(body.len(), || split(form, &body))?;
    let mut answers: Vec<RegisteredView> = Vec::with_capacity(items.len());
    let mut listed = 0;
    let mut dry_run = if query.dry_run { Some(DryRun::of(&intake, scope.clone(), &headers)?) } else { None };
    let mut rest = &items[..];
    while !rest.is_empty() {
        let (window, weight) = window(rest);
        let _room = match intake.bodies.values(weight).await {
            Ok(room) => room,
            Err(refused) if answers.is_empty() => return Err(refused),
            // What was registered is reported; the rest may be sent again.
            Err(ProblemResponse(problem)) => {
                let outcome = Registration::Unavailable(problem);
                answers.extend(rest.iter().map(|_| registered(None, &outcome)));
                break;
            }
        };
        rest = &rest[window.len()..];
        let bytes = window.iter().map(Bytes::len).sum();
        let read: Vec<Item> = off_runtime(bytes, || {
            window.iter().map(|item| Item::read(item, settings.max_body_bytes)).collect()
        });
        let done = match &mut dry_run {
            Some(dry_run) => tried(dry_run, read).await,
            None => join_all(read.into_iter().map(|item| create_item(&intake, &scope, &headers, item))).await,
        };
        for mut answer in done {
            shorten(&mut answer, &mut listed);
            answers.push(answer);
        }
    }
    Ok(Json(answers))
}

/// Media types of a batch with one order a line.
pub(super) const LINES: [&str; 3] = ["application/x-ndjson", "application/ndjson", "application/jsonl"];

fn form_of(headers: &HeaderMap) -> BatchFormat {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if LINES.iter().any(|lines| kind.eq_ignore_ascii_case(lines)) {
        BatchFormat::Lines
    } else {
        BatchFormat::Array
    }
}

/// Returns the texts of the items, not read yet. The array as a whole is JSON, or the batch is refused.
fn split(form: BatchFormat, body: &Bytes) -> HttpResult<Vec<Bytes>> {
    if form == BatchFormat::Lines {
        let lines = body.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
        return Ok(lines.map(|line| body.slice_ref(line)).collect());
    }
    let malformed = |error: serde_json::Error| {
        ProblemResponse(Problem::new(Type::Malformed, format!("the body is not JSON: {error}")))
    };
    if body.trim_ascii_start().first() != Some(&b'[') {
        serde_json::from_slice::<IgnoredAny>(body).map_err(malformed)?;
        let detail = "a batch is a JSON array, or NDJSON with its media type";
        return Err(ProblemResponse(Problem::new(Type::Invalid, detail)));
    }
    let items: Vec<&RawValue> = serde_json::from_slice(body).map_err(malformed)?;
    Ok(items.into_iter().map(|item| body.slice_ref(item.get().as_bytes())).collect())
}

/// Returns the items that are read next, and their weight.
fn window(items: &[Bytes]) -> (&[Bytes], usize) {
    let mut total = 0;
    let mut taken = 0;
    for item in items.iter().take(WINDOW) {
        let weight = weight(item);
        if taken > 0 && total + weight > WINDOW_WEIGHT {
            break;
        }
        total += weight;
        taken += 1;
    }
    (&items[..taken], total)
}

/// Item that was read.
struct Item {
    /// Id, if it has one that can be read.
    named: Option<String>,
    request: Result<Request, Problem>,
}

impl Item {
    fn read(text: &[u8], max: usize) -> Self {
        if text.len() > max {
            let detail = format!("the order has {} bytes, more than {max}", text.len());
            return Self { named: None, request: Err(Problem::new(Type::TooLarge, detail)) };
        }
        match register::parse(text) {
            Err(problem) => Self { named: None, request: Err(problem) },
            Ok(value) => Self {
                named: value.get("id").and_then(Value::as_str).map(str::to_owned),
                request: register::read_value(value),
            },
        }
    }
}

async fn create_item(
    intake: &Intake,
    scope: &AccessScope,
    headers: &HeaderMap,
    item: Item,
) -> RegisteredView {
    let outcome = match item.request {
        Err(problem) => Registration::Rejected(problem),
        Ok(request) => match submit(intake, scope, request, headers).await {
            Ok(outcome) => outcome,
            Err(ProblemResponse(problem)) => Registration::refused(problem),
        },
    };
    registered(item.named, &outcome)
}

/// Returns the outcomes that the items of a window would have.
async fn tried(dry_run: &mut DryRun<'_>, items: Vec<Item>) -> Vec<RegisteredView> {
    let (named, requests): (Vec<Option<String>>, Vec<_>) =
        items.into_iter().map(|item| (item.named, item.request)).unzip();
    let outcomes = dry_run.outcomes(requests).await;
    named.into_iter().zip(&outcomes).map(|(id, outcome)| would_be(id, outcome)).collect()
}

fn shorten(answer: &mut RegisteredView, listed: &mut usize) {
    let Some(problem) = &mut answer.error else { return };
    if *listed >= MAX_LISTED {
        problem.errors.clear();
    }
    *listed += problem.errors.len();
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn texts(form: BatchFormat, body: &'static str) -> Result<Vec<String>, u16> {
        let items = split(form, &Bytes::from_static(body.as_bytes()))
            .map_err(|ProblemResponse(problem)| problem.status)?;
        Ok(items.iter().map(|item| String::from_utf8_lossy(item).into_owned()).collect())
    }

    #[test]
    fn ord_1_a_batch_is_taken_apart_without_being_read() {
        let items = texts(BatchFormat::Array, " [ {\"a\": [1, 2]} , \"x,]\\\"\",null]").unwrap();
        assert_eq!(items, ["{\"a\": [1, 2]}", "\"x,]\\\"\"", "null"]);
        assert_eq!(texts(BatchFormat::Array, "[]"), Ok(vec![]));
        for bad in ["", "[1,]", "[1 2]", "[1] 2", "[1", "[{]}", "{", "[\"\u{1}\"]"] {
            assert_eq!(texts(BatchFormat::Array, bad), Err(400), "{bad:?}");
        }
        for other in ["{}", "7", "null"] {
            assert_eq!(texts(BatchFormat::Array, other), Err(422), "{other}");
        }
        assert_eq!(texts(BatchFormat::Lines, "{}\n\n \r\n{\r\n").unwrap(), ["{}", "{\r"]);
    }

    #[test]
    fn qlt_8_a_window_of_a_batch_is_bounded_by_what_it_weighs() {
        let light = vec![Bytes::from_static(b"{}"); 3 * WINDOW];
        assert_eq!(window(&light).0.len(), WINDOW);
        let heavy = vec![Bytes::from("{".repeat(WINDOW_WEIGHT / 640 * 2 / 5)); 10];
        let (taken, weight) = window(&heavy);
        assert!(taken.len() == 2 && weight <= WINDOW_WEIGHT, "{} of {weight}", taken.len());
        let beyond = [Bytes::from("{".repeat(WINDOW_WEIGHT)), Bytes::from_static(b"{}")];
        assert_eq!(window(&beyond).0.len(), 1, "one is read whatever it weighs");
    }

    #[test]
    fn ord_1_an_item_is_bounded_like_an_order_that_comes_alone() {
        let item = Item::read(b"{\"id\": \"a\", \"scenario\": \"s\"}", 10);
        assert_eq!(item.request.unwrap_err().status, 413);
        let item = Item::read(b"{\"id\": \"a\", \"scenario\": 7}", 100);
        assert_eq!((item.named.as_deref(), item.request.unwrap_err().status), (Some("a"), 422));
        assert!(Item::read(b"{\"id\": \"a\", \"scenario\": \"s\"}", 100).request.is_ok());
    }

    #[test]
    fn ord_1_what_the_database_did_not_do_may_be_repeated() {
        let word = |kind: Type| Registration::refused(Problem::new(kind, "")).word();
        assert_eq!((word(Type::Unavailable), word(Type::Busy)), ("unavailable", "unavailable"));
        assert_eq!(word(Type::Internal), "rejected", "sending it again would not help");
    }

    #[test]
    fn qlt_8_the_faults_of_a_batch_are_listed_up_to_a_bound() {
        let mut listed = 0;
        let left: Vec<usize> = (0..15)
            .map(|_| {
                let mut problem = Problem::new(Type::Invalid, "");
                problem.errors = vec![
                    pagurus_wire::problem::Detail {
                        pointer: String::new(),
                        message: String::new(),
                        hint: None,
                        line: None,
                        column: None,
                    };
                    100
                ];
                let mut answer = registered(None, &Registration::Rejected(problem));
                shorten(&mut answer, &mut listed);
                answer.error.unwrap().errors.len()
            })
            .collect();
        assert_eq!((left[9], left[10], listed), (100, 0, MAX_LISTED));
    }
}
