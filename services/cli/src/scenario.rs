//! `pagurus scenario …`: check and test without a server, apply, list, show, compare, draw, migrate.
//!
//! `check` reads with the engine's own reader, so it never says other things than the server does,
//! unless the server is configured with other bounds.

mod apply;
mod check;
mod compare;
mod coverage;
mod draw;
mod files;
pub(crate) mod library;
mod migrate;
mod report;
mod trial;
pub(crate) mod watch;

use std::path::{Path, PathBuf};

use clap::Subcommand;
use pagurus_runtime::load_settings;
use pagurus_scenario::Bounds;
use pagurus_scenario::deployment::Deployment;
use pagurus_scenario::value::percent_encode;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::client::ApiClient;
use crate::failure::CliError;
use crate::input;
use crate::screen::{Screen, time};
pub(crate) use check::check;

/// Commands about scenarios.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check scenarios and their tests without a server, and report all faults
    Check {
        /// YAML or JSON, or folders with them; `-` is standard input
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Treat warnings as faults
        #[arg(long)]
        strict: bool,
    },
    /// Store scenarios in the engine; new orders run by them from then on
    Apply {
        /// YAML or JSON, or folders with them; `-` is standard input
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Apply only if the stored version has this tag, as `show` prints it; `*` stands for any version
        #[arg(long, value_name = "TAG")]
        if_match: Option<String>,
        /// Store nothing; only show the faults and warnings of the server
        #[arg(long, conflicts_with = "if_match")]
        dry_run: bool,
    },
    /// List the newest version of each scenario
    List,
    /// Show the text of a scenario, as it was applied
    Show {
        /// Name of the scenario, or NAME@VERSION
        name: ScenarioArgument,
    },
    /// List the versions of a scenario
    Versions {
        /// Name of the scenario
        name: String,
    },
    /// Run scenarios in virtual time against tables of answers: here, by the error rules of --config, or, with --server,
    /// on the server, by its rules
    Test {
        /// Files of tests, or folders with `*.test.yaml` in them
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        #[command(flatten)]
        wanted: trial::TrialArguments,
    },
    /// Check, test and apply scenarios whenever their files change, until Ctrl-C
    Watch(watch::Arguments),
    /// Draw the workflow
    Graph {
        /// A file, or a scenario of the server: NAME or NAME@VERSION
        source: String,
        /// Format of the drawing
        #[arg(long, value_enum, default_value = "svg")]
        format: draw::Format,
    },
    /// Compare two versions: what differs, and which states orders would lose
    Diff {
        /// A file, or a scenario of the server: NAME or NAME@VERSION
        from: String,
        /// The other file or scenario
        to: String,
    },
    /// Move live orders from one version to another; without `--apply`, only show what would happen
    Migrate(migrate::Arguments),
}

/// A scenario of the server: its name, and which version where it is not the newest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScenarioArgument {
    name: String,
    version: Option<i32>,
}

impl std::str::FromStr for ScenarioArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, version) = match text.split_once('@') {
            None => (text, None),
            Some((name, version)) => {
                let number = version.parse().ok().filter(|number| *number > 0);
                let number = number.ok_or_else(|| format!("`{version}` is not a version; write NAME@2"))?;
                (name, Some(number))
            }
        };
        if name.is_empty() {
            return Err("the name is missing: write NAME, or NAME@2".to_owned());
        }
        Ok(Self { name: name.to_owned(), version })
    }
}

impl ScenarioArgument {
    fn path(&self) -> String {
        format!("/v1/scenarios/{}", percent_encode(&self.name))
    }

    fn query(&self) -> Vec<(&'static str, String)> {
        self.version.map(|version| ("version", version.to_string())).into_iter().collect()
    }
}

/// The text that an argument names: of a file, if there is one; else of the server.
async fn text_of(source: &str, client: &ApiClient) -> Result<String, CliError> {
    let path = Path::new(source);
    if source == "-" || path.is_file() || source.contains(['/', '\\']) {
        return input::text_of(path);
    }
    let named: ScenarioArgument = source.parse().map_err(CliError::Usage)?;
    Ok(client.get(&named.path(), &named.query()).await?.text)
}

/// Settings of a configuration for tests of scenarios, or the defaults where there is none.
fn deployment_of(config: Option<&Path>) -> Result<Deployment, CliError> {
    match config {
        None => Ok(Deployment::default()),
        Some(path) => Ok(load_settings(Some(path))?.trial_deployment()),
    }
}

fn bounds_of(config: Option<&Path>) -> Result<Bounds, CliError> {
    deployment_of(config).map(|deployment| deployment.bounds)
}

