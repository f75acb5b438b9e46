//! `pagurus leases …`: who leads, and making the leader step down.

use clap::Subcommand;
use clap::builder::NonEmptyStringValueParser as Text;
use pagurus_domain::scenario::value::percent_encode;
use serde::Deserialize;
use serde_json::json;

use crate::client::Client;
use crate::failure::Failure;
use crate::nodes;
use crate::screen::{Screen, harmless};

/// Commands on leases.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the leases: who leads, and until when
    List,
    /// Make the holder of a lease step down: whoever stands by takes it
    Resign {
        /// The lease: dispatcher
        lease: String,
        /// Why, for the log
        #[arg(long, value_parser = Text::new())]
        reason: String,
    },
}

#[derive(Debug, Deserialize)]
struct Resigned {
    resigned: String,
}

/// Runs a command.
pub(crate) async fn run(command: Command, client: &Client, screen: &Screen) -> Result<(), Failure> {
    match command {
        Command::List => nodes::run(nodes::Command::Leases, client, screen).await,
        Command::Resign { lease, reason } => {
            let path = format!("/v1/leases/{}/resign", percent_encode(&lease));
            let reply = client.post(&path, &json!({"reason": reason})).await?;
            if screen.json {
                return screen.document(&reply.text);
            }
            let done: Resigned = reply.read()?;
            screen.line(&format!("{} no longer holds `{}`", harmless(&done.resigned), harmless(&lease)))
        }
    }
}
