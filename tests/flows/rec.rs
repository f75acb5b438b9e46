//! Recovery, nodes, history (06-recovery.md).

use pagurus_harness::nodes::Role;
use pagurus_harness::world::program::{Program, Step};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::installation::{Installation, PATIENCE, asking, call, until, with_actions};

#[tokio::test]
async fn rec_3_overdue_work_is_handed_out_again_and_poison_ends() {
    let engine = Installation::with("rec_3", &[("PAGURUS__RECOVERY__MAX_RESTARTS", "2")]).await;
    engine.world().program(Program::at("/poison").hang(100));
    engine.world().program(Program::at("/once").hang(1));
    let action =
        |path: &str| format!("- http: {{method: POST, url: \"${{config.demo}}{path}\", timeout: 30s}}");
    engine.actions("poison", &action("/poison")).await;
    engine.actions("once", &action("/once")).await;
    engine.accepted(json!({"id": "once", "scenario": "once"})).await;
    overdue(&engine, "/once", 1).await;
    engine.reach("once", "success").await;
    engine.accepted(json!({"id": "poison", "scenario": "poison"})).await;
    for count in 1..=3 {
        overdue(&engine, "/poison", count).await;
    }
    let order = engine.reach("poison", "fail").await;
    assert_eq!(order["error"]["class"], "recovery.poison", "{order}");
    assert_eq!(engine.world().calls("/poison").len(), 3, "the first and two restarts");
    let once = engine.world().calls("/once");
    assert_eq!(once.len(), 2);
    assert_eq!(once[0].headers["idempotency-key"], once[1].headers["idempotency-key"], "SCN-14");
    numbered(&engine, "poison").await;
    numbered(&engine, "once").await;
}

/// Makes the stage overdue that made the last of `count` calls.
async fn overdue(engine: &Installation, path: &str, count: usize) {
    engine.calls(path, count).await;
    engine.database().await.execute("UPDATE running SET deadline_at = now()", &[]).await.unwrap();
}

#[tokio::test]
async fn rec_2_the_first_order_of_a_scenario_is_bounded_by_its_work_time_out_too() {
    let engine = Installation::start("rec_2").await;
    engine.world().program(Program::at("/once").hang(1));
    engine.scenario("new", &format!("timeouts: {{work: 100s}}\n{}", with_actions(&call("/once")))).await;
    engine.accepted(json!({"id": "a", "scenario": "new"})).await;
    engine.calls("/once", 1).await;
    let bound = "SELECT extract(epoch FROM deadline_at - started_at)::float8 FROM running";
    let seconds: f64 = engine.database().await.query_one(bound, &[]).await.unwrap().get(0);
    assert!((99.0..101.0).contains(&seconds), "{seconds}");
}

#[tokio::test]
async fn scn_3_a_living_worker_prolongs_the_work_time_out_with_each_action() {
    let work = [("PAGURUS__RECOVERY__TIMEOUTS__WORK", "700ms")];
    let engine = Installation::with("scn_3_work", &work).await;
    engine.world().program(Program::at("/slow").delayed(std::time::Duration::from_millis(500)));
    // Together they take longer than the time-out, and each may take longer than it by itself.
    engine.actions("slow", &[call("/slow"), call("/slow"), call("/slow"), call("/slow")].join("\n")).await;
    let order = engine.run(json!({"id": "a", "scenario": "slow"}), "success").await;
    assert_eq!((engine.world().calls("/slow").len(), &order["stages"]), (4, &json!(1)), "{order}");
    let events = engine.part("a", "events").await;
    let again = events.as_array().unwrap().iter().filter(|event| event["kind"] == "reissued").count();
    assert_eq!(again, 0, "{events}");
}

#[tokio::test]
async fn rec_2_a_claim_whose_answer_was_lost_is_found_by_its_worker_and_given_back() {
    let all_but_dispatcher = [Role::Intake, Role::Worker, Role::Activator, Role::Notifier];
    let mut engine = Installation::only("rec_2_unheld", &all_but_dispatcher, &[]).await;
    engine.actions("calls", &call("/do")).await;
    for id in ["a", "b", "c"] {
        engine.accepted(json!({"id": id, "scenario": "calls"})).await;
    }
    // What the database looks like when the server commits a claim and its client never hears of it,
    // however late: the connection was cut.
    let claimed = engine
        .database()
        .await
        .execute(
            "WITH gone AS (DELETE FROM ready RETURNING *)
             INSERT INTO running (order_no, pass, attempt, wake, restarts, queue, node, since, started_at, deadline_at)
             SELECT order_no, pass, attempt, wake, restarts, queue, n.incarnation, since, now(), now() + interval '1 hour'
               FROM gone, nodes n WHERE n.name = 'worker-1'",
            &[],
        )
        .await
        .unwrap();
    assert_eq!(claimed, 3);
    engine.add(Role::Dispatcher, "dispatcher-1").await;
    for id in ["a", "b", "c"] {
        engine.reach(id, "success").await;
        let log = engine.part(id, "log").await.to_string();
        assert!(log.contains("its node never learned of it"), "{log}");
    }
    assert_eq!(engine.world().calls("/do").len(), 3);
}

