//! Services of several roles in one process: `pagurus serve` (RUN-1).

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use pagurus_harness::client::amqp::{Inbox, Message};
use pagurus_harness::nodes::Role;
use pagurus_harness::world::program::{CallBack, Program};
use serde_json::{Value, json};

use crate::installation::{Installation, PATIENCE, asking, call, callers, until};

/// Orders of each kind.
const EACH: usize = 60;

/// Parallel orders and sequential ones.
fn orders(round: &str) -> Vec<Value> {
    let mut orders = Vec::new();
    for number in 0..EACH {
        let notify = json!({"url": "amqp://?key=told"});
        orders.extend([
            json!({"id": format!("{round}-p{number}"), "scenario": "one", "notify": notify}),
            json!({"id": format!("{round}-q{number}"), "scenario": "one", "mode": "sequential", "queue": format!("q{}", number % 3)}),
        ]);
    }
    orders
}

async fn prepare(engine: &Installation) -> Inbox {
    engine.actions("one", &call("/one")).await;
    engine.world().program(Program::at("/ask").calling_back(CallBack::with(json!({"code": 0}))));
    engine.scenario("asks", &asking("/ask", "2m")).await;
    let amqp = engine.env().amqp().await.unwrap();
    amqp.listen(&format!("{}.notifications", engine.env().prefix()), "#").await.unwrap()
}

/// Orders that wait for an answer; none is sent again that comes while nobody takes it.
fn questions(round: &str) -> Vec<Value> {
    (0..EACH).map(|number| json!({"id": format!("{round}-a{number}"), "scenario": "asks"})).collect()
}

async fn succeed(engine: &Installation, round: &str, count: usize) {
    until("all have succeeded", 3 * PATIENCE, async || {
        let counts = engine.get(&format!("/v1/counts?idPrefix={round}-&by=status")).await.unwrap().body;
        let items = counts["items"].as_array().unwrap();
        let done = items.iter().find(|item| item["key"][0] == "success");
        done.is_some_and(|done| done["orders"] == count)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn run_1_all_services_in_one_process_do_what_five_processes_do() {
    let engine = Installation::in_one_process("run_1_serve").await;
    let inbox = prepare(&engine).await;
    engine
        .post("/v1/orders/batch", &json!([orders("r"), questions("r")].concat()))
        .await
        .unwrap()
        .success()
        .unwrap();
    succeed(&engine, "r", 3 * EACH).await;
    let calls = engine.world().calls("/one");
    let distinct: BTreeSet<&str> = callers(&calls).into_iter().collect();
    assert_eq!((calls.len(), distinct.len()), (2 * EACH, 2 * EACH), "each once");
    let received = inbox.wait(PATIENCE, |messages| messages.len() >= EACH).await.unwrap();
    assert_eq!(received.len(), EACH);

    // Nothing waits for what only a look at the tables would find: every two seconds one for stages, after four one for notifications.
    let begun = Instant::now();
    for number in 0..10 {
        engine
            .run(
                json!({"id": format!("s{number}"), "scenario": "one", "notify": {"url": "amqp://?key=told"}}),
                "success",
            )
            .await;
    }
    inbox.wait(Duration::from_secs(4), |messages| messages.len() >= EACH + 10).await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(inbox.messages().len(), EACH + 10, "each is reported once");

    let roles: BTreeSet<String> = engine.get("/v1/nodes").await.unwrap().body["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| node["role"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(roles.len(), 5, "{roles:?}");
    engine.nodes[0].stop(PATIENCE).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn run_1_a_process_of_all_roles_works_beside_others_and_its_death_loses_nothing() {
    let mut engine = Installation::in_one_process("run_1_beside").await;
    let inbox = prepare(&engine).await;
    engine.add(Role::Worker, "worker-2").await;
    engine.add(Role::Notifier, "notifier-2").await;
    engine
        .post("/v1/orders/batch", &json!([orders("r"), questions("r")].concat()))
        .await
        .unwrap()
        .success()
        .unwrap();
    succeed(&engine, "r", 3 * EACH).await;
    inbox.wait(PATIENCE, |messages| messages.len() >= EACH).await.unwrap();
    let mut workers = BTreeSet::new();
    for number in 0..EACH {
        for transition in engine.transitions(&format!("r-p{number}")).await.unwrap() {
            workers.extend(transition["node"].as_str().map(str::to_owned));
        }
    }
    assert_eq!(workers.len(), 2, "both work: {workers:?}");

    engine.post("/v1/orders/batch", &json!(orders("k"))).await.unwrap().success().unwrap();
    engine.calls("/one", 2 * EACH + 20).await;
    engine.nodes[0].kill().await.unwrap();
    engine.restart(Role::Intake).await;
    succeed(&engine, "k", 2 * EACH).await;
    let distinct = |messages: &[Message]| {
        let ids = messages.iter().filter_map(|message| message.body["id"].as_str().map(str::to_owned));
        ids.collect::<BTreeSet<String>>().len()
    };
    inbox.wait(PATIENCE, |messages| distinct(messages) == 2 * EACH).await.unwrap();
}
