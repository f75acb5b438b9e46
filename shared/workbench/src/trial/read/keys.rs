//! The keys of a file of tests, and its JSON Schema for editors.

use pagurus_domain::document::form::{self, Form, KeyRule, Keys, key, list, required};
use pagurus_domain::retry;
use pagurus_scenario::Method;
use serde_json::Value;

use super::MAX_TRIALS;

/// The names of ERR-3, each with the names around it.
pub(super) const FAILURES: &[(&str, &[&str])] = &[
    ("HttpError", &["HttpError"]),
    ("ConnectError", &["HttpError", "ConnectError"]),
    ("ConnectionRefused", &["HttpError", "ConnectError", "ConnectionRefused"]),
    ("ConnectTimeout", &["HttpError", "ConnectError", "ConnectTimeout"]),
    ("DnsError", &["HttpError", "ConnectError", "DnsError"]),
    ("TlsError", &["HttpError", "ConnectError", "TlsError"]),
    ("ReadTimeout", &["HttpError", "ReadTimeout"]),
    ("NoRoom", &["HttpError", "ReadTimeout", "NoRoom"]),
    ("ConnectionReset", &["HttpError", "ConnectionReset"]),
    ("ConnectionClosed", &["HttpError", "ConnectionClosed"]),
    ("BodyError", &["HttpError", "BodyError"]),
    ("ProtocolError", &["HttpError", "ProtocolError"]),
];

#[rustfmt::skip]
pub(super) static FILE: Keys = Keys::new(&[
    key("scenario", Form::AsWritten, "The file of the scenario, relative to this one."),
    required("tests", Form::List { of: &Form::Fields(&TRIAL), least: 0, most: Some(MAX_TRIALS) }, "The tests, each an order of its own."),
]);

#[rustfmt::skip]
pub(super) static TRIAL: Keys = Keys::new(&[
    required("test", Form::AsWritten, "What the test shows."),
    key("order", Form::Fields(&ORDER), "What the order says besides its parameters."),
    key("params", MAPPING, "The parameters of the order."),
    key("config", MAPPING, "What `${config.NAME}` reads."),
    key("secrets", TEXTS, "What `${secret.NAME}` reads."),
    key("now", Form::Matching(r"^\d{4}-\d\d-\d\d"), "When the test begins; default: `2026-03-01T10:00:00Z`."),
    key("answers", list(&Form::Fields(&ANSWER)), "What requests are answered: the first line that fits counts."),
    key("calls", list(&Form::Fields(&CALL)), "Calls from outside."),
    key("errors", retry::RULES_OF_DEPLOYMENT, "Rules and policies in place of those of the deployment."),
    required("expect", Form::Fields(&EXPECT), "The expected outcome."),
]);

pub(super) static ORDER: Keys = Keys::new(&[
    key("id", Form::AsWritten, "The id; default: `order-1`."),
    key("transactionId", Form::AsWritten, "The transaction."),
    key("labels", TEXTS, "The labels."),
    key("queue", Form::AsWritten, "The queue; makes the order sequential."),
]);

pub(super) static CALL: Keys = Keys::new(&[
    required("after", DURATION, "Virtual time since the registration."),
    required("name", Form::AsWritten, "The name of the call."),
    key("body", Form::Anything, "What the caller says."),
]);

/// Line of the table of answers.
#[rustfmt::skip]
pub(super) static ANSWER: Keys = Keys::with_rules(
    &[
        key("http", Form::Either(&[Form::Matching("."), Form::Fields(&HTTP)]), "Calls that it answers: `URL`, `METHOD URL`, or a mapping; `*` stands for any letters."),
        key("amqp", Form::Fields(&AMQP), "Messages that it takes."),
        key("actor", Form::Either(&[Form::AsWritten, Form::Fields(&ACTOR)]), "The actor whose tasks it decides."),
        key("order", Form::Either(&[Form::AsWritten, Form::Fields(&CHILD)]), "The scenario of the child orders that it ends."),
        key("status", Form::Either(&[Form::Whole { least: 100, most: 599 }, Form::Word(ENDS)]), "The HTTP status, left out 200; of a child order, how it ends."),
        key("headers", TEXTS, "Header fields of the answer."),
        key("body", Form::Anything, "The body of the answer."),
        key("fails", Form::Words(failures), "How the request fails without an answer."),
        key("decision", Form::Word(&["success", "fail", "none"]), "What the actor decides; default: `success`."),
        key("result", Form::Anything, "What the actor or the child order brings back."),
        key("error", Form::Anything, "Why the actor or the child order failed."),
        key("message", Form::AsWritten, "What the child order says of its end."),
        key("step", Form::AsWritten, "The step in which the child order ends."),
        key("after", DURATION, "Virtual time until the answer."),
        key("times", Form::Whole { least: 1, most: 1_000_000 }, "How often the line is used; default: any number of times."),
        key("callback", Form::Either(&[Form::Word(&["none"]), Form::Fields(&CALLBACK)]), "The answer that comes later, to the request that the call registered."),
    ],
    &[KeyRule::OneOf(&[&["http"], &["amqp"], &["actor"], &["order"]])],
);

