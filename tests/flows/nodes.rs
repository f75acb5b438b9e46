//! Nodes taken out of service and put back (REC-8), and what is answered while one is dead (REC-11).

use pagurus_harness::nodes::{Node, Role};
use pagurus_harness::world::program::{CallBack, Program, Step};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::err::pagurus;
use crate::installation::{Installation, LOG, PATIENCE, asking, call, until};
use crate::refused::send;

const SLEEPER: &str = r#"initialState: doze
states:
  doze: {actions: [{sleep: {for: 300ms}}], on: {sleep: dozing}}
  dozing: {kind: sleeping, on: {timeout: done}}
  done: {kind: terminal}
"#;

/// Takes a node out of service, or puts it back.
async fn ask(engine: &Installation, role: Role, name: &str, order: &str) -> Value {
    let path = format!("/v1/nodes/{role}/{name}/{order}");
    engine.post(&path, &json!({"reason": "a test"})).await.unwrap().success().unwrap()
}

async fn listed(engine: &Installation, name: &str) -> Value {
    let nodes = engine.get("/v1/nodes").await.unwrap().success().unwrap();
    let of_name = nodes["items"].as_array().unwrap().iter().filter(|node| node["name"] == name);
    // The last life of that name.
    of_name
        .max_by_key(|node| node["incarnation"].as_i64())
        .cloned()
        .unwrap_or_else(|| panic!("{name}: {nodes}"))
}

/// Returns the node as soon as it has this status.
async fn wait_status(engine: &Installation, name: &str, status: &str) -> Value {
    until(&format!("{name} is {status}"), PATIENCE, async || listed(engine, name).await["status"] == status)
        .await;
    listed(engine, name).await
}

/// Returns the node once it is out of service and has nothing in hand.
async fn wait_empty(engine: &Installation, name: &str) {
    until(&format!("{name} has nothing in hand"), PATIENCE, async || {
        let node = listed(engine, name).await;
        node["status"] == "offline" && node["left"] == 0
    })
    .await;
}