/// A line of a list, and what applying answers.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct VersionEntry {
    #[serde(default)]
    scenario: String,
    version: i32,
    created_at: Option<jiff::Timestamp>,
}

#[derive(Debug, Deserialize)]
struct Versions {
    items: Vec<VersionEntry>,
}

/// Runs tests, as a deployment of this configuration would.
pub(crate) fn test(
    files: &[PathBuf],
    wanted: &trial::TrialArguments,
    config: Option<&Path>,
    screen: &Screen,
) -> Result<(), CliError> {
    trial::run(files, wanted, &deployment_of(config)?, screen)
}

/// Has a server run tests, by its own rules and bounds.
pub(crate) async fn test_there(
    files: &[PathBuf],
    wanted: &trial::TrialArguments,
    client: &ApiClient,
    screen: &Screen,
) -> Result<(), CliError> {
    trial::run_there(files, wanted, client, screen).await
}

/// Runs a command that may need the server. `check` and `test` never do, and stand above.
pub(crate) async fn run(
    command: Command,
    client: &ApiClient,
    config: Option<&Path>,
    screen: &Screen,
) -> Result<(), CliError> {
    match command {
        Command::Check { files, strict } => check(&files, strict, config, screen),
        Command::Test { files, wanted } => test(&files, &wanted, config, screen),
        Command::Graph { source, format } => {
            draw::run(&source, format, client, &bounds_of(config)?, screen).await
        }
        Command::Diff { from, to } => compare::run(&from, &to, client, screen).await,
        Command::Watch(arguments) => watch::run(&arguments, client, config, screen).await,
        Command::Migrate(arguments) => migrate::run(&arguments, client, screen).await,
        Command::Apply { files, dry_run: true, .. } => {
            apply::run(&files, apply::Way::Try, client, screen).await
        }
        Command::Apply { files, if_match, .. } => {
            apply::run(&files, apply::Way::Store(if_match.as_deref()), client, screen).await
        }
        Command::List => list(client.all("/v1/scenarios").await?, screen),
        Command::Show { name } => show(&name, client, screen).await,
        Command::Versions { name } => {
            let path = format!("/v1/scenarios/{}/versions", percent_encode(&name));
            list(client.all(&path).await?, screen)
        }
    }
}

fn list(items: Vec<Value>, screen: &Screen) -> Result<(), CliError> {
    let items = json!({"items": items, "next": null});
    if screen.json {
        return screen.value(&items);
    }
    let versions: Versions = serde_json::from_value(items).map_err(anyhow::Error::from)?;
    if versions.items.is_empty() {
        screen.note("no scenarios; `pagurus scenario apply FILE` stores one");
        return Ok(());
    }
    screen.line(&listed(&versions.items, screen))
}

fn listed(versions: &[VersionEntry], screen: &Screen) -> String {
    let created = |version: &VersionEntry| version.created_at.map(time).unwrap_or_default();
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

async fn show(named: &ScenarioArgument, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    let reply = client.get(&named.path(), &named.query()).await?;
    if screen.json {
        let shown = json!({
            "scenario": named.name, "version": named.version, "tag": reply.tag, "text": reply.text,
        });
        return screen.value(&shown);
    }
    if let Some(tag) = &reply.tag {
        screen.note(&format!(
            "tag {tag}: `scenario apply --if-match {tag}` stores a text only if this is still the newest version"
        ));
    }
    screen.foreign(&reply.text)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn scn_13_a_version_stands_behind_the_name() {
        let named = |name: &str, version| Ok(ScenarioArgument { name: name.to_owned(), version });
        assert_eq!("s".parse::<ScenarioArgument>(), named("s", None));
        assert_eq!("s@2".parse::<ScenarioArgument>(), named("s", Some(2)));
        for bad in ["", "@1", "s@", "s@0", "s@new"] {
            assert!(bad.parse::<ScenarioArgument>().is_err(), "{bad}");
        }
    }

    #[test]
    fn lists_are_tables() {
        let text = r#"{"items": [{"scenario": "s", "version": 2, "createdAt": "2026-01-01T00:00:00Z"}]}"#;
        let versions: Versions = serde_json::from_str(text).unwrap();
        let shown = listed(&versions.items, &Screen::plain());
        assert_eq!(shown, "SCENARIO  VERSION  APPLIED\ns         2        2026-01-01T00:00:00.000Z");
        let versions: Versions =
            serde_json::from_str(r#"{"items": [{"version": 2, "createdAt": null}]}"#).unwrap();
        assert_eq!(listed(&versions.items, &Screen::plain()), "VERSION  APPLIED\n2");
    }
}
