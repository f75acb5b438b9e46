//! `pagurus scenario check`: reads files as the engine does, and shows what is wrong with them.

use std::path::{Path, PathBuf};

use pagurus_domain::document::Fault;
use pagurus_scenario::script::Scripting;
use pagurus_scenario::source::{Reading, explain_faults, explain_warnings, read_with_warnings};
use pagurus_scenario::{Bounds, Library, LibraryEntry, ScenarioKind};
use pagurus_wire::problem::{Problem, Type};
use serde_json::{Value, json};

use super::library::{FileUser, Libraries};
use super::{bounds_of, files};
use crate::failure::{CliError, FAILED};
use crate::input;
use crate::screen::{Paint, Screen, harmless};

/// Number in a library of files before all others: a name stands for the first of its texts.
const FIRST: i32 = -1;

/// Checks files by the bounds of a configuration, by the default ones where there is none. With `strict`, a warning counts as
/// a fault, and so does a scenario that an operation breaks.
pub(crate) fn check(
    files: &[PathBuf],
    strict: bool,
    config: Option<&Path>,
    screen: &Screen,
) -> Result<(), CliError> {
    let bounds = bounds_of(config)?;
    let scripting = Scripting::new(bounds.script.clone());
    let files = files::files_in(files, files::is_scenario_or_tests)?;
    if files.is_empty() {
        return Err(CliError::Input(files::NONE.to_owned()));
    }
    let mut reports = Vec::new();
    let mut good = true;
    let mut libraries = Libraries::of(&files);
    for path in &files {
        let (name, text) = (input::name_of(path), input::text_of(path)?);
        let read = read_file(path, &text, libraries.beside(path, &text)?, &scripting, &bounds);
        let broken = match &read {
            Ok(CheckedFile::Scenario { name, kind: ScenarioKind::Operation, .. }) => {
                let operation =
                    LibraryEntry { name: name.clone(), version: None, file: None, text: text.clone() };
                broken_by(operation, path, &mut libraries, |path, text, library| {
                    read_file(path, text, library, &scripting, &bounds).err()
                })?
            }
            _ => Vec::new(),
        };
        let warned = |content: &CheckedFile| !content.warnings().is_empty() || !broken.is_empty();
        good &= read.as_ref().is_ok_and(|content| !strict || !warned(content));
        if screen.json {
            reports.push(report_value(&name, &read, &broken));
        } else {
            screen.line(&report(&name, &text, &read, screen))?;
            broken.iter().try_for_each(|one| screen.line(&one.report(screen)))?;
        }
    }
    if screen.json {
        screen.value(&reports)?;
    }
    if good { Ok(()) } else { Err(CliError::Reported(FAILED)) }
}

/// A scenario that cannot be applied together with the operation that it runs.
struct BrokenUser {
    user: FileUser,
    faults: Vec<Fault>,
}

/// Returns the users of the operation in this file that have faults with it.
fn broken_by(
    operation: LibraryEntry,
    path: &Path,
    libraries: &mut Libraries,
    faults_of: impl Fn(&Path, &str, &Library) -> Option<Vec<Fault>>,
) -> Result<Vec<BrokenUser>, CliError> {
    let mut broken = Vec::new();
    for user in libraries.users_of(path, &operation.name)? {
        let text = input::text_of(&user.path)?;
        // Another file may have an operation of the same name: this one is in question.
        let library = libraries.beside(&user.path, &text)?.clone().with(FIRST, operation.clone());
        broken.extend(faults_of(&user.path, &text, &library).map(|faults| BrokenUser { user, faults }));
    }
    Ok(broken)
}

impl BrokenUser {
    fn report(&self, screen: &Screen) -> String {
        let Self { user: FileUser { path, scenario, operation }, faults } = self;
        let warning = screen.paint(Paint::Bad, "warning");
        let named = format!("`{scenario}` ({}) runs `{operation}`", input::name_of(path));
        let mut line = format!("{warning}: {} and cannot be applied together with it", harmless(&named));
        for fault in faults {
            let place = fault.at.map_or_else(String::new, |at| format!("line {}: ", at.line));
            line.push_str(&format!("\n  {place}{}", harmless(&fault.message)));
        }
        line
    }

    fn value(&self) -> Value {
        let Self { user: FileUser { path, scenario, operation }, faults } = self;
        let faults = Problem::of_faults(Type::Invalid, faults).errors;
        json!({"file": input::name_of(path), "scenario": scenario, "operation": operation, "faults": faults})
    }
}

