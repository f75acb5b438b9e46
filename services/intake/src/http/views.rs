//! Orders and their parts, as the API shows them.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use axum::response::IntoResponse;
use jiff::Timestamp;
use pagurus_domain::scenario::stage::Snapshot;
use pagurus_domain::scenario::{MASKED, Mask, Scenario};
use pagurus_runtime::scenarios::Known;
use pagurus_runtime::trouble::store_problem;
use pagurus_store::dependencies::graph;
use pagurus_store::history::HistoryEvent;
use pagurus_store::orders::OrderRow as Row;
use pagurus_store::{Client, answers, children, history, orders as order_rows, outbox, requests};
use pagurus_wire::order::{
    ChildView, ErrorView, EventView, OrderLine, OrderView, TransitionView, UnsentView,
};
use pagurus_wire::problem::{Problem, Type};
use serde::Deserialize;
use serde_json::{Value, json};

use super::query::{Path, Query};
use super::{Answer, Outcome, dependencies, explain, log, retry};
use crate::Intake;
use pagurus_command::not_found;

/// Events read of one order at most; an order with more is paged by `after`.
const MAX_EVENTS: i64 = 10_000;

/// Query of a part that is paged.
#[derive(Debug, Deserialize)]
pub(super) struct PartQuery {
    after: Option<i32>,
    #[serde(rename = "fromLine")]
    from_line: Option<usize>,
    size: Option<usize>,
}

/// `GET /v1/orders/{id}/{part}`
pub(super) async fn part(
    State(intake): State<Intake>,
    Path((id, part)): Path<(String, String)>,
    Query(query): Query<PartQuery>,
) -> Outcome<Response<Body>> {
    if part == "status" {
        return Ok(Json(super::orders::status_view(&intake, &id).await?).into_response());
    }
    let found = read_part(&intake, &id, &part, &query).await;
    match found.map_err(|error| store_problem(&intake.host, "read", &error))? {
        Part::Value(value) => Ok(Json(value).into_response()),
        Part::UnknownOrder => Err(Answer(not_found(&id))),
        Part::UnknownName => Err(Answer(Problem::new(
            Type::NotFound,
            "parts of an order are: params, status, progress, transitions, events, log, requests, callbacks, dependencies, explain",
        ))),
    }
}

enum Part {
    Value(Value),
    UnknownOrder,
    UnknownName,
}

async fn read_part(
    intake: &Intake,
    id: &str,
    part: &str,
    query: &PartQuery,
) -> Result<Part, pagurus_store::Error> {
    let client = intake.host.store.api().await?;
    let Some(row) = order_rows::view(&client, id).await? else { return Ok(Part::UnknownOrder) };
    let known = scenario_of(intake, &client, &row).await?;
    let known = known.as_deref();
    let value = match part {
        "params" => params(intake, known, &row),
        "progress" => json!({"progress": progress(&row)}),
        "requests" => Value::Array(requests::of_order(&client, row.no).await?),
        "callbacks" => callbacks(intake, known, answers::callbacks_of_order(&client, row.no).await?),
        "explain" => {
            let settings = intake.host.settings();
            let cycles = retry::cycles(&settings, &row, Timestamp::now());
            return Ok(Part::Value(json!(
                explain::explain(&client, &row, &cycles, &settings.distribution).await?
            )));
        }
        "transitions" => json!(transitions(&events(&client, &row, 0).await?)),
        "events" => {
            let events = events(&client, &row, query.after.unwrap_or(0)).await?;
            let mut views = event_views(&row, &events, query.after);
            for view in &mut views {
                mask_change(intake, known, &mut view.payload);
            }
            json!(views)
        }
        "log" => {
            let lines = log::lines(&row, &events(&client, &row, 0).await?);
            let from = query.from_line.unwrap_or(1).max(1);
            let size = query.size.unwrap_or(1000).min(10_000);
            json!(lines.into_iter().skip(from - 1).take(size).collect::<Vec<_>>())
        }
        _ => return Ok(Part::UnknownName),
    };
    Ok(Part::Value(value))
}

/// `GET /v1/orders/{id}/calls`
pub(super) async fn calls(State(intake): State<Intake>, Path(id): Path<String>) -> Outcome<Json<Value>> {
    let read = async {
        let client = intake.host.store.api().await?;
        let Some(row) = order_rows::view(&client, &id).await? else { return Ok(None) };
        pagurus_store::calls::of_order(&client, row.no).await.map(Some)
    }
    .await
    .map_err(|error| store_problem(&intake.host, "read", &error))?;
    let calls = read.ok_or_else(|| not_found(&id))?;
    Ok(Json(json!(calls.into_iter().map(crate::calls::view).collect::<Vec<_>>())))
}

