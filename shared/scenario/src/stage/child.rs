//! Child orders: what is registered for them, and how an order goes on that awaits one right where it stands.

use pagurus_domain::classes::ORDER_FAILED;
use pagurus_domain::id::RequestId;
use pagurus_domain::order::OrderError;
use pagurus_domain::order::stage::Then;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::super::script::RunError;
use super::super::{Action, OrderAction};
use super::need::ChildOrder;
use super::snapshot::Awaiting;
use super::{Need, Pending, StageRun, StageTurn};

/// Fields of a child order that are words of the engine or name a scenario. A short secret may be the same
/// word by chance, and anything else in them is refused.
const WORDS: [&str; 4] = ["scenario", "scenarioVersion", "mode", "priority"];

impl StageRun {
    /// Starts a child order; its request, if it has one, is registered by now.
    pub(super) fn start_order(
        &mut self,
        order: &OrderAction,
        request: Option<RequestId>,
        turn: &StageTurn<'_>,
    ) -> Option<Need> {
        match self.render_order(order, turn) {
            Ok(registration) => {
                self.pending = Pending::Order(request);
                Some(Need::Order(ChildOrder { registration, request }))
            }
            Err(error) => {
                self.fail(error, turn);
                None
            }
        }
    }

    /// Number of children that an action started before in this visit, whose ends a script refused.
    pub(super) fn started_before(&self, action: &Action) -> u32 {
        match action {
            Action::Order(order) if order.is_started_again() => self.cursor.visit.hand_out,
            _ => 0,
        }
    }

    /// The fields that the scenario gives a child order.
    pub(super) fn fields_of_order(
        &self,
        order: &OrderAction,
        turn: &StageTurn<'_>,
    ) -> Result<Map<String, Value>, RunError> {
        let mut fields = Map::new();
        for (name, template) in &order.fields {
            let value = template.render(&self.context, &turn.settings.scripting)?;
            // It is stored. What a called system sent back of a secret reaches the child as it would reach
            // a later stage.
            let value = if WORDS.contains(&name.as_str()) { value } else { self.end.kept(value) };
            fields.insert(name.clone(), value);
        }
        Ok(fields)
    }

    pub(super) fn render_order(&self, order: &OrderAction, turn: &StageTurn<'_>) -> Result<Value, RunError> {
        let mut fields = self.fields_of_order(order, turn)?;
        if !fields.contains_key("id") {
            // Of the place and not of chance, so that a repeat starts no second child.
            let mut place =
                format!("{}.{}.{}", turn.facts.life, self.cursor.visit.number, self.cursor.frame().action);
            if let Some(call) = &self.cursor.handling {
                place.push_str(&format!(".call-{}", call.no));
            }
            if let Some((number, action)) = self.place_in_each() {
                place.push_str(&format!(".{number}-{action}"));
            }
            // A script refused the end of the one before it: another one is started (ERR-5).
            let again = Some(self.cursor.visit.hand_out).filter(|again| *again > 0 && order.waits_here);
            if let Some(again) = again {
                place.push_str(&format!(".again-{again}"));
            }
            let id = format!("{}.{place}", turn.facts.id);
            let id = if id.len() <= pagurus_domain::order::registration::MAX_ID_BYTES {
                id
            } else {
                let key = self.idempotency_key(turn);
                again.map_or(key, |again| Uuid::new_v5(&key, &again.to_be_bytes())).to_string()
            };
            fields.insert("id".into(), id.into());
        }
        if !fields.contains_key("transactionId")
            && let Some(transaction) = &turn.facts.transaction_id
        {
            fields.insert("transactionId".into(), transaction.as_str().into());
        }
        Ok(Value::Object(fields))
    }

    /// Goes on after the child order has become durable.
    pub(super) fn order_started(&mut self, request: Option<RequestId>, turn: &StageTurn<'_>) {
        let Some(Action::Order(order)) = self.present(turn) else { return };
        let Some((name, id)) = order.request.clone().zip(request).filter(|_| order.waits_here) else {
            return self.cursor.advance();
        };
        let until = match self.wait_until(order.timeout.as_ref(), turn) {
            Ok(until) => until,
            Err(error) => return self.fail(error, turn),
        };
        self.cursor.visit.awaiting = Some(Awaiting { name, id: Some(id), queued_at: turn.now, task: None });
        self.end.over(Then::Wait { until, requests: self.awaited_requests() });
    }

    pub(super) fn take_end_of_child(&mut self, order: &OrderAction, turn: &StageTurn<'_>) {
        self.cursor.visit.awaiting = None;
        let name = order.request.as_deref().unwrap_or_default();
        let end = turn.received.iter().find(|callback| callback.name == name);
        let end = end.map_or(Value::Null, |callback| callback.value.value()["body"].clone());
        if end["status"] == "success" {
            // A child with an id of the scenario's own is started once, whatever is repeated.
            if order.is_started_again() {
                self.cursor.visit.hand_out += 1;
                self.note_answered(turn);
                self.cursor.visit.hand_out = 0;
            }
            return self.cursor.advance();
        }
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let class = text(&end["error"]["class"]).unwrap_or_else(|| ORDER_FAILED.into());
        let status = text(&end["status"]).unwrap_or_else(|| "unknown".into());
        let why = text(&end["error"]["message"]).or_else(|| text(&end["message"])).unwrap_or_default();
        let message = format!("child order `{}` ended {status}: {why}", text(&end["id"]).unwrap_or_default());
        self.fail(OrderError::new(class, message), turn);
    }
}
