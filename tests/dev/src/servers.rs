//! The private servers of an installation: reserve their ports, start them side by side, end them.
//! Never starts a server whose address the user gave, and never ends one either.

use anyhow::Result;
use pagurus_harness::ports::{Owner, Ports, release};
use pagurus_harness::postgres::Stop;
use pagurus_harness::rabbit;

use pagurus_dev::place::{Place, Record};

/// The database of the installation.
pub const DATABASE: &str = "pagurus";

/// Starts what is wanted and does not run; the addresses are in the record afterwards.
pub async fn start(place: &Place, record: &mut Record, own_postgres: bool, own_rabbit: bool) -> Result<()> {
    let owner = Owner::Folder(place.folder().to_path_buf());
    // The ports stay the same as long as the installation exists: clients come back to them after an outage.
    if own_postgres && record.postgres_port.is_none() {
        record.postgres_port = Some(Ports::reserve(1, &owner)?.keep());
    }
    if own_rabbit && record.rabbit_port.is_none() {
        record.rabbit_port = Some(Ports::reserve(rabbit::PORTS, &owner)?.keep());
    }
    place.write(record)?;
    let postgres =
        record.postgres_port.filter(|_| own_postgres).map(|port| place.postgres(port)).transpose()?;
    let rabbit = record.rabbit_port.filter(|_| own_rabbit).map(|port| place.rabbit(port)).transpose()?;
    let start_postgres = async {
        if let Some(postgres) = &postgres {
            postgres.start().await?;
            postgres.create_database(DATABASE).await?;
        }
        anyhow::Ok(())
    };
    let start_rabbit = async {
        if let Some(rabbit) = &rabbit {
            rabbit.start().await?;
        }
        anyhow::Ok(())
    };
    tokio::try_join!(start_rabbit, start_postgres)?;
    if let Some(postgres) = postgres {
        record.database_url = postgres.url(DATABASE);
    }
    if let Some(rabbit) = rabbit {
        record.amqp_url = rabbit.url();
    }
    place.write(record)
}

/// Ends the private servers; their data and ports stay unless `forget`.
pub async fn stop(place: &Place, record: &mut Record, which: Which) -> Result<()> {
    if let Some(port) = record.rabbit_port.filter(|_| which.rabbit) {
        place.rabbit(port)?.stop().await?;
        if which.forget {
            release(port, rabbit::PORTS);
            record.rabbit_port = None;
        }
    }
    if let Some(port) = record.postgres_port.filter(|_| which.postgres) {
        place.postgres(port)?.stop(Stop::Fast).await?;
        if which.forget {
            release(port, 1);
            record.postgres_port = None;
        }
    }
    Ok(())
}

/// Servers to end, and how thoroughly.
#[derive(Clone, Copy, Debug)]
pub struct Which {
    /// The private Postgres.
    pub postgres: bool,
    /// The private broker.
    pub rabbit: bool,
    /// True if their ports are given back too.
    pub forget: bool,
}
