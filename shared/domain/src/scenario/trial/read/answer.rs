//! Reads one line of the table of answers.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::{Callback, Mask, Reply, Rule, To};
use super::reader::{Field, Fields, Reader};
use super::value;
use crate::scenario::Method;

const KEYS: &[&str] = &["http", "amqp", "status", "headers", "body", "fails", "after", "times", "callback"];

/// The names of ERR-3, each with the names around it.
const FAILURES: &[(&str, &[&str])] = &[
    ("HttpError", &["HttpError"]),
    ("ConnectError", &["HttpError", "ConnectError"]),
    ("ConnectionRefused", &["HttpError", "ConnectError", "ConnectionRefused"]),
    ("ConnectTimeout", &["HttpError", "ConnectError", "ConnectTimeout"]),
    ("DnsError", &["HttpError", "ConnectError", "DnsError"]),
    ("TlsError", &["HttpError", "ConnectError", "TlsError"]),
    ("ReadTimeout", &["HttpError", "ReadTimeout"]),
    ("ConnectionReset", &["HttpError", "ConnectionReset"]),
    ("ConnectionClosed", &["HttpError", "ConnectionClosed"]),
    ("BodyError", &["HttpError", "BodyError"]),
    ("ProtocolError", &["HttpError", "ProtocolError"]),
];

/// One line; none where it does not say to whom it answers.
pub(super) fn read(reader: &mut Reader, item: &Field<'_>) -> Option<Rule> {
    let fields = reader.fields(item, KEYS);
    let (to, reply) = match (fields.get("http"), fields.get("amqp")) {
        (Some(field), None) => (http(reader, field)?, http_reply(reader, &fields)?),
        (None, Some(field)) => (amqp(reader, field)?, amqp_reply(reader, &fields)?),
        _ => {
            let fault = item.fault("an answer must say to whom it answers, once");
            reader.push(fault.hint("write one of `http: {url: …}` and `amqp: {exchange: …, key: …}`"));
            return None;
        }
    };
    let times = fields.get("times").and_then(|field| reader.number(field, 1, 1_000_000));
    let after = fields.get("after").and_then(|field| reader.duration(field));
    let callback = fields.get("callback").and_then(|field| callback(reader, field));
    Some(Rule { to, times, reply, after: after.unwrap_or(Duration::ZERO), callback })
}

/// `http: URL`, `http: METHOD URL`, or a mapping.
fn http(reader: &mut Reader, field: &Field<'_>) -> Option<To> {
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
        return Some(To::Http { method, url: Mask::new(url), body: None });
    }
    let fields = reader.fields(field, &["method", "url", "body"]);
    let methods: Vec<(&str, Method)> = Method::ALL.iter().map(|one| (one.as_str(), *one)).collect();
    let method = fields.get("method").and_then(|field| reader.word(field, &methods));
    let url = reader.required(field, &fields, "url", "url: \"http://billing/payments/*\"")?;
    let url = Mask::new(reader.text(url)?);
    let body = fields.get("body").map(|field| value(field.node));
    Some(To::Http { method, url, body })
}

fn amqp(reader: &mut Reader, field: &Field<'_>) -> Option<To> {
    let fields = reader.fields(field, &["exchange", "key", "body"]);
    let mut mask = |key| fields.get(key).and_then(|field| reader.text(field)).map(Mask::new);
    let (exchange, key) = (mask("exchange"), mask("key"));
    let body = fields.get("body").map(|field| value(field.node));
    Some(To::Amqp { exchange, key, body })
}

fn http_reply(reader: &mut Reader, fields: &Fields<'_>) -> Option<Reply> {
    if let Some(fails) = fields.get("fails") {
        let said = ["status", "headers", "body"].iter().find_map(|key| fields.get(key));
        if let Some(field) = said {
            let fault = field.fault("a request that fails has no answer");
            reader.push(fault.hint(format!("remove `{}`, or `fails`", field.key)));
        }
        return reader.word(fails, FAILURES).map(Reply::Fails);
    }
    let status = fields.get("status").map(|field| reader.number(field, 100, 599));
    let status = u16::try_from(status.unwrap_or(Some(200))?).ok()?;
    let mut headers = fields.get("headers").map_or_else(Vec::new, |field| reader.texts(field));
    for (name, _) in &mut headers {
        name.make_ascii_lowercase();
    }
    let body = fields.get("body").map_or_else(String::new, |field| match value(field.node) {
        Value::String(text) => text,
        Value::Null => String::new(),
        other => other.to_string(),
    });
    Some(Reply::Response { status, headers, body })
}

/// A message is taken, unless the line says that it `fails: unroutable`.
fn amqp_reply(reader: &mut Reader, fields: &Fields<'_>) -> Option<Reply> {
    for field in ["status", "headers", "body"].iter().filter_map(|key| fields.get(key)) {
        let fault = field.fault(format!("a message has no `{}` in its answer", field.key));
        reader.push(fault.hint("what the other side says stands under `callback`"));
    }
    match fields.get("fails") {
        None => Some(Reply::Published),
        Some(field) => reader.word(field, &[("unroutable", ())]).map(|()| Reply::Unroutable),
    }
}

fn callback(reader: &mut Reader, field: &Field<'_>) -> Option<Callback> {
    // `callback: none` and no callback at all are the same, but one of them says so.
    if field.node.as_str() == Some("none") {
        return None;
    }
    let fields = reader.fields(field, &["after", "body", "headers", "stepStatus"]);
    let after = fields.get("after").and_then(|field| reader.duration(field)).unwrap_or(Duration::ZERO);
    let body = fields.get("body").map_or(Value::Null, |field| value(field.node));
    let headers = fields.get("headers").map_or_else(|| json!({}), |field| value(field.node));
    let step_status = fields.get("stepStatus").and_then(|field| reader.text(field)).map(str::to_owned);
    Some(Callback { after, body, headers, step_status })
}
