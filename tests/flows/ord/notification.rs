//! Notifications: what they say, where they may go, and what happens to one that nobody takes (ORD-18 to 20).

use lapin::options::{BasicGetOptions, QueueDeclareOptions};
use lapin::types::FieldTable;
use pagurus_harness::client::amqp::Message;
use pagurus_harness::nodes::Role;
use serde_json::{Value, json};

use crate::installation::{Installation, LOG, PATIENCE, asking, call, until};

const KEYS: [&str; 18] = [
    "id",
    "correlationId",
    "transactionId",
    "scenario",
    "scenarioVersion",
    "status",
    "scenarioStatus",
    "step",
    "result",
    "message",
    "error",
    "createdAt",
    "startedAt",
    "finishedAt",
    "durationMs",
    "life",
    "stages",
    "retries",
];

#[tokio::test]
async fn ord_18_20_a_notification_says_everything_in_the_zone_asked_for() {
    let engine = Installation::start("ord_18").await;
    engine.scenario(
        "speaks",
        "initialState: work\ntargetStates: [done]\nstates:\n  work:\n    actions:\n      - script: 'message(\"all is well\"); result(#{ code: 7 })'\n    \
         on: {success: done, fail: failed}\n  done: {kind: terminal}\n  failed: {kind: terminal, outcome: fail}\n",
    )
    .await;
    engine.actions("fails", "- script: 'fail(\"no luck\", \"shop.closed\")'").await;
    let amqp = engine.env().amqp().await.unwrap();
    let exchange = format!("{}.notifications", engine.env().prefix());
    let inbox = amqp.listen(&exchange, "ps.#").await.unwrap();
    let notify = json!({
        "url": "amqp://?key=ps.status.brt", "correlationId": "c-1", "timezone": "Asia/Kolkata", "on": ["final"],
    });
    engine
        .run(json!({"id": "good", "scenario": "speaks", "transactionId": "t-1", "notify": notify}), "success")
        .await;
    let url = format!("amqp://?exchange={exchange}&key=ps.other");
    engine.run(json!({"id": "bad", "scenario": "fails", "notify": {"url": url}}), "fail").await;
    engine.run(json!({"id": "silent", "scenario": "speaks"}), "success").await;
    let received = inbox.wait(PATIENCE, |all| all.len() == 2).await.unwrap();
    let good = received.iter().find(|message| message.key == "ps.status.brt").unwrap();
    assert_eq!(good.correlation_id.as_deref(), Some("c-1"));
    assert!(good.message_id.is_some());
    let body = good.body.as_object().unwrap();
    let mut keys: Vec<&str> = body.keys().map(String::as_str).collect();
    let mut expected: Vec<&str> = KEYS.to_vec();
    keys.sort_unstable();
    expected.sort_unstable();
    assert_eq!(keys, expected);
    let said = json!({
        "id": "good", "correlationId": "c-1", "transactionId": "t-1", "scenario": "speaks", "scenarioVersion": 1,
        "status": "success", "scenarioStatus": "target", "step": "done", "result": {"code": 7},
        "message": "all is well", "error": null, "life": 1, "stages": 1, "retries": 0,
    });
    for (key, value) in said.as_object().unwrap() {
        assert_eq!(&body[key], value, "{key}");
    }
    for key in ["createdAt", "startedAt", "finishedAt"] {
        assert!(body[key].as_str().unwrap().ends_with("+05:30"), "{key}: {}", body[key]);
    }
    assert!(body["durationMs"].as_i64().unwrap() >= 0);
    let bad = received.iter().find(|message| message.key == "ps.other").unwrap();
    assert_eq!(bad.body["error"], json!({"class": "shop.closed", "message": "no luck"}));
    assert!(bad.body["finishedAt"].as_str().unwrap().ends_with('Z'));
}

