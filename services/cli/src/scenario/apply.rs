//! `pagurus scenario apply`: gives files to the engine, and shows what it says of each.

use std::path::{Path, PathBuf};

use pagurus_domain::document::{self, DocumentLimits, Fault};
use pagurus_scenario::Bounds;
use pagurus_scenario::script::Scripting;
use pagurus_scenario::source::{explain_faults, explain_warnings, read};
use pagurus_scenario::value::percent_encode;
use pagurus_wire::problem::{Detail, Problem, Type};
use pagurus_wire::scenarios::{AppliedView, CheckedView, OperationUserView};

use super::files;
use super::library::operations_first;
use crate::client::ApiClient;
use crate::failure::{CliError, fault_of, faults_of};
use crate::failure_text;
use crate::input;
use crate::screen::{Screen, harmless};

/// The way in which a file is given to the engine.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way<'a> {
    /// Stores the file, only on top of the version with this tag, if there is one.
    Store(Option<&'a str>),
    /// Checks the file, and stores nothing.
    Try,
}

/// Applies each file; one that is refused does not keep the others back, but decides the exit code.
pub(super) async fn run(
    files: &[PathBuf],
    way: Way<'_>,
    client: &ApiClient,
    screen: &Screen,
) -> Result<(), CliError> {
    let mut outcome = Ok(());
    let files = operations_first(files::files_in(files, files::is_scenario)?)?;
    if files.is_empty() {
        return Err(CliError::Input(files::NONE.to_owned()));
    }
    if matches!(way, Way::Store(Some(tag)) if tag != "*") && files.len() > 1 {
        return Err(CliError::Usage("--if-match names a version of one scenario: give one file".to_owned()));
    }
    for path in &files {
        let applied = apply_one(path, way, client, screen).await;
        if let Err(failure) = applied {
            if failure.is_away() {
                return Err(failure);
            }
            let failure = match failure {
                CliError::Reported(code) => CliError::Reported(code),
                other if files.len() == 1 => return Err(other),
                other => {
                    failure_text::show(&other, screen);
                    CliError::Reported(other.code())
                }
            };
            outcome = outcome.and(Err(failure));
        }
    }
    outcome
}

async fn apply_one(path: &Path, way: Way<'_>, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    let (file, text) = (input::name_of(path), input::text_of(path)?);
    let name = match scenario_name(&text) {
        Ok(name) => name,
        Err(faults) => return Err(refused(&file, &text, &faults, screen)),
    };
    let url = format!("/v1/scenarios/{}", percent_encode(&name));
    let answered = match way {
        Way::Store(tag) => client.put_scenario(&url, text.clone(), tag).await,
        Way::Try => {
            let path = "/v1/scenarios/check";
            client.send_text(reqwest::Method::POST, path, "application/yaml", text.clone()).await
        }
    };
    let reply = match answered {
        // The server knows the places; the source is here.
        Err(CliError::Problem(problem))
            if !screen.json && problem.errors.iter().any(|error| error.line.is_some()) =>
        {
            return Err(refused(&file, &text, &faults_of(&problem), screen));
        }
        answered => answered?,
    };
    if screen.json {
        return screen.document(&reply.text);
    }
    let warn = |warnings: &[Detail]| {
        if !warnings.is_empty() {
            let warnings: Vec<Fault> = warnings.iter().map(fault_of).collect();
            screen.note(&explain_warnings(&text, &file, &warnings));
        }
    };
    if matches!(way, Way::Try) {
        let checked: CheckedView = reply.read()?;
        warn(&checked.warnings);
        let message = format!("{}: valid; nothing was stored", harmless(&checked.scenario));
        screen.line(&message)?;
        return show_users(&checked.used_by, screen);
    }
    let applied: AppliedView = reply.read()?;
    warn(&applied.warnings);
    let what = if reply.status == 201 { "is new" } else { "is as it was" };
    let mut line = format!("{}: version {} {what}", harmless(&applied.scenario), applied.version);
    let runs: Vec<String> = applied
        .operations
        .iter()
        .map(|one| format!("{} version {}", harmless(&one.operation), one.version))
        .collect();
    if !runs.is_empty() {
        line.push_str(&format!("; it runs {}", runs.join(", ")));
    }
    screen.line(&line)?;
    show_users(&applied.used_by, screen)
}

/// Tells of the scenarios that run an operation: each goes on with the version that it has until it is applied again, and
/// one that could not be applied again breaks then.
fn show_users(users: &[OperationUserView], screen: &Screen) -> Result<(), CliError> {
    for user in users {
        let (scenario, operation) = (harmless(&user.scenario), harmless(&user.operation));
        let version = user.operation_version;
        screen.line(&format!("  {scenario} runs {operation} version {version} until it is applied again"))?;
        for fault in &user.faults {
            let place = fault.line.map_or_else(String::new, |line| format!(" in line {line}"));
            let message = harmless(&fault.message);
            screen.line(&format!("    and could not be applied any more{place}: {message}"))?;
        }
    }
    Ok(())
}

fn refused(file: &str, text: &str, faults: &[Fault], screen: &Screen) -> CliError {
    if screen.json {
        return Problem::of_faults(Type::Invalid, faults).into();
    }
    CliError::Input(format!(
        "{}: faults: {}\n{}",
        harmless(file),
        faults.len(),
        explain_faults(text, file, faults)
    ))
}

/// The name that a text gives itself. Only that: the rest is the server's to judge, whose bounds
/// may be others than ours.
pub(super) fn scenario_name(text: &str) -> Result<String, Vec<Fault>> {
    let tree = document::parse(text, &DocumentLimits::default())?;
    let name = tree.get("scenario").and_then(|name| name.as_str()).filter(|name| !name.is_empty());
    if let Some(name) = name {
        return Ok(name.to_owned());
    }
    let bounds = Bounds::default();
    let faults = read(text, &Scripting::new(bounds.script.clone()), &bounds).err().unwrap_or_default();
    if faults.is_empty() { Err(vec![Fault::placed(None, "/scenario", "is missing")]) } else { Err(faults) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    const GOOD: &str = "scenario: s\nkind: workflow\ninitialState: done\ntargetStates: [done]\nstates: {done: {kind: terminal}}\n";

    #[test]
    fn the_name_stands_in_the_text() {
        assert_eq!(scenario_name(GOOD).unwrap(), "s");
        // Whatever else is wrong is the server's to say.
        assert_eq!(scenario_name("scenario: s\nnonsense: 1").unwrap(), "s");
        assert!(!scenario_name("kind: workflow").unwrap_err().is_empty());
        assert!(!scenario_name("a: [").unwrap_err().is_empty());
    }
}
