//! The consistency check (REC-6) on seeded corruption: what no way of the engine leads to is written by hand, found
//! by its name, and repaired or marked.

use pagurus_harness::nodes::Role;
use pagurus_harness::world::program::Program;
use serde_json::{Value, json};

use crate::installation::{Installation, PATIENCE, asking, call, until};

/// Setting without periodic checks, so that each test knows who found what.
const BY_HAND: (&str, &str) = ("PAGURUS__RECOVERY__CHECK__RATE", "0");

/// Setting with which no stage is taken over before the check has looked at it.
const NO_FAILOVER: (&str, &str) = ("PAGURUS__RECOVERY__INTERVAL", "1h");

const SLEEPS: &str = "initialState: a
targetStates: [done]
states:
  a: {entryPoint: true, actions: [{sleep: {for: 1h}}], on: {sleep: rests}}
  rests: {kind: sleeping, on: {timeout: done}}
  done: {kind: terminal}
";

/// A way to break an order: its scenario, the status in which it is broken, the statement (`$` is its number), the
/// finding, and true where it is repaired.
type Seed = (&'static str, &'static str, &'static str, &'static str, bool);

const SEEDS: [Seed; 24] = [
    ("sleeps", "sleep", "DELETE FROM due WHERE order_no = $", "no_place", true),
    ("asks", "wait", "DELETE FROM due WHERE order_no = $", "no_place", true),
    (
        "sleeps",
        "sleep",
        "INSERT INTO ready (order_no, pass, attempt, wake, flow, priority, since) SELECT no, gen_random_uuid(), 1, 'timer', flow, priority, now() FROM orders WHERE no = $",
        "two_places",
        true,
    ),
    (
        "one",
        "success",
        "INSERT INTO due (order_no, stream, due_at) VALUES ($, 0, now() + interval '1 day')",
        "place_of_ended",
        true,
    ),
    (
        "one",
        "success",
        "INSERT INTO queued (order_no, queue, position) VALUES ($, 'gone', 1)",
        "queue_owner_gone",
        true,
    ),
    (
        "one",
        "success",
        "INSERT INTO deadlines (order_no, kind, at) VALUES ($, 'process', now() + interval '1 day')",
        "deadline_of_ended",
        true,
    ),
    (
        "one",
        "success",
        "INSERT INTO calls (order_no, life, key, name, body) VALUES ($, 1, 'k', 'c', '{}')",
        "call_waiting_on_ended",
        true,
    ),
    ("fails", "fail", "DELETE FROM failures WHERE order_no = $", "failure_row_mismatch", true),
    (
        "one",
        "success",
        "INSERT INTO failures (order_no, at, scenario) VALUES ($, now(), 1)",
        "failure_row_mismatch",
        true,
    ),
    (
        "one",
        "success",
        "INSERT INTO dependencies (order_no, before_id, states, otherwise, reactive, stand) VALUES ($, 'x', '[]', 'wait', true, 'open')",
        "condition_left_open",
        true,
    ),
    ("sleeps", "sleep", "UPDATE due SET stream = 4 WHERE order_no = $", "due_without_stream", true),
    (
        "sleeps",
        "sleep",
        "WITH gone AS (DELETE FROM due WHERE order_no = $)
         INSERT INTO running (order_no, pass, attempt, wake, restarts, node, since, started_at, deadline_at)
         VALUES ($, gen_random_uuid(), 2, 'timer', 0, 987654, now(), now(), now() + interval '1 hour')",
        "running_without_node",
        true,
    ),
    (
        "asks",
        "wait",
        "UPDATE requests SET status = 'answered', closed_at = now() WHERE order_no = $",
        "answered_not_woken",
        true,
    ),
    ("asks", "wait", "DELETE FROM requests WHERE order_no = $", "awaited_request_missing", false),
    ("sleeps", "sleep", "DELETE FROM contexts WHERE order_no = $", "context_missing", false),
    ("sleeps", "sleep", "UPDATE contexts SET snapshot = '{' WHERE order_no = $", "context_unreadable", false),
    ("sleeps", "sleep", "DELETE FROM payloads WHERE order_no = $", "payload_missing", false),
    ("one", "success", "DELETE FROM history WHERE order_no = $ AND number = 2", "history_gap", false),
    ("one", "success", "UPDATE orders SET events = events + 1 WHERE no = $", "history_gap", false),
    (
        "one",
        "success",
        "INSERT INTO outbox (order_no, life, kind, message_id, target, body, next_at) VALUES ($, 9, 'final', gen_random_uuid(), 'amqp://?key=k', '{}', now() + interval '1 day')",
        "unknown_life",
        false,
    ),
    (
        "waits",
        "postponed",
        "UPDATE dependencies SET stand = 'met' WHERE order_no = $",
        "waits_for_nothing",
        true,
    ),
    ("waits", "postponed", "DELETE FROM due WHERE order_no = $", "no_place", true),
    ("later", "postponed", "DELETE FROM due WHERE order_no = $", "no_place", true),
    ("later", "postponed", "DELETE FROM deadlines WHERE order_no = $", "deadline_missing", true),
];

