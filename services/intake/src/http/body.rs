//! Bodies of requests: read within a bound of bytes and of time, and all together within a bound of
//! memory. Never knows what a body is for.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use http_body_util::BodyExt as _;
use pagurus_domain::document::pointer_to;
use pagurus_domain::number::saturated;
use pagurus_runtime::MakesRoom;
use pagurus_wire::problem::{Problem, Type};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use serde_path_to_error::Segment;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{HttpResult, ProblemResponse};
use crate::register::weight;
use crate::{Intake, register};

/// Time after which a body that has not arrived is given up.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Longest pause between two pieces of a large body.
const STALL: Duration = Duration::from_secs(5);
/// Longest time for which a large body waits until there is room for it.
const PATIENCE: Duration = Duration::from_secs(5);
/// Length up to which a body takes no room: connections are bounded, too.
const SMALL_BYTES: usize = 64 * 1024;
/// Weight up to which what is read from a body takes no room, by estimate.
const SMALL_WEIGHT: usize = 32 * 1024;
/// Largest memory of the values that are read from bodies, as a multiple of that of the bodies.
const VALUES_TO_BODIES: usize = 2;
/// Number of copies of what is read from a body. Orders need one: their parameters are shared.
const COPIES: usize = 4;

/// The room for the bodies of all requests in progress. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Bodies {
    bytes: Room,
    values: Room,
}

/// Room that is taken and given back, in KiB.
#[derive(Clone, Debug)]
struct Room {
    free: Arc<Semaphore>,
    kib: u32,
    patience: Duration,
}

/// Room that was taken; `None` if little was wanted.
pub(super) type RoomPermit = Option<OwnedSemaphorePermit>;

impl Room {
    fn new(bytes: usize, patience: Duration) -> Self {
        let kib = saturated::<u32>(bytes / 1024).max(1);
        Self { free: Arc::new(Semaphore::new(kib as usize)), kib, patience }
    }

    async fn take(&self, bytes: usize) -> HttpResult<OwnedSemaphorePermit> {
        // What is larger than all of the room gets all of it, and is alone then.
        let kib = saturated::<u32>(bytes.div_ceil(1024)).min(self.kib);
        let taken = tokio::time::timeout(self.patience, self.free.clone().acquire_many_owned(kib)).await;
        let detail = "too many large bodies are in progress; send the same request again, or less at a time";
        taken.ok().and_then(Result::ok).ok_or_else(|| Problem::new(Type::Busy, detail).into())
    }
}

impl Bodies {
    pub fn new(max_bytes: usize) -> Self {
        Self::with_patience(max_bytes, PATIENCE)
    }

    fn with_patience(max_bytes: usize, patience: Duration) -> Self {
        let values = max_bytes.saturating_mul(VALUES_TO_BODIES);
        Self { bytes: Room::new(max_bytes, patience), values: Room::new(values, patience) }
    }

    /// Takes room for a body of this length.
    pub(super) async fn bytes(&self, length: usize) -> HttpResult<RoomPermit> {
        if length <= SMALL_BYTES { Ok(None) } else { self.bytes.take(length).await.map(Some) }
    }

    /// Takes room for what is read from texts of this weight.
    pub(super) async fn values(&self, weight: usize) -> HttpResult<RoomPermit> {
        if weight <= SMALL_WEIGHT { Ok(None) } else { self.values.take(weight).await.map(Some) }
    }
}

/// Does work that takes long for a long text, without keeping the threads that answer other requests.
pub(super) fn off_runtime<T>(length: usize, work: impl FnOnce() -> T) -> T {
    if length <= SMALL_BYTES { work() } else { tokio::task::block_in_place(work) }
}

/// A body, with the room that it takes.
#[derive(Debug)]
pub(super) struct HeldBody {
    bytes: Bytes,
    _room: RoomPermit,
}

impl Deref for HeldBody {
    type Target = Bytes;

    fn deref(&self) -> &Bytes {
        &self.bytes
    }
}

/// A JSON value that came as a body, with the room that it takes.
pub(super) struct HeldValue {
    value: Value,
    _room: RoomPermit,
}

impl HeldValue {
    /// Returns the value; its room is kept until this is dropped.
    pub(super) fn take(&mut self) -> Value {
        self.value.take()
    }
}

impl Deref for HeldValue {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.value
    }
}

/// Reads a body of at most `intake.max_body_bytes`.
pub(super) async fn read(intake: &Intake, body: Body) -> HttpResult<HeldBody> {
    read_within(intake, body, intake.host.settings().intake.max_body_bytes, |_| Ok(())).await
}

