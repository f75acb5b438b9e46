//! Activation of what is due (05-activation.md).

use std::time::Duration;

use pagurus_harness::nodes::Role;
use pagurus_harness::proxy::{Mode, Proxy, host_of};
use serde_json::{Value, json};

use crate::installation::{Installation, LOG, PATIENCE, callers, until};

const SLEEPER: &str = r#"initialState: doze
states:
  doze: {actions: [{sleep: {for: "${params.for}"}}], on: {sleep: dozing, fail: failed}}
  dozing: {kind: sleeping, on: {timeout: wake}}
  wake:
    actions:
      - http: {method: POST, url: "${config.demo}/woken", body: {order: "${order.id}"}}
    on: {success: done, fail: failed}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
"#;

#[tokio::test]
async fn act_1_sleepers_wake_on_time_and_once_with_two_activators() {
    let mut engine = Installation::start("act_1").await;
    engine.add(Role::Activator, "activator-2").await;
    engine.scenario("sleeper", SLEEPER).await;
    let orders: Vec<Value> = (0..60)
        .map(|n| json!({"id": format!("{n:02}"), "scenario": "sleeper", "params": {"for": format!("{}ms", 1200 + n * 5)}}))
        .collect();
    engine.post("/v1/orders/batch", &json!(orders)).await.unwrap().success().unwrap();
    let due = engine.wait_status("00", "sleep", PATIENCE).await.unwrap();
    let due = crate::installation::at(&due, "dueAt");
    for n in 0..60 {
        engine.reach(&format!("{n:02}"), "success").await;
    }
    let calls = engine.world().calls("/woken");
    let mut woken = callers(&calls);
    woken.sort_unstable();
    woken.dedup();
    assert_eq!((woken.len(), calls.len()), (60, 60), "each one once");
    let first = calls.iter().find(|call| call.body["order"] == "00").unwrap();
    let lag = first.at.duration_since(due).as_millis();
    assert!((0..1500).contains(&lag), "woken {lag} ms after its time");
    // ACT-6: each activator counts its own by stream and flow, and tells how late it is.
    let woken = async |labels: &str| {
        let mut sum = 0.0;
        for node in engine.nodes.iter().filter(|node| node.spec.role == Role::Activator) {
            sum += engine.metric(node, &format!("pagurus_activations_total{labels}")).await;
        }
        sum
    };
    let of_flow = "{stream=\"sleep_youngest\",flow=\"sleeper\"}";
    until("all are counted", PATIENCE, async || woken(of_flow).await == 60.0).await;
    assert_eq!(woken("").await, 60.0, "a count of another stream or flow");
    let late = engine.metric(engine.node(Role::Activator), "pagurus_activation_lag_seconds").await;
    assert!((0.0..1.5).contains(&late), "{late} s late");
}

#[tokio::test]
async fn act_3_4_a_wake_up_that_nobody_took_is_repeated_and_is_no_lost_one_while_it_only_waits() {
    let mut engine = Installation::with(
        "act_3",
        &[("PAGURUS__ACTIVATION__MIN_SHIFT", "300ms"), ("PAGURUS__NODE__LOST_AFTER", "1500ms")],
    )
    .await;
    engine.scenario("sleeper", SLEEPER).await;
    for n in 0..5 {
        engine.accepted(json!({"id": n.to_string(), "scenario": "sleeper", "params": {"for": "1h"}})).await;
    }
    for n in 0..5 {
        engine.wait_status(&n.to_string(), "sleep", PATIENCE).await.unwrap();
    }
    // Nobody can take the orders when they are due: they wait for a worker, and nothing is lost by that.
    engine.node(Role::Worker).kill().await.unwrap();
    let database = engine.database().await;
    assert_eq!(database.execute("UPDATE due SET due_at = now()", &[]).await.unwrap(), 5);
    until("the commands were repeated", PATIENCE, async || {
        let repeated =
            "SELECT count(*) FROM ready WHERE stream IS NOT NULL AND repeat_at > since + interval '1 second'";
        database.query_one(repeated, &[]).await.unwrap().get::<_, i64>(0) == 5
    })
    .await;
    assert_eq!(
        engine.order("0").await.unwrap()["status"],
        "sleep",
        "ORD-29: its status stays until it is claimed"
    );
    engine.add(Role::Worker, "worker-2").await;
    for n in 0..5 {
        engine.reach(&n.to_string(), "success").await;
    }
    let calls = engine.world().calls("/woken");
    let mut woken = callers(&calls);
    woken.sort_unstable();
    assert_eq!(woken, ["0", "1", "2", "3", "4"]);
    for role in [Role::Activator, Role::Dispatcher] {
        let counted = engine.metric(engine.node(role), "pagurus_activation_repeats").await;
        assert_eq!(counted, 0.0, "the {role} took a backlog for lost commands");
    }
}