/// Ends of a child order.
const ENDS: &[&str] = &["success", "fail", "interrupted", "canceled", "none"];

pub(super) static HTTP: Keys = Keys::new(&[
    key("method", Form::Words(methods), "The method; default: any."),
    required("url", Form::AsWritten, "The URL, with `*` for any letters."),
    key("body", Form::Anything, "What the body must hold."),
]);

pub(super) static AMQP: Keys = Keys::new(&[
    key("exchange", Form::AsWritten, "The exchange, with `*` for any letters."),
    key("key", Form::AsWritten, "The routing key, with `*` for any letters."),
    key("body", Form::Anything, "What the body must hold."),
]);

pub(super) static ACTOR: Keys = Keys::new(&[
    required("name", Form::AsWritten, "The name, with `*` for any letters."),
    key("body", Form::Anything, "What the task must hold."),
]);

pub(super) static CHILD: Keys = Keys::new(&[
    required("scenario", Form::AsWritten, "The scenario, with `*` for any letters."),
    key("params", Form::Anything, "What the parameters must hold."),
]);

pub(super) static ERROR: Keys = Keys::new(&[
    key("class", Form::AsWritten, "The class."),
    key("message", Form::AsWritten, "The message."),
]);

pub(super) static CALLBACK: Keys = Keys::new(&[
    key("after", DURATION, "Virtual time since the call."),
    key("body", Form::Anything, "The body."),
    key("headers", Form::Anything, "Header fields."),
    key("stepStatus", Form::AsWritten, "How it went, as the header `step-status` says it."),
]);

#[rustfmt::skip]
pub(super) static EXPECT: Keys = Keys::with_rules(
    &[
        key("status", Form::Word(&["success", "fail"]), "The status in which the order ends."),
        key("scenarioStatus", Form::Word(&["target", "failed"]), "Whether that is a target state."),
        key("step", Form::AsWritten, "The last step."),
        key("result", Form::Anything, "What the result holds."),
        key("message", Form::AsWritten, "A part of the message."),
        key("error", Form::AsWritten, "The class of the error."),
        key("vars", Form::Anything, "What the variables hold."),
        key("log", list(&Form::AsWritten), "Parts of lines of the log, in this order."),
        key("path", list(&Form::AsWritten), "The states that were gone through."),
        key("requests", list(&Form::Either(&[Form::Text, Form::Fields(&REQUEST)])), "The requests, in this order."),
        key("duration", DURATION, "Virtual time from the registration to the end."),
        key("answers", list(&Form::Fields(&ANSWERED)), "What the callers of calls get, in this order."),
    ],
    &[KeyRule::AtLeastOne],
);

pub(super) static REQUEST: Keys = Keys::new(&[
    required("request", Form::AsWritten, "The line: `POST http://billing/payments`."),
    key("headers", TEXTS, "Header fields that it must have."),
    key("body", Form::Anything, "What its body must hold."),
]);

pub(super) static ANSWERED: Keys = Keys::with_rules(
    &[
        key("answer", Form::Anything, "What the caller gets."),
        key("error", Form::AsWritten, "The class of the failure that the caller gets."),
    ],
    &[KeyRule::OneOf(&[&["answer"], &["error"]])],
);

/// Form of a duration that may be zero.
const DURATION: Form = Form::DurationOrZero;
const MAPPING: Form = Form::Map { names: "", of: &Form::Anything, least: 0 };
const TEXTS: Form = Form::Map { names: "", of: &Form::AsWritten, least: 0 };

fn failures() -> Vec<&'static str> {
    FAILURES.iter().map(|(name, _)| *name).chain(["unroutable", "refused"]).collect()
}

fn methods() -> Vec<&'static str> {
    Method::ALL.iter().map(|method| method.as_str()).collect()
}

/// The JSON Schema of files of tests, by which editors complete and check them. What belongs to the scenario, such as
/// the names of its states, only a run tells.
#[must_use]
pub fn editor_schema() -> Value {
    let description =
        "Orders that are run in virtual time against a table of answers. `pagurus scenario test` runs them.";
    form::editor_schema("Tests of a scenario of Pagurus", description, &Form::Fields(&FILE))
}
