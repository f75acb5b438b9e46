//! Clones: the registration that would make an order again, and the note where a clone came from (ORD-23).

mod bulk;

use jiff::{SignedDuration, Timestamp};
use pagurus_domain::audit::AuditKind;
use pagurus_domain::id::OrderNo;
use pagurus_domain::order::Status;
use pagurus_domain::order::notification::{as_given, with_whole_url};
use pagurus_domain::order::principal::Principal;
use pagurus_domain::order::registration::Request;
use pagurus_runtime::node::chain;
use pagurus_runtime::scenarios::Known;
use pagurus_runtime::trouble::store_problem;
use pagurus_store::hot::dependencies::graph::{self, Edge, Expectation, Graph};
use pagurus_store::hot::history;
use pagurus_store::lists::audit::AuditEntry;
use pagurus_store::outside::orders::{self, OrderRow as Row};
use pagurus_store::{Error, Tx};
use pagurus_wire::problem::{Problem, Type};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::request::{RequestKey, text_of};
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
    /// Remark on what was not taken over from the old order.
    pub note: Option<String>,
}

impl Commands {
    /// The clone that a request under the same key has made before, and its present status. What it was made from, and
    /// the times that have not passed, may be others by now: a second registration would be no repeat of the first.
    ///
    /// # Errors
    /// The problem to answer with: the key was used for a request with another content, or not available.
    pub async fn cloned_before(
        &self,
        id: &str,
        changes: &Value,
        key: Option<&RequestKey>,
    ) -> Result<Option<(String, Status)>, Problem> {
        let Some(key) = key else { return Ok(None) };
        let clone = changes["id"].as_str().map_or_else(|| generated(id, Some(key)), str::to_owned);
        let found = async {
            let mut client = self.host.store.api().await?;
            let Some(row) = orders::view(&client, &clone).await? else { return Ok(None) };
            let tx = client.transaction().await?;
            let made = history::of_key(&tx, &[row.no.0], &[EVENT], &key.name).await?.remove(&row.no);
            Ok::<_, Error>(made.map(|made| (made, row.status)))
        };
        let found = found.await.map_err(|error| store_problem(&self.host, "clone", &error))?;
        let Some((made, status)) = found else { return Ok(None) };
        key.check(&made)?;
        Ok(Some((clone, status)))
    }

    /// The registration of a clone of an order: the changes are laid over what that one was registered with, and
    /// what they name as null is taken away.
    ///
    /// # Errors
    /// The problem to answer with: not found, invalid, or not available.
    pub async fn clone_of(
        &self,
        id: &str,
        changes: &Value,
        key: Option<&RequestKey>,
    ) -> Result<(Request, CloneOrigin), Problem> {
        let Some(mut changes) = changes.as_object().cloned() else {
            return Err(Problem::new(Type::Invalid, "the body of a clone is a JSON object"));
        };
        let found = async {
            let client = self.host.store.api().await?;
            let Some(row) = orders::view(&client, id).await? else { return Ok(None) };
            let graph = graph::around(&client, id, 1).await?;
            self.catalogue.refresh(&client).await?;
            let name = changes.get("scenario").and_then(Value::as_str).unwrap_or(&row.scenario);
            let version = changes.get("scenarioVersion").and_then(Value::as_i64);
            let version = version.and_then(|version| i32::try_from(version).ok());
            let known = self.catalogue.find(&client, name, version).await?.and_then(Known::readable);
            Ok(Some((row, graph, known.is_some_and(|scenario| scenario.queue.is_some()))))
        };
        let found = found.await.map_err(|error: Error| store_problem(&self.host, "clone", &error))?;
        let (row, graph, queue_by_scenario) = found.ok_or_else(|| Problem::no_order(id))?;
        let reason =
            text_of(&changes, "reason").map_err(|fault| Problem::of_faults(Type::Invalid, &[fault]))?;
        changes.remove("reason");
        if let Some(notify) = changes.remove("notify") {
            let whole = with_whole_url(notify, row.notify.as_deref());
            let whole = whole.map_err(|fault| Problem::of_faults(Type::Invalid, &[fault]))?;
            changes.insert("notify".into(), whole);
        }
        let mut order = pre_filled(&row, &self.host.settings().distribution.flow_attributes);
        if queue_by_scenario {
            // Of its own parameters, which may be others than those of the order.
            order.retain(|key, _| key != "mode" && key != "queue");
        }
        let mut note = None;
        if !changes.contains_key("lifecycle") {
            let (lifecycle, passed) = lifecycle_of(&row, &graph, Timestamp::now());
            order.insert("lifecycle".into(), lifecycle.into());
            note = (!passed.is_empty())
                .then(|| format!("not taken over, because it has passed: {}", passed.join(", ")));
        }
        order.append(&mut changes);
        order.retain(|_, value| !value.is_null());
        if !order.contains_key("id") {
            order.insert("id".into(), generated(&row.id, key).into());
        }
        let request = Request::read(Value::Object(order))
            .map_err(|faults| Problem::of_faults(Type::Invalid, &faults))?;
        let mut detail = json!({"from": id, "reason": reason});
        if let Some(key) = key {
            (detail["key"], detail["request"]) = (json!(key.name), json!(key.digest));
        }
        let origin = CloneOrigin { clone: request.id.clone(), detail, note };
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
        origin.record(&tx, row.no, by).await?;
        Ok(tx.commit().await?)
    }
}