/// Reads a body that is JSON.
pub(super) async fn read_json(intake: &Intake, body: Body) -> HttpResult<HeldValue> {
    let body = read(intake, body).await?;
    parse(intake, &body, COPIES).await
}

/// Reads a body that is an order.
pub(super) async fn read_order(intake: &Intake, body: Body) -> HttpResult<HeldValue> {
    let body = read(intake, body).await?;
    parse(intake, &body, 1).await
}

async fn parse(intake: &Intake, body: &HeldBody, copies: usize) -> HttpResult<HeldValue> {
    let room = intake.bodies.values(weight(body).saturating_mul(copies)).await?;
    let value = off_runtime(body.len(), || register::parse(body))?;
    Ok(HeldValue { value, _room: room })
}

/// Reads a body that is JSON, or nothing: then it is an empty object.
pub(super) async fn read_json_if_any(intake: &Intake, body: Body) -> HttpResult<HeldValue> {
    if body.is_end_stream() {
        return Ok(HeldValue { value: json!({}), _room: None });
    }
    let body = read(intake, body).await?;
    if body.trim_ascii().is_empty() {
        return Ok(HeldValue { value: json!({}), _room: None });
    }
    parse(intake, &body, COPIES).await
}

/// A body that is JSON of this type; no body is an empty object.
pub(super) struct Sent<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<Intake> for Sent<T> {
    type Rejection = ProblemResponse;

    async fn from_request(request: Request, intake: &Intake) -> HttpResult<Self> {
        let value = read_json_if_any(intake, request.into_body()).await?;
        Ok(Self(typed(&value)?))
    }
}

/// Reads a JSON object as a type.
///
/// # Errors
/// The problem of the first field that is wrong.
pub(super) fn typed<T: DeserializeOwned>(value: &Value) -> Result<T, Problem> {
    if !value.is_object() {
        // The reader of a struct would take a list for its fields in their order.
        return Err(Problem::new(Type::Invalid, "the body must be a JSON object"));
    }
    serde_path_to_error::deserialize(value).map_err(|error| {
        let pointer = error.path().iter().fold(String::new(), |pointer, part| match part {
            Segment::Seq { index } => format!("{pointer}/{index}"),
            Segment::Map { key } => pointer_to(&pointer, key),
            _ => pointer,
        });
        field_problem(&pointer, &error.inner().to_string())
    })
}

/// Returns the problem of a field. One that is missing is named by its own place, as that of an order is.
fn field_problem(pointer: &str, message: &str) -> Problem {
    let missing = message.strip_prefix("missing field `").and_then(|rest| rest.split_once('`'));
    match missing {
        Some((name, _)) => Problem::of_field(&pointer_to(pointer, name), "is missing"),
        None => Problem::of_field(pointer, message),
    }
}

/// Reads a body piece by piece and shows each to `look`, which may refuse the whole. The rest of what was
/// refused is taken and forgotten, so that the client is still there to read why.
pub(super) async fn read_within(
    intake: &Intake,
    body: Body,
    max: usize,
    look: impl FnMut(&[u8]) -> Result<(), Problem>,
) -> HttpResult<HeldBody> {
    let hint = body.size_hint();
    let declared = hint.exact().map_or(max, saturated::<usize>);
    let too_large = || Problem::new(Type::TooLarge, format!("the body has more than {max} bytes"));
    if declared > max {
        return Err(too_large().into());
    }
    match tokio::time::timeout(TIMEOUT, pieces(&intake.bodies, body, max, declared, look)).await {
        Ok(read) => read,
        Err(_) => {
            let detail = format!("the body did not arrive within {TIMEOUT:?}");
            Err(Problem::new(Type::Malformed, detail).into())
        }
    }
}

