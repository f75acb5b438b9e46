//! Clones: the registration that would make an order again, and the note where a clone came from (ORD-23).

use pagurus_domain::audit::AuditKind;
use pagurus_domain::order::notification::with_whole_url;
use pagurus_domain::order::principal::Principal;
use pagurus_domain::order::registration::Request;
use pagurus_runtime::node::chain;
use pagurus_runtime::trouble::store_problem;
use pagurus_store::Error;
use pagurus_store::hot::history;
use pagurus_store::lists::audit::AuditEntry;
use pagurus_store::outside::orders::{self, OrderRow as Row};
use pagurus_wire::problem::{Problem, Type};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::{Commands, caused};

/// Kind of the event that a clone has in its history.
const EVENT: &str = "cloned";
/// Bytes that are left of an id for the part that makes a clone's its own.
const MAX_STEM_BYTES: usize = 255 - 37;

/// Origin of a clone, for its history.
#[derive(Clone, Debug)]
pub struct CloneOrigin {
    /// The id of the clone.
    clone: String,
    detail: Value,
}

impl Commands {
    /// The registration of a clone of an order: the changes are laid over what that one was registered with, and
    /// what they name as null is taken away.
    ///
    /// # Errors
    /// The problem to answer with: not found, invalid, or not available.
    pub async fn clone_of(
        &self,
        id: &str,
        changes: &Value,
        key: Option<&str>,
    ) -> Result<(Request, CloneOrigin), Problem> {
        let Some(mut changes) = changes.as_object().cloned() else {
            return Err(Problem::new(Type::Invalid, "the body of a clone is a JSON object"));
        };
        let found = async { orders::view(&self.host.store.api().await?, id).await };
        let found = found.await.map_err(|error| store_problem(&self.host, "clone", &error))?;
        let row = found.ok_or_else(|| Problem::no_order(id))?;
        let reason = changes.remove("reason");
        if let Some(notify) = changes.remove("notify") {
            let whole = with_whole_url(notify, row.notify.as_deref());
            let whole = whole.map_err(|fault| Problem::of_faults(Type::Invalid, &[fault]))?;
            changes.insert("notify".into(), whole);
        }
        let mut order = pre_filled(&row, &self.host.settings().distribution.flow_attributes);
        order.append(&mut changes);
        order.retain(|_, value| !value.is_null());
        if !order.contains_key("id") {
            order.insert("id".into(), generated(&row.id, key).into());
        }
        let request = Request::read(Value::Object(order))
            .map_err(|faults| Problem::of_faults(Type::Invalid, &faults))?;
        let origin = CloneOrigin { clone: request.id.clone(), detail: json!({"from": id, "reason": reason}) };
        Ok((request, origin))
    }

    /// Notes in the history of a clone that was registered where it came from.
    pub async fn note_origin(&self, origin: &CloneOrigin, by: &Principal) {
        self.note(EVENT, by.door, 1);
        if let Err(error) = self.try_note_origin(origin, by).await {
            // The order is there and runs; only its origin is not recorded.
            let error = chain(&error);
            tracing::warn!(order = origin.clone, error, "the origin of a clone could not be noted");
        }
    }

    async fn try_note_origin(&self, origin: &CloneOrigin, by: &Principal) -> Result<(), Error> {
        let mut client = self.host.store.api().await?;
        let Some(row) = orders::view(&client, &origin.clone).await? else { return Ok(()) };
        let tx = client.transaction().await?;
        let detail = caused(origin.detail.clone(), by).to_string();
        history::append(&tx, row.no, EVENT, by.source(), &detail).await?;
        AuditEntry::new(EVENT, (AuditKind::Order, &origin.clone), by, None)
            .with(&origin.detail)
            .record(&tx)
            .await?;
        Ok(tx.commit().await?)
    }
}

/// A registration that would make the same order again, without its id, and without when it was to
/// start and what it waited for: that was the old one's. The newest version of the scenario is
/// taken, as for any new order.
fn pre_filled(row: &Row, flow_attributes: &[String]) -> Map<String, Value> {
    let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap_or(Value::Null);
    let values = [
        ("scenario", json!(row.scenario)),
        ("params", parsed(&row.params)),
        ("mode", json!(row.mode.as_str())),
        ("queue", json!(row.queue)),
        ("priority", json!(row.priority.as_str())),
        ("flow", Value::Object(flow_of(&row.flow, flow_attributes))),
        ("transactionId", json!(row.transaction_id)),
        ("notify", row.notify.as_deref().map_or(Value::Null, parsed)),
        ("lifecycle", row.start_period.map_or(Value::Null, |period| json!({"periodToStart": period}))),
    ];
    values.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// The attributes from which a flow marker was made, as far as it still shows them.
fn flow_of(marker: &str, attributes: &[String]) -> Map<String, Value> {
    let values: Vec<&str> = marker.split('|').collect();
    if values.len() != attributes.len() {
        return Map::new();
    }
    let own = |attribute: &&String| *attribute != "scenario" && !attribute.starts_with("params.");
    attributes
        .iter()
        .zip(values)
        .filter(|(attribute, value)| own(attribute) && !value.is_empty())
        .map(|(attribute, value)| (attribute.clone(), json!(value)))
        .collect()
}

/// An id of its own for a clone; a request that is repeated under its key means the same clone.
fn generated(id: &str, key: Option<&str>) -> String {
    let stem = &id[..id.floor_char_boundary(MAX_STEM_BYTES)];
    let own = key.map_or_else(Uuid::new_v4, |key| {
        Uuid::new_v5(&Uuid::NAMESPACE_OID, format!("{id}\0clone\0{key}").as_bytes())
    });
    format!("{stem}-{own}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ord_23_a_generated_id_fits_whatever_it_was_made_from() {
        for id in ["a", &"x".repeat(255), &"é".repeat(127)] {
            let made = generated(id, None);
            assert!(made.len() <= 255 && made != generated(id, None), "{made}");
            let keyed = generated(id, Some("k"));
            assert_eq!(keyed, generated(id, Some("k")));
            assert!(keyed.len() <= 255 && keyed != generated(id, Some("l")), "{keyed}");
        }
    }

    #[test]
    fn ord_23_the_flow_of_a_clone_is_that_of_the_order() {
        let attributes = ["scenario", "region", "params.kind"].map(str::to_owned);
        assert_eq!(Value::Object(flow_of("s|200|big", &attributes)), json!({"region": "200"}));
        assert!(flow_of("s|2|0|0|big", &attributes).is_empty());
    }
}
