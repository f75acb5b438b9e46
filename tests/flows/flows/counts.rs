//! Counts of the dispatcher beside the rows (INV-36): whatever ends a wait, they are equal two seconds later, and no flow
//! stands still by them.
//!
//! `PAGURUS_TEST_MOVES=NUMBER` plays another number of random moves; a failure names the seed.

use std::time::Duration;

use pagurus_harness::client::Answer;
use pagurus_harness::nodes::Role;
use pagurus_harness::world::program::Program;
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};

use super::{resume, stop};
use crate::installation::{Installation, PATIENCE, until};

/// Moves that are played where no other number is asked for.
const MOVES: usize = 120;
/// Orders that wait at a time.
const WAITING: usize = 30;
/// Time after which counts are right: two seconds after a change, and more on a busy machine.
const RIGHT_AFTER: Duration = Duration::from_secs(10);

/// Asks `/silent`, which never answers; `time` bounds the process, `wait` the wait.
fn silent(time: &str, wait: &str) -> String {
    format!(
        r#"initialState: ask
timeouts: {{process: {time}}}
states:
  ask:
    entryPoint: true
    actions:
      - http:
          method: POST
          url: "${{config.demo}}/silent"
          headers: {{X-Callback-Url: "${{request.url}}"}}
          body: {{order: "${{order.id}}"}}
          timeout: 5s
          request: answer
      - wait: {{timeout: {wait}}}
    on: {{wait: asked, fail: failed}}
  asked:
    kind: waiting
    on: {{callback: done, timeout: failed, call:give-up: failed, call:again: ask}}
  done: {{kind: terminal}}
  failed: {{kind: terminal, outcome: fail}}
"#
    )
}

/// Requests of the flow that are waited for, by the rows and by the dispatcher.
async fn both(engine: &Installation, database: &tokio_postgres::Client, flow: &str) -> (i64, i64) {
    let rows = "SELECT count(*) FROM due d JOIN orders o ON o.no = d.order_no
                  JOIN requests r ON r.order_no = d.order_no AND r.status = 'open' AND r.awaited
                 WHERE o.flow = $1 AND o.status = 'wait'";
    let rows = database.query_one(rows, &[&flow]).await.unwrap().get(0);
    let known = engine.get(&format!("/v1/flows/{flow}")).await.unwrap();
    (rows, known.body["openRequests"].as_i64().unwrap_or_default())
}

async fn equal(engine: &Installation, database: &tokio_postgres::Client, flow: &str) -> i64 {
    let what = format!("the dispatcher knows what `{flow}` has open");
    until(&what, RIGHT_AFTER, async || {
        let (rows, known) = both(engine, database, flow).await;
        rows == known
    })
    .await;
    both(engine, database, flow).await.0
}

#[tokio::test]
async fn dsp_7_a_flow_goes_on_after_its_waits_were_killed_and_it_was_stopped_and_resumed() {
    for mode in ["simple", "stopped_flows", "limited_flows"] {
        let settings = [("PAGURUS__DISTRIBUTION__MODE", mode)];
        let engine = Installation::with(&format!("dsp_7_killed_{mode}"), &settings).await;
        engine.world().program(Program::at("/silent"));
        engine.scenario("asks", &silent("1h", "20m")).await;
        let database = engine.database().await;
        for n in 0..8 {
            engine.run(json!({"id": format!("k{n}"), "scenario": "asks"}), "wait").await;
        }
        assert_eq!(equal(&engine, &database, "asks").await, 8);
        for n in 0..8 {
            assert_eq!(engine.act(&format!("k{n}"), "kill", &json!({"reason": "r"})).await.status, 200);
        }
        assert_eq!(equal(&engine, &database, "asks").await, 0, "{mode}");
        stop(&engine, "asks", json!({})).await;
        resume(&engine, json!({"keyword": "asks"})).await;
        for n in 0..12 {
            engine.run(json!({"id": format!("s{n}"), "scenario": "asks"}), "wait").await;
        }
        // Requests that nobody answers for long throttle nothing, not even right after a stop.
        stop(&engine, "asks", json!({})).await;
        resume(&engine, json!({"keyword": "asks"})).await;
        for n in 12..17 {
            engine.run(json!({"id": format!("s{n}"), "scenario": "asks"}), "wait").await;
        }
        assert_eq!(equal(&engine, &database, "asks").await, 17, "{mode}");
    }
}

