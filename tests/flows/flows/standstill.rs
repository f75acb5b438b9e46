//! A stop of flows with many orders in every place: nothing of them is repeated, counted as an attempt, or out of time
//! (DSP-10, DSP-11, DSP-16, ACT-3).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pagurus_harness::nodes::Role;
use pagurus_harness::world::program::{Program, Step};
use serde_json::{Value, json};

use crate::installation::{Installation, asking, call, until, with_actions};

/// Orders of each kind; `PAGURUS_TEST_STANDSTILL` says another number.
const EACH: usize = 60;
/// A stop, within which everything below runs out. What is short enough to be waited for, and long enough for the
/// orders to come to their places before.
const LENGTH: &str = "25s";
const LASTS: Duration = Duration::from_secs(25);
/// Until then all orders must have ended, on a machine that is busy with other things.
const ENDED_WITHIN: Duration = Duration::from_secs(540);

const SETTINGS: &str = "
execution:
  error_handling:
    sync:
      classification:
        rules:
          r: {requests: [{path: '/**'}], classes: {down: {responses: [{status_codes: [503]}]}}}
      retry:
        policies:
          p: {error_classes: [down], parameters: {initial_interval: 18s, max_interval: 18s, jitter: 0, max_duration: 20s}}
";

const POLLS: &str = r#"initialState: ask
states:
  ask:
    kind: polling
    poll: {interval: 15s, timeout: 20s}
    actions:
      - http: {url: "${config.demo}/state", timeout: 5s}
      - script: |
          if response.body.n == 1 { success() } else { poll() }
    on: {success: done, fail: failed, timeout: failed}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
"#;

/// Asleep, with an end of the whole process within the stop.
const NAPS: &str = "timeouts: {process: 20s}\ninitialState: nap\nstates:\n  nap: {actions: [{sleep: {for: 15s}}], \
                    on: {sleep: napping}}\n  napping: {kind: sleeping, on: {timeout: done}}\n  done: {kind: terminal}\n";

fn each() -> usize {
    std::env::var("PAGURUS_TEST_STANDSTILL").ok().and_then(|each| each.parse().ok()).unwrap_or(EACH)
}

async fn submit(engine: &Installation, orders: Vec<Value>) {
    for batch in orders.chunks(500) {
        engine.post("/v1/orders/batch", &json!(batch)).await.unwrap().success().unwrap();
    }
}

/// Orders of a kind, each with this besides.
fn of(kind: &str, more: impl Fn(usize) -> Value) -> Vec<Value> {
    let order = |n: usize| {
        let mut order = json!({"id": format!("{kind}{n}"), "scenario": format!("works-{kind}")});
        for (name, value) in more(n).as_object().into_iter().flatten() {
            order[name.as_str()] = value.clone();
        }
        order
    };
    (0..each()).map(order).collect()
}

async fn count(database: &tokio_postgres::Client, condition: &str) -> usize {
    number(database, &format!("SELECT count(*) FROM orders WHERE flow <> 'others' AND {condition}")).await
}

async fn number(database: &tokio_postgres::Client, sql: &str) -> usize {
    usize::try_from(database.query_one(sql, &[]).await.unwrap().get::<_, i64>(0)).unwrap()
}

/// The scenarios of all kinds, and a system that fails until it is healed.
async fn prepare(engine: &Installation) -> Arc<AtomicBool> {
    let healed = Arc::new(AtomicBool::new(false));
    let switch = healed.clone();
    engine.world().program(Program::at("/fragile").decided_by(move |_| {
        if switch.load(Ordering::Relaxed) { Step::fine() } else { Step::answer(503, json!({})) }
    }));
    let switch = healed.clone();
    engine.world().program(
        Program::at("/state")
            .decided_by(move |_| Step::answer(200, json!({"n": i32::from(switch.load(Ordering::Relaxed))}))),
    );
    engine.actions("works-retry", &call("/fragile")).await;
    engine.scenario("works-wait", &asking("/ask", "18s")).await;
    engine.scenario("works-nap", NAPS).await;
    engine.scenario("works-poll", POLLS).await;
    let ready = format!("timeouts: {{process: 12s}}\n{}", with_actions(&call("/ready")));
    engine.scenario("works-ready", &ready).await;
    engine.actions("others", &call("/others")).await;
    healed
}

/// Deaths and a take-over while the flows are stopped; the orders of others go on.
async fn disturb(engine: &mut Installation) {
    engine.add(Role::Dispatcher, "dispatcher-2").await;
    engine.run(json!({"id": "other-1", "scenario": "others"}), "success").await;
    engine.node(Role::Dispatcher).kill().await.unwrap();
    engine.run(json!({"id": "other-2", "scenario": "others"}), "success").await;
    engine.node(Role::Activator).kill().await.unwrap();
    engine.restart(Role::Activator).await;
}

#[tokio::test]
async fn dsp_11_a_stop_of_many_orders_leaves_no_repeat_no_attempt_burnt_and_no_time_out() {
    let mut engine = Installation::configured("standstill", SETTINGS).await;
    let healed = prepare(&engine).await;
    let each = each();
    let database = engine.database().await;
    for kind in ["retry", "wait", "nap", "poll"] {
        submit(&engine, of(kind, |_| json!({}))).await;
    }
    let suspended = "status IN ('retry', 'wait', 'sleep', 'polling')";
    until("all wait, retry, sleep or poll", Duration::from_secs(10), async || {
        count(&database, suspended).await == 4 * each
    })
    .await;
    let window = json!({"flow": "works", "for": LENGTH, "shift": true, "reason": "works"});
    let made = engine.post("/v1/windows", &window).await.unwrap().success().unwrap();
    let end = Instant::now() + LASTS;
    assert_eq!(made["confirmed"], true, "{made}");
    // What comes while the flows are stopped, with deadlines within that time; a part of it in queues.
    submit(&engine, of("ready", |_| json!({}))).await;
    let queued =
        |n: usize| json!({"id": format!("queued{n}"), "mode": "sequential", "queue": format!("q{}", n % 7)});
    submit(&engine, of("ready", queued)).await;

    disturb(&mut engine).await;
    until("all are moved", LASTS, async || {
        number(&database, "SELECT count(*) FROM shifted").await == 6 * each
    })
    .await;
    assert_eq!(
        count(&database, "status IN ('success', 'fail')").await,
        0,
        "something of the stopped flows ran"
    );
    healed.store(true, Ordering::Relaxed);
    tokio::time::sleep(end.saturating_duration_since(Instant::now())).await;
    for call in engine.world().calls("/ask") {
        let url = call.headers["x-callback-url"].clone();
        engine.env().http().post(url).json(&json!({"ok": true})).send().await.unwrap();
    }

    until("all have ended", ENDED_WITHIN, async || {
        count(&database, "finished_at IS NOT NULL").await == 6 * each
    })
    .await;
    assert_eq!(count(&database, "status = 'success'").await, 6 * each, "something ran out of time");
    let burnt = count(&database, "flow LIKE 'works-retry%' AND retries <> 1").await;
    assert_eq!(burnt, 0, "an attempt was burnt");
    let living = engine.nodes.iter().filter(|node| node.identity.alive());
    for dispatcher in living.filter(|node| node.spec.role == Role::Dispatcher) {
        let repeats = engine.metric(dispatcher, "pagurus_activation_repeats_total").await;
        assert_eq!(repeats, 0.0, "{}", dispatcher.spec.name);
    }
}
