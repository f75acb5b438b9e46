//! `pagurus refused`: messages that can never be handled as they are, and decisions about them.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command as Program;

use clap::{Args, Subcommand};
use pagurus_scenario::value::percent_encode;
use pagurus_wire::refused::{RefusedDecision, RefusedDropped, RefusedLine, RefusedView};
use serde::Serialize;
use serde_json::{Value, json};

use crate::client::ApiClient;
use crate::failure::CliError;
use crate::input;
use crate::list::List;
use crate::screen::{Screen, harmless, time};

/// Commands on refused messages.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List refused messages, the newest first
    List(RefusedArguments),
    /// Show a refused message with its properties and its body
    Show {
        /// Id of the message
        id: String,
    },
    /// Publish a refused message again where it was first published, and remove it
    Replay(ReplayArguments),
    /// Remove refused messages: those with the given ids, or all that meet the conditions
    Drop {
        /// Ids of the messages
        #[arg(required_unless_present = "conditions", conflicts_with = "conditions")]
        ids: Vec<String>,
        #[command(flatten)]
        conditions: RefusedConditions,
        /// Reason, for the audit log
        #[arg(long)]
        reason: String,
    },
}

/// Conditions on refused messages; a message meets each that is given.
#[derive(Debug, Args, Serialize)]
#[group(id = "conditions", multiple = true)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RefusedConditions {
    /// Only messages that wait for a decision (open), only those whose sender got a receipt (answered), or all [default: open]
    #[arg(long, value_parser = ["open", "answered", "all"])]
    status: Option<String>,
    /// Only messages whose reason begins with this word, such as conflict
    #[arg(long)]
    reason_type: Option<String>,
    /// Only messages refused before this time, or at least this long ago, such as 7d
    #[arg(long)]
    refused_before: Option<String>,
}

/// Messages to list.
#[derive(Debug, Args, Serialize)]
pub(crate) struct RefusedArguments {
    #[command(flatten)]
    #[serde(flatten)]
    conditions: RefusedConditions,
    /// Number of messages to show, 500 at most
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=500))]
    limit: u16,
    /// Continue where an earlier list ended
    #[arg(long)]
    cursor: Option<String>,
}

/// A message to send again.
#[derive(Debug, Args, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReplayArguments {
    /// Id of the message
    #[serde(skip)]
    id: String,
    /// Reason, for the audit log
    #[arg(long)]
    reason: String,
    /// Edit the body first, in the editor that VISUAL or EDITOR names
    #[arg(long, conflicts_with = "body")]
    #[serde(skip)]
    edit: bool,
    /// New body: text, or @FILE
    #[arg(long, value_name = "TEXT")]
    #[serde(skip)]
    body: Option<String>,
    /// New routing key, if the old one was wrong
    #[arg(long)]
    key: Option<String>,
    /// Send no receipt, for example because its address is not allowed
    #[arg(long)]
    without_receipt: bool,
}

/// Runs the command.
pub(crate) async fn run(command: &Command, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    match command {
        Command::List(arguments) => REFUSED.page(arguments, client, screen).await,
        Command::Show { id } => show(id, client, screen).await,
        Command::Replay(arguments) => replay(arguments, client, screen).await,
        Command::Drop { ids, conditions, reason } if ids.is_empty() => {
            drop_selected(conditions, reason, client, screen).await
        }
        Command::Drop { ids, reason, .. } => drop_each(ids, reason, client, screen).await,
    }
}

fn path(id: &str, rest: &str) -> String {
    format!("/v1/refused/{}{rest}", percent_encode(id))
}

/// The time in the form of all lists; a text that is none as it is.
fn moment(text: &str) -> String {
    text.parse().map_or_else(|_| text.to_owned(), time)
}

/// Messages that can never be handled as they are.
const REFUSED: List<RefusedLine> = List {
    path: "/v1/refused",
    none: "no refused message waits for a decision; `--status all` shows those whose senders got a receipt",
    hint: None,
    columns: &[
        ("ID", |line| line.id.clone()),
        ("REFUSED", |line| moment(&line.refused_at)),
        ("EXCHANGE", |line| line.exchange.clone()),
        ("KEY", |line| line.key.clone()),
        ("BYTES", |line| line.bytes.to_string()),
        ("ANSWERED", |line| if line.answered { "yes" } else { "" }.to_owned()),
        ("REASON", |line| line.reason.clone()),
    ],
};

async fn show(id: &str, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    let reply = client.get(&path(id, ""), &[]).await?;
    if screen.json {
        return screen.document(&reply.text);
    }
    let view: RefusedView = reply.read()?;
    let line = &view.line;
    let pairs = [
        ("id", Some(line.id.clone())),
        ("reason", Some(line.reason.clone())),
        ("refused", Some(moment(&line.refused_at))),
        ("receipt", Some(if line.answered { "sent" } else { "none" }.to_owned())),
        ("exchange", Some(line.exchange.clone())),
        ("key", Some(line.key.clone())),
        ("properties", Some(view.properties.to_string())),
        ("bytes", Some(line.bytes.to_string())),
        (
            "body is",
            Some(if view.encoding == "text" { "text" } else { "shown as hexadecimal digits" }.to_owned()),
        ),
    ];
    screen.line(&screen.pairs(&pairs))?;
    screen.foreign(&view.body)
}