async fn pieces(
    bodies: &Bodies,
    mut body: Body,
    max: usize,
    declared: usize,
    mut look: impl FnMut(&[u8]) -> Result<(), Problem>,
) -> HttpResult<HeldBody> {
    let mut bytes = Vec::with_capacity(declared.min(SMALL_BYTES));
    let (mut refused, mut length, mut room): (Option<Problem>, usize, RoomPermit) = (None, 0, None);
    while let Some(piece) = next(&mut body, room.is_some()).await? {
        length += piece.len();
        if length > max {
            let detail = format!("the body has more than {max} bytes");
            return Err(refused.unwrap_or_else(|| Problem::new(Type::TooLarge, detail)).into());
        }
        if refused.is_some() {
            continue;
        }
        // All of it is asked for at once, so that no two wait for what the other has; but not before the
        // client has shown that it sends.
        if room.is_none() && length > SMALL_BYTES {
            room = bodies.bytes(declared).await?;
        }
        match look(&piece) {
            Ok(()) => bytes.extend_from_slice(&piece),
            Err(problem) => {
                (bytes, room) = (Vec::new(), None);
                refused = Some(problem);
            }
        }
    }
    match refused {
        None => Ok(HeldBody { bytes: bytes.into(), _room: room }),
        Some(problem) => Err(problem.into()),
    }
}

/// Returns the next piece. A client that holds room that others wait for has to go on sending.
async fn next(body: &mut Body, holds_room: bool) -> HttpResult<Option<Bytes>> {
    let limit = if holds_room { STALL } else { TIMEOUT };
    match tokio::time::timeout(limit, body.frame()).await {
        Ok(None) => Ok(None),
        // Trailers are no piece of it.
        Ok(Some(Ok(frame))) => Ok(Some(frame.into_data().unwrap_or_default())),
        Ok(Some(Err(error))) if MakesRoom::causes(&error) => {
            let detail = "the rest of the body had not arrived when other clients needed the connection; send the same request again";
            Err(Problem::new(Type::Unavailable, detail).into())
        }
        Ok(Some(Err(_))) => Err(Problem::new(Type::Malformed, "the body ended before its length").into()),
        Err(_) => {
            Err(Problem::new(Type::Malformed, format!("no part of the body arrived for {limit:?}")).into())
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::http::ProblemResponse;

    #[test]
    fn qlt_8_the_weight_of_a_text_is_more_than_what_is_read_from_it() {
        let dense = format!("[{}]", vec!["{\"\":1}"; 1000].join(","));
        assert!(weight(dense.as_bytes()) > 1000 * 672, "a map of one entry has room for eleven");
        let numbers = format!("[{}]", vec!["1"; 1000].join(","));
        assert!(weight(numbers.as_bytes()) > 1000 * 64);
        let order = br#"{"id": "a", "scenario": "s", "params": {"tariff": "new", "msisdn": "79110000001"}}"#;
        assert!(weight(order) < SMALL_WEIGHT / 10, "an ordinary order waits for nobody");
    }

    #[test]
    fn qlt_9_a_field_that_is_missing_is_named_by_its_own_place() {
        let at = |message: &str| field_problem("/a", message).pointer.unwrap();
        assert_eq!(at("missing field `b`"), "/a/b");
        assert_eq!(at("unknown field `b`"), "/a");
    }

    #[tokio::test]
    async fn qlt_8_a_client_that_finds_no_room_is_asked_to_come_again_and_small_bodies_need_none() {
        let bodies = Bodies::with_patience(1024 * 1024, Duration::from_millis(10));
        let first = bodies.bytes(700 * 1024).await.unwrap();
        let Err(ProblemResponse(problem)) = bodies.bytes(700 * 1024).await else { panic!("there was room") };
        assert_eq!(problem.status, 429);
        assert!(bodies.bytes(SMALL_BYTES).await.unwrap().is_none());
        drop(first);
        assert!(bodies.bytes(usize::MAX).await.unwrap().is_some(), "what is larger than all gets all");
    }

    #[tokio::test]
    async fn qlt_8_what_was_refused_is_not_kept_and_what_is_too_long_not_read() {
        let body = |pieces: usize| {
            let stream = (0..pieces).map(|_| Ok::<_, std::io::Error>(Bytes::from_static(b"0123456789")));
            Body::from_stream(futures_util::stream::iter(stream))
        };
        let mut looked = 0;
        let refusing = |piece: &[u8]| {
            looked += piece.len();
            if looked > 15 { Err(Problem::new(Type::Invalid, "enough")) } else { Ok(()) }
        };
        let bodies = Bodies::with_patience(1024 * 1024, Duration::from_millis(10));
        assert_eq!(pieces(&bodies, body(5), 100, 100, refusing).await.unwrap_err().0.detail, "enough");
        assert_eq!(looked, 20, "nothing is looked at behind the refusal");
        assert_eq!(pieces(&bodies, body(5), 49, 49, |_| Ok(())).await.unwrap_err().0.status, 413);
        assert_eq!(pieces(&bodies, body(5), 50, 50, |_| Ok(())).await.unwrap().len(), 50);
    }
}
