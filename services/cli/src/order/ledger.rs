//! `pagurus order ledger`: where the time of an order went.

use std::time::Duration;

use pagurus_wire::ledger::{LedgerShareView, LedgerView};
use pagurus_workbench::trial::spelled_duration;

use crate::client::{ApiClient, order_path};
use crate::failure::CliError;
use crate::list::{Column, table, text};
use crate::screen::{Screen, time};

const SHARES: &[Column<LedgerShareView>] = &[
    ("SHARE", |share| format!("{:.1} %", share.share * 100.0)),
    ("TIME", |share| length(share.ms)),
    ("REASON", |share| share.reason.clone()),
    ("OF", |share| text(&share.detail)),
];

fn length(ms: i64) -> String {
    spelled_duration(Duration::from_millis(ms.unsigned_abs()))
}

/// Shows the ledger of an order.
pub(super) async fn run(id: &str, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    let reply = client.get(&order_path(id, "ledger"), &[]).await?;
    reply.show(screen, |ledger: &LedgerView| {
        let head =
            format!("{} from {} to {}", length(ledger.total_ms), time(ledger.from), time(ledger.until));
        format!("{head}\n{}", table(SHARES, &ledger.shares, screen))
    })
}
