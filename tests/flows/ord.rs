//! Orders: what registration takes and keeps, and what an order shows (01-orders.md).

mod amend;
mod awaited;
mod clones;
mod dependencies;
mod dry_run;
mod explain;
mod failed_action;
mod groups;
mod jeopardy;
mod kept;
mod lives;
mod log;
mod long;
mod notification;
mod operator;
mod pages;
mod queue_of_scenario;
mod receivers;
mod repeat;
mod reported;
mod sequence;
mod service_log;
mod subscriptions;
mod webhook;

use std::time::Duration;

use pagurus_harness::client::Api;
use pagurus_harness::nodes::Role;
use pagurus_harness::world::program::Program;
use pagurus_scenario::value::percent_encode;
use serde_json::{Value, json};

use crate::installation::{Installation, LOG, PATIENCE, asking, at, call, callers};

#[tokio::test]
async fn ord_1_odd_ids_come_back_as_they_were_given() {
    let engine = Installation::start("ord_1").await;
    engine.actions("quick", LOG).await;
    let ids = [
        "brt-000123",
        "with space",
        "a/b/c",
        "...",
        "batch",
        "%2F",
        "%",
        "?x=1&y=#z",
        "заказ-7",
        "日本",
        "\"quoted\"",
        "e\u{301} is not é",
        "🦀",
        "it's; DROP TABLE orders;--",
        "\\",
        "*",
        "wait",
        &"x".repeat(255),
        &"é".repeat(127),
    ];
    for id in ids {
        engine.accepted(json!({"id": id, "scenario": "quick"})).await;
        let order = engine.reach(&percent_encode(id), "success").await;
        assert_eq!(order["id"], json!(id));
    }
    let x256 = "x".repeat(256);
    let bad =
        [json!(""), json!("a\nb"), json!("a\u{0}b"), json!(7), json!(null), json!(x256), json!("\u{7f}")];
    for id in bad {
        let answer = engine.submit(&json!({"id": id, "scenario": "quick"})).await;
        assert_eq!((answer.status, &answer.body["pointer"]), (422, &json!("/id")), "{id}: {answer:?}");
    }
    let answer = engine.submit(&json!({"id": "v", "scenario": "quick", "scenarioVersion": 2})).await;
    assert_eq!(answer.status, 422, "{answer:?}");
}

#[tokio::test]
async fn ord_2_the_same_id_is_a_duplicate_or_a_conflict_over_both_transports() {
    let engine = Installation::start("ord_2").await;
    engine.actions("quick", &call("/do")).await;
    let order = |n: i32| json!({"id": "a", "scenario": "quick", "params": {"n": n, "m": {"b": 1, "a": 2}}});
    engine.run(order(1), "success").await;
    let again = engine.submit(&order(1)).await;
    assert_eq!(
        (again.status, &again.body["status"], &again.body["orderStatus"]),
        (200, &json!("duplicate"), &json!("success"))
    );
    // The order of keys and the form of numbers are not content.
    let same = r#"{"scenario":"quick","params":{"m":{"a":2.0,"b":1e0},"n":1},"id":"a"}"#;
    let same: Value = serde_json::from_str(same).unwrap();
    assert_eq!(engine.submit(&same).await.status, 200);
    let other = engine.submit(&order(2)).await;
    assert_eq!((other.status, &other.body["orderStatus"]), (409, &json!("success")), "{other:?}");

    let amqp = engine.env().amqp().await.unwrap();
    let receipts = amqp.listen_directly().await.unwrap();
    let properties = lapin::BasicProperties::default().with_reply_to(receipts.queue().into());
    let b = |n: i32| json!({"id": "b", "scenario": "quick", "params": {"n": n}});
    amqp.publish_orders("order.create", &[order(1), order(2), b(1), b(1), b(2)], &properties).await.unwrap();
    let received = receipts.wait(PATIENCE, |all| all.len() == 5).await.unwrap();
    let mut outcomes: Vec<_> = received
        .iter()
        .map(|m| format!("{} {}", m.body["id"].as_str().unwrap(), m.body["status"].as_str().unwrap()))
        .collect();
    outcomes.sort();
    assert_eq!(outcomes, ["a conflict", "a duplicate", "b accepted", "b conflict", "b duplicate"]);

    let c = |n: i32| json!({"id": "c", "scenario": "quick", "params": {"n": n}});
    let answers =
        engine.post("/v1/orders/batch", &json!([c(1), c(1), c(2), b(1), {"id": "d"}])).await.unwrap();
    let words: Vec<_> =
        answers.body.as_array().unwrap().iter().map(|one| one["status"].as_str().unwrap()).collect();
    assert_eq!(words, ["accepted", "duplicate", "conflict", "duplicate", "rejected"], "{answers:?}");

    // Each order ran once, whatever was sent.
    for id in ["b", "c"] {
        engine.reach(id, "success").await;
    }
    let calls = engine.world().calls("/do");
    let mut called = callers(&calls);
    called.sort_unstable();
    assert_eq!(called, ["a", "b", "c"]);
}