#[tokio::test]
async fn rec_7_the_registry_tells_lives_apart_and_finds_the_lost() {
    let engine = Installation::with("rec_7", &[("PAGURUS__NODE__LOST_AFTER", "1200ms")]).await;
    let all = nodes(&engine).await;
    assert_eq!(all.len(), 5, "{all:?}");
    for node in &all {
        assert!(["active", "standby"].contains(&node["status"].as_str().unwrap()), "{node}");
        for key in ["name", "role", "address", "version", "startedAt", "incarnation"] {
            assert!(!node[key].is_null(), "{key}: {node}");
        }
    }
    let worker = engine.node(Role::Worker);
    let first = all.iter().find(|node| node["name"] == "worker-1").unwrap()["incarnation"].as_i64().unwrap();
    worker.kill().await.unwrap();
    until("the dead worker is lost", PATIENCE, async || {
        nodes(&engine).await.iter().any(|node| node["incarnation"] == first && node["status"] == "lost")
    })
    .await;
    engine.env().restart(worker).await.unwrap();
    let again = nodes(&engine).await;
    let live = again.iter().find(|node| node["name"] == "worker-1" && node["status"] == "active").unwrap();
    assert!(live["incarnation"].as_i64().unwrap() > first, "{again:?}");
}

// REC-7: one statement of a node may be lost; its next sign of life mends what the registry says.
#[tokio::test]
async fn rec_7_a_worker_that_the_registry_takes_for_starting_is_put_right_by_its_next_beat() {
    let engine = Installation::start("rec_7_status").await;
    engine.actions("one", &call("/do")).await;
    let database = engine.database().await;
    // The registry refuses to hear that a worker is at work, as if each such statement were cut off.
    let refuse =
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not now'; END $$;
        CREATE TRIGGER refuse BEFORE UPDATE ON nodes FOR EACH ROW
          WHEN (NEW.role = 'worker' AND NEW.status = 'active') EXECUTE FUNCTION refuse()";
    let worker = engine.node(Role::Worker).clone();
    worker.stop(PATIENCE).await.unwrap();
    database.batch_execute(refuse).await.unwrap();
    let meanwhile = async {
        let readiness = format!("{}/readyz", worker.url());
        until("it says that it is starting", PATIENCE, async || {
            let answer = engine.env().http().get(&readiness).send().await;
            let Ok(answer) = answer else { return false };
            let (status, body) = (answer.status().as_u16(), answer.json::<Value>().await.unwrap());
            assert_eq!(
                (status, &body["ready"]),
                (503, &json!(false)),
                "ready, and the registry does not know: {body}"
            );
            body["service"] == "starting"
        })
        .await;
        database.batch_execute("DROP TRIGGER refuse ON nodes").await.unwrap();
    };
    let (again, ()) = tokio::join!(engine.env().restart(&worker), meanwhile);
    again.unwrap();
    engine.run(json!({"id": "a", "scenario": "one"}), "success").await;
    // And a status that was overwritten behind its back.
    database
        .execute("UPDATE nodes SET status = 'starting' WHERE role = 'worker' AND ended_at IS NULL", &[])
        .await
        .unwrap();
    until("it is active again", PATIENCE, async || {
        nodes(&engine).await.iter().any(|node| node["role"] == "worker" && node["status"] == "active")
    })
    .await;
    engine.run(json!({"id": "b", "scenario": "one"}), "success").await;
}

