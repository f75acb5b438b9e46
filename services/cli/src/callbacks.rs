//! `pagurus callbacks`: answers of called systems, and their outcomes.

use clap::{Args, ValueEnum};
use pagurus_wire::callbacks::CallbackLine;
use serde::Serialize;

use crate::client::ApiClient;
use crate::failure::CliError;
use crate::list::{List, text};
use crate::screen::{Screen, time};

/// Characters of a body that a table shows.
const SHOWN: usize = 60;

/// Callbacks to list, the newest first.
#[derive(Debug, Args, Serialize)]
pub(crate) struct Arguments {
    /// Only callbacks with this verdict
    #[arg(long, value_enum)]
    verdict: Option<VerdictFilter>,
    /// Only callbacks since this time: a time, or a duration back from now
    #[arg(long, value_name = "DURATION|TIME")]
    since: Option<String>,
    /// Number of callbacks to show
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    #[serde(skip)]
    limit: u32,
}

#[derive(Clone, Copy, Debug, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
enum VerdictFilter {
    /// The first answer to an open request
    Accepted,
    /// The request had been answered before
    Duplicate,
    /// The wait or the order had ended
    Late,
    /// No such request is known
    Orphan,
}

/// Answers of called systems.
const CALLBACKS: List<CallbackLine> = List {
    path: "/v1/callbacks",
    none: "no callbacks",
    hint: None,
    columns: &[
        ("RECEIVED", |callback| time(callback.received_at)),
        ("VERDICT", |callback| callback.verdict.clone()),
        ("ORDER", |callback| text(&callback.order)),
        ("NAMED", |callback| callback.named.clone()),
        ("STEP STATUS", |callback| text(&callback.step_status)),
        ("BODY", |callback| {
            let shown: String = callback.body.chars().take(SHOWN).collect();
            if shown.len() < callback.body.len() { shown + "…" } else { shown }
        }),
    ],
};

/// Runs the command.
pub(crate) async fn run(arguments: &Arguments, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    CALLBACKS.most(arguments, arguments.limit as usize, client, screen).await
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::list::table;

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
            table(CALLBACKS.columns, &[late, orphan], &Screen::plain()),
            format!(
                "RECEIVED                  VERDICT  ORDER  NAMED   STEP STATUS  BODY\n\
                 2026-01-02T11:05:00.000Z  late     o-1    r-1     ok           {}…\n\
                 2026-01-02T11:05:00.000Z  orphan          nobody               {{}}",
                "x".repeat(SHOWN)
            )
        );
    }
}
