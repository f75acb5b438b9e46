//! Where the time of an order goes: each reason as it is lived through, with real waits, calls and stops.

use pagurus_harness::world::program::{CallBack, Program, Step};
use serde_json::{Value, json};

use super::{resume, stop};
use crate::installation::{Installation, PATIENCE, until};

async fn ledger(engine: &Installation, id: &str) -> Value {
    engine.part(id, "ledger").await
}

/// Milliseconds of an order by reason; what does not add up ends the test.
fn shares(ledger: &Value) -> std::collections::BTreeMap<String, i64> {
    let mut sums = std::collections::BTreeMap::new();
    for share in ledger["shares"].as_array().unwrap() {
        *sums.entry(share["reason"].as_str().unwrap().to_owned()).or_default() +=
            share["ms"].as_i64().unwrap();
    }
    let total = ledger["totalMs"].as_i64().unwrap();
    assert_eq!(sums.values().sum::<i64>(), total, "{ledger}");
    let share: f64 =
        ledger["shares"].as_array().unwrap().iter().map(|one| one["share"].as_f64().unwrap()).sum();
    assert!(total == 0 || (share - 1.0).abs() < 1e-9, "{ledger}");
    let spans = ledger["spans"].as_array().unwrap();
    let mut at = ledger["from"].clone();
    for span in spans {
        assert_eq!(span["from"], at, "a gap or an overlap: {ledger}");
        at = span["until"].clone();
    }
    assert_eq!(at, ledger["until"], "{ledger}");
    sums
}

/// Sums of the ledgers of many orders; what does not add up ends the test.
async fn sums(engine: &Installation, query: &str) -> Value {
    let answer = engine.get(&format!("/v1/ledger?{query}")).await.unwrap().success().unwrap();
    let parts = [&answer].into_iter().chain(answer["groups"].as_array().unwrap());
    for part in parts {
        let total: i64 =
            part["shares"].as_array().unwrap().iter().map(|share| share["ms"].as_i64().unwrap()).sum();
        assert_eq!(total, part["totalMs"].as_i64().unwrap(), "{answer}");
    }
    answer
}

