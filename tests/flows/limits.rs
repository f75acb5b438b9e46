//! A thing that one client sends, holds or asks for costs the others nothing: each test sends the very thing, with
//! orders of others that go through meanwhile.

use std::time::{Duration, Instant};

use lapin::BasicProperties;
use pagurus_harness::nodes::{Node, Role};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_postgres::NoTls;

use crate::installation::{Installation, LOG, PATIENCE, asking, until, with_actions};

/// Memory that one of the heaviest orders that are legal may take, in MiB: its value once.
const MOST_OF_ONE: u64 = 150;
/// Memory that an intake may take with many of them over HTTP, in percent of what one of them
/// takes: they come one by one, but the allocator keeps what it was given back for a while.
const MOST_OF_HTTP: u64 = 260;
/// The same over AMQP, where one order may be checked while the next is taken.
const MOST_OF_AMQP: u64 = 360;

/// Returns the most memory that a process has held so far, in MiB.
fn peak(node: &Node) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", node.identity.pid)).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() / 1024
}

/// Orders of others, one after another, until the end of `others`; the longest that one took.
async fn canaries<T>(engine: &Installation, others: impl Future<Output = T>) -> (T, Duration) {
    tokio::pin!(others);
    let mut longest = Duration::ZERO;
    loop {
        let id = format!("canary-{}", uuid::Uuid::new_v4());
        let begun = Instant::now();
        let canary = engine.run(json!({"id": id, "scenario": "canary"}), "success");
        tokio::pin!(canary);
        tokio::select! {
            _ = &mut canary => longest = longest.max(begun.elapsed()),
            done = &mut others => {
                canary.await;
                return (done, longest.max(begun.elapsed()));
            }
        }
    }
}

async fn with_canary(test: &str, settings: &[(&str, &str)]) -> Installation {
    let engine = Installation::with(test, settings).await;
    engine.actions("canary", LOG).await;
    engine
}

#[tokio::test]
async fn qlt_3_eight_batches_of_nothing_but_lines_or_elements_cost_no_memory() {
    let engine = with_canary("limits_batch", &[]).await;
    let before = peak(engine.node(Role::Intake));
    let lines = "x\n".repeat(8 * 1024 * 1024 - 1);
    let elements = format!("[{}1]", "1,".repeat(8 * 1024 * 1024 - 2));
    let maps = format!("[{}]", vec!["{\"\":1}"; 2 * 1024 * 1024].join(","));
    for (kind, body) in
        [("application/x-ndjson", lines), ("application/json", elements), ("application/json", maps)]
    {
        let body = bytes::Bytes::from(body);
        let requests = (0..8).map(|_| {
            let request = engine.env().http().post(format!("{}/v1/orders/batch", engine.base()));
            let request = request.header("content-type", kind).body(body.clone());
            async move { request.send().await.unwrap().status().as_u16() }
        });
        let (answers, longest) = canaries(&engine, futures_util::future::join_all(requests)).await;
        let now = peak(engine.node(Role::Intake));
        eprintln!("{kind}: {answers:?}, peak {before} -> {now} MiB, the slowest canary {longest:?}");
        assert!(answers.iter().all(|status| matches!(status, 413 | 429)), "{answers:?}");
        assert!(now < before + 100, "{before} -> {now} MiB");
        assert!(longest < Duration::from_secs(5), "{longest:?}");
    }
}

