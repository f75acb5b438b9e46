//! No circles inside a crate: what is below never asks for what is above it, neither among its modules of the first level
//! nor among its files. Reads paths as they are written: `crate::`, `super::`, `self::`, those that begin with a child, and
//! all that stands in the braces of a `use`.
//!
//! A module may name those below it, since it is made of them, and they may name it.

use std::collections::{BTreeMap, BTreeSet};

use crate::tree::{none, rust};

/// Modules of a crate by their paths, such as `config/load`, with the modules that each one imports. The root is empty.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// Words and signs of a code; `::` is one sign.
fn tokens(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let is_word = |sign: char| sign.is_alphanumeric() || sign == '_';
        let length = if is_word(first) {
            rest.find(|sign| !is_word(sign)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        if !first.is_whitespace() {
            found.push(&rest[..length]);
        }
        rest = &rest[length..];
    }
    found
}

/// The code of a file without its comments and without what is there for its unit tests alone.
fn tested(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut rest = lines.collect::<Vec<_>>().join("\n");
    while let Some(at) = rest.find("#[cfg(test)]") {
        let mut depth = 0;
        let end = rest[at..].char_indices().find_map(|(index, sign)| {
            depth += i32::from(sign == '{') - i32::from(sign == '}');
            (depth == 0 && matches!(sign, '}' | ';')).then_some(at + index + 1)
        });
        rest.replace_range(at..end.unwrap_or(rest.len()), "");
    }
    rest
}

/// Reads a path, and all those that stand in its braces. Returns the place behind it.
fn read_tree(tokens: &[&str], mut at: usize, before: &[&str], found: &mut Vec<String>) -> usize {
    let mut path = before.to_vec();
    while let Some(token) = tokens.get(at) {
        match *token {
            "{" => {
                at += 1;
                while tokens.get(at).is_some_and(|token| *token != "}") {
                    at = match tokens[at] {
                        "as" => at + 2,
                        // What is no path, such as `*` or a comma, is passed over.
                        _ => read_tree(tokens, at, &path, found).max(at + 1),
                    };
                }
                return at + 1;
            }
            "::" => {}
            word if word.starts_with(|sign: char| sign.is_alphanumeric() || sign == '_') => path.push(word),
            _ => break,
        }
        at += 1;
        // A word that no `::` follows ends the path.
        if tokens[at - 1] != "::" && tokens.get(at) != Some(&"::") {
            break;
        }
    }
    if path.len() > before.len() {
        found.push(path.join("::"));
    }
    at
}

/// The paths that a code names.
fn named(code: &str) -> Vec<String> {
    let tokens = tokens(code);
    let (mut found, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        let is_path = matches!(tokens[at], "crate" | "super" | "self") && tokens.get(at + 1) == Some(&"::");
        at = match tokens[at] {
            "use" => read_tree(&tokens, at + 1, &[], &mut found),
            _ if is_path => read_tree(&tokens, at, &[], &mut found),
            _ => at + 1,
        };
    }
    found
}

/// The module that a path in a module leads to or into; none if it leads to another crate.
fn target<'m>(modules: &'m BTreeMap<String, String>, module: &str, path: &str) -> Option<&'m String> {
    let mut base: Vec<&str> = module.split('/').filter(|part| !part.is_empty()).collect();
    let mut parts: Vec<&str> = path.split("::").collect();
    match parts[0] {
        "crate" => base.clear(),
        "self" | "super" => {}
        child => {
            let child = base.iter().copied().chain([child]).collect::<Vec<_>>().join("/");
            modules.get(&child)?;
        }
    }
    while matches!(parts.first(), Some(&("crate" | "self" | "super"))) {
        if parts.remove(0) == "super" {
            base.pop();
        }
    }
    base.extend(parts);
    (0..=base.len())
        .rev()
        .find_map(|length| modules.get_key_value(&base[..length].join("/")))
        .map(|(name, _)| name)
}

/// True if a module stands below another one.
fn is_below(module: &str, above: &str) -> bool {
    above.is_empty() || module.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'))
}

/// The modules that each module imports, given its code; of those below it a module is made, and they do not count.
fn imports_of(modules: &BTreeMap<String, String>) -> Imports {
    let imports = modules.iter().map(|(module, code)| {
        let paths = named(code);
        let targets = paths.iter().filter_map(|path| target(modules, module, path));
        let others = targets.filter(|other| *other != module && !is_below(other, module));
        (module.clone(), others.cloned().collect())
    });
    imports.collect()
}

