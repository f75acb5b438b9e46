//! The keys of rules and policies, as the readers beside this file take them.

use super::MAX_NAME_CHARACTERS;
use crate::document::form::{Form, Key, KeyRule, Keys, filled_list, key, required};

/// The form of `execution.error_handling`.
pub const RULES_OF_DEPLOYMENT: Form = Form::Fields(&DEPLOYMENT);

/// The form of `errors` in a scenario.
pub const RULES_OF_SCENARIO: Form = Form::Fields(&OF_SCENARIO);

/// Steeper growth reaches any longest interval within a few attempts.
pub(super) const MAX_MULTIPLIER: f64 = 1000.0;

/// A name of 1 to [`MAX_NAME_CHARACTERS`] characters.
const NAME: &str = "^.{1,64}$";
const _: () = assert!(MAX_NAME_CHARACTERS == 64);

const SYNC_KEY: Key = key("sync", Form::Fields(&SYNC), "Failures of calls that are answered at once.");
#[rustfmt::skip]
const ASYNC_KEY: Key = key("async", Form::Fields(&ASYNC), "Answers that come later, and answers that do not come.");

#[rustfmt::skip]
pub(super) static DEPLOYMENT: Keys = Keys::new(&[
    SYNC_KEY,
    ASYNC_KEY,
    key("retry_duration_control", Form::Fields(&DURATION_CONTROL), "Which time counts against the longest durations."),
]);

static OF_SCENARIO: Keys = Keys::new(&[SYNC_KEY, ASYNC_KEY]);

pub(super) static DURATION_CONTROL: Keys = Keys::new(&[key(
    "mode",
    Form::Word(&["total", "run_and_suspending_durations"]),
    "`total`: all time; otherwise not the time between due and started.",
)]);

const MODE: Key = key("mode", Form::Word(&["retry", "none"]), "`none` turns retries off.");

pub(super) static SYNC: Keys = Keys::new(&[
    MODE,
    key("classification", Form::Fields(&CLASSIFICATION), "Rules that give failures their class."),
    key("retry", Form::Fields(&RETRY), "Policies by which failures of a class are retried."),
]);

#[rustfmt::skip]
pub(super) static ASYNC: Keys = Keys::new(&[
    MODE,
    key("classification", Form::Fields(&ASYNC_CLASSIFICATION), "Rules that give answers and time-outs their class."),
    key("retry", Form::Fields(&RETRY), "Policies by which failures of a class are retried."),
]);

const fn named(of: &'static Form) -> Form {
    Form::Map { names: NAME, of, least: 0 }
}

pub(super) static CLASSIFICATION: Keys = Keys::new(&[key(
    "rules",
    named(&Form::Fields(&RULE)),
    "The rules by their names; the one with the most specific request applies.",
)]);

pub(super) static ASYNC_CLASSIFICATION: Keys = Keys::new(&[key(
    "rules",
    named(&Form::Fields(&ASYNC_RULE)),
    "The rules by their names; the one with the most specific request applies.",
)]);

/// Classes stand first: they tell whether the masks of the requests may have `**`.
#[rustfmt::skip]
pub(super) static RULE: Keys = Keys::new(&[
    required("classes", named(&Form::Fields(&CLASS)), "The classes that it assigns, each with what falls into it."),
    required("requests", filled_list(&Form::Fields(&REQUEST)), "The requests to which it applies."),
]);

pub(super) static REQUEST: Keys = Keys::new(&[
    required("path", Form::Matching("^/"), "A mask: `*` for a segment, `**` for any."),
    key("host", Form::NotEmpty, "A mask of the host."),
    key("method", Form::NotEmpty, "The method."),
]);

pub(super) static CLASS: Keys = Keys::with_rules(
    &[
        key("responses", filled_list(&Form::Fields(&RESPONSE)), "Answers."),
        key("exceptions", filled_list(&Form::Fields(&EXCEPTION)), "Failures without an answer."),
    ],
    &[KeyRule::AtLeastOne],
);

/// Lists of substrings: one list must hold, and of it every substring.
const ALTERNATIVES: Form = filled_list(&filled_list(&Form::NotEmpty));

const FAULT_KEYWORDS: Key = key(
    "soap_fault_keywords",
    ALTERNATIVES,
    "Lists of texts: the SOAP fault contains every text of one list.",
);

