//! `pagurus scenario migrate`: asks the server, page by page, and adds up what it answers.

use std::collections::BTreeMap;

use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};

use super::ScenarioArgument;
use crate::client::ApiClient;
use crate::failure::{CliError, FAILED};
use crate::screen::{Screen, harmless};

/// Orders that are to be moved.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of the scenario
    name: String,
    /// Present version of the orders
    #[arg(long, value_name = "VERSION")]
    from: u32,
    /// Version to move them to
    #[arg(long, value_name = "VERSION")]
    to: u32,
    /// Move the orders; without this, only show what would happen
    #[arg(long)]
    apply: bool,
    /// Reason, for the history of the orders
    #[arg(long)]
    reason: Option<String>,
}

#[derive(Debug, Deserialize)]
struct MigrationPage {
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
    moved: u64,
    left: u64,
    reasons: BTreeMap<String, (u64, Vec<String>)>,
}

impl Sum {
    fn add(&mut self, answer: MigrationPage) {
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
    let path = format!("{}/migrate", ScenarioArgument { name: arguments.name.clone(), version: None }.path());
    let mut sum = Sum::default();
    let mut after: Option<String> = None;
    loop {
        let body = json!({
            "from": arguments.from, "to": arguments.to, "apply": arguments.apply,
            "reason": arguments.reason, "after": after,
        });
        let answer: MigrationPage = client.post(&path, &body).await?.read()?;
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

fn value_of(arguments: &Arguments, sum: &Sum) -> Value {
    let reasons: Vec<Value> = sum
        .reasons
        .iter()
        .map(|(reason, (orders, examples))| json!({"reason": reason, "orders": orders, "examples": examples}))
        .collect();
    json!({
        "scenario": arguments.name, "from": arguments.from, "to": arguments.to,
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
    if !arguments.apply && sum.moved > 0 {
        let name = harmless(&arguments.name);
        lines.push(format!("Nothing was changed. `--apply` moves the orders of `{name}`."));
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
        sum.add(answer(r#"{"moved": 2, "left": 1, "reasons": [{"reason": "no state", "orders": 1, "examples": ["a"]}], "next": "7"}"#));
        sum.add(answer(r#"{"moved": 1, "left": 2, "reasons": [{"reason": "no state", "orders": 2, "examples": ["b"]}], "next": null}"#));
        let arguments = Arguments { name: "s".to_owned(), from: 1, to: 2, apply: false, reason: None };
        assert_eq!(
            summary(&arguments, &sum, &Screen::plain()),
            "orders that would be moved: 3\norders that would stay: 3\nORDERS  WHY       FOR EXAMPLE\n\
             3       no state  a\nNothing was changed. `--apply` moves the orders of `s`."
        );
        assert_eq!(value_of(&arguments, &sum)["reasons"][0]["orders"], 3);
    }
}