#[tokio::test]
async fn ord_18_amqp_5_what_may_not_be_written_to_is_refused_at_registration() {
    let engine = Installation::start("ord_18_refused").await;
    engine.actions("quick", LOG).await;
    let prefix = engine.env().prefix();
    let urls = [
        format!("amqp://?exchange={prefix}.orders&key=order.create"),
        format!("amqp://?exchange={prefix}.callbacks&key=x"),
        format!("amqp://?queue={prefix}.orders.in"),
        "amqp://?exchange=amq.topic&key=x".to_owned(),
        "amqp://?exchange=elsewhere&key=x".to_owned(),
        "amqp://?queue=elsewhere".to_owned(),
        "amqp://?queue=amq.rabbitmq.reply-to".to_owned(),
        "amqp://?exchange=x".to_owned(),
        "amqp://host/?key=x".to_owned(),
        "http://example.org".to_owned(),
        String::new(),
    ];
    for url in urls {
        let order = json!({"id": "a", "scenario": "quick", "notify": {"url": url}});
        let answer = engine.submit(&order).await;
        assert_eq!(
            (answer.status, &answer.body["pointer"]),
            (422, &json!("/notify/url")),
            "{order}: {answer:?}"
        );
    }
    let zone =
        json!({"id": "a", "scenario": "quick", "notify": {"url": "amqp://?key=k", "timezone": "Moon/Base"}});
    assert_eq!(engine.submit(&zone).await.body["pointer"], "/notify/timezone");
    for (on, pointers) in [
        (json!([]), vec!["/notify/on"]),
        (json!(["transitions", "never", 5]), vec!["/notify/on/1", "/notify/on/2"]),
    ] {
        let order = json!({"id": "a", "scenario": "quick", "notify": {"url": "amqp://?key=k", "on": on}});
        let answer = engine.submit(&order).await;
        let errors = answer.body["errors"].as_array().unwrap().iter();
        let found: Vec<_> = errors.map(|one| one["pointer"].as_str().unwrap().to_owned()).collect();
        assert_eq!((answer.status, found), (422, pointers.iter().map(|one| (*one).to_owned()).collect()));
    }
    assert_eq!(engine.get("/v1/orders/a").await.unwrap().status, 404);
}

#[tokio::test]
async fn ord_19_an_unroutable_notification_is_kept_and_can_be_sent_again() {
    let engine = Installation::start("ord_19").await;
    engine.actions("quick", &call("/do")).await;
    let id = engine
        .accepted(json!({"id": "a", "scenario": "quick", "notify": {"url": "amqp://?key=nobody.listens"}}))
        .await;
    engine.reach(&id, "success").await;
    let parked =
        async || engine.order(&id).await.unwrap()["unsentNotifications"][0]["parkedBecause"].is_string();
    until("the notification is parked", PATIENCE, parked).await;
    let amqp = engine.env().amqp().await.unwrap();
    let inbox = amqp.listen(&format!("{}.notifications", engine.env().prefix()), "nobody.#").await.unwrap();
    assert_eq!(engine.act(&id, "resend", &json!({})).await.status, 200);
    let received = inbox.wait(PATIENCE, |all| !all.is_empty()).await.unwrap();
    assert_eq!(received[0].body["id"], "a");
    until("nothing is left", PATIENCE, async || {
        engine.order(&id).await.unwrap()["unsentNotifications"] == json!([])
    })
    .await;
}

#[tokio::test]
async fn ord_18_29_a_queue_that_is_allowed_gets_one_message_for_each_life() {
    let engine = Installation::with("ord_29", &[("PAGURUS__NOTIFY__ALLOW", "[{queue: \"client-*\"}]")]).await;
    engine.scenario("asks", &asking("/ask", "3s")).await;
    let amqp = engine.env().amqp().await.unwrap();
    let queue = format!("client-{}", engine.env().prefix());
    let temporary =
        QueueDeclareOptions { exclusive: true, auto_delete: true, ..QueueDeclareOptions::default() };
    amqp.channel().queue_declare(queue.as_str().into(), temporary, FieldTable::default()).await.unwrap();
    let id = engine
        .accepted(json!({"id": "a", "scenario": "asks", "notify": {"url": format!("amqp://?queue={queue}")}}))
        .await;
    engine.reach(&id, "fail").await;
    let first_call = engine.calls("/ask", 1).await.remove(0);
    let restarted = engine.act(&id, "restart", &json!({"reason": "again"})).await;
    assert_eq!((restarted.status, &restarted.body["life"]), (200, &json!(2)), "{restarted:?}");
    let second_call = engine.calls("/ask", 2).await.remove(1);
    // The callback of the first life is kept and changes nothing.
    let late = engine.env().http().post(&first_call.headers["x-callback-url"]).json(&json!({"code": 0}));
    let late: Value = late.send().await.unwrap().json().await.unwrap();
    assert_eq!(late["status"], "late");
    let good = engine.env().http().post(&second_call.headers["x-callback-url"]).json(&json!({"code": 2}));
    assert_eq!(good.send().await.unwrap().json::<Value>().await.unwrap()["status"], "accepted");
    engine.reach(&id, "success").await;
    assert_eq!(engine.calls("/after", 1).await[0].body["answer"], json!({"code": 2}));
    let mut statuses = Vec::new();
    until("two messages", PATIENCE, async || {
        let got =
            amqp.channel().basic_get(queue.as_str().into(), BasicGetOptions { no_ack: true }).await.unwrap();
        if let Some(message) = got {
            let body: Value = serde_json::from_slice(&message.delivery.data).unwrap();
            statuses.push(body["status"].as_str().unwrap().to_owned());
        }
        statuses.len() == 2
    })
    .await;
    assert_eq!(statuses, ["fail", "success"]);
}