async fn readiness(engine: &Installation, node: &Node) -> (u16, Value) {
    let answer = engine.env().http().get(format!("{}/readyz", node.url())).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

#[tokio::test]
async fn rec_8_a_worker_taken_offline_ends_what_it_has_takes_nothing_new_and_stays_so_over_a_restart() {
    let mut engine = Installation::start("rec_8_worker").await;
    let gate = watch::Sender::new(false);
    engine
        .world()
        .program(Program::at("/slow").first(1, &Step { hold: Some(gate.subscribe()), ..Step::fine() }));
    engine.actions("slow", &call("/slow").replace("timeout: 5s", "timeout: 2m")).await;
    engine.accepted(json!({"id": "a", "scenario": "slow"})).await;
    engine.calls("/slow", 1).await;

    let outcome = ask(&engine, Role::Worker, "worker-1", "offline").await;
    assert_eq!((&outcome["changed"], &outcome["others"]), (&json!(true), &json!(0)), "{outcome}");
    assert_eq!(ask(&engine, Role::Worker, "worker-1", "offline").await["changed"], false);
    let node = wait_status(&engine, "worker-1", "offline").await;
    assert_eq!((&node["left"], &node["offline"]["reason"]), (&json!(1), &json!("a test")), "{node}");
    assert!(node["statusSince"].as_str() > node["startedAt"].as_str(), "{node}");
    let worker = engine.node(Role::Worker).clone();
    assert_eq!(readiness(&engine, &worker).await.0, 503);
    engine.accepted(json!({"id": "b", "scenario": "slow"})).await;
    engine.add(Role::Worker, "worker-2").await;
    engine.reach("b", "success").await;
    assert_eq!(engine.transitions("b").await.unwrap()[0]["node"], "worker-2");
    gate.send_replace(true);
    engine.reach("a", "success").await;
    assert_eq!(engine.transitions("a").await.unwrap()[0]["node"], "worker-1", "it ended what it had");
    wait_empty(&engine, "worker-1").await;
    assert_eq!(engine.world().calls("/slow").len(), 2, "nothing ran twice");

    // Another life of the same name; and the other one goes.
    worker.stop(PATIENCE).await.unwrap();
    let second = engine.nodes.iter().find(|node| node.spec.name == "worker-2").unwrap().clone();
    let back = async {
        wait_status(&engine, "worker-1", "offline").await;
        second.stop(PATIENCE).await.unwrap();
        engine.accepted(json!({"id": "c", "scenario": "slow"})).await;
        until("the dispatcher sees nobody who takes it", PATIENCE, async || {
            engine.metric(engine.node(Role::Dispatcher), "pagurus_ready{").await > 0.0
        })
        .await;
        assert_eq!(engine.order("c").await.unwrap()["status"], "new");
        ask(&engine, Role::Worker, "worker-1", "online").await;
    };
    let (again, ()) = tokio::join!(engine.env().restart(&worker), back);
    again.unwrap();
    engine.reach("c", "success").await;
    assert!(listed(&engine, "worker-1").await["offline"].is_null());
}

// A node that lives keeps its work, also while it is offline; what one leaves behind that died goes on elsewhere.
#[tokio::test]
async fn rec_8_10_a_worker_that_dies_while_it_is_offline_loses_no_work() {
    let mut engine = Installation::with("rec_8_dies", &[("PAGURUS__NODE__LOST_AFTER", "1200ms")]).await;
    engine.world().program(Program::at("/hang").hang(1));
    engine.actions("hang", "- http: {method: POST, url: \"${config.demo}/hang\", timeout: 2m}").await;
    engine.accepted(json!({"id": "a", "scenario": "hang", "transactionId": "t-77"})).await;
    engine.calls("/hang", 1).await;
    ask(&engine, Role::Worker, "worker-1", "offline").await;
    wait_status(&engine, "worker-1", "offline").await;
    engine.add(Role::Worker, "worker-2").await;
    // Longer than a silent node would be borne: it is not silent.
    engine.actions("one", &call("/do")).await;
    engine.run(json!({"id": "b", "scenario": "one"}), "success").await;
    assert_eq!(listed(&engine, "worker-1").await["left"], 1);
    engine.node(Role::Worker).kill().await.unwrap();
    engine.reach("a", "success").await;
    let log = engine.part("a", "log").await.to_string();
    assert!(log.contains("FAILOVER from worker-1 (life ") && log.contains(" to worker-2"), "{log}");
    let log = std::fs::read_to_string(&engine.node(Role::Activator).spec.log).unwrap();
    let line = log.lines().find(|line| line.contains("FAILOVER from worker-1")).unwrap();
    assert!(line.contains("t-77") && line.contains("order"), "{line}");
    until("nothing is left of it", PATIENCE, async || listed(&engine, "worker-1").await["left"] == 0).await;
    let lost = listed(&engine, "worker-1").await;
    assert_eq!(
        (&lost["status"], &lost["offline"]["reason"]),
        (&json!("lost"), &json!("a test")),
        "the mark stays"
    );
}

#[tokio::test]
async fn rec_8_an_intake_taken_offline_leaves_messages_to_others_and_answers_on() {
    let engine = Installation::start("rec_8_intake").await;
    engine.actions("quick", LOG).await;
    ask(&engine, Role::Intake, "intake-1", "offline").await;
    wait_empty(&engine, "intake-1").await;
    let (status, body) = readiness(&engine, engine.node(Role::Intake)).await;
    assert_eq!((status, &body["service"]), (503, &json!("offline")), "{body}");
    let amqp = engine.env().amqp().await.unwrap();
    let order = json!({"id": "a", "scenario": "quick"});
    amqp.publish_orders("order.create", &[order], &lapin::BasicProperties::default()).await.unwrap();
    // Clients that still come are answered: a load balancer learns it from `/readyz`.
    engine.run(json!({"id": "b", "scenario": "quick"}), "success").await;
    assert_eq!(engine.get("/v1/orders/a").await.unwrap().status, 404, "it was taken from the queue");
    ask(&engine, Role::Intake, "intake-1", "online").await;
    engine.reach("a", "success").await;
    until("it is ready", PATIENCE, async || readiness(&engine, engine.node(Role::Intake)).await.0 == 200)
        .await;
}

#[tokio::test]
async fn rec_8_a_dispatcher_taken_offline_gives_its_lease_up_and_takes_none() {
    let mut engine = Installation::start("rec_8_dispatcher").await;
    engine.actions("quick", LOG).await;
    let active = wait_status(&engine, "dispatcher-1", "active").await;
    assert_eq!(active["offline"], Value::Null);
    ask(&engine, Role::Dispatcher, "dispatcher-1", "offline").await;
    wait_empty(&engine, "dispatcher-1").await;
    engine.accepted(json!({"id": "a", "scenario": "quick"})).await;
    engine.add(Role::Dispatcher, "dispatcher-2").await;
    engine.reach("a", "success").await;
    wait_status(&engine, "dispatcher-2", "active").await;
    // The lease is nobody's, and the one that is offline leaves it.
    ask(&engine, Role::Dispatcher, "dispatcher-2", "offline").await;
    wait_empty(&engine, "dispatcher-2").await;
    engine.accepted(json!({"id": "b", "scenario": "quick"})).await;
    assert_eq!(listed(&engine, "dispatcher-1").await["status"], "offline");
    ask(&engine, Role::Dispatcher, "dispatcher-1", "online").await;
    engine.reach("b", "success").await;
}

#[tokio::test]
async fn rec_8_an_activator_taken_offline_wakes_nothing_and_another_does() {
    let mut engine = Installation::start("rec_8_activator").await;
    engine.scenario("sleeper", SLEEPER).await;
    ask(&engine, Role::Activator, "activator-1", "offline").await;
    wait_empty(&engine, "activator-1").await;
    engine.accepted(json!({"id": "a", "scenario": "sleeper"})).await;
    engine.reach("a", "sleep").await;
    let database = engine.database().await;
    until("its time has come", PATIENCE, async || {
        let due = "SELECT count(*) FROM due WHERE due_at < now() - interval '300ms'";
        database.query_one(due, &[]).await.unwrap().get::<_, i64>(0) == 1
    })
    .await;
    engine.add(Role::Activator, "activator-2").await;
    engine.reach("a", "success").await;
    let woken = async |name: &str| {
        let node = engine.nodes.iter().find(|node| node.spec.name == name).unwrap();
        engine.metric(node, "pagurus_activations_total").await
    };
    assert_eq!((woken("activator-1").await, woken("activator-2").await), (0.0, 1.0));
}

#[tokio::test]
async fn rec_8_an_activator_taken_offline_checks_and_removes_nothing() {
    let engine = Installation::start("rec_8_walks").await;
    ask(&engine, Role::Activator, "activator-1", "offline").await;
    wait_empty(&engine, "activator-1").await;
    let database = engine.database().await;
    let walks = async || {
        let rows = database.query("SELECT name FROM walks ORDER BY name", &[]).await.unwrap();
        rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>()
    };
    // The one that takes a page of a walk writes its row first, and each walk has a page in half a second.
    database
        .batch_execute("DELETE FROM walks; CREATE TABLE emptied AS SELECT clock_timestamp() AS at")
        .await
        .unwrap();
    until("many pages could have been taken", PATIENCE, async || {
        let passed = "SELECT clock_timestamp() > at + interval '3 s' FROM emptied";
        database.query_one(passed, &[]).await.unwrap().get(0)
    })
    .await;
    assert_eq!(walks().await, Vec::<String>::new());
    ask(&engine, Role::Activator, "activator-1", "online").await;
    until("it goes on", PATIENCE, async || {
        let walks = walks().await;
        ["check", "retention"].iter().all(|walk| walks.iter().any(|name| name == walk))
    })
    .await;
}

#[tokio::test]
async fn rec_8_a_notifier_taken_offline_sends_nothing_and_goes_on_afterwards() {
    let engine = Installation::start("rec_8_notifier").await;
    engine.actions("quick", LOG).await;
    let amqp = engine.env().amqp().await.unwrap();
    let inbox = amqp.listen(&format!("{}.notifications", engine.env().prefix()), "#").await.unwrap();
    ask(&engine, Role::Notifier, "notifier-1", "offline").await;
    wait_empty(&engine, "notifier-1").await;
    engine.run(json!({"id": "a", "scenario": "quick", "notify": {"url": "amqp://?key=k"}}), "success").await;
    let database = engine.database().await;
    let waiting = "SELECT count(*) FROM outbox WHERE next_at < now()";
    until("its notification is due", PATIENCE, async || {
        database.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) == 1
    })
    .await;
    assert!(inbox.messages().is_empty(), "sent by a notifier that is offline");
    ask(&engine, Role::Notifier, "notifier-1", "online").await;
    inbox.wait(PATIENCE, |messages| messages.len() == 1).await.unwrap();
}

