//! Searches for orders (REC-13): which orders are wanted, and by which access path they are found.
//!
//! No index names a column of `orders` that changes. A search therefore has one access path, which yields a bounded
//! number of orders at a time by a key, and conditions that are held against those. Conditions that cost much for each
//! order (values of parameters and variables) need a path that is narrow; elsewhere they are refused.

mod conditions;
mod read;
mod value;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use crate::attributes::values_at;
use crate::document::Fault;
use crate::order::Status;

pub use conditions::{CONDITIONS, Search, SearchCondition};
pub use value::ConditionKind;

/// Ids that one search names at most.
pub const MOST_IDS: usize = 10_000;

/// Key by which orders are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessPath<'a> {
    /// The index of ids.
    Ids(&'a [String]),
    /// The index of ids, from a prefix on.
    IdPrefix(&'a str),
    /// The index of business transactions.
    Transaction(&'a str),
    /// The index of attributes that scenarios declare.
    Attribute(&'a str, &'a str),
    /// The index of labels.
    Label(&'a str, &'a str),
    /// Stages in progress on a node.
    Node(&'a str),
    /// The members of a sequential queue.
    Queue(&'a str),
    /// The orders that will probably be late.
    Jeopardy,
    /// The orders that are marked as inconsistent.
    Inconsistent,
    /// The places of orders that have not ended.
    Unfinished {
        /// True if those that run are wanted.
        running: bool,
        /// True if those that are suspended are.
        suspended: bool,
    },
    /// The orders that ended `fail`.
    Failed,
    /// All orders by descending number, from the one on that was registered then.
    ByNumber {
        /// Time at which the walk may end.
        since: Option<Timestamp>,
        /// Time at which it may begin.
        until: Option<Timestamp>,
    },
}

impl Search {
    /// True if nothing is asked for: acting on such a search would act on every order.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The narrowest access path that has all wanted orders.
    #[must_use]
    pub fn path(&self) -> AccessPath<'_> {
        let unfinished = !self.statuses.is_empty() && self.statuses.iter().all(|status| !status.is_final());
        if !self.ids.is_empty() {
            AccessPath::Ids(&self.ids)
        } else if let Some(transaction) = &self.transaction_id {
            AccessPath::Transaction(transaction)
        } else if let Some((name, value)) = self.attributes.first_key_value() {
            AccessPath::Attribute(name, value)
        } else if let Some((key, value)) = self.labels.first_key_value() {
            AccessPath::Label(key, value)
        } else if let Some(prefix) = &self.id_prefix {
            AccessPath::IdPrefix(prefix)
        } else if let Some(node) = &self.node {
            AccessPath::Node(node)
        } else if let Some(queue) = self.queue.as_ref().filter(|_| unfinished) {
            AccessPath::Queue(queue)
        } else if self.inconsistent == Some(true) {
            AccessPath::Inconsistent
        } else if self.jeopardy == Some(true) {
            AccessPath::Jeopardy
        } else if unfinished {
            let is_at_rest =
                |status: &Status| !matches!(status, Status::New | Status::Reopen | Status::Running);
            AccessPath::Unfinished {
                running: self.statuses.contains(&Status::Running),
                suspended: self.statuses.iter().any(is_at_rest),
            }
        } else if self.statuses == [Status::Fail] {
            AccessPath::Failed
        } else {
            AccessPath::ByNumber { since: self.created_since, until: self.created_until }
        }
    }

    /// True for failed orders with conditions that the table of failures has columns for: no order needs to be read.
    #[must_use]
    pub fn is_of_failures_alone(&self) -> bool {
        let failures = Self {
            statuses: vec![Status::Fail],
            scenario: self.scenario.clone(),
            states: self.states.clone(),
            error_states: self.error_states.clone(),
            classes: self.classes.clone(),
            systems: self.systems.clone(),
            finished_since: self.finished_since,
            finished_until: self.finished_until,
            ..Self::default()
        };
        *self == failures
    }

    /// The first condition that costs much for each order: it reads what belongs to the order in another table.
    fn costly(&self) -> Option<&'static str> {
        let fields = [
            ("params", !self.params.is_empty()),
            ("vars", !self.vars.is_empty()),
            ("source", self.source.is_some()),
            ("failedOver", self.failed_over.is_some()),
        ];
        fields.into_iter().find_map(|(field, is_given)| is_given.then_some(field))
    }

    /// True where values of parameters or variables are asked for, which are read order by order.
    #[must_use]
    pub fn reads_payloads(&self) -> bool {
        !self.params.is_empty() || !self.vars.is_empty()
    }

    /// The first condition that asks for a value out of a payload: who does not see payloads must not search by them.
    #[must_use]
    pub fn payload_condition(&self) -> Option<&'static str> {
        let fields = [
            ("params", !self.params.is_empty()),
            ("vars", !self.vars.is_empty()),
            ("attributes", !self.attributes.is_empty()),
            ("text", self.text.is_some()),
        ];
        fields.into_iter().find_map(|(field, is_given)| is_given.then_some(field))
    }

    /// Refuses what would look through all orders for a condition that costs much for each, and says which condition
    /// would narrow it down.
    ///
    /// # Errors
    /// The condition, with what to add.
    pub fn check_path(&self) -> Result<(), Fault> {
        if let Some(field) = self.costly()
            && matches!(self.path(), AccessPath::ByNumber { since: None, .. })
        {
            let message = "is looked for in narrowed searches only, because no index has it";
            let narrower =
                "add `createdSince`, a status of orders that have not ended, `fail`, or an `idPrefix`";
            let declared = match field {
                "source" | "failedOver" => "",
                _ => "; or let the scenario declare it under `search`",
            };
            return Err(
                Fault::placed(None, format!("/{field}"), message).hint(format!("{narrower}{declared}"))
            );
        }
        Ok(())
    }

    /// True if these parameters or variables have all values that are asked for.
    #[must_use]
    pub fn has_values(wanted: &BTreeMap<String, Value>, found: &Value) -> bool {
        wanted.iter().all(|(path, value)| values_at(found, path).any(|found| is_same(found, value)))
    }
}

/// True for the same value, where a text stands for the number or truth value that is written like it: a query has
/// nothing but texts.
fn is_same(found: &Value, wanted: &Value) -> bool {
    match (found, wanted) {
        (Value::Number(_) | Value::Bool(_) | Value::Null, Value::String(text)) => {
            let written = found.to_string();
            written == *text
        }
        (Value::Number(found), Value::Number(wanted)) => found.as_f64() == wanted.as_f64(),
        _ => found == wanted,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::order::Priority;

    #[test]
    fn rec_13_the_access_path_is_the_narrowest_that_has_all() {
        let of = |statuses: &[Status]| Search { statuses: statuses.to_vec(), ..Search::default() };
        let ids = Search { ids: vec!["a".into()], ..of(&[Status::Fail]) };
        assert_eq!(ids.path(), AccessPath::Ids(&["a".into()]));
        let transaction =
            Search { transaction_id: Some("t".into()), id_prefix: Some("p".into()), ..Search::default() };
        assert_eq!(transaction.path(), AccessPath::Transaction("t"));
        assert_eq!(of(&[Status::Fail]).path(), AccessPath::Failed);
        let attribute =
            Search { attributes: [("a".to_owned(), "1".to_owned())].into(), ..of(&[Status::Fail]) };
        assert_eq!(attribute.path(), AccessPath::Attribute("a", "1"));
        assert_eq!(
            of(&[Status::Fail, Status::Success]).path(),
            AccessPath::ByNumber { since: None, until: None }
        );
        assert_eq!(
            of(&[Status::Wait, Status::New]).path(),
            AccessPath::Unfinished { running: false, suspended: true }
        );
        assert_eq!(of(&[Status::Running]).path(), AccessPath::Unfinished { running: true, suspended: false });
        let late = Search { jeopardy: Some(true), ..of(&[Status::Wait]) };
        assert_eq!(late.path(), AccessPath::Jeopardy);
        assert_eq!(Search { ids: vec!["a".into()], ..late.clone() }.path(), AccessPath::Ids(&["a".into()]));
        let both = Search { inconsistent: Some(true), ..late };
        assert_eq!(both.path(), AccessPath::Inconsistent, "there are fewer of them");
        let in_time = Search { jeopardy: Some(false), ..Search::default() };
        assert_eq!(in_time.path(), AccessPath::ByNumber { since: None, until: None });
        let queue = Search { queue: Some("q".into()), ..of(&[Status::Fail]) };
        assert_eq!(queue.path(), AccessPath::Failed, "what has ended stands in no queue");
        assert_eq!(Search { queue: Some("q".into()), ..of(&[Status::New]) }.path(), AccessPath::Queue("q"));
        assert!(Search::default().is_empty() && !queue.is_empty());
    }

    #[test]
    fn rec_13_what_failures_tell_needs_no_order() {
        let failed = Search {
            statuses: vec![Status::Fail],
            scenario: Some("pay".into()),
            classes: vec![String::new()],
            systems: vec!["billing".into()],
            finished_since: Some(Timestamp::UNIX_EPOCH),
            ..Search::default()
        };
        assert!(failed.is_of_failures_alone());
        // A failed order moves to another version without a second failure.
        assert!(!Search { scenario_version: Some(1), ..failed.clone() }.is_of_failures_alone());
        assert!(
            !Search { statuses: vec![Status::Fail, Status::New], ..failed.clone() }.is_of_failures_alone()
        );
        assert!(!Search { text: Some("a".into()), ..failed.clone() }.is_of_failures_alone());
        assert!(!Search { ids: vec!["a".into()], ..failed }.is_of_failures_alone());
    }

    #[test]
    fn rec_13_a_costly_condition_without_a_path_is_refused_with_what_to_add() {
        let wanted = Search { params: [("a".to_owned(), json!(1))].into(), ..Search::default() };
        let fault = wanted.check_path().unwrap_err();
        assert_eq!(fault.pointer, "/params");
        assert!(fault.hint.unwrap().contains("createdSince"));
        let narrow = Search { statuses: vec![Status::Wait], ..wanted.clone() };
        assert!(narrow.check_path().is_ok());
        let narrow = Search { created_since: Some(Timestamp::UNIX_EPOCH), ..wanted };
        assert!(narrow.check_path().is_ok());
        let source = Search { source: Some("api".into()), ..Search::default() };
        assert_eq!(source.check_path().unwrap_err().pointer, "/source");
        assert!(Search { ids: vec!["a".into()], ..source }.check_path().is_ok());
        let taken_over = Search { failed_over: Some(true), ..Search::default() };
        assert_eq!(taken_over.check_path().unwrap_err().pointer, "/failedOver");
    }

    #[test]
    fn rec_13_values_are_found_by_their_paths_in_lists_too() {
        let params =
            json!({"customer": {"id": 7, "vip": true}, "lines": [{"sku": "a"}, {"sku": "b"}], "none": null});
        let has = |path: &str, value: Value| Search::has_values(&[(path.to_owned(), value)].into(), &params);
        assert!(
            has("customer.id", json!(7)) && has("customer.id", json!("7")) && has("customer.id", json!(7.0))
        );
        assert!(has("customer.vip", json!("true")) && has("none", json!("null")));
        assert!(has("lines.sku", json!("b")) && !has("lines.sku", json!("c")));
        assert!(!has("customer", json!("7")) && !has("customer.id.x", json!(7)) && !has("", json!(7)));
    }

    #[test]
    fn rec_12_a_search_is_kept_as_it_was_read() {
        let search = Search {
            statuses: vec![Status::Fail],
            priority: Some(Priority::High),
            classes: vec![String::new(), "http.5xx".into()],
            created_since: Some("2026-01-02T00:00:00Z".parse().unwrap()),
            params: [("a.b".to_owned(), json!("x"))].into(),
            ..Search::default()
        };
        let text = serde_json::to_string(&search).unwrap();
        assert_eq!(serde_json::from_str::<Search>(&text).unwrap(), search, "{text}");
        // What is shown of it can be sent again.
        let value = serde_json::from_str(&text).unwrap();
        assert_eq!(Search::read(&value, Timestamp::UNIX_EPOCH).unwrap(), search, "{text}");
    }
}
