//! The history of an order: its transitions, and its events by number (ORD-25).

use std::ops::ControlFlow;

use pagurus_domain::id::Life;
use pagurus_domain::number::saturated;
use pagurus_domain::order::notification::hide_queries;
use pagurus_domain::time;
use pagurus_scenario::Mask;
use pagurus_store::hot::history::{self, HistoryEvent};
use pagurus_store::outside::orders::OrderRow as Row;
use pagurus_store::{Client, Error};
use pagurus_wire::order::{EventView, Page, TransitionView};
use pagurus_wire::problem::Problem;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Views;
use crate::hidden::{HiddenParts, mask};
use crate::part::{self, PageCollector, PartCursor, PartQuery, ROWS, read_on};
use crate::query::limit;

/// Query of events.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct EventsQuery {
    /// Only events after the one with this number.
    pub(crate) after: Option<i32>,
    /// Events of the page; default: 1000.
    #[schemars(with = "Option<u32>", range(min = 1, max = 10_000))]
    limit: Option<String>,
}

impl EventsQuery {
    /// A page behind the event of this number.
    pub(crate) const fn behind(after: i32) -> Self {
        Self { after: Some(after), limit: None }
    }
}

impl Views {
    /// Transitions of an order.
    pub async fn transitions(&self, id: &str, query: &PartQuery) -> Result<Page<TransitionView>, Problem> {
        let page = query.collector()?;
        let (client, row) = self.found(id).await?;
        transitions(&client, &row, page).await.map_err(self.failed("read"))
    }

    /// Events of an order by number; the next page is the one behind the last number.
    pub async fn events(&self, id: &str, query: &EventsQuery) -> Result<Page<EventView>, Problem> {
        let size = limit(query.limit.as_deref(), part::USUAL_LIMIT, part::MAX_LIMIT)?;
        let after = query.after.unwrap_or(0);
        let (client, row) = self.found(id).await?;
        let mut events = Vec::new();
        let read = async {
            let hidden = self.hidden_in(&client, &row).await?;
            if after < 1 {
                events.push(registered(&row));
            }
            // A row may stand for two events, of which only the second may be behind that number.
            read_on(&client, row.no, after.saturating_sub(1), |event| {
                events.extend(event_views(event).into_iter().filter(|view| view.number > after));
                if events.len() > size { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })
            .await?;
            Ok(hidden)
        };
        let hidden = read.await.map_err(self.failed("read"))?;
        let has_more = events.len() > size;
        events.truncate(size);
        for event in &mut events {
            mask_change(hidden.as_ref(), &mut event.payload);
        }
        let next = events.last().filter(|_| has_more).map(|event| event.number.to_string());
        Ok(Page { items: events, next })
    }
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
    // What was stored by a version before.
    for notify in ["/changed/notify/was", "/changed/notify/is"] {
        payload.pointer_mut(notify).into_iter().for_each(hide_queries);
    }
}

/// Stored JSON; null where it cannot be read.
pub(crate) fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// The event of a stage that has entered an entry point and goes on.
pub(crate) const ENTERED: &str = "entered";

/// Transitions of all stages, and those by hand, numbered from 1.
pub(crate) async fn transitions(
    client: &Client,
    row: &Row,
    mut page: PageCollector<TransitionView>,
) -> Result<Page<TransitionView>, Error> {
    read_on(client, row.no, page.point.after, |event| moves(event, &mut page)).await?;
    Ok(page.page())
}

/// Transitions that are shown with their order.
const SHOWN_MOVES: usize = 250;

/// Transitions of an order as its page needs them: the page of an order costs the same however long its history is.
pub(crate) struct OrderMoves {
    /// Transitions of the first rows of its history.
    pub first: Page<TransitionView>,
    /// The last ones of a longer history, as they are stored, each with the life that it belongs to. They have no numbers: all
    /// before would have to be counted.
    pub last: Vec<(Life, Value)>,
    /// True where the present life begins among the last ones.
    pub begins_among_last: bool,
}

impl OrderMoves {
    /// Reads both.
    pub async fn read(client: &Client, row: &Row) -> Result<Self, Error> {
        let rows = usize::try_from(ROWS).unwrap_or(usize::MAX);
        let page = PageCollector::of(PartCursor::default(), 0, part::MAX_LIMIT).within(rows);
        let first = transitions(client, row, page).await?;
        let events = match first.next {
            Some(_) => history::last_of_order(client, row.no, ROWS).await?,
            None => Vec::new(),
        };
        let moves = |event: &HistoryEvent| {
            let moves = moves_of(event, &parsed(&event.detail));
            moves.into_iter().map(|moved| (event.life, moved)).collect::<Vec<_>>()
        };
        Ok(Self {
            first,
            last: events.iter().flat_map(moves).collect(),
            begins_among_last: events.first().is_some_and(|event| event.life < row.life),
        })
    }

    /// True if there may be more than are shown.
    pub fn are_more(&self) -> bool {
        self.first.next.is_some() || self.first.items.len() > SHOWN_MOVES
    }

    /// The transitions that are shown.
    pub fn shown(mut self) -> Vec<TransitionView> {
        self.first.items.truncate(SHOWN_MOVES);
        self.first.items
    }
}

/// Transitions of an event.
fn moves_of(event: &HistoryEvent, detail: &Value) -> Vec<Value> {
    match event.kind.as_str() {
        "stage" | ENTERED => detail.get("transitions").and_then(Value::as_array).cloned().unwrap_or_default(),
        // By hand, but a move all the same (ORD-23).
        "repaired" => vec![json!({
            "from": detail["formerState"], "event": "repair", "to": detail["state"], "at": time::shown(event.at),
        })],
        _ => Vec::new(),
    }
}

fn moves(event: &HistoryEvent, page: &mut PageCollector<TransitionView>) -> ControlFlow<()> {
    let detail = parsed(&event.detail);
    let moves = moves_of(event, &detail);
    let hand_out = detail.get("attempt").and_then(Value::as_i64).unwrap_or_default();
    let views = moves.iter().map(|moved| {
        move |number: usize| TransitionView {
            number: saturated::<u32>(number),
            life: event.life.0,
            from: text(moved, "from"),
            event: text(moved, "event"),
            to: text(moved, "to"),
            at: time_text(moved, "at"),
            hand_out,
            node: event.source.clone(),
        }
    });
    page.add(event.number, views)
}

/// A text among the members of a stored value; empty where there is none.
pub(crate) fn text(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// A time among the members of a stored value, as times are shown.
pub(crate) fn time_text(value: &Value, key: &str) -> String {
    let stored = text(value, key);
    stored.parse().map_or(stored, time::shown)
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

/// The first event of every history.
fn registered(row: &Row) -> EventView {
    EventView {
        number: 1,
        life: 1,
        kind: "registered".into(),
        at: time::shown(row.created_at),
        source: "client".into(),
        payload: json!({"scenario": row.scenario, "scenarioVersion": row.scenario_version}),
    }
}

/// The events of a row, by number. A row of kind `stage` is two: the start and the end of the stage.
fn event_views(event: &HistoryEvent) -> Vec<EventView> {
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
        let begun = view(event.number, "stage_started", time_text(&payload, "startedAt"), started);
        return vec![begun, view(event.number + 1, "stage_ended", time::shown(event.at), payload)];
    }
    vec![view(event.number, &event.kind, time::shown(event.at), payload)]
}
