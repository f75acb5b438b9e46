//! Under a snapshot that somebody holds, deleted rows stay in the indexes: looks begin behind them (QLT-2).

use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::low_water::{LowWater, LowWaterByName};
use pagurus_store::hot::outbox::webhooks::{self, Wanted};
use pagurus_store::hot::queues;
use pagurus_store::lists::measures;
use pagurus_store::upkeep::doctor;
use pagurus_store::upkeep::first::{self, TimedList};
use pagurus_store::{Client, statements};
use serde_json::json;

use crate::ground::Ground;

/// Rows that went through each list since the snapshot.
const GONE: i64 = 20_000;
/// Blocks that one look may touch: far less than what is gone fills.
const FEW: i64 = 100;
/// Lists that rows go through.
const TABLES: [&str; 8] =
    ["due", "deadlines", "running", "ready", "suspensions", "outbox", "queued", "promises"];

/// Holds a snapshot, for longer than the sessions of the engine may rest in a transaction.
const HOLD: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL idle_in_transaction_session_timeout = 0; \
                    SELECT count(*) FROM due";

/// Puts rows with past times into each list, and takes them out again, while a snapshot is held. Gives the holder.
async fn churn(ground: &Ground) -> Client {
    let holder = ground.work().await;
    holder.batch_execute(HOLD).await.unwrap();
    let series = format!("generate_series(1, {GONE}) n");
    let at = "now() - interval '1 hour' + n * interval '1 millisecond'";
    for statement in [
        format!("INSERT INTO due SELECT n, 0, {at} FROM {series}"),
        format!("INSERT INTO deadlines SELECT n, 'process', {at} FROM {series}"),
        format!("INSERT INTO running SELECT n, gen_random_uuid(), 1, 'start', 0, NULL, 1, now(), now(), {at} FROM {series}"),
        format!(
            "INSERT INTO ready SELECT n + {GONE}, gen_random_uuid(), 1, 'timer', 's', 'normal', NULL, NULL, 0, false, now(), 0, {at}
               FROM {series}"
        ),
        format!(
            "INSERT INTO outbox (order_no, life, kind, message_id, target, body, next_at)
             SELECT n, 1, 'final', gen_random_uuid(), 't', '{{}}', {at} FROM {series}"
        ),
        format!("INSERT INTO promises (order_no, promise_at, look_at) SELECT n, now(), {at} FROM {series}"),
        format!("INSERT INTO suspensions (order_no, attempt, at) SELECT n, 1, {at} FROM {series}"),
        format!(
            "INSERT INTO outbox (order_no, life, kind, message_id, target, receiver, body, next_at)
             SELECT n, 1, 'parked', gen_random_uuid(), 't', 'https://r' || n % 2 || ':443', '{{}}', {at} FROM {series}"
        ),
        "INSERT INTO queues (name, last_position, taken) VALUES ('q', 1000000, 1)".to_owned(),
        format!("INSERT INTO queued (order_no, queue, position) SELECT n, 'q', n FROM {series}"),
    ] {
        ground.sql(&statement).await;
    }
    for table in TABLES {
        ground.sql(&format!("DELETE FROM {table}")).await;
    }
    for table in TABLES {
        ground.work().await.batch_execute(&format!("VACUUM ANALYZE {table}")).await.unwrap();
    }
    holder
}

/// Blocks that a statement touches.
async fn blocks(client: &Client, name: &str, arguments: &str) -> i64 {
    let statement = statements::all().find(|statement| statement.name.ends_with(name)).expect(name);
    client.batch_execute(&format!("PREPARE looked_at AS {}", statement.sql)).await.unwrap();
    let query = format!("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE looked_at({arguments})");
    let plan = crate::plans::read_plan(&client.simple_query(&query).await.unwrap());
    client.batch_execute("DEALLOCATE looked_at").await.unwrap();
    let plan = &plan[0]["Plan"];
    plan["Shared Hit Blocks"].as_i64().unwrap() + plan["Shared Read Blocks"].as_i64().unwrap()
}

