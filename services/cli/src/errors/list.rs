//! `pagurus errors orders`: the orders of a group, one by one.

use clap::Args;
use pagurus_domain::order::Status;
use pagurus_wire::errors::ErrorOrder;

use super::ErrorFilter;
use crate::client::ApiClient;
use crate::failure::CliError;
use crate::list::{Column, List, text};
use crate::screen::{Screen, time};

/// Orders to list.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    filter: ErrorFilter,
    /// Orders that wait for their next attempt, instead of failed ones
    #[arg(long)]
    retrying: bool,
    /// Number of orders to show
    #[arg(long, default_value_t = 50)]
    limit: usize,
}

/// Failed orders.
const FAILED: List<ErrorOrder> = List { columns: &columns("FAILED AT"), ..ORDERS };
/// Orders that wait for their next attempt.
const RETRYING: List<ErrorOrder> = List { columns: &columns("NEXT ATTEMPT"), ..ORDERS };
const ORDERS: List<ErrorOrder> =
    List { path: "/v1/errors/orders", none: "no orders", hint: None, columns: &[] };

/// The columns, with the heading of the time.
const fn columns(at: &'static str) -> [Column<ErrorOrder>; 7] {
    [
        ("ORDER", |order| order.id.clone()),
        (at, |order| time(order.at)),
        ("SCENARIO", |order| order.scenario.clone()),
        ("STATE", |order| text(&order.state)),
        ("CLASS", |order| text(&order.class)),
        ("SYSTEM", |order| text(&order.system)),
        ("MESSAGE", |order| text(&order.message)),
    ]
}

/// Runs the command.
pub(crate) async fn run(arguments: &Arguments, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    let (list, status) = if arguments.retrying { (RETRYING, Status::Retry) } else { (FAILED, Status::Fail) };
    let mut query = arguments.filter.query();
    query.push(("status", status.to_string()));
    list.most(&query, arguments.limit, client, screen).await
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::list::table;

    #[test]
    fn err_14_orders_of_a_group_are_a_table() {
        let order = ErrorOrder {
            id: "o-1".into(),
            status: "retry".into(),
            at: "2026-01-02T11:05:00Z".parse().unwrap(),
            scenario: "order".into(),
            state: Some("pay".into()),
            step: Some("pay".into()),
            class: None,
            system: Some("bank:8443".into()),
            message: Some("no answer".into()),
        };
        assert_eq!(
            table(RETRYING.columns, &[order], &Screen::plain()),
            "ORDER  NEXT ATTEMPT              SCENARIO  STATE  CLASS  SYSTEM     MESSAGE\n\
             o-1    2026-01-02T11:05:00.000Z  order     pay           bank:8443  no answer"
        );
    }
}
