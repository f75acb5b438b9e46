//! `pagurus errors restart | cancel | kill`: one action on every order of a group.
//!
//! The selection is frozen before the first order is touched, and each order is acted on only
//! while it still is in the status that it was selected for: what has moved on since is passed
//! over and counted, never started twice.

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Write as _};

use clap::Args;
use futures_util::StreamExt as _;
use pagurus_domain::order::Status;
use pagurus_wire::errors::ErrorOrder;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::Filter;
use super::list::orders;
use crate::client::{Client, order_path};
use crate::failure::{FAILED, Failure, REFUSED};
use crate::screen::{Progress, Screen};

/// Actions on their way at once: enough to hide the way to the server, too few to disturb it.
const AT_ONCE: usize = 8;
/// Orders that are shown before they are acted on.
const SHOWN: usize = 5;

/// What is done, to which orders.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    filter: Filter,
    /// Why, for the history of each order
    #[arg(long)]
    reason: String,
    /// Show how many orders it would be, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

/// An action, and the status of the orders that it is for.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// Failed orders begin a new life.
    Restart {
        /// The state to begin at.
        from: Option<String>,
    },
    /// Failed orders are given up.
    Cancel,
    /// Retrying orders are stopped.
    Kill,
}

impl Action {
    const fn word(&self) -> &'static str {
        match self {
            Self::Restart { .. } => "restart",
            Self::Cancel => "cancel",
            Self::Kill => "kill",
        }
    }

    const fn status(&self) -> Status {
        match self {
            Self::Restart { .. } | Self::Cancel => Status::Fail,
            Self::Kill => Status::Retry,
        }
    }
}

/// What came of it.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct Tally {
    total: usize,
    done: usize,
    /// Orders that were in another status by then.
    skipped: usize,
    failed: usize,
    /// Why some failed, each reason with the number of its orders.
    reasons: BTreeMap<String, usize>,
}

impl Tally {
    fn add(&mut self, outcome: Result<(), Failure>) {
        match outcome {
            Ok(()) => self.done += 1,
            Err(failure) if failure.code() == REFUSED => self.skipped += 1,
            Err(failure) => {
                self.failed += 1;
                *self.reasons.entry(failure.to_string()).or_default() += 1;
            }
        }
    }
}

/// Runs the command.
pub(crate) async fn run(
    action: &Action,
    arguments: &Arguments,
    client: &Client,
    screen: &Screen,
) -> Result<(), Failure> {
    let status = action.status();
    let selected = orders(status, &arguments.filter, None, client).await?.0;
    let mut tally = Tally { total: selected.len(), ..Tally::default() };
    if selected.is_empty() || arguments.dry_run {
        say_what(action, &selected, screen);
        return if screen.json { screen.value(&tally) } else { Ok(()) };
    }
    if !arguments.yes {
        say_what(action, &selected, screen);
        confirm(screen)?;
    }
    let body = body(action, &arguments.reason);
    let mut progress = Progress::new(selected.len(), screen);
    let mut outcomes = futures_util::stream::iter(&selected)
        .map(|order| async {
            let path = order_path(&order.id, action.word());
            client.patiently(None, || client.post(&path, &body)).await.map(|_| ())
        })
        .buffer_unordered(AT_ONCE);
    while let Some(outcome) = outcomes.next().await {
        tally.add(outcome);
        progress.step();
    }
    progress.end();
    if screen.json {
        screen.value(&tally)?;
    } else {
        screen.line(&told(action, &tally))?;
    }
    if tally.failed > 0 { Err(Failure::Reported(FAILED)) } else { Ok(()) }
}

/// The order must still be what it was selected for.
fn body(action: &Action, reason: &str) -> Value {
    let mut body = Map::new();
    body.insert("reason".to_owned(), reason.into());
    body.insert("ifStatus".to_owned(), action.status().as_str().into());
    if let Action::Restart { from: Some(from) } = action {
        body.insert("from".to_owned(), json!(from));
    }
    Value::Object(body)
}

fn say_what(action: &Action, selected: &[ErrorOrder], screen: &Screen) {
    let some: Vec<&str> = selected.iter().take(SHOWN).map(|order| order.id.as_str()).collect();
    let more = if selected.len() > SHOWN { ", …" } else { "" };
    let which = if some.is_empty() { String::new() } else { format!(": {}{more}", some.join(", ")) };
    screen.note(&format!(
        "{} {} in status {}{which}",
        action.word(),
        counted(selected.len()),
        action.status()
    ));
}

fn counted(orders: usize) -> String {
    if orders == 1 { "1 order".to_owned() } else { format!("{orders} orders") }
}

fn confirm(screen: &Screen) -> Result<(), Failure> {
    if screen.json || !std::io::stdin().is_terminal() {
        return Err(Failure::Usage("nobody can be asked here: say --yes, or --dry-run to see which".into()));
    }
    eprint!("go on? [y/N] ");
    std::io::stderr().flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    if matches!(answer.trim(), "y" | "Y" | "yes") { Ok(()) } else { Err(Failure::Reported(FAILED)) }
}

fn told(action: &Action, tally: &Tally) -> String {
    let mut told = format!("{}: {} of {} done", action.word(), tally.done, counted(tally.total));
    if tally.skipped > 0 {
        told.push_str(&format!(
            ", {} passed over because they are not in {} any more",
            tally.skipped,
            action.status()
        ));
    }
    if tally.failed > 0 {
        told.push_str(&format!(", {} failed", tally.failed));
    }
    for (reason, orders) in &tally.reasons {
        told.push_str(&format!("\n- {}: {}", counted(*orders), crate::screen::harmless(reason)));
    }
    told
}

#[cfg(test)]
mod tests {
    use pagurus_wire::problem::{Problem, Type};

    use super::*;

    #[test]
    fn err_14_a_bulk_action_says_what_came_of_each_order() {
        let mut tally = Tally { total: 5, ..Tally::default() };
        tally.add(Ok(()));
        tally.add(Ok(()));
        tally.add(Err(Problem::new(Type::Refused, "moved on").into()));
        for _ in 0..2 {
            tally.add(Err(Problem::new(Type::Invalid, "`x` is no state").into()));
        }
        let restart = Action::Restart { from: Some("x".to_owned()) };
        assert_eq!(
            told(&restart, &tally),
            "restart: 2 of 5 orders done, 1 passed over because they are not in fail any more, 2 failed\n\
             - 2 orders: `x` is no state"
        );
        assert_eq!(body(&restart, "mended"), json!({"reason": "mended", "ifStatus": "fail", "from": "x"}));
        assert_eq!(body(&Action::Kill, "wrong"), json!({"reason": "wrong", "ifStatus": "retry"}));
    }
}
