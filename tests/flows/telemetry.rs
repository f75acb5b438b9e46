//! Traces (07-interfaces.md, Telemetry), as a collector gets them.

pub(crate) mod collector;
mod picture;

use std::time::Duration;

use collector::{Collector, Seen};
use lapin::BasicProperties;
use lapin::types::{AMQPValue, FieldTable};
use pagurus_harness::nodes::Role;
use pagurus_harness::proxy::{Mode, Proxy};
use pagurus_harness::world::program::Program;
use serde_json::{Value, json};

use crate::err::policy;
use crate::installation::{Installation, LOG, PATIENCE, call, until};

/// Reserves, with a retry, sleeps, asks and waits for the answer, and publishes.
const WHOLE: &str = r#"initialState: reserve
targetStates: [done]
states:
  reserve:
    entryPoint: true
    actions:
      - http: {method: POST, url: "${config.demo}/reserve?key=hidden", body: {order: "${order.id}"}, timeout: 5s}
      - sleep: {for: 300ms}
    on: {sleep: resting, fail: failed}
  resting: {kind: sleeping, on: {timeout: ask}}
  ask:
    actions:
      - http:
          method: POST
          url: "${config.demo}/ask"
          headers: {X-Callback-Url: "${request.url}"}
          body: {order: "${order.id}"}
          timeout: 5s
          request: answer
      - wait: {timeout: 30s}
    on: {wait: asked, fail: failed}
  asked: {kind: waiting, on: {callback: tell, timeout: failed}}
  tell:
    actions:
      - amqp: {exchange: "${params.exchange}", key: told, body: {order: "${order.id}"}}
    on: {success: done, fail: failed}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
"#;

const RETRY: &str = "{initial_interval: 300ms, multiplier: 2, max_interval: 1s, jitter: 0, max_attempts: 4, max_duration: 1h}";
const CLIENT: &str = "0af7651916cd43dd8448eb211c80319c";

fn traced() -> BasicProperties {
    let mut headers = FieldTable::default();
    let parent = format!("00-{CLIENT}-b7ad6b7169203331-01");
    headers.insert("traceparent".into(), AMQPValue::LongString(parent.into()));
    headers.insert("tracestate".into(), AMQPValue::LongString("vendor=1".into()));
    BasicProperties::default().with_headers(headers)
}

fn stages(spans: &[Seen]) -> Vec<Seen> {
    let mut stages: Vec<Seen> = spans.iter().filter(|span| span.name == "order.stage").cloned().collect();
    stages.sort_by_key(|stage| stage.begun);
    stages
}

/// A whole order over AMQP, with what an instrumented called system does: it answers within the trace of the call.
async fn whole_order(engine: &Installation) {
    engine.world().program(Program::at("/reserve").fail(1, 503));
    engine.scenario("whole", WHOLE).await;
    let client = engine.env().amqp().await.unwrap();
    let prefix = engine.env().prefix();
    let inbox = client.listen(&format!("{prefix}.notifications"), "#").await.unwrap();
    let order = json!({
        "id": "o-1", "scenario": "whole", "transactionId": "t-1",
        "params": {"exchange": format!("{prefix}.notifications")},
        "notify": {"url": "amqp://?key=ended", "correlationId": "c-1"},
    });
    client.publish_orders("order.create", &[order], &traced()).await.unwrap();
    let asked = engine.calls("/ask", 1).await.remove(0);
    engine.reach("o-1", "wait").await;
    let http = engine.env().http();
    let answered = http
        .post(&asked.headers["x-callback-url"])
        .header("traceparent", &asked.headers["traceparent"])
        .json(&json!({"good": true}))
        .send()
        .await
        .unwrap();
    assert_eq!(answered.status().as_u16(), 200);
    engine.reach("o-1", "success").await;
    inbox.wait(PATIENCE, |all| all.len() >= 2).await.unwrap();
}

fn is_notification(span: &Seen) -> bool {
    span.service == "pagurus-notifier" && span.is("messaging.operation.type", "send")
}

