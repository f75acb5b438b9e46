//! `pagurus order ledger`: where the time of an order went, or that of many.

use std::time::Duration;

use clap::Args;
use pagurus_wire::ledger::{LedgerGroupView, LedgerShareView, LedgerSumsView, LedgerView};
use pagurus_workbench::trial::spelled_duration;

use crate::client::{ApiClient, order_path};
use crate::failure::CliError;
use crate::list::{Column, table, text};
use crate::screen::{Screen, time};
use crate::search::SearchOrSaved;

/// Choice of one order, or of the orders whose time is summed.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Id of one order; without it, the times of all orders that meet the conditions are summed
    #[arg(conflicts_with_all = ["from", "until", "by", "sample", "examine"])]
    order: Option<String>,
    #[command(flatten)]
    orders: SearchOrSaved,
    /// Start of the range: a time, or a duration back from now [default: an hour before its end]
    #[arg(long, value_name = "DURATION|TIME")]
    from: Option<String>,
    /// End of the range [default: now]
    #[arg(long, value_name = "DURATION|TIME")]
    until: Option<String>,
    /// Sums of each flow or each scenario, beside those of all
    #[arg(long, value_name = "flow|scenario")]
    by: Option<String>,
    /// Most orders to sum, spread evenly over all [default: 500]
    #[arg(long, value_name = "NUMBER")]
    sample: Option<u32>,
    /// Most orders to examine, ended ones and others each [default: 200000]
    #[arg(long, value_name = "NUMBER")]
    examine: Option<u32>,
}

const SHARES: &[Column<LedgerShareView>] = &[
    ("SHARE", |share| percent(share.share)),
    ("TIME", |share| length(share.ms)),
    ("REASON", |share| share.reason.clone()),
    ("OF", |share| text(&share.detail)),
];

const GROUPS: &[Column<LedgerGroupView>] = &[
    ("KEY", |group| group.key.clone()),
    ("ORDERS", |group| group.summed.to_string()),
    ("TIME", |group| length(group.total_ms)),
    ("MOST OF IT", |group| {
        let most = group.shares.iter().take(3).map(|one| format!("{} {}", one.reason, percent(one.share)));
        most.collect::<Vec<_>>().join(", ")
    }),
];

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn length(ms: i64) -> String {
    spelled_duration(Duration::from_millis(ms.unsigned_abs()))
}

/// Shows the ledger of an order, or the sums of many.
pub(super) async fn run(arguments: &Arguments, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    let mut query = arguments.orders.query()?;
    let Some(id) = &arguments.order else {
        let own = [
            ("from", arguments.from.clone()),
            ("until", arguments.until.clone()),
            ("by", arguments.by.clone()),
            ("sample", arguments.sample.map(|sample| sample.to_string())),
            ("examine", arguments.examine.map(|examine| examine.to_string())),
        ];
        query.extend(own.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
        return sums(&query, client, screen).await;
    };
    if !query.is_empty() {
        return Err(CliError::Usage(
            "one order has no conditions: leave out its id or the conditions".into(),
        ));
    }
    let reply = client.get(&order_path(id, "ledger"), &[]).await?;
    reply.show(screen, |ledger: &LedgerView| {
        let head =
            format!("{} from {} to {}", length(ledger.total_ms), time(ledger.from), time(ledger.until));
        format!("{head}\n{}", table(SHARES, &ledger.shares, screen))
    })
}

async fn sums(query: &[(String, String)], client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    let query: Vec<(&str, String)> =
        query.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    let reply = client.get("/v1/ledger", &query).await?;
    let sums: LedgerSumsView = reply.read()?;
    reply.show(screen, |sums: &LedgerSumsView| shown(sums, screen))?;
    if !sums.complete && !screen.json {
        screen.note("there are more orders than were looked at");
    }
    Ok(())
}

fn shown(sums: &LedgerSumsView, screen: &Screen) -> String {
    let orders = match sums.orders == sums.summed {
        true => format!("{} orders", sums.orders),
        false => format!("{} of {} orders", sums.summed, sums.orders),
    };
    let head =
        format!("{} of {orders} from {} to {}", length(sums.total_ms), time(sums.from), time(sums.until));
    let mut parts = vec![head, table(SHARES, &sums.shares, screen)];
    if !sums.groups.is_empty() {
        parts.extend([String::new(), table(GROUPS, &sums.groups, screen)]);
    }
    parts.join("\n")
}
