//! Requests to every route of the API, as its document (`docs/openapi.json`) describes them: a route that is added there is
//! fuzzed from then on.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::values::Strange;
use super::{order, spoiled};

/// The document of the API; an architecture test keeps it fresh.
#[allow(clippy::expect_used, reason = "without its document there is nothing to ask")]
static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let text = include_str!("../../../docs/openapi.json");
    serde_json::from_str(text).expect("the document of the API is JSON")
});

/// A path, and its methods with what the document says of each.
type Route = (&'static str, Vec<(&'static str, &'static Value)>);

/// All routes.
#[allow(clippy::expect_used, reason = "without its document there is nothing to ask")]
static ROUTES: LazyLock<Vec<Route>> = LazyLock::new(|| {
    let paths = DOCUMENT["paths"].as_object().expect("the document has paths");
    let methods = |path: &'static Value| {
        path.as_object()
            .into_iter()
            .flatten()
            .map(|(method, operation)| (method.as_str(), operation))
            .collect()
    };
    paths.iter().map(|(path, operation)| (path.as_str(), methods(operation))).collect()
});

/// Names of query parameters that any route is given now and then.
const PARAMETERS: &[&str] = &["limit", "cursor", "status", "timeout", "since", "id", "elephant"];
const MEDIA_TYPES: &[&str] = &[
    "application/json",
    "application/json; charset=latin1",
    "application/x-ndjson",
    "application/yaml",
    "text/plain",
    "multipart/form-data; boundary=x",
    "",
];
const SCENARIO: &str = "scenario: fuzzed\nkind: workflow\nparams: {type: object}\ninitialState: a\nstates:\n  \
    a: {entryPoint: true, actions: [{log: \"${params.n}\"}, {script: \"vars.x = params.n\"}], on: {success: done, fail: bad}}\n  \
    done: {kind: terminal}\n  bad: {kind: terminal, outcome: fail}\n";

/// A random request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Header fields; some are no text.
    pub headers: Vec<(&'static str, Vec<u8>)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Request {
    /// A request to the route of this number, which counts on.
    pub fn draw(number: usize, mut strange: Strange<'_>) -> Self {
        let (route, methods) = &ROUTES[number % ROUTES.len()];
        let (method, operation) = methods[(number / ROUTES.len()) % methods.len()];
        let path = path(&mut strange, route, operation);
        let body = if method == "get" { Vec::new() } else { body(&mut strange, route, operation) };
        let mut headers = vec![("content-type", media_type(&mut strange, route))];
        for name in
            ["idempotency-key", "request-sent-time", "traceparent", "step-status", "if-match", "origin"]
        {
            if strange.one_in(8) {
                headers.push((name, strange.bytes()));
            }
        }
        headers.retain(|(_, value)| value.iter().all(|byte| *byte >= 0x20 && *byte != 0x7f));
        Self { method: method.to_uppercase(), path, headers, body }
    }
}

fn path(strange: &mut Strange<'_>, route: &str, operation: &Value) -> String {
    let mut path = String::new();
    for part in route.split('/').skip(1) {
        path.push('/');
        match part {
            "{name}" if !strange.one_in(3) => path.push_str("fuzzed"),
            "{id}" if !strange.one_in(3) => path.push_str("fuzz-known"),
            part if part.starts_with('{') => path.push_str(&encoded(&strange.text())),
            part => path.push_str(part),
        }
    }
    let parameters = operation["parameters"].as_array().map_or(&[][..], Vec::as_slice);
    let mut names: Vec<&str> = parameters
        .iter()
        .filter(|parameter| parameter["in"] == "query")
        .filter_map(|parameter| parameter["name"].as_str())
        .collect();
    if names.is_empty() || strange.one_in(3) {
        names.extend(PARAMETERS);
    }
    for separator in ["?", "&", "&"].iter().take(if strange.one_in(2) { strange.up_to(3) } else { 0 }) {
        let (name, value) = (strange.pick(&names), strange.text());
        // A wait is asked for in vain, and not for long.
        let value = if name == "timeout" { "1".to_owned() } else { encoded(&value) };
        path.push_str(&format!("{separator}{name}={value}"));
    }
    // A stream goes on until somebody ends it.
    if route == "/v1/stream" {
        path.push_str(if path.contains('?') { "&timeout=1" } else { "?timeout=1" });
    }
    path.truncate(60_000);
    path
}