/// True if intake and notifier have sent spans of the order, too: each process does so once a second.
fn are_of_all(spans: &[Seen]) -> bool {
    let is_there = |key: &str, value: &str| spans.iter().any(|span| span.is(key, value));
    spans.iter().any(is_notification)
        && is_there("pagurus.registration", "accepted")
        && is_there("pagurus.callback", "accepted")
}

#[tokio::test]
async fn telemetry_a_whole_order_is_a_trace_a_stage_with_links() {
    let collector = Collector::start().await;
    let settings = [
        ("PAGURUS__TELEMETRY__OTLP__ENDPOINT", collector.url()),
        ("PAGURUS__EXECUTION__ERROR_HANDLING", &policy(RETRY)),
    ];
    let engine = Installation::with("telemetry_whole", &settings).await;
    whole_order(&engine).await;
    let spans = collector.wait(PATIENCE, |spans| stages(spans).len() >= 4 && are_of_all(spans)).await;

    let registration = spans.iter().find(|span| span.is("pagurus.registration", "accepted")).unwrap();
    assert_eq!((&*registration.trace, &*registration.parent), (CLIENT, "b7ad6b7169203331"));
    assert_eq!(
        (&*registration.service, registration.kind, &*registration.state),
        ("pagurus-intake", 5, "vendor=1")
    );
    assert!(registration.is("messaging.system", "rabbitmq") && registration.is("pagurus.order.id", "o-1"));

    let stages = stages(&spans);
    let statuses: Vec<&str> = stages.iter().map(|stage| &*stage.attributes["pagurus.order.status"]).collect();
    assert_eq!(statuses, ["retry", "sleep", "wait", "success"]);
    for (index, stage) in stages.iter().enumerate() {
        assert_eq!((&*stage.parent, &*stage.service), ("", "pagurus-worker"), "a root: {stage:?}");
        for (key, value) in [("id", "o-1"), ("life", "1"), ("stage", &(index + 1).to_string())] {
            assert!(stage.is(&format!("pagurus.order.{key}"), value), "{key}: {stage:?}");
        }
        assert!(stage.is("pagurus.transaction.id", "t-1"));
        assert_eq!(stage.link("registration"), Some((CLIENT, &*registration.span)));
        let names = |stage: &Seen| (stage.trace.clone(), stage.span.clone());
        let first = stage.link("first").map(|(trace, span)| (trace.to_owned(), span.to_owned()));
        assert_eq!(first, (index > 0).then(|| names(&stages[0])));
        let previous = stage.link("previous").map(|(trace, span)| (trace.to_owned(), span.to_owned()));
        assert_eq!(previous, (index > 1).then(|| names(&stages[index - 1])));
        assert_eq!(stage.state, "vendor=1", "the state is carried");
    }
    assert!(stages[0].failed && stages[0].is("error.type", "all.unavailable"), "{:?}", stages[0]);

    let within = |stage: &Seen, name: &str| {
        let found = spans.iter().find(|span| {
            span.parent == stage.span && span.service == stage.service && span.name.starts_with(name)
        });
        found.cloned().unwrap_or_else(|| panic!("no `{name}` in {stage:?}: {spans:#?}"))
    };
    let refused = within(&stages[0], "POST");
    assert!(
        refused.failed && refused.is("http.response.status_code", "503") && refused.kind == 3,
        "{refused:?}"
    );
    let calls = engine.world().calls("/reserve");
    for (call, stage) in calls.iter().zip(&stages) {
        let span = within(stage, "POST");
        assert_eq!(call.headers["traceparent"], format!("00-{}-{}-01", span.trace, span.span));
        assert_eq!(call.headers["tracestate"], "vendor=1");
    }
    let published = within(&stages[3], "publish");
    assert!(
        published.kind == 4 && published.is("messaging.rabbitmq.destination.routing_key", "told"),
        "{published:?}"
    );
    let callback = spans.iter().find(|span| span.is("pagurus.callback", "accepted")).unwrap();
    let asked = within(&stages[2], "POST");
    assert_eq!((&callback.trace, &callback.parent), (&asked.trace, &asked.span), "{callback:?}");
    assert_eq!(stages[3].link("callback"), Some((&*asked.trace, &*asked.span)));
    let notification = spans.iter().find(|span| is_notification(span)).unwrap();
    assert_eq!((&notification.trace, &notification.parent), (&stages[3].trace, &stages[3].span));
    let all = format!("{spans:?}");
    assert!(!all.contains("hidden"), "no span shows the query of a URL");
    let calls = spans.iter().filter(|span| span.kind == 3);
    assert!(
        calls.into_iter().all(|call| !format!("{call:?}").contains("/reserve")),
        "no call shows its path"
    );
    picture::write(&spans);
}

