//! `pagurus scenario …`: check and test without a server, apply, list, show, compare, draw, migrate.
//!
//! `check` reads with the engine's own reader, so it never says other things than the server does,
//! unless the server is configured with other bounds.

mod compare;
mod draw;
mod files;
mod migrate;
mod trial;

use std::path::{Path, PathBuf};

use clap::Subcommand;
use pagurus_domain::document::{self, DocumentLimits, Fault};
use pagurus_domain::scenario::Bounds;
use pagurus_domain::scenario::script::Scripting;
use pagurus_domain::scenario::source::{Reading, explain_faults, explain_warnings, read, read_with_warnings};
use pagurus_domain::scenario::trial::Deployment;
use pagurus_domain::scenario::value::percent_encode;
use pagurus_runtime::{Arguments, load_settings};
use pagurus_wire::problem::{Detail, Problem, Type};
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::client::{Client, Reply};
use crate::failure::{FAILED, Failure, fault_of, faults_of};
use crate::input;
use crate::screen::{Paint, Screen, harmless, time};

/// What can be done with scenarios.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Find everything that is wrong with scenarios and their tests, without a server
    Check {
        /// YAML or JSON, or folders with them; `-` is standard input
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Take warnings for faults
        #[arg(long)]
        strict: bool,
    },
    /// Give scenarios to the engine; new orders run by them from then on
    Apply {
        /// YAML or JSON, or folders with them; `-` is standard input
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// List the newest version of each scenario
    List,
    /// Show the text of a scenario, as it was applied
    Show {
        /// Name of the scenario, or NAME@VERSION
        name: Named,
    },
    /// List the versions of a scenario
    Versions {
        /// Name of the scenario
        name: String,
    },
    /// Run scenarios in virtual time against tables of answers, without a server
    Test {
        /// Files of tests, or folders with `*.test.yaml` in them
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Tell what happened in tests that passed, too
        #[arg(long)]
        story: bool,
    },
    /// Draw the workflow
    Graph {
        /// A file, or NAME or NAME@VERSION of the server
        source: String,
        /// How
        #[arg(long, value_enum, default_value = "svg")]
        format: draw::Format,
    },
    /// Tell what is different between two versions, and which states orders would lose
    Diff {
        /// A file, or NAME or NAME@VERSION of the server
        from: String,
        /// Another one
        to: String,
    },
    /// Move live orders of one version to another; without `--apply` only tell what would happen
    Migrate(migrate::Arguments),
}

/// A scenario of the server: its name, and which version where it is not the newest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    name: String,
    version: Option<i32>,
}

impl std::str::FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, version) = match text.split_once('@') {
            None => (text, None),
            Some((name, version)) => {
                let number = version.parse().ok().filter(|number| *number > 0);
                let number = number.ok_or_else(|| format!("`{version}` is no version; write NAME@2"))?;
                (name, Some(number))
            }
        };
        if name.is_empty() {
            return Err("the name is missing: write NAME, or NAME@2".to_owned());
        }
        Ok(Self { name: name.to_owned(), version })
    }
}

impl Named {
    fn path(&self) -> String {
        format!("/v1/scenarios/{}", percent_encode(&self.name))
    }

    fn query(&self) -> Vec<(&'static str, String)> {
        self.version.map(|version| ("version", version.to_string())).into_iter().collect()
    }
}

/// The text that an argument names: of a file, if there is one; else of the server.
async fn text_of(source: &str, client: &Client) -> Result<String, Failure> {
    let path = Path::new(source);
    if source == "-" || path.is_file() || source.contains(['/', '\\']) {
        return input::text_of(path);
    }
    let named: Named = source.parse().map_err(Failure::Usage)?;
    Ok(client.get(&named.path(), &named.query()).await?.text)
}

/// What a configuration sets, or the defaults where there is none.
fn deployment_of(config: Option<&Path>) -> Result<Deployment, Failure> {
    match config {
        None => Ok(Deployment::default()),
        Some(path) => Ok(load_settings(&Arguments { config: Some(path.to_owned()) })?.trial_deployment()),
    }
}

fn bounds_of(config: Option<&Path>) -> Result<Bounds, Failure> {
    deployment_of(config).map(|deployment| deployment.bounds)
}

/// A line of a list, and what applying answers.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    #[serde(default)]
    scenario: String,
    version: i32,
    created_at: Option<jiff::Timestamp>,
    /// Warnings of a scenario that was applied.
    #[serde(default)]
    warnings: Vec<Detail>,
}

