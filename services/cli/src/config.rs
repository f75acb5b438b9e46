//! `pagurus config …`: faults of a configuration, and what it comes to, without any server; and what a server
//! says that it runs.
//!
//! Never shows a secret: secret keys, constants of scenarios and passwords in URLs are hidden.

mod convert;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Subcommand;
use jiff::Timestamp;
use pagurus_domain::document::{self, DocumentLimits, DocumentNode, Fault};
use pagurus_domain::id::Role;
use pagurus_runtime::config;
use pagurus_runtime::start::{self, HostFacts};
use pagurus_wire::problem::{Problem, Type};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::client::ApiClient;
use crate::failure::{CliError, FAILED};
use crate::input;
use crate::screen::{Paint, Screen, harmless, time};

/// The file that is meant where none is named.
const FILE: &str = "pagurus.yaml";
/// Begin of the names of variables that set keys.
const PREFIX: &str = "PAGURUS__";
/// Stands for what must not be seen.
const HIDDEN: &str = "(hidden)";
/// Letters of a value in a line; longer ones go over several.
const WIDEST_VALUE: u16 = 80;

/// Commands about the configuration.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check a file and the environment, and report every fault that would keep a process from starting
    Check {
        /// YAML file; `-` is standard input [default: --config, or pagurus.yaml]
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        /// Check the file alone, if it is meant for another environment or host
        #[arg(long)]
        file_only: bool,
        /// Only faults that keep this service from starting: intake, dispatcher, activator, worker or notifier
        /// [default: all services]
        #[arg(long)]
        role: Option<Role>,
    },
    /// Convert an inventory of CRAB, with dotted and prefixed names, into a configuration, and list what has no counterpart
    Convert {
        /// YAML file, or a file with lines of names and values; `-` is standard input
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Show every key with its value and its source: file, environment, or default; with --server,
    /// the version that the process at that address runs
    Show {
        /// Show the defaults with their meanings instead, as a configuration file
        #[arg(long)]
        defaults: bool,
    },
}

/// The configuration that a process says it runs.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RunningConfig {
    version: Option<String>,
    snapshot: u64,
    read_at: Timestamp,
    refused: bool,
    needs_restart: Vec<String>,
}

/// Shows the configuration that a process runs; any process has the probe that tells it.
pub(crate) async fn show_running(client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    let state = client.probe("/readyz").await?.read::<Value>()?["configuration"].take();
    if screen.json {
        return screen.value(&state);
    }
    let running = serde_json::from_value(state)
        .context("the process reports no configuration; is it an older version?")?;
    screen.line(&table_of(&running, screen))
}

fn table_of(running: &RunningConfig, screen: &Screen) -> String {
    let row = [
        running.version.clone().unwrap_or_else(|| "(no file)".to_owned()),
        running.snapshot.to_string(),
        time(running.read_at),
        if running.refused { "yes: see its log".to_owned() } else { "no".to_owned() },
        running.needs_restart.join(", "),
    ];
    screen.table(&["VERSION", "SNAPSHOT", "READ", "REFUSED SINCE", "NEEDS RESTART"], &[row])
}

/// Runs a command.
pub(crate) fn run(command: Command, file: Option<&Path>, screen: &Screen) -> Result<(), CliError> {
    match command {
        Command::Check { file: named, file_only, role } => {
            let environment = if file_only { Ok(Vec::new()) } else { config::environment() };
            let roles = role.map_or_else(|| Role::ALL.to_vec(), |role| vec![role]);
            check(
                named.as_deref().or(file).unwrap_or(Path::new(FILE)),
                environment,
                (&roles, !file_only),
                screen,
            )
        }
        Command::Convert { file } => convert::run(&file, screen),
        Command::Show { defaults: true } if screen.json => show_values(None, &BTreeMap::new(), screen),
        Command::Show { defaults: true } => screen.foreign(&config::defaults_page()),
        Command::Show { defaults: false } => show(file, screen),
    }
}

