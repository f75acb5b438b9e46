//! Orders that wait for others: what is expected, how it is noticed, and what is shown of it (ORD-14 to 16).

use std::time::Duration;

use pagurus_harness::nodes::Role;
use pagurus_harness::world::program::{Program, Step};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::installation::{Installation, LOG, PATIENCE, asking, call, callers, until};

const INTERVAL: &str = "PAGURUS__EXECUTION__START_CONTROL__CONDITIONAL__INTERVAL";
const MODE: &str = "PAGURUS__EXECUTION__START_CONTROL__CONDITIONAL__MODE";
/// Interval so long that the periodic look does nothing during a test.
const NEVER: (&str, &str) = (INTERVAL, "1h");

fn after(id: &str, scenario: &str, conditions: &[(&str, &str)]) -> Value {
    let after: Vec<Value> =
        conditions.iter().map(|(order, state)| json!({"order": order, "states": [state]})).collect();
    json!({"id": id, "scenario": scenario, "lifecycle": {"after": after}})
}

/// Ends the wait of an order.
async fn answer(engine: &Installation, id: &str) {
    engine.reach(id, "wait").await;
    let answer = engine.post(&callback_path(engine, id), &json!({"code": 0})).await.unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
}

/// Returns the path at which the order that called `/silent` wants to be called back.
pub fn callback_path(engine: &Installation, id: &str) -> String {
    let calls = engine.world().calls("/silent");
    let call = calls.iter().find(|call| call.body["order"] == json!(id)).unwrap();
    let url = &call.headers["x-callback-url"];
    url[url.find("/v1/").unwrap()..].to_owned()
}

