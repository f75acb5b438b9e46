//! The document of the API against the API: what a running intake answers is what its document says.

use std::collections::{BTreeSet, HashMap};

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::installation::{Installation, LOG, PATIENCE, asking, call, until};
use crate::refused::{listed, send};

/// A document, and what was read from it so far.
pub struct Contract {
    document: Value,
    schemas: HashMap<String, Validator>,
}

impl Contract {
    /// The document of a running intake.
    pub async fn of(engine: &Installation) -> Self {
        let document = engine.get("/openapi.json").await.unwrap().success().unwrap();
        Self { document, schemas: HashMap::new() }
    }

    /// All paths with a method.
    fn with(&self, method: &str) -> Vec<String> {
        let paths = self.document["paths"].as_object().unwrap();
        paths
            .iter()
            .filter(|(_, methods)| methods.get(method).is_some())
            .map(|(path, _)| path.clone())
            .collect()
    }

    /// The path of the document that a request is for; one of words goes before one with a parameter.
    fn path_of(&self, method: &str, asked: &str) -> Option<String> {
        let words: Vec<&str> = asked.split('?').next()?.split('/').collect();
        let fits = |path: &String| {
            let known: Vec<&str> = path.split('/').collect();
            known.len() == words.len()
                && known.iter().zip(&words).all(|(known, word)| known == word || known.starts_with('{'))
        };
        let mut found: Vec<String> = self.with(method).into_iter().filter(fits).collect();
        found.sort_by_key(|path| path.matches('{').count());
        found.into_iter().next()
    }

    /// Everything in which an answer is not what the document says; nothing for a path that it does not know.
    pub fn faults(&mut self, method: &str, asked: &str, status: u16, media: &str, body: &str) -> Vec<String> {
        // Below the API: the server itself takes no longer headers.
        if status == 431 {
            return Vec::new();
        }
        let method = method.to_ascii_lowercase();
        let Some(path) = self.path_of(&method, asked) else { return Vec::new() };
        let answers = &self.document["paths"][&path][&method]["responses"];
        let key = status.to_string();
        let key = if answers[&key].is_null() { "default" } else { &key };
        let shared =
            answers[key]["$ref"].as_str().and_then(|name| self.document.pointer(name.strip_prefix('#')?));
        let answer = shared.unwrap_or(&answers[key]);
        let media = media.split(';').next().unwrap_or_default();
        if answer["content"].is_null() && !answer.is_null() {
            let empty = body.is_empty();
            return if empty { Vec::new() } else { vec![format!("{method} {path}: {status} has a body")] };
        }
        let content = &answer["content"][media];
        if content.is_null() {
            return vec![format!("{method} {path}: {status} as {media} is not in the document")];
        }
        if media != "application/json" && !media.ends_with("+json") {
            return Vec::new();
        }
        let Ok(body) = serde_json::from_str::<Value>(body) else {
            return vec![format!("{method} {path}: {status} is not JSON")];
        };
        let components = &self.document["components"];
        let schema = self.schemas.entry(format!("{method} {path} {key}")).or_insert_with(|| {
            let schema = json!({"allOf": [content["schema"]], "components": components});
            jsonschema::draft202012::new(&schema).unwrap()
        });
        let unlike = schema
            .iter_errors(&body)
            .map(|error| format!("{method} {path} {status} {}: {error}", error.instance_path()));
        unlike.collect()
    }
}

/// Texts that begin like a time and are not written as every time of ours is.
fn odd_times(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().flat_map(odd_times).collect(),
        Value::Object(members) => {
            // Parameters are shown as clients wrote them.
            members
                .iter()
                .filter(|(key, _)| *key != "params")
                .flat_map(|(_, value)| odd_times(value))
                .collect()
        }
        Value::String(text) if text.parse::<jiff::Timestamp>().is_ok() => {
            let is_ours = text.len() == "2026-01-01T00:00:00.000Z".len() && text.ends_with('Z');
            if is_ours { Vec::new() } else { vec![text.clone()] }
        }
        _ => Vec::new(),
    }
}