async fn replay(arguments: &ReplayArguments, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    let mut asked = input::given(arguments)?;
    let body = match &arguments.body {
        Some(text) => Some(match text.strip_prefix('@') {
            Some(file) => input::text_of(&PathBuf::from(file))?,
            None => text.clone(),
        }),
        None if arguments.edit => Some(edited(&arguments.id, client).await?),
        None => None,
    };
    asked.extend(body.map(|body| ("body".to_owned(), json!(body))));
    decide(&path(&arguments.id, "/replay"), &asked.into(), client, screen).await
}

async fn decide(path: &str, asked: &Value, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    client.post(path, asked).await?.show(screen, shown)
}

/// Drops these messages. Programs get one document: a list, where there are several.
async fn drop_each(
    ids: &[String],
    reason: &str,
    client: &ApiClient,
    screen: &Screen,
) -> Result<(), CliError> {
    let asked = json!({"reason": reason});
    if let [id] = ids {
        return decide(&path(id, "/drop"), &asked, client, screen).await;
    }
    let mut decisions = Vec::new();
    for id in ids {
        let decision: RefusedDecision = client.post(&path(id, "/drop"), &asked).await?.read()?;
        if !screen.json {
            screen.line(&shown(&decision))?;
        }
        decisions.push(decision);
    }
    if screen.json { screen.value(&decisions) } else { Ok(()) }
}

fn shown(decision: &RefusedDecision) -> String {
    format!("{}: {}", harmless(&decision.id), harmless(&decision.status))
}

/// Drops what meets the conditions, as many requests as it takes.
async fn drop_selected(
    conditions: &RefusedConditions,
    reason: &str,
    client: &ApiClient,
    screen: &Screen,
) -> Result<(), CliError> {
    let mut asked = input::given(conditions)?;
    asked.insert("reason".to_owned(), json!(reason));
    let (asked, mut dropped) = (Value::Object(asked), 0);
    loop {
        let part: RefusedDropped = client.post("/v1/refused/drop", &asked).await?.read()?;
        dropped += part.dropped;
        if !part.more {
            break;
        }
    }
    if screen.json {
        return screen.document(&json!({"dropped": dropped, "more": false}).to_string());
    }
    screen.line(&format!("{dropped} dropped"))
}

/// The body of a message after a person has changed it.
async fn edited(id: &str, client: &ApiClient) -> Result<String, CliError> {
    let view: RefusedView = client.get(&path(id, ""), &[]).await?.read()?;
    let is_whole = usize::try_from(view.line.bytes).is_ok_and(|bytes| bytes == view.body.len());
    if view.encoding != "text" || !is_whole {
        let message =
            "the body is not text, or too long to edit here: write it to a file and use --body @FILE";
        return Err(CliError::Usage(message.to_owned()));
    }
    let file = RefusedDraft::of(&view.body)?;
    let editor =
        ["VISUAL", "EDITOR"].iter().find_map(|name| std::env::var(name).ok().filter(|one| !one.is_empty()));
    let editor = editor.unwrap_or_else(|| "vi".to_owned());
    // An editor may be named with arguments; a shell reads it as every program that asks for it does.
    let status =
        Program::new("sh").args(["-c", &format!("{editor} \"$1\""), "edit"]).arg(&file.path).status();
    match status {
        Ok(status) if status.success() => {
            Ok(std::fs::read_to_string(&file.path).map_err(anyhow::Error::from)?)
        }
        Ok(status) => Err(CliError::Usage(format!("{editor} ended with {status}; nothing was sent"))),
        Err(error) => Err(CliError::Usage(format!("{editor} cannot be started: {error}; set EDITOR"))),
    }
}

/// A file that only its owner reads, and that goes when it is no longer needed.
struct RefusedDraft {
    path: PathBuf,
}

impl RefusedDraft {
    fn of(text: &str) -> Result<Self, CliError> {
        let path = std::env::temp_dir().join(format!("pagurus-refused-{}.json", uuid::Uuid::new_v4()));
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&path).map_err(anyhow::Error::from)?;
        // From here on the file goes whatever happens.
        let draft = Self { path };
        file.write_all(text.as_bytes()).map_err(anyhow::Error::from)?;
        Ok(draft)
    }
}

impl Drop for RefusedDraft {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::table;

    #[test]
    fn amqp_1_refused_messages_are_a_table() {
        let line = RefusedLine {
            id: "r-1".into(),
            reason: "malformed: not JSON".into(),
            refused_at: "2026-01-02T03:04:05Z".into(),
            exchange: "pagurus.orders".into(),
            key: "order.create".into(),
            bytes: 7,
            answered: true,
            taken_at: jiff::Timestamp::UNIX_EPOCH,
        };
        assert_eq!(
            table(REFUSED.columns, &[line], &Screen::plain()),
            "ID   REFUSED                   EXCHANGE        KEY           BYTES  ANSWERED  REASON\n\
             r-1  2026-01-02T03:04:05.000Z  pagurus.orders  order.create  7      yes       malformed: not JSON"
        );
    }
}
