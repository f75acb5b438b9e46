//! Changes by hand: clone and repair (ORD-23), update (ORD-27).

use std::time::Duration;

use pagurus_harness::env::STOP_TIMEOUT;
use pagurus_harness::nodes::Role;
use pagurus_harness::race::Race;
use pagurus_harness::world::program::Program;
use serde_json::{Value, json};

use crate::err::policy;
use crate::installation::{Installation, LOG, PATIENCE, asking, call, callers, until};
use crate::ord::dependencies::callback_path;

const SLEEPER: &str = "initialState: s\nstates:\n  s: {actions: [{sleep: {for: 1h}}], on: {sleep: z}}\n  \
                       z: {kind: sleeping, on: {timeout: tell}}\n  tell:\n    entryPoint: true\n    actions:\n      \
                       - http: {method: POST, url: \"${config.demo}/tell\", body: {order: \"${order.id}\", n: \"${params.n}\", v: \"${vars.v}\"}}\n    \
                       on: {success: done, fail: failed}\n  done: {kind: terminal}\n  failed: {kind: terminal, outcome: fail}\n";

pub(super) async fn patch(engine: &Installation, id: &str, body: Value) -> pagurus_harness::client::Answer {
    engine.patch(&format!("/v1/orders/{id}"), &body).await.unwrap()
}

#[tokio::test]
async fn ord_23_a_clone_is_like_the_old_order_but_for_what_is_said() {
    let engine = Installation::with(
        "ord_23_clone",
        &[("PAGURUS__DISTRIBUTION__FLOWS__ATTRIBUTES", "[scenario, region]")],
    )
    .await;
    engine.actions("quick", &call("/do")).await;
    let notify = json!({"url": "amqp://?key=ps.x", "correlationId": "c"});
    let old = json!({
        "id": "old", "scenario": "quick", "params": {"n": 1}, "mode": "sequential", "queue": "q", "priority": "high",
        "flow": {"region": "200"}, "transactionId": "tx", "notify": notify, "lifecycle": {"periodToStart": 60},
    });
    engine.run(old, "success").await;
    let made = engine.act("old", "clone", &json!({})).await;
    assert_eq!((made.status, &made.body["status"]), (201, &json!("accepted")), "{made:?}");
    let id = made.body["id"].as_str().unwrap();
    assert!(id.starts_with("old-") && id != "old", "{id}");
    let (one, two) = (engine.reach("old", "success").await, engine.reach(id, "success").await);
    for key in ["scenario", "params", "mode", "queue", "priority", "flow", "transactionId", "notify"] {
        assert_eq!(one[key], two[key], "{key}");
    }
    assert!(two["startDeadline"].is_string(), "{two}");
    let body = json!({"id": "new", "params": {"n": 2}, "queue": null, "mode": "parallel", "notify": null,
        "reason": "once more"});
    assert_eq!(engine.act("old", "clone", &body).await.status, 201);
    let new = engine.reach("new", "success").await;
    assert_eq!(
        (&new["params"], &new["queue"], &new["notify"]),
        (&json!({"n": 2}), &Value::Null, &Value::Null)
    );
    let events = engine.part("new", "events").await;
    let event = events.as_array().unwrap().iter().find(|event| event["kind"] == "cloned").unwrap();
    let payload = &event["payload"];
    assert_eq!((&payload["from"], &payload["reason"]), (&json!("old"), &json!("once more")));
    // REC-15: the history says who asked, by which door, and from where.
    assert_eq!(payload["by"]["door"], "http");
    assert!(payload["by"]["from"].as_str().unwrap().starts_with("127.0.0.1:"), "{payload}");
    // A clone with an id is as idempotent as any registration.
    assert_eq!(engine.act("old", "clone", &body).await.status, 200);
    assert_eq!(engine.act("old", "clone", &json!({"id": "new", "params": {"n": 3}})).await.status, 409);
    let answer = engine.act("old", "clone", &json!({"prioritty": "high"})).await;
    assert_eq!((answer.status, &answer.body["pointer"]), (422, &json!("/prioritty")), "{answer:?}");
    assert_eq!(engine.act("nobody", "clone", &json!({})).await.status, 404);
    assert_eq!(engine.world().calls("/do").len(), 3);
}