async fn events(client: &Client, row: &Row, after: i32) -> Result<Vec<HistoryEvent>, pagurus_store::Error> {
    history::of_order(client, row.no, after, MAX_EVENTS).await
}

/// One order with everything.
pub(super) async fn order(intake: &Intake, id: &str) -> Outcome<OrderView> {
    let read = async {
        let client = intake.host.store.api().await?;
        let Some(row) = order_rows::view(&client, id).await? else { return Ok(None) };
        let known = scenario_of(intake, &client, &row).await?;
        let events = events(&client, &row, 0).await?;
        let unsent = outbox::of_order(&client, row.no).await?;
        let after = graph::around(&client, &row.id, 1).await?;
        let family = children::family(&client, row.no).await?;
        Ok::<_, pagurus_store::Error>(Some((row, known, events, unsent, after, family)))
    }
    .await
    .map_err(|error| store_problem(&intake.host, "read", &error))?;
    let (row, known, events, unsent, after, family) = read.ok_or_else(|| not_found(id))?;
    let snapshot = row
        .snapshot
        .as_deref()
        .and_then(|text| serde_json::from_str(text).ok())
        .and_then(|value| Snapshot::from_value(&value).ok())
        .unwrap_or_default();
    let cycles = retry::cycles(&intake.host.settings(), &row, Timestamp::now());
    Ok(OrderView {
        progress: progress(&row),
        transitions: transitions(&events),
        vars: concealed(intake, known.as_deref(), &Value::Object(snapshot.vars)),
        retry: cycles.waiting,
        async_retry: cycles.asynchronous,
        unsent_notifications: unsent.into_iter().map(unsent_view).collect(),
        params: params(intake, known.as_deref(), &row),
        parent: family.0,
        children: family.1.into_iter().map(|(id, status)| ChildView { id, status }).collect(),
        notify: row.notify.as_deref().map(|text| parsed(Some(text))),
        result: row.result.as_deref().map(|text| parsed(Some(text))),
        error: row.error_message.clone().map(|message| ErrorView {
            class: row.error_class.clone(),
            message,
            system: row.error_system.clone(),
        }),
        after: dependencies::conditions(&row.id, after),
        no: row.no.0,
        id: row.id,
        scenario: row.scenario,
        scenario_version: row.scenario_version,
        status: row.status.to_string(),
        scenario_status: row.scenario_status.to_string(),
        step: row.step,
        mode: row.mode.to_string(),
        queue: row.queue,
        position: row.position,
        priority: row.priority.to_string(),
        flow: row.flow,
        transaction_id: row.transaction_id,
        message: row.message,
        life: row.life.0,
        stages: row.stages,
        retries: row.retries,
        node: row.node,
        created_at: row.created_at,
        started_at: row.started_at.or(row.running.map(|(_, at)| at)),
        finished_at: row.finished_at,
        updated_at: row.updated_at,
        start_at: row.start_at,
        start_deadline: row.start_deadline,
        due_at: row.due_at,
        ready_since: row.ready_since,
        entry_point: row.entry_point,
    })
}

/// The parameters, without what the scenario masks (SCN-15).
fn params(intake: &Intake, known: Option<&Scenario>, row: &Row) -> Value {
    let mut params = parsed(Some(&row.params));
    masked(intake, known, &mut params, |mask, params| mask.params(params));
    params
}

fn callbacks(intake: &Intake, known: Option<&Scenario>, mut callbacks: Vec<Value>) -> Value {
    for callback in &mut callbacks {
        masked(intake, known, &mut callback["body"], |mask, body| mask.body(body));
        masked(intake, known, &mut callback["headers"], |mask, headers| mask.headers(headers));
    }
    Value::Array(callbacks)
}

/// A change of parameters tells what they were and what they are.
fn mask_change(intake: &Intake, known: Option<&Scenario>, payload: &mut Value) {
    if let Some(params) = payload.get_mut("formerParams").filter(|params| !params.is_null()) {
        masked(intake, known, params, |mask, params| mask.params(params));
    }
    if let Some(Value::Object(params)) = payload.pointer_mut("/changed/params") {
        for value in params.values_mut() {
            masked(intake, known, value, |mask, params| mask.params(params));
        }
    }
}

/// The version of the scenario that an order runs, where this node can read it.
async fn scenario_of(
    intake: &Intake,
    client: &Client,
    row: &Row,
) -> Result<Option<Arc<Scenario>>, pagurus_store::Error> {
    intake.catalogue.refresh(client).await?;
    let known = intake.catalogue.find(client, &row.scenario, Some(row.scenario_version)).await?;
    Ok(known.and_then(Known::readable))
}