#[tokio::test]
async fn rec_9_a_normal_stop_ends_what_runs_and_takes_nothing_new() {
    // As long as others may need on a machine that does other things.
    let mut engine = Installation::with("rec_9", &[("PAGURUS__SHUTDOWN__GRACE", "2m")]).await;
    let gate = watch::Sender::new(false);
    let held = Step { hold: Some(gate.subscribe()), ..Step::fine() };
    engine.world().program(Program::at("/slow").first(1, &held));
    engine.actions("slow", &call("/slow").replace("timeout: 5s", "timeout: 2m")).await;
    engine.accepted(json!({"id": "a", "scenario": "slow"})).await;
    engine.calls("/slow", 1).await;
    let worker = engine.node(Role::Worker).clone();
    let meanwhile = async {
        let ready = format!("{}/readyz", worker.url());
        until("the worker says that it stops", PATIENCE, async || {
            let answer = engine.env().http().get(&ready).send().await;
            answer.is_ok_and(|answer| answer.status().as_u16() == 503)
        })
        .await;
        let new: Vec<String> = (0..10).map(|index| format!("b{index}")).collect();
        for id in &new {
            engine.accepted(json!({"id": id, "scenario": "slow"})).await;
        }
        // The other one runs them all, while the first still runs what it had.
        engine.add(Role::Worker, "worker-2").await;
        for id in &new {
            engine.reach(id, "success").await;
            let nodes: Vec<Value> =
                engine.transitions(id).await.unwrap().iter().map(|one| one["node"].clone()).collect();
            assert_eq!(nodes, ["worker-2"], "{id}");
        }
        assert_eq!(engine.order("a").await.unwrap()["status"], "running");
        gate.send_replace(true);
    };
    let (stopped, ()) = tokio::join!(worker.stop(4 * PATIENCE), meanwhile);
    stopped.unwrap();
    assert_eq!(engine.order("a").await.unwrap()["status"], "success");
    assert_eq!(engine.transitions("a").await.unwrap()[0]["node"], "worker-1");
    let node = nodes(&engine).await.into_iter().find(|node| node["name"] == "worker-1").unwrap();
    assert_eq!(node["status"], "stopped", "{node}");
    assert_eq!(engine.world().calls("/slow").len(), 11, "nothing ran twice");
}

#[tokio::test]
async fn rec_9_what_still_runs_after_the_grace_goes_to_others_or_is_canceled() {
    for (release, status) in [("true", "success"), ("false", "canceled")] {
        let settings = [("PAGURUS__SHUTDOWN__GRACE", "400ms"), ("PAGURUS__SHUTDOWN__RELEASE", release)];
        let mut engine = Installation::with("rec_9_grace", &settings).await;
        engine.world().program(Program::at("/hang").hang(1));
        engine.actions("hang", "- http: {method: POST, url: \"${config.demo}/hang\", timeout: 30s}").await;
        engine.accepted(json!({"id": "a", "scenario": "hang"})).await;
        engine.calls("/hang", 1).await;
        let worker = engine.node(Role::Worker).clone();
        worker.stop(PATIENCE).await.unwrap();
        engine.add(Role::Worker, "worker-2").await;
        let order = engine.reach("a", status).await;
        let log = engine.part("a", "log").await.to_string();
        if status == "canceled" {
            assert!(
                log.contains("(node.stopped): its node was stopped") && log.contains("may be restarted"),
                "{log}"
            );
            assert_eq!(order["error"]["class"], "node.stopped", "{order}");
            // The law keeps what the line promises; the same request again is the same restart.
            engine.act("a", "restart", &json!({"reason": "its node is back"})).await.success().unwrap();
            engine.reach("a", "success").await;
        }
    }
}

#[tokio::test]
async fn rec_10_the_work_of_a_lost_node_goes_on_elsewhere_or_is_canceled_and_can_be_restarted() {
    for running in ["resume", "cancel"] {
        let settings = [("PAGURUS__NODE__LOST_AFTER", "1200ms"), ("PAGURUS__FAILOVER__RUNNING", running)];
        let mut engine = Installation::with("rec_10", &settings).await;
        engine.world().program(Program::at("/hang").hang(1));
        engine.actions("hang", "- http: {method: POST, url: \"${config.demo}/hang\", timeout: 30s}").await;
        engine.accepted(json!({"id": "a", "scenario": "hang"})).await;
        engine.calls("/hang", 1).await;
        let of = nodes(&engine).await;
        let life =
            of.iter().find(|node| node["name"] == "worker-1").unwrap()["incarnation"].as_i64().unwrap();
        engine.node(Role::Worker).kill().await.unwrap();
        engine.add(Role::Worker, "worker-2").await;
        if running == "cancel" {
            let order = engine.reach("a", "canceled").await;
            assert_eq!(order["error"]["class"], "node.stopped", "{order}");
            engine.act("a", "restart", &json!({"reason": "once more"})).await.success().unwrap();
            engine.reach("a", "success").await;
            continue;
        }
        engine.reach("a", "success").await;
        let log = engine.part("a", "log").await.to_string();
        assert!(
            log.contains(&format!("FAILOVER from worker-1 (life {life}) to worker-2: hand-out 1")),
            "{log}"
        );
        let order = engine.order("a").await.unwrap();
        assert_eq!(order["failedOver"]["times"], 1, "{order}");
        engine.run(json!({"id": "b", "scenario": "hang"}), "success").await;
        for (wanted, expected) in [("true", "a"), ("false", "b")] {
            let found = engine.get(&format!("/v1/orders?failedOver={wanted}&createdSince=1h")).await.unwrap();
            let found = found.success().unwrap();
            let ids: Vec<&Value> =
                found["items"].as_array().unwrap().iter().map(|line| &line["id"]).collect();
            assert_eq!(ids, [expected], "{found}");
        }
        assert_eq!(engine.get("/v1/orders?failedOver=true").await.unwrap().status, 422, "not narrowed");
    }
}