#[tokio::test]
async fn telemetry_metrics_tell_of_orders_systems_messages_and_the_process() {
    let engine = Installation::start("telemetry_metrics").await;
    engine.world().program(Program::at("/bad").fail(1, 500));
    engine.scenario("asking", &crate::installation::asking("/ask", "60s")).await;
    engine.actions("bad", &call("/bad")).await;
    let client = engine.env().amqp().await.unwrap();
    let order = json!({"id": "w", "scenario": "asking"});
    client.publish_orders("order.create", &[order], &BasicProperties::default()).await.unwrap();
    engine.calls("/ask", 1).await;
    engine.run(json!({"id": "b", "scenario": "bad"}), "fail").await;
    let (activator, worker) = (engine.node(Role::Activator), engine.node(Role::Worker));
    until("the wait is counted", Duration::from_secs(40), async || {
        // And under no other reason.
        engine.metric(activator, "pagurus_waiting_orders{reason=\"wait\"}").await == 1.0
            && engine.metric(activator, "pagurus_waiting_orders").await == 1.0
    })
    .await;
    let system = engine.world().url().trim_start_matches("http://");
    for (name, expected) in [
        (format!("pagurus_system_calls_total{{system=\"{system}\",outcome=\"5xx\"}}"), 1.0),
        (format!("pagurus_system_call_seconds_count{{system=\"{system}\"}}"), 2.0),
        ("pagurus_ended_total{scenario=\"bad\",status=\"fail\"}".to_owned(), 1.0),
        ("pagurus_stage_errors_total".to_owned(), 1.0),
        ("pagurus_ready_wait_seconds_count".to_owned(), 2.0),
        ("pagurus_batch_seconds_count{operation=\"prepare_requests\"}".to_owned(), 1.0),
        ("pagurus_build_info".to_owned(), 1.0),
    ] {
        engine.until_metric(worker, &name, |value| value == expected).await;
    }
    let intake = engine.node(Role::Intake);
    engine.until_metric(intake, "messaging_client_consumed_messages_total", |count| count == 1.0).await;
    for node in &engine.nodes {
        assert!(engine.metric(node, "process_resident_memory_bytes").await > 1e6);
        assert!(engine.metric(node, "process_cpu_seconds_total").await > 0.0);
    }
}

#[tokio::test]
async fn telemetry_no_dispatcher_is_reported_in_the_log_and_in_metrics() {
    let roles = [Role::Intake, Role::Activator];
    let engine = Installation::only("telemetry_leaderless", &roles, &[]).await;
    assert_eq!(engine.metric(engine.node(Role::Intake), "pagurus_leader ").await, 0.0);
    let log = engine.node(Role::Activator).spec.log.clone();
    until("it is reported", Duration::from_secs(60), async || {
        std::fs::read_to_string(&log).is_ok_and(|log| log.contains("no dispatcher leads"))
    })
    .await;
    let ready = format!("{}/readyz", engine.node(Role::Activator).url());
    let page: Value = engine.env().http().get(ready).send().await.unwrap().json().await.unwrap();
    assert_eq!(page["warning"], "no dispatcher leads, so nothing is handed out", "{page}");
}

