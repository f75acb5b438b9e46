//! Lists of orders (REC-13): whatever is asked for, one statement reads no more rows than its limit, and page
//! after page has every order that fits.

use jiff::{SignedDuration, Timestamp};
use pagurus_domain::access::scope::AccessScope;
use pagurus_domain::order::Status;
use pagurus_domain::search::Search;
use pagurus_store::Client;
use pagurus_store::lists::search::{SearchKey, SearchWalk, lines};
use serde_json::json;

use crate::ground::{Ground, fail, in_an_hour, retry, sleep, success};

/// Rows of the tables that lists read, by keys and otherwise.
const READ: &str =
    "SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint FROM pg_stat_user_tables
                     WHERE relname IN ('orders', 'failures', 'ready', 'running', 'due')";

/// Reads every order that a search wants, step by step.
async fn walk(client: &Client, search: &Search, rows: usize) -> Vec<i64> {
    let mut walk =
        SearchWalk::begin(client, search.clone(), &AccessScope::WHOLE, None).await.unwrap().unwrap();
    let mut all = Vec::new();
    loop {
        let step = walk.next(client, rows).await.unwrap();
        assert!(step.looked <= rows && step.found.len() <= step.looked);
        all.extend(step.found.iter().map(|order| order.no));
        if step.is_last {
            return all;
        }
        // From its cursor another process goes on.
        walk = SearchWalk::begin(client, search.clone(), &AccessScope::WHOLE, Some(&walk.cursor()))
            .await
            .unwrap()
            .unwrap();
    }
}

fn of(status: Status) -> Search {
    Search { statuses: vec![status], ..Search::default() }
}

#[tokio::test]
async fn rec_13_every_order_is_found_where_its_status_shows() {
    let ground = Ground::new("search").await;
    for round in 0..5 {
        for (word, end) in [("success", success()), ("fail", fail()), ("sleep", sleep()), ("retry", retry())]
        {
            let no = ground.order(&format!("{word}-{round}"), &json!({"transactionId": "T"})).await;
            let claimed = ground.claim(no).await;
            ground.finish(&claimed, end).await;
        }
        ground.order(&format!("new-{round}"), &json!({})).await;
        let later = json!({"lifecycle": {"startAt": in_an_hour().to_string()}});
        ground.order(&format!("postponed-{round}"), &later).await;
        let no = ground.order(&format!("running-{round}"), &json!({"transactionId": "T"})).await;
        ground.claim(no).await;
        // Due again, and not claimed yet: its status stays.
        let no = ground.order(&format!("retry-due-{round}"), &json!({})).await;
        let claimed = ground.claim(no).await;
        ground.finish(&claimed, retry()).await;
        ground.sql(&format!("UPDATE due SET due_at = now() WHERE order_no = {}", no.0)).await;
        ground.wake(pagurus_domain::activation::Stream::Retry).await;
    }
    let client = ground.work().await;
    for status in [
        Status::New,
        Status::Postponed,
        Status::Running,
        Status::Sleep,
        Status::Retry,
        Status::Wait,
        Status::Fail,
        Status::Success,
    ] {
        let word = status.as_str();
        for limit in [3, 1000] {
            let nos = walk(&client, &of(status), limit).await;
            assert!(nos.windows(2).all(|pair| pair[0] > pair[1]), "{word}: {nos:?}");
            let lines = lines(&client, &nos).await.unwrap();
            assert!(lines.iter().all(|line| line.status == status), "{word}: {lines:?}");
            let expected: Vec<String> = (0..5).rev().map(|round| format!("{word}-{round}")).collect();
            let found: Vec<String> =
                lines.into_iter().map(|line| line.id).filter(|id| !id.contains("-due-")).collect();
            assert_eq!(found, if word == "wait" { Vec::new() } else { expected }, "{limit} a step");
            let due = if word == "retry" { 5 } else { 0 };
            assert_eq!(nos.len(), found.len() + due, "{word}");
        }
    }
    let transaction = Search { transaction_id: Some("T".into()), ..Search::default() };
    assert_eq!(walk(&client, &transaction, 4).await.len(), 25);
    let running = Search { statuses: vec![Status::Running], ..transaction };
    assert_eq!(walk(&client, &running, 4).await.len(), 5);
    assert_eq!(walk(&client, &Search::default(), 7).await.len(), 40);
    let nobody = Search { scenario: Some("none".into()), ..Search::default() };
    assert!(SearchWalk::begin(&client, nobody, &AccessScope::WHOLE, None).await.unwrap().is_none());
}

