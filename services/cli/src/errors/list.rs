//! `pagurus errors orders`: the orders of a group, one by one.

use clap::Args;
use pagurus_domain::order::Status;
use pagurus_wire::errors::{ErrorOrder, ErrorOrders};

use super::Filter;
use crate::client::Client;
use crate::failure::Failure;
use crate::screen::{Screen, time};

/// Orders of one answer of the server.
const PAGE: usize = 1000;

/// Which orders to list.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    filter: Filter,
    /// Orders that wait for their next attempt, instead of failed ones
    #[arg(long)]
    retrying: bool,
    /// Orders to show
    #[arg(long, default_value_t = 50)]
    limit: usize,
}

/// Runs the command.
pub(crate) async fn run(arguments: &Arguments, client: &Client, screen: &Screen) -> Result<(), Failure> {
    let status = if arguments.retrying { Status::Retry } else { Status::Fail };
    let (items, more) = orders(status, &arguments.filter, Some(arguments.limit), client).await?;
    if screen.json {
        return screen.value(&ErrorOrders { items, next: None });
    }
    if items.is_empty() {
        screen.note("no orders");
        return Ok(());
    }
    screen.line(&listed(status, &items, screen))?;
    if more {
        screen.note("there are more: --limit shows them");
    }
    Ok(())
}

/// The orders of a group, all of them or as many as are wanted, and whether there are more.
pub(super) async fn orders(
    status: Status,
    filter: &Filter,
    limit: Option<usize>,
    client: &Client,
) -> Result<(Vec<ErrorOrder>, bool), Failure> {
    let mut items = Vec::new();
    let mut cursor = None;
    loop {
        let wanted = limit.map_or(PAGE, |limit| limit.saturating_sub(items.len()).min(PAGE));
        if wanted == 0 {
            return Ok((items, true));
        }
        let mut query = filter.query();
        query.extend([("status", status.to_string()), ("limit", wanted.to_string())]);
        query.extend(cursor.map(|cursor| ("cursor", cursor)));
        let page: ErrorOrders = client.get("/v1/errors/orders", &query).await?.read()?;
        items.extend(page.items);
        match page.next {
            None => return Ok((items, false)),
            next => cursor = next,
        }
    }
}

fn listed(status: Status, items: &[ErrorOrder], screen: &Screen) -> String {
    let at = if status == Status::Retry { "NEXT ATTEMPT" } else { "FAILED AT" };
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let rows: Vec<[String; 7]> = items
        .iter()
        .map(|order| {
            [
                order.id.clone(),
                time(order.at),
                order.scenario.clone(),
                text(&order.state),
                text(&order.class),
                text(&order.system),
                text(&order.message),
            ]
        })
        .collect();
    screen.table(&["ORDER", at, "SCENARIO", "STATE", "CLASS", "SYSTEM", "MESSAGE"], &rows)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn err_14_orders_of_a_group_are_a_table() {
        let order = ErrorOrder {
            id: "o-1".into(),
            status: "retry".into(),
            at: "2026-01-02T11:05:00Z".parse().unwrap(),
            scenario: "order".into(),
            state: Some("pay".into()),
            class: None,
            system: Some("bank:8443".into()),
            message: Some("no answer".into()),
        };
        assert_eq!(
            listed(Status::Retry, &[order], &Screen::plain()),
            "ORDER  NEXT ATTEMPT          SCENARIO  STATE  CLASS  SYSTEM     MESSAGE\n\
             o-1    2026-01-02 11:05:00Z  order     pay           bank:8443  no answer"
        );
    }
}
