//! The log of the services about orders (ORD-6).

use std::path::Path;

use pagurus_harness::nodes::Role;
use serde_json::{Value, json};

use crate::installation::{Installation, PATIENCE, call, until};

const RESTS: &str = "initialState: rest\ntargetStates: [done]\nstates:\n  rest:\n    actions: [{sleep: {for: 100ms}}]\n    \
    on: {sleep: sleeps}\n  sleeps: {kind: sleeping, on: {timeout: done}}\n  done: {kind: terminal}\n";

/// Lines about orders in a file of log lines.
fn lines_in(log: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(|line| line["target"] == "log.orders").collect()
}

fn says<'l>(lines: &'l [Value], order: &str, message: &str) -> Option<&'l Value> {
    lines.iter().find(|line| line["order"] == order && line["message"] == message)
}

#[tokio::test]
async fn ord_6_each_service_names_the_order_and_its_business_transaction() {
    let settings = [
        ("PAGURUS__LOG__FORMAT", "json"),
        ("PAGURUS__LOG__ORDERS", "debug"),
        ("PAGURUS__NOTIFY__ALLOW", "[{url: 'http://127.0.0.1:*', secret: hooks}]"),
        ("PAGURUS_SECRET_HOOKS", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
    ];
    let engine = Installation::with("ord_6_services", &settings).await;
    engine.scenario("rests", RESTS).await;
    let notify = json!({"url": format!("{}/end", engine.world().url())});
    let order = json!({"id": "o-1", "scenario": "rests", "transactionId": "t-1", "notify": notify});
    engine.run(order, "success").await;
    engine.accepted(json!({"id": "o-2", "scenario": "rests", "transactionId": "t-2", "lifecycle": {"startAt": "2100-01-01T00:00:00Z"}})).await;
    engine.act("o-2", "cancel", &json!({"reason": "no"})).await.success().unwrap();
    for (role, order, wanted) in [
        (Role::Intake, "o-1", "an order was registered"),
        (Role::Activator, "o-1", "an order was woken"),
        (Role::Worker, "o-1", "a stage has ended"),
        (Role::Worker, "o-1", "an order has ended"),
        (Role::Notifier, "o-1", "a notification was delivered"),
        (Role::Intake, "o-2", "an order has ended"),
    ] {
        let log = engine.node(role).spec.log.clone();
        until(wanted, PATIENCE, async || {
            let lines = lines_in(&log);
            says(&lines, order, wanted).is_some_and(|line| line["transaction"] == order.replace('o', "t"))
        })
        .await;
    }
    let lines = lines_in(&engine.node(Role::Worker).spec.log);
    let stages: Vec<&Value> = lines.iter().filter(|line| line["message"] == "a stage has ended").collect();
    let events: Vec<&Value> = stages.iter().map(|line| &line["event"]).collect();
    assert_eq!((events, stages.len()), (vec![&json!("sleep"), &json!("timeout")], 2));
    assert!(
        stages.iter().all(|line| line["ms"].is_u64() && line["retries"] == 0 && line["scenario"] == "rests")
    );
    let end = says(&lines, "o-1", "an order has ended").unwrap();
    assert_eq!((&end["status"], &end["stages"], &end["life"]), (&json!("success"), &json!(2), &json!(1)));
    assert!(end["ms"].as_u64().unwrap() >= 100, "the life lasted as long as its sleep: {end}");

    // Also of those that the engine makes by itself.
    engine.actions("starts", "- order: {scenario: rests, wait: false}").await;
    engine.run(json!({"id": "o-3", "scenario": "starts", "transactionId": "t-3"}), "success").await;
    let ticks = json!({"every": "1s", "order": {"scenario": "rests", "transactionId": "t-4"}});
    let put = engine.env().http().put(format!("{}/v1/schedules/ticks", engine.base())).json(&ticks);
    assert!(put.send().await.unwrap().status().is_success());
    for (role, transaction) in [(Role::Worker, "t-3"), (Role::Activator, "t-4")] {
        let log = engine.node(role).spec.log.clone();
        until("it is registered, and its line says so", PATIENCE, async || {
            let of_it = |line: &Value| {
                line["message"] == "an order was registered"
                    && line["transaction"] == transaction
                    && line["scenario"] == "rests"
            };
            lines_in(&log).iter().any(of_it)
        })
        .await;
    }
}

#[tokio::test]
async fn ord_6_lines_about_orders_go_to_a_file_of_their_own_are_sampled_and_turned_off() {
    let file = std::env::temp_dir().join(format!("pagurus-orders-{}.log", uuid::Uuid::new_v4()));
    let settings = [
        ("PAGURUS__LOG__FORMAT", "json"),
        ("PAGURUS__LOG__ORDERS_FILE", file.to_str().unwrap()),
        ("PAGURUS__LOG__ORDERS_SAMPLE_PERCENTAGE", "30"),
    ];
    let engine = Installation::with("ord_6_file", &settings).await;
    engine.actions("one", &call("/do")).await;
    let all = 60;
    for number in 0..all {
        engine.accepted(json!({"id": format!("o-{number}"), "scenario": "one"})).await;
    }
    for number in 0..all {
        engine.reach(&format!("o-{number}"), "success").await;
    }
    // All services write into one file, whole lines, and of some orders everything and of others nothing.
    let mut complete = 0;
    until("each sampled order has all its lines", PATIENCE, async || {
        let lines = lines_in(&file);
        let has = |number: i32| {
            let id = format!("o-{number}");
            let messages = ["an order was registered", "a stage has ended", "an order has ended"];
            messages.map(|message| says(&lines, &id, message).is_some())
        };
        complete = (0..all).filter(|number| has(*number) == [true; 3]).count();
        (0..all).all(|number| has(number) == [true; 3] || has(number) == [false; 3]) && complete > 0
    })
    .await;
    assert!(complete < usize::try_from(all).unwrap(), "{complete} of {all} orders have lines");
    for role in [Role::Intake, Role::Worker, Role::Notifier] {
        assert!(lines_in(&engine.node(role).spec.log).is_empty(), "{role:?} writes them to one place only");
    }

    std::fs::remove_file(&file).unwrap();
    let off =
        Installation::with("ord_6_off", &[("PAGURUS__LOG__FORMAT", "json"), ("PAGURUS__LOG__ORDERS", "off")])
            .await;
    off.actions("one", &call("/do")).await;
    off.run(json!({"id": "silent", "scenario": "one"}), "success").await;
    for role in [Role::Intake, Role::Worker] {
        assert!(lines_in(&off.node(role).spec.log).is_empty());
    }
}

#[tokio::test]
async fn qlt_9_no_text_of_an_outsider_starts_a_line_of_a_log_in_text_form_or_controls_a_terminal() {
    const TEXT: &str = "t\nforged line\r\u{1b}[31mred\u{1b}[0m\u{7}\u{85}\u{9b}2J";
    let settings = [("PAGURUS__LOG__FORMAT", "text")];
    let engine = Installation::with("log_text", &settings).await;
    engine
        .actions("fails", "- log: \"${params.text}\"\n- script: 'fail(params.text, \"shop.closed\")'")
        .await;
    let order = json!({"id": "a", "scenario": "fails", "transactionId": TEXT, "params": {"text": TEXT}});
    engine.run(order, "fail").await;
    engine.act("a", "restart", &json!({"reason": TEXT})).await;
    engine.reach("a", "fail").await;
    engine.post("/v1/session", &json!({"name": TEXT, "password": TEXT})).await.unwrap();
    engine.submit(&json!({"id": "b", "scenario": TEXT})).await;
    let client = engine.env().amqp().await.unwrap();
    let exchange = format!("{}.orders", engine.env().prefix());
    let named = lapin::BasicProperties::default()
        .with_message_id("m\nforged \u{1b}[31m".into())
        .with_correlation_id("c\nforged \u{1b}[31m".into())
        .with_reply_to("r\nforged \u{1b}[31m".into());
    client.publish(&exchange, "order.x\nforged \u{1b}[31m", TEXT.as_bytes(), &named).await.unwrap();
    crate::refused::listed(&engine, 1).await;
    for node in &engine.nodes {
        let log = std::fs::read_to_string(&node.spec.log).unwrap();
        for line in log.lines() {
            // A line starts with its time.
            assert!(line.starts_with("20"), "{}: {line:?}", node.spec.role);
            let controls = line.chars().any(|sign| sign.is_control() && sign != '\t');
            assert!(!controls, "{}: {line:?}", node.spec.role);
        }
    }
}
