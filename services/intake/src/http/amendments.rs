//! Changes by hand over HTTP: update, repair, and the clone of an order.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode};
use pagurus_command::not_found;
use pagurus_domain::document::Fault;
use pagurus_domain::order::amendment::{Repair, Update};
use pagurus_runtime::node::chain;
use pagurus_runtime::trouble::store_problem;
use pagurus_store::history;
use pagurus_store::orders::{self, OrderRow as Row};
use pagurus_wire::order::{OrderView, StatusView};
use pagurus_wire::problem::{Problem, Type};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::body::read_json_if_any;
use super::caller::Caller;
use super::orders::{register_one, status_view};
use super::query::Path;
use super::{Answer, Outcome, views};
use crate::Intake;
use crate::register;

/// Bytes that are left of an id for the part that makes a clone's its own.
const MAX_STEM_BYTES: usize = 255 - 37;

fn invalid(faults: Vec<Fault>) -> Answer {
    Answer(Problem::of_faults(Type::Invalid, &faults))
}

/// `PATCH /v1/orders/{id}`
pub(super) async fn update(
    State(intake): State<Intake>,
    Path(id): Path<String>,
    Caller(by): Caller,
    body: Body,
) -> Outcome<Json<OrderView>> {
    let asked = Update::read(&*read_json_if_any(&intake, body).await?).map_err(invalid)?;
    intake.commands.update(&id, &asked, &by).await?;
    Ok(Json(views::order(&intake, &id).await?))
}

/// `PATCH /v1/orders/batch`: an order may bear this name.
pub(super) async fn update_named_batch(
    state: State<Intake>,
    caller: Caller,
    body: Body,
) -> Outcome<Json<OrderView>> {
    update(state, Path("batch".to_owned()), caller, body).await
}

/// `POST /v1/orders/{id}/repair`
pub(super) async fn repair(
    State(intake): State<Intake>,
    Path(id): Path<String>,
    Caller(by): Caller,
    body: Body,
) -> Outcome<Json<StatusView>> {
    let asked = Repair::read(&*read_json_if_any(&intake, body).await?).map_err(invalid)?;
    intake.commands.repair(&id, &asked, &by).await?;
    Ok(Json(status_view(&intake, &id).await?))
}

/// `POST /v1/orders/{id}/clone`: the body is laid over what the old order was registered with.
pub(super) async fn clone(
    State(intake): State<Intake>,
    Path(id): Path<String>,
    Caller(by): Caller,
    headers: HeaderMap,
    body: Body,
) -> Outcome<Response<Body>> {
    let asked = read_json_if_any(&intake, body).await?;
    let Some(mut changes) = asked.as_object().cloned() else {
        return Err(Answer(Problem::new(Type::Invalid, "the body of a clone is a JSON object")));
    };
    let row = async {
        let client = intake.host.store.api().await?;
        orders::view(&client, &id).await
    }
    .await
    .map_err(|error| store_problem(&intake.host, "clone", &error))?
    .ok_or_else(|| not_found(&id))?;
    let reason = changes.remove("reason");
    let mut order = pre_filled(&row, &intake.host.settings().distribution.flow_attributes);
    order.append(&mut changes);
    // Taken away is what the body names as null.
    order.retain(|_, value| !value.is_null());
    if !order.contains_key("id") {
        order.insert("id".into(), generated(&row.id).into());
    }
    let request = register::read_value(Value::Object(order))?;
    let made = request.id.clone();
    let answer = register_one(&intake, request, &headers).await?;
    if answer.status() == StatusCode::CREATED {
        let detail = json!({"from": id, "reason": reason, "by": by.to_value()}).to_string();
        if let Err(error) = note_origin(&intake, &made, by.source(), &detail).await {
            // The order is there and runs; only where it came from is not told.
            tracing::warn!(order = made, error = chain(&error), "the origin of a clone could not be noted");
        }
    }
    Ok(answer)
}

async fn note_origin(
    intake: &Intake,
    id: &str,
    source: &str,
    detail: &str,
) -> Result<(), pagurus_store::Error> {
    let mut client = intake.host.store.api().await?;
    let Some(row) = orders::view(&client, id).await? else { return Ok(()) };
    let tx = client.transaction().await?;
    history::append(&tx, row.no, "cloned", source, detail).await?;
    Ok(tx.commit().await?)
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

fn generated(id: &str) -> String {
    let stem = &id[..id.floor_char_boundary(MAX_STEM_BYTES)];
    format!("{stem}-{}", Uuid::new_v4())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ord_23_a_generated_id_fits_whatever_it_was_made_from() {
        for id in ["a", &"x".repeat(255), &"é".repeat(127)] {
            let made = generated(id);
            assert!(made.len() <= 255 && made != generated(id), "{made}");
        }
    }

    #[test]
    fn ord_23_the_flow_of_a_clone_is_that_of_the_order() {
        let attributes = ["scenario", "region", "params.kind"].map(str::to_owned);
        assert_eq!(Value::Object(flow_of("s|200|big", &attributes)), json!({"region": "200"}));
        assert!(flow_of("s|2|0|0|big", &attributes).is_empty());
    }
}
