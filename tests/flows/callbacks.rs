//! Callbacks that nobody waits for: answered politely, and visible to people (SCN-7).

use std::time::{Duration, Instant};

use pagurus_harness::world::program::{CallBack, Program};
use serde_json::{Value, json};

use crate::err::pagurus;
use crate::installation::{Installation, asking, until};

/// An id that nobody gave out.
const UNKNOWN: &str = "01234567-89ab-4def-8123-456789abcdef";

/// Returns one page of the list.
async fn list(engine: &Installation, query: &str) -> Value {
    engine.get(&format!("/v1/callbacks?{query}")).await.unwrap().success().unwrap()
}

fn column<'v>(page: &'v Value, key: &str) -> Vec<&'v Value> {
    page["items"].as_array().unwrap().iter().map(|item| &item[key]).collect()
}

#[tokio::test]
async fn scn_7_a_callback_for_nobody_is_answered_politely_and_listed() {
    let engine = Installation::start("scn_7_orphan").await;
    let masked = format!("mask: [body.pin]\n{}", asking("/silent", "300ms"));
    engine.scenario("masked", &masked).await;
    engine.world().program(Program::at("/early").calling_back(CallBack::with(json!({"code": 0})).times(2)));
    engine.scenario("early", &asking("/early", "10m")).await;
    engine.run(json!({"id": "a", "scenario": "early"}), "success").await;
    until("both answers", crate::installation::PATIENCE, async || {
        engine.part("a", "callbacks").await.as_array().unwrap().len() == 2
    })
    .await;
    engine.run(json!({"id": "b", "scenario": "masked"}), "fail").await;
    let url = engine.calls("/silent", 1).await[0].headers["x-callback-url"].clone();
    let late = engine.env().http().post(url).json(&json!({"pin": 1234, "sum": 5})).send().await.unwrap();
    assert_eq!(late.status().as_u16(), 200);
    assert_eq!(late.json::<Value>().await.unwrap(), json!({"status": "late"}));
    let nobody = engine.post(&format!("/v1/callbacks/{UNKNOWN}"), &json!({"pin": 99})).await.unwrap();
    assert_eq!((nobody.status, &nobody.body), (200, &json!({"status": "orphan"})), "as the late one");
    let nonsense = engine.post("/v1/callbacks/nonsense", &json!("y".repeat(5000))).await.unwrap();
    assert_eq!((nonsense.status, &nonsense.body), (200, &json!({"status": "orphan"})));

    let all = list(&engine, "").await;
    let mut verdicts: Vec<&str> = column(&all, "verdict").iter().map(|one| one.as_str().unwrap()).collect();
    assert_eq!(verdicts[..3], ["orphan", "orphan", "late"], "the newest first: {all}");
    verdicts[3..].sort_unstable();
    assert_eq!(verdicts[3..], ["accepted", "duplicate"]);
    let orphans = list(&engine, "verdict=orphan").await;
    assert_eq!(column(&orphans, "named"), ["nonsense", UNKNOWN]);
    assert_eq!(column(&orphans, "request"), [&Value::Null, &Value::Null], "nobody asked under this id");
    assert_eq!(column(&orphans, "order"), [&Value::Null, &Value::Null]);
    let text = orphans["items"][0]["body"].as_str().unwrap();
    assert!(text.starts_with("\"yyy") && text.ends_with("y…") && text.len() < 600, "cut: {text}");
    assert_eq!(orphans["items"][0]["bodyBytes"], 5002);
    assert_eq!(orphans["items"][1]["body"], r#"{"pin":"***"}"#, "what any scenario masks is masked");
    let late = list(&engine, "verdict=late&since=1h").await;
    assert_eq!((&late["items"][0]["order"], &late["items"].as_array().unwrap().len()), (&json!("b"), &1));
    assert!(late["items"][0]["request"].is_string());
    let body: Value = serde_json::from_str(late["items"][0]["body"].as_str().unwrap()).unwrap();
    assert_eq!(body, json!({"pin": "***", "sum": 5}));
    let accepted = list(&engine, "verdict=accepted").await;
    assert_eq!(column(&accepted, "order"), ["a"]);
    assert_eq!(column(&accepted, "body"), [r#"{"code":0}"#]);
    assert_eq!(list(&engine, "since=2100-01-01T00:00:00Z").await, json!({"items": []}));

    // Page by page it is the same list.
    let (mut paged, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = list(&engine, &format!("limit=2{cursor}")).await;
        assert!(page["items"].as_array().unwrap().len() <= 2);
        paged.extend(page["items"].as_array().unwrap().clone());
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(json!(paged), all["items"]);

    let output = pagurus(&["--server", engine.base(), "callbacks", "--verdict", "orphan"]).await;
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && table.contains("nonsense") && !table.contains("late"), "{table}");
    let output = pagurus(&["--server", engine.base(), "callbacks", "--limit", "1", "--json"]).await;
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["items"], json!([all["items"][0]]));
}

#[tokio::test]
async fn scn_7_an_answer_by_hand_does_what_the_callback_would_have_done_and_says_so() {
    let engine = Installation::start("scn_7_by_hand").await;
    engine.scenario("asks", &asking("/ask", "10m")).await;
    engine.accepted(json!({"id": "a", "scenario": "asks"})).await;
    engine.reach("a", "wait").await;
    let path = |request: &str| format!("/v1/orders/a/requests/{request}/answer");
    let good = json!({"body": {"code": 0}, "stepStatus": "k2", "reason": "the message was lost"});
    let unknown = engine.post(&path("other"), &good).await.unwrap();
    assert_eq!(unknown.status, 404, "{unknown:?}");
    assert!(unknown.body["detail"].as_str().unwrap().contains("open are: answer"), "{unknown:?}");
    let silent = engine.post(&path("answer"), &json!({"body": {}})).await.unwrap();
    assert_eq!((silent.status, &silent.body["pointer"]), (422, &json!("/reason")));
    let nobody = engine.post("/v1/orders/b/requests/answer/answer", &good).await.unwrap();
    assert_eq!(nobody.status, 404, "{nobody:?}");

    let order = ["--server", engine.base(), "order", "answer", "a", "answer", "--body", r#"{"code": 0}"#];
    let why = ["--step-status", "k2", "--reason", "the message was lost"];
    let printed = pagurus(&[&order[..], &why[..]].concat()).await;
    assert!(printed.status.success(), "{printed:?}");
    engine.reach("a", "success").await;
    assert_eq!(engine.calls("/after", 1).await[0].body["answer"], json!({"code": 0}));
    let callbacks = engine.part("a", "callbacks").await;
    assert_eq!((&callbacks[0]["verdict"], &callbacks[0]["stepStatus"]), (&json!("accepted"), &json!("k2")));
    let events = engine.part("a", "events").await;
    let event = events.as_array().unwrap().iter().find(|event| event["kind"] == "answered_by_hand").unwrap();
    assert_eq!(
        (&event["payload"]["reason"], &event["payload"]["request"]),
        (&json!("the message was lost"), &json!("answer"))
    );
    assert_eq!(event["payload"]["by"]["door"], "http");
    let log = engine.part("a", "log").await.to_string();
    assert!(log.contains("request `answer` answered by hand by api: the message was lost"), "{log}");
    // Once, and no second time; the called system itself comes too late.
    let again = engine.post(&path("answer"), &good).await.unwrap();
    assert_eq!((again.status, &again.body["orderStatus"]), (409, &json!("success")), "{again:?}");
    let url = engine.calls("/ask", 1).await[0].headers["x-callback-url"].clone();
    let late = engine.env().http().post(url).json(&json!({})).send().await.unwrap();
    assert_eq!(late.json::<Value>().await.unwrap(), json!({"status": "duplicate"}));
}

/// Not every called system sends its answer again: the end of the stage that asked may hold the order at that moment.
#[tokio::test]
async fn scn_7_an_answer_waits_for_its_order_while_that_is_locked_and_no_other_answer_does() {
    let engine = Installation::start("scn_7_locked").await;
    engine.scenario("asks", &asking("/silent", "10m")).await;
    for number in 0..6 {
        engine.accepted(json!({"id": format!("o{number}"), "scenario": "asks"})).await;
        engine.reach(&format!("o{number}"), "wait").await;
    }
    let calls = engine.calls("/silent", 6).await;
    let url_of = |id: &str| {
        let call = calls.iter().find(|call| call.body["order"] == id).unwrap();
        call.headers["x-callback-url"].clone()
    };
    let answer = |id: &str| {
        let (http, url) = (engine.env().http().clone(), url_of(id));
        async move { http.post(url).json(&json!({"code": 0})).send().await.unwrap().status().as_u16() }
    };
    let mut stranger = engine.database().await;
    let lock = stranger.transaction().await.unwrap();
    lock.execute("SELECT FROM orders WHERE id IN ('o0', 'o1') FOR UPDATE", &[]).await.unwrap();
    // The first one makes all batches wary of locks for some seconds.
    let locked = ["o0", "o1"].map(|id| tokio::spawn(answer(id)));
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let begun = Instant::now();
    for id in ["o2", "o3", "o4", "o5"] {
        assert_eq!(answer(id).await, 200);
    }
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    assert!(locked.iter().all(|answer| !answer.is_finished()), "they wait");
    lock.commit().await.unwrap();
    for answer in locked {
        assert_eq!(answer.await.unwrap(), 200);
    }
    for number in 0..6 {
        engine.reach(&format!("o{number}"), "success").await;
    }
}
