//! The JSON Schema for editors: it takes what the reader takes, and refuses what the reader refuses for its form. The
//! tables of good and bad examples of all other tests are held against it.

use std::sync::OnceLock;

use jsonschema::Validator;
use pagurus_domain::document::{DocumentLimits, parse};

use crate::source::editor_schema;

/// Parts of faults of which no schema of a single file can know: they are about code, about names and places elsewhere in
/// the file, about what a value comes to, or about the text before it is a tree.
const BEYOND: &[&str] = &[
    // Code.
    "Undefined variable",
    "nothing is called",
    "there is no function",
    "Script is incomplete",
    "Unexpected",
    " argument",
    "without its `}`",
    "a script inside",
    "`poll()`",
    "is an event of the engine",
    "is not a name for an event",
    "is known only at run time",
    "a call cannot raise events",
    "a secret",
    "whatever the expression yields",
    "`${request.…}` has no value here",
    // Other parts of the file.
    "there is no state",
    "the initial state",
    "the target state",
    "there is no terminal state",
    "30 are allowed",
    "there is no event",
    "cannot arise",
    "has no transition",
    "must not lead to",
    "leads to a sleeping state",
    "cannot be reached",
    "never polls again",
    "cannot raise events",
    "may suspend between its actions",
    "makes only calls that are answered at once",
    "must not suspend the order",
    "no requests that could be sent again",
    "nothing to wait for",
    "is registered twice",
    "registers one request for each element",
    "is awaited by a `wait` behind it",
    "equally specific",
    "is given twice",
    "set the same header",
    "the name `a`",
    "never runs",
    "never taken",
    "nothing to choose",
    // What a value comes to.
    "is too long for",
    "is not a time with an offset",
    "is not an HTTP status",
    "a URL may not contain a user",
    "a URL may not contain spaces",
    "a certificate can be presented only over TLS",
    "contains a line break",
    // The schema of the parameters.
    "points outside the schema",
    "is not a type of JSON Schema",
    "the dialect",
    "in the schema",
    "the schema ",
    // The queue of a scenario.
    "uses more than parameters",
    "are visible to everybody",
    // The text before it is a tree.
    "is read as a number",
];

/// True if the reader tells something here of which the schema cannot know.
pub(super) fn may_take(fault: &str) -> bool {
    BEYOND.iter().any(|part| fault.contains(part))
}

/// True if the schema takes the text, or if there is nothing for it: the text is no tree.
pub(super) fn takes(text: &str) -> bool {
    static SCHEMA: OnceLock<Validator> = OnceLock::new();
    let schema = SCHEMA.get_or_init(|| jsonschema::draft7::new(&editor_schema()).unwrap());
    parse(text, &DocumentLimits::default()).is_ok_and(|tree| schema.is_valid(&tree.to_json()))
}