async fn scenarios(engine: &Installation) {
    engine.world().program(Program::at("/silent"));
    engine.scenario("sleeps", SLEEPS).await;
    engine.scenario("asks", &asking("/silent", "1h")).await;
    engine.actions("one", &call("/do")).await;
    engine.actions("fails", "- script: 'fail(\"a.b\", \"no\")'").await;
    engine.actions("waits", &call("/do")).await;
    engine.actions("later", &call("/do")).await;
}

fn order(id: &str, scenario: &str) -> Value {
    match scenario {
        "waits" => {
            json!({"id": id, "scenario": scenario, "lifecycle": {"after": [{"order": format!("{id}-never"), "states": ["done"]}]}})
        }
        "later" => {
            json!({"id": id, "scenario": scenario, "lifecycle": {"startAt": "2090-01-01T00:00:00Z", "periodToStart": 2_000_000_000}})
        }
        _ => json!({"id": id, "scenario": scenario}),
    }
}

#[tokio::test]
async fn rec_6_each_seeded_corruption_is_found_by_its_name_and_repaired_or_marked() {
    let engine = Installation::with("rec_6_seeds", &[BY_HAND, NO_FAILOVER]).await;
    scenarios(&engine).await;
    let database = engine.database().await;
    let mut numbers = Vec::new();
    for (index, (scenario, status, ..)) in SEEDS.iter().enumerate() {
        let order = engine.run(order(&format!("o{index}"), scenario), status).await;
        numbers.push(order["no"].as_i64().unwrap());
    }
    // It would hand out a row of `ready` between the two looks, on a slow machine.
    engine.node(Role::Dispatcher).kill().await.unwrap();
    for (index, (scenario, _, seed, finding, is_repaired)) in SEEDS.iter().enumerate() {
        let id = format!("o{index}");
        let check = async || {
            let answer = engine.act(&id, "check", &json!({"reason": "a seed"})).await.success().unwrap();
            answer["note"].as_str().unwrap().to_owned()
        };
        assert_eq!(check().await, "nothing is wrong with it", "{scenario} before {seed}");
        let changed = database.execute(&seed.replace('$', &numbers[index].to_string()), &[]).await.unwrap();
        assert!(changed > 0, "{seed}");
        let note = check().await;
        if *is_repaired {
            assert!(note.starts_with("repaired: ") && note.contains(finding), "{seed}: {note}");
            assert!(!note.contains("inconsistent"), "{seed}: {note}");
            let log = engine.part(&id, "log").await.to_string();
            assert!(log.contains(&format!("checked and repaired ({finding}")), "{log}");
            assert_eq!(check().await, "nothing is wrong with it", "after {seed}");
            continue;
        }
        assert!(
            note.contains("inconsistent, a person has to look") && note.contains(finding),
            "{seed}: {note}"
        );
        let order = engine.order(&id).await.unwrap();
        assert_eq!(order["inconsistent"]["findings"], json!([finding]), "{order}");
        let explained = engine.part(&id, "explain").await.to_string();
        assert!(explained.contains(finding), "{explained}");
        // The same again says nothing new.
        let events = engine.part(&id, "events").await;
        assert_eq!(check().await, note);
        assert_eq!(engine.part(&id, "events").await, events);
    }
    // The invariants judge the same rows on their own, and what they find broken is counted (QLT-14).
    let broken = engine.metric(engine.node(Role::Intake), "pagurus_invariant_violations_total").await;
    assert!(broken >= 10.0, "{broken}");
    let list = engine.get("/v1/orders?limit=500").await.unwrap().success().unwrap();
    let marked = list["items"].as_array().unwrap().iter().filter(|line| line["inconsistent"] == true).count();
    assert_eq!(marked, SEEDS.iter().filter(|(.., is_repaired)| !is_repaired).count(), "{list}");
    // Anyone who is alerted finds them, and only them.
    let ids = async |query: &str| {
        let found = engine.get(&format!("/v1/orders?limit=500&{query}")).await.unwrap().success().unwrap();
        let lines = found["items"].as_array().unwrap().clone();
        assert!(
            lines.iter().all(|line| (line["inconsistent"] == true) == query.contains("=true")),
            "{found}"
        );
        lines.len()
    };
    assert_eq!(ids("inconsistent=true").await, marked);
    assert_eq!(ids("inconsistent=false").await, list["items"].as_array().unwrap().len() - marked);
    let counts = engine.get("/v1/counts?by=scenario&inconsistent=true").await.unwrap().success().unwrap();
    let counted: u64 =
        counts["items"].as_array().unwrap().iter().map(|one| one["orders"].as_u64().unwrap()).sum();
    assert_eq!(counted, marked as u64, "{counts}");
}