fn encoded(text: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
    text.bytes()
        .take(8_000)
        .map(|byte| if plain(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

fn media_type(strange: &mut Strange<'_>, route: &str) -> Vec<u8> {
    let usual = if route == "/v1/scenarios/{name}" || route.ends_with("/check") {
        "application/yaml"
    } else {
        "application/json"
    };
    if strange.one_in(8) { strange.pick(MEDIA_TYPES) } else { usual }.as_bytes().to_vec()
}

fn body(strange: &mut Strange<'_>, route: &str, operation: &Value) -> Vec<u8> {
    let good = match route {
        "/v1/orders" | "/v1/orders/{id}/clone" => order(strange.0),
        "/v1/orders/batch" => Value::Array((0..strange.up_to(5)).map(|_| order(strange.0)).collect()),
        "/v1/scenarios/test" => json!({"scenario": SCENARIO, "tests": {"t": {"params": {}, "expect": {}}}}),
        "/v1/scenarios/{name}" | "/v1/scenarios/check" => return scenario(strange),
        // Nothing of a fuzzed engine is to stand still.
        "/v1/flows/stop" => {
            json!({"keyword": "k", "reason": "r", "for": "3h", "resume": true, "dryRun": true})
        }
        "/v1/operations" => json!({
            "action": "restart", "search": {"status": "fail", "class": "c", "createdSince": "2h", "params": {"a.b": 1}},
            "with": {"from": "initial"}, "reason": "r", "rate": 5, "ramp": {"start": 1, "factor": 2}, "dryRun": true,
        }),
        "/v1/subscriptions/{name}" => {
            json!({"url": "amqp://?key=k", "scenarios": ["s"], "labels": {"a": "b"}, "outcomes": ["fail"]})
        }
        "/v1/searches/{name}" => json!({"status": ["fail"], "scenario": "s", "text": "t"}),
        "/v1/flows/shift" => json!({"flow": "f", "by": "3h", "reason": "r", "dryRun": true}),
        "/v1/systems/{name}/stop" => json!({"reason": "r", "for": "1s"}),
        _ => example(&operation["requestBody"]["content"]["application/json"]["schema"], 8),
    };
    spoiled(strange, good)
}

/// A value that a schema allows, with every field that it names.
fn example(schema: &Value, depth: usize) -> Value {
    let resolved = schema["$ref"].as_str().and_then(|at| DOCUMENT.pointer(at.trim_start_matches('#')));
    let schema = resolved.unwrap_or(schema);
    if depth == 0 {
        return Value::Null;
    }
    if let Some(one) = schema["enum"].get(0).or_else(|| schema.get("const")) {
        return one.clone();
    }
    if let Some(any) = schema["anyOf"].get(0).or_else(|| schema["oneOf"].get(0)) {
        return example(any, depth - 1);
    }
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str());
    match kind {
        Some("object") => {
            let fields = schema["properties"].as_object().into_iter().flatten();
            Value::Object(
                fields.map(|(name, field)| (name.clone(), example(field, depth - 1))).collect::<Map<_, _>>(),
            )
        }
        Some("array") => json!([example(&schema["items"], depth - 1)]),
        Some("integer" | "number") => json!(1),
        Some("boolean") => json!(true),
        Some("string") if schema["format"] == "date-time" => json!("2020-01-01T00:00:00Z"),
        Some("string") => json!("a"),
        _ => json!({"code": 0}),
    }
}

/// The text of a scenario with something wrong in it.
fn scenario(strange: &mut Strange<'_>) -> Vec<u8> {
    if strange.one_in(8) {
        return strange.bytes();
    }
    let lines: Vec<&str> = SCENARIO.lines().collect();
    let words: Vec<&str> = lines.iter().flat_map(|line| line.split([' ', ':', ',', '{', '}'])).collect();
    let word = strange.pick(&words);
    let with = strange.text();
    SCENARIO.replacen(if word.is_empty() { "done" } else { word }, &with, 1).into_bytes()
}
