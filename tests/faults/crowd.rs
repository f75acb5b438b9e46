//! Many at once: all processes killed, one that dies again and again, many deadlines in one second, many people at one
//! order, a flow stopped while its orders are handed out (rows 10, 11, 13, 52, 54).
//! Never sets off anything twice for luck: what races here races on purpose.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use pagurus_harness::nodes::Role;
use pagurus_harness::world::program::{Program, Step};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::installation::{Installation, PATIENCE};
use crate::load::{Load, notified};

#[tokio::test]
async fn qlt_5_all_processes_killed_at_once_and_started_in_any_order_lose_nothing() {
    // Intake last, and intake first.
    for reversed in [false, true] {
        let mut engine = Installation::start("all_killed", &[]).await;
        let amqp = engine.env.amqp().await.unwrap();
        let inbox = engine.listen(&amqp).await;
        let load = Load::with_naps("a", 40);
        load.publish(&amqp).await;
        inbox.wait(PATIENCE, |messages| notified(messages).len() >= 10).await.unwrap();
        for node in &engine.nodes {
            node.kill_now().unwrap();
        }
        for node in &engine.nodes {
            node.kill().await.unwrap();
        }
        let during = Load::some("b", 10);
        during.publish(&amqp).await;
        let mut order: Vec<usize> = (0..engine.nodes.len()).collect();
        if reversed {
            order.reverse();
        }
        let begun = Instant::now();
        for index in order {
            engine.nodes[index] = engine.env.restart(&engine.nodes[index]).await.unwrap();
        }
        Load::check_all(&[load, during], &engine, &inbox, PATIENCE).await;
        eprintln!("all was done {:?} after the first was started again", begun.elapsed());
    }
}

#[tokio::test]
async fn rec_10_a_worker_that_dies_again_and_again_holds_up_no_other() {
    // More deaths than a stage may survive by default: what the other worker takes over must not be counted against the orders.
    let mut engine = Installation::start("crash_loop", &[("PAGURUS__RECOVERY__MAX_RESTARTS", "20")]).await;
    let amqp = engine.env.amqp().await.unwrap();
    let inbox = engine.listen(&amqp).await;
    engine.env.start(Role::Worker, "worker-2").await.unwrap();
    let load = Load::with_naps("a", 50);
    load.publish(&amqp).await;
    let mine = engine.nodes.iter().position(|node| node.spec.role == Role::Worker).unwrap();
    for _ in 0..6 {
        tokio::time::sleep(Duration::from_millis(300)).await;
        engine.nodes[mine].kill().await.unwrap();
        engine.nodes[mine] = engine.env.restart(&engine.nodes[mine]).await.unwrap();
    }
    Load::check_all(&[load], &engine, &inbox, PATIENCE).await;
}

#[tokio::test]
async fn rec_3_many_stages_that_are_overdue_in_one_second_are_handed_out_again_and_others_go_on() {
    let settings = [("PAGURUS__WORKER__CONCURRENCY", "400"), ("PAGURUS__RECOVERY__TIMEOUTS__WORK", "1m")];
    let engine = Installation::start("mass_deadline", &settings).await;
    let amqp = engine.env.amqp().await.unwrap();
    let inbox = engine.listen(&amqp).await;
    let gate = watch::Sender::new(false);
    let held = Step { hold: Some(gate.subscribe()), ..Step::fine() };
    engine.env.world().program(Program::at("/do").first(150, &held));
    let ids: Vec<String> = (0..150).map(|number| format!("o-{number}")).collect();
    let bodies: Vec<Value> = ids.iter().map(|id| crate::load::body(id, "call", json!({}))).collect();
    let overdue = Load { bodies };
    overdue.post(&engine).await;
    engine.env.world().wait_calls("/do", 150, PATIENCE).await.unwrap();
    let session = engine.session().await;
    session.batch_execute("UPDATE running SET deadline_at = now()").await.unwrap();
    let begun = Instant::now();
    let others = Load::some("others", 5);
    others.publish(&amqp).await;
    others.check(&engine, &inbox, PATIENCE).await;
    overdue.check(&engine, &inbox, PATIENCE).await;
    eprintln!("{} overdue stages had ended {:?} after their deadline", ids.len(), begun.elapsed());
    gate.send_replace(true);
    engine.holds().await;
    let again = "SELECT count(*) FROM history WHERE kind = 'reissued'";
    assert!(
        session.query_one(again, &[]).await.unwrap().get::<_, i64>(0) >= 150,
        "each was handed out again"
    );
}

