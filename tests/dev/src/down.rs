//! `./dev down`: ends what `up` started, nodes before servers.
//! Never ends a process whose start time is not the one noted, and never removes data.

use anyhow::{Result, bail};
use futures_util::future::join_all;
use pagurus_harness::ports::release;
use pagurus_harness::process::{Identity, Signal};

use crate::node::STOP_TIMEOUT;
use crate::servers::{self, Which};
use pagurus_dev::place::{Place, Record};

/// `./dev down`.
pub async fn command() -> Result<()> {
    let place = Place::open()?;
    let mut record = place.read()?;
    end(&place, &mut record, &Record::default()).await?;
    eprintln!("==> all ended; the data stay in {}", place.folder().display());
    Ok(())
}

/// Ends what is in `record` and was not yet alive in `before`.
pub async fn end(place: &Place, record: &mut Record, before: &Record) -> Result<()> {
    let there =
        |identity: Identity| before.nodes.iter().any(|node| node.identity == identity && identity.alive());
    let (stay, go): (Vec<_>, Vec<_>) = record.nodes.drain(..).partition(|node| there(node.identity));
    record.nodes = stay;
    let mut faults = Vec::new();
    for (node, ended) in go.iter().zip(join_all(go.iter().map(|node| node.stop(STOP_TIMEOUT))).await) {
        match ended {
            Ok(()) => release(node.spec.port, 1),
            Err(error) => {
                faults.push(format!("{error:#}"));
                record.nodes.push(node.clone());
            }
        }
    }
    if let Some(demo) = record.demo
        && before.demo != record.demo
    {
        demo.signal(Signal::Terminate)?;
        record.demo = None;
        if let Some(port) = record.demo_port.take() {
            release(port, 1);
        }
    }
    let which = Which {
        postgres: before.postgres_port.is_none(),
        rabbit: before.rabbit_port.is_none(),
        forget: true,
    };
    // Servers go last: a draining node still writes.
    if faults.is_empty() {
        servers::stop(place, record, which).await?;
    }
    if record.nodes.is_empty() && record.postgres_port.is_none() && record.rabbit_port.is_none() {
        place.clear();
    } else {
        place.write(record)?;
    }
    if !faults.is_empty() {
        bail!("{}", faults.join("\n"));
    }
    Ok(())
}
