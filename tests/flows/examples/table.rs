//! The table of answers of one test, as its file has it, and what was asked of it. Decides which line
//! answers a request; never sends anything.

use std::sync::Mutex;

use serde_json::{Value, json};

/// The lines of a table with what is left of them, and all requests so far.
#[derive(Debug)]
pub struct Table {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    lines: Vec<(Value, u64)>,
    made: Vec<Value>,
    unanswered: Vec<String>,
}

impl Table {
    /// A table of these lines.
    pub fn new(answers: &[Value]) -> Self {
        let lines =
            answers.iter().map(|line| (line.clone(), line["times"].as_u64().unwrap_or(u64::MAX))).collect();
        Self { state: Mutex::new(State { lines, made: Vec::new(), unanswered: Vec::new() }) }
    }

    /// The line that answers an HTTP request.
    pub fn http(&self, method: &str, url: &str, headers: Value, body: &Value) -> Option<Value> {
        self.take("http", &format!("{method} {url}"), headers, body, |to| {
            let (wanted, mask) = match to.as_str() {
                None => (to["method"].as_str(), to["url"].as_str().unwrap()),
                Some(line) => line.split_once(' ').map_or((None, line), |(method, url)| (Some(method), url)),
            };
            wanted.is_none_or(|wanted| wanted == method) && fits_url(mask, url)
        })
    }

    /// The line that answers a message.
    pub fn amqp(&self, exchange: &str, key: &str, body: &Value) -> Option<Value> {
        self.take("amqp", &format!("amqp {exchange} {key}"), json!({}), body, |to| {
            let said = |name: &str, text: &str| to[name].as_str().is_none_or(|mask| fits(mask, text));
            said("exchange", exchange) && said("key", key)
        })
    }

    /// The line that answers a task of an actor.
    pub fn actor(&self, name: &str, body: &Value) -> Option<Value> {
        self.take("actor", &format!("actor {name}"), json!({}), body, |to| {
            fits(to.as_str().or(to["name"].as_str()).unwrap(), name)
        })
    }

    fn take(
        &self,
        kind: &str,
        request: &str,
        headers: Value,
        body: &Value,
        answers: impl Fn(&Value) -> bool,
    ) -> Option<Value> {
        let mut state = self.state.lock().unwrap();
        state.made.push(json!({"request": request, "headers": headers, "body": body}));
        let found = state.lines.iter_mut().find(|(line, left)| {
            let to = &line[kind];
            *left > 0 && !to.is_null() && answers(to) && contains(&to["body"], body)
        });
        if let Some((line, left)) = found {
            *left -= 1;
            return Some(line.clone());
        }
        state.unanswered.push(format!("no line answers `{request}` with {body}"));
        None
    }

    /// All requests so far: `request`, `headers` and `body` of each.
    pub fn made(&self) -> Vec<Value> {
        self.state.lock().unwrap().made.clone()
    }

    /// The requests for which there was no line.
    pub fn unanswered(&self) -> Vec<String> {
        self.state.lock().unwrap().unanswered.clone()
    }
}

/// True where a URL fits; its query only counts where the mask has one.
pub fn fits_url(mask: &str, url: &str) -> bool {
    let without = url.split_once('?').map_or(url, |(path, _)| path);
    fits(mask, url) || (!mask.contains('?') && fits(mask, without))
}

/// True where a text fits a mask in which `*` is anything but a slash, and `**` anything.
pub fn fits(mask: &str, text: &str) -> bool {
    bytes_fit(mask.as_bytes(), text.as_bytes())
}

fn bytes_fit(mask: &[u8], text: &[u8]) -> bool {
    match mask {
        [] => text.is_empty(),
        [b'*', b'*', rest @ ..] => (0..=text.len()).any(|taken| bytes_fit(rest, &text[taken..])),
        [b'*', rest @ ..] => {
            let longest = text.iter().position(|byte| *byte == b'/').unwrap_or(text.len());
            (0..=longest).any(|taken| bytes_fit(rest, &text[taken..]))
        }
        [letter, rest @ ..] => text.first() == Some(letter) && bytes_fit(rest, &text[1..]),
    }
}

/// True where all of a part is there: of maps the keys of the part, numbers by their value. No part is
/// part of everything.
pub fn contains(part: &Value, whole: &Value) -> bool {
    part.is_null() || holds(part, whole)
}

fn holds(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => {
            part.iter().all(|(key, value)| holds(value, whole.get(key).unwrap_or(&Value::Null)))
        }
        (Value::Array(part), Value::Array(whole)) => {
            part.len() == whole.len() && part.iter().zip(whole).all(|(one, other)| holds(one, other))
        }
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        _ => part == whole,
    }
}
