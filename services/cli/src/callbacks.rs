//! `pagurus callbacks`: what called systems answered, and what became of it.

use clap::{Args, ValueEnum};
use pagurus_wire::callbacks::CallbackLine;
use pagurus_wire::order::Page;

use crate::client::Client;
use crate::failure::Failure;
use crate::screen::{Screen, time};

/// Characters of a body that a table shows.
const SHOWN: usize = 60;

/// Which callbacks to list, the newest first.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Only those of which this became
    #[arg(long, value_enum)]
    verdict: Option<Verdict>,
    /// From when on: a duration back from now, or a time
    #[arg(long, value_name = "DURATION|TIME")]
    since: Option<String>,
    /// Callbacks to show
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Verdict {
    /// The first answer to an open request
    Accepted,
    /// The request was answered before
    Duplicate,
    /// The wait was over, or the order was
    Late,
    /// Nobody asked
    Orphan,
}

impl Verdict {
    const fn word(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Duplicate => "duplicate",
            Self::Late => "late",
            Self::Orphan => "orphan",
        }
    }
}

/// Runs the command.
pub(crate) async fn run(arguments: &Arguments, client: &Client, screen: &Screen) -> Result<(), Failure> {
    let (items, more) = callbacks(arguments, client).await?;
    if screen.json {
        return screen.value(&Page { items, next: None });
    }
    if items.is_empty() {
        screen.note("no callbacks");
        return Ok(());
    }
    screen.line(&listed(&items, screen))?;
    if more {
        screen.note("there are more: --limit shows them");
    }
    Ok(())
}

/// As many callbacks as are wanted, and whether there are more.
async fn callbacks(asked: &Arguments, client: &Client) -> Result<(Vec<CallbackLine>, bool), Failure> {
    let verdict = asked.verdict.map(|verdict| ("verdict", verdict.word().to_owned()));
    let since = asked.since.clone().map(|since| ("since", since));
    let conditions: Vec<(&str, String)> = verdict.into_iter().chain(since).collect();
    let page = client.list("/v1/callbacks", &conditions, Some(asked.limit as usize)).await?;
    Ok((page.items, page.next.is_some()))
}

fn listed(items: &[CallbackLine], screen: &Screen) -> String {
    let rows: Vec<[String; 6]> = items
        .iter()
        .map(|callback| {
            let mut body: String = callback.body.chars().take(SHOWN).collect();
            if body.len() < callback.body.len() {
                body.push('…');
            }
            [
                time(callback.received_at),
                callback.verdict.clone(),
                callback.order.clone().unwrap_or_default(),
                callback.named.clone(),
                callback.step_status.clone().unwrap_or_default(),
                body,
            ]
        })
        .collect();
    screen.table(&["RECEIVED", "VERDICT", "ORDER", "NAMED", "STEP STATUS", "BODY"], &rows)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn scn_7_callbacks_are_a_table() {
        let late = CallbackLine {
            no: 2,
            received_at: "2026-01-02T11:05:00Z".parse().unwrap(),
            verdict: "late".into(),
            request: Some("r-1".into()),
            named: "r-1".into(),
            order: Some("o-1".into()),
            step_status: Some("ok".into()),
            body: "x".repeat(SHOWN + 1),
            body_bytes: 61,
        };
        let orphan = CallbackLine {
            verdict: "orphan".into(),
            request: None,
            named: "nobody".into(),
            order: None,
            step_status: None,
            body: "{}".into(),
            ..late.clone()
        };
        assert_eq!(
            listed(&[late, orphan], &Screen::plain()),
            format!(
                "RECEIVED              VERDICT  ORDER  NAMED   STEP STATUS  BODY\n\
                 2026-01-02 11:05:00Z  late     o-1    r-1     ok           {}…\n\
                 2026-01-02 11:05:00Z  orphan          nobody               {{}}",
                "x".repeat(SHOWN)
            )
        );
    }
}
