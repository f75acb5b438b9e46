//! Requests for actions: what they may name, what is said of them, and how one is handled that is
//! asked for again because its answer was lost.

use lapin::BasicProperties;
use pagurus_harness::client::Answer;
use serde_json::{Value, json};

use crate::err::pagurus;
use crate::installation::{Installation, LOG, PATIENCE, call};

/// Acts with header fields.
async fn act(
    engine: &Installation,
    id: &str,
    action: &str,
    body: &Value,
    headers: &[(&str, &str)],
) -> Answer {
    let url = format!("{}/v1/orders/{id}/{action}", engine.base());
    let mut request = engine.env().http().post(url).json(body);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.send().await.unwrap();
    Answer { status: response.status().as_u16(), body: response.json().await.unwrap() }
}

/// The events of one kind.
async fn events(engine: &Installation, id: &str, kind: &str) -> Vec<Value> {
    let events = engine.part(id, "events").await;
    events.as_array().unwrap().iter().filter(|event| event["kind"] == kind).cloned().collect()
}

#[tokio::test]
async fn ord_21_22_an_action_that_names_what_there_is_not_is_refused_over_both_transports() {
    let engine = Installation::start("ord_22_fields").await;
    engine
        .scenario(
            "strict",
            &format!(
                "params: {{type: object, properties: {{q: {{type: integer}}}}}}\n{}",
                crate::installation::with_actions(LOG)
            ),
        )
        .await;
    engine.run(json!({"id": "a", "scenario": "strict"}), "success").await;
    for (action, body, pointer) in [
        ("restart", json!({"parms": {"q": 5}}), "/parms"),
        ("restart", json!({"form": "initial"}), "/form"),
        ("restart", json!({"priority": "high"}), "/priority"),
        ("restart", json!({"params": {"q": "x"}}), "/params/q"),
        ("restart", json!({"params": [1]}), "/params"),
        ("restart", json!({"id": "b"}), "/id"),
        ("cancel", json!({"by": "alice"}), "/by"),
        ("cancel", json!({"params": {}}), "/params"),
        ("kill", json!({"resaon": "x"}), "/resaon"),
        ("interrupt", json!({"from": "work"}), "/from"),
        ("resend", json!({"to": "x"}), "/to"),
    ] {
        let answer = engine.act("a", action, &body).await;
        let found = (answer.status, &answer.body["pointer"], &answer.body["errors"][0]["pointer"]);
        assert_eq!(found, (422, &json!(pointer), &json!(pointer)), "{action} {body}: {answer:?}");
    }
    let answer = engine.act("a", "restart", &json!({"parms": {"q": 5}})).await;
    assert_eq!(answer.body["errors"][0]["hint"], "did you mean `params`?", "{answer:?}");
    assert_eq!(engine.order("a").await.unwrap()["life"], 1, "nothing was done");

    let amqp = engine.env().amqp().await.unwrap();
    let receipts = amqp.listen_directly().await.unwrap();
    let properties = BasicProperties::default().with_reply_to(receipts.queue().into());
    let bodies = [json!({"id": "a", "parms": {"q": 5}}), json!({"id": "a", "params": {"q": 5}})];
    amqp.publish_orders("order.restart", &bodies, &properties).await.unwrap();
    let received = receipts.wait(PATIENCE, |all| all.len() == 2).await.unwrap();
    let (first, second) = (&received[0].body, &received[1].body);
    assert_eq!((&first["status"], &first["error"]["pointer"]), (&json!("rejected"), &json!("/parms")));
    assert_eq!((&first["id"], &second["status"]), (&json!("a"), &json!("done")), "{received:?}");
    assert_eq!(engine.act("a", "cancel", &json!({"id": "a", "ifStatus": "new"})).await.status, 409);
}