/// Six orders of different ids, times, flows, urgencies and messages.
async fn filled(test: &str) -> Ground {
    let ground = Ground::new(test).await;
    for (at, word) in ["apple", "apricot", "banana", "app_le", "Ж-1", "Ж-2"].into_iter().enumerate() {
        let no = ground.order(word, &json!({"priority": if at % 2 == 0 { "high" } else { "low" }})).await;
        let back = i64::try_from(at).unwrap() * 10;
        ground
            .sql(&format!(
                "UPDATE orders SET created_at = now() - interval '{} minutes', flow = 'f{}', message = 'Refused {word}' WHERE no = {}",
                100 - back, at % 3, no.0
            ))
            .await;
    }
    ground
}

#[tokio::test]
async fn rec_13_each_condition_is_held_against_what_its_path_finds() {
    let ground = filled("search_conditions").await;
    let client = ground.work().await;
    let ids = async |search: Search, rows: usize| -> Vec<String> {
        let nos = walk(&client, &search, rows).await;
        let found = lines(&client, &nos).await.unwrap();
        nos.iter().map(|no| found.iter().find(|line| line.no == *no).unwrap().id.clone()).collect()
    };
    for rows in [1, 2, 100] {
        let prefix = |text: &str| Search { id_prefix: Some(text.into()), ..Search::default() };
        assert_eq!(
            ids(prefix("ap"), rows).await,
            ["app_le", "apple", "apricot"],
            "{rows} a step, in the order of ids"
        );
        assert_eq!(ids(prefix("app_"), rows).await, ["app_le"], "no pattern");
        assert_eq!(ids(prefix("Ж"), rows).await, ["Ж-1", "Ж-2"]);
        assert_eq!(ids(prefix("apples"), rows).await, [""; 0]);
        let named = Search { ids: vec!["banana".into(), "none".into(), "apple".into()], ..Search::default() };
        assert_eq!(ids(named.clone(), rows).await, ["banana", "apple"]);
        let high = Search { priority: Some(pagurus_domain::order::Priority::High), ..named };
        assert_eq!(ids(high, rows).await, ["banana", "apple"]);
        let flow = Search { flow: Some("f1".into()), ..Search::default() };
        assert_eq!(ids(flow, rows).await, ["Ж-1", "apricot"]);
        let text = Search { text: Some("refused ban".into()), ..Search::default() };
        assert_eq!(ids(text, rows).await, ["banana"]);
        let ago = |minutes: i64| Timestamp::now() - SignedDuration::from_mins(minutes);
        let between =
            Search { created_since: Some(ago(95)), created_until: Some(ago(65)), ..Search::default() };
        assert_eq!(ids(between, rows).await, ["app_le", "banana", "apricot"]);
        let new = Search { text: Some("ban".into()), ..of(Status::New) };
        assert_eq!(ids(new, rows).await, ["banana"]);
    }
}