#[tokio::test]
async fn ord_21_of_many_actions_at_once_on_one_order_each_is_done_or_refused_with_its_status() {
    let engine = Installation::start("all_at_once", &[]).await;
    let amqp = engine.env.amqp().await.unwrap();
    let inbox = engine.listen(&amqp).await;
    let (mut ids, mut refused) = (Vec::new(), 0_u32);
    for round in 0..6 {
        let id = format!("o-{round}");
        let order = crate::load::body(&id, if round % 2 == 0 { "call" } else { "nap" }, json!({}));
        engine.api.post("/v1/orders", &order).await.unwrap().success().unwrap();
        tokio::time::sleep(Duration::from_millis(60 * round)).await;
        let words = ["cancel", "interrupt", "kill", "restart", "repair"];
        let asked = (0..50).map(|number| {
            let word = words[number % words.len()];
            let (path, api) = (format!("/v1/orders/{id}/{word}"), engine.api.clone());
            async move {
                let deadline = Instant::now() + PATIENCE;
                loop {
                    let answer = api.post(&path, &json!({"reason": "a race"})).await.unwrap();
                    // Fifty want one row: a caller that has waited too long for it is asked to repeat.
                    if !matches!(answer.status, 429 | 503) || Instant::now() >= deadline {
                        return (word, answer);
                    }
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        });
        let answers = join_all(asked).await;
        let mut statuses: BTreeMap<u16, usize> = BTreeMap::new();
        for (word, answer) in &answers {
            *statuses.entry(answer.status).or_default() += 1;
            assert!(matches!(answer.status, 200 | 400 | 409 | 422), "{word}: {answer:?}");
            if answer.status == 409 {
                refused += 1;
                assert!(
                    answer.body["status"].is_string() || answer.body["orderStatus"].is_string(),
                    "{answer:?}"
                );
            }
        }
        eprintln!("{id}: answers by status {statuses:?}");
        ids.push(id);
    }
    // QLT-6: each refusal was counted.
    let counted = engine.metric(&engine.nodes[0], "pagurus_guards_refused_total").await;
    assert!(refused > 0 && counted >= f64::from(refused), "{counted} of {refused} refusals were counted");
    // Whatever the result: each order ends, its history has no gap, and each end was reported.
    let deadline = Instant::now() + PATIENCE;
    for id in &ids {
        while !engine.api.order(id).await.unwrap()["finishedAt"].is_string() {
            assert!(Instant::now() < deadline, "{id} does not end");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let events = engine.api.get(&format!("/v1/orders/{id}/events")).await.unwrap().success().unwrap();
        let events = pagurus_harness::client::items(events);
        let numbers: Vec<i64> = events.iter().map(|event| event["number"].as_i64().unwrap()).collect();
        assert_eq!(numbers, (1..=numbers.len() as i64).collect::<Vec<_>>(), "{events:?}");
    }
    engine.holds().await;
    let session = engine.session().await;
    for id in &ids {
        let audited = "SELECT count(*) FROM audit WHERE subject = $1";
        let done = "SELECT count(*) FROM history h JOIN orders o ON o.no = h.order_no WHERE o.id = $1
                     AND h.kind = ANY('{canceled,interrupted,killed,restarted,restart_postponed,rerun,repaired}')";
        let audited: i64 = session.query_one(audited, &[id]).await.unwrap().get(0);
        let done: i64 = session.query_one(done, &[id]).await.unwrap().get(0);
        assert_eq!(audited, done, "{id}: lines of the audit, and what was done");
    }
    drop(inbox);
}

/// Calls when none was begun for half a second and no stage runs.
async fn quiet(engine: &Installation) -> usize {
    let session = engine.session().await;
    let deadline = Instant::now() + PATIENCE;
    loop {
        let calls = engine.env.world().calls("/do").len();
        tokio::time::sleep(Duration::from_millis(500)).await;
        let running: i64 = session.query_one("SELECT count(*) FROM running", &[]).await.unwrap().get(0);
        if running == 0 && engine.env.world().calls("/do").len() == calls {
            return calls;
        }
        assert!(Instant::now() < deadline, "the stages that were handed out do not end");
    }
}

#[tokio::test]
async fn dsp_10_a_flow_that_is_stopped_while_it_is_handed_out_begins_nothing_afterwards() {
    let engine = Installation::start("stop_races", &[]).await;
    let amqp = engine.env.amqp().await.unwrap();
    let inbox = engine.listen(&amqp).await;
    let mut loads = Vec::new();
    for round in 0..4 {
        let bodies: Vec<Value> = (0..60)
            .map(|number| crate::load::body(&format!("r{round}-{number}"), "call", json!({})))
            .collect();
        let load = Load { bodies };
        load.post(&engine).await;
        tokio::time::sleep(Duration::from_millis(40 * round)).await;
        let stop = json!({"keyword": "call", "reason": "a race"});
        let stopped = engine.api.post("/v1/flows/stop", &stop).await.unwrap().success().unwrap();
        assert_eq!(stopped["confirmed"], true, "{stopped}");
        // What was handed out before the answer may still be on its way to its worker.
        let begun = quiet(&engine).await;
        tokio::time::sleep(Duration::from_millis(700)).await;
        assert_eq!(engine.env.world().calls("/do").len(), begun, "a stage began while its flow was stopped");
        engine.api.post("/v1/flows/resume", &stop).await.unwrap().success().unwrap();
        loads.push(load);
    }
    Load::check_all(&loads, &engine, &inbox, PATIENCE).await;
}