#[tokio::test]
async fn ord_23_a_stuck_order_goes_on_from_where_it_is_put() {
    let policies = policy(
        "{initial_interval: 1h, multiplier: 1, max_interval: 1h, jitter: 0, max_attempts: 5, max_duration: 1d}",
    );
    let settings = [
        ("PAGURUS__EXECUTION__ERROR_HANDLING", policies.as_str()),
        ("PAGURUS__SCENARIO__MAX_VARS_BYTES", "1KiB"),
    ];
    let engine = Installation::with("ord_23_repair", &settings).await;
    engine.world().program(Program::at("/down").fail(1000, 503));
    engine.world().program(Program::at("/hang").delayed(Duration::from_secs(2)));
    engine.scenario("sleep", SLEEPER).await;
    let answer = r#"/after", body: {order: "${order.id}", answer: "${callbacks.answer.body}"}"#;
    let tell = r#"/tell", body: {order: "${order.id}", v: "${vars.v}"}"#;
    engine.scenario("wait", &asking("/silent", "10m").replace(answer, tell)).await;
    engine.actions("retry", &call("/down")).await;
    engine.actions("running", &call("/hang")).await;
    engine.actions("fail", "- script: 'fail(\"no\", \"x\")'").await;

    let sequential =
        json!({"id": "sleep", "scenario": "sleep", "params": {"n": 1}, "mode": "sequential", "queue": "q"});
    engine.accepted(sequential).await;
    engine.accepted(json!({"id": "wait", "scenario": "wait", "mode": "sequential", "queue": "w"})).await;
    engine.accepted(json!({"id": "behind", "scenario": "wait", "mode": "sequential", "queue": "w"})).await;
    for (id, state) in [("sleep", "tell"), ("wait", "after")] {
        engine.reach(id, id).await;
        let answer =
            engine.act(id, "repair", &json!({"state": state, "vars": {"v": id}, "reason": "by hand"})).await;
        assert_eq!((answer.status, &answer.body["life"]), (200, &json!(1)), "{answer:?}");
        let done = engine.reach(id, "success").await;
        assert_eq!(done["vars"], json!({"v": id}), "{done}");
        let events = engine.part(id, "events").await;
        let event = events.as_array().unwrap().iter().find(|event| event["kind"] == "repaired").unwrap();
        assert_eq!((&event["payload"]["reason"], &event["payload"]["from"]), (&json!("by hand"), &json!(id)));
    }
    let calls = engine.calls("/tell", 2).await;
    assert!(calls.iter().all(|call| call.body["v"] == call.body["order"]), "{calls:?}");
    // Its queue is free again, and what it asked for before is asked for no more.
    engine.reach("behind", "wait").await;
    let requests = engine.part("wait", "requests").await;
    assert_eq!(requests[0]["status"], "canceled", "{requests}");
    let late = callback_path(&engine, "wait");
    assert_eq!(engine.post(&late, &json!({})).await.unwrap().body["status"], "late");

    // From an error that is retried, at the very action; from a failure in a life of its own.
    engine.accepted(json!({"id": "retry", "scenario": "retry"})).await;
    engine.reach("retry", "retry").await;
    engine.world().program(Program::at("/down").fail(0, 503));
    let work = json!({"state": "work", "reason": "it is up again"});
    assert_eq!(engine.act("retry", "repair", &work).await.status, 200);
    engine.reach("retry", "success").await;
    engine.run(json!({"id": "fail", "scenario": "fail"}), "fail").await;
    assert_eq!(engine.act("fail", "repair", &work).await.body["life"], json!(2));
    until("it has failed again", Duration::from_secs(10), async || {
        let order = engine.order("fail").await.unwrap();
        order["status"] == "fail" && order["life"] == 2
    })
    .await;

    engine.accepted(json!({"id": "running", "scenario": "running"})).await;
    engine.calls("/hang", 1).await;
    let answer = engine.act("running", "repair", &work).await;
    assert_eq!((answer.status, &answer.body["orderStatus"]), (409, &json!("running")), "{answer:?}");
    for (body, pointer) in [
        (json!({"state": "nowhere", "reason": "x"}), "/state"),
        (json!({"state": "asked", "reason": "x"}), "/state"),
        (json!({"state": "done", "reason": "x"}), "/state"),
        (json!({"state": "after"}), "/reason"),
        (json!({"state": "after", "reason": "x", "vars": {"v": "x".repeat(2000)}}), "/vars"),
    ] {
        let answer = engine.act("behind", "repair", &body).await;
        assert_eq!((answer.status, &answer.body["pointer"]), (422, &json!(pointer)), "{body}: {answer:?}");
    }
    assert_eq!(engine.act("nobody", "repair", &work).await.status, 404);
}