#[derive(Debug, Deserialize)]
struct Versions {
    items: Vec<Version>,
}

/// Checks files by the bounds of a configuration, by the default ones where there is none.
/// With `strict` a warning counts as a fault.
pub(crate) fn check(
    files: &[PathBuf],
    strict: bool,
    config: Option<&Path>,
    screen: &Screen,
) -> Result<(), Failure> {
    let bounds = bounds_of(config)?;
    let scripting = Scripting::new(bounds.script.clone());
    let files = files::files_in(files, files::is_scenario_or_tests)?;
    if files.is_empty() {
        return Err(Failure::Input(files::NONE.to_owned()));
    }
    let mut reports = Vec::new();
    let mut good = true;
    for path in &files {
        let (name, text) = (input::name_of(path), input::text_of(path)?);
        let read = read_file(path, &text, &scripting, &bounds);
        good &= read.as_ref().is_ok_and(|content| !strict || content.warnings().is_empty());
        if screen.json {
            reports.push(report_value(&name, &read));
        } else {
            screen.line(&report(&name, &text, &read, screen))?;
        }
    }
    if screen.json {
        screen.value(&reports)?;
    }
    if good { Ok(()) } else { Err(Failure::Reported(FAILED)) }
}

/// What stands in a file without faults.
enum Content {
    /// A scenario.
    Scenario { name: String, states: usize, warnings: Vec<Fault> },
    /// So many tests of one; a shell hands both over for `scenarios/*.yaml`.
    Tests(usize),
}

impl Content {
    fn warnings(&self) -> &[Fault] {
        match self {
            Self::Scenario { warnings, .. } => warnings,
            Self::Tests(_) => &[],
        }
    }
}

fn read_file(path: &Path, text: &str, scripting: &Scripting, bounds: &Bounds) -> Result<Content, Vec<Fault>> {
    if trial::holds_tests(path) {
        return pagurus_domain::scenario::trial::read(text).map(|file| Content::Tests(file.trials.len()));
    }
    let Reading { scenario, warnings, .. } = read_with_warnings(text, scripting, bounds)?;
    Ok(Content::Scenario { states: scenario.states.len(), name: scenario.name, warnings })
}

fn report(file: &str, text: &str, read: &Result<Content, Vec<Fault>>, screen: &Screen) -> String {
    let fine = |told: String| format!("{} {}", screen.paint(Paint::Good, "ok"), harmless(&told));
    match read {
        Ok(Content::Scenario { name, states, warnings }) => {
            let ok = fine(format!("{file}: scenario `{name}`, states: {states}"));
            if warnings.is_empty() { ok } else { format!("{}\n{ok}", explain_warnings(text, file, warnings)) }
        }
        Ok(Content::Tests(count)) => fine(format!("{file}: tests: {count}")),
        Err(faults) => {
            let count = screen.paint(Paint::Bad, &format!("faults: {}", faults.len()));
            format!("{}\n{}: {count}", explain_faults(text, file, faults), harmless(file))
        }
    }
}

fn report_value(file: &str, read: &Result<Content, Vec<Fault>>) -> Value {
    match read {
        Ok(Content::Scenario { name, states, warnings }) => {
            let warnings = Problem::of_faults(Type::Invalid, warnings).errors;
            json!({"file": file, "scenario": name, "states": states, "faults": [], "warnings": warnings})
        }
        Ok(Content::Tests(count)) => json!({"file": file, "tests": count, "faults": []}),
        Err(faults) => json!({"file": file, "faults": Problem::of_faults(Type::Invalid, faults).errors}),
    }
}

/// Runs tests, as a deployment of this configuration would.
pub(crate) fn test(
    files: &[PathBuf],
    story: bool,
    config: Option<&Path>,
    screen: &Screen,
) -> Result<(), Failure> {
    trial::run(files, story, &deployment_of(config)?, screen)
}

/// Runs a command that may need the server. `check` and `test` never do, and stand above.
pub(crate) async fn run(
    command: Command,
    client: &Client,
    config: Option<&Path>,
    screen: &Screen,
) -> Result<(), Failure> {
    match command {
        Command::Check { files, strict } => check(&files, strict, config, screen),
        Command::Test { files, story } => test(&files, story, config, screen),
        Command::Graph { source, format } => {
            draw::run(&source, format, client, &bounds_of(config)?, screen).await
        }
        Command::Diff { from, to } => compare::run(&from, &to, client, screen).await,
        Command::Migrate(arguments) => migrate::run(&arguments, client, screen).await,
        Command::Apply { files } => apply(&files, client, screen).await,
        Command::List => list(client.get("/v1/scenarios", &[]).await?, screen),
        Command::Show { name } => show(&name, client, screen).await,
        Command::Versions { name } => {
            let path = format!("/v1/scenarios/{}/versions", percent_encode(&name));
            list(client.get(&path, &[]).await?, screen)
        }
    }
}

