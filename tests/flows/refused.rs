//! Refused messages, from the refusal to the decision of a person (AMQP-1).

use std::time::{Duration, Instant};

use lapin::BasicProperties;
use pagurus_harness::nodes::Role;
use serde_json::{Value, json};

use crate::amqp::waiting;
use crate::err::pagurus;
use crate::installation::{Installation, LOG, PATIENCE, until};

pub async fn send(engine: &Installation, body: &[u8]) {
    let client = engine.env().amqp().await.unwrap();
    let properties =
        BasicProperties::default().with_correlation_id("c-1".into()).with_message_id("m-1".into());
    let exchange = format!("{}.orders", engine.env().prefix());
    client.publish(&exchange, "order.create", body, &properties).await.unwrap();
}

pub async fn listed(engine: &Installation, count: usize) -> Vec<Value> {
    let mut items = Vec::new();
    until("the messages are listed", PATIENCE, async || {
        let page = engine.get("/v1/refused").await.unwrap().success().unwrap();
        items.clone_from(page["items"].as_array().unwrap());
        items.len() == count
    })
    .await;
    items
}

#[tokio::test]
async fn amqp_1_a_refused_message_is_shown_mended_sent_again_or_dropped_and_none_is_lost() {
    let engine = Installation::start("amqp_1_refused").await;
    engine.actions("one", LOG).await;
    let order = br#"{"id": "late", "scenario": "unheard-of"}"#;
    send(&engine, order).await;
    send(&engine, b"no JSON \xff\x00").await;
    let items = listed(&engine, 2).await;
    let client = engine.env().amqp().await.unwrap();
    assert_eq!(waiting(&engine, &client, "refused").await, 0, "they are kept by the database now");
    let of = |bytes: usize| items.iter().find(|item| item["bytes"] == bytes).unwrap()["id"].as_str().unwrap();
    let (late, garbage) = (of(order.len()), of(10));

    let shown = engine.get(&format!("/v1/refused/{late}")).await.unwrap().success().unwrap();
    assert_eq!(
        (&shown["encoding"], shown["body"].as_str()),
        (&json!("text"), std::str::from_utf8(order).ok())
    );
    assert_eq!((&shown["properties"]["message-id"], &shown["key"]), (&json!("m-1"), &json!("order.create")));
    assert!(shown["reason"].as_str().unwrap().starts_with("unknown-scenario"), "{shown}");
    let hex = engine.get(&format!("/v1/refused/{garbage}")).await.unwrap().body;
    assert_eq!((&hex["encoding"], &hex["body"]), (&json!("hex"), &json!("6e6f204a534f4e20ff00")));

    let nothing = engine.post(&format!("/v1/refused/{late}/replay"), &json!({})).await.unwrap();
    assert_eq!(
        (nothing.status, &nothing.body["type"]),
        (422, &json!("urn:pagurus:problem:invalid")),
        "{nothing:?}"
    );
    // As it was, it is refused again, and kept under an id of its own.
    let again = json!({"reason": "perhaps it is there by now"});
    let answer = engine.post(&format!("/v1/refused/{late}/replay"), &again).await.unwrap();
    assert_eq!((answer.status, &answer.body["status"]), (200, &json!("replayed")), "{answer:?}");
    let items = listed(&engine, 2).await;
    let late = items.iter().find(|item| item["bytes"] == order.len()).unwrap()["id"].as_str().unwrap();

    let mended = r#"{"id": "late", "scenario": "one"}"#;
    let output = pagurus(&[
        "refused",
        "replay",
        late,
        "--body",
        mended,
        "--reason",
        "misspelt",
        "--server",
        engine.base(),
    ])
    .await;
    assert!(output.status.success(), "{output:?}");
    until("the order is registered", PATIENCE, async || {
        engine.get("/v1/orders/late").await.unwrap().status == 200
    })
    .await;
    engine.reach("late", "success").await;
    let gone = engine.post(&format!("/v1/refused/{late}/replay"), &again).await.unwrap();
    assert_eq!(gone.status, 404, "nobody decides twice: {gone:?}");

    let output =
        pagurus(&["refused", "drop", garbage, "--reason", "line noise", "--server", engine.base()]).await;
    assert!(output.status.success(), "{output:?}");
    assert_eq!(listed(&engine, 0).await, Vec::<Value>::new());
    let audit = engine.get("/v1/audit?kind=message").await.unwrap().success().unwrap();
    let actions: Vec<(&str, &str)> = audit["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["action"].as_str().unwrap(), one["reason"].as_str().unwrap()))
        .collect();
    assert_eq!(
        actions,
        [("drop", "line noise"), ("replay", "misspelt"), ("replay", "perhaps it is there by now")],
        "{audit}"
    );
}

#[tokio::test]
async fn amqp_1_a_refused_message_is_mended_in_the_editor_of_a_person() {
    let engine = Installation::start("amqp_1_edit").await;
    engine.actions("one", LOG).await;
    send(&engine, br#"{"id": "edited", "scenario": "unheard-of"}"#).await;
    let items = listed(&engine, 1).await;
    let id = items[0]["id"].as_str().unwrap();
    let replay = async |editor: &str| {
        let program = std::path::PathBuf::from(std::env::var_os("PAGURUS_TEST_BIN").unwrap()).join("pagurus");
        let mut command = tokio::process::Command::new(program);
        command.args(["refused", "replay", id, "--edit", "--reason", "misspelt", "--server", engine.base()]);
        command.env_remove("VISUAL").env("EDITOR", editor).output().await.unwrap()
    };
    // An editor that a person leaves with an error, as `:cq` does, sends nothing.
    let left = replay("false").await;
    assert!(
        !left.status.success() && String::from_utf8_lossy(&left.stderr).contains("nothing was sent"),
        "{left:?}"
    );
    assert_eq!(listed(&engine, 1).await[0]["id"], id);
    let output = replay("sed -i s/unheard-of/one/").await;
    assert!(output.status.success(), "{output:?}");
    until("the order is registered", PATIENCE, async || {
        engine.get("/v1/orders/edited").await.unwrap().status == 200
    })
    .await;
    engine.reach("edited", "success").await;
    listed(&engine, 0).await;
    let audit = engine.get("/v1/audit?kind=message").await.unwrap().success().unwrap();
    assert_eq!(audit["items"][0]["detail"]["edited"], true, "{audit}");
}

#[tokio::test]
async fn amqp_1_refused_messages_are_listed_in_pages() {
    let engine = Installation::start("amqp_1_pages").await;
    for number in 0..5 {
        send(&engine, format!("no JSON {number}").as_bytes()).await;
    }
    let all = listed(&engine, 5).await;
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = engine.get(&format!("/v1/refused?limit=2{cursor}")).await.unwrap().success().unwrap();
        seen.extend(page["items"].as_array().unwrap().iter().cloned());
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen, all);
    let wrong = engine.get("/v1/refused?limit=0").await.unwrap();
    assert_eq!((wrong.status, &wrong.body["pointer"]), (422, &json!("/limit")), "{wrong:?}");
}

/// Lists of nothing, and the time that one took when it waited for a message to see that there was none.
const LISTS: u32 = 10;
const WAITED: Duration = Duration::from_millis(1500);

#[tokio::test]
async fn ui_3_a_list_of_refused_messages_does_not_wait_for_one() {
    let engine = Installation::only("ui_3_refused", &[Role::Intake], &[]).await;
    let begun = Instant::now();
    for _ in 0..LISTS {
        assert_eq!(listed(&engine, 0).await, Vec::<Value>::new());
    }
    assert!(begun.elapsed() < LISTS * WAITED, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn amqp_1_a_refused_message_whose_sender_got_a_receipt_waits_for_nobody() {
    let engine = Installation::start("amqp_1_answered").await;
    let client = engine.env().amqp().await.unwrap();
    let receipts = client.listen_directly().await.unwrap();
    let exchange = format!("{}.orders", engine.env().prefix());
    let unheard = br#"{"id": "late", "scenario": "unheard-of"}"#;
    let addressed = BasicProperties::default().with_reply_to(receipts.queue().into());
    client.publish(&exchange, "order.create", unheard, &addressed).await.unwrap();
    receipts.wait(PATIENCE, |all| !all.is_empty()).await.unwrap();
    // Nobody has asked for the messages yet: the verdict itself finds out whether they wait for a decision.
    let warnings = async || {
        let verdict = engine.get("/v1/doctor").await.unwrap().success().unwrap();
        let findings = verdict["findings"].as_array().unwrap().iter();
        findings.filter(|finding| finding["check"] == "refused").cloned().collect::<Vec<_>>()
    };
    let of = async |query: &str| {
        let page = engine.get(&format!("/v1/refused?{query}")).await.unwrap().success().unwrap();
        page["items"].as_array().unwrap().clone()
    };
    // A verdict that had no time to take the message counts it as one that may wait.
    until("the verdict has taken the message", PATIENCE, async || warnings().await.is_empty()).await;
    until("the answered message is kept", PATIENCE, async || of("status=answered").await.len() == 1).await;
    assert_eq!(warnings().await, Vec::<Value>::new());
    assert_eq!(of("").await, Vec::<Value>::new());

    let nobody =
        BasicProperties::default().with_reply_to(format!("{}.reply.gone", engine.env().prefix()).into());
    client.publish(&exchange, "order.create", unheard, &nobody).await.unwrap();
    client.publish(&exchange, "order.create", b"no JSON", &BasicProperties::default()).await.unwrap();
    let open = listed(&engine, 2).await;
    assert!(open.iter().all(|item| item["answered"] == false), "{open:?}");
    // The verdict of a moment serves all who ask within it.
    until("the verdict warns", PATIENCE, async || warnings().await.len() == 1).await;
    assert_eq!(of("status=all").await.len(), 3);
    assert_eq!(of("status=all&reasonType=unknown-scenario").await.len(), 2);
    assert_eq!(of("refusedBefore=1h").await.len(), 0);
    engine.until_metric(&engine.nodes[0], "pagurus_refused_unanswered_total", |count| count == 2.0).await;

    let drop = async |body: Value| engine.post("/v1/refused/drop", &body).await.unwrap();
    assert_eq!(
        drop(json!({"reason": "all?"})).await.status,
        422,
        "nothing is chosen by leaving everything out"
    );
    assert_eq!(drop(json!({"reason": "x", "refusedBefore": "soon"})).await.status, 422);
    let young = drop(json!({"reason": "old", "refusedBefore": "1h"})).await;
    assert_eq!((young.status, &young.body), (200, &json!({"dropped": 0, "more": false})));
    let line =
        ["refused", "drop", "--reason-type", "malformed", "--reason", "noise", "--server", engine.base()];
    let output = pagurus(&line).await;
    assert!(output.status.success() && output.stdout == b"1 dropped\n", "{output:?}");
    assert_eq!((of("").await.len(), of("status=all").await.len()), (1, 2));
    let all = drop(json!({"reason": "the sender knows", "status": "all"})).await;
    assert_eq!(all.body["dropped"], 2);
    let audit = engine.get("/v1/audit?kind=message").await.unwrap().success().unwrap();
    assert_eq!(
        (audit["items"].as_array().unwrap().len(), &audit["items"][1]["detail"]["reasonType"]),
        (2, &json!("malformed")),
        "{audit}"
    );
}