async fn refuses_what_is_wrong(engine: &Installation, id: &str) {
    for (body, pointer) in [
        (json!({"params": {"n": "x"}}), "/params/n"),
        (json!({"notify": {"url": "amqp://?exchange=amq.topic&key=x"}}), "/notify/url"),
        (json!({"queue": "q"}), "/queue"),
        (json!({}), ""),
    ] {
        let answer = patch(engine, id, body.clone()).await;
        assert_eq!((answer.status, &answer.body["pointer"]), (422, &json!(pointer)), "{body}: {answer:?}");
    }
    assert_eq!(patch(engine, "nobody", json!({"priority": "low"})).await.status, 404);
}

#[tokio::test]
async fn ord_27_an_order_that_does_not_run_can_be_changed() {
    let mut engine = Installation::with("ord_27", &[]).await;
    engine.world().program(Program::at("/hang").delayed(Duration::from_secs(2)));
    let schema = "params: {type: object, properties: {n: {type: integer}}}\n";
    let tells = "initialState: w\nstates:\n  w:\n    actions:\n      \
                 - http: {method: POST, url: \"${config.demo}/do\", body: {order: \"${order.id}\", n: \"${params.n}\"}}\n    \
                 on: {success: done, fail: failed}\n  done: {kind: terminal}\n  failed: {kind: terminal, outcome: fail}\n";
    engine.scenario("quick", &format!("{schema}{tells}")).await;
    engine.scenario("sleep", &format!("{schema}{SLEEPER}")).await;
    engine.actions("hang", &call("/hang")).await;
    engine.accepted(json!({"id": "asleep", "scenario": "sleep", "params": {"n": 1}})).await;
    engine.reach("asleep", "sleep").await;
    engine.run(json!({"id": "again", "scenario": "quick", "params": {"n": 1}}), "success").await;
    engine.accepted(json!({"id": "running", "scenario": "hang"})).await;
    engine.calls("/hang", 1).await;
    let refused = patch(&engine, "running", json!({"priority": "high"})).await;
    assert_eq!((refused.status, &refused.body["orderStatus"]), (409, &json!("running")), "{refused:?}");
    engine.reach("running", "success").await;
    engine.node(Role::Worker).stop(STOP_TIMEOUT).await.unwrap();
    engine.nodes.retain(|node| node.spec.role != Role::Worker);

    engine.accepted(json!({"id": "fresh", "scenario": "quick", "params": {"n": 1}, "priority": "low"})).await;
    assert_eq!(engine.act("again", "restart", &json!({"from": "initial"})).await.status, 200);
    let far = json!({"startAt": "2099-01-01T00:00:00Z"});
    let later = json!({"id": "later", "scenario": "quick", "params": {"n": 1}, "lifecycle": far});
    engine.accepted(later).await;
    let change = json!({"params": {"n": 2}, "priority": "high", "reason": "a test",
        "notify": {"url": "amqp://?key=ps.x", "correlationId": "c"}});
    for (id, status) in [("fresh", "new"), ("again", "reopen"), ("later", "postponed"), ("asleep", "sleep")] {
        let answer = patch(&engine, id, change.clone()).await;
        assert_eq!((answer.status, &answer.body["status"]), (200, &json!(status)), "{id}: {answer:?}");
        let order = engine.order(id).await.unwrap();
        assert_eq!((&order["params"], &order["priority"]), (&json!({"n": 2}), &json!("high")), "{order}");
        assert_eq!(order["notify"]["correlationId"], "c", "{order}");
        let events = engine.part(id, "events").await;
        let event = events.as_array().unwrap().iter().find(|event| event["kind"] == "updated").unwrap();
        assert_eq!(
            event["payload"]["changed"]["params"],
            json!({"was": {"n": 1}, "is": {"n": 2}}),
            "{event}"
        );
    }
    let answer = patch(&engine, "asleep", json!({"lifecycle": far})).await;
    assert_eq!((answer.status, &answer.body["status"]), (200, &json!("sleep")), "{answer:?}");
    assert!(answer.body["dueAt"].as_str().unwrap().starts_with("2099"), "it sleeps on: {answer:?}");
    assert_eq!(
        patch(&engine, "later", json!({"lifecycle": {"startAt": "2020-01-01T00:00:00Z"}})).await.status,
        200
    );
    refuses_what_is_wrong(&engine, "fresh").await;
    engine.world().forget();
    engine.add(Role::Worker, "worker-2").await;
    for id in ["fresh", "again", "later"] {
        engine.reach(id, "success").await;
    }
    let now = json!({"startAt": "2020-01-01T00:00:00Z"});
    assert_eq!(patch(&engine, "asleep", json!({"lifecycle": now})).await.status, 200);
    // It went on, to an end of its own.
    engine.reach("asleep", "fail").await;
    let calls = engine.calls("/do", 3).await;
    assert!(calls.iter().all(|call| call.body["n"] == 2), "{calls:?}");
    let refused = patch(&engine, "fresh", json!({"priority": "low"})).await;
    assert_eq!((refused.status, &refused.body["orderStatus"]), (409, &json!("success")), "{refused:?}");
}

