//! Called systems with a state of their own.

use std::time::{Duration, Instant};

use lapin::BasicProperties;
use lapin::types::{AMQPValue, FieldTable};
use pagurus_harness::world::program::{Program, Step, Then};
use serde_json::json;

use super::{explained, reason};
use crate::installation::{Installation, PATIENCE, asking, call, until};

#[tokio::test]
async fn dsp_16_a_system_that_asks_to_be_left_alone_is_left_alone_by_all_and_nobody_loses_an_attempt() {
    let engine = Installation::start("dsp_16").await;
    let headers = vec![("retry-after".to_owned(), "10".to_owned())];
    let later = Step { then: Then::Answer { status: 429, headers, body: json!({}) }, ..Step::fine() };
    engine.world().program(Program::at("/limited").first(1, &later));
    engine.actions("limited", &call("/limited")).await;
    // A first action elsewhere, so that the closed system is met in the middle of a stage.
    engine.actions("middle", &format!("{}\n{}", call("/elsewhere"), call("/limited"))).await;
    let first = engine.run(json!({"id": "first", "scenario": "limited"}), "fail").await;
    assert_eq!(first["status"], "fail", "no rule retries it");
    for n in 0..10 {
        let scenario = if n % 2 == 0 { "limited" } else { "middle" };
        engine.accepted(json!({"id": format!("o{n}"), "scenario": scenario})).await;
    }
    until("those that came to it in the middle are explained", PATIENCE, async || {
        let text = explained(&engine, "o1").await;
        assert!(!text.contains("a call from outside"), "{text}");
        text.starts_with("it is held in state `") && text.contains(" before it calls the system `")
    })
    .await;
    until("the cause is shown", PATIENCE, async || {
        let text = explained(&engine, "o1").await;
        text.contains("(it asked to be called again after 10 s): a few orders try it from 2")
    })
    .await;
    for n in 0..10 {
        let order = engine.reach(&format!("o{n}"), "success").await;
        assert_eq!(order["retries"].as_i64().unwrap_or(0), 0, "{order}");
    }
    let calls = engine.world().calls("/limited");
    let left_alone = calls[1].started - calls[0].started;
    assert!(left_alone >= Duration::from_secs(10), "it is called before its time: after {left_alone:?}");
    assert_eq!(engine.world().calls("/elsewhere").len(), 5, "what was done is not done again");
}

#[tokio::test]
async fn dsp_16_orders_that_do_not_call_a_closed_system_go_on_beside_one_that_does() {
    let named = "systems: {named: [{name: rare, path: /rare}]}\n";
    let engine = Installation::configured("dsp_16_rare", named).await;
    let headers = vec![("retry-after".to_owned(), "600".to_owned())];
    let later = Step { then: Then::Answer { status: 429, headers, body: json!({}) }, ..Step::fine() };
    engine.world().program(Program::at("/rare").first(1, &later));
    let rarely = "choose: [{when: 'params.rare', actions: [{http: {url: \"${config.demo}/rare\"}}]}]";
    engine.actions("mixed", &format!("- {rarely}\n{}", call("/often"))).await;
    let order = |id: String, rare: bool| json!({"id": id, "scenario": "mixed", "params": {"rare": rare}});
    engine.run(order("closes".to_owned(), true), "fail").await;
    engine.accepted(order("held".to_owned(), true)).await;
    engine.reach("held", "wait").await;
    for n in 0..5 {
        engine.accepted(order(format!("o{n}"), false)).await;
    }
    for n in 0..5 {
        engine.reach(&format!("o{n}"), "success").await;
    }
    assert_eq!(engine.world().calls("/rare").len(), 1, "the system is left alone all the while");
    assert_eq!(reason(&engine, "held").await, "system");
    until("the flow is shown as open", PATIENCE, async || {
        engine.get("/v1/flows/mixed").await.unwrap().body["state"] == "enabled"
    })
    .await;
}

#[tokio::test]
async fn dsp_16_a_callback_over_http_or_amqp_closes_its_system_for_all_and_nobody_loses_an_attempt() {
    let engine = Installation::start("dsp_16_callback").await;
    engine.scenario("asks", &asking("/slow", "10m")).await;
    engine.actions("limited", &call("/limited")).await;
    let amqp = engine.env().amqp().await.unwrap();
    for (round, over) in ["http", "amqp"].into_iter().enumerate() {
        let first = format!("first-{over}");
        engine.accepted(json!({"id": first, "scenario": "asks"})).await;
        engine.reach(&first, "wait").await;
        let url = engine.calls("/slow", round + 1).await[round].headers["x-callback-url"].clone();
        let begun = Instant::now();
        if over == "http" {
            let callback =
                engine.env().http().post(&url).header("Retry-After", "3").json(&json!({"code": 0}));
            assert_eq!(callback.send().await.unwrap().status().as_u16(), 200);
        } else {
            let mut headers = FieldTable::default();
            headers.insert("Retry-After".into(), AMQPValue::LongInt(3));
            let request = url.rsplit('/').next().unwrap();
            let properties =
                BasicProperties::default().with_correlation_id(request.into()).with_headers(headers);
            let exchange = format!("{}.callbacks", engine.env().prefix());
            amqp.publish(&exchange, "answer", b"{\"code\": 0}", &properties).await.unwrap();
        }
        // Its own next call is held as well, in the stage that took the answer.
        until("the order has its answer", PATIENCE, async || {
            engine.order(&first).await.unwrap()["step"] == "after"
        })
        .await;
        let called = engine.world().calls("/limited").len();
        for n in 0..5 {
            engine.accepted(json!({"id": format!("{over}-{n}"), "scenario": "limited"})).await;
        }
        engine.reach(&first, "success").await;
        for n in 0..5 {
            let order = engine.reach(&format!("{over}-{n}"), "success").await;
            assert_eq!(order["retries"].as_i64().unwrap_or(0), 0, "{order}");
        }
        let own = &engine.world().calls("/after")[round];
        for call in engine.world().calls("/limited")[called..].iter().chain([own]) {
            let left_alone = call.started - begun;
            assert!(left_alone >= Duration::from_secs(3), "{over}: {} after {left_alone:?}", call.path);
        }
    }
}

