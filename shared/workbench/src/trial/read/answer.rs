//! Reads one line of the table of answers.

use std::time::Duration;

use pagurus_domain::order::{OrderError, Status};
use pagurus_scenario::Method;
use pagurus_scenario::xml::{self, Namespaces};
use serde_json::{Map, Value, json};

use super::super::{ChildEnd, TextMask, To, TrialCallback, TrialReply, TrialRule};
use super::keys::{ACTOR, AMQP, ANSWER, CALLBACK, CHILD, ERROR, FAILURES, HTTP};
use super::reader::{TrialField, TrialFields, TrialReader};
use super::value;

/// Media type of JSON.
const JSON: &str = "application/json";

/// Reads a line; `None` if it does not say to whom it answers.
pub(super) fn read(reader: &mut TrialReader, item: &TrialField<'_>) -> Option<TrialRule> {
    let fields = reader.fields(item, &ANSWER);
    const ASKED: [&str; 4] = ["http", "amqp", "actor", "order"];
    let mut asked = ASKED.iter().filter_map(|key| fields.get(key));
    let (Some(field), None) = (asked.next(), asked.next()) else {
        let fault = item.fault("an answer must say to whom it answers, once");
        reader.push(fault.hint("write one of `http: {url: …}`, `amqp: {exchange: …, key: …}`, `actor: NAME` and `order: {scenario: …}`"));
        return None;
    };
    let (to, reply) = match field.key.as_str() {
        "http" => (http(reader, field)?, http_reply(reader, &fields)?),
        "amqp" => (amqp(reader, field)?, amqp_reply(reader, &fields)?),
        "actor" => (actor(reader, field)?, decision(reader, &fields)?),
        _ => (order(reader, field)?, end_of_order(reader, &fields)?),
    };
    let times = fields.get("times").and_then(|field| reader.number(field, 1, 1_000_000));
    let after = fields.get("after").and_then(|field| reader.duration(field));
    let callback = fields.get("callback").and_then(|field| callback(reader, field));
    Some(TrialRule { at: item.node.at, to, times, reply, after: after.unwrap_or(Duration::ZERO), callback })
}

/// `http: URL`, `http: METHOD URL`, or a mapping.
fn http(reader: &mut TrialReader, field: &TrialField<'_>) -> Option<To> {
    if let Some(text) = field.node.as_str() {
        let (method, url) = match text.split_once(' ') {
            None => (None, text),
            Some((method, url)) => (Some(method), url.trim_start()),
        };
        let method = match method.map(str::parse::<Method>) {
            None => None,
            Some(Ok(method)) => Some(method),
            Some(Err(_)) => {
                let fault = field.fault(format!("`{text}` does not begin with a method"));
                reader.push(fault.hint("write it like `POST http://billing/payments`, or only the URL"));
                return None;
            }
        };
        return Some(To::Http { method, url: TextMask::new(url), body: None });
    }
    let fields = reader.fields(field, &HTTP);
    let methods: Vec<(&str, Method)> = Method::ALL.iter().map(|one| (one.as_str(), *one)).collect();
    let method = fields.get("method").and_then(|field| reader.word(field, &methods));
    let url = reader.required(field, &fields, "url", "url: \"http://billing/payments/*\"")?;
    let url = TextMask::new(reader.text(url)?);
    let body = fields.get("body").map(|field| value(field.node));
    Some(To::Http { method, url, body })
}

fn amqp(reader: &mut TrialReader, field: &TrialField<'_>) -> Option<To> {
    let fields = reader.fields(field, &AMQP);
    let mut mask = |key| fields.get(key).and_then(|field| reader.text(field)).map(TextMask::new);
    let (exchange, key) = (mask("exchange"), mask("key"));
    let body = fields.get("body").map(|field| value(field.node));
    Some(To::Amqp { exchange, key, body })
}

fn http_reply(reader: &mut TrialReader, fields: &TrialFields<'_>) -> Option<TrialReply> {
    if let Some(fails) = fields.get("fails") {
        let said = ["status", "headers", "body"].iter().find_map(|key| fields.get(key));
        if let Some(field) = said {
            let fault = field.fault("a request that fails has no answer");
            reader.push(fault.hint(format!("remove `{}`, or `fails`", field.key)));
        }
        return reader.word(fails, FAILURES).map(TrialReply::Fails);
    }
    let status = fields.get("status").map(|field| reader.number(field, 100, 599));
    let status = u16::try_from(status.unwrap_or(Some(200))?).ok()?;
    let mut headers = fields.get("headers").map_or_else(Vec::new, |field| reader.texts(field));
    for (name, _) in &mut headers {
        name.make_ascii_lowercase();
    }
    let (kind, body) = match fields.get("body").map_or(Value::Null, |field| value(field.node)) {
        Value::Null => (None, String::new()),
        Value::String(text) => (Some(kind_of_text(&text)), text),
        other => (Some(JSON), other.to_string()),
    };
    if let Some(kind) = kind.filter(|_| headers.iter().all(|(name, _)| name != "content-type")) {
        headers.push(("content-type".to_owned(), kind.to_owned()));
    }
    Some(TrialReply::Response { status, headers, body })
}

/// Media type that a server gives to a body that is written as text: people paste JSON and XML so, too.
fn kind_of_text(text: &str) -> &'static str {
    let json: Result<Value, _> = serde_json::from_str(text);
    if json.is_ok_and(|read| read.is_object() || read.is_array()) {
        JSON
    } else if xml::read(text, &Namespaces::default()).is_ok() {
        "text/xml; charset=utf-8"
    } else {
        "text/plain; charset=utf-8"
    }
}