/// Applies each file; one that is refused does not keep the others back, but decides the exit code.
async fn apply(files: &[PathBuf], client: &Client, screen: &Screen) -> Result<(), Failure> {
    let mut outcome = Ok(());
    let files = files::files_in(files, files::is_scenario)?;
    if files.is_empty() {
        return Err(Failure::Input(files::NONE.to_owned()));
    }
    for path in &files {
        let applied = apply_one(path, client, screen).await;
        if let Err(failure) = applied {
            if failure.is_away() {
                return Err(failure);
            }
            let failure = match failure {
                Failure::Reported(code) => Failure::Reported(code),
                other if files.len() == 1 => return Err(other),
                other => {
                    other.show(screen);
                    Failure::Reported(other.code())
                }
            };
            outcome = outcome.and(Err(failure));
        }
    }
    outcome
}

async fn apply_one(path: &Path, client: &Client, screen: &Screen) -> Result<(), Failure> {
    let (file, text) = (input::name_of(path), input::text_of(path)?);
    let name = match scenario_name(&text) {
        Ok(name) => name,
        Err(faults) => return Err(refused(&file, &text, &faults, screen)),
    };
    let url = format!("/v1/scenarios/{}", percent_encode(&name));
    let answered = client.send_text(Method::PUT, &url, "application/yaml", text.clone()).await;
    let reply = match answered {
        // The server knows the places; the source is here.
        Err(Failure::Problem(problem))
            if !screen.json && problem.errors.iter().any(|error| error.line.is_some()) =>
        {
            return Err(refused(&file, &text, &faults_of(&problem), screen));
        }
        answered => answered?,
    };
    if screen.json {
        return screen.line(&reply.text);
    }
    let applied: Version = reply.read()?;
    if !applied.warnings.is_empty() {
        let warnings: Vec<Fault> = applied.warnings.iter().map(fault_of).collect();
        screen.note(&explain_warnings(&text, &file, &warnings));
    }
    let what = if reply.status == 201 { "is new" } else { "is as it was" };
    screen.line(&format!("{}: version {} {what}", harmless(&applied.scenario), applied.version))
}

fn refused(file: &str, text: &str, faults: &[Fault], screen: &Screen) -> Failure {
    if screen.json {
        return Problem::of_faults(Type::Invalid, faults).into();
    }
    Failure::Input(format!(
        "{}: faults: {}\n{}",
        harmless(file),
        faults.len(),
        explain_faults(text, file, faults)
    ))
}

/// The name that a text gives itself. Only that: the rest is the server's to judge, whose bounds
/// may be others than ours.
fn scenario_name(text: &str) -> Result<String, Vec<Fault>> {
    let tree = document::parse(text, &DocumentLimits::default())?;
    let name = tree.get("scenario").and_then(|name| name.as_str()).filter(|name| !name.is_empty());
    if let Some(name) = name {
        return Ok(name.to_owned());
    }
    let bounds = Bounds::default();
    let faults = read(text, &Scripting::new(bounds.script.clone()), &bounds).err().unwrap_or_default();
    if faults.is_empty() { Err(vec![Fault::placed(None, "/scenario", "is missing")]) } else { Err(faults) }
}

fn list(reply: Reply, screen: &Screen) -> Result<(), Failure> {
    if screen.json {
        return screen.line(&reply.text);
    }
    let versions: Versions = reply.read()?;
    if versions.items.is_empty() {
        screen.note("no scenarios; `pagurus scenario apply FILE` brings one");
        return Ok(());
    }
    screen.line(&listed(&versions.items, screen))
}

fn listed(versions: &[Version], screen: &Screen) -> String {
    let created = |version: &Version| version.created_at.map(time).unwrap_or_default();
    if versions.iter().all(|version| version.scenario.is_empty()) {
        let rows: Vec<[String; 2]> =
            versions.iter().map(|version| [version.version.to_string(), created(version)]).collect();
        return screen.table(&["VERSION", "APPLIED"], &rows);
    }
    let rows: Vec<[String; 3]> = versions
        .iter()
        .map(|version| [version.scenario.clone(), version.version.to_string(), created(version)])
        .collect();
    screen.table(&["SCENARIO", "VERSION", "APPLIED"], &rows)
}

