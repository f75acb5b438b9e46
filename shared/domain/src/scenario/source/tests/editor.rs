//! The JSON Schema for editors: it takes what the reader takes, and refuses what the reader refuses for its form. The
//! tables of good and bad examples of all other tests are held against it.

use std::sync::OnceLock;

use jsonschema::Validator;

use crate::document::{DocumentLimits, parse};
use crate::scenario::source::editor_schema;

/// Parts of faults of which no schema of a single file can know: they are about code, about names and places elsewhere in
/// the file, about what a value comes to, or about the text before it is a tree.
const BEYOND: &[&str] = &[
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
