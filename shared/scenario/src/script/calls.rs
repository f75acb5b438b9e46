//! Checks that the functions that code calls exist. Knows names and numbers of arguments,
//! never types: what a value is, only a run can tell. What may be right is never refused.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use rhai::{AST, ASTNode, Engine, Expr, FnCallExpr, Position, Stmt};

use super::faults::written;
use super::optional::Shifts;
use super::speech::{SAID, speaking_engine};
use super::{CompileError, Limits};
use crate::nearest::nearest;

/// Kind of code: a script says things, an expression has a value and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CodeKind {
    /// The code of a `script` action.
    Script,
    /// The inside of a `${…}`.
    Expression,
}

/// Numbers of arguments that functions take, by name; a receiver counts as the first.
type Takes = BTreeMap<String, BTreeSet<usize>>;

/// Functions that the language itself knows, with the least and the largest number of arguments.
const KEYWORDS: &[(&str, usize, usize)] = &[
    ("Fn", 1, 1),
    ("call", 1, usize::MAX),
    ("curry", 1, usize::MAX),
    ("is_def_fn", 2, 3),
    ("is_def_var", 1, 1),
    ("is_shared", 1, 1),
    ("type_of", 1, 1),
];

/// A function of the language that nothing may call.
const SLEEP: &str = "sleep";

/// The longest name that is shown in full.
const LONGEST_NAME: usize = 64;