/// Parts of orders in many situations, so that every view has something to show.
async fn populate(engine: &Installation) {
    engine.actions("one", LOG).await;
    engine.actions("calls", &call("/fine")).await;
    engine.actions("fails", "- script: 'fail(\"no.stock\", \"there is none\")'").await;
    engine.scenario("asks", &asking("/ask", "10m")).await;
    engine.run(json!({"id": "known", "scenario": "calls", "transactionId": "t"}), "success").await;
    engine.run(json!({"id": "failed", "scenario": "fails"}), "fail").await;
    engine.run(json!({"id": "waits", "scenario": "asks"}), "wait").await;
    engine.actions("tasks", "- actor: {name: known, workTimeout: 1m}").await;
    engine.run(json!({"id": "tasked", "scenario": "tasks"}), "wait").await;
    let order = json!({"id": "queued", "scenario": "asks", "mode": "sequential", "queue": "known"});
    engine.run(order, "wait").await;
    let after = json!({"after": [{"order": "waits", "states": ["done"]}]});
    engine.accepted(json!({"id": "later", "scenario": "one", "lifecycle": after})).await;
    let live = "initialState: rest\ncalls:\n  say: {answer: fine}\nstates:\n  rest:\n    actions: [{sleep: {for: 10m}}]\n    \
        on: {sleep: sleeps}\n  sleeps: {kind: sleeping, on: {timeout: done}}\n  done: {kind: terminal}\n";
    engine.scenario("live", live).await;
    engine.run(json!({"id": "sleeps", "scenario": "live"}), "sleep").await;
    let said = engine.act("sleeps", "calls?timeout=10s", &json!({"name": "say", "key": "known"})).await;
    assert_eq!(said.status, 200, "{said:?}");
    until("the dispatcher tells of the flow", PATIENCE, async || {
        engine.get("/v1/flows/calls").await.unwrap().status == 200
    })
    .await;
    engine.post("/v1/callbacks/nobody", &json!({"a": 1})).await.unwrap();
    let stop = json!({"keyword": "nothing", "reason": "a test"});
    assert_eq!(engine.post("/v1/flows/stop", &stop).await.unwrap().status, 200);
    let window = json!({"flow": "nothing", "from": "2999-01-01T00:00:00Z", "for": "1h", "reason": "a test"});
    let window = engine.post("/v1/windows", &window).await.unwrap();
    assert!((200..300).contains(&window.status), "{window:?}");
    let search = json!({"idPrefix": "known"});
    assert_eq!(answer(engine, "PUT", "/v1/searches/known", Some(&search)).await.0, 200);
    let subscription = json!({"url": "amqp://?key=known", "scenarios": ["calls"]});
    assert_eq!(answer(engine, "PUT", "/v1/subscriptions/known", Some(&subscription)).await.0, 201);
    let replay = json!({"from": "2020-01-01T00:00:00Z", "reason": "a test"});
    assert_eq!(engine.post("/v1/subscriptions/known/replays", &replay).await.unwrap().status, 200);
    let schedule = json!({"cron": "0 3 1 1 *", "order": {"scenario": "one"}});
    assert_eq!(answer(engine, "PUT", "/v1/schedules/known", Some(&schedule)).await.0, 201);
    assert_eq!(engine.post("/v1/schedules/known/run", &json!({})).await.unwrap().status, 200);
    let operation = json!({"action": "resend", "search": {"ids": ["known"]}, "reason": "a test"});
    assert_eq!(engine.post("/v1/operations", &operation).await.unwrap().status, 201);
    let system = json!({"reason": "a test"});
    assert_eq!(engine.post("/v1/systems/known/stop", &system).await.unwrap().status, 200);
}

/// Paths that lead to an identity provider and back, which this engine has not.
const AT_PROVIDER: [&str; 2] = ["/v1/session/login", "/v1/session/oidc"];

