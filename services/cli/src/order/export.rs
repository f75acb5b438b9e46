//! `pagurus order export`: orders with everything that is kept of them, one a line, before retention removes them.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use pagurus_wire::export::ExportedOrder;
use pagurus_wire::order::Page;

use crate::client::ApiClient;
use crate::failure::CliError;
use crate::screen::Screen;

/// Orders of one page.
const PAGE: &str = "100";

/// Orders to write, and the file for them.
#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// Only orders that ended before this time, or at least this long ago, such as `80d`
    #[arg(long, value_name = "TIME")]
    ended_before: Option<String>,
    /// Append to this file, and continue after its last order [default: standard output]
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Continue after the order with this number
    #[arg(long, value_name = "NUMBER", conflicts_with = "file")]
    cursor: Option<String>,
}

/// Runs the command.
pub(crate) async fn run(
    arguments: &ExportArguments,
    client: &ApiClient,
    screen: &Screen,
) -> Result<(), CliError> {
    let mut cursor = match &arguments.file {
        Some(file) => last_of(file)?.map(|no| no.to_string()),
        None => arguments.cursor.clone(),
    };
    let mut file = arguments.file.as_deref().map(open).transpose()?;
    let mut written = 0_u64;
    loop {
        let mut query = vec![("limit", PAGE.to_owned())];
        query.extend(arguments.ended_before.clone().map(|time| ("endedBefore", time)));
        query.extend(cursor.clone().map(|cursor| ("cursor", cursor)));
        let ask = || async { client.get("/v1/export/orders", &query).await };
        let page: Page<ExportedOrder> = client.patiently(None, ask).await?.read()?;
        for order in &page.items {
            let line = serde_json::to_string(order).context("an order cannot be written")?;
            match &mut file {
                Some(file) => writeln!(file, "{line}").context("the file cannot be written")?,
                None => screen.line(&line)?,
            }
        }
        written += page.items.len() as u64;
        if let Some(file) = &mut file {
            file.sync_data().context("the file cannot be written")?;
        }
        match page.next {
            Some(next) => cursor = Some(next),
            None => break,
        }
    }
    screen.note(&format!("{written} orders written"));
    Ok(())
}

fn open(file: &Path) -> Result<File, CliError> {
    let opened = OpenOptions::new().create(true).append(true).open(file);
    Ok(opened.with_context(|| format!("{} cannot be opened", file.display()))?)
}

/// Returns the number of the last order in a file; `None` if there is no file, or nothing in it. A last line that was cut off,
/// because the program or the machine went away, is removed: its order is written again.
fn last_of(path: &Path) -> Result<Option<i64>, CliError> {
    if !path.exists() {
        return Ok(None);
    }
    let context = || format!("{} does not hold exported orders: take another file", path.display());
    let file = OpenOptions::new().read(true).write(true).open(path).with_context(context)?;
    let mut reader = BufReader::new(&file);
    let (mut whole, mut last, mut line) = (0_u64, Vec::new(), Vec::new());
    loop {
        line.clear();
        let bytes = reader.read_until(b'\n', &mut line).with_context(context)?;
        if !line.ends_with(b"\n") {
            if bytes > 0 {
                file.set_len(whole).with_context(context)?;
            }
            break;
        }
        whole += bytes as u64;
        std::mem::swap(&mut last, &mut line);
    }
    if last.is_empty() {
        return Ok(None);
    }
    let order: ExportedOrder = serde_json::from_slice(&last).with_context(context)?;
    Ok(Some(order.order.no))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn ord_26_a_file_of_something_else_is_left_alone_and_a_line_that_was_cut_off_goes() {
        let path = std::env::temp_dir().join(format!("pagurus-export-{}", std::process::id()));
        assert_eq!(last_of(&path).unwrap(), None);
        std::fs::write(&path, "{\"order\": {\"id\": \"a").unwrap();
        assert_eq!(last_of(&path).unwrap(), None);
        assert_eq!(std::fs::read(&path).unwrap(), b"");
        std::fs::write(&path, "shopping list\n").unwrap();
        assert!(last_of(&path).is_err());
        std::fs::remove_file(&path).unwrap();
    }
}