/// Content of a file without faults.
enum CheckedFile {
    /// A scenario.
    Scenario { name: String, kind: ScenarioKind, states: usize, warnings: Vec<Fault> },
    /// Tests of a scenario, by their number; a shell hands both over for `scenarios/*.yaml`.
    Tests(usize),
}

impl CheckedFile {
    fn warnings(&self) -> &[Fault] {
        match self {
            Self::Scenario { warnings, .. } => warnings,
            Self::Tests(_) => &[],
        }
    }
}

fn read_file(
    path: &Path,
    text: &str,
    library: &Library,
    scripting: &Scripting,
    bounds: &Bounds,
) -> Result<CheckedFile, Vec<Fault>> {
    if files::holds_tests(path) {
        return pagurus_workbench::trial::read(text).map(|file| CheckedFile::Tests(file.trials.len()));
    }
    let Reading { scenario, warnings, .. } = read_with_warnings(text, library, scripting, bounds)?;
    let (kind, states) = (scenario.kind, scenario.states.len());
    Ok(CheckedFile::Scenario { name: scenario.name, kind, states, warnings })
}

fn report(file: &str, text: &str, read: &Result<CheckedFile, Vec<Fault>>, screen: &Screen) -> String {
    let fine = |line: String| format!("{} {}", screen.paint(Paint::Good, "ok"), harmless(&line));
    match read {
        Ok(CheckedFile::Scenario { name, states, warnings, .. }) => {
            let ok = fine(format!("{file}: scenario `{name}`, states: {states}"));
            if warnings.is_empty() { ok } else { format!("{}\n{ok}", explain_warnings(text, file, warnings)) }
        }
        Ok(CheckedFile::Tests(count)) => fine(format!("{file}: tests: {count}")),
        Err(faults) => {
            let count = screen.paint(Paint::Bad, &format!("faults: {}", faults.len()));
            format!("{}\n{}: {count}", explain_faults(text, file, faults), harmless(file))
        }
    }
}

