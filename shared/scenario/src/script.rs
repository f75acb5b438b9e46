//! The sandbox of the script language (Rhai): compiling, bounds, and what a script may say.
//!
//! No script reads a clock, loads a module, evaluates text as code or runs without end: each bound
//! is set before anything is compiled, and running over it is an error of class `script.limit`.
//! Every script run has an engine of its own, because what the script says (`result(…)`, `log(…)`)
//! must reach that run alone; expressions say nothing and share one engine.

mod bounds;
mod calls;
mod clock;
mod convert;
mod events;
mod faults;
mod holding;
mod names;
mod native;
mod optional;
mod speech;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use pagurus_domain::classes::SCRIPT_ERROR;
use pagurus_domain::document::Position;
use rhai::{AST, Dynamic, Engine, EvalAltResult, Scope};
use serde_json::Value;

use super::context::{Context, Root};
use super::places::Places;
use bounds::Size;
pub use bounds::{Limits, MOST_OPERATIONS, STACK_BYTES};
use calls::CodeKind;
pub use clock::Clock;
use convert::{ExactNumbers, from_dynamic, to_dynamic};
pub(super) use events::{EventCall, RAISE};
pub(super) use faults::remedy;
use faults::{compile_error, innermost, run_error};
pub(super) use names::ScriptNames;
use optional::{Shifts, with_calls};
pub use speech::{Raised, Said};
use speech::{Token, speaking_engine};

/// Names that scripts and expressions may use. `vars` may be changed, all else is a copy.
pub const ROOTS: &[&str] = &[
    "params",
    "vars",
    "response",
    "responses",
    "error",
    "callbacks",
    "order",
    "config",
    "now",
    "request",
    "event",
];

/// Code that does not compile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CompileError {
    /// Description of the fault.
    pub message: String,
    /// Remedy, where one is known.
    pub hint: Option<String>,
    /// Line inside the code, from 1.
    pub line: u32,
    /// Column inside the line, from 1.
    pub column: u32,
}

/// Code that failed while it ran.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{class}: {message}")]
pub struct RunError {
    /// [`SCRIPT_LIMIT`](pagurus_domain::classes::SCRIPT_LIMIT) or [`SCRIPT_ERROR`].
    pub class: &'static str,
    /// Description of the failure.
    pub message: String,
    /// Place in the file of the scenario, if known.
    pub at: Option<Position>,
}

impl RunError {
    /// An error of class `script.error`.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { class: SCRIPT_ERROR, message: message.into(), at: None }
    }
}

/// A compiled script.
#[derive(Debug)]
pub struct Script {
    ast: AST,
    roots: BTreeSet<&'static str>,
    locals: Vec<String>,
    shifts: Shifts,
    /// Places of the code in the file of the scenario.
    places: Places,
}

/// A compiled `${…}`.
#[derive(Debug)]
pub struct Code {
    ast: AST,
    roots: BTreeSet<&'static str>,
    locals: Vec<String>,
    shifts: Shifts,
}

impl Script {
    /// The same, with the places of its code in the file.
    #[must_use]
    pub(super) fn placed(self, places: Places) -> Self {
        Self { places, ..self }
    }

    /// The calls by which it raises events of the scenario's own.
    pub(super) fn event_calls(&self) -> Vec<EventCall> {
        events::calls_in(&self.ast, &self.shifts)
    }

    /// The values of the order that it names.
    pub(super) fn names(&self) -> ScriptNames {
        ScriptNames::of(&self.ast)
    }

    /// True if a word of it is the name of this root.
    pub(super) fn may_name(&self, root: &str) -> bool {
        self.roots.contains(root)
    }
}

impl Code {
    /// The values of the order that it names.
    pub(super) fn names(&self) -> ScriptNames {
        ScriptNames::of(&self.ast)
    }

    /// True if a word of it is the name of this root.
    pub(super) fn may_name(&self, root: &str) -> bool {
        self.roots.contains(root)
    }
}