pub(super) static RESPONSE: Keys = Keys::with_rules(
    &[
        key(
            "status_codes",
            filled_list(&STATUS),
            "Statuses, such as `503`, or `5xx` for all of a class; for SOAP faults, default: any.",
        ),
        key("body_keywords", ALTERNATIVES, "Lists of texts: the body contains every text of one list."),
        FAULT_KEYWORDS,
    ],
    &[KeyRule::AnyOf(&["status_codes", "soap_fault_keywords"])],
);

const STATUS: Form = Form::Either(&[
    Form::Whole { least: 200, most: 299 },
    Form::Whole { least: 400, most: 599 },
    Form::Matching("^[245]xx$"),
]);

#[rustfmt::skip]
pub(super) static EXCEPTION: Keys = Keys::with_rules(
    &[
        key("name_keyword", Form::Matching("^(?!ANY_HTTP_EXCEPTION$)."), "A part of the name; `Exception` for every failure."),
        key("message_keywords", ALTERNATIVES, "Lists of texts: the message contains every text of one list."),
    ],
    &[KeyRule::AtLeastOne],
);

#[rustfmt::skip]
pub(super) static ASYNC_RULE: Keys = Keys::new(&[
    required("requests", Form::Fields(&ASYNC_REQUESTS), "The requests to which it applies."),
    required("classes", named(&Form::Fields(&ASYNC_CLASS)), "The classes that it assigns, each with what falls into it."),
]);

pub(super) static ASYNC_REQUESTS: Keys = Keys::with_rules(
    &[
        key("http", filled_list(&Form::Fields(&REQUEST)), "Requests over HTTP."),
        key("amqp", filled_list(&Form::Fields(&MESSAGE)), "Messages."),
    ],
    &[KeyRule::AtLeastOne],
);

pub(super) static MESSAGE: Keys = Keys::new(&[required(
    "path",
    Form::NotEmpty,
    "A mask: `VHOST?exchange=NAME&key=KEY`, the host encoded: `%2F`.",
)]);

pub(super) static ASYNC_CLASS: Keys = Keys::with_rules(
    &[
        key("timeout", Form::Flag, "True: an answer that did not come in time."),
        key("responses", filled_list(&Form::Fields(&CALLBACK)), "Answers."),
    ],
    &[KeyRule::AtLeastOne],
);

#[rustfmt::skip]
pub(super) static CALLBACK: Keys = Keys::with_rules(
    &[
        key("step_status_keywords", filled_list(&Form::NotEmpty), "Texts, one of which the step status contains."),
        key("body_keywords", ALTERNATIVES, "Lists of texts: the body contains every text of one list."),
        FAULT_KEYWORDS,
    ],
    &[KeyRule::AtLeastOne],
);

#[rustfmt::skip]
pub(super) static RETRY: Keys = Keys::new(&[
    key("max_cycle_duration", Form::Duration, "Longest cycle of retries."),
    key("max_total_duration", Form::Duration, "Longest time of all cycles of retries of an order together."),
    key("policies", named(&Form::Fields(&POLICY)), "The policies by their names; the most specific one applies."),
]);

#[rustfmt::skip]
pub(super) static POLICY: Keys = Keys::new(&[
    required("error_classes", filled_list(&Form::NotEmpty), "Classes that it retries, with `*` for any letters."),
    key("scenarios", filled_list(&Form::Fields(&SCENARIO)), "Scenarios to which it applies; default: all."),
    key("parameters", Form::Fields(&PARAMETERS), "How often, and after which time."),
]);

pub(super) static SCENARIO: Keys =
    Keys::new(&[required("name", Form::NotEmpty, "The name, with `*` for any letters.")]);

#[rustfmt::skip]
pub(super) static PARAMETERS: Keys = Keys::new(&[
    key("initial_interval", Form::Duration, "Wait before the first retry; default: `5s`."),
    key("multiplier", Form::Number { least: 1.0, most: MAX_MULTIPLIER }, "Growth of the wait; default: 2."),
    key("max_interval", Form::Duration, "Longest wait; default: `10m`."),
    key("jitter", Form::Number { least: 0.0, most: 1.0 }, "Random variation of each wait, as a fraction; default: 0.2."),
    key("max_attempts", Form::Whole { least: 1, most: u32::MAX as u64 }, "Most retries in a cycle."),
    key("max_duration", Form::Duration, "Longest cycle of retries under this policy."),
]);
