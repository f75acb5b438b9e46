//! `pagurus scenario diff`: what is different between two texts, and what orders would lose by it.

use std::path::Path;

use pagurus_scenario::source::{explain_faults, operations_run_by};
use pagurus_workbench::diff::{Difference, ValueChange, diff};
use serde_json::{Value, json};

use super::library::Libraries;
use crate::client::ApiClient;
use crate::failure::CliError;
use crate::screen::{Paint, Screen, harmless};

/// Characters of a changed value that people are shown.
const SHOWN: usize = 100;

/// Compares two scenarios; that they differ is no failure.
pub(super) async fn run(from: &str, to: &str, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    let (old, new) = (super::text_of(from, client).await?, super::text_of(to, client).await?);
    let mut difference = diff(&old, &new).map_err(|(which, faults)| {
        let (name, text) = if which == 1 { (from, &old) } else { (to, &new) };
        CliError::Input(explain_faults(text, name, &faults))
    })?;
    difference.whole.extend(of_operations((from, &old), (to, &new))?);
    if screen.json {
        return screen.value(&value_of(&difference));
    }
    screen.line(&summary(&difference, screen))
}

/// Differences between the operations that both texts run, where these are files.
fn of_operations(from: (&str, &str), to: (&str, &str)) -> Result<Vec<ValueChange>, CliError> {
    let (mut before, mut after) = (Libraries::of(&[]), Libraries::of(&[]));
    let before = operations_run_by(from.1, before.beside(Path::new(from.0), from.1)?);
    let after = operations_run_by(to.1, after.beside(Path::new(to.0), to.1)?);
    let mut changes = Vec::new();
    for (name, old) in &before {
        let Some(new) = after.get(name).filter(|new| *new != old) else { continue };
        // What cannot be read is a matter of `check`.
        let Ok(difference) = diff(old, new) else { continue };
        let of_operation = |change: ValueChange| ValueChange {
            place: format!("operation {name}: {}", change.place),
            ..change
        };
        changes.extend(difference.whole.into_iter().map(of_operation));
    }
    Ok(changes)
}

fn value_of(difference: &Difference) -> Value {
    let change = |change: &ValueChange| json!({"place": change.place, "from": change.from, "to": change.to});
    let changes = |changes: &[ValueChange]| changes.iter().map(change).collect::<Vec<_>>();
    let states = difference.changed.iter();
    json!({
        "added": difference.added,
        "removed": difference.removed,
        "changed": states.map(|one| json!({"state": one.state, "changes": changes(&one.changes)})).collect::<Vec<_>>(),
        "whole": changes(&difference.whole),
    })
}

fn summary(difference: &Difference, screen: &Screen) -> String {
    if difference.is_empty() {
        return "no difference".to_owned();
    }
    let mut lines = Vec::new();
    for change in &difference.whole {
        lines.push(format!("  {}", line(change)));
    }
    for state in &difference.added {
        lines.push(screen.paint(Paint::Good, &format!("+ state {}", harmless(state))));
    }
    for state in &difference.removed {
        lines.push(screen.paint(Paint::Bad, &format!("- state {}", harmless(state))));
    }
    for one in &difference.changed {
        lines.push(format!("~ state {}", harmless(&one.state)));
        lines.extend(one.changes.iter().map(|change| format!("    {}", line(change))));
    }
    if !difference.removed.is_empty() {
        lines.push(String::new());
        let states: Vec<String> = difference.removed.iter().map(|state| harmless(state)).collect();
        let warning = "Orders in one of these states cannot be moved to the second version";
        lines.push(format!("{warning}: {}", states.join(", ")));
    }
    lines.join("\n")
}

fn line(change: &ValueChange) -> String {
    let short = |value: &Value| {
        let text = value.to_string();
        let mut letters = text.chars();
        let mut short: String = letters.by_ref().take(SHOWN).collect();
        if letters.next().is_some() {
            short.push('…');
        }
        short
    };
    let shown = match (&change.from, &change.to) {
        (Some(from), Some(to)) => format!("{}: {} -> {}", change.place, short(from), short(to)),
        (Some(from), None) => format!("{}: {} is gone", change.place, short(from)),
        (None, Some(to)) => format!("{}: {} is new", change.place, short(to)),
        (None, None) => change.place.clone(),
    };
    harmless(&shown)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn scn_13_a_difference_names_the_states_that_orders_would_lose() {
        let old = "states: {a: {on: {success: b}}, b: {kind: terminal}}";
        let new = "states: {a: {on: {success: c}}, c: {kind: terminal}}\ntargetStates: [c]";
        let text = summary(&diff(old, new).unwrap(), &Screen::plain());
        assert_eq!(
            text,
            "  targetStates: [\"c\"] is new\n+ state c\n- state b\n~ state a\n    on.success: \"b\" -> \"c\"\n\n\
             Orders in one of these states cannot be moved to the second version: b"
        );
        assert_eq!(summary(&diff(old, old).unwrap(), &Screen::plain()), "no difference");
        assert_eq!(value_of(&diff(old, new).unwrap())["removed"], json!(["b"]));
    }
}
