//! Values of the order that code names: paths such as `vars.amount`, and the variables that it sets. Finds what stands
//! in the code as it is; a key that is made at run time is not found, and what may be right is never doubted.

use std::collections::BTreeSet;

use rhai::{AST, ASTNode, Expr, FnCallExpr, Stmt};

use super::ROOTS;

/// The names in a piece of code.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ScriptNames {
    /// Paths that begin with one of the roots, each as far as plain names follow each other.
    pub paths: BTreeSet<Vec<String>>,
    /// Variables that it sets by name.
    pub sets: BTreeSet<String>,
    /// True where it may set others: it takes all variables as one value, or a key that is made at run time.
    pub sets_any: bool,
}

impl ScriptNames {
    pub(super) fn of(ast: &AST) -> Self {
        let mut names = Self::default();
        let own = own_names(ast);
        let (mut all, mut plain) = (0_usize, 0_usize);
        ast.walk(&mut |way: &[ASTNode<'_>]| {
            match way.last() {
                Some(ASTNode::Stmt(Stmt::Assignment(assignment))) => {
                    let path = path_of(&assignment.1.lhs);
                    if let Some(name) =
                        path.filter(|path| path[0] == "vars").and_then(|path| path.get(1).cloned())
                    {
                        names.sets.insert(name);
                    }
                }
                Some(ASTNode::Expr(expression @ (Expr::Dot(..) | Expr::Index(..)))) => {
                    if let Some(path) = path_of(expression).filter(|path| !own.contains(&path[0])) {
                        plain += usize::from(path[0] == "vars");
                        names.paths.insert(path);
                    }
                }
                Some(ASTNode::Stmt(Stmt::FnCall(call, _)) | ASTNode::Expr(Expr::FnCall(call, _))) => {
                    if let Some(path) = path_of_get(call).filter(|path| !own.contains(&path[0])) {
                        plain += usize::from(path[0] == "vars");
                        names.paths.insert(path);
                    }
                }
                Some(ASTNode::Expr(Expr::Variable(variable, ..))) => all += usize::from(variable.1 == "vars"),
                _ => {}
            }
            true
        });
        names.sets_any = all > plain || own.contains("vars");
        names
    }
}

/// The path that an expression is, or begins with: a root, and at least one name behind it.
fn path_of(expression: &Expr) -> Option<Vec<String>> {
    let (Expr::Dot(pair, ..) | Expr::Index(pair, ..)) = expression else { return None };
    let Expr::Variable(root, ..) = &pair.lhs else { return None };
    let root = root.1.as_str();
    let mut path = vec![ROOTS.iter().find(|known| **known == root)?.to_string()];
    let mut rest = &pair.rhs;
    let mut in_brackets = matches!(expression, Expr::Index(..));
    loop {
        let (here, next) = match rest {
            Expr::Dot(pair, ..) => (&pair.lhs, Some((&pair.rhs, false))),
            Expr::Index(pair, ..) => (&pair.lhs, Some((&pair.rhs, true))),
            other => (other, None),
        };
        match here {
            Expr::Property(property, ..) if !in_brackets => path.push(property.2.to_string()),
            Expr::StringConstant(text, ..) if in_brackets => path.push(text.to_string()),
            // What `?.field` is compiled to.
            Expr::MethodCall(call, ..) if !in_brackets && call.name == "get" && call.args.len() == 1 => {
                let Some(Expr::StringConstant(text, ..)) = call.args.first() else { break };
                path.push(text.to_string());
            }
            _ => break,
        }
        let Some((after, brackets)) = next else { break };
        (rest, in_brackets) = (after, brackets);
    }
    (path.len() > 1).then_some(path)
}

/// The path that `get(value, "path", default)` reads below a root, up to the first number of an element.
fn path_of_get(call: &FnCallExpr) -> Option<Vec<String>> {
    let [Expr::Variable(root, ..), Expr::StringConstant(path, ..), ..] = call.args.as_slice() else {
        return None;
    };
    let root = ROOTS.iter().find(|known| call.name == "get" && **known == root.1.as_str())?;
    let names = path.split('.').take_while(|name| name.starts_with(|c: char| c.is_alphabetic() || c == '_'));
    let path: Vec<String> = std::iter::once(*root).chain(names).map(str::to_owned).collect();
    (path.len() > 1).then_some(path)
}

/// Names that the code declares itself: what it calls so is no value of the order.
fn own_names(ast: &AST) -> BTreeSet<String> {
    let mut own = BTreeSet::new();
    for function in ast.iter_functions() {
        own.extend(function.params.iter().map(ToString::to_string));
    }
    ast.walk(&mut |way: &[ASTNode<'_>]| {
        if let Some(ASTNode::Stmt(Stmt::Var(variable, ..))) = way.last() {
            own.insert(variable.0.name.to_string());
        }
        true
    });
    own
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::script::{Limits, Scripting};

    fn names(code: &str) -> ScriptNames {
        ScriptNames::of(&Scripting::new(Limits::default()).compile_script(code).unwrap().ast)
    }

    fn paths(code: &str) -> Vec<String> {
        names(code).paths.iter().map(|path| path.join(".")).collect()
    }

    #[test]
    fn scn_1_code_names_the_paths_that_stand_in_it() {
        let cases: [(&str, &[&str]); 11] = [
            ("vars.a = params.b.c + 1;", &["params.b.c", "vars.a"]),
            ("if callbacks.done.body.code == 1 { success() }", &["callbacks.done.body.code"]),
            ("log(params[\"x\"].y)", &["params.x.y"]),
            ("let i = 0; log(params.list[i].name)", &["params.list"]),
            ("log(params.list.len())", &["params.list"]),
            ("log(params?.a?.b ?? 1)", &["params.a.b"]),
            ("log(get(params, \"a.b.0.c\", 1))", &["params.a.b"]),
            ("log(get(params, vars.a, 1))", &["vars.a"]),
            ("let params = #{a: 1}; log(params.a)", &[]),
            ("params.list.map(|params| params.a)", &[]),
            ("log(`${vars.a} of ${order.id}`)", &["order.id", "vars.a"]),
        ];
        for (code, expected) in cases {
            assert_eq!(paths(code), expected, "{code}");
        }
    }

    #[test]
    fn scn_1_variables_that_code_sets_are_known_unless_it_may_set_any() {
        let set =
            |code: &str| (names(code).sets.into_iter().collect::<Vec<_>>().join(" "), names(code).sets_any);
        assert_eq!(set("vars.a = 1; vars.b.c = 2; vars[\"d\"] = vars.e;"), ("a b d".to_owned(), false));
        assert_eq!(set("vars.list.push(1)"), (String::new(), false));
        for code in
            ["let k = \"a\"; vars[k] = 1;", "vars.set(\"a\", 1)", "vars += #{a: 1}", "let all = vars;"]
        {
            assert!(names(code).sets_any, "{code}");
        }
    }
}
