//! Libraries that are built in: licences, origins, and those that nobody uses. The same file, `deny.toml`, says to cargo-deny
//! and to these rules what is allowed, so that a machine without cargo-deny checks all but the advisories.

use std::process::Command;

use serde_json::Value;

use crate::tree::{files, none, read, root};

/// The crates of a build for Linux, which are those that the programs are made of.
fn packages() -> Vec<Value> {
    let program = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let arguments =
        ["metadata", "--locked", "--format-version", "1", "--filter-platform", "x86_64-unknown-linux-gnu"];
    let output = Command::new(program).args(arguments).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

/// The texts in quotes on the lines of `deny.toml` from the one that begins with `from` to the one that is `]`.
fn list(from: &str) -> Vec<Vec<String>> {
    let text = read("deny.toml");
    let lines = text.lines().skip_while(|line| !line.starts_with(from)).skip(1);
    let found: Vec<_> = lines.take_while(|line| *line != "]").map(quoted).collect();
    assert!(!found.is_empty(), "deny.toml has no `{from}` with a line for each of its texts");
    found
}

fn quoted(line: &str) -> Vec<String> {
    line.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// An SPDX expression holds if the licences that are known satisfy it. Older manifests write `/` for `OR`.
fn holds(expression: &str, known: &dyn Fn(&str) -> bool) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    let value = any(&words, &mut at, known);
    assert!(at == words.len(), "`{expression}` is no licence that these rules can read");
    value
}

fn any(words: &[&str], at: &mut usize, known: &dyn Fn(&str) -> bool) -> bool {
    let mut value = all(words, at, known);
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        value |= all(words, at, known);
    }
    value
}

fn all(words: &[&str], at: &mut usize, known: &dyn Fn(&str) -> bool) -> bool {
    let mut value = one(words, at, known);
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        value &= one(words, at, known);
    }
    value
}

fn one(words: &[&str], at: &mut usize, known: &dyn Fn(&str) -> bool) -> bool {
    let word = words.get(*at).copied().unwrap_or_default();
    *at += 1;
    if word == "(" {
        let value = any(words, at, known);
        *at += 1;
        return value;
    }
    // An exception is permission for more, so the licence alone decides.
    if words.get(*at) == Some(&"WITH") {
        *at += 2;
    }
    known(word.trim_end_matches('+'))
}

#[test]
fn architecture_licences_are_read_as_they_are_meant() {
    let known = |word: &str| ["MIT", "Zlib"].contains(&word);
    for yes in
        ["MIT", "GPL-2.0 OR MIT", "GPL-2.0/MIT", "(MIT OR X) AND Zlib", "X WITH y OR MIT", "MIT AND Zlib"]
    {
        assert!(holds(yes, &known), "{yes}");
    }
    for no in ["GPL-2.0", "MIT AND GPL-2.0", "(X OR Y) AND MIT", "X OR Y AND MIT", "X WITH y"] {
        assert!(!holds(no, &known), "{no}");
    }
}

#[test]
fn qlt_10_every_library_has_a_licence_that_is_allowed() {
    let allowed = list("allow = [").concat();
    let exceptions = list("exceptions = [");
    let mut offenders = Vec::new();
    for package in packages() {
        let name = package["name"].as_str().unwrap();
        let own = exceptions.iter().filter(|line| line.first().is_some_and(|one| one == name));
        let own: Vec<&String> = own.flat_map(|line| &line[1..]).collect();
        let known = |licence: &str| allowed.iter().chain(own.iter().copied()).any(|one| one == licence);
        let licence = package["license"].as_str().unwrap_or("none");
        if !holds(licence, &known) {
            offenders.push(format!("{name}: {licence}"));
        }
    }
    none("licences that deny.toml does not allow", &offenders);
}

#[test]
fn qlt_10_every_library_comes_from_the_registry_and_none_is_banned() {
    let lock = read("Cargo.lock");
    let registry = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
    let foreign = lock.lines().filter(|line| line.starts_with("source = ") && *line != registry);
    let mut offenders: Vec<String> = foreign.map(str::to_owned).collect();
    let built_in = packages();
    for ban in list("deny = [") {
        let banned = built_in.iter().filter(|package| package["name"].as_str() == Some(&ban[0]));
        offenders.extend(banned.map(|_| format!("{}: {}", ban[0], ban[1])));
    }
    none("origins and bans of deny.toml", &offenders);
}

#[test]
fn architecture_every_library_of_the_workspace_is_used_by_a_member() {
    let workspace = read("Cargo.toml");
    let (_, table) = workspace.split_once("\n[workspace.dependencies]\n").unwrap();
    let table = table.split("\n[").next().unwrap();
    let members: Vec<String> = files(&["Cargo.toml"])
        .into_iter()
        .filter(|file| file.path != "Cargo.toml")
        .map(|file| file.text)
        .collect();
    let names = table.lines().filter_map(|line| line.split_once(" = ")).map(|(name, _)| name);
    let used = |name: &str| {
        let line = format!("{name}.workspace = true");
        members.iter().any(|text| text.lines().any(|one| one == line))
    };
    let offenders: Vec<String> = names.filter(|name| !used(name)).map(str::to_owned).collect();
    none("libraries that no member asks for", &offenders);
}

#[test]
fn qlt_10_crates_have_no_unsafe_code_releases_check_overflows_and_every_member_has_the_lints() {
    let workspace = read("Cargo.toml");
    let section = |name: &str| {
        let (_, rest) = workspace.split_once(&format!("\n[{name}]\n")).expect(name);
        rest.split("\n[").next().unwrap_or_default().to_owned()
    };
    assert!(section("workspace.lints.rust").lines().any(|line| line == "unsafe_code = \"forbid\""));
    let release = section("profile.release");
    assert!(release.lines().any(|line| line == "overflow-checks = true"), "{release}");
    // A panic of one piece of work must not end the others.
    assert!(!workspace.contains("panic = \"abort\""));
    let members = files(&["Cargo.toml"]).into_iter().filter(|file| file.path != "Cargo.toml");
    let offenders: Vec<String> = members
        .filter(|file| !file.text.contains("\n[lints]\nworkspace = true\n"))
        .map(|file| file.path)
        .collect();
    none("members without the lints of the workspace", &offenders);
}
