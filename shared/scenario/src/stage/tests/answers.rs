//! Answers of the world of a play, in short words, and what wakes an order that rests.

use super::*;
use crate::{Library, LibraryEntry};

/// The answer in short words; see [`Play::go`].
pub(super) fn said(words: &str) -> Answer {
    let (word, rest) = words.split_once(' ').unwrap_or((words, ""));
    match word {
        "xml" => match said(rest) {
            Answer::Response(mut response) => {
                response.headers.push(("content-type".into(), "text/xml; charset=utf-8".into()));
                Answer::Response(response)
            }
            other => panic!("{other:?} has no body"),
        },
        "published" => Answer::Published,
        "started" => Answer::OrderStarted,
        "refused" => Answer::OrderRefused("no such scenario".into()),
        "unroutable" => Answer::Unpublished("nobody takes it".into()),
        "down" => Answer::Failed(HttpFailure {
            chain: vec!["HttpError", "ConnectError", "ConnectionRefused"],
            message: "Connection refused".into(),
        }),
        "kept" => Answer::Failed(HttpFailure {
            chain: vec!["HttpError", SECRET_KEPT],
            message: "the secret `key` may not be sent".into(),
        }),
        "withheld" => Answer::Forbidden("the secret `key` may not be sent".into()),
        "dark" => {
            Answer::Failed(HttpFailure { chain: vec!["HttpError", "ReadTimeout"], message: "slow".into() })
        }
        status => {
            let (headers, body) = match rest.strip_prefix("retry-after=") {
                Some(wish) => (vec![("retry-after".into(), wish.into())], ""),
                None => (Vec::new(), rest),
            };
            Answer::Response(Response {
                status: status.parse().unwrap_or_else(|_| panic!("`{words}` is no answer")),
                headers,
                body: body.into(),
                duration: Duration::from_millis(5),
            })
        }
    }
}

pub(super) fn said_at_once(words: &str, count: usize) -> Answer {
    let outcomes: Vec<_> = words
        .split(" | ")
        .map(|words| match said(words) {
            Answer::Response(response) => Ok(response),
            Answer::Failed(failure) => Err(failure),
            other => panic!("{other:?} is no answer to a request"),
        })
        .collect();
    assert_eq!(outcomes.len(), count, "`{words}` answers {count} requests");
    Answer::Parallel(outcomes)
}

/// Returns what wakes an order after a stage, and when.
pub(super) fn after(
    end: &StageEnd,
    answers: &mut VecDeque<&str>,
    calls: &mut Vec<Call>,
    callbacks: &mut serde_json::Map<String, Value>,
    now: Timestamp,
) -> (Wake, Timestamp) {
    let snapshot = &end.snapshot;
    let free = calls.iter().any(|call| snapshot.calls_in_hand().all(|no| no != call.no));
    if free && snapshot.handling.is_none() {
        return (Wake::Call, now);
    }
    if let Some((at, called)) = answers.front().and_then(|answer| call_of(answer, now)) {
        answers.pop_front();
        for call in called.split("; ") {
            let (name, body) = call.split_once(' ').unwrap_or((call, "null"));
            let no = CALLS.with(|calls| calls.replace(calls.get() + 1));
            let body = Folded::read(body).unwrap();
            calls.push(Call { no, name: name.into(), body });
        }
        return (Wake::Call, at);
    }
    match &end.then {
        Then::Sleep { until } => (Wake::Timer, *until),
        Then::Retry { at, .. } => (Wake::Retry, *at),
        Then::Poll { at } => (Wake::Poll, *at),
        Then::Hold { until } => (Wake::Timer, *until),
        Then::Wait { until, .. } => match answers.pop_front().expect("an answer to the wait") {
            "timeout" => (Wake::Timer, *until),
            answer => {
                let came = answer.strip_prefix("callback").expect(answer).trim();
                let came: Value = serde_json::from_str(came).unwrap();
                callbacks.extend(came.as_object().unwrap().clone());
                (Wake::Callback, now)
            }
        },
        Then::End { .. } => (Wake::Start, now),
    }
}

thread_local! {
    /// The number of the next call from outside.
    static CALLS: std::cell::Cell<i64> = const { std::cell::Cell::new(1) };
}

/// Reads a call: its time and its text, if the words are one.
fn call_of(words: &str, now: Timestamp) -> Option<(Timestamp, &str)> {
    match words.strip_prefix('+').and_then(|rest| rest.split_once(' ')) {
        Some((took, rest)) => Some((later(now, parse_duration(took).unwrap()), rest.strip_prefix("call ")?)),
        None => Some((now, words.strip_prefix("call ")?)),
    }
}

/// A deployment with one secret.
#[derive(Debug)]
pub(super) struct One(pub String, pub String);

impl crate::value::Secrets for One {
    fn secret(&self, name: &str) -> Option<String> {
        (name == self.0).then(|| self.1.clone())
    }
}

/// Operations by their texts, which begin with their names.
pub(super) fn library(texts: &[&str]) -> Library {
    Library::of_files(texts.iter().map(|text| {
        let name = text.lines().next().and_then(|line| line.strip_prefix("scenario: ")).unwrap();
        LibraryEntry { name: name.to_owned(), version: None, file: None, text: (*text).to_owned() }
    }))
}

/// A deployment with the rules of all plays.
pub(super) fn settings(scripting: Scripting, bounds: Bounds) -> StageSettings {
    StageSettings {
        scripting,
        bounds,
        errors: errors(ERRORS),
        systems: Arc::default(),
        constants: Arc::new(json!({"base": "http://h"})),
        secret_constants: Arc::default(),
        secrets: Arc::new(crate::value::NoSecrets),
        callback_base: "http://engine".into(),
        vhost: "/".into(),
        call_timeout: Duration::from_secs(30),
        max_sync_duration: Duration::from_secs(5 * 60),
        max_acquisition_duration: Duration::from_secs(60 * 60),
        max_wait_sequential: Duration::from_secs(3600),
        max_wait_parallel: Duration::from_secs(8_035_200),
        max_retry_after: pagurus_domain::system::MAX_RETRY_AFTER,
    }
}
