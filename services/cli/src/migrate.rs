//! `pagurus migrate`: brings the schema up to date, and sets what each service may do there.

use std::path::Path;

use anyhow::Context as _;
use clap::Args;
use pagurus_runtime::load_settings;
use pagurus_store::upkeep::migrate;
use pagurus_store::upkeep::roles::{self, RolePrefix};
use pagurus_store::{Error, Options, Store};
use serde_json::json;

use crate::failure::CliError;
use crate::screen::Screen;

/// Options of a migration.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Make a database user for each service, with only the rights that its statements need
    #[arg(long)]
    roles: bool,
    /// Prefix of the names of these users
    #[arg(long, value_name = "NAME", default_value = "pagurus", requires = "roles")]
    prefix: RolePrefix,
    /// Only print the statements that make the users
    #[arg(long, requires = "roles")]
    print: bool,
}

/// Runs all migrations that are missing, under a lock: several may start it at once.
pub(crate) async fn run(
    arguments: &Arguments,
    config: Option<&Path>,
    screen: &Screen,
) -> Result<(), CliError> {
    let Arguments { roles, prefix, print } = arguments;
    if *print {
        return screen.line(prefix.text().trim_end());
    }
    let database = load_settings(config)?.database;
    let store = Store::new(&Options {
        connect_timeout: database.connect_timeout,
        statement_timeout: database.statement_timeout,
        ..Options::of(&database.url, "pagurus migrate")
    })
    .context("database.url")?;
    let failure = |error| failure(error, "the schema cannot be brought up to date");
    let applied = apply(&store).await.map_err(failure)?;
    if *roles {
        roles::apply(&mut store.operations().await.map_err(failure)?, prefix).await.map_err(failure)?;
    }
    if screen.json {
        return screen.value(&json!({"applied": applied, "roles": roles}));
    }
    if *roles {
        screen.line("the users of the services have the rights that their statements need")?;
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

/// Converts a failure of the database; `undone` says what cannot be done where no later try helps.
pub(crate) fn failure(error: Error, undone: &'static str) -> CliError {
    let (is_transient, is_unreachable) = (error.is_transient(), matches!(error, Error::Connection(_)));
    let why = anyhow::Error::from(error);
    match is_transient {
        true => CliError::Database { why, is_unreachable },
        false => CliError::Other(why.context(undone)),
    }
}
