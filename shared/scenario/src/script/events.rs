//! Events of the scenario's own that code raises: the calls `event("name")`. Finds what stands in the code as it is;
//! a function that is called by a name made at run time is not found.

use rhai::{AST, ASTNode, Expr, FnCallExpr, Position, Stmt};

use super::faults::written;
use super::optional::Shifts;

/// The function that raises an event of the scenario's own.
pub(crate) const RAISE: &str = "event";

/// A call that raises an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EventCall {
    /// Name of the event; `None` if the code makes it while it runs.
    pub name: Option<String>,
    /// Line inside the code, from 1.
    pub line: u32,
    /// Column inside the line, from 1.
    pub column: u32,
}

/// All calls that raise events, in the order of the code.
pub(super) fn calls_in(ast: &AST, shifts: &Shifts) -> Vec<EventCall> {
    let mut calls = Vec::new();
    // A script that defines a function of this name calls that one.
    if ast.iter_functions().any(|function| function.name == RAISE && function.params.len() == 1) {
        return calls;
    }
    ast.walk(&mut |path: &[ASTNode<'_>]| {
        match path.last() {
            Some(ASTNode::Stmt(Stmt::FnCall(call, at)) | ASTNode::Expr(Expr::FnCall(call, at))) => {
                calls.extend(
                    (call.args.len() == 1).then(|| raised(call, call.args.first(), *at, shifts)).flatten(),
                );
            }
            Some(ASTNode::Expr(Expr::MethodCall(call, at))) if call.args.is_empty() => {
                calls.extend(raised(call, None, *at, shifts));
            }
            _ => {}
        }
        true
    });
    calls.sort_by_key(|call| (call.line, call.column));
    calls.dedup();
    calls
}

fn raised(call: &FnCallExpr, name: Option<&Expr>, at: Position, shifts: &Shifts) -> Option<EventCall> {
    if call.name != RAISE || call.op_token.is_some() {
        return None;
    }
    let name = match name {
        Some(Expr::StringConstant(text, ..)) => Some(text.to_string()),
        _ => None,
    };
    let at = written(at, shifts);
    Some(EventCall { name, line: at.line, column: at.column })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::super::{Limits, Scripting};

    #[test]
    fn scn_16_calls_that_raise_events_are_found_with_their_places() {
        let calls = |code: &str| {
            let script = Scripting::new(Limits::default()).compile_script(code).unwrap();
            let calls = script.event_calls().into_iter();
            calls.map(|call| (call.name.unwrap_or("?".into()), call.line, call.column)).collect::<Vec<_>>()
        };
        let found = |name: &str, line, column| (name.to_owned(), line, column);
        assert_eq!(calls("if vars.a { event(\"a\") }\nevent(\"b\");"), [found("a", 1, 13), found("b", 2, 1)]);
        assert_eq!(calls("fn f() { event(\"deep\") } f()"), [found("deep", 1, 10)]);
        assert_eq!(calls("switch vars.n { 1 | 2 => event(\"one\"), _ => () }"), [found("one", 1, 26)]);
        assert_eq!(calls("event(vars.name)"), [found("?", 1, 1)]);
        assert_eq!(calls("\"x\".event()"), [found("?", 1, 5)]);
        assert_eq!(calls("log(event.name); // event(\"no\")"), []);
        assert_eq!(calls("fn event(x) { x } event(\"own\")"), []);
    }
}