/// Compiles and runs code under one set of bounds. Made once for each process.
pub struct Scripting {
    limits: Limits,
    /// Runs expressions; nothing that is registered in it says anything.
    engine: Engine,
    /// True if code that calls functions which do not exist is refused.
    checks_calls: bool,
}

impl std::fmt::Debug for Scripting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scripting").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl Scripting {
    /// A sandbox with these bounds.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        let engine = limits.engine();
        Self { limits, engine, checks_calls: true }
    }

    /// A sandbox for code that was let in before: an order stays on its version, also when a later
    /// engine, or one with narrower bounds, would not take that any more. What cannot be run fails when it
    /// is run: by then it is in a sandbox with bounds.
    #[must_use]
    pub fn of_stored() -> Self {
        let as_written =
            Limits { max_string_bytes: usize::MAX, max_elements: usize::MAX, ..Limits::default() };
        Self { checks_calls: false, ..Self::new(as_written) }
    }

    /// True if it reads what was let in before, without the checks that came later.
    #[must_use]
    pub const fn is_of_stored(&self) -> bool {
        !self.checks_calls
    }

    /// Compiles the code of a `script` action.
    ///
    /// # Errors
    /// Names what is wrong and where inside the code: the first fault of form, or else every call
    /// that no function answers to.
    pub fn compile_script(&self, code: &str) -> Result<Script, Vec<CompileError>> {
        self.compile_script_with(code, &[])
    }

    /// The same, for code that knows these names, too: of the element that it runs for.
    ///
    /// # Errors
    /// The same as those of [`Scripting::compile_script`].
    pub fn compile_script_with(&self, code: &str, locals: &[String]) -> Result<Script, Vec<CompileError>> {
        let engine = speaking_engine(&self.limits, &Arc::default());
        let (compiled, shifts) = with_calls(code);
        let ast = engine
            .compile_with_scope(&names_only(locals), &*compiled)
            .map_err(|error| vec![compile_error(&error.0, error.1, &shifts, code)])?;
        if self.checks_calls {
            calls::check(&ast, CodeKind::Script, &shifts)?;
        }
        let (roots, locals) = (roots_named_in(code), locals.to_vec());
        Ok(Script { ast, roots, locals, shifts, places: Places::default() })
    }

    /// Compiles the inside of one `${…}`: an expression, no statements.
    ///
    /// # Errors
    /// The same as those of [`Scripting::compile_script`].
    pub fn compile_expression(&self, code: &str) -> Result<Code, Vec<CompileError>> {
        self.compile_expression_with(code, &[])
    }

    /// The same, for code that knows these names, too.
    ///
    /// # Errors
    /// The same as those of [`Scripting::compile_script`].
    pub fn compile_expression_with(&self, code: &str, locals: &[String]) -> Result<Code, Vec<CompileError>> {
        let (compiled, shifts) = with_calls(code);
        let ast = self
            .engine
            .compile_expression_with_scope(&names_only(locals), &*compiled)
            .map_err(|error| vec![compile_error(&error.0, error.1, &shifts, code)])?;
        if self.checks_calls {
            calls::check(&ast, CodeKind::Expression, &shifts)?;
        }
        Ok(Code { ast, roots: roots_named_in(code), locals: locals.to_vec(), shifts })
    }

    /// The value of an expression.
    ///
    /// # Errors
    /// The class tells a bound that was run over from any other error; with it the place inside the code.
    pub fn evaluate(&self, code: &Code, context: &Context) -> Result<Value, (RunError, Position)> {
        let (mut scope, size) = scope_of(&code.roots, &code.locals, context);
        let wider = self.limits.wider(size).map(|limits| limits.engine());
        self.limits.begin(size);
        let value = wider
            .as_ref()
            .unwrap_or(&self.engine)
            .eval_ast_with_scope::<Dynamic>(&mut scope, &code.ast)
            .map_err(|error| run_error(*error, &code.shifts))?;
        from_dynamic(&value).map_err(|error| (error, Position { line: 1, column: 1 }))
    }

    /// Runs a script; `vars` of the context are what the script made of them, also when it ended by
    /// raising an event, but not when it failed.
    ///
    /// # Errors
    /// The class tells a bound that was run over from any other error.
    pub fn run(&self, script: &Script, context: &mut Context) -> Result<Said, RunError> {
        let said = Arc::new(Mutex::new(Said::default()));
        let (mut scope, size) = scope_of(&script.roots, &script.locals, context);
        let mut exact = ExactNumbers::default();
        let given = script.roots.contains("vars").then(|| context.vars.values());
        given.into_iter().flatten().for_each(|value| exact.add(value));
        context.element.iter().for_each(|element| exact.add(&element.value));
        let engine = speaking_engine(self.limits.wider(size).as_ref().unwrap_or(&self.limits), &said);
        self.limits.begin(size);
        let outcome = engine.run_ast_with_scope(&mut scope, &script.ast);
        drop(engine);
        let mut said = std::mem::take(&mut *said.lock().unwrap_or_else(PoisonError::into_inner));
        if let Err(error) = outcome {
            match innermost(&error) {
                EvalAltResult::ErrorTerminated(token, _) if token.is::<Token>() => {
                    said.raised = token.clone().try_cast::<Token>().map(|token| token.0);
                }
                _ => {
                    let (error, at) = run_error(*error, &script.shifts);
                    return Err(RunError { at: script.places.of(at), ..error });
                }
            }
        }
        if script.roots.contains("vars") {
            let vars = scope.get_value::<Dynamic>("vars").unwrap_or(Dynamic::UNIT);
            let Value::Object(mut vars) = from_dynamic(&vars)? else {
                return Err(RunError::new("`vars` must stay a map"));
            };
            if !exact.is_empty() {
                vars.values_mut().for_each(|value| exact.restore(value));
            }
            context.vars = vars;
        }
        if let Some(element) = &mut context.element
            && script.locals.iter().any(|local| *local == *element.name)
        {
            let value = scope.get_value::<Dynamic>(&element.name).unwrap_or(Dynamic::UNIT);
            element.value = from_dynamic(&value)?;
            if !exact.is_empty() {
                exact.restore(&mut element.value);
            }
        }
        Ok(said)
    }
}