#[tokio::test]
async fn telemetry_without_a_collector_the_context_of_the_client_is_handed_on() {
    let engine = Installation::start("telemetry_off").await;
    engine.actions("one", &call("/do")).await;
    let client = engine.env().amqp().await.unwrap();
    client.publish_orders("order.create", &[json!({"id": "a", "scenario": "one"})], &traced()).await.unwrap();
    let called = engine.calls("/do", 1).await.remove(0);
    assert_eq!(called.headers["traceparent"], format!("00-{CLIENT}-b7ad6b7169203331-01"));
    assert_eq!(called.headers["tracestate"], "vendor=1");
    engine.run(json!({"id": "b", "scenario": "one"}), "success").await;
    assert!(!engine.world().calls("/do")[1].headers.contains_key("traceparent"));
}

#[tokio::test]
async fn telemetry_what_a_client_does_not_want_recorded_is_not_and_a_part_of_the_rest_is_left_out() {
    let collector = Collector::start().await;
    let settings = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url()),
        ("PAGURUS__TELEMETRY__TRACES__SAMPLE_PERCENTAGE", "0"),
    ];
    let engine = Installation::with("telemetry_sampled", &settings).await;
    engine.actions("one", &call("/do")).await;
    let http = engine.env().http();
    let register = async |id: &str, flags: Option<&str>| {
        let url = format!("{}/v1/orders", engine.base());
        let mut request = http.post(url).json(&json!({"id": id, "scenario": "one"}));
        if let Some(flags) = flags {
            request = request.header("traceparent", format!("00-{CLIENT}-b7ad6b7169203331-{flags}"));
        }
        assert_eq!(request.send().await.unwrap().status().as_u16(), 201);
        engine.reach(id, "success").await;
    };
    register("unwanted", Some("00")).await;
    register("unasked", None).await;
    register("wanted", Some("01")).await;
    let spans = collector.wait(PATIENCE, |spans| spans.len() >= 3).await;
    assert!(
        spans.iter().all(|span| !span.attributes.values().any(|value| value.starts_with("un"))),
        "{spans:#?}"
    );
    let flags = |id: &str| {
        let calls = engine.world().calls("/do");
        let call = calls.into_iter().find(|call| call.body["order"] == id).unwrap();
        call.headers["traceparent"][53..].to_owned()
    };
    assert_eq!([flags("unwanted"), flags("unasked"), flags("wanted")], ["00", "00", "01"]);
}

#[tokio::test]
async fn telemetry_a_collector_that_is_away_or_hangs_costs_no_order_anything() {
    // Bound and never answered: connections are made, and hang.
    let hanging = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let away = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (test, address) in [("hangs", hanging.local_addr().unwrap()), ("away", away)] {
        let endpoint = format!("http://{address}");
        let settings = [
            ("PAGURUS__TELEMETRY__OTLP__ENDPOINT", &*endpoint),
            ("PAGURUS__TELEMETRY__OTLP__TIMEOUT", "1s"),
            ("PAGURUS__TELEMETRY__OTLP__QUEUE_SIZE", "10"),
        ];
        let engine = Installation::with(&format!("telemetry_{test}"), &settings).await;
        engine.actions("one", &call("/do")).await;
        let orders: Vec<Value> = (0..50).map(|n| json!({"id": n.to_string(), "scenario": "one"})).collect();
        engine.post("/v1/orders/batch", &json!(orders)).await.unwrap().success().unwrap();
        for n in 0..50 {
            engine.wait_status(&n.to_string(), "success", Duration::from_secs(15)).await.unwrap();
        }
        let worker = engine.node(Role::Worker);
        until("failures are counted", PATIENCE, async || {
            engine.metric(worker, "pagurus_spans_total{outcome=\"failed\"}").await > 0.0
        })
        .await;
        engine
            .until_metric(worker, "pagurus_spans_total{outcome=\"recorded\"}", |count| count >= 100.0)
            .await;
    }
}