#[tokio::test]
async fn rec_8_an_order_to_a_node_that_never_was_names_those_that_are_and_a_reason_is_asked_for() {
    let engine = Installation::only("rec_8_unknown", &[Role::Intake], &[]).await;
    let asked = async |path: &str, body: Value| {
        let answer = engine.post(path, &body).await.unwrap();
        (answer.status, answer.body["detail"].as_str().unwrap_or_default().to_owned())
    };
    let reason = json!({"reason": "r"});
    let (status, detail) = asked("/v1/nodes/intake/intake-9/offline", reason.clone()).await;
    assert_eq!(status, 404);
    assert!(detail.contains("those that live: intake-1"), "{detail}");
    assert_eq!(asked("/v1/nodes/cook/intake-1/offline", reason.clone()).await.0, 404);
    assert_eq!(asked("/v1/nodes/intake/intake-1/away", reason).await.0, 404);
    assert_eq!(asked("/v1/nodes/intake/intake-1/offline", json!({})).await.0, 422);
    assert_eq!(asked("/v1/nodes/intake/intake-1/offline", json!({"reason": "r", "for": "1h"})).await.0, 422);
    assert_eq!(listed(&engine, "intake-1").await["offline"], Value::Null);
}

#[tokio::test]
async fn rec_11_status_progress_log_and_kill_are_answered_while_the_worker_of_an_order_is_dead() {
    let engine = Installation::with("rec_11", &[("PAGURUS__NODE__LOST_AFTER", "5m")]).await;
    engine.world().program(Program::at("/hang").hang(9));
    engine.actions("hang", "- http: {method: POST, url: \"${config.demo}/hang\", timeout: 2m}").await;
    engine.accepted(json!({"id": "a", "scenario": "hang"})).await;
    engine.calls("/hang", 1).await;
    engine.node(Role::Worker).kill().await.unwrap();
    for part in ["status", "progress", "log", "events", "explain"] {
        let answer = engine.get(&format!("/v1/orders/a/{part}")).await.unwrap();
        assert_eq!(answer.status, 200, "{part}: {answer:?}");
    }
    assert_eq!(engine.order("a").await.unwrap()["status"], "running");
    engine.act("a", "kill", &json!({"reason": "its worker is dead"})).await.success().unwrap();
    assert_eq!(engine.order("a").await.unwrap()["status"], "canceled");
}

