//! Operations as actions (SCN-19), as the interpreter carries them out: laid out flat between an entry and an exit. Data
//! only.

use std::sync::Arc;

use jsonschema::Validator;
use pagurus_domain::retry::ErrorPolicy;
use serde_json::Value;

use super::schema::Expansion;
use super::value::Template;

/// Longest chain of operations that run one inside the other.
pub const MOST_NESTED: usize = 3;

/// Mark between the names of operations that run one inside the other, and of their requests: no scenario and no request
/// can have it in its name.
pub const INSIDE: char = '/';

/// An operation that a scenario runs.
#[derive(Debug)]
pub struct CalledOperation {
    /// The name.
    pub name: String,
    /// The stored version; `None` for a file.
    pub version: Option<i32>,
    /// The file it was read from, where there was one.
    pub file: Option<String>,
    /// Purpose of the operation, in the author's words.
    pub description: String,
    /// Schema of its parameters, with what holds them against it.
    pub params: Option<ParamsSchema>,
    /// Rules and policies that it brings along, asked before those of the scenario that runs it.
    pub errors: ErrorPolicy,
}

/// Schema of parameters.
#[derive(Debug)]
pub struct ParamsSchema {
    /// The schema, as written.
    pub schema: Value,
    /// The compiled schema.
    pub validator: Validator,
    /// Work that the schema takes.
    pub expansion: Option<Expansion>,
}

/// Entry of an operation: opens a name space of its own.
#[derive(Debug)]
pub struct EnterAction {
    /// The operation.
    pub operation: Arc<CalledOperation>,
    /// Names of the operations around it and its own, with [`INSIDE`] between and behind them: its requests begin so.
    pub prefix: String,
    /// Parameters, evaluated among the names of who runs it.
    pub params: Option<Template>,
    /// Index of its exit.
    pub exit: usize,
}

/// Exit of an operation: closes its name space.
#[derive(Debug)]
pub struct ExitAction {
    /// Index of its entry.
    pub entry: usize,
    /// Variables to set, among the names of who ran it, and with `result`.
    pub save: Vec<(String, Template)>,
}

impl EnterAction {
    /// The names of the operations around it and its own: `outer/inner`.
    #[must_use]
    pub fn path(&self) -> &str {
        self.prefix.trim_end_matches(INSIDE)
    }
}
