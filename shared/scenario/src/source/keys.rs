//! The keys of a scenario as a whole, and the JSON Schema of its file for editors.

use pagurus_domain::document::form::{self, Form, Key, KeyRule, Keys, filled_list, key, required};
use pagurus_domain::retry;
use serde_json::Value;

use super::action::ACTION;
use super::calls::{CALLS, MASKED};
use super::search::ATTRIBUTES;
use super::state::STATES;
use crate::ScenarioKind;

#[rustfmt::skip]
const SCENARIO: Key = required("scenario", Form::Matching("^[A-Za-z0-9._-]{1,64}$"), "The name by which orders refer to it.");
#[rustfmt::skip]
const KIND: Key = key("kind", Form::Words(kinds), "`workflow`, states and events, or `operation`, a list of actions; default: `workflow`.");
const DESCRIPTION: Key = key("description", Form::Text, "Its purpose, for people.");
#[rustfmt::skip]
const PARAMS: Key = key("params", Form::Schema, "JSON Schema (2020-12) of the parameters; it refers to nothing outside itself.");
#[rustfmt::skip]
const RETENTION: Key = key("retention", Form::Duration, "How long an order is kept after its end; default: as configured.");
#[rustfmt::skip]
const OUTER_TIMEOUTS: Key = key("timeouts", Form::Fields(&TIMEOUTS), "Time-outs of the order, of its waits and of its stages.");
const OUTER_CALLS: Key = key("calls", CALLS, "Calls from outside that are answered in every state.");
#[rustfmt::skip]
const MASK: Key = key("mask", MASKED, "Paths whose values are shown to nobody: `[params.card.number, body.pin, headers.Authorization]`.");
#[rustfmt::skip]
const SEARCH: Key = key("search", ATTRIBUTES, "Attributes by which its orders are found: names for paths of parameters.");
#[rustfmt::skip]
const SEQUENTIAL: Key = key("sequential", Form::Text, "The queue of its orders, which run one at a time in it, like `${params.msisdn}`; default: the order sets its mode.");
#[rustfmt::skip]
const ERRORS: Key = key("errors", retry::RULES_OF_SCENARIO, "Rules and policies for its failures, in the shape of `execution.error_handling`.");

/// The keys of a workflow.
#[rustfmt::skip]
pub(super) static WORKFLOW: Keys = Keys::new(&[
    SCENARIO,
    KIND,
    DESCRIPTION,
    PARAMS,
    required("initialState", Form::Text, "The state in which an order starts."),
    key("targetStates", filled_list(&Form::Text), "The terminal states that count as target; default: as configured."),
    RETENTION,
    OUTER_TIMEOUTS,
    OUTER_CALLS,
    MASK,
    SEARCH,
    SEQUENTIAL,
    ERRORS,
    required("states", STATES, "The states by their names."),
]);

/// The keys of an operation, which has no states of its own to name.
pub(super) static OPERATION: Keys = Keys::new(&[
    SCENARIO,
    KIND,
    DESCRIPTION,
    PARAMS,
    RETENTION,
    OUTER_TIMEOUTS,
    OUTER_CALLS,
    MASK,
    SEARCH,
    SEQUENTIAL,
    ERRORS,
    required("actions", filled_list(&STEP), "What is done, from top to bottom."),
]);

/// Items of the list of an operation.
const STEP: Form = Form::Either(&[Form::Named(&ACTION), Form::Fields(&SAVEPOINT)]);

static SAVEPOINT: Keys = Keys::with_rules(
    &[key(
        "savepoint",
        Form::Matching("^(?!(start|done|failed)$)[A-Za-z][A-Za-z0-9_-]{0,47}$"),
        "A retry or a restart resumes after it.",
    )],
    &[KeyRule::ExactlyOne],
);

/// The keys of `timeouts`.
pub(super) static TIMEOUTS: Keys = Keys::new(&[
    key("process", Form::Duration, "The whole order from its registration."),
    key("idle", Form::Duration, "How long it may make no progress before the engine looks for the cause."),
    key("work", Form::Duration, "One stage without progress."),
]);

fn kinds() -> Vec<&'static str> {
    ScenarioKind::ALL.iter().map(|kind| kind.as_str()).collect()
}

/// The JSON Schema of scenario files, by which editors complete and check them. What holds between parts of a file,
/// such as names of states, and what is code, only [`super::read()`] tells.
#[must_use]
pub fn editor_schema() -> Value {
    let file = Form::ByWord { key: "kind", word: "operation", then: &OPERATION, otherwise: &WORKFLOW };
    form::editor_schema(
        "Scenario of Pagurus",
        "What an order does. `pagurus scenario check` reports all faults.",
        &file,
    )
}