// What was repaired goes on, and what was marked is a person's to put right.
#[tokio::test]
async fn rec_6_a_repaired_order_goes_on_and_a_restart_takes_the_mark() {
    let settings = [
        ("PAGURUS__RECOVERY__CHECK__RATE", "1000"),
        ("PAGURUS__RECOVERY__CHECK__CONFIRM_AFTER", "300ms"),
        ("PAGURUS__RECOVERY__CHECK__FIRST", "sleeps one"),
    ];
    let engine = Installation::with("rec_6_goes_on", &settings).await;
    scenarios(&engine).await;
    engine.scenario("short", &SLEEPS.replace("1h", "3s")).await;
    let database = engine.database().await;
    // The queue of an order that does not exist is free again for the one behind it.
    database
        .execute("INSERT INTO queued (order_no, queue, position) VALUES (1000000, 'q', 5)", &[])
        .await
        .unwrap();
    engine.accepted(json!({"id": "behind", "scenario": "one", "mode": "sequential", "queue": "q"})).await;
    engine.run(json!({"id": "sleeper", "scenario": "short"}), "sleep").await;
    engine.run(json!({"id": "asker", "scenario": "asks"}), "wait").await;
    database.execute("DELETE FROM due", &[]).await.unwrap();
    for id in ["sleeper", "behind"] {
        engine.reach(id, "success").await;
    }
    let due = "SELECT count(*) FROM due WHERE order_no = (SELECT no FROM orders WHERE id = 'asker')";
    until("the timer of the wait is set again", PATIENCE, async || {
        database.query_one(due, &[]).await.unwrap().get::<_, i64>(0) == 1
    })
    .await;
    let done = engine.run(json!({"id": "done", "scenario": "one"}), "success").await;
    database
        .execute("DELETE FROM payloads WHERE order_no = (SELECT no FROM orders WHERE id = 'asker')", &[])
        .await
        .unwrap();
    until("the order is marked", PATIENCE, async || {
        !engine.order("asker").await.unwrap()["inconsistent"].is_null()
    })
    .await;
    assert!(done["inconsistent"].is_null(), "{done}");
    database
        .execute("INSERT INTO payloads SELECT no, '{}' FROM orders WHERE id = 'asker'", &[])
        .await
        .unwrap();
    until("the mark is gone", PATIENCE, async || {
        engine.order("asker").await.unwrap()["inconsistent"].is_null()
    })
    .await;
}

#[tokio::test]
async fn rec_6_an_order_whose_position_is_gone_fails_and_does_nothing_twice() {
    let engine = Installation::with("rec_6_position", &[BY_HAND]).await;
    engine.scenario("short", &SLEEPS.replace("1h", "2s")).await;
    engine.run(json!({"id": "a", "scenario": "short"}), "sleep").await;
    engine.database().await.execute("DELETE FROM contexts", &[]).await.unwrap();
    let order = engine.reach("a", "fail").await;
    assert_eq!(order["error"]["class"], "recovery.inconsistent", "{order}");
}
