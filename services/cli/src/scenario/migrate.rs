//! `pagurus scenario migrate`: asks the server, page by page, and adds up what it answers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use pagurus_scenario::value::percent_encode;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::ScenarioArgument;
use super::apply::scenario_name;
use crate::client::ApiClient;
use crate::failure::{CliError, FAILED};
use crate::input::text_of;
use crate::screen::{Screen, harmless};

/// Orders that are to be moved.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of the scenario
    name: String,
    /// Present version of the orders
    #[arg(long, value_name = "VERSION")]
    from: u32,
    /// Version to move them to, or the file of a scenario that is not applied, to only show what would happen
    #[arg(long, value_name = "VERSION|FILE")]
    to: NewVersion,
    /// Move the orders; without this, only show what would happen
    #[arg(long)]
    apply: bool,
    /// Reason, for the history of the orders
    #[arg(long)]
    reason: Option<String>,
}

/// Version that the orders are to run: a stored one, or a file that is not applied.
#[derive(Clone, Debug, PartialEq, Eq)]
enum NewVersion {
    Version(u32),
    File(PathBuf),
}

impl From<&str> for NewVersion {
    /// A number is a version, all else names a file.
    fn from(text: &str) -> Self {
        text.parse().map_or_else(|_| Self::File(text.into()), Self::Version)
    }
}

#[derive(Debug, Deserialize)]
struct MigrationPage {
    to: u32,
    moved: u64,
    left: u64,
    reasons: Vec<Reason>,
    next: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Reason {
    reason: String,
    orders: u64,
    examples: Vec<String>,
}

/// The sum of all pages.
#[derive(Debug, Default)]
struct Sum {
    to: u32,
    moved: u64,
    left: u64,
    reasons: BTreeMap<String, (u64, Vec<String>)>,
}

impl Sum {
    fn add(&mut self, answer: MigrationPage) {
        self.to = answer.to;
        self.moved += answer.moved;
        self.left += answer.left;
        for one in answer.reasons {
            let (orders, examples) = self.reasons.entry(one.reason).or_default();
            *orders += one.orders;
            if examples.is_empty() {
                *examples = one.examples;
            }
        }
    }
}

/// Moves the orders, or tells what would be moved. Orders that stay decide the exit code only where
/// they were to be moved.
pub(super) async fn run(arguments: &Arguments, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    let text = match &arguments.to {
        NewVersion::File(file) => text_to_look_at(arguments, file)?,
        NewVersion::Version(_) => String::new(),
    };
    let mut sum = Sum::default();
    let mut after: Option<String> = None;
    loop {
        let answer = page(arguments, &text, after.as_deref(), client).await?;
        after = answer.next.clone();
        sum.add(answer);
        if after.is_none() {
            break;
        }
        screen.note(&format!("orders so far: {}", sum.moved + sum.left));
    }
    if screen.json {
        screen.value(&value_of(arguments, &sum))?;
    } else {
        screen.line(&summary(arguments, &sum, screen))?;
    }
    if arguments.apply && sum.left > 0 { Err(CliError::Reported(FAILED)) } else { Ok(()) }
}

/// Text of a scenario that is not applied.
fn text_to_look_at(arguments: &Arguments, file: &Path) -> Result<String, CliError> {
    let shown = file.display();
    if arguments.apply {
        let message = format!("`{shown}` is not applied yet: run `pagurus scenario apply {shown}` first");
        return Err(CliError::Usage(message));
    }
    let text = text_of(file)?;
    match scenario_name(&text) {
        Ok(name) if name != arguments.name => {
            let name = harmless(&name);
            Err(CliError::Usage(format!("`{shown}` is the scenario `{name}`, not `{}`", arguments.name)))
        }
        // The server knows what is wrong with a text.
        _ => Ok(text),
    }
}

/// Page of the answer that follows the one before.
async fn page(
    arguments: &Arguments,
    text: &str,
    after: Option<&str>,
    client: &ApiClient,
) -> Result<MigrationPage, CliError> {
    let Arguments { name, from, to, apply, reason } = arguments;
    let answer = match to {
        NewVersion::Version(to) => {
            let path = format!("{}/migrate", ScenarioArgument { name: name.clone(), version: None }.path());
            let body = json!({"from": from, "to": to, "apply": apply, "reason": reason, "after": after});
            client.post(&path, &body).await?
        }
        NewVersion::File(_) => {
            let after = after.map(|after| format!("&after={}", percent_encode(after))).unwrap_or_default();
            let path = format!("/v1/scenarios/migration?from={from}{after}");
            client.send_text(Method::POST, &path, "application/yaml", text.to_owned()).await?
        }
    };
    answer.read()
}

fn value_of(arguments: &Arguments, sum: &Sum) -> Value {
    let reasons: Vec<Value> = sum
        .reasons
        .iter()
        .map(|(reason, (orders, examples))| json!({"reason": reason, "orders": orders, "examples": examples}))
        .collect();
    json!({
        "scenario": arguments.name, "from": arguments.from, "to": sum.to,
        "applied": arguments.apply, "moved": sum.moved, "left": sum.left, "reasons": reasons,
    })
}

fn summary(arguments: &Arguments, sum: &Sum, screen: &Screen) -> String {
    let (did, not) = if arguments.apply { ("moved", "stayed") } else { ("would be moved", "would stay") };
    let mut lines =
        vec![format!("orders that {did}: {}", sum.moved), format!("orders that {not}: {}", sum.left)];
    if !sum.reasons.is_empty() {
        let row = |(reason, (orders, examples)): (&String, &(u64, Vec<String>))| {
            [orders.to_string(), reason.clone(), examples.join(" ")]
        };
        let rows: Vec<[String; 3]> = sum.reasons.iter().map(row).collect();
        lines.push(screen.table(&["ORDERS", "WHY", "FOR EXAMPLE"], &rows));
    }
    let name = harmless(&arguments.name);
    match &arguments.to {
        NewVersion::Version(_) if !arguments.apply && sum.moved > 0 => {
            lines.push(format!("Nothing was changed. `--apply` moves the orders of `{name}`."));
        }
        NewVersion::File(_) => lines.push(format!("The text would be version {} of `{name}`.", sum.to)),
        NewVersion::Version(_) => {}
    }
    lines.join("\n")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn scn_13_pages_are_added_up() {
        let answer = |text: &str| serde_json::from_str::<MigrationPage>(text).unwrap();
        let mut sum = Sum::default();
        sum.add(answer(r#"{"to": 2, "moved": 2, "left": 1, "reasons": [{"reason": "no state", "orders": 1, "examples": ["a"]}], "next": "7"}"#));
        sum.add(answer(r#"{"to": 2, "moved": 1, "left": 2, "reasons": [{"reason": "no state", "orders": 2, "examples": ["b"]}], "next": null}"#));
        let to =
            |to: &str| Arguments { name: "s".to_owned(), from: 1, to: to.into(), apply: false, reason: None };
        let arguments = to("2");
        assert_eq!(
            summary(&arguments, &sum, &Screen::plain()),
            "orders that would be moved: 3\norders that would stay: 3\nORDERS  WHY       FOR EXAMPLE\n\
             3       no state  a\nNothing was changed. `--apply` moves the orders of `s`."
        );
        assert_eq!(value_of(&arguments, &sum)["reasons"][0]["orders"], 3);
        let of_text = summary(&to("new.yaml"), &sum, &Screen::plain());
        assert_eq!(of_text.lines().last(), Some("The text would be version 2 of `s`."));
    }
}
