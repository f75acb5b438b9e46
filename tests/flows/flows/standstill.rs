//! A stop of flows with many orders in every place: nothing of them is repeated, counted as an attempt, or out of time
//! (DSP-10, DSP-11, DSP-16, ACT-3).
//!
//! `PAGURUS_TEST_STANDSTILL` says how many orders in all, and every time follows: 100 000 stand still for some nine minutes.
//! With `PAGURUS_TEST_PROGRAMS` the services are those of another folder, built for speed; the table is printed either way.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pagurus_harness::nodes::Role;
use pagurus_harness::world::program::{Program, Step};
use serde_json::{Value, json};

use crate::installation::{Installation, asking, call, until, with_actions};

/// Orders in all, a sixth of each kind; `PAGURUS_TEST_STANDSTILL` says another number.
const ORDERS: usize = 360;
/// Orders in a second that come to their places, at least.
const RATE: f64 = 300.0;
/// Times in the texts below are counted in this unit: as much as the orders need to come to their places, in ten parts. A
/// stop lasts 25 of them, and everything below runs out within it.
const LENGTH: f64 = 25.0;

/// Duration of the test, by its size.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// Orders of each kind.
    each: usize,
    /// Seconds of one unit of time.
    unit: f64,
}

impl Pace {
    fn of_test() -> Self {
        let orders = std::env::var("PAGURUS_TEST_STANDSTILL").ok().and_then(|orders| orders.parse().ok());
        let each = orders.unwrap_or(ORDERS) / 6;
        // Four kinds come to their places before the stop begins.
        Self { each, unit: ((4 * each) as f64 / RATE / 10.0).max(1.0) }
    }

    fn lasts(self, units: f64) -> Duration {
        Duration::from_secs_f64((units * self.unit).round())
    }

    /// Sleeps between two looks at all orders, which take longer the more there are.
    async fn rest(self) {
        tokio::time::sleep(Duration::from_secs_f64(self.unit / 20.0)).await;
    }

    /// Returns the text with its times, each written `<18>` for 18 units.
    fn timed(self, text: &str) -> String {
        let mut parts = text.split('<');
        let mut whole = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (units, rest) = part.split_once('>').expect("a time in pointed brackets");
            let seconds = self.lasts(units.parse().unwrap()).as_secs();
            whole.push_str(&format!("{seconds}s{rest}"));
        }
        whole
    }
}

const SETTINGS: &str = "
execution:
  error_handling:
    sync:
      classification:
        rules:
          r: {requests: [{path: '/**'}], classes: {down: {responses: [{status_codes: [503]}]}}}
      retry:
        policies:
          p: {error_classes: [down], parameters: {initial_interval: <18>, max_interval: <18>, jitter: 0, max_duration: <20>}}
";

const POLLS: &str = r#"initialState: ask
states:
  ask:
    kind: polling
    poll: {interval: <15>, timeout: <24>}
    actions:
      - http: {url: "${config.demo}/state", timeout: 5s}
      - script: |
          if response.body.n == 1 { success() } else { poll() }
    on: {success: done, fail: failed, timeout: failed}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
"#;

/// Asleep, with an end of the whole process within the stop.
const NAPS: &str = "timeouts: {process: <24>}\ninitialState: nap\nstates:\n  nap: {actions: [{sleep: {for: <15>}}], \
                    on: {sleep: napping}}\n  napping: {kind: sleeping, on: {timeout: done}}\n  done: {kind: terminal}\n";

async fn submit(engine: &Installation, orders: Vec<Value>) {
    for batch in orders.chunks(500) {
        engine.post("/v1/orders/batch", &json!(batch)).await.unwrap().success().unwrap();
    }
}

/// Orders of a kind, each with this besides.
fn of(pace: Pace, kind: &str, more: impl Fn(usize) -> Value) -> Vec<Value> {
    let order = |n: usize| {
        let mut order = json!({"id": format!("{kind}{n}"), "scenario": format!("works-{kind}")});
        for (name, value) in more(n).as_object().into_iter().flatten() {
            order[name.as_str()] = value.clone();
        }
        order
    };
    (0..pace.each).map(order).collect()
}

async fn count(database: &tokio_postgres::Client, condition: &str) -> usize {
    number(database, &format!("SELECT count(*) FROM orders WHERE flow <> 'others' AND {condition}")).await
}

async fn number(database: &tokio_postgres::Client, sql: &str) -> usize {
    usize::try_from(database.query_one(sql, &[]).await.unwrap().get::<_, i64>(0)).unwrap()
}