#[tokio::test]
async fn inv_36_counts_are_those_of_the_rows_whatever_ends_a_wait() {
    let seed: u64 = rand::random();
    println!("seed {seed}");
    let mut chance = SmallRng::seed_from_u64(seed);
    let moves =
        std::env::var("PAGURUS_TEST_MOVES").ok().map_or(MOVES, |moves| moves.parse().expect("a number"));
    // Requests that nobody answers hold a limit for so long only.
    let within = ("PAGURUS__DISTRIBUTION__FLOWS__LIMITS__OPEN_REQUESTS_WITHIN", "2s");
    let settings = [("PAGURUS__DISTRIBUTION__MODE", "limited_flows"), within];
    let mut engine = Installation::with("inv_36", &settings).await;
    engine.add(Role::Dispatcher, "dispatcher-2").await;
    engine.world().program(Program::at("/silent"));
    for (scenario, time, wait) in [("long", "1h", "20m"), ("short", "2s", "20m"), ("brief", "1h", "1s")] {
        engine.scenario(scenario, &silent(time, wait)).await;
    }
    let database = engine.database().await;
    let (mut waiting, mut next, mut made): (Vec<String>, usize, usize) = (Vec::new(), 0, 0);
    while made < moves {
        while waiting.len() < WAITING {
            let scenario = ["long", "long", "long", "short", "brief"][chance.random_range(0..5)];
            let id = format!("o{next}");
            next += 1;
            engine.accepted(json!({"id": id, "scenario": scenario})).await;
            match scenario {
                "long" => waiting.push(id),
                _ => made += 1,
            }
        }
        let kind = chance.random_range(0..9);
        if kind >= 7 {
            made += 1;
            disturb(&engine, kind == 7).await;
        } else {
            for _ in 0..chance.random_range(1..=8) {
                made += 1;
                let id = waiting.swap_remove(chance.random_range(0..waiting.len()));
                engine.reach(&id, "wait").await;
                if end_wait(&engine, &id, kind).await {
                    waiting.push(id);
                }
            }
        }
        for flow in ["long", "short", "brief"] {
            equal(&engine, &database, flow).await;
        }
    }
    for id in &waiting {
        engine.reach(id, "wait").await;
        assert_eq!(engine.act(id, "kill", &json!({"reason": "r"})).await.status, 200);
    }
    for flow in ["long", "short", "brief"] {
        until("all waits are over", PATIENCE, async || both(&engine, &database, flow).await == (0, 0)).await;
    }
    stop(&engine, "long", json!({})).await;
    resume(&engine, json!({"keyword": "long"})).await;
    for n in 0..5 {
        engine.run(json!({"id": format!("last{n}"), "scenario": "long"}), "wait").await;
    }
}

/// Ends the wait of an order in one of seven ways; true if it waits again.
async fn end_wait(engine: &Installation, id: &str, way: u32) -> bool {
    let reason = json!({"reason": "r"});
    let done = |answer: Answer| answer.success().map(drop).unwrap();
    match way {
        0 => done(engine.act(id, "kill", &reason).await),
        1 => done(engine.act(id, "repair", &json!({"state": "ask", "reason": "r"})).await),
        2 => {
            done(engine.act(id, "calls", &json!({"name": "give-up"})).await);
            engine.reach(id, "fail").await;
            done(engine.act(id, "restart", &reason).await);
        }
        3 => done(engine.act(id, "calls", &json!({"name": "give-up"})).await),
        4 => done(engine.act(id, "calls", &json!({"name": "again"})).await),
        5 => {
            let path = format!("/v1/orders/{id}/requests/answer/answer");
            done(engine.post(&path, &json!({"body": {}, "reason": "r"})).await.unwrap());
        }
        _ => {
            let calls = engine.world().calls("/silent");
            let own = calls.iter().rfind(|call| call.body["order"] == id).unwrap();
            let url = own.headers["x-callback-url"].clone();
            let answered = engine.env().http().post(url).json(&json!({})).send().await.unwrap();
            assert_eq!(answered.status(), 200);
        }
    }
    matches!(way, 1 | 2 | 4)
}

/// Another dispatcher takes over, or all flows are stopped and resumed.
async fn disturb(engine: &Installation, takes_over: bool) {
    if takes_over {
        let resigned = engine.post("/v1/leases/dispatcher/resign", &json!({"reason": "r"})).await.unwrap();
        // Nobody may lead at this moment.
        assert!([200, 404, 409].contains(&resigned.status), "{resigned:?}");
    } else {
        stop(engine, "long", json!({})).await;
        resume(engine, json!({"keyword": "long"})).await;
    }
}

// ORD-30: what nothing happens to has no forecast.
#[tokio::test]
async fn ord_30_no_forecast_is_reported_where_nothing_has_ended_for_longer_than_it_says() {
    let engine = Installation::with("ord_30_still", &[("PAGURUS__WORKER__CONCURRENCY", "1")]).await;
    engine.actions("quick", &crate::installation::call("/quick")).await;
    engine.world().program(Program::at("/held").delayed(Duration::from_secs(3600)));
    engine
        .scenario(
            "holds",
            &crate::installation::with_actions(
                &crate::installation::call("/held").replace("timeout: 5s", "timeout: 5m"),
            ),
        )
        .await;
    for n in 0..20 {
        engine.run(json!({"id": format!("q{n}"), "scenario": "quick"}), "success").await;
    }
    engine.accepted(json!({"id": "holder", "scenario": "holds"})).await;
    engine.calls("/held", 1).await;
    engine.accepted(json!({"id": "waits", "scenario": "quick"})).await;
    until("it is said that nothing ends", PATIENCE, async || {
        let explain: Value = engine.part("waits", "explain").await;
        let text = explain["explanation"].as_str().unwrap_or_default();
        explain["eta"].is_null() && text.contains("no stage of its flow has ended since")
    })
    .await;
}
