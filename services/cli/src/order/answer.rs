//! `pagurus order answer`: plays the answer of a called system by hand.

use clap::Args;
use pagurus_scenario::value::percent_encode;
use pagurus_wire::order::StatusView;
use serde::Serialize;

use super::standing;
use crate::client::{ApiClient, order_path};
use crate::failure::CliError;
use crate::input;
use crate::screen::Screen;

/// An answer by hand.
#[derive(Debug, Args, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AnswerArguments {
    /// Id of the order
    #[serde(skip)]
    id: String,
    /// Name of the request, as in the scenario
    #[serde(skip)]
    request: String,
    /// Answer, as the called system would have given it: JSON, or @FILE
    #[arg(long, value_name = "JSON")]
    #[serde(skip)]
    body: Option<String>,
    /// Step status of the answer, for error rules that check it
    #[arg(long, value_name = "TEXT")]
    step_status: Option<String>,
    /// Reason, for the history
    #[arg(long)]
    reason: String,
}

pub(super) async fn run(
    arguments: &AnswerArguments,
    client: &ApiClient,
    screen: &Screen,
) -> Result<(), CliError> {
    let mut asked = input::given(arguments)?;
    if let Some(body) = &arguments.body {
        asked.insert("body".to_owned(), input::value_of("--body", body)?);
    }
    let part = format!("requests/{}/answer", percent_encode(&arguments.request));
    let reply = client.post(&order_path(&arguments.id, &part), &asked).await?;
    reply.show(screen, |view: &StatusView| {
        format!("answer accepted; {}", standing(&view.id, &view.status, screen))
    })
}
