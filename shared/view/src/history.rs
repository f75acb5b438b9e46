//! The history of an order: its transitions, and its events by number (ORD-25).

use pagurus_domain::scenario::Mask;
use pagurus_store::history::{self, HistoryEvent};
use pagurus_store::orders::OrderRow as Row;
use pagurus_store::{Client, Error};
use pagurus_wire::order::{EventView, TransitionView};
use pagurus_wire::problem::Problem;
use serde_json::{Value, json};

use crate::Views;
use crate::hidden::{HiddenParts, mask};

/// Events read of one order at most; an order with more is paged by `after`.
const MAX_EVENTS: i64 = 10_000;

impl Views {
    /// Transitions of an order.
    pub async fn transitions(&self, id: &str) -> Result<Vec<TransitionView>, Problem> {
        let (client, row) = self.found(id).await?;
        Ok(transitions(&stored(&client, &row, 0).await.map_err(self.failed("read"))?))
    }

    /// Events of an order behind the one with the number `after`.
    pub async fn events(&self, id: &str, after: Option<i32>) -> Result<Vec<EventView>, Problem> {
        let (client, row) = self.found(id).await?;
        let read = async {
            let hidden = self.hidden_in(&client, &row).await?;
            Ok((hidden, stored(&client, &row, after.unwrap_or(0)).await?))
        };
        let (hidden, events) = read.await.map_err(self.failed("read"))?;
        let mut views = event_views(&row, &events, after);
        for view in &mut views {
            mask_change(hidden.as_ref(), &mut view.payload);
        }
        Ok(views)
    }
}

/// Events of an order as they are stored.
pub(crate) async fn stored(client: &Client, row: &Row, after: i32) -> Result<Vec<HistoryEvent>, Error> {
    history::of_order(client, row.no, after, MAX_EVENTS).await
}

/// A change of parameters tells what they were and what they are.
fn mask_change(hidden: Option<&HiddenParts>, payload: &mut Value) {
    if let Some(params) = payload.get_mut("formerParams").filter(|params| !params.is_null()) {
        mask(hidden, params, Mask::params);
    }
    if let Some(Value::Object(params)) = payload.pointer_mut("/changed/params") {
        for value in params.values_mut() {
            mask(hidden, value, Mask::params);
        }
    }
}

/// Stored JSON; null where it cannot be read.
pub(crate) fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// The event of a stage that has entered an entry point and goes on.
pub(crate) const ENTERED: &str = "entered";

/// Transitions of all stages, and those by hand, numbered from 1.
pub(crate) fn transitions(events: &[HistoryEvent]) -> Vec<TransitionView> {
    let mut views = Vec::new();
    for event in events {
        let detail = parsed(&event.detail);
        let moves = match event.kind.as_str() {
            "stage" | ENTERED => {
                detail.get("transitions").and_then(Value::as_array).cloned().unwrap_or_default()
            }
            // By hand, but a move all the same (ORD-23).
            "repaired" => vec![json!({
                "from": detail["formerState"], "event": "repair", "to": detail["state"], "at": event.at.to_string(),
            })],
            _ => continue,
        };
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

/// A text among the members of a stored value; empty where there is none.
pub(crate) fn text(value: &Value, key: &str) -> String {
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
        let payload = outward(parsed(&event.detail));
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