#[tokio::test]
async fn ord_22_a_restart_that_is_asked_for_again_by_its_key_runs_once() {
    let engine = Installation::start("ord_22_key").await;
    engine.actions("quick", &call("/do")).await;
    engine.run(json!({"id": "a", "scenario": "quick"}), "success").await;
    let body = json!({"from": "initial", "reason": "once"});
    let key = [("Idempotency-Key", "k-1")];
    let first = act(&engine, "a", "restart", &body, &key).await;
    assert_eq!((first.status, &first.body["life"]), (200, &json!(2)), "{first:?}");
    engine.reach("a", "success").await;
    let again = act(&engine, "a", "restart", &body, &key).await;
    assert_eq!((again.status, &again.body), (200, &first.body), "as it was answered first");
    let other = act(&engine, "a", "restart", &json!({"from": "work"}), &key).await;
    assert_eq!(other.status, 422, "{other:?}");
    assert!(other.body["detail"].as_str().unwrap().contains("`k-1`"), "{other:?}");
    assert_eq!(act(&engine, "a", "restart", &body, &[("Idempotency-Key", "")]).await.status, 422);
    assert_eq!(engine.world().calls("/do").len(), 2);
    let restarts = events(&engine, "a", "restarted").await;
    assert_eq!((restarts.len(), &restarts[0]["payload"]["key"]), (1, &json!("k-1")), "{restarts:?}");

    // At the same moment, too.
    let key = [("Idempotency-Key", "k-2")];
    let answers =
        futures_util::future::join_all((0..6).map(|_| act(&engine, "a", "restart", &body, &key))).await;
    assert!(answers.iter().all(|one| one.status == 200 && one.body["life"] == 3), "{answers:?}");
    engine.reach("a", "success").await;
    // Without a key, and with another one, it is another request.
    assert_eq!(act(&engine, "a", "restart", &body, &[]).await.body["life"], 4);
    engine.reach("a", "success").await;

    let amqp = engine.env().amqp().await.unwrap();
    let receipts = amqp.listen_directly().await.unwrap();
    let properties =
        BasicProperties::default().with_reply_to(receipts.queue().into()).with_message_id("m-1".into());
    let message = [json!({"id": "a", "from": "initial"})];
    for count in 1..=2 {
        amqp.publish_orders("order.restart", &message, &properties).await.unwrap();
        let received = receipts.wait(PATIENCE, |all| all.len() == count).await.unwrap();
        let last = &received.last().unwrap().body;
        assert_eq!(
            (&last["status"], &last["orderStatus"]),
            (&json!("done"), &json!("reopen")),
            "{received:?}"
        );
        engine.reach("a", "success").await;
    }
    assert_eq!(engine.order("a").await.unwrap()["life"], 5);
    // A cancel that was done is done, whatever has happened to the order since.
    engine
        .accepted(json!({"id": "b", "scenario": "quick", "lifecycle": {"startAt": "2099-01-01T00:00:00Z"}}))
        .await;
    for _ in 0..2 {
        let answer = act(&engine, "b", "cancel", &json!({}), &[("Idempotency-Key", "k")]).await;
        assert_eq!((answer.status, &answer.body["status"]), (200, &json!("canceled")), "{answer:?}");
    }
    assert_eq!(engine.act("b", "cancel", &json!({})).await.status, 409);
    assert_eq!(engine.world().calls("/do").len(), 5);
}

#[tokio::test]
async fn ord_17_a_sending_time_in_the_future_is_said_so_on_a_restart() {
    let engine = Installation::start("ord_17_restart").await;
    engine.actions("quick", LOG).await;
    engine.run(json!({"id": "a", "scenario": "quick", "lifecycle": {"periodToStart": 60}}), "success").await;
    let future = [("request-sent-time", "2099-01-01T00:00:00Z"), ("Idempotency-Key", "k")];
    let answer = act(&engine, "a", "restart", &json!({}), &future).await;
    let note = answer.body["note"].as_str().unwrap().to_owned();
    assert!(answer.status == 200 && note.contains("in the future"), "{answer:?}");
    engine.reach("a", "success").await;
    assert_eq!(act(&engine, "a", "restart", &json!({}), &future).await.body["note"], note.as_str());
    let restarts = events(&engine, "a", "restarted").await;
    assert_eq!(restarts[0]["payload"]["note"], note.as_str(), "{restarts:?}");
    let log = engine.part("a", "log").await.to_string();
    assert!(log.contains(&note), "{log}");
    let deadline = crate::installation::at(&engine.order("a").await.unwrap(), "startDeadline");
    assert!(deadline < jiff::Timestamp::now() + std::time::Duration::from_secs(61), "{deadline}");
    let past = [("request-sent-time", "2020-01-01T00:00:00Z")];
    let answer = act(&engine, "a", "restart", &json!({}), &past).await;
    assert!(answer.status == 200 && answer.body.get("note").is_none(), "{answer:?}");

    let amqp = engine.env().amqp().await.unwrap();
    let receipts = amqp.listen_directly().await.unwrap();
    let properties =
        BasicProperties::default().with_reply_to(receipts.queue().into()).with_timestamp(4_070_908_800);
    let body = [json!({"id": "b", "scenario": "quick"})];
    amqp.publish_orders("order.create", &body, &properties).await.unwrap();
    let received = receipts.wait(PATIENCE, |all| all.len() == 1).await.unwrap();
    assert_eq!(received[0].body["note"], note.as_str(), "{received:?}");
    engine.reach("b", "success").await;
    amqp.publish_orders("order.restart", &[json!({"id": "b"})], &properties).await.unwrap();
    let received = receipts.wait(PATIENCE, |all| all.len() == 2).await.unwrap();
    assert_eq!(received[1].body["note"], note.as_str(), "{received:?}");
}

