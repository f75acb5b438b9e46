//! `./dev node`: one node more or less; also a private server, to see what its absence does.
//! Never kills: a node that does not end in its time is reported and left running.

use std::time::Duration;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use pagurus_harness::client::http;
use pagurus_harness::nodes::Role;
use pagurus_harness::ports::release;

use crate::servers::{self, Which};
use crate::up;
use pagurus_dev::place::{Place, Record};

const READY_TIMEOUT: Duration = Duration::from_secs(60);
/// The grace of a node is 30 s by default.
pub const STOP_TIMEOUT: Duration = Duration::from_secs(45);

/// Commands on a node.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Start a node and wait until it is ready
    Start(Named),
    /// Ask a node to end and wait until it has drained
    Stop(Named),
}

/// A node.
#[derive(Clone, Debug, Args)]
pub struct Named {
    /// intake, dispatcher, activator, worker, notifier, postgres or rabbitmq
    role: String,
    /// Name of the node in `.dev/nodes`
    name: String,
}

/// `./dev node`.
pub async fn command(command: Command) -> Result<()> {
    let place = Place::open()?;
    let mut record = place.read()?;
    if record.database_url.is_empty() {
        bail!("nothing runs here: `./dev up` first");
    }
    match command {
        Command::Start(named) => start(&place, &mut record, &named).await,
        Command::Stop(named) => stop(&place, &mut record, &named).await,
    }
}

async fn start(place: &Place, record: &mut Record, named: &Named) -> Result<()> {
    if let Some(which) = server(record, &named.role)? {
        return servers::start(place, record, which.postgres, which.rabbit).await;
    }
    let role: Role = named.role.parse()?;
    let folder = record.programs.clone();
    up::start_node(place, record, role, &named.name, &folder)?;
    if let Some(node) = record.node(role, &named.name) {
        node.wait_ready(&http()?, READY_TIMEOUT).await?;
        println!("{} {role} {} {}", named.name, node.identity.pid, node.address());
    }
    Ok(())
}

async fn stop(place: &Place, record: &mut Record, named: &Named) -> Result<()> {
    if let Some(which) = server(record, &named.role)? {
        servers::stop(place, record, which).await?;
        return place.write(record);
    }
    let role: Role = named.role.parse()?;
    let Some(node) = record.node(role, &named.name).cloned() else {
        bail!("there is no {role} {} in .dev/nodes", named.name);
    };
    node.stop(STOP_TIMEOUT).await?;
    release(node.spec.port, 1);
    record.nodes.retain(|other| other.identity != node.identity);
    place.write(record)
}

/// The private server of this name; `None` if it names a role.
fn server(record: &Record, name: &str) -> Result<Option<Which>> {
    let (postgres, rabbit) = (name == "postgres", name == "rabbitmq");
    if !postgres && !rabbit {
        return Ok(None);
    }
    if (postgres && record.postgres_port.is_none()) || (rabbit && record.rabbit_port.is_none()) {
        bail!("the {name} in use is not a private one");
    }
    Ok(Some(Which { postgres, rabbit, forget: false }))
}
