//! Requests to every route of the API. [`ROUTES`] is held against the engine's own table by a house rule.

use serde_json::{Value, json};

use super::values::Strange;
use super::{order, spoiled};

/// Every route, with its methods.
pub const ROUTES: &[(&str, &[&str])] = &[
    ("/v1/orders", &["POST", "GET"]),
    ("/v1/orders/batch", &["POST", "GET", "PATCH"]),
    ("/v1/orders/{id}", &["GET", "PATCH"]),
    ("/v1/orders/{id}/dependencies", &["GET"]),
    ("/v1/orders/{id}/clone", &["POST"]),
    ("/v1/orders/{id}/repair", &["POST"]),
    ("/v1/orders/{id}/requests/{name}/answer", &["POST"]),
    ("/v1/orders/{id}/calls", &["POST", "GET"]),
    ("/v1/orders/{id}/calls/{key}", &["GET"]),
    ("/v1/orders/{id}/wait", &["GET"]),
    ("/v1/orders/{id}/{part}", &["GET", "POST"]),
    ("/v1/callbacks", &["GET"]),
    ("/v1/callbacks/{request}", &["POST"]),
    ("/v1/callbacks/{request}/heartbeat", &["POST"]),
    ("/v1/audit", &["GET"]),
    ("/v1/notifications", &["GET"]),
    ("/v1/scenarios", &["GET"]),
    ("/v1/scenarios/check", &["POST"]),
    ("/v1/scenarios/test", &["POST"]),
    ("/v1/scenarios/{name}", &["PUT", "GET"]),
    ("/v1/scenarios/{name}/versions", &["GET"]),
    ("/v1/scenarios/{name}/graph", &["GET"]),
    ("/v1/scenarios/{name}/migrate", &["POST"]),
    ("/v1/errors", &["GET"]),
    ("/v1/errors/orders", &["GET"]),
    ("/v1/classify", &["POST"]),
    ("/v1/nodes", &["GET"]),
    ("/v1/leases", &["GET"]),
    ("/v1/flows", &["GET"]),
    ("/v1/flows/{flow}", &["GET"]),
    ("/v1/flows/stop", &["POST", "GET"]),
    ("/v1/flows/resume", &["POST", "GET"]),
    ("/v1/flows/shift", &["POST", "GET"]),
    ("/v1/stops", &["GET"]),
    ("/v1/systems", &["GET"]),
    ("/v1/systems/{name}", &["GET"]),
    ("/v1/systems/{name}/{order}", &["POST"]),
    ("/v1/leases/{name}/resign", &["POST"]),
    ("/v1/queues", &["GET"]),
    ("/v1/queues/{name}/release", &["POST"]),
];

/// The words that may stand in place of `{part}`.
const PARTS: &[&str] = &[
    "params",
    "transitions",
    "requests",
    "callbacks",
    "events",
    "log",
    "status",
    "progress",
    "explain",
    "retry",
    "cancel",
    "interrupt",
    "kill",
    "restart",
    "resend",
    "",
];
/// Names of query parameters.
const PARAMETERS: &[&str] = &[
    "limit",
    "cursor",
    "status",
    "scenario",
    "transactionId",
    "timeout",
    "since",
    "until",
    "class",
    "state",
    "system",
    "verdict",
    "fromLine",
    "size",
    "ids",
    "format",
    "version",
    "order",
    "by",
    "id",
];
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

/// One request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: &'static str,
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
        let (route, methods) = ROUTES[number % ROUTES.len()];
        let method = methods[(number / ROUTES.len()) % methods.len()];
        let path = path(&mut strange, route);
        let body = if method == "GET" { Vec::new() } else { body(&mut strange, route, method) };
        let mut headers = vec![("content-type", media_type(&mut strange, route))];
        for name in
            ["idempotency-key", "request-sent-time", "traceparent", "step-status", "if-match", "origin"]
        {
            if strange.one_in(8) {
                headers.push((name, strange.bytes()));
            }
        }
        headers.retain(|(_, value)| value.iter().all(|byte| *byte >= 0x20 && *byte != 0x7f));
        Self { method, path, headers, body }
    }
}

fn path(strange: &mut Strange<'_>, route: &str) -> String {
    let mut path = String::new();
    for part in route.split('/').skip(1) {
        path.push('/');
        match part {
            "{part}" => path.push_str(strange.pick(PARTS)),
            "{name}" if !strange.one_in(3) => path.push_str("fuzzed"),
            "{id}" if !strange.one_in(3) => path.push_str("fuzz-known"),
            part if part.starts_with('{') => path.push_str(&encoded(&strange.text())),
            part => path.push_str(part),
        }
    }
    for separator in ["?", "&", "&"].iter().take(if strange.one_in(2) { strange.up_to(3) } else { 0 }) {
        let (name, value) = (strange.pick(PARAMETERS), strange.text());
        // A wait is asked for in vain, and not for long.
        let value = if name == "timeout" { "1".to_owned() } else { encoded(&value) };
        path.push_str(&format!("{separator}{name}={value}"));
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

fn body(strange: &mut Strange<'_>, route: &str, method: &str) -> Vec<u8> {
    let good = match (route, method) {
        ("/v1/orders", _) => order(strange.0),
        ("/v1/orders/batch", "POST") => {
            Value::Array((0..strange.up_to(5)).map(|_| order(strange.0)).collect())
        }
        ("/v1/orders/batch", _) => json!({"ids": ["fuzz-known", "x"], "priority": "low", "reason": "r"}),
        ("/v1/orders/{id}", _) => {
            json!({"params": {"n": 2}, "priority": "high", "lifecycle": {"startAt": null}, "notify": null, "reason": "r"})
        }
        ("/v1/orders/{id}/clone", _) => order(strange.0),
        ("/v1/orders/{id}/repair", _) => {
            json!({"state": "a", "vars": {"x": 1}, "scenarioVersion": 1, "reason": "r"})
        }
        ("/v1/orders/{id}/requests/{name}/answer", _) => {
            json!({"body": {"code": 0}, "stepStatus": "k2", "reason": "r"})
        }
        ("/v1/orders/{id}/calls", _) => json!({"name": "go", "key": "k", "body": {"a": [1]}}),
        ("/v1/scenarios/test", _) => {
            json!({"scenario": SCENARIO, "tests": {"t": {"params": {}, "expect": {}}}})
        }
        ("/v1/scenarios/{name}/migrate", _) => {
            json!({"to": 1, "from": 1, "states": {"a": "a"}, "dryRun": true, "after": 0, "reason": "r"})
        }
        ("/v1/scenarios/{name}" | "/v1/scenarios/check", _) => return scenario(strange),
        ("/v1/classify", _) => {
            json!({"scenario": "fuzzed", "http": {"method": "POST", "url": "http://h/p", "status": 503, "body": {}}})
        }
        ("/v1/queues/{name}/release" | "/v1/leases/{name}/resign", _) => json!({"reason": "r"}),
        ("/v1/flows/stop", "POST") => {
            json!({"keyword": "k", "reason": "r", "for": "3h", "resume": true, "dryRun": true})
        }
        ("/v1/flows/resume", "POST") => json!({"keyword": "k", "reason": "r"}),
        ("/v1/flows/shift", "POST") => json!({"flow": "f", "by": "3h", "reason": "r", "dryRun": true}),
        ("/v1/systems/{name}/{order}", _) => json!({"reason": "r", "for": "1s"}),
        _ => json!({"reason": "r", "ifStatus": "fail", "from": "a", "params": {"n": 3}}),
    };
    spoiled(strange, good)
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