/// Calls for a while, and asks then, for which it needs the database.
const ASKS_LATE: &str = r#"initialState: work
targetStates: [done]
states:
  work:
    entryPoint: true
    actions:
      - http: {method: POST, url: "${config.demo}/slow", body: {order: "${order.id}"}, timeout: 20s}
      - http: {method: POST, url: "${config.demo}/ask", body: {url: "${request.url}"}, timeout: 5s, request: answer}
      - wait: {timeout: 1h}
    on: {wait: asked, fail: failed}
  asked: {kind: waiting, on: {callback: done, timeout: failed}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
"#;

#[tokio::test]
async fn telemetry_logs_in_json_are_an_object_a_line_that_names_order_transaction_and_trace() {
    let settings = [("PAGURUS__LOG__FORMAT", "json"), ("PAGURUS__LOG__LEVEL", "debug")];
    let mut engine = Installation::only("telemetry_json", &[Role::Intake, Role::Dispatcher], &settings).await;
    let database_url = engine.env().database_url();
    let address = database_url.rsplit_once('@').unwrap().1.split('/').next().unwrap();
    let database = Proxy::start(address).await.unwrap();
    let through = [("PAGURUS__DATABASE__URL", &*database.url(&database_url))];
    let worker = engine.add_with(Role::Worker, "worker-1", &through).await;
    engine.scenario("asks-late", ASKS_LATE).await;
    engine.world().program(Program::at("/slow").delayed(Duration::from_secs(1)));
    let order = json!({"id": "o-1", "scenario": "asks-late", "transactionId": "t-1\nforged \"quoted\""});
    let sent = engine.env().http().post(format!("{}/v1/orders", engine.base()));
    let sent = sent.header("traceparent", format!("00-{CLIENT}-b7ad6b7169203331-01")).json(&order);
    assert_eq!(sent.send().await.unwrap().status().as_u16(), 201);
    engine.calls("/slow", 1).await;
    // What the stage asks for next meets no database: the worker says so, and goes on when it is there again.
    database.set(Mode::Cut);
    let log = || std::fs::read_to_string(&worker.spec.log).unwrap();
    until("the worker tells of it", PATIENCE, async || log().contains("the stage waits for it")).await;
    database.set(Mode::Pass);
    engine.calls("/ask", 1).await;

    let mut about = Vec::new();
    for node in &engine.nodes {
        for line in std::fs::read_to_string(&node.spec.log).unwrap().lines() {
            let line: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            for field in ["timestamp", "level", "target", "message"] {
                assert!(line[field].is_string(), "{field}: {line}");
            }
            about.extend((line["message"] == "the database fails; the stage waits for it").then_some(line));
        }
    }
    let line = about.first().unwrap();
    assert_eq!(
        (&line["order"], &line["transaction"], &line["trace"]),
        (&order["id"], &order["transactionId"], &json!(CLIENT)),
        "{line}"
    );
}

#[tokio::test]
async fn ord_6_the_end_of_each_stage_is_a_line_of_the_log_with_the_business_transaction() {
    for (name, level, wanted) in [("ord_6_log", "info", 1), ("ord_6_silent", "off", 0)] {
        let settings = [("PAGURUS__LOG__FORMAT", "json"), ("PAGURUS__LOG__ORDERS", level)];
        let mut engine = Installation::only(name, &[Role::Intake, Role::Dispatcher], &settings).await;
        let worker = engine.add_with(Role::Worker, "worker-1", &[]).await;
        engine.actions("one", LOG).await;
        engine.run(json!({"id": "o-1", "scenario": "one", "transactionId": "t-1"}), "success").await;
        // A node that has stopped has written all its lines.
        worker.stop(PATIENCE).await.unwrap();
        let text = std::fs::read_to_string(&worker.spec.log).unwrap();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let ends: Vec<Value> = lines
            .filter(|line| line["target"] == "log.orders" && line["message"] == "a stage has ended")
            .collect();
        assert_eq!(ends.len(), wanted, "{level}: {text}");
        for line in ends {
            assert_eq!(
                (&line["order"], &line["transaction"], &line["status"], &line["step"]),
                (&json!("o-1"), &json!("t-1"), &json!("success"), &json!("done")),
                "{line}"
            );
        }
    }
}
