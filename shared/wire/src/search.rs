//! Searches, as the API shows them.

use std::borrow::Cow;

use jiff::Timestamp;
use pagurus_domain::search::{CONDITIONS, ConditionKind, SearchCondition};
use pagurus_domain::time;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Groups of orders that a search finds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrderCounts {
    /// Fields by which the orders are grouped.
    pub by: Vec<String>,
    /// Sum of all groups.
    pub orders: i64,
    /// False if there are more orders than were checked: then the counts are lower bounds.
    pub complete: bool,
    /// Groups, the largest first.
    pub items: Vec<OrderCount>,
}

/// Orders that have the keys in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrderCount {
    /// Values, in the order of `by`; an empty text if the orders have none.
    pub key: Vec<String>,
    /// Number of orders.
    pub orders: i64,
    /// Id of the newest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newest: Option<String>,
}

/// A saved search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SavedSearch {
    /// Name.
    pub name: String,
    /// Conditions, with times as they were given.
    pub search: Value,
    /// Person or program that saved it last.
    pub by: Value,
    /// Time at which it was saved.
    #[serde(serialize_with = "time::serialize")]
    pub made_at: Timestamp,
}

/// Conditions of a search, as the document describes a body of them.
#[derive(Debug)]
pub struct SearchBody;

impl JsonSchema for SearchBody {
    fn schema_name() -> Cow<'static, str> {
        "SearchBody".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let field = |condition: &SearchCondition| {
            let mut schema = match condition.kind {
                ConditionKind::Text | ConditionKind::Time => {
                    json!({"type": ["string", "null"], "default": null})
                }
                ConditionKind::List => json!({"type": "array", "items": {"type": "string"}, "default": []}),
                ConditionKind::Flag => json!({"type": ["boolean", "null"], "default": null}),
                ConditionKind::Number => {
                    json!({"type": ["integer", "null"], "format": "int32", "default": null})
                }
                ConditionKind::Values => {
                    json!({"type": "object", "additionalProperties": true, "default": {}})
                }
            };
            schema["description"] = condition.meaning_in_body().into();
            (condition.name.to_owned(), schema)
        };
        let fields: Map<String, Value> = CONDITIONS.iter().map(field).collect();
        json_schema!({
            "type": "object",
            "description": "Conditions of a search; an order must fulfil all that are given. \
                A time may be given as a duration back from now, like `2h`.",
            "properties": fields,
        })
    }
}

/// Conditions of a search, as the document describes a query of them. Those by names are no parameters: their names
/// are not known beforehand.
#[derive(Debug)]
pub struct SearchQuery;

impl JsonSchema for SearchQuery {
    fn schema_name() -> Cow<'static, str> {
        "SearchQuery".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let parameters = CONDITIONS.iter().filter(|condition| condition.kind != ConditionKind::Values);
        let parameters: Map<String, Value> = parameters
            .map(|condition| {
                let schema = json!({"type": "string", "description": condition.meaning_in_query()});
                (condition.name.to_owned(), schema)
            })
            .collect();
        json_schema!({"type": "object", "properties": parameters})
    }
}
