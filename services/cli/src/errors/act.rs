//! `pagurus errors restart | cancel | kill`: one action on every order of a group, as a bulk operation.

use clap::Args;
use pagurus_domain::order::Status;
use pagurus_wire::operations::OperationRequest;
use serde_json::{Map, Value, json};

use super::ErrorFilter;
use crate::client::ApiClient;
use crate::failure::CliError;
use crate::operation::{How, begin};
use crate::screen::Screen;

/// Action, and the orders that it is for.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    filter: ErrorFilter,
    #[command(flatten)]
    how: How,
}

/// An action, and the status of the orders that it is for.
#[derive(Clone, Debug)]
pub(crate) enum GroupAction {
    /// Failed orders begin a new life.
    Restart {
        /// The state to begin at.
        from: Option<String>,
    },
    /// Failed orders are given up.
    Cancel,
    /// Retrying orders are stopped.
    Kill,
}

impl GroupAction {
    const fn word(&self) -> &'static str {
        match self {
            Self::Restart { .. } => "restart",
            Self::Cancel => "cancel",
            Self::Kill => "kill",
        }
    }

    const fn status(&self) -> Status {
        match self {
            Self::Restart { .. } | Self::Cancel => Status::Fail,
            Self::Kill => Status::Retry,
        }
    }
}

/// Runs the command.
pub(crate) async fn run(
    action: &GroupAction,
    arguments: &Arguments,
    client: &ApiClient,
    screen: &Screen,
) -> Result<(), CliError> {
    begin(arguments.how.asked(request(action, &arguments.filter)), &arguments.how, client, screen).await
}

/// Each order must still be what it was selected for.
fn request(action: &GroupAction, filter: &ErrorFilter) -> OperationRequest {
    let status = action.status().as_str();
    let mut with = Map::from_iter([("ifStatus".to_owned(), json!(status))]);
    if let GroupAction::Restart { from: Some(from) } = action {
        with.insert("from".to_owned(), json!(from));
    }
    let mut search = Map::from_iter([("status".to_owned(), json!([status]))]);
    for (name, value) in filter.query() {
        match name {
            // What is in retry has not ended.
            "since" if matches!(action, GroupAction::Kill) => {}
            "since" => {
                search.insert("finishedSince".to_owned(), value.into());
            }
            "scenario" => {
                search.insert(name.to_owned(), value.into());
            }
            _ => {
                // A search calls the state in which an order is its state.
                let condition = match name {
                    "state" => "errorState",
                    "step" => "state",
                    other => other,
                };
                search.insert(condition.to_owned(), json!([value]));
            }
        }
    }
    OperationRequest {
        action: action.word().to_owned(),
        with,
        search: Some(Value::Object(search)),
        ..OperationRequest::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn err_14_an_action_on_a_group_is_an_operation_on_orders_that_are_still_in_it() {
        let filter = ErrorFilter {
            class: Some(String::new()),
            scenario: Some("s".to_owned()),
            state: Some("pay".to_owned()),
            step: None,
            system: None,
            since: "24h".to_owned(),
        };
        let asked = request(&GroupAction::Restart { from: Some("x".to_owned()) }, &filter);
        assert_eq!(Value::Object(asked.with), json!({"ifStatus": "fail", "from": "x"}));
        assert_eq!(
            asked.search,
            Some(
                json!({"status": ["fail"], "class": [""], "scenario": "s", "errorState": ["pay"], "finishedSince": "24h"})
            )
        );
        let filter = ErrorFilter { state: None, step: Some("failed".to_owned()), ..filter };
        let asked = request(&GroupAction::Kill, &filter);
        assert_eq!(
            asked.search,
            Some(json!({"status": ["retry"], "class": [""], "scenario": "s", "state": ["failed"]}))
        );
    }
}
