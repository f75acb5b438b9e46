//! Every statement fits the schema, and the hot ones reach their rows by a key, whatever the statistics say.
//! Never trusts one number of one run: plans are read, and rows are counted.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use pagurus_domain::id::{Attempt, OrderNo};
use pagurus_store::Client;
use pagurus_store::hot::stages::{self, OfferedStage};
use pagurus_store::outside::orders;
use pagurus_store::outside::orders::Registered;
use pagurus_store::sql::Statement;
use pagurus_store::statements;
use serde_json::{Value, json};
use tokio_postgres::{Column, SimpleQueryMessage};

use crate::ground::{FIRST_EPOCH, Ground, finished, success};

/// Tables that grow with the load.
const TABLES: [&str; 22] = [
    "calls",
    "children",
    "dependencies",
    "orders",
    "payloads",
    "contexts",
    "ready",
    "running",
    "due",
    "deadlines",
    "queued",
    "queues",
    "requests",
    "callbacks",
    "history",
    "outbox",
    "failures",
    "stats",
    "suspensions",
    "promises",
    "operation_orders",
    "search_values",
];

/// Statements that read a whole table on purpose, each with the reason why it may.
const WHOLE: &[(&str, &str)] = &[
    ("stages::RUNNING", "all that runs, once for each leader: as many rows as there is capacity"),
    ("stages::RUNNING_OF_FLOW", "all that runs, for people who ask why an order does not"),
    ("presence::LOAD", "all that runs, for people who ask how full the workers are"),
    ("idle::NEWEST_TAKEN", "all that runs, once for each look at what stands still"),
    ("search::LAST_NUMBER", "the last entry of an index, and no other"),
    ("replays::BEGIN_REPLAY", "the same, once for each replay"),
    ("restore::RAISE_QUEUES", "all queues, once after a restore, while nothing runs"),
    ("restore::NEW_PASSES", "all that may run, once after a restore"),
    ("restore::HAND_BACK", "all that ran, once after a restore"),
    ("restore::UNCONFIRMED", "a number for people, once after a restore"),
    ("restore::WAITING_READY", "a number for people, once after a restore"),
    ("retention::DROP_NODES", "all that runs, once a minute, held against the nodes of long ago"),
    ("lost::ABANDONED", "all that runs, held against the living nodes"),
    ("lost::CLAIMS_OF_NODE", "all that runs, held against what a worker knows of"),
    ("lost::OF_NODE", "the same, of one node that is stopping or lost"),
    (
        "requests::OPEN",
        "all that waits for callbacks, a twentieth of the time, on the connections of reports",
    ),
    ("shift::COUNT_DUE", "for people, before planned works, on the connections of reports"),
    ("measures::COUNT_READY", "a thousand rows at most, four times a minute, for metrics"),
    ("measures::COUNT_RUNNING", "the same"),
    ("promises::IN_JEOPARDY", "those that are marked, up to a bound, four times a minute, for metrics"),
    ("queues::LIST_QUEUES", "for people, on the connections of reports"),
    ("outbox::shown::BACKLOG", "a number for people; the table holds what is not confirmed yet"),
];