// REC-10: a program that is at a task of a stage is asked to stop before the stage is handed out again.
#[tokio::test]
async fn rec_10_an_actor_is_asked_to_stop_before_the_stage_of_a_lost_worker_hands_its_task_out_again() {
    let settings = [("PAGURUS__NODE__LOST_AFTER", "1200ms")];
    let roles = [Role::Intake, Role::Dispatcher, Role::Activator, Role::Notifier];
    let mut engine = Installation::only("rec_10_actor", &roles, &settings).await;
    engine
        .actions("score", "- actor: {name: scoring, workTimeout: 5m}\n- script: 'result(response.body)'")
        .await;
    let amqp = engine.env().amqp().await.unwrap();
    let exchange = format!("{}.actors", engine.env().prefix());
    let tasks = amqp.listen(&exchange, "scoring").await.unwrap();
    let cancels = amqp.listen(&exchange, "cancel:scoring").await.unwrap();
    engine.accepted(json!({"id": "a", "scenario": "score"})).await;
    // The task is queued, and the end of its stage cannot be written.
    let mut database = engine.database().await;
    let locked = database.transaction().await.unwrap();
    locked.execute("SELECT no FROM orders FOR UPDATE", &[]).await.unwrap();
    let worker = engine.add(Role::Worker, "worker-1").await;
    let first = tasks.wait(PATIENCE, |tasks| tasks.len() == 1).await.unwrap().remove(0);
    worker.kill().await.unwrap();
    locked.rollback().await.unwrap();
    let cancel = cancels.wait(PATIENCE, |cancels| cancels.len() == 1).await.unwrap().remove(0);
    assert_eq!(
        (&cancel.body["pass"], &cancel.body["order"], &cancel.body["reason"]),
        (&first.body["pass"], &json!("a"), &json!("node_lost")),
        "{}",
        cancel.body
    );
    assert_eq!(tasks.messages().len(), 1, "handed out again before anybody was asked to stop");
    engine.add(Role::Worker, "worker-2").await;
    let again = tasks.wait(PATIENCE, |tasks| tasks.len() == 2).await.unwrap().remove(1);
    assert_eq!((&again.body["task"], &again.body["pass"]), (&first.body["task"], &first.body["pass"]));
    let properties =
        lapin::BasicProperties::default().with_correlation_id(again.body["pass"].as_str().unwrap().into());
    let decision = json!({"decision": "success", "result": 7}).to_string();
    let callbacks = format!("{}.callbacks", engine.env().prefix());
    amqp.publish(&callbacks, "actor.decision", decision.as_bytes(), &properties).await.unwrap();
    assert_eq!(engine.reach("a", "success").await["result"], 7);
}

