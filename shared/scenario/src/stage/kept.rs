//! Good answers that a repeat does not ask for again, each known by what was asked (ERR-13, SCN-17).

use pagurus_domain::id::RequestId;
use serde_json::{Value, json};
use uuid::Uuid;

use super::super::Action;
use super::asked::request_value;
use super::snapshot::Digest;
use super::{StageRun, StageTurn};

impl StageRun {
    /// True if an earlier attempt got a good answer to this request of the present state, which asked the same.
    pub(super) fn is_answered(&self, request: &str, content: Option<Digest>, turn: &StageTurn<'_>) -> bool {
        let place = format!("{}/{request}", turn.scenario.state(self.state).name);
        let mut kept = self.cursor.asynchronous.iter().flat_map(|retry| &retry.answered);
        content.is_some() && kept.any(|kept| kept.place == place && kept.content == content)
    }

    /// Content of the request under the cursor: where it goes, and what it says. Its own id and URL and the time are others
    /// in each repeat, and no part of it. `None` if no answer is ever kept, or if it cannot be rendered.
    pub(super) fn content_of(&mut self, action: &Action, turn: &StageTurn<'_>) -> Option<Digest> {
        if !turn.scenario.states.iter().any(|state| state.retry_failed_only) {
            return None;
        }
        let now = std::mem::replace(&mut self.context.now, turn.facts.created_at);
        self.context.request = Some(request_value(RequestId(Uuid::nil()), turn));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let asked = match action {
            Action::Http(http) => self.render_http(http, turn).map(|call| {
                let body = call.body.map(|body| text(&body.bytes));
                json!([call.method.as_str(), call.url, body])
            }),
            Action::Amqp(amqp) => self
                .render_amqp(amqp, turn)
                .map(|message| json!([message.vhost, message.exchange, message.key, text(&message.body)])),
            Action::Order(order) => self.fields_of_order(order, turn).map(Value::Object),
            _ => Ok(Value::Null),
        };
        (self.context.now, self.context.request) = (now, None);
        asked.ok().map(|asked| self.digest_of(&asked))
    }

    /// The digest of a value. It is stored, so that no secret has a part in it.
    pub(super) fn digest_of(&self, value: &Value) -> Digest {
        Digest::of(&self.end.secrets.text(&value.to_string()))
    }

    /// Numbers that good answers to requests of this name have in the present state, with what was asked.
    pub(super) fn kept_numbers(&self, request: &str, turn: &StageTurn<'_>) -> Vec<(usize, Digest)> {
        let places = format!("{}/{request}.", turn.scenario.state(self.state).name);
        let kept = self.cursor.asynchronous.iter().flat_map(|retry| &retry.answered);
        let numbers =
            kept.filter_map(|kept| Some((kept.place.strip_prefix(&places)?.parse().ok()?, kept.content?)));
        numbers.collect()
    }
}