#[tokio::test]
async fn rec_1_every_statement_can_be_prepared_against_the_migrated_schema() {
    let ground = Ground::new("prepare").await;
    let client = ground.work().await;
    let mut broken = Vec::new();
    for statement in statements::all() {
        if let Err(error) = client.prepare(statement.sql).await {
            broken.push(format!("{}: {:?}", statement.name, error.as_db_error()));
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(statements::all().count() > 80, "the list has lost its statements");
}

/// Two jobs under one advisory lock hold each other up without a reason.
#[test]
fn rec_10_every_advisory_lock_has_a_name_of_its_own() {
    let locking = statements::all().filter(|statement| statement.sql.contains("advisory"));
    let names: Vec<&str> = locking
        .map(|statement| {
            let (_, named) = statement.sql.split_once("hashtextextended('").unwrap_or_else(|| {
                // The one that is a number since the first version.
                assert!(statement.name.ends_with("TAKE_TURN"), "{} locks a number", statement.name);
                ("", "(conditions)'")
            });
            named.split('\'').next().unwrap()
        })
        .collect();
    assert!(names.len() >= 5, "{names:?}");
    assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len(), "{names:?}");
}

/// Columns are read by name: a second one of the same name would never be read, and one without a name
/// could only be read by its position.
#[tokio::test]
async fn rec_1_every_column_of_a_statement_has_a_name_of_its_own() {
    let ground = Ground::new("names").await;
    let client = ground.work().await;
    let mut found = Vec::new();
    for statement in statements::all() {
        let prepared = client.prepare(statement.sql).await.unwrap();
        let mut names = HashSet::new();
        let wrong = prepared.columns().iter().map(Column::name).filter(|name| {
            let is_left_to_the_server = UNNAMED.contains(name);
            is_left_to_the_server || !names.insert(*name)
        });
        found.extend(wrong.map(|name| format!("{}: {name}", statement.name)));
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// Names that the server gives to expressions that have none: `?column?`, or that of the function.
const UNNAMED: [&str; 10] = [
    "?column?",
    "case",
    "coalesce",
    "count",
    "exists",
    "min",
    "max",
    "array",
    "octet_length",
    "clock_timestamp",
];

#[tokio::test]
async fn the_plans_of_empty_tables_are_those_of_full_ones() {
    let ground = Ground::new("plans").await;
    let client = ground.work().await;
    client.batch_execute("VACUUM ANALYZE").await.unwrap();
    let mut slow = Vec::new();
    for statement in statements::all().filter(|statement| whole(statement).is_none()) {
        let plan = explain(&client, statement).await;
        slow.extend(unkeyed(&plan).into_iter().map(|found| format!("{}: {found}", statement.name)));
    }
    assert!(slow.is_empty(), "{slow:#?}");
    for (name, _) in WHOLE {
        assert!(
            statements::all().any(|statement| statement.name.ends_with(name)),
            "{name} is no statement any more"
        );
    }
}

fn whole(statement: &Statement) -> Option<&'static str> {
    WHOLE.iter().find(|(name, _)| statement.name.ends_with(name)).map(|(_, reason)| *reason)
}

/// The generic plan, as the work connections keep it.
async fn explain(client: &Client, statement: &Statement) -> Value {
    let parameters = client.prepare(statement.sql).await.unwrap().params().len();
    let nulls = vec!["NULL"; parameters].join(", ");
    let arguments = if parameters == 0 { String::new() } else { format!("({nulls})") };
    client.batch_execute(&format!("PREPARE looked_at AS {}", statement.sql)).await.unwrap();
    let answer = client.simple_query(&format!("EXPLAIN (FORMAT JSON) EXECUTE looked_at{arguments}")).await;
    let answer = answer.unwrap_or_else(|error| panic!("{}: {error:?}", statement.name));
    client.batch_execute("DEALLOCATE looked_at").await.unwrap();
    read_plan(&answer)
}

/// Places in a plan that read a growing table, or the whole of an index on it, without a key.
fn unkeyed(plan: &Value) -> Vec<String> {
    let mut found = Vec::new();
    match plan {
        Value::Array(parts) => found.extend(parts.iter().flat_map(unkeyed)),
        Value::Object(fields) => {
            let text = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default();
            let grows = TABLES.contains(&text("Relation Name"));
            let keyed = fields.contains_key("Index Cond");
            match text("Node Type") {
                "Seq Scan" if grows => found.push(format!("Seq Scan on {}", text("Relation Name"))),
                "Index Scan" | "Index Only Scan" if grows && !keyed => {
                    found.push(format!("all of {} on {}", text("Index Name"), text("Relation Name")));
                }
                _ => {}
            }
            found.extend(fields.values().flat_map(unkeyed));
        }
        _ => {}
    }
    found
}

#[tokio::test]
async fn act_4_looking_for_what_is_due_does_not_read_what_is_not() {
    const LATER: i64 = 20_000;
    let ground = Ground::new("due_reads").await;
    let client = ground.work().await;
    for fill in [
        "INSERT INTO due SELECT n, n % 7, now() + interval '1 hour' FROM generate_series(1, 20000) n",
        "INSERT INTO deadlines SELECT n, 'process', now() + interval '1 hour' FROM generate_series(1, 20000) n",
        "INSERT INTO running SELECT n, gen_random_uuid(), 1, 'start', 0, NULL, 1, now(), now(), now() + interval '1 hour'
           FROM generate_series(1, 20000) n",
        "INSERT INTO ready SELECT n, gen_random_uuid(), 1, 'timer', 's', 'normal', NULL, NULL, 0, false, now(), 0,
                now() + interval '1 hour' FROM generate_series(20001, 40000) n",
        "INSERT INTO outbox (order_no, life, kind, message_id, target, body, next_at)
         SELECT n, 1, 'final', gen_random_uuid(), 't', '{}', now() + interval '1 hour' FROM generate_series(1, 20000) n",
        "INSERT INTO suspensions (order_no, attempt, at) SELECT n, 1, now() + interval '1 hour' FROM generate_series(1, 20000) n",
        "INSERT INTO promises (order_no, promise_at, look_at)
         SELECT n, now() + interval '2 hours', now() + interval '1 hour' FROM generate_series(1, 20000) n",
        "INSERT INTO outbox (order_no, life, kind, message_id, target, receiver, body, next_at)
         SELECT n, 1, 'parked', gen_random_uuid(), 't', 'https://r' || n % 5 || ':443', '{}', now() + interval '1 hour'
           FROM generate_series(1, 20000) n",
        "ANALYZE",
    ] {
        client.batch_execute(fill).await.unwrap();
    }
    for (name, arguments) in [
        ("first::DUE", "NULL, 0::smallint"),
        ("first::WOKEN", "NULL"),
        ("first::REPEATS", "NULL"),
        ("first::OVERDUE", "NULL"),
        ("first::DEADLINES", "NULL"),
        ("first::OUTBOX", "NULL"),
        ("due::TAKE", "0::smallint, 1000, '2026-01-01'"),
        ("due::LOCK_WAITS", "3::smallint, 1000, '2026-01-01'"),
        ("due::REPEAT", "1000, 30, '2026-01-01'"),
        ("lost::OVERDUE", "1000, '2026-01-01'"),
        ("lost::PASSED", "1000, '2026-01-01'"),
        ("first::SUSPENSIONS", "NULL"),
        ("suspensions::PASSED", "1000, '2026-01-01'"),
        ("outbox::sending::TAKE", "1000, '2026-01-01'"),
        ("promises::TAKE", "30, 500, '2026-01-01'"),
        ("first::PROMISES", "NULL"),
        ("outbox::webhooks::RECEIVERS", ""),
        (
            "outbox::webhooks::TAKE",
            "'{https://r1:443,https://r2:443}', '{8,8}', '{NULL,2026-01-01}', 100, 60",
        ),
        ("outbox::webhooks::GIVE_UP", "'https://r1:443', 60, 'why', NULL"),
    ] {
        let statement = statements::all().find(|statement| statement.name.ends_with(name)).expect(name);
        client.batch_execute(&format!("PREPARE looked_at AS {}", statement.sql)).await.unwrap();
        let arguments = if arguments.is_empty() { String::new() } else { format!("({arguments})") };
        let query = format!("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE looked_at{arguments}");
        let plan = read_plan(&client.simple_query(&query).await.unwrap());
        client.batch_execute("DEALLOCATE looked_at").await.unwrap();
        let passed_over = sum_of(&plan, "Rows Removed by Filter");
        assert!(passed_over < LATER / 100, "{name} looked at {passed_over} rows that are not due: {plan:#}");
    }
}

/// The sum of a number over all nodes of a plan.
fn sum_of(plan: &Value, key: &str) -> i64 {
    match plan {
        Value::Array(parts) => parts.iter().map(|part| sum_of(part, key)).sum(),
        Value::Object(fields) => {
            let own = fields.get(key).and_then(Value::as_i64).unwrap_or_default();
            own + fields.values().map(|part| sum_of(part, key)).sum::<i64>()
        }
        _ => 0,
    }
}

pub fn read_plan(messages: &[SimpleQueryMessage]) -> Value {
    let text = messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    serde_json::from_str(text.expect("a plan")).unwrap()
}

#[tokio::test]
async fn a_table_that_was_empty_when_it_was_analyzed_does_not_slow_down_as_it_fills() {
    const BATCH: usize = 250;
    const BATCHES: usize = 20;
    let ground = Ground::new("trap").await;
    let mut client = ground.work().await;
    client.batch_execute("VACUUM ANALYZE").await.unwrap();
    // The statements are prepared and planned now, on one connection, as those of a service that was idle.
    let mut nos = Vec::new();
    let mut times = Vec::new();
    for batch in 0..BATCHES {
        let new: Vec<_> = (0..BATCH)
            .map(|number| {
                let place = json!({"mode": "sequential", "queue": format!("q{}", number % 50)});
                ground.new_order(
                    &format!("{batch}-{number}"),
                    if number % 5 == 0 { &place } else { &Value::Null },
                )
            })
            .collect();
        let begun = Instant::now();
        let tx = client.transaction().await.unwrap();
        let registered = orders::register(&tx, &new).await.unwrap();
        tx.commit().await.unwrap();
        times.push(begun.elapsed());
        nos.extend(registered.iter().map(|one| match one {
            Registered::Accepted { no, .. } => *no,
            other => panic!("{other:?}"),
        }));
    }
    demand_steady("registration", &times);
    let mut times = Vec::new();
    for batch in nos.chunks(BATCH) {
        let begun = Instant::now();
        run_stages(&mut client, &ground, batch).await;
        times.push(begun.elapsed());
    }
    demand_steady("stages", &times);
    demand_few_reads(&client, nos.len()).await;
}

async fn run_stages(client: &mut Client, ground: &Ground, nos: &[OrderNo]) {
    let hand_outs: Vec<OfferedStage> =
        nos.iter().map(|no| OfferedStage { no: *no, attempt: Attempt::FIRST, epoch: FIRST_EPOCH }).collect();
    let (claimed, _) = stages::claim(client, &ground.claimant(), &hand_outs).await.unwrap();
    let ends: Vec<_> = claimed.iter().map(|one| finished(one, success())).collect();
    let passes: Vec<_> = claimed.iter().map(|one| (one.head.no, one.pass)).collect();
    let tx = client.transaction().await.unwrap();
    stages::take_ends(&tx, &passes).await.unwrap();
    stages::finish(&tx, "w-1", &ends.iter().collect::<Vec<_>>(), &Default::default()).await.unwrap();
    tx.commit().await.unwrap();
}

/// The middle of the last batches against that of the first: a bad plan costs tens of times as much, a busy machine
/// does not.
fn demand_steady(what: &str, times: &[Duration]) {
    let middle = |part: &[Duration]| {
        let mut sorted = part.to_vec();
        sorted.sort_unstable();
        sorted[sorted.len() / 2]
    };
    let (first, last) = (middle(&times[1..6]), middle(&times[times.len() - 5..]));
    eprintln!("{what}: {first:?} a batch at first, {last:?} in the end");
    assert!(last < first * 4 + Duration::from_millis(50), "{what} slows down: {times:?}");
}

/// Rows that were read for each order, by keys and otherwise.
async fn demand_few_reads(client: &Client, orders: usize) {
    client.query("SELECT pg_stat_force_next_flush()", &[]).await.unwrap();
    let query =
        "SELECT relname, coalesce(seq_tup_read, 0), coalesce(idx_tup_fetch, 0) FROM pg_stat_user_tables";
    for row in client.query(query, &[]).await.unwrap() {
        let (table, by_scan, by_key): (String, i64, i64) = (row.get(0), row.get(1), row.get(2));
        if TABLES.contains(&table.as_str()) {
            let orders = i64::try_from(orders).unwrap();
            assert_eq!(by_scan, 0, "{table}: rows read by sequential scans");
            assert!(by_key < 20 * orders, "{table}: {by_key} rows read for {orders} orders");
        }
    }
}