#[tokio::test]
async fn qlt_2_under_a_held_snapshot_a_look_does_not_walk_over_what_is_gone() {
    let ground = Ground::new("held_snapshot").await;
    let holder = churn(&ground).await;
    let client = ground.work().await;
    for (name, more) in [
        ("first::DUE", ", 0::smallint"),
        ("first::WOKEN", ""),
        ("first::REPEATS", ""),
        ("first::OVERDUE", ""),
        ("first::DEADLINES", ""),
        ("first::SUSPENSIONS", ""),
        ("first::PROMISES", ""),
        ("first::OUTBOX", ""),
    ] {
        let whole = blocks(&client, name, &format!("NULL{more}")).await;
        assert!(whole > FEW, "the trial shows nothing: {name} touched {whole} blocks");
        let marked = blocks(&client, name, &format!("now() - interval '2 seconds'{more}")).await;
        assert!(marked < FEW, "{name} touched {marked} blocks from its mark on, {whole} in all");
    }
    let since = "now() - interval '2 seconds'";
    for (name, whole, marked) in [
        (
            "webhooks::TAKE",
            "'{https://r1:443}', '{8}', '{NULL}', 100, 60".to_owned(),
            format!("'{{https://r1:443}}', '{{8}}', ARRAY[{since}], 100, 60"),
        ),
        (
            "webhooks::GIVE_UP",
            "'https://r1:443', 60, 'why', NULL".to_owned(),
            format!("'https://r1:443', 60, 'why', {since}"),
        ),
    ] {
        let (whole, marked) = (blocks(&client, name, &whole).await, blocks(&client, name, &marked).await);
        assert!(whole > FEW && marked < FEW, "{name}: {whole} blocks, {marked} behind its mark");
    }
    let (never, lately) = ("'-infinity'", since);
    for (name, arguments) in [("promises::TAKE", "30, 500, "), ("idle::IDLE_DUE", "0::smallint, 2000, 60, ")]
    {
        let whole = blocks(&client, name, &format!("{arguments}{never}")).await;
        let marked = blocks(&client, name, &format!("{arguments}{lately}")).await;
        assert!(whole > FEW && marked < FEW, "{name}: {whole} blocks, {marked} behind its mark");
    }
    for (name, before, behind) in
        [("idle::IDLE_READY", "", ", 2000, 60"), ("measures::OLDEST_READY", "1000, ", "")]
    {
        let whole = blocks(&client, name, &format!("{before}0{behind}")).await;
        let marked = blocks(&client, name, &format!("{before}{}{behind}", 2 * GONE)).await;
        assert!(whole > FEW && marked < FEW, "{name}: {whole} blocks, {marked} behind its mark");
    }
    let whole = blocks(&client, "stages::READY_PAGE", "0, 1000000, 5000").await;
    let marked = blocks(&client, "stages::READY_PAGE", &format!("{}, 1000000, 5000", 2 * GONE)).await;
    assert!(whole > FEW && marked < FEW, "what is ready: {whole} blocks, {marked} behind its mark");
    let heads = "ARRAY['q']";
    let members = "'q', 10";
    let all_members = blocks(&client, "queues::HAS_WAITING", members).await;
    let whole = blocks(&client, "queues::HEADS", heads).await;
    ground.sql("INSERT INTO queued (order_no, queue, position) VALUES (1, 'q', 1000000)").await;
    queues::raise_head(&client, "q").await.unwrap();
    let marked = blocks(&client, "queues::HEADS", heads).await;
    assert!(whole > FEW && marked < FEW, "the head of a queue: {whole} blocks, {marked} behind its mark");
    let marked = blocks(&client, "queues::HAS_WAITING", members).await;
    assert!(all_members > FEW && marked < FEW, "members: {all_members} blocks, {marked} behind the mark");
    assert!(!queues::has_waiting(&client, "q", 1).await.unwrap(), "its holder does not wait");
    assert_eq!(queues::heads(&client, &["q".to_owned()]).await.unwrap()[0].position, 1_000_000);
    ground.sql("INSERT INTO queued (order_no, queue, position) VALUES (2, 'q', 1000001)").await;
    assert!(queues::has_waiting(&client, "q", 1).await.unwrap());
    assert!(!queues::has_waiting(&client, "q", 2).await.unwrap());
    drop(holder);
}