#[tokio::test]
async fn ord_19_21_the_cancel_of_an_ended_order_waits_for_no_confirm_and_is_reported_after_the_end() {
    let engine = Installation::start("ord_19_ends").await;
    engine.actions("fails", "- script: 'fail(\"no luck\", \"shop.closed\")'").await;
    let notify = |key: &str| json!({"url": format!("amqp://?key={key}"), "correlationId": "c"});
    let far = json!({"startAt": "2099-01-01T00:00:00Z"});

    // Parked: nobody listens there.
    engine
        .run(json!({"id": "parked", "scenario": "fails", "notify": notify("nobody.listens")}), "fail")
        .await;
    let parked = async |count: usize| {
        let unsent = engine.order("parked").await.unwrap()["unsentNotifications"].clone();
        let unsent = unsent.as_array().unwrap().clone();
        unsent.len() == count && unsent.iter().all(|one| one["parkedBecause"] == "unroutable")
    };
    until("the notification is parked", PATIENCE, async || parked(1).await).await;
    let answer = engine.act("parked", "cancel", &json!({})).await;
    assert_eq!((answer.status, &answer.body["status"]), (200, &json!("canceled")), "{answer:?}");
    until("both are parked", PATIENCE, async || parked(2).await).await;

    // On their way: the notifier does not get to them.
    engine.node(Role::Notifier).pause().unwrap();
    engine.run(json!({"id": "failed", "scenario": "fails", "notify": notify("ends.failed")}), "fail").await;
    let order =
        json!({"id": "stopped", "scenario": "fails", "notify": notify("ends.stopped"), "lifecycle": far});
    engine.accepted(order).await;
    assert_eq!(engine.act("stopped", "interrupt", &json!({})).await.status, 200);
    for id in ["failed", "stopped"] {
        let answer = engine.act(id, "cancel", &json!({})).await;
        assert_eq!((answer.status, &answer.body["status"]), (200, &json!("canceled")), "{id}: {answer:?}");
    }
    let amqp = engine.env().amqp().await.unwrap();
    let exchange = format!("{}.notifications", engine.env().prefix());
    let inbox = amqp.listen(&exchange, "#").await.unwrap();
    engine.node(Role::Notifier).resume().unwrap();
    assert_eq!(engine.act("parked", "resend", &json!({})).await.status, 200);
    // One may come twice, and then under the same id: a receiver drops what it has seen.
    let firsts = |all: &[Message], id: &str| {
        let mut seen = Vec::new();
        let matching = all.iter().filter(|message| message.body["id"] == id);
        for message in matching {
            let one = (message.message_id.clone().unwrap(), message.body["status"].clone());
            if !seen.iter().any(|(known, _)| *known == one.0) {
                seen.push(one);
            }
        }
        seen.into_iter().map(|(_, status)| status).collect::<Vec<_>>()
    };
    let received = inbox
        .wait(PATIENCE, |all| ["parked", "failed", "stopped"].iter().all(|id| firsts(all, id).len() == 2))
        .await
        .unwrap();
    assert_eq!(firsts(&received, "parked"), ["fail", "canceled"]);
    assert_eq!(firsts(&received, "failed"), ["fail", "canceled"]);
    assert_eq!(firsts(&received, "stopped"), ["interrupted", "canceled"]);
    until("nothing is left", PATIENCE, async || {
        engine.order("parked").await.unwrap()["unsentNotifications"] == json!([])
    })
    .await;
}

#[tokio::test]
async fn ord_18_a_url_without_a_correlation_id_is_taken_and_noted() {
    let engine = Installation::start("ord_18_note").await;
    engine.actions("one", LOG).await;
    let post = async |id: &str, notify: Value| {
        let order = json!({"id": id, "scenario": "one", "notify": notify});
        let answer = engine.post("/v1/orders", &order).await.unwrap();
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.body["note"].clone()
    };
    let note = post("alone", json!({"url": "amqp://?key=k"})).await;
    assert!(note.as_str().is_some_and(|note| note.contains("`correlationId`")), "{note}");
    assert_eq!(post("both", json!({"url": "amqp://?key=k", "correlationId": "c"})).await, Value::Null);
    assert_eq!(post("none", Value::Null).await, Value::Null);
}