/// The variables of the environment that set keys, or the faults of those that are no text.
type Environment = Result<Vec<(String, String)>, Vec<Fault>>;

fn check(
    path: &Path,
    environment: Environment,
    (roles, is_here): (&[Role], bool),
    screen: &Screen,
) -> Result<(), CliError> {
    let (name, text) = (input::name_of(path), input::text_of(path)?);
    let (variables, mut faults) = match environment {
        Ok(variables) => (variables, Vec::new()),
        Err(faults) => (Vec::new(), faults),
    };
    let here = is_here.then(HostFacts::of_this_process);
    faults.extend(start::check(&text, variables.clone().into_iter(), roles, here));
    let warnings =
        if faults.is_empty() { config::warnings(&text, variables.clone().into_iter()) } else { Vec::new() };
    name_variables(&mut faults);
    if screen.json {
        let errors = Problem::of_faults(Type::Invalid, &faults).errors;
        screen.value(&json!({"file": name, "faults": errors, "warnings": warnings}))?;
    } else if faults.is_empty() {
        for warning in &warnings {
            screen.line(&format!("{} {}", screen.paint(Paint::Under, "warning:"), harmless(warning)))?;
        }
        let with = match variables.len() {
            0 => String::new(),
            1 => " with one environment variable".to_owned(),
            count => format!(" with {count} environment variables"),
        };
        screen.line(&format!("{} {}{with}", screen.paint(Paint::Good, "ok"), harmless(&name)))?;
    } else {
        let explained = pagurus_scenario::source::explain_faults(&text, &name, &faults);
        let count = screen.paint(Paint::Bad, &format!("faults: {}", faults.len()));
        screen.line(&format!("{explained}\n{}: {count}", harmless(&name)))?;
    }
    if faults.is_empty() { Ok(()) } else { Err(CliError::Reported(FAILED)) }
}

fn show(path: Option<&Path>, screen: &Screen) -> Result<(), CliError> {
    let file =
        path.map(|path| Ok::<_, CliError>((input::name_of(path), input::text_of(path)?))).transpose()?;
    let environment = config::environment();
    let loaded = environment.clone().and_then(|environment| config::load(path, environment.into_iter()));
    if let Err(mut faults) = loaded {
        name_variables(&mut faults);
        let (name, text) = file.as_ref().map_or(("(environment)", ""), |(name, text)| (name, text));
        if screen.json {
            return Err(Problem::of_faults(Type::Invalid, &faults).into());
        }
        let report = pagurus_scenario::source::explain_faults(text, name, &faults);
        return Err(CliError::Input(format!("the configuration is not valid\n{report}")));
    }
    let variables: BTreeMap<String, String> =
        environment.into_iter().flatten().filter(|(_, value)| !value.is_empty()).collect();
    show_values(file.as_ref().map(|(name, text)| (&**name, &**text)), &variables, screen)
}

/// Puts the names of variables into the faults of their values, for which no line of a file can be shown.
fn name_variables(faults: &mut [Fault]) {
    let is_variable = |fault: &&mut Fault| !fault.pointer.is_empty() && !fault.pointer.starts_with('/');
    for fault in faults.iter_mut().filter(is_variable) {
        fault.message = format!("{}: {}", fault.pointer, fault.message);
    }
}

fn show_values(
    file: Option<(&str, &str)>,
    variables: &BTreeMap<String, String>,
    screen: &Screen,
) -> Result<(), CliError> {
    let lines = effective(file, variables);
    if screen.json {
        let values: Vec<Value> = lines
            .iter()
            .map(|line| json!({"key": line.key, "value": line.value, "origin": line.origin}))
            .collect();
        return screen.value(&values);
    }
    let rows: Vec<[String; 3]> = lines
        .into_iter()
        .map(|line| {
            let value = match &line.value {
                Value::Null => "~".to_owned(),
                Value::String(text) => text.clone(),
                value => value.to_string(),
            };
            [line.key, value, line.origin]
        })
        .collect();
    screen.line(&screen.table_within(&["KEY", "VALUE", "FROM"], &rows, WIDEST_VALUE))
}