#[tokio::test]
async fn ord_3_accepted_is_durable_while_nothing_else_runs() {
    let mut engine = Installation::only("ord_3", &[Role::Intake], &[]).await;
    engine.actions("quick", &call("/do")).await;
    let id = engine.accepted(json!({"id": "a", "scenario": "quick"})).await;
    engine.node(Role::Intake).kill().await.unwrap();
    let intake = engine.env().restart(engine.node(Role::Intake)).await.unwrap();
    assert_eq!(engine.order(&id).await.unwrap()["status"], "new");
    engine.nodes = vec![intake];
    for role in [Role::Dispatcher, Role::Worker] {
        engine.add(role, &format!("{role}-1")).await;
    }
    engine.reach(&id, "success").await;
}

/// ORD-5 among them: the words of a priority, its default, and what is refused.
#[tokio::test]
async fn ord_4_5_6_7_mode_priority_transaction_and_flow_are_kept_and_checked() {
    let engine = Installation::with(
        "ord_4",
        &[("PAGURUS__DISTRIBUTION__FLOWS__ATTRIBUTES", "[scenario, region, params.kind.name]")],
    )
    .await;
    engine.actions("quick", LOG).await;
    let plain = engine.run(json!({"id": "plain", "scenario": "quick"}), "success").await;
    assert_eq!(
        (&plain["mode"], &plain["priority"], &plain["flow"]),
        (&json!("parallel"), &json!("normal"), &json!("quick||"))
    );
    let full = json!({
        "id": "full", "scenario": "quick", "scenarioVersion": 1, "mode": "sequential", "queue": "q 1", "priority": "high",
        "transactionId": "т".repeat(1024), "flow": {"region": 200, "more": "x"}, "params": {"kind": {"name": "big"}},
    });
    let full = engine.run(full, "success").await;
    assert_eq!(
        (&full["mode"], &full["priority"], &full["flow"]),
        (&json!("sequential"), &json!("high"), &json!("quick|200|big"))
    );
    assert_eq!(full["transactionId"], json!("т".repeat(1024)));
    let wrong = [
        ("/queue", json!({"mode": "sequential"})),
        ("/queue", json!({"queue": "q"})),
        ("/mode", json!({"mode": "both"})),
        ("/priority", json!({"priority": "urgent"})),
        ("/transactionId", json!({"transactionId": "x".repeat(1025)})),
        ("/flow", json!({"flow": []})),
        ("/params", json!({"params": [1]})),
        ("/prioritty", json!({"prioritty": "high"})),
    ];
    for (pointer, mut order) in wrong {
        order["id"] = json!("wrong");
        order["scenario"] = json!("quick");
        let answer = engine.submit(&order).await;
        assert_eq!((answer.status, &answer.body["pointer"]), (422, &json!(pointer)), "{order}: {answer:?}");
    }
}