#[tokio::test]
async fn ord_27_a_later_start_postpones_and_taken_away_it_starts_at_once() {
    let mut engine =
        Installation::only("ord_27_start", &[Role::Intake, Role::Dispatcher, Role::Activator], &[]).await;
    engine.actions("quick", LOG).await;
    engine.accepted(json!({"id": "moved", "scenario": "quick", "mode": "sequential", "queue": "q"})).await;
    engine.accepted(json!({"id": "next", "scenario": "quick", "mode": "sequential", "queue": "q"})).await;
    let far = json!({"startAt": "2099-01-01T00:00:00Z"});
    let answer = patch(&engine, "moved", json!({"lifecycle": far})).await;
    assert_eq!((answer.status, &answer.body["status"]), (200, &json!("postponed")), "{answer:?}");
    assert!(answer.body["dueAt"].as_str().unwrap().starts_with("2099"), "{answer:?}");
    assert_eq!(answer.body["stages"], 0, "nothing has run: {answer:?}");
    // It has given its place in the queue up.
    engine.add(Role::Worker, "worker-1").await;
    engine.reach("next", "success").await;
    assert_eq!(engine.order("moved").await.unwrap()["status"], "postponed");
    assert_eq!(patch(&engine, "moved", json!({"lifecycle": {"startAt": null}})).await.status, 200);
    engine.reach("moved", "success").await;
}

#[tokio::test]
async fn ord_27_an_update_that_races_with_a_claim_is_refused_or_what_runs() {
    let engine = Installation::start("ord_27_race").await;
    let tells = "initialState: w\nstates:\n  w:\n    actions:\n      \
                 - http: {method: POST, url: \"${config.demo}/do\", body: {order: \"${order.id}\", n: \"${params.n}\"}}\n    \
                 on: {success: done, fail: failed}\n  done: {kind: terminal}\n  failed: {kind: terminal, outcome: fail}\n";
    engine.scenario("tells", tells).await;
    let mut changed = Vec::new();
    let dispatcher = engine.node(Role::Dispatcher);
    let later = async |steps: u32| {
        for _ in 0..steps {
            engine.get("/v1/orders/nobody").await.unwrap();
        }
    };
    let mut race = Race::default();
    while !race.is_over(40) {
        // Nothing is handed out before both are set off.
        dispatcher.pause().unwrap();
        let order = json!({"id": format!("{}", race.races()), "scenario": "tells", "params": {"n": 1}});
        let id = engine.accepted(order).await;
        let [patches, runs] = race.delays();
        let updating = async {
            later(patches).await;
            patch(&engine, &id, json!({"params": {"n": 2}})).await
        };
        let running = async {
            later(runs).await;
            dispatcher.resume().unwrap();
        };
        let (answer, ()) = tokio::join!(updating, running);
        assert!(matches!(answer.status, 200 | 409), "{answer:?}");
        race.won(answer.status == 200);
        changed.push((id, answer.status == 200));
    }
    for (id, updated) in &changed {
        engine.reach(id, "success").await;
        let calls = engine.world().calls("/do");
        let mine: Vec<_> = calls.iter().filter(|call| call.body["order"] == json!(id)).collect();
        assert_eq!(mine.len(), 1, "{id}: {:?}", callers(&calls));
        assert_eq!(mine[0].body["n"], if *updated { 2 } else { 1 }, "{id}");
    }
}