async fn explanation(engine: &Installation, id: &str) -> String {
    engine.part(id, "explain").await["explanation"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn ord_14_15_the_end_of_the_last_pre_condition_starts_the_order_at_once() {
    let engine = Installation::with("ord_14", &[NEVER]).await;
    engine.scenario("asks", &asking("/silent", "10m")).await;
    engine.actions("quick", &call("/do")).await;
    for id in ["a", "b"] {
        engine.accepted(json!({"id": id, "scenario": "asks"})).await;
    }
    engine.accepted(after("d", "quick", &[("a", "done"), ("b", "done")])).await;
    let mut next = after("e", "quick", &[("d", "done")]);
    next["mode"] = json!("sequential");
    next["queue"] = json!("q");
    engine.accepted(next.clone()).await;
    answer(&engine, "a").await;
    engine.reach("a", "success").await;
    let waiting = engine.order("d").await.unwrap();
    let stands: Vec<_> =
        waiting["after"].as_array().unwrap().iter().map(|one| one["stand"].clone()).collect();
    assert_eq!((&waiting["status"], &waiting["dueAt"]), (&json!("postponed"), &Value::Null), "{waiting}");
    assert_eq!(stands[0], "met", "{waiting}");
    let text = explanation(&engine, "d").await;
    assert!(text.contains("waits for order `b`, now `wait`") && !text.contains("`a`"), "{text}");
    answer(&engine, "b").await;
    engine.reach("e", "success").await;
    assert_eq!(callers(&engine.calls("/do", 2).await), ["d", "e"]);
    // The same again is the same order, whatever happened to what it waited for.
    assert_eq!(engine.submit(&next).await.body["status"], "duplicate");
    // What has ended as expected holds nobody up.
    engine.run(after("f", "quick", &[("a", "done"), ("e", "done")]), "success").await;
}

#[tokio::test]
async fn ord_14_a_pre_condition_may_be_registered_later_and_states_are_checked_as_soon_as_it_is() {
    let engine = Installation::with("ord_14_later", &[NEVER]).await;
    engine.actions("quick", LOG).await;
    engine.accepted(after("d", "quick", &[("late", "done")])).await;
    let mut wrong = after("wrong", "quick", &[("late", "finished")]);
    wrong["notify"] = json!({"url": "amqp://?key=ps.x", "correlationId": "c"});
    let amqp = engine.env().amqp().await.unwrap();
    let inbox = amqp.listen(&format!("{}.notifications", engine.env().prefix()), "ps.#").await.unwrap();
    engine.accepted(wrong).await;
    let words = explanation(&engine, "d").await;
    assert!(words.contains("waits for order `late`, which is not registered yet"), "{words}");
    engine.run(json!({"id": "late", "scenario": "quick"}), "success").await;
    engine.reach("d", "success").await;
    let failed = engine.reach("wrong", "fail").await;
    assert_eq!(failed["error"]["class"], "dependency.invalid", "{failed}");
    assert!(failed["error"]["message"].as_str().unwrap().contains("done, failed"), "{failed}");
    assert_eq!(inbox.wait(PATIENCE, |all| !all.is_empty()).await.unwrap()[0].body["id"], "wrong");

    // What is registered already is checked at once, the whole of it and beside it in a batch.
    let refused = engine.submit(&after("x", "quick", &[("late", "finished")])).await;
    let pointer = json!("/lifecycle/after/0/states/0");
    assert_eq!((refused.status, &refused.body["pointer"]), (422, &pointer), "{refused:?}");
    // A state that is no end would never be reached by an end.
    let refused = engine.submit(&after("x", "quick", &[("late", "work")])).await;
    assert_eq!(refused.status, 422, "{refused:?}");
    let many: Vec<(&str, &str)> = vec![("late", "done"); 101];
    assert_eq!(engine.submit(&after("x", "quick", &many)).await.status, 422);
    let batch = json!([after("z", "quick", &[("y", "done")]), {"id": "y", "scenario": "quick"}]);
    engine.post("/v1/orders/batch", &batch).await.unwrap();
    engine.reach("z", "success").await;
}

#[tokio::test]
async fn ord_14_a_cycle_is_refused_even_if_it_is_closed_at_the_same_moment() {
    let engine = Installation::only("ord_14_cycle", &[Role::Intake], &[]).await;
    engine.actions("quick", LOG).await;
    for round in 0..15 {
        let (a, b) = (format!("a{round}"), format!("b{round}"));
        let orders = [after(&a, "quick", &[(&b, "done")]), after(&b, "quick", &[(&a, "done")])];
        let (one, two) = tokio::join!(engine.submit(&orders[0]), engine.submit(&orders[1]));
        let mut statuses = [one.status, two.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [201, 422], "{one:?} {two:?}");
        let refused = if one.status == 422 { one } else { two };
        assert_eq!(refused.body["pointer"], "/lifecycle/after", "{refused:?}");
        assert!(refused.body["detail"].as_str().unwrap().contains(&a), "{refused:?}");
    }
    let answer = engine.submit(&after("self", "quick", &[("self", "done")])).await;
    assert_eq!(answer.status, 422, "{answer:?}");
}

#[tokio::test]
async fn ord_15_what_ends_otherwise_leaves_the_order_waiting_for_a_restart_or_does_what_it_said() {
    let engine = Installation::with("ord_15", &[(INTERVAL, "300ms")]).await;
    engine.world().program(Program::at("/once").fail(1, 400));
    engine.actions("once", &call("/once")).await;
    engine.actions("quick", LOG).await;
    engine.accepted(after("waits", "quick", &[("p", "done")])).await;
    for otherwise in ["fail", "cancel"] {
        let mut order = after(otherwise, "quick", &[("p", "done")]);
        order["lifecycle"]["after"][0]["otherwise"] = json!(otherwise);
        engine.accepted(order).await;
    }
    engine.run(json!({"id": "p", "scenario": "once"}), "fail").await;
    let failed = engine.reach("fail", "fail").await;
    assert_eq!(failed["error"]["class"], "dependency.failed", "{failed}");
    let canceled = engine.reach("cancel", "canceled").await;
    assert_eq!(canceled["error"], Value::Null, "{canceled}");
    assert_eq!(engine.order("waits").await.unwrap()["status"], "postponed");
    let text = explanation(&engine, "waits").await;
    assert!(text.contains("that order ended `fail` in state `failed`: a restart"), "{text}");
    assert_eq!(engine.act("p", "restart", &json!({})).await.status, 200);
    engine.reach("waits", "success").await;
    // A restart asks again: what was not met may have been by now.
    assert_eq!(engine.act("fail", "restart", &json!({})).await.body["status"], "postponed");
    engine.reach("fail", "success").await;
    // One that waits can be given up, and then waits no more.
    engine.accepted(after("given-up", "quick", &[("never", "done")])).await;
    assert_eq!(engine.act("given-up", "cancel", &json!({})).await.status, 200);
    let order = engine.reach("given-up", "canceled").await;
    assert_eq!(order["after"][0]["stand"], "closed", "{order}");
}

#[tokio::test]
async fn ord_22_a_restart_honours_open_conditions_and_the_start_time() {
    let engine = Installation::with("ord_22_conditions", &[(INTERVAL, "300ms")]).await;
    engine.world().program(Program::at("/once").fail(1, 400));
    engine.actions("once", &call("/once")).await;
    engine.actions("quick", LOG).await;
    engine.run(json!({"id": "p", "scenario": "once"}), "fail").await;
    for id in ["strict", "forced", "patient", "timed"] {
        let mut order = after(id, "quick", &[("p", "done")]);
        order["lifecycle"]["after"][0]["otherwise"] = json!("fail");
        if id == "timed" {
            order["lifecycle"]["startAt"] = json!("2030-01-01T00:00:00Z");
        }
        engine.accepted(order).await;
        assert_eq!(engine.reach(id, "fail").await["error"]["class"], "dependency.failed");
    }
    // The pre-condition has still failed: so does the order, or it runs because somebody says so.
    let answer = engine.act("strict", "restart", &json!({})).await;
    assert_eq!(
        (answer.status, &answer.body["status"], &answer.body["life"]),
        (200, &json!("postponed"), &json!(2))
    );
    let failed = engine.reach("strict", "fail").await;
    assert_eq!(
        (&failed["error"]["class"], &failed["life"]),
        (&json!("dependency.failed"), &json!(2)),
        "{failed}"
    );
    let answer = engine.act("forced", "restart", &json!({"ignoreConditions": true})).await;
    assert_eq!(answer.body["status"], "reopen", "{answer:?}");
    engine.reach("forced", "success").await;
    assert_eq!(engine.act("p", "restart", &json!({})).await.status, 200);
    engine.reach("p", "success").await;
    assert_eq!(engine.act("patient", "restart", &json!({})).await.status, 200);
    engine.reach("patient", "success").await;

    // One that ended before its time was there waits for it still.
    assert_eq!(engine.act("timed", "restart", &json!({})).await.body["status"], "postponed");
    let text = explanation(&engine, "timed").await;
    assert!(text.contains("2030-01-01"), "{text}");
    assert_eq!(engine.act("timed", "cancel", &json!({})).await.status, 200);
    let answer = engine.act("strict", "restart", &json!({"ignoreConditions": 1})).await;
    assert_eq!((answer.status, &answer.body["pointer"]), (422, &json!("/ignoreConditions")));
}

#[tokio::test]
async fn ord_14_a_restart_that_would_close_a_cycle_is_refused_and_says_the_way() {
    let engine = Installation::with("ord_14_restart_cycle", &[(INTERVAL, "300ms")]).await;
    engine.world().program(Program::at("/once").fail(1, 400));
    engine.actions("once", &call("/once")).await;
    engine.actions("quick", LOG).await;
    engine.run(json!({"id": "p", "scenario": "once"}), "fail").await;
    // Ends while it still waits for another order, which may be registered only then.
    let given_up = async |id: &str, before: &str| {
        let mut order = after(id, "quick", &[("p", "done"), (before, "done")]);
        order["lifecycle"]["after"][0]["otherwise"] = json!("fail");
        order["transactionId"] = json!(format!("t-{id}"));
        engine.accepted(order).await;
        assert_eq!(engine.reach(id, "fail").await["error"]["class"], "dependency.failed");
    };
    given_up("a", "b").await;
    engine.accepted(after("between", "quick", &[("a", "done")])).await;
    engine.accepted(after("b", "quick", &[("between", "done")])).await;
    let answer = engine.act("a", "restart", &json!({})).await;
    assert_eq!((answer.status, &answer.body["orderStatus"]), (409, &json!("fail")), "{answer:?}");
    assert!(answer.body["detail"].as_str().unwrap().contains("a → b → between → a"), "{answer:?}");
    assert_eq!(engine.order("a").await.unwrap()["life"], 1);
    // The last one that would close a cycle is refused where several are restarted together.
    given_up("x", "y").await;
    given_up("y", "x").await;
    assert_eq!(engine.act("p", "restart", &json!({})).await.status, 200);
    engine.reach("p", "success").await;
    let all =
        json!({"action": "restart", "search": {"status": "fail", "scenario": "quick"}, "reason": "all"});
    let no = engine.post("/v1/operations", &all).await.unwrap().success().unwrap()["operation"]["no"].clone();
    let path = format!("/v1/operations/{no}");
    let operation = async || engine.get(&path).await.unwrap().success().unwrap();
    until("it has ended", PATIENCE, async || operation().await["state"] == "done").await;
    let skipped = engine.get(&format!("{path}/orders?outcome=skipped")).await.unwrap().success().unwrap();
    let skipped = skipped["items"].as_array().unwrap();
    let mut ids: Vec<&str> = skipped.iter().map(|one| one["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    assert!(ids == ["a", "x"] || ids == ["a", "y"], "{skipped:?}");
    // Without the wait there is no cycle, and all go on.
    assert_eq!(engine.act("a", "restart", &json!({"ignoreConditions": true})).await.status, 200);
    for id in ["a", "between", "b"] {
        engine.reach(id, "success").await;
    }
}

#[tokio::test]
async fn ord_15_polling_looks_periodically_and_goes_on_after_its_activator_was_killed() {
    let engine = Installation::with("ord_15_polling", &[(MODE, "polling"), (INTERVAL, "300ms")]).await;
    engine.world().program(Program::at("/bad").fail(1, 400));
    engine.scenario("asks", &asking("/silent", "10m")).await;
    engine.actions("bad", &call("/bad")).await;
    engine.actions("quick", LOG).await;
    engine.accepted(json!({"id": "p", "scenario": "asks"})).await;
    engine.accepted(after("d", "quick", &[("p", "done")])).await;
    engine.accepted(after("e", "quick", &[("q", "done")])).await;
    let mut patient = after("patient", "quick", &[("q", "done")]);
    patient["lifecycle"]["after"][0]["otherwise"] = json!("wait");
    engine.accepted(patient).await;
    let mut wrong = after("wrong", "quick", &[("q", "nowhere")]);
    wrong["lifecycle"]["after"][0]["otherwise"] = json!("wait");
    engine.accepted(wrong).await;
    engine.reach("p", "wait").await;
    let activator = engine.node(Role::Activator).clone();
    activator.kill().await.unwrap();
    answer(&engine, "p").await;
    engine.reach("p", "success").await;
    engine.run(json!({"id": "q", "scenario": "bad"}), "fail").await;
    for id in ["d", "e"] {
        assert_eq!(engine.order(id).await.unwrap()["status"], "postponed", "nobody has looked");
    }
    engine.env().restart(&activator).await.unwrap();
    engine.reach("d", "success").await;
    let failed = engine.reach("e", "fail").await;
    assert_eq!(failed["error"]["class"], "dependency.failed", "{failed}");
    // It was over before anybody could hold the expected state against its scenario.
    let wrong = engine.reach("wrong", "fail").await;
    assert_eq!(wrong["error"]["class"], "dependency.invalid", "{wrong}");
    assert_eq!(engine.order("patient").await.unwrap()["status"], "postponed");
    // A restart that ends well is found, too, by the look alone.
    assert_eq!(engine.act("q", "restart", &json!({})).await.status, 200);
    engine.reach("patient", "success").await;
}

#[tokio::test]
async fn ord_15_a_start_time_and_the_conditions_must_both_hold() {
    let engine = Installation::with("ord_15_both", &[NEVER]).await;
    engine.actions("quick", LOG).await;
    let start = jiff::Timestamp::now().checked_add(Duration::from_secs(2)).unwrap();
    for (id, condition) in [("timed", "soon"), ("held", "never")] {
        let mut order = after(id, "quick", &[(condition, "done")]);
        order["lifecycle"]["startAt"] = json!(start.to_string());
        engine.accepted(order).await;
    }
    engine.run(json!({"id": "soon", "scenario": "quick"}), "success").await;
    let met = engine.order("timed").await.unwrap();
    assert_eq!((&met["status"], &met["after"][0]["stand"]), (&json!("postponed"), &json!("met")), "{met}");
    let done = engine.reach("timed", "success").await;
    assert!(crate::installation::at(&done, "startedAt") >= start, "{done}");
    assert_eq!(engine.order("held").await.unwrap()["status"], "postponed");
}

#[tokio::test]
async fn ord_16_what_waits_for_what_is_shown_as_a_graph() {
    let engine = Installation::only("ord_16", &[Role::Intake], &[]).await;
    engine.actions("quick", LOG).await;
    engine.accepted(json!({"id": "a", "scenario": "quick"})).await;
    for (id, before) in [("b", "a"), ("c", "b"), ("d", "c")] {
        engine.accepted(after(id, "quick", &[(before, "done")])).await;
    }
    engine.accepted(after("other", "quick", &[("b", "failed"), ("absent", "x")])).await;
    let graph = engine.part("b", "dependencies").await;
    let mut edges: Vec<String> = graph["edges"]
        .as_array()
        .unwrap()
        .iter()
        .map(|edge| format!("{}>{}", edge["order"].as_str().unwrap(), edge["after"].as_str().unwrap()))
        .collect();
    edges.sort();
    // Of the others that wait for `b` only that they do: not what else they wait for.
    assert_eq!(edges, ["b>a", "c>b", "d>c", "other>b"], "{graph}");
    assert_eq!(
        (graph["nodes"].as_array().unwrap().len(), &graph["truncated"]),
        (5, &json!(false)),
        "{graph}"
    );
    let near = engine.part("b", "dependencies?depth=1").await;
    assert_eq!((near["edges"].as_array().unwrap().len(), &near["truncated"]), (3, &json!(true)), "{near}");
    let own = engine.part("other", "dependencies").await;
    let absent = own["nodes"].as_array().unwrap().iter().find(|node| node["id"] == "absent").unwrap();
    assert_eq!((&absent["registered"], &absent["status"]), (&json!(false), &Value::Null), "{own}");
    assert_eq!(engine.get("/v1/orders/nobody/dependencies").await.unwrap().status, 404);
    assert_eq!(engine.get("/v1/orders/b/dependencies?depth=99").await.unwrap().status, 422);
}

#[tokio::test]
async fn ord_15_a_dependant_survives_the_crash_of_every_service() {
    for mode in ["reactive", "polling"] {
        let settings = [(MODE, mode), (INTERVAL, "500ms")];
        let mut engine = Installation::with(&format!("ord_15_crash_{mode}"), &settings).await;
        let gate = watch::Sender::new(false);
        let held = Step { hold: Some(gate.subscribe()), ..Step::fine() };
        engine.world().program(Program::at("/held").first(1, &held));
        engine.actions("quick", &call("/do")).await;
        engine.actions("held", &call("/held").replace("timeout: 5s", "timeout: 2m")).await;
        engine.accepted(json!({"id": "p", "scenario": "held"})).await;
        engine.accepted(after("d", "quick", &[("p", "done")])).await;
        engine.calls("/held", 1).await;
        // The end of `p` is committed, and all die before anybody could do anything about it.
        for role in [Role::Activator, Role::Dispatcher] {
            engine.node(role).kill().await.unwrap();
        }
        gate.send_replace(true);
        engine.reach("p", "success").await;
        for role in [Role::Worker, Role::Notifier, Role::Intake] {
            engine.node(role).kill().await.unwrap();
        }
        assert!(engine.world().calls("/do").is_empty(), "{mode}: it ran before the crash");
        for role in Role::ALL {
            engine.restart(role).await;
        }
        engine.reach("d", "success").await;
        until("nothing is left waiting", PATIENCE, async || {
            let list = engine.get("/v1/orders?status=postponed").await.unwrap();
            list.body["items"].as_array().is_some_and(Vec::is_empty)
        })
        .await;
        let ran = (engine.world().calls("/held").len(), engine.world().calls("/do").len());
        assert_eq!(ran, (1, 1), "{mode}: each ran once");
        assert_eq!(engine.order("d").await.unwrap()["stages"], 1, "{mode}");
    }
}