#[tokio::test]
async fn ord_8_9_the_scenario_status_tells_where_an_order_stands() {
    let engine = Installation::start("ord_8").await;
    let states = |target: &str| {
        format!(
            "initialState: start\n{target}states:\n  start:\n    actions:\n      - script: \"if params.end == \\\"good\\\" {{ success() }} else {{ fail() }}\"\n    \
         on: {{success: good, fail: pause}}\n  pause: {{actions: [{{sleep: {{for: 30s}}}}], on: {{sleep: sleeping}}}}\n  \
         sleeping: {{kind: sleeping, on: {{timeout: bad}}}}\n  good: {{kind: terminal}}\n  bad: {{kind: terminal, outcome: fail}}\n"
        )
    };
    engine.scenario("aimed", &states("targetStates: [good]\n")).await;
    engine.scenario("aimless", &states("")).await;
    let cases = [
        ("aimed", "good", "success", "target"),
        ("aimless", "good", "success", "failed"),
        ("aimed", "bad", "sleep", "off_target"),
    ];
    for (scenario, end, status, expected) in cases {
        let id = format!("{scenario}-{end}");
        let order = engine.run(json!({"id": id, "scenario": scenario, "params": {"end": end}}), status).await;
        assert_eq!(order["scenarioStatus"], expected, "{order}");
    }
    engine.scenario("hopeful", &asking("/silent", "1m")).await;
    let order = engine.run(json!({"id": "h", "scenario": "hopeful"}), "wait").await;
    assert_eq!(order["scenarioStatus"], "on_target", "{order}");
    let later =
        json!({"id": "l", "scenario": "aimed", "lifecycle": {"startAt": "2099-01-01T00:00:00+03:00"}});
    let order = engine.run(later, "postponed").await;
    assert_eq!(order["scenarioStatus"], "undefined", "{order}");
    // ORD-9: the mark of the terminal state decides between success and fail.
    engine.world().program(Program::at("/no").fail(1, 400));
    engine.actions("call", &call("/no")).await;
    let order = engine.run(json!({"id": "n", "scenario": "call"}), "fail").await;
    assert_eq!((&order["step"], &order["scenarioStatus"]), (&json!("failed"), &json!("failed")), "{order}");
}

#[tokio::test]
async fn ord_17_past_the_deadline_nothing_is_called_and_the_end_is_reported() {
    let mut engine =
        Installation::only("ord_17", &[Role::Intake, Role::Dispatcher, Role::Activator, Role::Notifier], &[])
            .await;
    engine.actions("quick", &call("/do")).await;
    let amqp = engine.env().amqp().await.unwrap();
    let inbox = amqp.listen(&format!("{}.notifications", engine.env().prefix()), "#").await.unwrap();
    let order = |id: &str, period: i64| {
        json!({
            "id": id, "scenario": "quick", "lifecycle": {"periodToStart": period}, "notify": {"url": "amqp://?key=k"},
        })
    };
    engine.accepted(order("short", 1)).await;
    engine.accepted(order("long", 3600)).await;
    let late = order("sent-long-ago", 60);
    let request = engine.env().http().post(format!("{}/v1/orders", engine.base())).json(&late);
    let request = request.header("request-sent-time", "2020-01-01T00:00:00Z");
    assert_eq!(request.send().await.unwrap().status().as_u16(), 201);
    let future = order("sent-tomorrow", 60);
    let request = engine.env().http().post(format!("{}/v1/orders", engine.base())).json(&future);
    let request = request.header("Crab-Request-Sent-Time", "4070908800000");
    let answer: Value = request.send().await.unwrap().json().await.unwrap();
    assert!(answer["note"].is_string(), "{answer}");
    let clamped = engine.order("sent-tomorrow").await.unwrap();
    let period = at(&clamped, "startDeadline").duration_since(at(&clamped, "createdAt"));
    assert!((59..=61).contains(&period.as_secs()), "{clamped}");
    for id in ["short", "sent-long-ago"] {
        let order = engine.reach(id, "fail").await;
        assert_eq!(order["error"]["class"], "deadline.exceeded", "{order}");
    }
    engine.add(Role::Worker, "worker-1").await;
    for id in ["long", "sent-tomorrow"] {
        engine.reach(id, "success").await;
    }
    let received = inbox.wait(PATIENCE, |all| all.len() == 4).await.unwrap();
    let failed: Vec<_> =
        received.iter().filter(|m| m.body["error"]["class"] == "deadline.exceeded").collect();
    assert_eq!(failed.len(), 2, "{received:?}");
    let calls = engine.world().calls("/do");
    let mut called = callers(&calls);
    called.sort_unstable();
    assert_eq!(called, ["long", "sent-tomorrow"]);
}