/// A key with what it comes to.
#[derive(Debug, PartialEq)]
struct Line {
    key: String,
    value: Value,
    origin: String,
}

/// Every key of the page of defaults with its value: the environment goes before the file.
fn effective(file: Option<(&str, &str)>, variables: &BTreeMap<String, String>) -> Vec<Line> {
    let parsed = |text: &str| document::parse(text, &DocumentLimits::default()).ok();
    let tree = file.and_then(|(name, text)| Some((name, parsed(text)?)));
    let defaults = parsed(&config::defaults_page());
    let mut keys = Vec::new();
    if let Some(defaults) = &defaults {
        leaves("", defaults, &mut keys);
    }
    let mut lines = Vec::new();
    for (key, default) in keys {
        let in_file = tree.as_ref().and_then(|(name, tree)| Some((*name, at(tree, &key)?)));
        let variable = variable_of(&key);
        let secret_file = format!("{variable}_FILE");
        let (value, origin) = if variables.contains_key(&secret_file) {
            (json!(HIDDEN), secret_file)
        } else if let Some(value) = variables.get(&variable) {
            (json!(value), variable.clone())
        } else if let Some((name, node)) = in_file {
            (node.to_json(), format!("{name}:{}", node.at.line))
        } else {
            (default.to_json(), "default".to_owned())
        };
        lines.push(Line { value: hide(&key, value), key: key.clone(), origin });
        // Trees can be filled from the environment branch by branch.
        let branch = format!("{variable}__");
        for (name, value) in variables.iter().filter(|(name, _)| name.starts_with(&branch)) {
            let key = name[PREFIX.len()..].split("__").collect::<Vec<_>>().join(".").to_lowercase();
            lines.push(Line { value: hide(&key, json!(value)), key, origin: name.clone() });
        }
    }
    lines
}

fn leaves<'a>(path: &str, node: &'a DocumentNode, keys: &mut Vec<(String, &'a DocumentNode)>) {
    for (key, value) in node.as_map().unwrap_or_default() {
        let inner = if path.is_empty() { key.name.clone() } else { format!("{path}.{}", key.name) };
        if value.as_map().is_some_and(|entries| !entries.is_empty()) {
            leaves(&inner, value, keys);
        } else {
            keys.push((inner, value));
        }
    }
}

fn at<'a>(tree: &'a DocumentNode, key: &str) -> Option<&'a DocumentNode> {
    key.split('.').try_fold(tree, |node, part| node.get(part)).filter(|node| !node.is_null())
}

fn variable_of(key: &str) -> String {
    format!("{PREFIX}{}", key.replace('.', "__").to_uppercase())
}

fn hide(key: &str, value: Value) -> Value {
    let is_hidden = key == "config" || key.starts_with("config.") || config::is_hidden(key);
    match value {
        Value::Object(map) => {
            let inner = |name: &str| format!("{key}.{name}");
            Value::Object(
                map.into_iter().map(|(name, value)| (name.clone(), hide(&inner(&name), value))).collect(),
            )
        }
        Value::Null => Value::Null,
        _ if is_hidden => json!(HIDDEN),
        Value::String(text) => Value::String(without_password(&text)),
        value => value,
    }
}