#[tokio::test]
async fn rec_8_the_command_line_waits_until_a_node_has_nothing_in_hand_and_puts_it_back() {
    let engine = Installation::start("rec_8_cli").await;
    let gate = watch::Sender::new(false);
    engine
        .world()
        .program(Program::at("/slow").first(1, &Step { hold: Some(gate.subscribe()), ..Step::fine() }));
    engine.actions("slow", &call("/slow").replace("timeout: 5s", "timeout: 2m")).await;
    engine.accepted(json!({"id": "a", "scenario": "slow"})).await;
    engine.calls("/slow", 1).await;
    let base = engine.base().to_owned();
    let run = async |arguments: &str| {
        let mut all: Vec<&str> = arguments.split(' ').collect();
        all.extend(["--reason", "a test", "--server", &base]);
        let output = pagurus(&all).await;
        (output.status.code(), String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    assert_eq!(
        run("nodes offline worker-1 --wait --timeout 2s").await,
        (Some(6), "worker worker-1 is offline, and still has 1 in hand: the time to wait is over".to_owned())
    );
    gate.send_replace(true);
    assert_eq!(
        run("nodes offline worker/worker-1 --wait").await,
        (Some(0), "worker worker-1 is offline, and has nothing in hand".to_owned())
    );
    engine.reach("a", "success").await;
    assert_eq!(run("nodes online worker-1").await, (Some(0), "worker worker-1 is back online".to_owned()));
    assert_eq!(run("nodes online worker-9").await.0, Some(4));
    engine.run(json!({"id": "b", "scenario": "slow"}), "success").await;
    // Who did it stands in the audit log, in the order of time.
    let audit =
        "SELECT string_agg(action || ' ' || subject, ', ' ORDER BY no) FROM audit WHERE kind = 'node'";
    let actions: String = engine.database().await.query_one(audit, &[]).await.unwrap().get(0);
    assert_eq!(actions, "offline worker/worker-1, online worker/worker-1");
}

#[tokio::test]
async fn amqp_1_an_intake_for_one_transport_leaves_the_other_to_others() {
    let mut engine = Installation::with("amqp_1_transport", &[("PAGURUS__INTAKE__TRANSPORT", "http")]).await;
    engine.scenario("asks", &asking("/ask", "1m")).await;
    let callback = CallBack::with(json!({"code": 0}));
    engine.world().program(Program::at("/ask").calling_back(callback));
    let http = engine.node(Role::Intake).spec.name.clone();
    assert_eq!(listed(&engine, &http).await["transport"], "http");

    // Nobody takes the message, and the doctor says so.
    send(&engine, br#"{"id": "by-message", "scenario": "asks"}"#).await;
    until("the doctor finds the queue without a consumer", PATIENCE, async || {
        engine.get("/v1/doctor").await.unwrap().body.to_string().contains("nobody consumes from")
    })
    .await;
    assert_eq!(engine.get("/v1/orders/by-message").await.unwrap().status, 404);

    let messages = engine.add_with(Role::Intake, "messages", &[("PAGURUS__INTAKE__TRANSPORT", "amqp")]).await;
    // A worker that starts now asks called systems to answer where the API is.
    engine.node(Role::Worker).kill().await.unwrap();
    engine.restart(Role::Worker).await;
    engine.reach("by-message", "success").await;
    let (status, doors) = readiness(&engine, &messages).await;
    assert_eq!((status, &doors["doors"]["amqp"]), (200, &json!("up")), "{doors}");
    let api = engine.env().http().get(format!("{}/v1/orders", messages.url())).send().await.unwrap();
    let (status, problem): (u16, Value) = (api.status().as_u16(), api.json().await.unwrap());
    assert_eq!(status, 404);
    assert!(problem["detail"].as_str().unwrap().contains("takes only messages"), "{problem}");
    let output = pagurus(&["--server", engine.base(), "nodes", "list"]).await;
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains("intake (http)") && shown.contains("intake (amqp)"), "{shown}");
}