#[tokio::test]
async fn ord_25_scn_15_the_log_reads_in_order_and_hides_what_is_masked() {
    let engine = Installation::start("ord_25_order").await;
    let states = "mask: [params.pin]\ninitialState: a\ntargetStates: [done]\nstates:\n  \
        a: {actions: [{log: in a}, {http: {url: \"${config.demo}/a\"}}], on: {success: b, fail: failed}}\n  \
        b: {actions: [{log: in b}, {http: {url: \"${config.demo}/b\"}}, {script: 'log(\"last words\"); fail(\"x\", \"shop.closed\")'}], \
        on: {success: done, fail: failed}}\n  \
        done: {kind: terminal}\n  failed: {kind: terminal, outcome: fail}\n";
    engine.scenario("talk", states).await;
    engine.run(json!({"id": "a", "scenario": "talk", "params": {"pin": "1111"}}), "fail").await;
    let log = engine.part("a", "log").await;
    let said = log.as_array().unwrap().iter().map(|line| line["text"].as_str().unwrap());
    // Who listens where, and how long it takes, differs.
    let said: Vec<&str> = said.map(|line| if line.contains(": 200 in ") { "called" } else { line }).collect();
    assert_eq!(
        said[2..],
        [
            "in a",
            "called",
            "a --success--> b",
            "in b",
            "called",
            "last words",
            "failed (shop.closed): x",
            "b --fail--> failed",
            "stage ended: fail",
        ]
    );
    let times: Vec<jiff::Timestamp> =
        log.as_array().unwrap().iter().map(|line| crate::installation::at(line, "at")).collect();
    assert!(times[2..10].is_sorted(), "{log}");
    let arguments = ["order", "log", "a", "--from-line", "3", "--size", "2", "--server", engine.base()];
    let paged = pagurus(&arguments).await;
    let paged = String::from_utf8_lossy(&paged.stdout);
    let paged: Vec<&str> =
        paged.lines().filter_map(|line| line.split_once("Z  ")).map(|found| found.1).collect();
    assert!(paged.len() == 2 && paged[0] == "in a" && paged[1].contains("/a: 200 in "), "{paged:?}");
    engine
        .act("a", "restart", &json!({"params": {"pin": "2222"}, "reason": "a new pin"}))
        .await
        .success()
        .unwrap();
    engine.reach("a", "fail").await;
    let far = json!({"startAt": "2099-01-01T00:00:00Z"});
    engine
        .accepted(json!({"id": "b", "scenario": "talk", "params": {"pin": "1111"}, "lifecycle": far}))
        .await;
    let change = json!({"params": {"pin": "2222"}, "priority": "high", "reason": "a new pin"});
    engine.patch("/v1/orders/b", &change).await.unwrap().success().unwrap();
    for (id, words) in [
        ("a", "restarted by api from the initial state, with new parameters: a new pin"),
        ("b", "updated by api: parameters, priority from normal to high: a new pin"),
    ] {
        let (log, events) =
            (engine.part(id, "log").await.to_string(), engine.part(id, "events").await.to_string());
        assert!(log.contains(words), "{log}");
        for seen in [log, events] {
            assert!(!seen.contains("1111") && !seen.contains("2222"), "{seen}");
        }
    }
}

#[tokio::test]
async fn ord_2_the_repeat_of_an_order_is_a_duplicate_though_it_would_be_refused_by_now() {
    let engine = Installation::start("ord_2_stricter").await;
    let params =
        |rest: &str| format!("params: {{type: object{rest}}}\n{}", crate::installation::with_actions(LOG));
    engine.scenario("grows", &params("")).await;
    let order = json!({"id": "a", "scenario": "grows", "params": {"q": "text"}});
    engine.run(order.clone(), "success").await;
    engine.scenario("grows", &params(", properties: {q: {type: integer}}")).await;
    let again = engine.submit(&order).await;
    assert_eq!((again.status, &again.body["status"]), (200, &json!("duplicate")), "{again:?}");
    let other = engine.submit(&json!({"id": "a", "scenario": "grows", "params": {"q": "other"}})).await;
    assert_eq!(other.status, 409, "{other:?}");
    let fresh = engine.submit(&json!({"id": "b", "scenario": "grows", "params": {"q": "text"}})).await;
    assert_eq!((fresh.status, &fresh.body["errors"][0]["pointer"]), (422, &json!("/params/q")), "{fresh:?}");
    // Over AMQP, too: nothing that was accepted once is put aside as refused.
    let amqp = engine.env().amqp().await.unwrap();
    let inbox = amqp.listen_directly().await.unwrap();
    let properties = BasicProperties::default().with_reply_to(inbox.queue().into());
    amqp.publish_orders("order.create", &[order], &properties).await.unwrap();
    let receipts = inbox.wait(PATIENCE, |messages| !messages.is_empty()).await.unwrap();
    assert_eq!(receipts[0].body["status"], "duplicate", "{:?}", receipts[0].body);
}