#[tokio::test]
async fn ord_25_any_node_tells_log_and_progress_of_an_order_at_any_time() {
    let mut engine = Installation::start("ord_25").await;
    let states = r#"initialState: first
targetStates: [done]
states:
  first:
    actions:
      - log: "hello ${order.id}"
      - script: 'log("from a script")'
      - sleep: {for: 4s}
    on: {sleep: sleeping, fail: failed}
  sleeping: {kind: sleeping, on: {timeout: second}}
  second: {actions: [{log: bye}], on: {success: done}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
"#;
    engine.scenario("talk", states).await;
    let other = engine.add(Role::Intake, "intake-2").await;
    let other = engine.env().api(&other);
    let id = engine.accepted(json!({"id": "a", "scenario": "talk"})).await;
    engine.reach(&id, "sleep").await;
    // Two of its states were visited, and two more are the shortest way to the target.
    let progress = async |api: &Api| api.get("/v1/orders/a/progress").await.unwrap().success().unwrap();
    assert_eq!(progress(&engine).await, json!({"progress": 0.5}));
    // Another node says the same, also while the worker is dead.
    let before = engine.part(&id, "log").await;
    engine.node(Role::Worker).kill().await.unwrap();
    assert_eq!(progress(&other).await, json!({"progress": 0.5}));
    assert_eq!(other.get("/v1/orders/a/log").await.unwrap().success().unwrap(), before);
    engine.restart(Role::Worker).await;
    engine.reach(&id, "success").await;
    assert_eq!(progress(&other).await, json!({"progress": 1.0}));
    engine.actions("fails", "- script: 'fail(\"no luck\", \"shop.closed\")'").await;
    engine.run(json!({"id": "b", "scenario": "fails"}), "fail").await;
    assert_eq!(
        engine.part("b", "progress").await,
        json!({"progress": 1.0}),
        "what has ended is through, however"
    );
    let log = engine.part(&id, "log").await;
    let log = log.as_array().unwrap();
    for words in ["hello a", "from a script", "bye"] {
        assert!(log.iter().any(|line| line["text"].as_str().unwrap().contains(words)), "{words}: {log:?}");
    }
    for (index, line) in log.iter().enumerate() {
        assert_eq!(line["line"], json!(index + 1));
    }
    let page = engine.part(&id, "log?fromLine=2&size=2").await;
    assert_eq!(page, json!([log[1], log[2]]));
    let last = engine.part(&id, &format!("log?fromLine={}", log.len())).await;
    assert_eq!(last, json!([log[log.len() - 1]]));
    assert_eq!(
        engine.part(&id, &format!("log?fromLine={}", log.len() + 1)).await,
        json!([]),
        "and then nothing"
    );
}

#[tokio::test]
async fn ord_28_29_an_order_that_does_not_run_is_explained() {
    let engine = Installation::only("ord_28", &[Role::Intake, Role::Dispatcher, Role::Activator], &[]).await;
    engine.actions("quick", &call("/do")).await;
    let queued = |id: &str| json!({"id": id, "scenario": "quick", "mode": "sequential", "queue": "Q"});
    engine.accepted(queued("head")).await;
    engine.accepted(queued("second")).await;
    engine.accepted(queued("third")).await;
    engine
        .accepted(
            json!({"id": "later", "scenario": "quick", "lifecycle": {"startAt": "2099-01-01T00:00:00Z"}}),
        )
        .await;
    let cases = [
        ("head", "no worker is alive"),
        ("third", "number 3 in queue `Q`, where order `head` is next"),
        ("later", "2099-01-01"),
    ];
    for (id, words) in cases {
        let explained = engine.part(id, "explain").await;
        assert!(explained["explanation"].as_str().unwrap().contains(words), "{explained}");
    }
    // ORD-29: what is due keeps its status until a worker claims it, and shows since when it is due.
    engine.accepted(json!({"id": "soon", "scenario": "quick", "lifecycle": {"startAt": jiff::Timestamp::now().checked_add(Duration::from_millis(300)).unwrap().to_string()}})).await;
    crate::installation::until("`soon` is due", PATIENCE, async || {
        engine.order("soon").await.unwrap()["readySince"].is_string()
    })
    .await;
    assert_eq!(engine.order("soon").await.unwrap()["status"], "postponed");
    let explained = engine.part("soon", "explain").await;
    assert!(explained["explanation"].as_str().unwrap().contains("ready since"), "{explained}");
}