/// The scenarios of all kinds, and a system that fails until it is healed.
async fn prepare(engine: &Installation, pace: Pace) -> Arc<AtomicBool> {
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
    engine.scenario("works-wait", &asking("/ask", &pace.timed("<18>"))).await;
    engine.scenario("works-nap", &pace.timed(NAPS)).await;
    engine.scenario("works-poll", &pace.timed(POLLS)).await;
    let ready = format!("timeouts: {{process: <20>}}\n{}", with_actions(&call("/ready")));
    engine.scenario("works-ready", &pace.timed(&ready)).await;
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

/// Answers all that asked.
async fn call_back(engine: &Installation) {
    let calls = engine.world().calls("/ask");
    let urls: Vec<&String> = calls.iter().map(|call| &call.headers["x-callback-url"]).collect();
    for some in urls.chunks(50) {
        let http = engine.env().http();
        let posts = some.iter().map(|url| http.post(url.as_str()).json(&json!({"ok": true})).send());
        for answer in futures_util::future::join_all(posts).await {
            answer.unwrap().error_for_status().unwrap();
        }
    }
}

/// Wake-ups that were repeated, as all living dispatchers count them.
async fn repeats(engine: &Installation) -> f64 {
    let mut repeats = 0.0;
    for node in engine.nodes.iter().filter(|node| node.identity.alive() && node.spec.role == Role::Dispatcher)
    {
        repeats += engine.metric(node, "pagurus_activation_repeats_total").await;
    }
    repeats
}

#[tokio::test]
async fn dsp_11_a_stop_of_many_orders_leaves_no_repeat_no_attempt_burnt_and_no_time_out() {
    let pace = Pace::of_test();
    let mut engine = Installation::configured("standstill", &pace.timed(SETTINGS)).await;
    let healed = prepare(&engine, pace).await;
    let (each, all) = (pace.each, 6 * pace.each);
    let database = engine.database().await;
    let begun = Instant::now();
    for kind in ["retry", "wait", "nap", "poll"] {
        submit(&engine, of(pace, kind, |_| json!({}))).await;
    }
    let suspended = "status IN ('retry', 'wait', 'sleep', 'polling')";
    until("all wait, retry, sleep or poll", pace.lasts(10.0), async || {
        pace.rest().await;
        count(&database, suspended).await == 4 * each
    })
    .await;
    let placed = begun.elapsed();
    let window = json!({"flow": "works", "for": pace.timed("<25>"), "shift": true, "reason": "works"});
    let made = engine.post("/v1/windows", &window).await.unwrap().success().unwrap();
    let (begun, end) = (Instant::now(), Instant::now() + pace.lasts(LENGTH));
    assert_eq!(made["confirmed"], true, "{made}");
    // What comes while the flows are stopped, with deadlines within that time; a part of it in queues.
    submit(&engine, of(pace, "ready", |_| json!({}))).await;
    let queued =
        |n: usize| json!({"id": format!("queued{n}"), "mode": "sequential", "queue": format!("q{}", n % 7)});
    submit(&engine, of(pace, "ready", queued)).await;

    disturb(&mut engine).await;
    until("all are moved", pace.lasts(LENGTH), async || {
        pace.rest().await;
        number(&database, "SELECT count(*) FROM shifted").await == all
    })
    .await;
    let moved = begun.elapsed();
    healed.store(true, Ordering::Relaxed);
    let nearly = end.saturating_duration_since(Instant::now()).saturating_sub(Duration::from_secs(1));
    tokio::time::sleep(nearly).await;
    assert_eq!(
        count(&database, "status IN ('success', 'fail')").await,
        0,
        "something of the stopped flows ran"
    );
    tokio::time::sleep(end.saturating_duration_since(Instant::now())).await;
    let ended = Instant::now();
    call_back(&engine).await;
    // On a machine that is busy with other things.
    until("all have ended", pace.lasts(120.0).max(Duration::from_secs(540)), async || {
        pace.rest().await;
        count(&database, "finished_at IS NOT NULL").await == all
    })
    .await;
    let drained = ended.elapsed();
    let failed = all - count(&database, "status = 'success'").await;
    let burnt = count(&database, "flow LIKE 'works-retry%' AND retries <> 1").await;
    let repeats = repeats(&engine).await;
    println!(
        "{all} orders came to their places in {placed:.0?}, stood still for {:?}, were all moved after {moved:.0?}, and had \
         ended {drained:.0?} after the stop; {failed} failed or ran out of time, {burnt} attempts burnt, {repeats} repeats",
        pace.lasts(LENGTH),
    );
    assert_eq!(failed, 0, "something ran out of time");
    assert_eq!(burnt, 0, "an attempt was burnt");
    assert_eq!(repeats, 0.0);
}