/// Of a scenario that this node cannot read nobody knows what is to be masked: then it is all.
fn masked(
    intake: &Intake,
    known: Option<&Scenario>,
    value: &mut Value,
    hide: impl FnOnce(&Mask, &mut Value),
) {
    match known {
        Some(scenario) => {
            hide(&scenario.mask, value);
            *value = concealed_of(intake, scenario, value);
        }
        None => *value = MASKED.into(),
    }
}

/// What an order remembers, without the secrets that its scenario uses: a called system may have
/// told them back.
fn concealed(intake: &Intake, known: Option<&Scenario>, value: &Value) -> Value {
    match known {
        Some(scenario) => concealed_of(intake, scenario, value),
        None => value.clone(),
    }
}

fn concealed_of(intake: &Intake, scenario: &Scenario, value: &Value) -> Value {
    let secrets = intake.secrets_of(scenario);
    if secrets.is_empty() { value.clone() } else { secrets.value(value) }
}

fn unsent_view(unsent: outbox::Unsent) -> UnsentView {
    UnsentView {
        life: unsent.life.0,
        kind: unsent.kind,
        target: unsent.target,
        attempts: unsent.attempts,
        parked_because: unsent.parked_because,
        last_error: unsent.last_error,
        next_at: unsent.next_at,
    }
}

/// One line of a list.
pub(super) fn line(row: order_rows::ListedOrder) -> OrderLine {
    OrderLine {
        id: row.id,
        scenario: row.scenario,
        scenario_version: row.scenario_version,
        status: row.status.to_string(),
        scenario_status: row.scenario_status.to_string(),
        step: row.step,
        error_class: row.error_class,
        created_at: row.created_at,
        updated_at: row.updated_at,
    }
}

/// Progress (ORD-25): 1 when final, else the states visited over them and the shortest way to a
/// target. An order off target has no such way: what it has visited, and one more, count.
fn progress(row: &Row) -> f64 {
    if row.status.is_final() {
        return 1.0;
    }
    let visited = f64::from(row.visited);
    visited / (visited + f64::from(row.distance.unwrap_or(1).max(1)))
}

pub(super) fn parsed(text: Option<&str>) -> Value {
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or(Value::Null)
}

fn transitions(events: &[HistoryEvent]) -> Vec<TransitionView> {
    let mut views = Vec::new();
    for event in events.iter().filter(|event| event.kind == "stage") {
        let detail = parsed(Some(&event.detail));
        let moves = detail.get("transitions").and_then(Value::as_array).cloned().unwrap_or_default();
        for moved in &moves {
            views.push(TransitionView {
                number: u32::try_from(views.len() + 1).unwrap_or(u32::MAX),
                life: event.life.0,
                from: text(moved, "from"),
                event: text(moved, "event"),
                to: text(moved, "to"),
                at: text(moved, "at"),
                hand_out: detail.get("attempt").and_then(Value::as_i64).unwrap_or_default(),
                node: event.source.clone(),
            });
        }
    }
    views
}

pub(super) fn text(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Detail of an event, with the word of outsiders for the number of a hand-out: where it is stored, it is
/// an `attempt`, which means a failed try to everybody else (ORD-20).
fn outward(mut detail: Value) -> Value {
    if let Some(map) = detail.as_object_mut()
        && let Some(number) = map.remove("attempt")
    {
        map.insert("handOut".into(), number);
    }
    detail
}

/// The history as numbered events. A row of kind `stage` is two: the start and the end of it.
fn event_views(row: &Row, events: &[HistoryEvent], after: Option<i32>) -> Vec<EventView> {
    let mut views = Vec::new();
    if after.unwrap_or(0) < 1 {
        views.push(EventView {
            number: 1,
            life: 1,
            kind: "registered".into(),
            at: row.created_at.to_string(),
            source: "client".into(),
            payload: json!({"scenario": row.scenario, "scenarioVersion": row.scenario_version}),
        });
    }
    for event in events {
        let payload = outward(parsed(Some(&event.detail)));
        let view = |number: i32, kind: &str, at: String, payload: Value| EventView {
            number,
            life: event.life.0,
            kind: kind.to_owned(),
            at,
            source: event.source.clone(),
            payload,
        };
        if event.kind == "stage" {
            let started = json!({"handOut": payload.get("handOut"), "wake": payload.get("wake")});
            views.push(view(event.number, "stage_started", text(&payload, "startedAt"), started));
            views.push(view(event.number + 1, "stage_ended", event.at.to_string(), payload));
        } else {
            views.push(view(event.number, &event.kind, event.at.to_string(), payload));
        }
    }
    views
}