const LONG: &str = "initialState: ask
targetStates: [done]
states:
  ask:
    actions:
      - http: {method: POST, url: '${config.demo}/slow'}
      - http: {method: POST, url: '${config.demo}/ask', headers: {X-Callback-Url: '${request.url}'}, request: answer}
      - wait: {timeout: 1m}
    on: {wait: asked, fail: failed}
  asked: {kind: waiting, on: {callback: rest, timeout: failed}}
  rest: {actions: [{sleep: {for: 400ms}}], on: {sleep: resting}}
  resting: {kind: sleeping, on: {timeout: done}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
";

#[tokio::test]
async fn ord_32_calls_callbacks_and_sleeps_have_their_own_share_and_add_up() {
    let engine = Installation::start("ord_32").await;
    let mut slow = Step::answer(200, json!({}));
    slow.delay = std::time::Duration::from_millis(300);
    engine.world().program(Program::at("/slow").decided_by(move |_| slow.clone()));
    engine.world().program(Program::at("/ask").decided_by(|_| {
        let mut step = Step::answer(202, json!({}));
        step.callback = Some(CallBack::with(json!({})).after(std::time::Duration::from_millis(500)));
        step
    }));
    engine.scenario("long", LONG).await;
    engine.run(json!({"id": "a", "scenario": "long"}), "success").await;
    let whole = ledger(&engine, "a").await;
    let sums = shares(&whole);
    // Each end of a span is cut to a millisecond; a rest counts from when it is written, and ends when it was decided to.
    assert!(sums["call"] >= 299 && sums["sleep"] >= 200, "{whole}");
    let waits = whole["shares"].as_array().unwrap().iter().find(|one| one["reason"] == "wait").unwrap();
    assert_eq!(waits["detail"], "answer", "{whole}");
    assert!(waits["ms"].as_i64().unwrap() >= 300, "{whole}");
    // Whatever happens after its end is not its time.
    assert_eq!(ledger(&engine, "a").await, whole);
    assert_eq!(engine.get("/v1/orders/nobody/ledger").await.unwrap().status, 404);
}

#[tokio::test]
async fn ord_32_a_stop_and_a_start_time_have_their_share_while_they_last() {
    let engine = Installation::start("ord_32_now").await;
    engine.actions("held", "- script: 'result(1)'").await;
    stop(&engine, "held", json!({})).await;
    engine.accepted(json!({"id": "first", "scenario": "held", "mode": "sequential", "queue": "q"})).await;
    until("the stop has its part", PATIENCE, async || {
        shares(&ledger(&engine, "first").await).get("flow_stopped").is_some_and(|ms| *ms > 200)
    })
    .await;
    let later = json!({"id": "later", "scenario": "held", "lifecycle": {"startAt": "2200-01-01T00:00:00Z"}});
    engine.accepted(later).await;
    let postponed = ledger(&engine, "later").await;
    assert_eq!(shares(&postponed).into_keys().collect::<Vec<_>>(), ["postponed"], "{postponed}");
    engine.accepted(json!({"id": "given-up", "scenario": "held"})).await;
    engine.reach("given-up", "new").await;
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    assert_eq!(engine.post("/v1/orders/given-up/cancel", &json!({})).await.unwrap().status, 200);
    let whole = ledger(&engine, "given-up").await;
    assert_eq!(
        shares(&whole).into_keys().collect::<Vec<_>>(),
        ["flow_stopped"],
        "its end changes nothing: {whole}"
    );
    resume(&engine, json!({"keyword": "held"})).await;
    engine.reach("first", "success").await;
    let whole = ledger(&engine, "first").await;
    assert!(shares(&whole)["flow_stopped"] > 200, "{whole}");
}

// UI-4: what is summed takes the same selection as a list.
#[tokio::test]
async fn ord_32_ui_4_the_time_of_a_flow_or_a_scenario_is_that_of_its_orders_together() {
    let engine = Installation::start("ord_32_sums").await;
    engine.world().program(Program::at("/slow").decided_by(|_| Step::answer(200, json!({}))));
    let pause = "initialState: ask
targetStates: [done]
states:
  ask:
    actions: [{http: {method: POST, url: '${config.demo}/slow'}}, {sleep: {for: 300ms}}]
    on: {sleep: resting, fail: failed}
  resting: {kind: sleeping, on: {timeout: done}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
";
    engine.scenario("pause", pause).await;
    engine.actions("held", "- script: 'result(1)'").await;
    let mut alone = std::collections::BTreeMap::new();
    for number in 0..6 {
        let id = format!("p-{number}");
        let labels = json!({"half": if number < 3 { "first" } else { "second" }});
        engine.run(json!({"id": id, "scenario": "pause", "labels": labels}), "success").await;
        for (reason, ms) in shares(&ledger(&engine, &id).await) {
            *alone.entry(reason).or_insert(0) += ms;
        }
    }
    stop(&engine, "held", json!({})).await;
    engine.accepted(json!({"id": "h", "scenario": "held"})).await;

    let together = sums(&engine, "scenario=pause").await;
    assert_eq!(
        (&together["orders"], &together["summed"], &together["complete"]),
        (&json!(6), &json!(6), &json!(true))
    );
    let mut by_reason = std::collections::BTreeMap::new();
    for share in together["shares"].as_array().unwrap() {
        *by_reason.entry(share["reason"].as_str().unwrap().to_owned()).or_insert(0) +=
            share["ms"].as_i64().unwrap();
    }
    assert_eq!(by_reason, alone, "{together}");
    let call = together["shares"].as_array().unwrap().iter().find(|share| share["reason"] == "call");
    assert!(call.is_none_or(|share| share["detail"].as_str().unwrap().contains("/slow")), "{together}");

    // Conditions of lists hold here, too; a sample says that it is one; what is over before the range does not count.
    assert_eq!(sums(&engine, "labels.half=first&scenario=pause").await["orders"], 3);
    let sample = sums(&engine, "flow=pause&sample=2").await;
    assert_eq!((&sample["orders"], &sample["summed"]), (&json!(6), &json!(2)), "{sample}");
    let before = sums(&engine, "from=3h&until=2h&by=flow").await;
    assert_eq!((&before["orders"], &before["totalMs"]), (&json!(0), &json!(0)), "{before}");

    // The one that is held back has its time, too, and it grows.
    until("the stop has its part", PATIENCE, async || {
        let grouped = sums(&engine, "by=scenario").await;
        let groups = grouped["groups"].as_array().unwrap();
        let of = |key: &str| groups.iter().find(|group| group["key"] == key).map(|group| &group["shares"][0]);
        of("pause").is_some_and(|share| share["reason"] == "sleep")
            && of("held")
                .is_some_and(|share| share["reason"] == "flow_stopped" && share["ms"].as_i64() > Some(200))
    })
    .await;
    for (query, pointer) in [
        ("by=state", "/by"),
        ("from=soon", "/from"),
        ("from=1h&until=2h", "/from"),
        ("sample=0", "/sample"),
        ("params.x=1&createdSince=1h", "/params"),
    ] {
        let refused = engine.get(&format!("/v1/ledger?{query}")).await.unwrap();
        assert_eq!(
            (refused.status, &refused.body["pointer"]),
            (422, &json!(pointer)),
            "{query}: {refused:?}"
        );
    }
    assert_eq!(engine.get("/v1/ledger?scenari=pause").await.unwrap().status, 422);
}

#[tokio::test]
async fn ord_32_a_killed_stage_and_the_queue_after_a_sleep_have_their_share() {
    let engine = Installation::start("ord_32_ends").await;
    engine.world().program(Program::at("/never").hang(9));
    let asks = "- http: {method: POST, url: '${config.demo}/never', timeout: 60s}";
    engine.actions("asks", asks).await;
    engine.accepted(json!({"id": "hangs", "scenario": "asks"})).await;
    engine.reach("hangs", "running").await;
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert_eq!(engine.post("/v1/orders/hangs/kill", &json!({})).await.unwrap().status, 200);
    engine.reach("hangs", "canceled").await;
    let whole = ledger(&engine, "hangs").await;
    assert!(shares(&whole)["work"] >= 300 && !shares(&whole).contains_key("postponed"), "{whole}");

    let naps = "initialState: nap
targetStates: [done]
states:
  nap: {entryPoint: true, actions: [{sleep: {for: 3s}}], on: {sleep: asleep}}
  asleep: {kind: sleeping, on: {timeout: done}}
  done: {kind: terminal}
";
    engine.scenario("naps", naps).await;
    engine.accepted(json!({"id": "sleeper", "scenario": "naps", "mode": "sequential", "queue": "q"})).await;
    engine.reach("sleeper", "sleep").await;
    // It has left the queue, and wakes behind this one.
    engine.accepted(json!({"id": "holder", "scenario": "asks", "mode": "sequential", "queue": "q"})).await;
    engine.reach("holder", "running").await;
    until("it stands behind the holder", PATIENCE, async || {
        shares(&ledger(&engine, "sleeper").await).get("queue").is_some_and(|ms| *ms > 300)
    })
    .await;
    assert_eq!(engine.post("/v1/orders/holder/kill", &json!({})).await.unwrap().status, 200);
    engine.reach("sleeper", "success").await;
    let whole = ledger(&engine, "sleeper").await;
    assert!(shares(&whole)["queue"] > 300, "{whole}");
}