/// A URL without its password, any other text as it is.
fn without_password(text: &str) -> String {
    if text.to_lowercase().contains("password=") {
        return HIDDEN.to_owned();
    }
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    // The last one: a user who forgot to encode an `@` in the password shall not see half of it.
    let Some((user, host)) = rest.rsplit_once('@') else { return text.to_owned() };
    match user.split_once(':') {
        Some((user, _)) => format!("{scheme}://{user}:***@{host}"),
        None => text.to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn line(lines: &[Line], key: &str) -> (Value, String) {
        let found = lines.iter().find(|line| line.key == key).unwrap();
        (found.value.clone(), found.origin.clone())
    }

    #[test]
    fn every_key_of_the_defaults_is_shown() {
        let lines = effective(None, &BTreeMap::new());
        assert_eq!(line(&lines, "activation.precision"), (json!("100ms"), "default".into()));
        assert_eq!(line(&lines, "worker.http.timeout"), (json!("30s"), "default".into()));
        assert_eq!(line(&lines, "config").0, json!({}));
    }

    #[test]
    fn the_environment_goes_before_the_file_and_both_before_defaults() {
        let text = "activation:\n  precision: 1s\n  batch: 7\nconfig:\n  demo: http://demo\n";
        let variables = BTreeMap::from([
            ("PAGURUS__ACTIVATION__BATCH".to_owned(), "9".to_owned()),
            ("PAGURUS__CONFIG__TOKEN".to_owned(), "secret".to_owned()),
            ("PAGURUS__BROKER__URL_FILE".to_owned(), "/run/secrets/broker".to_owned()),
        ]);
        let lines = effective(Some(("p.yaml", text)), &variables);
        assert_eq!(line(&lines, "activation.precision"), (json!("1s"), "p.yaml:2".into()));
        assert_eq!(line(&lines, "activation.batch"), (json!("9"), "PAGURUS__ACTIVATION__BATCH".into()));
        assert_eq!(line(&lines, "config").0, json!({"demo": HIDDEN}));
        assert_eq!(line(&lines, "config.token"), (json!(HIDDEN), "PAGURUS__CONFIG__TOKEN".into()));
        assert_eq!(line(&lines, "broker.url"), (json!(HIDDEN), "PAGURUS__BROKER__URL_FILE".into()));
    }

    #[test]
    fn qlt_15_secret_keys_are_hidden_wherever_they_come_from() {
        let keys = effective(None, &BTreeMap::new()).into_iter().map(|line| line.key);
        let secrets: Vec<String> = keys.filter(|key| config::is_hidden(key)).collect();
        assert!(secrets.iter().any(|key| key == "access.oidc.client_secret"), "{secrets:?}");
        for key in secrets.iter().map(String::as_str) {
            let [section, name, last] = key.split('.').collect::<Vec<_>>()[..] else { panic!("{key}") };
            let text = format!("{section}: {{{name}: {{{last}: hunter2}}}}");
            let in_file = effective(Some(("p.yaml", &text)), &BTreeMap::new());
            assert_eq!(line(&in_file, key), (json!(HIDDEN), "p.yaml:1".into()));
            let variables = BTreeMap::from([(variable_of(key), "hunter2".to_owned())]);
            assert_eq!(line(&effective(None, &variables), key), (json!(HIDDEN), variable_of(key)));
        }
    }

    #[test]
    fn what_a_process_runs_is_a_table() {
        let value = json!({"version": "ba7816bf8f01", "snapshot": 2, "readAt": "2026-01-01T00:00:00Z",
            "refused": true, "needsRestart": ["broker.prefix", "node.name"]});
        let shown = table_of(&serde_json::from_value(value).unwrap(), &Screen::plain());
        assert_eq!(
            shown.lines().last(),
            Some(
                "ba7816bf8f01  2         2026-01-01T00:00:00.000Z  yes: see its log  broker.prefix, node.name"
            )
        );
    }

    #[test]
    fn passwords_in_urls_are_hidden() {
        let cases = [
            ("postgres://u:p@h:5432/d", "postgres://u:***@h:5432/d"),
            ("amqp://u:p@ss@h/%2f", "amqp://u:***@h/%2f"),
            ("amqp://127.0.0.1:5672/%2f", "amqp://127.0.0.1:5672/%2f"),
            ("postgres://u@h/d", "postgres://u@h/d"),
            ("postgres:///d?user=u&password=p", HIDDEN),
            ("plain: text", "plain: text"),
        ];
        for (text, shown) in cases {
            assert_eq!(without_password(text), shown);
        }
    }
}