async fn show(named: &Named, client: &Client, screen: &Screen) -> Result<(), Failure> {
    let reply = client.get(&named.path(), &named.query()).await?;
    if screen.json {
        let shown = json!({"scenario": named.name, "version": named.version, "text": reply.text});
        return screen.value(&shown);
    }
    screen.foreign(&reply.text)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    const GOOD: &str = "scenario: s\nkind: workflow\ninitialState: done\ntargetStates: [done]\nstates: {done: {kind: terminal}}\n";

    fn checked_as(file: &str, text: &str) -> Result<Content, Vec<Fault>> {
        let bounds = Bounds::default();
        read_file(Path::new(file), text, &Scripting::new(bounds.script.clone()), &bounds)
    }

    fn checked(text: &str) -> Result<Content, Vec<Fault>> {
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
        let value = report_value("s.yaml", &checked(&text));
        assert_eq!((&value["faults"][0]["line"], &value["faults"][0]["column"]), (&json!(3), &json!(15)));
    }

    #[test]
    fn scn_13_a_folder_is_checked_as_a_whole() {
        let folder = std::env::temp_dir().join(format!("pagurus-check-{}", std::process::id()));
        let below = folder.join("below");
        std::fs::create_dir_all(&below).unwrap();
        let nothing = check(std::slice::from_ref(&folder), false, None, &Screen::plain());
        assert!(
            matches!(&nothing, Err(Failure::Input(told)) if told.contains("no scenarios")),
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
        assert!(matches!(bad, Err(Failure::Reported(FAILED))), "{bad:?}");
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
        assert_eq!(report_value("s.yaml", &checked(&text))["warnings"][0]["line"], json!(3));
        let file = std::env::temp_dir().join(format!("pagurus-warned-{}.yaml", std::process::id()));
        std::fs::write(&file, text).unwrap();
        let [lenient, strict] =
            [false, true].map(|strict| check(std::slice::from_ref(&file), strict, None, &Screen::plain()));
        std::fs::remove_file(&file).unwrap();
        assert!(
            lenient.is_ok() && matches!(strict, Err(Failure::Reported(FAILED))),
            "{lenient:?} {strict:?}"
        );
    }

    #[test]
    fn a_good_scenario_is_said_to_be_good() {
        assert_eq!(
            report("s.yaml", GOOD, &checked(GOOD), &Screen::plain()),
            "ok s.yaml: scenario `s`, states: 1"
        );
        assert_eq!(report_value("s.yaml", &checked(GOOD))["faults"], json!([]));
    }

    #[test]
    fn the_name_stands_in_the_text() {
        assert_eq!(scenario_name(GOOD).unwrap(), "s");
        // Whatever else is wrong is the server's to say.
        assert_eq!(scenario_name("scenario: s\nnonsense: 1").unwrap(), "s");
        assert!(!scenario_name("kind: workflow").unwrap_err().is_empty());
        assert!(!scenario_name("a: [").unwrap_err().is_empty());
    }

    #[test]
    fn scn_13_a_version_stands_behind_the_name() {
        let named = |name: &str, version| Ok(Named { name: name.to_owned(), version });
        assert_eq!("s".parse::<Named>(), named("s", None));
        assert_eq!("s@2".parse::<Named>(), named("s", Some(2)));
        for bad in ["", "@1", "s@", "s@0", "s@new"] {
            assert!(bad.parse::<Named>().is_err(), "{bad}");
        }
    }

    #[test]
    fn lists_are_tables() {
        let text = r#"{"items": [{"scenario": "s", "version": 2, "createdAt": "2026-01-01T00:00:00Z"}]}"#;
        let versions: Versions = serde_json::from_str(text).unwrap();
        let shown = listed(&versions.items, &Screen::plain());
        assert_eq!(shown, "SCENARIO  VERSION  APPLIED\ns         2        2026-01-01 00:00:00Z");
        let versions: Versions =
            serde_json::from_str(r#"{"items": [{"version": 2, "createdAt": null}]}"#).unwrap();
        assert_eq!(listed(&versions.items, &Screen::plain()), "VERSION  APPLIED\n2");
    }
}
