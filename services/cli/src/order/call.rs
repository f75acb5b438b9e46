//! `pagurus order call`: asks a live order something, or tells it, and shows what it answers.

use std::time::Duration;

use clap::Args;
use pagurus_domain::classes::UNCLASSIFIED;
use pagurus_wire::message::CallView;
use serde::Serialize;
use serde_json::Value;

use crate::client::{ApiClient, order_path};
use crate::failure::{CliError, FAILED, NOT_YET};
use crate::input;
use crate::screen::{Screen, harmless};

/// A call to a live order.
#[derive(Debug, Args, Serialize)]
pub(crate) struct CallArguments {
    /// Id of the order
    #[serde(skip)]
    id: String,
    /// Name of the call, as in the scenario
    name: String,
    /// Body of the call: a JSON object, or @FILE
    #[arg(long, value_name = "JSON")]
    #[serde(skip)]
    body: Option<String>,
    /// Key that makes a repeat of the same call safe [default: a new one]
    #[arg(long)]
    key: Option<String>,
    /// Reason for the audit log
    #[arg(long)]
    reason: Option<String>,
    /// Longest wait for the answer, such as `30s`
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = input::parse_duration)]
    #[serde(skip)]
    timeout: Duration,
}

pub(super) async fn run(
    arguments: &CallArguments,
    client: &ApiClient,
    screen: &Screen,
) -> Result<(), CliError> {
    let mut asked = input::given(arguments)?;
    asked.extend(input::object_field("body", arguments.body.as_ref())?);
    let path = format!("{}?timeout={}ms", order_path(&arguments.id, "calls"), arguments.timeout.as_millis());
    let reply = client.post_waiting(&path, &asked, arguments.timeout).await?;
    let call: CallView = reply.read()?;
    if screen.json {
        screen.document(&reply.text)?;
        return end_of(&call);
    }
    match (answer_of(&call), &call.error) {
        (Some(answer), _) => screen.line(&harmless(&answer.to_string()))?,
        (None, Some(error)) => {
            let class = error.class.as_deref().unwrap_or(UNCLASSIFIED);
            screen.line(&format!("failed ({}): {}", harmless(class), harmless(&error.message)))?;
        }
        (None, None) => screen.note(&format!("no answer yet; ask again with --key {}", harmless(&call.key))),
    }
    end_of(&call)
}

/// The answer; one that the scenario left out is null.
fn answer_of(call: &CallView) -> Option<Value> {
    let is_answered = call.answered_at.is_some() && call.error.is_none();
    is_answered.then(|| call.answer.clone().unwrap_or_default())
}

/// Exit code that tells of a call.
fn end_of(call: &CallView) -> Result<(), CliError> {
    match (answer_of(call), &call.error) {
        (Some(_), _) => Ok(()),
        (None, Some(_)) => Err(CliError::Reported(FAILED)),
        (None, None) => Err(CliError::Reported(NOT_YET)),
    }
}