fn report_value(file: &str, read: &Result<CheckedFile, Vec<Fault>>, broken: &[BrokenUser]) -> Value {
    match read {
        Ok(CheckedFile::Scenario { name, kind, states, warnings }) => {
            let warnings = Problem::of_faults(Type::Invalid, warnings).errors;
            let mut value =
                json!({"file": file, "scenario": name, "states": states, "faults": [], "warnings": warnings});
            if *kind == ScenarioKind::Operation {
                value["breaks"] = broken.iter().map(BrokenUser::value).collect();
            }
            value
        }
        Ok(CheckedFile::Tests(count)) => json!({"file": file, "tests": count, "faults": []}),
        Err(faults) => json!({"file": file, "faults": Problem::of_faults(Type::Invalid, faults).errors}),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    const GOOD: &str = "scenario: s\nkind: workflow\ninitialState: done\ntargetStates: [done]\nstates: {done: {kind: terminal}}\n";

    fn checked_as(file: &str, text: &str) -> Result<CheckedFile, Vec<Fault>> {
        let bounds = Bounds::default();
        read_file(Path::new(file), text, &Library::default(), &Scripting::new(bounds.script.clone()), &bounds)
    }

    fn checked(text: &str) -> Result<CheckedFile, Vec<Fault>> {
        checked_as("s.yaml", text)
    }

    #[test]
    fn scn_13_tests_of_a_scenario_are_checked_as_tests() {
        let shown =
            |text: &str| report("s.test.yaml", text, &checked_as("s.test.yaml", text), &Screen::plain());
        assert_eq!(shown("tests: [{test: a, expect: {status: success}}]"), "ok s.test.yaml: tests: 1");
        let refused = shown("tests: [{test: a, expect: {status: fine}}]");
        assert!(refused.contains("--> s.test.yaml:1:") && refused.contains("faults: 1"), "{refused}");
    }

    #[test]
    fn scn_1_a_report_shows_each_fault_in_its_line() {
        let text = GOOD.replace("initialState: done", "initialState: gone");
        let shown = report("s.yaml", &text, &checked(&text), &Screen::plain());
        assert!(shown.contains("--> s.yaml:3:15") && shown.contains("initialState: gone"), "{shown}");
        assert!(shown.contains("s.yaml: faults: "), "{shown}");
        let value = report_value("s.yaml", &checked(&text), &[]);
        assert_eq!((&value["faults"][0]["line"], &value["faults"][0]["column"]), (&json!(3), &json!(15)));
    }

    #[test]
    fn scn_13_a_folder_is_checked_as_a_whole() {
        let folder = std::env::temp_dir().join(format!("pagurus-check-{}", std::process::id()));
        let below = folder.join("below");
        std::fs::create_dir_all(&below).unwrap();
        let nothing = check(std::slice::from_ref(&folder), false, None, &Screen::plain());
        assert!(
            matches!(&nothing, Err(CliError::Input(text)) if text.contains("no scenarios")),
            "{nothing:?}"
        );
        for (name, text) in [("s.yaml", GOOD), ("s.test.yaml", "tests: []"), ("notes.md", "no scenario")] {
            std::fs::write(below.join(name), text).unwrap();
        }
        let found = files::files_in(std::slice::from_ref(&folder), files::is_scenario_or_tests).unwrap();
        let good = check(std::slice::from_ref(&folder), false, None, &Screen::plain());
        std::fs::write(below.join("t.json"), "{}").unwrap();
        let bad = check(std::slice::from_ref(&folder), false, None, &Screen::plain());
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found, [below.join("s.test.yaml"), below.join("s.yaml")]);
        assert!(good.is_ok(), "{good:?}");
        assert!(matches!(bad, Err(CliError::Reported(FAILED))), "{bad:?}");
    }

    #[test]
    fn scn_19_a_check_of_an_operation_names_the_workflows_that_it_would_break() {
        let folder = std::env::temp_dir().join(format!("pagurus-broken-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let operation = |required: &str| {
            format!(
                "scenario: o\nkind: operation\nparams: {{type: object, required: [{required}], properties: {{a: {{}}, b: {{}}}}}}\n\
                 actions: [{{log: x}}]\n"
            )
        };
        let workflow = "scenario: w\nkind: workflow\ninitialState: s\ntargetStates: [done]\nstates:\n  s: {actions: [{do: {operation: o, \
                        params: {a: 1}}}], on: {success: done, fail: bad}}\n  done: {kind: terminal}\n  bad: {kind: terminal, outcome: fail}\n";
        std::fs::write(folder.join("w.yaml"), workflow).unwrap();
        let file = folder.join("o.yaml");
        let checked = |required: &str, strict: bool| {
            std::fs::write(&file, operation(required)).unwrap();
            check(std::slice::from_ref(&file), strict, None, &Screen::plain())
        };
        let (good, broken, strict) = (checked("a", true), checked("'a', b", false), checked("'a', b", true));
        let users = Libraries::of(&[]).users_of(&file, "o").unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(good.is_ok() && broken.is_ok(), "{good:?} {broken:?}");
        assert!(matches!(strict, Err(CliError::Reported(FAILED))), "{strict:?}");
        let [user] = <[FileUser; 1]>::try_from(users).unwrap();
        let shown = BrokenUser { user, faults: vec![Fault::placed(None, "/states", "it lacks `b`")] };
        let line = shown.report(&Screen::plain());
        assert!(line.contains("runs `o` and cannot be applied together with it"), "{line}");
        assert!(line.starts_with("warning: `w` (") && line.ends_with("\n  it lacks `b`"), "{line}");
        assert_eq!((&shown.value()["scenario"], &shown.value()["operation"]), (&json!("w"), &json!("o")));
    }

    #[test]
    fn scn_1_warnings_are_shown_and_are_faults_only_where_one_is_strict() {
        let text = GOOD.replace("kind: workflow", "kind: workflow\nparams: {requird: [a]}");
        let shown = report("s.yaml", &text, &checked(&text), &Screen::plain());
        assert!(
            shown.starts_with("warning: JSON Schema has no keyword `requird`: it checks nothing\n"),
            "{shown}"
        );
        assert!(
            shown.contains("--> s.yaml:3:10") && shown.ends_with("ok s.yaml: scenario `s`, states: 1"),
            "{shown}"
        );
        assert_eq!(report_value("s.yaml", &checked(&text), &[])["warnings"][0]["line"], json!(3));
        let file = std::env::temp_dir().join(format!("pagurus-warned-{}.yaml", std::process::id()));
        std::fs::write(&file, text).unwrap();
        let [lenient, strict] =
            [false, true].map(|strict| check(std::slice::from_ref(&file), strict, None, &Screen::plain()));
        std::fs::remove_file(&file).unwrap();
        assert!(
            lenient.is_ok() && matches!(strict, Err(CliError::Reported(FAILED))),
            "{lenient:?} {strict:?}"
        );
    }

    #[test]
    fn a_good_scenario_is_said_to_be_good() {
        assert_eq!(
            report("s.yaml", GOOD, &checked(GOOD), &Screen::plain()),
            "ok s.yaml: scenario `s`, states: 1"
        );
        assert_eq!(report_value("s.yaml", &checked(GOOD), &[])["faults"], json!([]));
    }
}