#[tokio::test]
async fn dsp_16_an_operator_keeps_a_system_stopped_and_releases_it() {
    let engine = Installation::configured(
        "dsp_16_order",
        "systems: {named: [{name: billing, path: '/billing/**'}]}\n",
    )
    .await;
    engine.actions("bills", &call("/billing/pay")).await;
    engine.actions("middle", &format!("{}\n{}", call("/elsewhere"), call("/billing/pay"))).await;
    // A flow stands still for a system that most of its stages are known to call.
    for n in 0..12 {
        engine.run(json!({"id": format!("before-{n}"), "scenario": "bills"}), "success").await;
    }
    until("the system is known", PATIENCE, async || {
        engine.get("/v1/systems/billing").await.unwrap().body["state"] == "healthy"
    })
    .await;
    let stopped = engine.post("/v1/systems/billing/stop", &json!({"reason": "works"})).await.unwrap();
    assert_eq!(stopped.success().unwrap()["confirmed"], true);
    engine.accepted(json!({"id": "held", "scenario": "bills"})).await;
    until("the system is shown as stopped", PATIENCE, async || {
        engine.get("/v1/systems/billing").await.unwrap().body["state"] == "stopped"
    })
    .await;
    // One that is ready, and one that comes to the system in the middle of its stage, know the same cause.
    engine.accepted(json!({"id": "middle", "scenario": "middle"})).await;
    engine.reach("middle", "wait").await;
    let shown = engine.get("/v1/systems/billing").await.unwrap().success().unwrap();
    let cause = format!(
        "the system `billing`, which an operator stopped at {}: works (`pagurus systems clear billing` ends this)",
        shown["order"]["from"].as_str().unwrap()
    );
    let text = explained(&engine, "middle").await;
    assert!(text.starts_with("it is held in state `") && text.contains(&cause), "{text}");
    assert_eq!(reason(&engine, "middle").await, "system");
    until("the ready one tells it", PATIENCE, async || {
        let text = explained(&engine, "held").await;
        text.contains("its flow `bills` calls") && text.contains(&cause)
    })
    .await;
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(engine.world().calls("/billing/pay").len(), 12);
    let shown = engine.get("/v1/systems").await.unwrap().success().unwrap();
    let billing = shown["items"].as_array().unwrap().iter().find(|one| one["system"] == "billing").unwrap();
    assert_eq!(billing["order"]["order"], "keep_stopped", "{shown}");
    engine.post("/v1/systems/billing/clear", &json!({})).await.unwrap().success().unwrap();
    engine.reach("held", "success").await;
    engine.reach("middle", "success").await;
}

#[tokio::test]
async fn dsp_16_a_system_that_hangs_is_stopped_long_before_its_calls_time_out() {
    let engine = Installation::start("dsp_16_hangs").await;
    let call = "- http: {method: POST, url: \"${config.demo}/hangs\", timeout: 2m}";
    engine.actions("hangs", call).await;
    // The workers know a system after 50 answers.
    for n in 0..60 {
        engine.accepted(json!({"id": format!("well-{n}"), "scenario": "hangs"})).await;
    }
    for n in 0..60 {
        engine.reach(&format!("well-{n}"), "success").await;
    }
    let (release, hold) = tokio::sync::watch::channel(false);
    let hangs = Step { hold: Some(hold), ..Step::fine() };
    engine.world().program(Program::at("/hangs").then(hangs));
    let known = engine.world().calls("/hangs").len();
    for n in 0..6 {
        engine.accepted(json!({"id": format!("hangs-{n}"), "scenario": "hangs"})).await;
    }
    until("the flow is stopped", PATIENCE, async || {
        let flow = engine.get("/v1/flows/hangs").await.unwrap().body;
        matches!(flow["state"].as_str(), Some("stopped" | "probing"))
    })
    .await;
    let order = engine.order("hangs-0").await.unwrap();
    assert_eq!(order["status"], "running", "no call has timed out: {order}");
    // Further orders wait, but for a few probes.
    for n in 0..40 {
        engine.accepted(json!({"id": format!("waits-{n}"), "scenario": "hangs"})).await;
    }
    tokio::time::sleep(Duration::from_secs(3)).await;
    let called = engine.world().calls("/hangs").len() - known;
    assert!(called <= 6 + 16, "{called} calls of a system that hangs");
    // The system answers after all: no order was lost, and no attempt.
    release.send(true).unwrap();
    for name in (0..6).map(|n| format!("hangs-{n}")).chain((0..40).map(|n| format!("waits-{n}"))) {
        let order = engine.reach(&name, "success").await;
        assert_eq!(order["retries"].as_i64().unwrap_or(0), 0, "{order}");
    }
}