#[tokio::test]
async fn act_3_a_wake_up_whose_command_was_lost_runs_all_the_same_and_is_counted() {
    let roles = [Role::Intake, Role::Dispatcher, Role::Worker, Role::Notifier];
    let mut engine = Installation::only("act_3_lost", &roles, &[]).await;
    let proxy = Proxy::start(&host_of(engine.env().amqp_url())).await.unwrap();
    let behind = proxy.url(engine.env().amqp_url());
    engine.add_with(Role::Activator, "activator-1", &[("PAGURUS__BROKER__URL", &behind)]).await;
    engine.scenario("sleeper", SLEEPER).await;
    engine.accepted(json!({"id": "a", "scenario": "sleeper", "params": {"for": "1500ms"}})).await;
    engine.wait_status("a", "sleep", PATIENCE).await.unwrap();
    // It wakes the order in the tables, and cannot tell anybody.
    proxy.set(Mode::Cut);
    engine.reach("a", "success").await;
    let dispatcher = engine.node(Role::Dispatcher).clone();
    until("the lost command is counted", PATIENCE, async || {
        engine.metric(&dispatcher, "pagurus_activation_repeats_total").await == 1.0
    })
    .await;
    assert_eq!(engine.world().calls("/woken").len(), 1);
}

// ACT-5: what is due at once is woken as it is worked off, and what is held back of one flow keeps no other waiting.
#[tokio::test]
async fn act_5_a_mass_that_is_due_at_once_is_woken_at_the_pace_of_its_flow_and_holds_up_no_other() {
    const MASS: i64 = 4000;
    const LEAST: i64 = 1000;
    let settings = [("PAGURUS__ACTIVATION__BATCH", "100")];
    let roles = [Role::Intake, Role::Dispatcher, Role::Activator, Role::Notifier];
    let mut engine = Installation::only("act_5", &roles, &settings).await;
    for scenario in ["mass", "other"] {
        engine.actions(scenario, LOG).await;
    }
    let later = |id: String, scenario: &str| json!({"id": id, "scenario": scenario, "lifecycle": {"startAt": "2099-01-01T00:00:00Z"}});
    let mass: Vec<Value> = (0..MASS).map(|n| later(format!("m-{n}"), "mass")).collect();
    engine.post("/v1/orders/batch", &json!(mass)).await.unwrap().success().unwrap();
    let database = engine.database().await;
    let count = async |table: &str| {
        let sql = format!("SELECT count(*) FROM {table}");
        database.query_one(&sql, &[]).await.unwrap().get::<_, i64>(0)
    };
    database.execute("UPDATE due SET due_at = now()", &[]).await.unwrap();
    until("as much is woken as may be", PATIENCE, async || count("ready").await >= LEAST).await;
    // Amid the others, and at the same moment as they: no order of the times finds it first.
    engine.accepted(later("hidden".into(), "other")).await;
    database
        .execute("UPDATE due SET due_at = (SELECT min(due_at) FROM due) WHERE due_at > now()", &[])
        .await
        .unwrap();
    engine.accepted(later("newest".into(), "other")).await;
    database.execute("UPDATE due SET due_at = now() WHERE due_at > now()", &[]).await.unwrap();
    until("the other flow is woken", PATIENCE, async || count("ready WHERE flow = 'other'").await == 2).await;
    let woken = count("ready WHERE flow = 'mass'").await;
    assert!((LEAST..=2 * LEAST).contains(&woken), "{woken} of {MASS} are woken, and nobody works");
    let activator = engine.node(Role::Activator);
    let held = "pagurus_activation_held{stream=\"postponed\"}";
    engine.until_metric(activator, held, |flows| flows == 1.0).await;
    engine.add(Role::Worker, "worker-1").await;
    engine.run(json!({"id": "fresh", "scenario": "other"}), "success").await;
    for id in ["hidden", "newest"] {
        engine.reach(id, "success").await;
    }
    until("all are done", 4 * PATIENCE, async || count("due").await + count("ready").await == 0).await;
}

#[tokio::test]
async fn act_1_a_start_time_is_waited_for() {
    let engine = Installation::start("act_1_start").await;
    engine.actions("one", &crate::installation::call("/do")).await;
    let start = jiff::Timestamp::now().checked_add(Duration::from_millis(900)).unwrap();
    let order = json!({"id": "a", "scenario": "one", "lifecycle": {"startAt": start.to_string()}});
    let answer = engine.submit(&order).await;
    assert_eq!((answer.status, &answer.body["orderStatus"]), (201, &json!("postponed")), "{answer:?}");
    engine.reach("a", "success").await;
    let called = engine.calls("/do", 1).await[0].at;
    assert!(called >= start, "{called} {start}");
}

#[tokio::test]
async fn act_2_what_a_stage_did_before_counts_for_no_sleep() {
    let engine = Installation::start("act_2_bound").await;
    let mut streams = Vec::new();
    for length in ["23h", "1d", "25h"] {
        let text = format!(
            "initialState: nap\ntargetStates: [done]\nstates:\n  nap: {{actions: [{{log: first}}, {{sleep: {{for: {length}}}}}], on: {{sleep: asleep}}}}\n  \
             asleep: {{kind: sleeping, on: {{timeout: done}}}}\n  done: {{kind: terminal}}\n"
        );
        let name = format!("nap-{length}");
        engine.scenario(&name, &text).await;
        engine.accepted(json!({"id": name, "scenario": name})).await;
        engine.reach(&name, "sleep").await;
        let asked = "SELECT d.stream::integer FROM due d JOIN orders o ON o.no = d.order_no WHERE o.id = $1";
        streams.push(engine.database().await.query_one(asked, &[&name]).await.unwrap().get::<_, i32>(0));
    }
    assert!(streams[0] == streams[1] && streams[1] != streams[2], "{streams:?}");
}