/// Reads the reply to a message: it is taken, unless the line says that it `fails: unroutable`.
fn amqp_reply(reader: &mut TrialReader, fields: &TrialFields<'_>) -> Option<TrialReply> {
    for field in ["status", "headers", "body"].iter().filter_map(|key| fields.get(key)) {
        let fault = field.fault(format!("a message has no `{}` in its answer", field.key));
        reader.push(fault.hint("what the other side says stands under `callback`"));
    }
    match fields.get("fails") {
        None => Some(TrialReply::Published),
        Some(field) => reader.word(field, &[("unroutable", ())]).map(|()| TrialReply::Unroutable),
    }
}

/// `actor: NAME`, or a mapping.
fn actor(reader: &mut TrialReader, field: &TrialField<'_>) -> Option<To> {
    if field.node.as_map().is_none() {
        return reader.text(field).map(|name| To::Actor { name: TextMask::new(name), body: None });
    }
    let fields = reader.fields(field, &ACTOR);
    let name = reader.required(field, &fields, "name", "name: scoring")?;
    let name = TextMask::new(reader.text(name)?);
    Some(To::Actor { name, body: fields.get("body").map(|field| value(field.node)) })
}

/// `order: NAME` of the child's scenario, or a mapping.
fn order(reader: &mut TrialReader, field: &TrialField<'_>) -> Option<To> {
    if field.node.as_map().is_none() {
        return reader.text(field).map(|name| To::Order { scenario: TextMask::new(name), params: None });
    }
    let fields = reader.fields(field, &CHILD);
    let scenario = reader.required(field, &fields, "scenario", "scenario: send-sms")?;
    let scenario = TextMask::new(reader.text(scenario)?);
    Some(To::Order { scenario, params: fields.get("params").map(|field| value(field.node)) })
}

/// Reads the answer of the actor; `decision: none` is an actor that never does.
fn decision(reader: &mut TrialReader, fields: &TrialFields<'_>) -> Option<TrialReply> {
    if let Some(field) = fields.get("fails") {
        return reader.word(field, &[("unroutable", ())]).map(|()| TrialReply::Unroutable);
    }
    let known = [("success", Some("success")), ("fail", Some("fail")), ("none", None)];
    let decision =
        fields.get("decision").map_or(Some(Some("success")), |field| reader.word(field, &known))?;
    let json = |key| fields.get(key).map_or(Value::Null, |field| value(field.node));
    let Some(decision) = decision else { return Some(TrialReply::Never) };
    Some(TrialReply::Decides(json!({"decision": decision, "result": json("result"), "error": json("error")})))
}

/// Reads the end of the child order; `status: none` is one that never ends.
fn end_of_order(reader: &mut TrialReader, fields: &TrialFields<'_>) -> Option<TrialReply> {
    if let Some(field) = fields.get("fails") {
        return reader.word(field, &[("refused", ())]).map(|()| TrialReply::Refused);
    }
    const ENDS: [Status; 4] = [Status::Success, Status::Fail, Status::Interrupted, Status::Canceled];
    let mut known: Vec<(&str, Option<Status>)> = ENDS.iter().map(|end| (end.as_str(), Some(*end))).collect();
    known.push(("none", None));
    let status = fields.get("status");
    let status = status.map_or(Some(Some(Status::Success)), |field| reader.word(field, &known))?;
    let Some(status) = status else { return Some(TrialReply::Never) };
    let mut text = |key| fields.get(key).and_then(|field| reader.text(field)).map(str::to_owned);
    let (step, message) = (text("step"), text("message"));
    let result = fields.get("result").map(|field| value(field.node));
    let error = fields.get("error").map(|field| error_of_child(reader, field));
    Some(TrialReply::Ends(Box::new(ChildEnd { status, step, result, message, error })))
}

/// `error: {class, message}`.
fn error_of_child(reader: &mut TrialReader, field: &TrialField<'_>) -> OrderError {
    let fields = reader.fields(field, &ERROR);
    let mut text = |key| fields.get(key).and_then(|field| reader.text(field)).map(str::to_owned);
    OrderError { class: text("class"), message: text("message").unwrap_or_default(), ..OrderError::default() }
}

fn callback(reader: &mut TrialReader, field: &TrialField<'_>) -> Option<TrialCallback> {
    // `callback: none` and no callback at all are the same, but one of them says so.
    if field.node.as_str() == Some("none") {
        return None;
    }
    let fields = reader.fields(field, &CALLBACK);
    let after = fields.get("after").and_then(|field| reader.duration(field)).unwrap_or(Duration::ZERO);
    let body = fields.get("body").map_or(Value::Null, |field| value(field.node));
    let written = fields.get("headers").map_or_else(|| json!({}), |field| value(field.node));
    // As they are stored.
    let written = written.as_object().cloned().unwrap_or_default().into_iter();
    let mut headers: Map<String, Value> =
        written.map(|(name, value)| (name.to_ascii_lowercase(), value)).collect();
    if let Value::String(text) = &body
        && !headers.contains_key("content-type")
        && kind_of_text(text).starts_with("text/xml")
    {
        headers.insert("content-type".to_owned(), kind_of_text(text).into());
    }
    let headers = Value::Object(headers);
    let step_status = fields.get("stepStatus").and_then(|field| reader.text(field)).map(str::to_owned);
    Some(TrialCallback { after, body, headers, step_status })
}
