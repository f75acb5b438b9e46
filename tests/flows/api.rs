//! The HTTP API against what clients should not send: every answer is a problem with a reason, none is 5xx.

use std::fmt::Write as _;

use pagurus_harness::nodes::Role;
use pagurus_harness::proxy::{Mode, Proxy, host_of};
use reqwest::Method;
use serde_json::{Value, json};

use crate::installation::{Installation, LOG, PATIENCE};

/// A request and the status of its answer.
type Case = (Method, &'static str, Vec<u8>, u16);

fn registrations() -> Vec<Case> {
    let order = |more: &str| format!("{{\"id\": \"b\", \"scenario\": \"one\"{more}}}").into_bytes();
    let deep = [b"[".repeat(4000)].concat();
    let many = json!((0..11).map(|n| json!({"id": n.to_string(), "scenario": "one"})).collect::<Vec<_>>())
        .to_string();
    vec![
        (Method::POST, "/v1/orders", b"{".to_vec(), 400),
        (Method::POST, "/v1/orders", b"\xff\xfe".to_vec(), 400),
        (Method::POST, "/v1/orders", b"".to_vec(), 400),
        (Method::POST, "/v1/orders", order(", \"id\": \"c\""), 400),
        (Method::POST, "/v1/orders", order(", \"params\": {\"x\": 1, \"x\": 2}"), 400),
        (Method::POST, "/v1/orders", b"null".to_vec(), 422),
        (Method::POST, "/v1/orders", deep, 400),
        (Method::POST, "/v1/orders", order(", \"params\": {\"x\": \"\\u0000\"}"), 422),
        (Method::POST, "/v1/orders", order(", \"params\": {\"x\": \"\\ud800\"}"), 400),
        (Method::POST, "/v1/orders", order(", \"params\": {\"x\": 1e999}"), 400),
        (Method::POST, "/v1/orders", order(", \"lifecycle\": {\"startAt\": \"tomorrow\"}"), 422),
        (
            Method::POST,
            "/v1/orders",
            order(", \"lifecycle\": {\"startAt\": \"-009999-01-01T00:00:00Z\"}"),
            422,
        ),
        (
            Method::POST,
            "/v1/orders",
            order(", \"lifecycle\": {\"startAt\": \"9999-12-30T00:00:00Z\", \"periodToStart\": 1}"),
            422,
        ),
        (Method::POST, "/v1/orders", order(", \"lifecycle\": {\"startAt\": \"9999-12-30T00:00:00Z\"}"), 201),
        (Method::POST, "/v1/orders", order(", \"lifecycle\": {\"periodToStart\": -1}"), 422),
        (Method::POST, "/v1/orders", order(", \"lifecycle\": {\"periodToStart\": 99999999999999}"), 422),
        (
            Method::POST,
            "/v1/orders",
            order(", \"lifecycle\": {\"periodToStart\": 18446744073709551615}"),
            422,
        ),
        (Method::POST, "/v1/orders", order(", \"scenarioVersion\": 4000000000"), 422),
        (
            Method::POST,
            "/v1/orders",
            order(&format!(", \"params\": {{\"x\": \"{}\"}}", "x".repeat(9000))),
            413,
        ),
        (Method::POST, "/v1/orders/batch", b"{}".to_vec(), 422),
        (Method::POST, "/v1/orders/batch", b"[1, null, {}]".to_vec(), 200),
        (Method::POST, "/v1/orders/batch", many.into_bytes(), 413),
    ]
}

fn others() -> Vec<Case> {
    vec![
        (Method::GET, "/v1/orders?limit=0", Vec::new(), 422),
        (Method::GET, "/v1/orders?limit=x", Vec::new(), 422),
        (Method::GET, "/v1/orders?status=odd", Vec::new(), 422),
        (Method::GET, "/v1/orders?foo=1", Vec::new(), 422),
        (Method::GET, "/v1/nodes?foo=1", Vec::new(), 422),
        (Method::GET, "/v1/queues?nmae=q", Vec::new(), 422),
        (Method::GET, "/v1/leases?foo", Vec::new(), 422),
        (Method::GET, "/v1/scenarios?foo=1", Vec::new(), 422),
        (Method::GET, "/v1/callbacks?verdikt=late", Vec::new(), 422),
        (Method::GET, "/v1/errors?clas=x", Vec::new(), 422),
        (Method::GET, "/v1/errors/orders?class=x", Vec::new(), 200),
        (Method::GET, "/v1/orders?cursor=x", Vec::new(), 422),
        (Method::GET, "/v1/orders?scenario=%00", Vec::new(), 422),
        (Method::GET, "/v1/orders/none", Vec::new(), 404),
        (Method::GET, "/v1/orders/%00", Vec::new(), 404),
        (Method::GET, "/v1/orders/%ff", Vec::new(), 422),
        (Method::GET, "/v1/orders/a/nothing", Vec::new(), 404),
        (Method::GET, "/v1/orders/a/wait?timeout=x", Vec::new(), 422),
        (Method::GET, "/v1/orders/a/wait?timeout=99999999999999999999", Vec::new(), 422),
        (Method::GET, "/v1/orders/a/wait?timeout=18446744073709551615", Vec::new(), 200),
        (Method::GET, "/v1/orders/a/log?fromLine=-1", Vec::new(), 422),
        (Method::GET, "/v1/orders/a/log?fromLine=0&size=0", Vec::new(), 200),
        (Method::GET, "/v1/orders/a/events?after=x", Vec::new(), 422),
        (Method::GET, "/v1/orders/a/events?after=2147483647", Vec::new(), 200),
        (Method::POST, "/v1/orders/a/dance", b"{}".to_vec(), 404),
        (Method::POST, "/v1/orders/a/cancel", b"{".to_vec(), 400),
        (Method::POST, "/v1/orders/a/cancel", b"[]".to_vec(), 422),
        (Method::POST, "/v1/orders/a/restart", b"{\"from\": 5}".to_vec(), 422),
        (Method::POST, "/v1/orders/a/restart", b"{\"from\": \"x\\u0000\"}".to_vec(), 422),
        (Method::POST, "/v1/orders/a/restart", b"{\"params\": {\"x\": \"\\u0000\"}}".to_vec(), 422),
        (
            Method::POST,
            "/v1/orders/a/restart",
            b"{\"reason\": \"\\u0000\", \"from\": \"mars\"}".to_vec(),
            422,
        ),
        (Method::POST, "/v1/orders/a/kill", b"{\"reason\": [1]}".to_vec(), 422),
        (Method::POST, "/v1/orders/%00/cancel", b"{}".to_vec(), 404),
        (Method::DELETE, "/v1/orders/a", Vec::new(), 405),
        (Method::GET, "/v1/nowhere", Vec::new(), 404),
        (Method::POST, "/v1/callbacks/%00", b"x".to_vec(), 404),
        (Method::POST, "/v1/callbacks/not-a-uuid", b"\xff\x00".to_vec(), 200),
        (Method::POST, "/v1/callbacks/not-a-uuid?trace=1", b"x".to_vec(), 200),
        (Method::PUT, "/v1/scenarios/%00", b"scenario: x".to_vec(), 404),
        (Method::PUT, "/v1/scenarios/x", b"\xff".to_vec(), 400),
        (Method::PUT, "/v1/scenarios/x", b"&a [*a, *a]".to_vec(), 422),
        (Method::GET, "/v1/scenarios/none", Vec::new(), 404),
        (Method::GET, "/v1/scenarios/%00", Vec::new(), 404),
        (Method::POST, "/v1/queues/%00/release", b"{\"reason\": \"x\"}".to_vec(), 404),
        (Method::POST, "/v1/queues/q/release", b"{\"reason\": \"\\u0000\"}".to_vec(), 422),
    ]
}

/// Fields of a query, each with a text that it cannot be.
type Wrong = &'static [(&'static str, &'static str)];

/// Every route with a query, its fields, and a text that each cannot be. Fields of text take any.
const QUERIES: [(Method, &str, Wrong); 20] = [
    (Method::GET, "/v1/orders", &[("limit", "abc"), ("limit", ""), ("status", "odd"), ("cursor", "x")]),
    (Method::GET, "/v1/orders/a/dependencies", &[("depth", "x"), ("depth", "0")]),
    (Method::POST, "/v1/orders/a/calls", &[("timeout", "x")]),
    (Method::GET, "/v1/orders/a/calls/k", &[("timeout", "x")]),
    (Method::GET, "/v1/orders/a/wait", &[("timeout", "x"), ("timeout", "-1")]),
    (Method::GET, "/v1/orders/a/log", &[("fromLine", "x"), ("size", "1.5")]),
    (Method::GET, "/v1/orders/a/events", &[("after", "99999999999"), ("limit", "0")]),
    (Method::GET, "/v1/orders/a/steps", &[("limit", "10001"), ("cursor", "-1"), ("cursor", "x")]),
    (Method::GET, "/v1/orders/a/calls", &[("limit", "x"), ("cursor", "x")]),
    (Method::GET, "/v1/orders/a/params", &[("after", "x")]),
    (Method::GET, "/v1/callbacks", &[("verdict", "odd"), ("since", "x"), ("limit", "0"), ("cursor", "x")]),
    (Method::GET, "/v1/scenarios/one", &[("version", "x")]),
    (Method::GET, "/v1/scenarios/one/graph", &[("version", "x"), ("format", "png")]),
    (Method::GET, "/v1/scenarios/none/graph", &[("version", "1.0")]),
    (Method::GET, "/v1/errors", &[("by", "x"), ("since", "x"), ("limit", "x"), ("cursor", "x")]),
    (Method::GET, "/v1/errors/orders", &[("status", "x"), ("since", "x"), ("limit", "x"), ("cursor", "x")]),
    (Method::GET, "/v1/errors/orders", &[("class", "a&class=b")]),
    // An action knows no dry run: it must not be carried out as if it had not been asked for one.
    (Method::POST, "/v1/orders/a/resend", &[("dryRun", "true")]),
    (Method::POST, "/v1/orders", &[("dry_run", "1")]),
    (Method::DELETE, "/v1/searches/mine", &[("dryRun", "true")]),
];

#[tokio::test]
async fn api_a_query_that_cannot_be_read_is_a_problem_that_names_the_field() {
    let engine = Installation::start("api_query").await;
    engine.actions("one", LOG).await;
    engine.run(json!({"id": "a", "scenario": "one"}), "success").await;
    let mut wrong = Vec::new();
    for (method, path, fields) in QUERIES {
        for (field, value) in fields {
            let url = format!("{}{path}?{field}={value}", engine.base());
            let request = engine.env().http().request(method.clone(), &url).body("{}");
            let answer = request.header("content-type", "application/json").send().await.unwrap();
            let (status, media) = (answer.status().as_u16(), answer.headers()["content-type"].clone());
            let text = answer.text().await.unwrap();
            let problem: Value = serde_json::from_str(&text).unwrap_or_default();
            let named = problem["pointer"] == format!("/{field}");
            if status != 422 || media != "application/problem+json" || !named {
                wrong.push(format!("{method} {path} {field}={value}: {status} {media:?} {text:.300}"));
            }
        }
    }
    for path in ["/v1/orders/%ff", "/v1/scenarios/%ff/graph", "/v1/orders/%ff/calls/%fe"] {
        let answer = engine.get(path).await.unwrap();
        let named = answer.body["pointer"].is_string() && answer.body["type"].is_string();
        if answer.status != 422 || !named {
            wrong.push(format!("{path}: {answer:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn api_bad_input_is_never_the_engines_failure() {
    let engine = Installation::with(
        "api_bad",
        &[("PAGURUS__INTAKE__MAX_BODY_BYTES", "8KiB"), ("PAGURUS__INTAKE__MAX_BATCH_ORDERS", "10")],
    )
    .await;
    engine.actions("one", LOG).await;
    engine.run(json!({"id": "a", "scenario": "one"}), "success").await;
    let mut wrong = Vec::new();
    for (method, path, body, expected) in registrations().into_iter().chain(others()) {
        let shown = String::from_utf8_lossy(&body[..body.len().min(80)]).into_owned();
        let kind = if method == Method::PUT { "application/yaml" } else { "application/json" };
        let request = engine.env().http().request(method.clone(), format!("{}{path}", engine.base()));
        let answer = request.header("content-type", kind).body(body).send().await.unwrap();
        let status = answer.status().as_u16();
        let media = answer
            .headers()
            .get("content-type")
            .map(|kind| kind.to_str().unwrap().to_owned())
            .unwrap_or_default();
        let text = answer.text().await.unwrap();
        let problem = serde_json::from_str::<Value>(&text).unwrap_or_default();
        let described = status < 400
            || (media == "application/problem+json"
                && problem["status"] == status
                && problem["type"].is_string());
        if status != expected || !described {
            wrong.push(format!(
                "{method} {path} {shown:?}: {status} ({media}), {expected} expected: {text:.300}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let order = engine.order("a").await.unwrap();
    assert_eq!((&order["status"], &order["life"]), (&json!("success"), &json!(1)), "nothing of it was done");
}

#[tokio::test]
async fn ord_6_orders_of_one_business_transaction_are_found() {
    let engine = Installation::start("api_transaction").await;
    engine.actions("one", LOG).await;
    for (id, transaction) in
        [("a", json!("TX-77")), ("b", json!("TX-78")), ("c", json!("TX-77")), ("d", json!(null))]
    {
        engine.accepted(json!({"id": id, "scenario": "one", "transactionId": transaction})).await;
    }
    engine.reach("c", "success").await;
    let found = async |query: &str| {
        let page = engine.get(&format!("/v1/orders?{query}")).await.unwrap().success().unwrap();
        let ids = page["items"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned());
        (ids.collect::<Vec<_>>(), page["next"].as_str().map(str::to_owned))
    };
    assert_eq!(found("transactionId=TX-77").await.0, ["c", "a"]);
    assert!(found("transactionId=TX-7").await.0.is_empty());
    assert!(found("transactionId=TX-77&status=fail").await.0.is_empty());
    let (first, next) = found("transactionId=TX-77&limit=1").await;
    let (second, _) = found(&format!("transactionId=TX-77&limit=1&cursor={}", next.unwrap())).await;
    assert_eq!((first, second), (vec!["c".to_owned()], vec!["a".to_owned()]));
    let refused = engine.get("/v1/orders?transaction=TX-77").await.unwrap();
    assert_eq!((refused.status, &refused.body["pointer"]), (422, &json!("/transaction")), "{refused:?}");
    assert_eq!(refused.body["errors"][0]["hint"], "did you mean `transactionId`?", "{refused:?}");
}

#[tokio::test]
async fn qlt_9_bodies_of_other_media_types_and_pages_of_other_sites_are_refused() {
    let engine = Installation::start("api_media").await;
    engine.actions("one", LOG).await;
    let send = async |id: &str, headers: &[(&str, &str)]| {
        let body = json!({"id": id, "scenario": "one"}).to_string();
        let mut request = engine.env().http().post(format!("{}/v1/orders", engine.base())).body(body);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.json::<Value>().await.unwrap()["type"].clone())
    };
    let unsupported = json!("urn:pagurus:problem:unsupported-media-type");
    for kind in ["text/plain", "multipart/form-data", "application/yaml"] {
        assert_eq!(send("a", &[("content-type", kind)]).await, (415, unsupported.clone()), "{kind}");
    }
    let forbidden = json!("urn:pagurus:problem:forbidden");
    for header in [("sec-fetch-site", "cross-site"), ("origin", "http://evil.example")] {
        assert_eq!(send("a", &[header]).await, (403, forbidden.clone()), "{header:?}");
    }
    assert_eq!(engine.get("/v1/orders/a").await.unwrap().status, 404, "it was registered all the same");
    assert_eq!(send("a", &[("origin", engine.base())]).await.0, 201);
    assert_eq!(send("b", &[("content-type", "application/json; charset=utf-8")]).await.0, 201);
    assert_eq!(send("c", &[("content-type", "application/x-www-form-urlencoded")]).await.0, 201, "by curl");
    let callback = engine.env().http().post(format!("{}/v1/callbacks/r-1", engine.base()));
    let callback = callback.header("content-type", "text/xml").body("<a/>").send().await.unwrap();
    assert_eq!(callback.status().as_u16(), 200, "called systems answer as they like");
}

#[tokio::test]
async fn api_lists_are_paged_and_a_long_poll_ends_with_the_order() {
    let engine = Installation::start("api_lists").await;
    engine.actions("one", LOG).await;
    for n in 0..7 {
        engine.accepted(json!({"id": n.to_string(), "scenario": "one"})).await;
    }
    for n in 0..7 {
        let path = format!("/v1/orders/{n}/wait?timeout=10");
        let answer = engine.get(&path).await.unwrap().success().unwrap();
        assert_eq!((&answer["status"], &answer["final"]), (&json!("success"), &json!(true)));
    }
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = engine
            .get(&format!("/v1/orders?scenario=one&status=success&limit=3{cursor}"))
            .await
            .unwrap()
            .success()
            .unwrap();
        seen.extend(
            page["items"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()),
        );
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen, ["6", "5", "4", "3", "2", "1", "0"]);
    for node in &engine.nodes {
        for path in ["healthz", "readyz", "metrics"] {
            let answer = engine.env().http().get(format!("{}/{path}", node.url())).send().await.unwrap();
            assert_eq!(answer.status().as_u16(), 200, "{} {path}", node.spec.name);
        }
    }
    // The end of an order that is waited for is reported at once, not after the time is over.
    engine.scenario("asks", &crate::installation::asking("/silent", "700ms")).await;
    engine.accepted(json!({"id": "w", "scenario": "asks"})).await;
    let answer = engine.get("/v1/orders/w/wait?timeout=30s");
    let answer = tokio::time::timeout(PATIENCE, answer).await.unwrap().unwrap();
    assert_eq!(answer.body["status"], "fail", "{answer:?}");
}

#[tokio::test]
async fn qlt_8_bounds_of_bodies_hold_to_the_byte_the_element_and_the_level() {
    const BYTES: usize = 8 * 1024;
    let settings = [
        ("PAGURUS__INTAKE__MAX_BODY_BYTES", "8KiB"),
        ("PAGURUS__INTAKE__MAX_BATCH_BODY_BYTES", "16KiB"),
        ("PAGURUS__INTAKE__MAX_BATCH_ORDERS", "10"),
    ];
    let engine = Installation::only("api_edges", &[Role::Intake], &settings).await;
    engine.actions("one", LOG).await;
    let send = async |path: &str, body: String| {
        let request = engine.env().http().post(format!("{}{path}", engine.base())).body(body);
        request.header("content-type", "application/json").send().await.unwrap().status().as_u16()
    };
    for (bytes, status) in [(BYTES - 1, 201), (BYTES, 201), (BYTES + 1, 413)] {
        let head = format!("{{\"id\":\"b-{bytes}\",\"scenario\":\"one\",\"params\":{{\"x\":\"");
        let body = format!("{head}{}\"}}}}", "x".repeat(bytes - head.len() - 3));
        assert_eq!((body.len(), send("/v1/orders", body).await), (bytes, status));
    }
    // Spaces count as bytes of a batch, and as nothing else.
    for (bytes, status) in [(2 * BYTES, 200), (2 * BYTES + 1, 413)] {
        let order = json!([{"id": format!("s-{bytes}"), "scenario": "one"}]).to_string();
        let body = format!("{order}{}", " ".repeat(bytes - order.len()));
        assert_eq!(send("/v1/orders/batch", body).await, status, "{bytes}");
    }
    for (count, status) in [(9, 200), (10, 200), (11, 413)] {
        let orders: Vec<Value> =
            (0..count).map(|n| json!({"id": format!("{count}-{n}"), "scenario": "one"})).collect();
        assert_eq!(send("/v1/orders/batch", json!(orders).to_string()).await, status, "{count}");
    }
    // The order is a level, and its parameters are the next.
    for (lists, status) in [(61, 201), (62, 201), (63, 422)] {
        let nested = format!("{}{}", "[".repeat(lists), "]".repeat(lists));
        let body = format!("{{\"id\":\"d-{lists}\",\"scenario\":\"one\",\"params\":{{\"x\":{nested}}}}}");
        assert_eq!(send("/v1/orders", body).await, status, "{lists}");
    }
}

#[tokio::test]
async fn qlt_9_no_problem_shows_the_inside_of_the_engine_while_the_database_is_away() {
    let mut engine = Installation::only("api_inside", &[Role::Intake], &[]).await;
    let url = engine.env().database_url();
    let database = Proxy::start(&host_of(&url)).await.unwrap();
    let through = [("PAGURUS__DATABASE__URL", &*database.url(&url))];
    let node = engine.add_with(Role::Intake, "intake-2", &through).await;
    let document = engine.get("/openapi.json").await.unwrap().success().unwrap();
    database.set(Mode::Cut);
    let mut asked = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        let parts = path.split('/').map(|part| if part.starts_with('{') { "1" } else { part });
        let path = parts.collect::<Vec<_>>().join("/");
        for method in methods.as_object().unwrap().keys().filter(|_| path != "/v1/stream") {
            let method: Method = method.to_uppercase().parse().unwrap();
            let request = engine.env().http().request(method.clone(), format!("{}{path}", node.url()));
            let request = if method == Method::GET { request } else { request.json(&json!({"reason": "r"})) };
            let path = path.clone();
            asked.push(async move {
                let answer = request.send().await.unwrap();
                let status = answer.status().as_u16();
                (method, path, status, answer.text().await.unwrap())
            });
        }
    }
    let (mut failed, mut wrong) = (0, String::new());
    for (method, path, status, text) in futures_util::future::join_all(asked).await {
        failed += usize::from(status == 503);
        let inside = [
            "SELECT ",
            "INSERT ",
            "postgres://",
            "amqp://",
            "SQLSTATE",
            ".rs:",
            "panicked",
            "stack backtrace",
        ];
        if status == 500 || status >= 400 && inside.iter().any(|word| text.contains(word)) {
            writeln!(wrong, "{method} {path}: {status} {text:.300}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(failed > 40, "the database was there: {failed}");
}