#[tokio::test]
async fn qlt_3_orders_that_are_little_text_and_much_memory_come_one_by_one() {
    let engine = with_canary("limits_dense", &[]).await;
    let schema = "params: {type: object, properties: {l: {type: array, items: {type: object}}}}\n";
    engine.scenario("dense", &format!("{schema}{}", with_actions(LOG))).await;
    let before = peak(engine.node(Role::Intake));
    // 1 MiB each, and 95 times as much as a value.
    let dense = format!("[{}]", vec!["{\"\":1}"; 149_000].join(","));
    let order =
        |id: String| format!("{{\"id\": \"{id}\", \"scenario\": \"dense\", \"params\": {{\"l\": {dense}}}}}");
    let send = async |path: &str, body: bytes::Bytes| {
        let request = engine.env().http().post(format!("{}{path}", engine.base()));
        let request = request.header("content-type", "application/json").body(body);
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(send("/v1/orders", order("first".to_owned()).into()).await, 201);
    let one = peak(engine.node(Role::Intake)) - before;
    let most = |percent: u64| before + one * percent / 100;
    eprintln!("one order {one} MiB");
    assert!(one < MOST_OF_ONE, "{one} MiB");

    let single = (0..12).map(|n| send("/v1/orders", order(format!("single-{n}")).into()));
    let (answers, longest) = canaries(&engine, futures_util::future::join_all(single)).await;
    let after_single = peak(engine.node(Role::Intake));
    eprintln!("single {answers:?}, peak {before} -> {after_single} MiB, the slowest canary {longest:?}");
    assert!(answers.iter().all(|status| matches!(status, 201 | 429)), "{answers:?}");
    assert!(answers.contains(&201), "{answers:?}");
    assert!(longest < Duration::from_secs(10), "{longest:?}");

    let batch = |batch: usize| (0..4).map(move |n| format!("batch-{batch}-{n}"));
    let batches = (0..3).map(|n| {
        let orders: Vec<String> = batch(n).map(&order).collect();
        send("/v1/orders/batch", format!("[{}]", orders.join(",")).into())
    });
    let (answers, longest) = canaries(&engine, futures_util::future::join_all(batches)).await;
    let after_batches = peak(engine.node(Role::Intake));
    eprintln!("batches {answers:?}, peak {before} -> {after_batches} MiB, the slowest canary {longest:?}");
    assert!(answers.iter().all(|status| matches!(status, 200 | 429)), "{answers:?}");
    assert!(longest < Duration::from_secs(10), "{longest:?}");
    assert!(after_batches < most(MOST_OF_HTTP), "{before} -> {after_single} -> {after_batches} MiB");

    let client = engine.env().amqp().await.unwrap();
    let receipts = client.listen_directly().await.unwrap();
    let exchange = format!("{}.orders", engine.env().prefix());
    for n in 0..12 {
        let properties = BasicProperties::default().with_reply_to(receipts.queue().into());
        let body = order(format!("message-{n}"));
        client.publish(&exchange, "order.create", body.as_bytes(), &properties).await.unwrap();
    }
    for receipt in receipts.wait(PATIENCE * 3, |all| all.len() == 12).await.unwrap() {
        assert_eq!(receipt.body["status"], "accepted", "{receipt:?}");
    }
    let after_messages = peak(engine.node(Role::Intake));
    eprintln!("messages, peak {before} -> {after_messages} MiB");
    assert!(after_messages < most(MOST_OF_AMQP), "{before} -> {after_messages} MiB");
}

#[tokio::test]
async fn qlt_8_an_answer_is_not_many_times_as_long_as_what_was_sent() {
    let engine = with_canary("limits_faults", &[]).await;
    let keys: Vec<String> = (0..8000).map(|n| format!("\"unknown-{n}\": 1")).collect();
    let body = format!("{{\"id\": \"a\", \"scenario\": \"canary\", {}}}", keys.join(","));
    let send = async |method: reqwest::Method, path: &str, body: String| {
        let request = engine.env().http().request(method, format!("{}{path}", engine.base()));
        let answer = request.header("content-type", "application/json").body(body).send().await.unwrap();
        assert_eq!(answer.headers()["x-content-type-options"], "nosniff", "{path}");
        answer.text().await.unwrap()
    };
    let text = send(reqwest::Method::POST, "/v1/orders", body.clone()).await;
    let problem: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(problem["errors"].as_array().unwrap().len(), 100);
    assert!(
        problem["detail"].as_str().unwrap().contains("(and 7999 more; the first 100 are listed)"),
        "{problem}"
    );
    let batch = format!("[{}]", vec![body.clone(); 10].join(","));
    for (method, path, body) in [
        (reqwest::Method::POST, "/v1/orders", body.clone()),
        (reqwest::Method::PATCH, "/v1/orders/a", body),
        (reqwest::Method::POST, "/v1/orders/batch", batch),
    ] {
        let sent = body.len();
        let text = send(method, path, body).await;
        assert!(text.len() < sent, "{path}: {} bytes for {sent}", text.len());
    }
    engine.run(json!({"id": "b", "scenario": "canary"}), "success").await;
}

#[tokio::test]
async fn qlt_8_silent_clients_shut_neither_the_api_nor_the_probes() {
    const SILENT: usize = 4200;
    let engine = with_canary("limits_silent", &[]).await;
    let intake = engine.node(Role::Intake);
    let mut silent = Vec::new();
    for n in 0..SILENT {
        let mut stream = TcpStream::connect(intake.address()).await.unwrap();
        if n % 2 == 0 {
            stream.write_all(b"GET /v1/nodes HTTP/1.1\r\nho").await.unwrap();
        }
        silent.push(stream);
    }
    let probes = async {
        let until = Instant::now() + Duration::from_secs(2);
        let mut asked = 0;
        while Instant::now() < until {
            for path in ["healthz", "readyz", "metrics"] {
                let request = reqwest::get(format!("{}/{path}", intake.url()));
                let answer = tokio::time::timeout(Duration::from_secs(2), request).await;
                assert_eq!(answer.expect(path).unwrap().status().as_u16(), 200, "{path}");
                asked += 1;
            }
        }
        asked
    };
    let (asked, longest) = canaries(&engine, probes).await;
    eprintln!("{asked} probes, the slowest canary {longest:?}");
    assert!(longest < Duration::from_secs(5), "{longest:?}");
    // All of them are closed in time, though they never close themselves.
    let closed = silent.iter_mut().map(|stream| async {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
    });
    tokio::time::timeout(PATIENCE, futures_util::future::join_all(closed))
        .await
        .expect("some are still open");
}

#[tokio::test]
async fn rec_13_forty_searches_through_finished_orders_disturb_nobody() {
    let engine = with_canary("limits_search", &[]).await;
    let later =
        json!({"id": "first", "scenario": "canary", "lifecycle": {"startAt": "2100-01-01T00:00:00Z"}});
    engine.accepted(later).await;
    engine.act("first", "interrupt", &json!({})).await.success().unwrap();
    let (client, connection) = tokio_postgres::connect(&engine.env().database_url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    let many = "INSERT INTO orders (id, digest, scenario, mode, priority, flow, created_at, status, finished_at)
                SELECT 'f-' || n, '', (SELECT max(no) FROM scenarios), 'parallel', 'normal', 's', now(), 'success', now()
                  FROM generate_series(1, 200000) n";
    client.execute(many, &[]).await.unwrap();
    let paths =
        ["status=interrupted&limit=1", "scenario=canary&status=canceled", "status=sleep", "status=fail"];
    let searches = (0..40).map(|n| format!("/v1/orders?{}", paths[n % paths.len()]));
    let searches = async {
        let answers =
            futures_util::future::join_all(searches.map(async |path| engine.get(&path).await)).await;
        answers.into_iter().map(|answer| answer.unwrap().status).collect::<Vec<u16>>()
    };
    let ready = async {
        tokio::pin!(searches);
        loop {
            let probe = engine.get("/readyz");
            let answer = probe.await.unwrap();
            assert_eq!(answer.status, 200, "{answer:?}");
            tokio::select! {
                statuses = &mut searches => return statuses,
                () = tokio::time::sleep(Duration::from_millis(20)) => {}
            }
        }
    };
    let begun = Instant::now();
    let (statuses, longest) = canaries(&engine, ready).await;
    eprintln!("40 searches in {:?}, the slowest canary {longest:?}", begun.elapsed());
    assert_eq!(statuses, [200; 40]);
    assert!(longest < Duration::from_secs(5), "{longest:?}");
    // The one that fits is found, however many pages have none.
    let (mut found, mut pages, mut cursor) = (Vec::new(), 0, String::new());
    loop {
        let page =
            engine.get(&format!("/v1/orders?status=interrupted{cursor}")).await.unwrap().success().unwrap();
        found.extend(page["items"].as_array().unwrap().iter().map(|one| one["id"].clone()));
        pages += 1;
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert!(found == ["first"] && pages > 10, "{found:?} on {pages} pages");
}

#[tokio::test]
async fn qlt_8_callbacks_for_nobody_are_bounded_and_forgotten_and_harm_no_other() {
    let settings =
        [("PAGURUS__CALLBACKS__ORPHANS__MAX", "5"), ("PAGURUS__CALLBACKS__ORPHANS__RETENTION", "2s")];
    let engine = with_canary("limits_orphans", &settings).await;
    engine.scenario("asks", &asking("/silent", "10m")).await;
    engine.run(json!({"id": "a", "scenario": "asks"}), "wait").await;
    for n in 0..8 {
        let answer =
            engine.post(&format!("/v1/callbacks/nobody-{n}"), &json!("x".repeat(50_000))).await.unwrap();
        assert_eq!((answer.status, &answer.body["status"]), (200, &json!("orphan")));
    }
    let orphans = async || {
        let page = engine.get("/v1/callbacks?verdict=orphan").await.unwrap().success().unwrap();
        page["items"].as_array().unwrap().clone()
    };
    let kept = orphans().await;
    assert!(kept.len() == 5 && kept.iter().all(|one| one["bodyBytes"] == 16 * 1024), "{kept:?}");
    let page = engine.get("/metrics").await.unwrap().body;
    assert!(page.as_str().unwrap().contains("pagurus_orphans_unkept_total{} 3"), "{page}");
    let url = engine.calls("/silent", 1).await[0].headers["x-callback-url"].clone();
    let path = url.strip_prefix(engine.base()).unwrap();
    let answer = engine.post(path, &json!({"code": 0})).await.unwrap();
    assert_eq!(answer.body["status"], "accepted", "somebody's is taken: {answer:?}");
    engine.reach("a", "success").await;
    until("they are forgotten", PATIENCE, async || orphans().await.is_empty()).await;
    engine.post("/v1/callbacks/again", &json!({})).await.unwrap();
    assert_eq!(orphans().await.len(), 1, "there is room again");
}