/// True if there is a function for every call.
///
/// # Errors
/// The calls that no function answers to, each with its place, in the order of the code.
pub(super) fn check(ast: &AST, place: CodeKind, shifts: &Shifts) -> Result<(), Vec<CompileError>> {
    let found = ScriptCalls::of(ast);
    let wrong = found.calls.iter().filter(|call| !found.answered(call, place));
    let mut faults: Vec<CompileError> = wrong.map(|call| found.fault(call, place, shifts)).collect();
    // A block that several cases of a `switch` share is walked once for each.
    faults.sort_by_key(|fault| (fault.line, fault.column));
    faults.dedup();
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// A call as it stands in the code.
struct ScriptCall {
    name: String,
    /// Number of arguments without the receiver.
    arguments: usize,
    /// Called on a value: `x.name(…)`.
    on_value: bool,
    at: Position,
}

/// Functions that the code calls, and names that it gives.
#[derive(Default)]
struct ScriptCalls {
    calls: Vec<ScriptCall>,
    /// Functions that the code defines; a receiver does not count.
    own: Takes,
    /// Keys under which a map may hold a function.
    keys: BTreeSet<String>,
    variables: BTreeSet<String>,
}

impl ScriptCalls {
    fn of(ast: &AST) -> Self {
        let mut found = Self::default();
        for function in ast.iter_functions() {
            found.own.entry(function.name.to_owned()).or_default().insert(function.params.len());
        }
        ast.walk(&mut |path: &[ASTNode<'_>]| {
            match path.last() {
                Some(ASTNode::Stmt(Stmt::FnCall(call, at)) | ASTNode::Expr(Expr::FnCall(call, at))) => {
                    found.call(call, false, *at);
                }
                Some(ASTNode::Expr(Expr::MethodCall(call, at))) => found.call(call, true, *at),
                Some(ASTNode::Expr(Expr::Map(map, _))) => {
                    found.keys.extend(map.0.iter().map(|(key, _)| key.name.to_string()));
                }
                Some(ASTNode::Expr(Expr::Property(property, _))) => {
                    found.keys.insert(property.2.to_string());
                }
                Some(ASTNode::Expr(Expr::StringConstant(text, _))) => {
                    found.keys.insert(text.to_string());
                }
                Some(ASTNode::Stmt(Stmt::Var(variable, ..))) => {
                    found.variables.insert(variable.0.name.to_string());
                }
                _ => {}
            }
            true
        });
        found
    }

    fn call(&mut self, call: &FnCallExpr, on_value: bool, at: Position) {
        if call.op_token.is_none() {
            self.calls.push(ScriptCall {
                name: call.name.to_string(),
                arguments: call.args.len(),
                on_value,
                at,
            });
        }
    }

    fn answered(&self, call: &ScriptCall, place: CodeKind) -> bool {
        let count = call.arguments + usize::from(call.on_value);
        KEYWORDS.iter().any(|(name, least, most)| *name == call.name && (*least..=*most).contains(&count))
            || takes(&self.own, &call.name, call.arguments)
            || takes(known(place), &call.name, count)
            || (call.on_value && self.keys.contains(&call.name))
    }

    fn fault(&self, call: &ScriptCall, place: CodeKind, shifts: &Shifts) -> CompileError {
        let (message, hint) = match self.counts(call, place) {
            counts if counts.is_empty() => {
                (format!("there is no function `{}`", shortened(&call.name)), Some(self.hint(call, place)))
            }
            counts => (
                format!("`{}` takes {}, not {}", call.name, in_words(&counts), call.arguments),
                self.elsewhere(call, place).or_else(|| forms(&call.name)),
            ),
        };
        let pagurus_domain::document::Position { line, column } = written(call.at, shifts);
        CompileError { message, hint, line, column }
    }

    /// Numbers of arguments that a call by this name and in this form may have.
    fn counts(&self, call: &ScriptCall, place: CodeKind) -> BTreeSet<usize> {
        let receiver = usize::from(call.on_value);
        let native = known(place).get(&call.name).into_iter().flatten();
        let mut counts: BTreeSet<usize> = native.filter_map(|count| count.checked_sub(receiver)).collect();
        counts.extend(self.own.get(&call.name).into_iter().flatten());
        let keyword = KEYWORDS.iter().find(|(name, ..)| *name == call.name);
        counts.extend(keyword.and_then(|(_, least, _)| least.checked_sub(receiver)));
        counts
    }

    fn hint(&self, call: &ScriptCall, place: CodeKind) -> String {
        if call.name == SLEEP {
            return "write the action `sleep`: a script holds its worker while it runs".to_owned();
        }
        if let Some(hint) = self.elsewhere(call, place) {
            return hint;
        }
        if !call.on_value && self.variables.contains(&call.name) {
            return format!("a function in a variable is called by `{}.call(…)`", shortened(&call.name));
        }
        let count = call.arguments + usize::from(call.on_value);
        let fitting = known(place).iter().filter(|(_, counts)| counts.contains(&count));
        let fitting = fitting.map(|(name, _)| name.as_str()).filter(|name| is_name(name));
        let own = self.own.keys().map(String::as_str).filter(|name| is_name(name));
        let said = SAID.iter().copied().filter(|_| place == CodeKind::Script);
        let near = nearest(&call.name, own.chain(said).chain(fitting)).filter(|near| *near != call.name);
        match (near, place) {
            (Some(name), _) => format!("did you mean `{name}`?"),
            (None, CodeKind::Script) => {
                format!("there are {}, those of the language, and your own", SAID.join(", "))
            }
            (None, CodeKind::Expression) => {
                "there are those of the language; for more, write a `script` before".to_owned()
            }
        }
    }

    /// Fault of a call that only a script may make, where this is none.
    fn elsewhere(&self, call: &ScriptCall, place: CodeKind) -> Option<String> {
        let count = call.arguments + usize::from(call.on_value);
        (place == CodeKind::Expression && takes(&SCRIPTS, &call.name, count))
            .then(|| "a `script` says this; an expression only has a value".to_owned())
    }
}

/// The forms of what a script says in more than one.
fn forms(name: &str) -> Option<String> {
    (name == "fail").then(|| "write `fail()`, `fail(MESSAGE)` or `fail(MESSAGE, CLASS)`".to_owned())
}

fn takes(functions: &Takes, name: &str, count: usize) -> bool {
    functions.get(name).is_some_and(|counts| counts.contains(&count))
}

/// The functions that are there without being defined. Bounds do not matter to their names.
fn known(place: CodeKind) -> &'static Takes {
    match place {
        CodeKind::Script => &SCRIPTS,
        CodeKind::Expression => &EXPRESSIONS,
    }
}

static SCRIPTS: LazyLock<Takes> =
    LazyLock::new(|| registered(&speaking_engine(&Limits::default(), &Arc::default())));
static EXPRESSIONS: LazyLock<Takes> = LazyLock::new(|| registered(&Limits::default().engine()));

fn registered(engine: &Engine) -> Takes {
    let mut functions = Takes::new();
    let all = engine.collect_fn_metadata(
        None,
        |of| Some((of.metadata.name.to_string(), of.metadata.num_params)),
        true,
    );
    for (name, count) in all.into_iter().filter(|(name, _)| name != SLEEP) {
        functions.entry(name).or_default().insert(count);
    }
    functions
}

/// True if it is no operator, no getter of a property, and no function without a name.
fn is_name(name: &str) -> bool {
    name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

fn shortened(name: &str) -> String {
    name.chars().take(LONGEST_NAME).collect()
}

/// `0, 1 or 2 arguments`.
fn in_words(counts: &BTreeSet<usize>) -> String {
    let words: Vec<String> = counts.iter().map(usize::to_string).collect();
    let noun = if counts.iter().eq([&1]) { "argument" } else { "arguments" };
    match words.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} or {last} {noun}", before.join(", ")),
        _ => format!("{} {noun}", words.join("")),
    }
}

#[cfg(test)]
mod tests;
