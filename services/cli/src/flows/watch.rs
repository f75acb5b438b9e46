//! `pagurus flows watch`: the table of flows, refreshed each second.

use std::io::IsTerminal as _;
use std::time::Duration;

use super::Which;
use super::tables::FLOWS;
use crate::client::ApiClient;
use crate::failure::CliError;
use crate::list::table;
use crate::screen::Screen;

/// Interval between two looks: the dispatcher writes each second.
const EVERY: Duration = Duration::from_secs(1);
/// Puts the cursor of a terminal at its start, and clears what is below.
const CLEAR: &str = "\u{1b}[H\u{1b}[J";

/// Shows flows, refreshed each second; as JSON, one line a look.
pub(super) async fn run(which: &Which, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    let clear = std::io::stdout().is_terminal() && !screen.json;
    loop {
        let flows = client.patiently(None, || client.pages(FLOWS.path, which, None)).await?.items;
        let head = if clear { CLEAR } else { "" };
        screen.show(&flows, |flows| format!("{head}{}", table(FLOWS.columns, flows, screen)))?;
        tokio::time::sleep(EVERY).await;
    }
}
