//! `pagurus order answer`: plays the answer of a called system by hand.

use clap::Args;
use pagurus_domain::scenario::value::percent_encode;
use pagurus_wire::order::StatusView;
use serde_json::{Value, json};

use crate::client::{Client, order_path};
use crate::failure::Failure;
use crate::input;
use crate::screen::{Screen, harmless};

/// An answer by hand.
#[derive(Debug, Args)]
pub(crate) struct AnswerArguments {
    /// Id of the order
    id: String,
    /// Name of the request, as its scenario has it
    request: String,
    /// Answer that the called system would have given: JSON, or @FILE
    #[arg(long, value_name = "JSON")]
    body: Option<String>,
    /// Status of its step, for rules that judge by it
    #[arg(long, value_name = "TEXT")]
    step_status: Option<String>,
    /// Why, for the history
    #[arg(long)]
    reason: String,
}

pub(super) async fn run(
    arguments: &AnswerArguments,
    client: &Client,
    screen: &Screen,
) -> Result<(), Failure> {
    let mut asked = json!({"reason": arguments.reason});
    if let Some(body) = &arguments.body {
        asked["body"] = input::value_of("--body", body)?;
    }
    if let Some(status) = &arguments.step_status {
        asked["stepStatus"] = Value::from(status.as_str());
    }
    let part = format!("requests/{}/answer", percent_encode(&arguments.request));
    let reply = client.post(&order_path(&arguments.id, &part), &asked).await?;
    if screen.json {
        return screen.document(&reply.text);
    }
    let view: StatusView = reply.read()?;
    screen.line(&format!("{} is in status {}", harmless(&view.id), screen.status(&view.status)))
}
