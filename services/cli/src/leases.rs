//! `pagurus leases …`: who leads, and making the leader step down.

use clap::Subcommand;
use clap::builder::NonEmptyStringValueParser as Text;
use pagurus_scenario::value::percent_encode;
use pagurus_wire::cluster::ResignedView;
use serde_json::json;

use crate::client::ApiClient;
use crate::failure::CliError;
use crate::nodes;
use crate::screen::{Screen, harmless};

/// Commands on leases.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the leases: who leads, and until when
    List,
    /// Make the holder of a lease step down, so that a standby takes over
    Resign {
        /// The lease: dispatcher
        lease: String,
        /// Reason, for the log
        #[arg(long, value_parser = Text::new())]
        reason: String,
    },
}

/// Runs a command.
pub(crate) async fn run(command: Command, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    match command {
        Command::List => nodes::leases(client, screen).await,
        Command::Resign { lease, reason } => {
            let path = format!("/v1/leases/{}/resign", percent_encode(&lease));
            let reply = client.post(&path, &json!({"reason": reason})).await?;
            reply.show(screen, |done: &ResignedView| {
                format!("{} no longer holds `{}`", harmless(&done.resigned), harmless(&lease))
            })
        }
    }
}
