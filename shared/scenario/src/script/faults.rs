//! Faults of code in the words of this language: what does not compile, and what fails while it runs.

use pagurus_domain::classes::{SCRIPT_ERROR, SCRIPT_LIMIT};
use pagurus_domain::document::Position;
use rhai::{EvalAltResult, ParseErrorType};

use super::bounds::TimeOver;
use super::optional::Shifts;
use super::speech::SAID;
use super::{CompileError, ROOTS, RunError};
use crate::nearest::nearest;

/// The longest message of a failed run, in bytes.
const LONGEST_MESSAGE: usize = 500;

/// The place of the engine as one in the code as it was written.
pub(super) fn written(at: rhai::Position, shifts: &Shifts) -> Position {
    let (line, column) = (at.line().unwrap_or(1), at.position().unwrap_or(1));
    let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    Position { line: number(line), column: number(shifts.written(line, column)) }
}

/// The fault of code that does not compile.
pub(super) fn compile_error(
    why: &ParseErrorType,
    at: rhai::Position,
    shifts: &Shifts,
    code: &str,
) -> CompileError {
    let Position { line, column } = written(at, shifts);
    let hint = match why {
        ParseErrorType::VariableUndefined(name) => remedy(name, code),
        ParseErrorType::Reserved(word) => Some(format!(
            "the script language keeps `{word}` for itself: read a part of this name by `[\"{word}\"]` instead of `.{word}`; call a \
             variable something else"
        )),
        _ => None,
    };
    CompileError { message: why.to_string(), hint, line, column }
}

/// The remedy for a name that means nothing: the nearest of what may be named, of what the code declares itself, and of
/// what a script may say; where none is near, what can be read everywhere.
pub(crate) fn remedy(name: &str, code: &str) -> Option<String> {
    if name == "secret" {
        return Some(
            "secrets cannot stand in scripts: write `${secret.NAME}` in what an `http` or `amqp` action sends".to_owned(),
        );
    }
    let words: Vec<&str> = code.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
    let declared =
        words.windows(2).filter(|pair| ["let", "const", "for"].contains(&pair[0])).map(|pair| pair[1]);
    let known = ROOTS.iter().chain(SAID).copied().chain(declared);
    Some(nearest(name, known).map_or_else(
        || format!("there are: {}, and what the script declares by `let`", ROOTS.join(", ")),
        |near| format!("did you mean `{near}`?"),
    ))
}

/// The error without the calls that it passed through.
pub(super) fn innermost(error: &EvalAltResult) -> &EvalAltResult {
    match error {
        EvalAltResult::ErrorInFunctionCall(_, _, inner, _) => innermost(inner),
        other => other,
    }
}

/// The fault of a run, with its place in the code as it was written.
pub(super) fn run_error(error: EvalAltResult, shifts: &Shifts) -> (RunError, Position) {
    let mut error = error;
    while let EvalAltResult::ErrorInFunctionCall(_, _, inner, _) = error {
        error = *inner;
    }
    let at = written(error.take_position(), shifts);
    let is_late = matches!(&error, EvalAltResult::ErrorTerminated(token, _) if token.is::<TimeOver>());
    let over = is_late
        || matches!(
            &error,
            EvalAltResult::ErrorTooManyOperations(_)
                | EvalAltResult::ErrorTooManyVariables(_)
                | EvalAltResult::ErrorStackOverflow(_)
                | EvalAltResult::ErrorDataTooLarge(_, _)
        );
    let mut message = match &error {
        _ if is_late => "it ran for longer than `scenario.script.max_duration`".to_owned(),
        EvalAltResult::ErrorPropertyNotFound(name, _) => {
            format!(
                "there is no field `{name}`; `value?.{name}` and `get(value, path, default)` read what may be missing"
            )
        }
        EvalAltResult::ErrorVariableNotFound(name, _) => format!("nothing is called `{name}` here"),
        EvalAltResult::ErrorDotExpr(text, _) => in_own_words(text).unwrap_or_else(|| text.clone()),
        other => other.to_string(),
    };
    message.truncate(message.floor_char_boundary(LONGEST_MESSAGE));
    (RunError { class: if over { SCRIPT_LIMIT } else { SCRIPT_ERROR }, message, at: None }, at)
}

/// Rewrites the fault of a field of what is no map: the engine says that a getter is not registered for its type.
fn in_own_words(text: &str) -> Option<String> {
    let mut quoted = text.strip_prefix("Unknown property ")?.split('\'').skip(1).step_by(2);
    let (field, kind) = (quoted.next()?, quoted.next()?);
    let kind = match kind {
        "string" => "a text",
        "array" => "a list",
        "i64" | "f64" => "a number",
        "bool" => "a truth value",
        "()" => "nothing (`()`)",
        other => return Some(format!("a value of type `{other}` has no field `{field}`")),
    };
    Some(format!("{kind} has no field `{field}`"))
}