impl CloneOrigin {
    /// Writes it into the history of the clone, and the audit log.
    async fn record(&self, tx: &Tx<'_>, no: OrderNo, by: &Principal) -> Result<(), Error> {
        let detail = caused(self.detail.clone(), by).to_string();
        history::append(tx, no, EVENT, by.source(), &detail).await?;
        let entry = AuditEntry::new(EVENT, (AuditKind::Order, &self.clone), by, None);
        entry.with(&self.detail).record(tx).await
    }
}

/// A registration that would make the same order again, without its id. The newest version of the scenario is taken, as for
/// any new order.
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
        ("labels", row.labels.to_value()),
        ("notify", row.notify.as_deref().map_or(Value::Null, as_given)),
    ];
    values.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// The times and conditions of an order as a clone has them, and the names of those that lie in the past. A period to start
/// counts from the clone: one that would end before it may start is left out, too.
fn lifecycle_of(row: &Row, graph: &Graph, now: Timestamp) -> (Map<String, Value>, Vec<&'static str>) {
    let (mut lifecycle, mut passed) = (Map::new(), Vec::new());
    let mut time = |name: &'static str, at: Option<Timestamp>| match at {
        Some(at) if at > now => drop(lifecycle.insert(name.into(), at.to_string().into())),
        Some(_) => passed.push(name),
        None => {}
    };
    time("startAt", row.start_at);
    time("promiseAt", row.promise_at);
    let ends = |period: i64| now.checked_add(SignedDuration::from_secs(period)).unwrap_or(Timestamp::MAX);
    let start = row.start_at.filter(|at| *at > now);
    match row.start_period {
        Some(period) if start.is_none_or(|start| start <= ends(period)) => {
            lifecycle.insert("periodToStart".into(), period.into());
        }
        Some(_) => passed.push("periodToStart"),
        None => {}
    }
    let is_over = |id: &str| graph.nodes.iter().any(|node| node.id == id && node.status.is_final());
    let edges = graph.edges.iter().filter(|edge| edge.order == row.id);
    let (over, open): (Vec<_>, Vec<_>) = edges
        .filter_map(|edge| Some((edge, edge.terms.as_ref()?)))
        .partition(|(edge, _)| is_over(&edge.before));
    if !open.is_empty() {
        let condition = |(edge, terms): &(&Edge, &Expectation)| json!({"order": edge.before, "states": terms.states, "otherwise": terms.otherwise.as_str()});
        lifecycle.insert("after".into(), open.iter().map(condition).collect());
    }
    if !over.is_empty() {
        passed.push("after");
    }
    (lifecycle, passed)
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
fn generated(id: &str, key: Option<&RequestKey>) -> String {
    let stem = &id[..id.floor_char_boundary(MAX_STEM_BYTES)];
    let own = key.map_or_else(Uuid::new_v4, |key| {
        Uuid::new_v5(&Uuid::NAMESPACE_OID, format!("{id}\0clone\0{}", key.name).as_bytes())
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
            let key = |name: &str| RequestKey { name: name.to_owned(), digest: String::new() };
            let keyed = generated(id, Some(&key("k")));
            assert_eq!(keyed, generated(id, Some(&key("k"))));
            assert!(keyed.len() <= 255 && keyed != generated(id, Some(&key("l"))), "{keyed}");
        }
    }

    #[test]
    fn ord_23_the_flow_of_a_clone_is_that_of_the_order() {
        let attributes = ["scenario", "region", "params.kind"].map(str::to_owned);
        assert_eq!(Value::Object(flow_of("s|200|big", &attributes)), json!({"region": "200"}));
        assert!(flow_of("s|2|0|0|big", &attributes).is_empty());
    }
}