// REC-6: a claim never loses the place of an order, whatever is missing of it.
#[tokio::test]
async fn rec_6_an_order_whose_parameters_are_gone_or_broken_fails_and_is_not_lost() {
    let mut engine =
        Installation::only("rec_6", &[Role::Intake, Role::Dispatcher, Role::Notifier], &[]).await;
    engine.actions("one", &call("/do")).await;
    for id in ["gone", "broken", "whole"] {
        engine.accepted(json!({"id": id, "scenario": "one"})).await;
    }
    let database = engine.database().await;
    for (id, seed) in
        [("gone", "DELETE FROM payloads WHERE"), ("broken", "UPDATE payloads SET params = '{' WHERE")]
    {
        let seed = format!("{seed} order_no = (SELECT no FROM orders WHERE id = '{id}')");
        assert_eq!(database.execute(&seed, &[]).await.unwrap(), 1);
    }
    engine.add(Role::Worker, "worker-1").await;
    engine.reach("whole", "success").await;
    for id in ["gone", "broken"] {
        let order = engine.reach(id, "fail").await;
        assert_eq!(order["error"]["class"], "recovery.inconsistent", "{order}");
    }
    let places =
        "SELECT (SELECT count(*) FROM ready) + (SELECT count(*) FROM running) + (SELECT count(*) FROM due)";
    assert_eq!(database.query_one(places, &[]).await.unwrap().get::<_, i64>(0), 0);
}

#[tokio::test]
async fn rec_15_events_are_numbered_without_gaps_and_name_their_source() {
    let engine = Installation::start("rec_15").await;
    engine.scenario("asks", &asking("/silent", "3s")).await;
    engine.run(json!({"id": "a", "scenario": "asks"}), "fail").await;
    engine.act("a", "restart", &json!({"reason": "once more"})).await.success().unwrap();
    engine.calls("/silent", 2).await;
    engine.reach("a", "wait").await;
    engine.act("a", "kill", &json!({"reason": "enough"})).await.success().unwrap();
    let events = numbered(&engine, "a").await;
    let kinds: Vec<&str> = events.iter().map(|event| event["kind"].as_str().unwrap()).collect();
    let expected = [
        "registered",
        "stage_started",
        "stage_ended",
        "stage_started",
        "stage_ended",
        "restarted",
        "stage_started",
        "stage_ended",
        "killed",
    ];
    assert_eq!(kinds, expected);
    let killed = events.last().unwrap();
    assert_eq!(
        (&killed["source"], &killed["payload"]["reason"], &killed["life"]),
        (&json!("api"), &json!("enough"), &json!(2))
    );
    let rest = engine.part("a", "events?after=5").await;
    assert_eq!(rest.as_array().unwrap().as_slice(), &events[5..]);
}

/// The events of an order, whose numbers must be 1, 2, 3 and so on.
async fn numbered(engine: &Installation, id: &str) -> Vec<Value> {
    let events = engine.part(id, "events").await.as_array().unwrap().clone();
    let numbers: Vec<i64> = events.iter().map(|event| event["number"].as_i64().unwrap()).collect();
    let expected: Vec<i64> = (1..).take(numbers.len()).collect();
    assert_eq!(numbers, expected, "{events:?}");
    assert!(
        events.iter().all(|event| event["source"].as_str().is_some_and(|source| !source.is_empty())),
        "{events:?}"
    );
    events
}

async fn nodes(engine: &Installation) -> Vec<Value> {
    engine.get("/v1/nodes").await.unwrap().success().unwrap()["items"].as_array().unwrap().clone()
}
