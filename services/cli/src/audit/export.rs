//! `pagurus audit export`: entries with their links, a line of JSON each.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use serde::Serialize;

use super::AuditFilter;
use crate::client::ApiClient;
use crate::failure::CliError;
use crate::screen::Screen;

/// Path of the API.
const PATH: &str = "/v1/audit/export";

/// Entries to write, and the file for them.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    filter: AuditFilter,
    /// Continue after the entry at this position
    #[arg(long, value_name = "POSITION")]
    cursor: Option<i64>,
    /// Write to this file [default: standard output]
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Query of the first page.
#[derive(Serialize)]
struct FirstPage<'a> {
    #[serde(flatten)]
    filter: &'a AuditFilter,
    cursor: Option<i64>,
    limit: u16,
}

/// Runs the command.
pub(super) async fn run(arguments: &Arguments, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    let path = arguments.file.as_deref();
    let create = |path| File::create(path).with_context(|| "the file cannot be written".to_owned());
    let mut file = path.map(create).transpose()?;
    let first = FirstPage { filter: &arguments.filter, cursor: arguments.cursor, limit: 500 };
    let mut reply = client.patiently(None, || async { client.find(PATH, &first).await }).await?;
    let mut written = 0;
    loop {
        match &mut file {
            Some(file) => file.write_all(reply.text.as_bytes()).context("the file cannot be written")?,
            None if reply.text.is_empty() => {}
            None => screen.foreign(&reply.text)?,
        }
        written += reply.text.lines().count();
        let Some(next) = reply.next.take() else { break };
        let next = format!("{PATH}{next}");
        reply = client.patiently(None, || async { client.get(&next, &[]).await }).await?;
    }
    if let Some(file) = file {
        file.sync_all().context("the file cannot be written")?;
    }
    screen.note(&format!("{written} entries written"));
    Ok(())
}
