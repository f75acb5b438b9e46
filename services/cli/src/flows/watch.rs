//! `pagurus flows watch`: the table of flows, anew each second.

use std::io::IsTerminal as _;
use std::time::Duration;

use super::tables::listed;
use super::{Which, flows};
use crate::client::Client;
use crate::failure::Failure;
use crate::screen::Screen;

/// Between two looks: the dispatcher writes each second.
const EVERY: Duration = Duration::from_secs(1);
/// Puts the cursor of a terminal at its begin, and clears what is below.
const CLEAR: &str = "\u{1b}[H\u{1b}[J";

/// Shows flows anew each second; as JSON, one line a look.
pub(super) async fn run(which: &Which, client: &Client, screen: &Screen) -> Result<(), Failure> {
    let clear = std::io::stdout().is_terminal() && !screen.json;
    loop {
        let flows = client.patiently(None, || flows(which, client)).await?;
        if screen.json {
            screen.value(&flows)?;
        } else {
            let head = if clear { CLEAR } else { "" };
            screen.line(&format!("{head}{}", listed(&flows, screen)))?;
        }
        tokio::time::sleep(EVERY).await;
    }
}