/// A scope in which every root and every name of an element has a place: strict variables are checked against it.
fn names_only(locals: &[String]) -> Scope<'static> {
    let mut scope = Scope::new();
    for root in ROOTS {
        scope.push_dynamic(*root, Dynamic::UNIT);
    }
    for local in locals {
        scope.push_dynamic(local.clone(), Dynamic::UNIT);
    }
    scope
}

/// The roots that the code may touch, and how large they are together.
fn scope_of(roots: &BTreeSet<&'static str>, locals: &[String], context: &Context) -> (Scope<'static>, Size) {
    let mut scope = Scope::new();
    let mut size = Size::default();
    for root in ROOTS {
        let value = match roots.contains(root).then(|| context.root(root)).flatten() {
            None => Dynamic::UNIT,
            Some(Root::Value(value)) => {
                size.add(&value);
                to_dynamic(&value)
            }
            Some(Root::Members(members)) => {
                size.add_members(&members);
                Dynamic::from_map(
                    members.into_iter().map(|(key, value)| (key.into(), to_dynamic(value))).collect(),
                )
            }
        };
        scope.push_dynamic(*root, value);
    }
    for local in locals {
        let value = match context.root(local) {
            Some(Root::Value(value)) => {
                size.add(&value);
                to_dynamic(&value)
            }
            _ => Dynamic::UNIT,
        };
        scope.push_dynamic(local.clone(), value);
    }
    (scope, size)
}

/// Returns the roots that the code may touch: words that stand in it, strings and comments included. Too
/// many cost a conversion, none is ever missed.
fn roots_named_in(code: &str) -> BTreeSet<&'static str> {
    let words: BTreeSet<&str> = code.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
    ROOTS.iter().copied().filter(|root| words.contains(root)).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests;