#[tokio::test]
async fn rec_13_orders_are_counted_along_every_path() {
    let ground = filled("search_counts").await;
    let client = ground.work().await;
    let begin = async |search: Search| {
        SearchWalk::begin(&client, search, &AccessScope::WHOLE, None).await.unwrap().unwrap()
    };
    let all = || Search { created_since: Some(Timestamp::UNIX_EPOCH), ..Search::default() };
    let counted =
        begin(all()).await.count(&client, [SearchKey::Priority, SearchKey::Status], 100).await.unwrap();
    let groups: Vec<_> = counted
        .groups
        .iter()
        .map(|group| (group.keys.clone().map(Option::unwrap_or_default), group.orders))
        .collect();
    assert_eq!(groups, [(["high".into(), "new".into()], 3), (["low".into(), "new".into()], 3)]);
    assert!(counted.is_complete);
    let some = begin(all()).await.count(&client, [SearchKey::Flow, SearchKey::Nothing], 4).await.unwrap();
    assert!(!some.is_complete && some.groups.iter().map(|group| group.orders).sum::<i64>() == 4);
    for search in [
        Search { ids: vec!["apple".into()], ..Search::default() },
        Search { id_prefix: Some("ap".into()), ..Search::default() },
        Search { transaction_id: Some("t".into()), ..Search::default() },
        Search { queue: Some("q".into()), ..of(Status::New) },
        of(Status::New),
        of(Status::Fail),
    ] {
        let counted = begin(search.clone())
            .await
            .count(&client, [SearchKey::Scenario, SearchKey::Class], 100)
            .await
            .unwrap();
        let orders: i64 = counted.groups.iter().map(|group| group.orders).sum();
        assert_eq!(usize::try_from(orders).unwrap(), walk(&client, &search, 100).await.len(), "{search:?}");
    }
}

#[tokio::test]
async fn rec_13_a_page_reads_a_bounded_number_of_rows_of_many() {
    const LIMIT: usize = 1000;
    let ground = Ground::new("search_many").await;
    let many = "INSERT INTO orders (id, digest, scenario, mode, priority, flow, transaction_id, created_at, status, finished_at)
                SELECT 'f-' || n, '', (SELECT max(no) FROM scenarios), 'parallel', 'normal', 's',
                       CASE WHEN n % 4 = 0 THEN 'T' END, now(), 'success', now() FROM generate_series(1, 120000) n";
    assert_eq!(ground.sql(many).await, 120_000);
    for (table, values) in [
        ("failures (order_no, at, scenario)", "no, now(), scenario"),
        ("due (order_no, stream, due_at)", "no, 1, now()"),
        (
            "ready (order_no, pass, attempt, wake, flow, priority, since)",
            "no, gen_random_uuid(), 1, 'start', 's', 'normal', now()",
        ),
        (
            "running (order_no, pass, attempt, wake, restarts, node, since, started_at, deadline_at)",
            "no, gen_random_uuid(), 1, 'start', 0, 1, now(), now(), now()",
        ),
    ] {
        ground.sql(&format!("INSERT INTO {table} SELECT {values} FROM orders WHERE no % 3 = 0")).await;
    }
    ground.sql("ANALYZE orders, scenarios, failures, due, ready, running").await;
    let client = ground.work().await;
    let read = async || {
        client.query("SELECT pg_stat_force_next_flush()", &[]).await.unwrap();
        client.query("SELECT 1", &[]).await.unwrap();
        ground.count(READ).await
    };
    let suspended = [Status::Sleep, Status::Running];
    for search in [
        Search::default(),
        of(Status::Fail),
        Search { statuses: suspended.to_vec(), ..Search::default() },
        of(Status::New),
        Search { transaction_id: Some("T".into()), ..Search::default() },
        Search { id_prefix: Some("f-1".into()), ..Search::default() },
        Search { created_since: Some(Timestamp::UNIX_EPOCH), text: Some("x".into()), ..Search::default() },
    ] {
        let by_id = search.id_prefix.is_some();
        for cursor in [None, Some(if by_id { "f-11" } else { "60000" })] {
            let mut walk = SearchWalk::begin(&client, search.clone(), &AccessScope::WHOLE, cursor)
                .await
                .unwrap()
                .unwrap();
            let before = read().await;
            let step = walk.next(&client, LIMIT).await.unwrap();
            let rows = read().await - before;
            assert_eq!(step.looked, LIMIT, "{search:?}");
            // Those that are looked at, once by the key and once as a whole, with their places.
            assert!(
                (1000..=8000).contains(&rows),
                "{search:?} from {cursor:?}: {rows} rows read for {LIMIT}"
            );
        }
    }
}
