//! Pages of the parts of an order (REC-15): any size of page shows the same as the whole, and a history of any length is
//! shown to its end.

use pagurus_harness::world::program::{CallBack, Program};
use serde_json::{Value, json};

use crate::installation::{Installation, asking};

/// Parts of an order that are lists.
const PARTS: [&str; 8] = ["transitions", "events", "log", "steps", "tasks", "requests", "callbacks", "calls"];

/// Items of all pages from this address on, each named by the `Link` of the page before, and how many pages that were.
async fn follow(engine: &Installation, path: &str) -> (Vec<Value>, usize) {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let (mut next, mut items, mut pages) = (Some(format!("?{query}")), Vec::new(), 0);
    while let Some(query) = next.take() {
        let url = format!("{}{path}{query}", engine.base());
        let answer = engine.env().http().get(&url).send().await.unwrap();
        assert_eq!(answer.status().as_u16(), 200, "{url}");
        if let Some(link) = answer.headers().get("link") {
            let (address, relation) = link.to_str().unwrap().split_once('>').unwrap();
            assert_eq!(relation, "; rel=\"next\"");
            next = Some(address.strip_prefix('<').unwrap().to_owned());
        }
        items.extend(answer.json::<Vec<Value>>().await.unwrap());
        pages += 1;
    }
    (items, pages)
}

/// An order of six lives, each with a question, its answer, and a call from outside.
async fn lived(engine: &Installation) {
    let answers = CallBack::with(json!({"code": 0}));
    engine.world().program(Program::at("/ask").calling_back(answers));
    engine.scenario("asks", &asking("/ask", "20s")).await;
    engine.run(json!({"id": "a", "scenario": "asks"}), "success").await;
    for _ in 2..=6 {
        engine.act("a", "restart", &json!({"reason": "once more"})).await.success().unwrap();
        engine.reach("a", "success").await;
    }
    let database = engine.database().await;
    let calls = "INSERT INTO calls (order_no, life, key, name, body)
                 SELECT no, 1, 'key-' || n, 'look', '{}' FROM orders, generate_series(1, 7) AS n WHERE id = 'a'";
    assert_eq!(database.execute(calls, &[]).await.unwrap(), 7);
}

#[tokio::test]
async fn rec_15_pages_of_every_part_of_an_order_are_together_the_whole() {
    let engine = Installation::start("rec_15_pages").await;
    lived(&engine).await;
    for part in PARTS {
        let (whole, pages) = follow(&engine, &format!("/v1/orders/a/{part}")).await;
        assert_eq!(pages, 1, "{part}");
        assert!(whole.len() >= 6, "{part}: {whole:?}");
        for size in [1, 4, whole.len(), whole.len() + 1] {
            let word = if part == "log" { "size" } else { "limit" };
            let path = format!("/v1/orders/a/{part}?{word}={size}");
            let (items, pages) = follow(&engine, &path).await;
            assert_eq!(items, whole, "{path}");
            assert!(pages >= whole.len() / size && pages <= whole.len() / size + 1, "{path}: {pages} pages");
        }
        let beyond = engine.part("a", &format!("{part}?{}", beyond(part))).await;
        assert_eq!(beyond, json!([]), "{part}: and then nothing");
    }
}

/// A page behind all that the order has.
fn beyond(part: &str) -> &str {
    match part {
        "events" => "after=10000",
        "log" => "fromLine=10000",
        "tasks" | "requests" | "callbacks" | "calls" => "cursor=10000",
        _ => "cursor=10000.0.10000",
    }
}

#[tokio::test]
async fn rec_15_a_long_history_is_shown_to_its_end_and_exported_as_a_whole() {
    const ROWS: i64 = 12_000;
    let engine = Installation::start("rec_15_long").await;
    lived(&engine).await;
    let database = engine.database().await;
    // Another twelve thousand stages like the first one.
    let stages = "INSERT INTO history (order_no, number, life, kind, source, detail)
                  SELECT o.no, o.events + 2 * n - 1, 1, h.kind, h.source, h.detail
                    FROM orders o
                   CROSS JOIN LATERAL (SELECT * FROM history WHERE order_no = o.no AND kind = 'stage'
                                        ORDER BY number LIMIT 1) AS h
                   CROSS JOIN generate_series(1, $1::bigint) AS n
                   WHERE o.id = 'a'";
    let before = follow(&engine, "/v1/orders/a/events?limit=10000").await.0.len();
    let moves = follow(&engine, "/v1/orders/a/transitions").await.0.len();
    assert_eq!(database.execute(stages, &[&ROWS]).await.unwrap(), ROWS.unsigned_abs());
    let rows = usize::try_from(ROWS).unwrap();
    let counts = "UPDATE orders SET events = events + 2 * $1::bigint WHERE id = 'a'";
    database.execute(counts, &[&ROWS]).await.unwrap();
    let (events, pages) = follow(&engine, "/v1/orders/a/events?limit=10000").await;
    assert_eq!((events.len(), pages), (before + 2 * rows, 3));
    for (index, event) in events.iter().enumerate() {
        assert_eq!(event["number"], json!(index + 1));
    }
    let (transitions, pages) = follow(&engine, "/v1/orders/a/transitions?limit=10000").await;
    assert!(pages >= 2, "ten thousand events at a time");
    assert!(transitions.len() >= moves + rows, "{}", transitions.len());
    assert_eq!(transitions.last().unwrap()["number"], json!(transitions.len()));
    let order = engine.order("a").await.unwrap();
    let shown = (order["transitions"].as_array().unwrap().len(), &order["moreTransitions"]);
    assert_eq!(shown, (250, &json!(true)), "the order itself shows the first ones");
    for part in ["steps", "tasks"] {
        let (items, _) = follow(&engine, &format!("/v1/orders/a/{part}?limit=10000")).await;
        assert!(items.len() > rows, "{part}: {}", items.len());
    }
    let (lines, _) = follow(&engine, "/v1/orders/a/log?size=10000").await;
    assert_eq!(lines.last().unwrap()["line"], json!(lines.len()));
    assert!(lines.len() > 2 * rows, "{}", lines.len());
    engine.accepted(json!({"id": "b", "scenario": "asks"})).await;
    let export = engine.get("/v1/export/orders?limit=10").await.unwrap().success().unwrap();
    assert_eq!(export["items"][0]["events"].as_array().unwrap().len(), events.len());
    let short = export["items"].as_array().unwrap().len();
    assert_eq!(short, 1, "a page of many events ends early");
    let next = format!("/v1/export/orders?limit=10&cursor={}", export["next"].as_str().unwrap());
    let export = engine.get(&next).await.unwrap().success().unwrap();
    assert_eq!(export["items"][0]["order"]["id"], "b", "and the next goes on");
}