/// The codes of the modules of each crate; those of tests are left out.
fn crates() -> BTreeMap<String, BTreeMap<String, String>> {
    let mut crates: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for source in rust() {
        let Some((folder, path)) = source.path.split_once("/src/") else { continue };
        let is_ours = folder.starts_with("shared/") || folder.starts_with("services/");
        let module = path.trim_end_matches(".rs");
        let is_test = module.split('/').any(|part| part == "tests" || part.starts_with("tests_"));
        if is_ours && !is_test {
            let module = if matches!(module, "lib" | "main") { "" } else { module };
            let codes = crates.entry(folder.to_owned()).or_default();
            codes.entry(module.to_owned()).or_default().push_str(&tested(&source.text));
        }
    }
    crates
}

/// The same imports between modules of the first level.
fn first_level(imports: &Imports) -> Imports {
    let first = |module: &String| module.split('/').next().unwrap_or_default().to_owned();
    let mut found = Imports::new();
    for (module, others) in imports.iter().filter(|(module, _)| !module.is_empty()) {
        let others = others.iter().map(first).filter(|other| *other != first(module) && !other.is_empty());
        found.entry(first(module)).or_default().extend(others);
    }
    found
}

/// Everything that a module reaches.
fn reached(imports: &Imports, from: &str) -> BTreeSet<String> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from.to_owned()]);
    while let Some(module) = open.pop() {
        for next in imports.get(&module).into_iter().flatten() {
            if seen.insert(next.clone()) {
                open.push(next.clone());
            }
        }
    }
    seen
}

/// Modules that reach each other, each circle once.
fn circles(imports: &Imports) -> BTreeSet<Vec<String>> {
    let reached: BTreeMap<&String, BTreeSet<String>> =
        imports.keys().map(|module| (module, reached(imports, module))).collect();
    let circle = |module: &&String| {
        let others = reached[*module].iter().filter(|other| reached[other].contains(*module));
        others.cloned().collect::<Vec<_>>()
    };
    reached.keys().map(circle).filter(|circle| !circle.is_empty()).collect()
}

#[test]
fn architecture_modules_of_a_crate_import_each_other_in_one_direction() {
    let crates = crates();
    assert!(crates["shared/store"].len() > 60, "the modules of the store were not found");
    let mut offenders = Vec::new();
    for (folder, modules) in &crates {
        let imports = imports_of(modules);
        let found: BTreeSet<Vec<String>> =
            circles(&imports).into_iter().chain(circles(&first_level(&imports))).collect();
        for circle in found {
            offenders.push(format!("{folder}: {}", circle.join(" | ")));
        }
    }
    none("modules in a circle; what both sides need belongs below them", &offenders);
}

/// Modules with their codes.
fn planted(modules: &[(&str, &str)]) -> BTreeMap<String, String> {
    modules.iter().map(|(module, code)| ((*module).to_owned(), tested(code))).collect()
}

#[test]
fn architecture_the_rule_against_circles_sees_one_of_modules() {
    let modules = planted(&[
        ("", "mod a; mod b; mod c;"),
        ("a", "use crate::{b, c::{D, e}};"),
        ("b", "fn g() { crate::c::f() }"),
        ("c/deep", "pub(crate) use crate::a;"),
        ("c", "mod deep;"),
    ]);
    let first = first_level(&imports_of(&modules));
    assert_eq!(first["a"], ["b".to_owned(), "c".to_owned()].into());
    assert_eq!(circles(&first), [["a", "b", "c"].map(str::to_owned).to_vec()].into());
    assert_eq!(circles(&imports_of(&modules)), BTreeSet::new(), "no file of it is in a circle");
}

#[test]
fn architecture_the_rule_against_circles_sees_one_of_files() {
    let modules = planted(&[
        ("", "mod a;"),
        ("a", "mod b; mod c; mod d; mod e; pub use b::B; use self::c::C;"),
        ("a/b", "use super::c::{C, self};\n// use super::d::D;\nfn f() -> super::B { B }"),
        ("a/c", "use std::fmt;\npub(super) use super::{\n    B,\n    b::{B as Other, f},\n};"),
        ("a/d", "mod deep;\nuse super::e::*;"),
        ("a/d/deep", "use super::super::e::E;\nuse super::D;"),
        ("a/e", "#[cfg(test)]\nmod tests {\n    use super::super::d::D;\n}\nuse super::b::B;"),
    ]);
    let imports = imports_of(&modules);
    assert_eq!(named("use crate::{a::b as c, d::*};"), ["crate::a::b", "crate::d"]);
    assert_eq!(imports["a"], BTreeSet::new(), "a module is made of those below it");
    assert_eq!(imports["a/d/deep"], ["a/d".to_owned(), "a/e".to_owned()].into());
    assert_eq!(imports["a/e"], ["a/b".to_owned()].into(), "what only tests name does not count");
    assert_eq!(circles(&imports), [["a/b", "a/c"].map(str::to_owned).to_vec()].into());
}
