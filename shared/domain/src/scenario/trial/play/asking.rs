//! What a stage asks of the world, answered by the table.

use serde_json::{Value, json};

use super::super::{Made, Reply, Rule, spelled_duration};
use super::{Coming, Going, Play, later};
use crate::document::Fault;
use crate::scenario::stage::{Answer, HttpCall, HttpFailure, Publication, Response};

/// Requests of one order; beyond, it is a circle.
const MAX_REQUESTS: usize = 10_000;

impl Play<'_> {
    pub(super) fn http(&mut self, call: &HttpCall, step: &str) -> Going<Answer> {
        let body = call.body.as_ref().map_or(Value::Null, |body| value_of(&body.bytes));
        let line = format!("{} {}", call.method, call.url);
        self.made(&line, &call.headers, &body)?;
        let Some(rule) = self.world.http(call.method, &call.url, &body) else {
            return Err(self.unanswered(&line, &body));
        };
        if let Some(timeout) = call.timeout.filter(|timeout| rule.after > *timeout) {
            self.pass(timeout);
            self.ask(step, format!("{line}: no answer within {}", spelled_duration(timeout)));
            return Ok(failure(&["HttpError", "ReadTimeout"]));
        }
        self.expect_callback(rule);
        self.pass(rule.after);
        match &rule.reply {
            Reply::Fails(chain) => {
                self.ask(step, format!("{line}: {}", chain.join(" > ")));
                Ok(failure(chain))
            }
            Reply::Response { status, headers, body } => {
                self.ask(step, format!("{line}: {status}"));
                Ok(Answer::Response(Response {
                    status: *status,
                    headers: headers.clone(),
                    body: body.clone(),
                    duration: rule.after,
                }))
            }
            Reply::Published | Reply::Unroutable => Err(self.unanswered(&line, &body)),
        }
    }

    pub(super) fn publish(&mut self, message: &Publication, step: &str) -> Going<Answer> {
        let body = value_of(&message.body);
        let line = format!("amqp {} {}", message.exchange, message.key);
        self.made(&line, &message.headers, &body)?;
        let Some(rule) = self.world.amqp(&message.exchange, &message.key, &body) else {
            return Err(self.unanswered(&line, &body));
        };
        self.expect_callback(rule);
        self.pass(rule.after);
        if matches!(rule.reply, Reply::Unroutable) {
            self.ask(step, format!("{line}: unroutable"));
            return Ok(Answer::Unpublished("the broker has no queue for it".to_owned()));
        }
        self.ask(step, format!("{line}: published"));
        Ok(Answer::Published)
    }

    fn made(&mut self, line: &str, headers: &[(String, String)], body: &Value) -> Going<()> {
        self.played.made.push(Made { line: line.to_owned(), headers: headers.to_vec(), body: body.clone() });
        if self.played.made.len() > MAX_REQUESTS {
            return Err(
                self.fault(format!("the order goes round in a circle: more than {MAX_REQUESTS} requests"))
            );
        }
        Ok(())
    }

    fn unanswered(&self, line: &str, body: &Value) -> Fault {
        let mut body = if body.is_null() { String::new() } else { format!(" with body {body}") };
        body.truncate(body.floor_char_boundary(300));
        let fault = self.fault(format!("no answer is left for `{line}`{body}"));
        fault.hint("add one under `answers`, or raise `times` of the one that is used up")
    }

    /// The callback of the request that is just sent; the same request is answered once.
    fn expect_callback(&mut self, rule: &Rule) {
        let (Some((id, name)), Some(callback)) = (self.registered.take(), &rule.callback) else {
            return;
        };
        if self.coming.iter().any(|coming| coming.id == id) {
            return;
        }
        let at = later(self.now, callback.after);
        let value = json!({
            "body": callback.body,
            "headers": callback.headers,
            "stepStatus": callback.step_status,
            "receivedAt": at.to_string(),
        });
        self.coming.push(Coming { at, id, name, value, over: false });
    }
}

fn failure(chain: &[&'static str]) -> Answer {
    let cause = chain.last().copied().unwrap_or_default();
    Answer::Failed(HttpFailure { chain: chain.to_vec(), message: format!("{cause} of the test") })
}

/// A body as it is compared: JSON by its value, anything else as text.
fn value_of(bytes: &[u8]) -> Value {
    if bytes.is_empty() {
        return Value::Null;
    }
    serde_json::from_slice(bytes)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(bytes).into_owned()))
}