#[tokio::test]
async fn http_every_view_answers_as_the_document_says() {
    let engine = Installation::start("contract_views").await;
    populate(&engine).await;
    send(&engine, b"no JSON").await;
    let message = listed(&engine, 1).await[0]["id"].as_str().unwrap().to_owned();
    let mut contract = Contract::of(&engine).await;
    let (mut wrong, mut shown) = (Vec::new(), BTreeSet::new());
    let shell = answer(&engine, "GET", "/", None).await.2;
    let file = shell.split('"').find_map(|part| part.strip_prefix("/assets/")).unwrap().to_owned();
    for path in contract.with("get") {
        for id in ["known", "failed", "waits", "queued", "later", "sleeps"] {
            let name = match path.as_str() {
                "/assets/{name}" => file.as_str(),
                "/docs/guide/{name}" => "scenarios.html",
                path if path.contains("scenarios") => "calls",
                _ => "known",
            };
            let asked = path.replace("{id}", id).replace("{name}", name).replace("{key}", "known");
            let asked = asked.replace("{flow}", "calls").replace("{message}", &message).replace("{no}", "1");
            let is_endless = path.ends_with("/wait") || path.ends_with("/stream");
            let asked = match path.as_str() {
                _ if is_endless => format!("{asked}?timeout=0"),
                "/v1/access/explain" => format!("{asked}?name=known"),
                _ => asked,
            };
            let (status, media, body) = answer(&engine, "GET", &asked, None).await;
            wrong.extend(contract.faults("get", &asked, status, &media, &body));
            let shown_times = odd_times(&serde_json::from_str(&body).unwrap_or_default());
            // The chain of the audit log is computed from times to the microsecond.
            let shown_times = shown_times.into_iter().filter(|_| path != "/v1/audit/verify");
            wrong.extend(shown_times.map(|time| format!("{asked}: time {time}")));
            if status == 200 {
                shown.insert(path.clone());
            }
            if asked == path {
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    shown.extend(AT_PROVIDER.map(str::to_owned));
    let hidden: Vec<String> = contract.with("get").into_iter().filter(|path| !shown.contains(path)).collect();
    assert!(hidden.is_empty(), "nothing was shown of {hidden:?}");
}

#[tokio::test]
async fn http_every_action_answers_as_the_document_says() {
    let engine = Installation::start("contract_acts").await;
    populate(&engine).await;
    engine.run(json!({"id": "killed", "scenario": "asks"}), "wait").await;
    let mut contract = Contract::of(&engine).await;
    let order = json!({"id": "new", "scenario": "one"});
    let scenario = format!("scenario: one\nkind: workflow\n{}", crate::installation::with_actions(LOG));
    let trial =
        json!({"scenario": scenario, "tests": "tests:\n  - test: a\n    expect: {status: success}\n"});
    let reason = json!({"reason": "a test"});
    let operation = json!({"action": "restart", "search": {"ids": ["failed"]}, "reason": "a test"});
    send(&engine, b"no JSON").await;
    let message = listed(&engine, 1).await[0]["id"].as_str().unwrap().to_owned();
    let asked = [
        ("POST", "/v1/orders", &order, 201),
        ("POST", "/v1/orders", &order, 200),
        ("POST", "/v1/orders", &json!({"id": "new", "scenario": "calls"}), 409),
        ("POST", "/v1/orders", &json!({"id": "bad"}), 422),
        ("POST", "/v1/orders/batch", &json!([order, {"id": "new-2", "scenario": "one"}, {}]), 200),
        ("PATCH", "/v1/orders/later", &json!({"priority": "low", "reason": "a test"}), 200),
        ("POST", "/v1/orders/failed/restart", &reason, 200),
        ("POST", "/v1/orders/known/cancel", &reason, 409),
        ("POST", "/v1/orders/later/interrupt", &reason, 200),
        ("POST", "/v1/orders/known/resend", &reason, 200),
        ("POST", "/v1/orders/known/clone", &json!({"id": "copy"}), 201),
        ("POST", "/v1/orders/waits/repair", &json!({"state": "after", "reason": "a test"}), 200),
        ("POST", "/v1/orders/queued/requests/answer/answer", &json!({"body": {}, "reason": "a test"}), 200),
        ("POST", "/v1/orders/killed/kill", &reason, 200),
        ("POST", "/v1/callbacks/nobody", &json!("text"), 200),
        ("POST", "/v1/callbacks/nobody/heartbeat", &json!({}), 404),
        ("POST", "/v1/scenarios/check", &json!({"scenario": "x"}), 422),
        ("POST", "/v1/scenarios/test", &trial, 200),
        ("POST", "/v1/scenarios/one/migrate", &json!({"from": 1, "to": 2}), 404),
        ("POST", "/v1/classify", &json!({"path": "/x", "status": 503}), 200),
        ("POST", "/v1/flows/resume", &json!({"keyword": "nothing", "reason": "a test"}), 200),
        (
            "POST",
            "/v1/flows/shift",
            &json!({"flow": "x", "by": "1h", "reason": "a test", "dryRun": true}),
            200,
        ),
        ("POST", "/v1/systems/known/open", &reason, 200),
        ("POST", "/v1/systems/known/clear", &reason, 200),
        ("POST", "/v1/operations", &operation, 201),
        ("POST", "/v1/operations", &json!({"action": "kill", "search": {}, "reason": "a test"}), 422),
        ("POST", "/v1/operations/999/pause", &json!({}), 404),
        ("PUT", "/v1/searches/known", &json!({"status": ["fail"]}), 200),
        ("POST", "/v1/schedules", &json!({"name": "new", "every": "1h", "order": {"scenario": "one"}}), 201),
        ("POST", "/v1/schedules/known/pause", &reason, 200),
        ("POST", "/v1/schedules/known/resume", &reason, 200),
        ("POST", "/v1/schedules/known/run", &reason, 200),
        ("PUT", "/v1/schedules/new", &json!({"every": "2h", "order": {"scenario": "one"}}), 200),
        ("PATCH", "/v1/schedules/new", &json!({"note": "n"}), 200),
        ("PATCH", "/v1/schedules/none", &json!({"note": "n"}), 404),
        ("POST", "/v1/queues/none/release", &reason, 404),
        ("POST", "/v1/leases/none/resign", &reason, 404),
        ("POST", &format!("/v1/refused/{message}/drop"), &reason, 200),
        ("POST", "/v1/refused/drop", &json!({"status": "answered", "reason": "a test"}), 200),
    ];
    let mut wrong = Vec::new();
    for (method, path, body, expected) in asked {
        let (status, media, text) = answer(&engine, method, path, Some(body)).await;
        if status != expected {
            wrong.push(format!("{method} {path}: {status} {text:.300}"));
        }
        wrong.extend(contract.faults(method, path, status, &media, &text));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

async fn answer(
    engine: &Installation,
    method: &str,
    path: &str,
    body: Option<&Value>,
) -> (u16, String, String) {
    let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
    let mut request = engine.env().http().request(method, format!("{}{path}", engine.base()));
    if let Some(body) = body {
        request = request.json(body);
    }
    let answer = request.send().await.unwrap();
    let media = answer.headers()["content-type"].to_str().unwrap().to_owned();
    (answer.status().as_u16(), media, answer.text().await.unwrap())
}
