//! Limits of clients over requests and answers as the server has them.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::num::NonZeroU64;

use http_body_util::BodyExt as _;

use super::*;

fn of(host: u8, body: Body) -> Request {
    let mut request = Request::post("/v1/orders").body(body).unwrap();
    request.extensions_mut().insert(Peer(([10, 0, 0, host], 1).into()));
    request
}

fn rate(per_second: u64, burst: u64) -> Option<QuotaRate> {
    let number = |number| NonZeroU64::new(number).unwrap();
    Some(QuotaRate { per_second: number(per_second), burst: number(burst) })
}

fn field(fields: &HeaderMap, name: &str) -> String {
    fields[name].to_str().unwrap().to_owned()
}

/// A rate so low that no test lasts until another unit comes.
const HARDLY: u64 = 1;

#[test]
fn qlt_15_limits_are_announced_in_the_words_of_the_draft() {
    let limits = QuotaLimits { requests: rate(10, 25), bytes: rate(1000, 1000), open: NonZeroU64::new(4) };
    let quotas = ClientQuotas::default();
    let (_, turn) = quotas.begin(of(1, Body::empty()), limits, |_| false).ok().unwrap();
    let answer = turn.held_by(Response::new(Body::from("x")));
    let policy = "\"requests\";q=25;w=3, \"bytes\";q=1000;w=1;qu=\"content-bytes\", \"open\";q=4;qu=\"concurrent-requests\"";
    assert_eq!(field(answer.headers(), "ratelimit-policy"), policy);
    let left = field(answer.headers(), "ratelimit");
    assert!(left.starts_with("\"requests\";r=24;t=1, \"bytes\";r=1000;t=0, \"open\";r=3"), "{left}");
}

#[test]
fn qlt_15_a_client_beyond_its_rate_gets_429_and_another_one_does_not() {
    let limits = QuotaLimits { requests: rate(HARDLY, 2), ..QuotaLimits::default() };
    let quotas = ClientQuotas::default();
    for _ in 0..2 {
        quotas.begin(of(1, Body::empty()), limits, |_| false).ok().unwrap();
    }
    let refusal = quotas.begin(of(1, Body::empty()), limits, |_| false).err().unwrap();
    let answer = refusal.answer(&limits);
    assert_eq!(answer.status(), 429);
    assert_eq!(field(answer.headers(), "retry-after"), "1");
    assert_eq!(field(answer.headers(), "ratelimit"), "\"requests\";r=0;t=2");
    assert!(quotas.begin(of(2, Body::empty()), limits, |_| false).is_ok());
}

#[tokio::test]
async fn qlt_15_a_request_is_in_progress_until_its_answer_has_been_taken_or_nobody_wants_it() {
    let limits = QuotaLimits { open: NonZeroU64::new(1), ..QuotaLimits::default() };
    let quotas = ClientQuotas::default();
    let begin = || quotas.begin(of(1, Body::empty()), limits, |_| false).ok().map(|(_, turn)| turn);
    let answer = begin().unwrap().held_by(Response::new(Body::from("long")));
    assert!(begin().is_none());
    answer.into_body().collect().await.unwrap();
    // Given up before its handler has answered.
    drop(begin().unwrap());
    let empty = begin().unwrap().held_by(Response::new(Body::empty()));
    assert!(begin().is_some(), "an answer without a body has been taken: {empty:?}");
}

#[tokio::test]
async fn qlt_15_a_body_without_a_length_is_counted_as_it_is_read() {
    let limits = QuotaLimits { bytes: rate(HARDLY, 100), ..QuotaLimits::default() };
    let quotas = ClientQuotas::default();
    let chunks = futures_util::stream::iter((0..5).map(|_| Ok::<_, std::io::Error>(vec![0_u8; 60])));
    let (request, _turn) = quotas.begin(of(1, Body::from_stream(chunks)), limits, |_| false).ok().unwrap();
    assert!(quotas.begin(of(1, Body::from("x")), limits, |_| false).is_ok(), "nothing has come yet");
    assert_eq!(request.into_body().collect().await.unwrap().to_bytes().len(), 300);
    let refusal = quotas.begin(of(1, Body::from("x")), limits, |_| false).err().unwrap();
    assert_eq!(refusal.exceeded.measure, QuotaMeasure::Bytes);
    assert!(field(refusal.answer(&limits).headers(), "retry-after").parse::<u64>().unwrap() >= 200);
}

#[test]
fn qlt_15_only_answers_of_called_systems_are_free() {
    assert!(is_free("/v1/callbacks/r-1") && is_free("/v1/callbacks/r-1/heartbeat"));
    assert!(!is_free("/v1/callbacks") && !is_free("/v1/orders"));
}