#[tokio::test]
async fn qlt_2_what_is_put_below_the_mark_is_found_when_it_is_announced_or_by_the_next_whole_look() {
    let ground = Ground::new("below_the_mark").await;
    let client = ground.work().await;
    let list = TimedList::Due(pagurus_domain::activation::Stream::Retry);
    let mut low_water = LowWater::default();
    let first = first::look(&client, list, &mut low_water).await.unwrap();
    assert!(first.at.is_none() && first.come().is_none());
    let no = ground.order("o", &json!({})).await;
    ground.sql(&format!("DELETE FROM ready WHERE order_no = {no}")).await;
    ground.sql(&format!("INSERT INTO due VALUES ({no}, 5, now() - interval '1 hour')")).await;
    let first = first::look(&client, list, &mut low_water).await.unwrap();
    assert!(first.at.is_none(), "it lies below the mark");
    let mut lowered = low_water;
    lowered.lower(Timestamp::now() - jiff::SignedDuration::from_hours(2));
    assert!(first::look(&client, list, &mut lowered).await.unwrap().come().is_some(), "somebody lowered");
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    assert!(first::look(&client, list, &mut low_water).await.unwrap().come().is_some(), "a look over all");
}

#[tokio::test]
async fn qlt_2_a_receiver_of_webhooks_is_looked_at_from_where_the_last_look_found_something() {
    let ground = Ground::new("webhook_marks").await;
    let client = ground.work().await;
    ground
        .sql(
            "INSERT INTO outbox (order_no, life, kind, message_id, target, receiver, body, next_at)
             SELECT n, 1, 'final', gen_random_uuid(), 't', 'https://r' || n % 2 || ':443', '{}', now() - n * interval '1 minute'
               FROM generate_series(1, 20) n",
        )
        .await;
    let mut low_water = LowWaterByName::default();
    assert!(low_water.begin(Timestamp::now()));
    low_water.found_names(webhooks::receivers(&client).await.unwrap());
    let mut taken = Vec::new();
    // Five rounds of two each; then there is nothing left, and nothing was passed over.
    for round in 0..6 {
        let rooms: Vec<_> = low_water.names().map(|(name, since)| (name.to_owned(), 2, since)).collect();
        assert!(round == 0 || rooms.iter().all(|(_, _, since)| since.is_some()), "{rooms:?}");
        let wanted = Wanted { rooms: &rooms, limit: 100, lease: Duration::from_secs(60) };
        let found = webhooks::take(&client, &wanted).await.unwrap();
        found.first.iter().for_each(|(receiver, least)| low_water.raise(receiver, *least));
        taken.extend(found.notifications.iter().map(|one| one.no.0));
    }
    taken.sort_unstable();
    assert_eq!(taken, (1..=20).collect::<Vec<_>>());
}

/// Without `pg_monitor` the server shows nothing of sessions of other users: nobody may take that for "no snapshot".
#[tokio::test]
async fn qlt_2_a_view_without_other_sessions_is_not_taken_for_no_snapshot() {
    let ground = Ground::new("unseen_sessions").await;
    let holder = ground.work().await;
    holder.batch_execute(HOLD).await.unwrap();
    let client = ground.work().await;
    let seen = measures::held_snapshots(&client).await.unwrap();
    assert!(seen.unseen == 0 && seen.known_seconds().is_some(), "{seen:?}");
    let facts = doctor::facts(&client, Timestamp::now).await.unwrap();
    assert!(facts.unseen_sessions == 0 && !facts.snapshots.is_empty(), "{facts:?}");
    let user = format!("blind_{}", std::process::id());
    let made = format!(
        "CREATE ROLE {user}; GRANT USAGE ON SCHEMA public TO {user}; GRANT SELECT ON ALL TABLES IN SCHEMA public TO {user}; SET ROLE {user}"
    );
    client.batch_execute(&made).await.unwrap();
    let unseen = measures::held_snapshots(&client).await.unwrap();
    assert!(unseen.unseen > 0 && unseen.known_seconds().is_none(), "{unseen:?}");
    let facts = doctor::facts(&client, Timestamp::now).await.unwrap();
    assert!(facts.unseen_sessions > 0 && facts.sessions >= 2, "{facts:?}");
    client.batch_execute(&format!("RESET ROLE; DROP OWNED BY {user}; DROP ROLE {user}")).await.unwrap();
    drop(holder);
}
