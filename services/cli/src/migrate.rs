//! `pagurus migrate`: brings the schema up to date. The one command that talks to the database.

use std::path::Path;

use anyhow::Context as _;
use pagurus_runtime::load_settings;
use pagurus_store::upkeep::migrate;
use pagurus_store::{Error, Options, Store};
use serde_json::json;

use crate::failure::CliError;
use crate::screen::Screen;

/// Runs all migrations that are missing, under a lock: several may start it at once.
pub(crate) async fn run(config: Option<&Path>, screen: &Screen) -> Result<(), CliError> {
    let database = load_settings(config)?.database;
    let store = Store::new(&Options {
        connect_timeout: database.connect_timeout,
        statement_timeout: database.statement_timeout,
        ..Options::of(&database.url, "pagurus migrate")
    })
    .context("database.url")?;
    let applied = apply(&store).await.map_err(failure)?;
    if screen.json {
        return screen.value(&json!({"applied": applied}));
    }
    if applied.is_empty() {
        return screen.line("the schema is up to date");
    }
    for migration in &applied {
        screen.line(&format!("applied {migration}"))?;
    }
    Ok(())
}

async fn apply(store: &Store) -> Result<Vec<String>, Error> {
    let mut client = store.lease().await?;
    migrate::run(&mut client).await
}

fn failure(error: Error) -> CliError {
    if error.is_transient() {
        return CliError::Away {
            server: "the database".to_owned(),
            why: format!("{:#}", anyhow::Error::from(error)),
        };
    }
    CliError::Other(anyhow::Error::from(error).context("the schema cannot be brought up to date"))
}