#[tokio::test]
async fn ord_27_the_end_is_reported_to_a_changed_notify_and_nowhere_else() {
    let engine = Installation::start("ord_27_notify").await;
    engine.actions("quick", LOG).await;
    engine.scenario("sleep", SLEEPER).await;
    let amqp = engine.env().amqp().await.unwrap();
    let inbox = amqp.listen(&format!("{}.notifications", engine.env().prefix()), "#").await.unwrap();
    let notify = |which: &str| json!({"url": format!("amqp://?key=ps.{which}"), "correlationId": which});
    let far = json!({"startAt": "2099-01-01T00:00:00Z"});
    for (id, scenario, status) in
        [("later", "quick", "postponed"), ("asleep", "sleep", "sleep"), ("silent", "quick", "postponed")]
    {
        let mut order = json!({"id": id, "scenario": scenario, "params": {"n": 1}, "notify": notify("old")});
        if status == "postponed" {
            order["lifecycle"] = far.clone();
        }
        engine.run(order, status).await;
        let new = if id == "silent" { Value::Null } else { notify("new") };
        let answer = patch(&engine, id, json!({"notify": new})).await;
        assert_eq!((answer.status, &answer.body["notify"]["correlationId"]), (200, &new["correlationId"]));
    }
    let now = json!({"lifecycle": {"startAt": "2020-01-01T00:00:00Z"}});
    for (id, end) in [("silent", "success"), ("later", "success"), ("asleep", "fail")] {
        assert_eq!(patch(&engine, id, now.clone()).await.status, 200, "{id}");
        engine.reach(id, end).await;
        until("all of it is sent", PATIENCE, async || {
            engine.order(id).await.unwrap()["unsentNotifications"] == json!([])
        })
        .await;
    }
    // What comes last has come after everything else.
    engine.run(json!({"id": "last", "scenario": "quick", "notify": notify("last")}), "success").await;
    let received = inbox.wait(PATIENCE, |all| all.iter().any(|one| one.key == "ps.last")).await.unwrap();
    let notices: Vec<_> = received
        .iter()
        .map(|one| {
            (
                one.body["id"].as_str(),
                one.key.as_str(),
                one.correlation_id.as_deref(),
                &one.body["correlationId"],
            )
        })
        .collect();
    let expected = |id, key, correlation| (Some(id), key, Some(correlation));
    let flat: Vec<_> = notices.iter().map(|(id, key, correlation, _)| (*id, *key, *correlation)).collect();
    assert_eq!(
        flat,
        [
            expected("later", "ps.new", "new"),
            expected("asleep", "ps.new", "new"),
            expected("last", "ps.last", "last")
        ]
    );
    assert!(notices.iter().all(|(_, _, outside, inside)| *outside == inside.as_str()), "{notices:?}");
}

#[tokio::test]
async fn ord_27_a_higher_priority_is_heard_by_the_dispatcher() {
    let settings = [
        ("PAGURUS__DISTRIBUTION__CAPACITY__PARALLEL_COUNT", "1"),
        ("PAGURUS__DISTRIBUTION__PRIORITIES__HIGH", "1000"),
    ];
    let engine = Installation::with("ord_27_priority", &settings).await;
    engine.world().program(Program::at("/slow").delayed(Duration::from_millis(400)));
    engine.actions("slow", &call("/slow")).await;
    engine.actions("quick", LOG).await;
    for n in 0..6 {
        engine.accepted(json!({"id": format!("{n}"), "scenario": "slow"})).await;
    }
    assert_eq!(patch(&engine, "5", json!({"priority": "high"})).await.status, 200);
    engine.reach("5", "success").await;
    let calls = engine.world().calls("/slow");
    let place = callers(&calls).iter().position(|id| *id == "5").unwrap();
    assert!(place < 4, "{:?}", callers(&calls));
}

#[tokio::test]
async fn ord_27_the_time_of_an_order_that_has_slept_out_cannot_be_moved_any_more() {
    let engine = Installation::start("ord_27_awake").await;
    engine.scenario("naps", &SLEEPER.replace("for: 1h", "for: 1s")).await;
    engine.scenario("holds", &asking("/silent", "10m")).await;
    let order = |id: &str, scenario: &str| json!({"id": id, "scenario": scenario, "mode": "sequential", "queue": "q"});
    engine.accepted(order("naps", "naps")).await;
    engine.reach("naps", "sleep").await;
    engine.accepted(order("holds", "holds")).await;
    engine.reach("holds", "wait").await;
    // It is due, and waits at the end of its queue.
    until("it is due", PATIENCE, async || !engine.order("naps").await.unwrap()["readySince"].is_null()).await;
    let answer = patch(&engine, "naps", json!({"lifecycle": {"startAt": "2099-01-01T00:00:00Z"}})).await;
    assert_eq!((answer.status, &answer.body["orderStatus"]), (409, &json!("sleep")), "{answer:?}");
    assert_eq!(patch(&engine, "naps", json!({"priority": "high"})).await.status, 200);
}
