//! Tokens that are no secrets of the deployment: in URLs of receivers, in header fields of callers, and in constants (SCN-15).

use lapin::BasicProperties;
use lapin::types::{AMQPValue, FieldTable};
use pagurus_harness::world::program::Program;
use serde_json::{Value, json};

use super::secrets::{dump, everything_shown};
use crate::installation::{Installation, LOG, PATIENCE, asking, until};

const HOOKS: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// The URL to which an order tells its end, as it is stored.
async fn stored_url(engine: &Installation, id: &str) -> String {
    let read = "SELECT notify FROM orders WHERE id = $1";
    let stored: String = engine.database().await.query_one(read, &[&id]).await.unwrap().get(0);
    serde_json::from_str::<Value>(&stored).unwrap()["url"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn scn_15_the_query_of_a_webhook_is_called_and_never_shown() {
    let allow = "[{url: 'http://127.0.0.1:*', secret: hooks}, {exchange: '*', key: '*'}]";
    let settings = [
        ("PAGURUS__NOTIFY__ALLOW", allow),
        ("PAGURUS_SECRET_HOOKS", HOOKS),
        ("PAGURUS__NOTIFY__RETRY__INITIAL", "50ms"),
        ("PAGURUS__NOTIFY__RETRY__MAX", "200ms"),
    ];
    let engine = Installation::with("scn_15_hook", &settings).await;
    let amqp = engine.env().amqp().await.unwrap();
    let inbox = amqp.listen(&format!("{}.notifications", engine.env().prefix()), "#").await.unwrap();
    engine.actions("quick", LOG).await;
    engine.world().program(Program::at("/gone").fail(1, 410));
    let url = |path: &str| format!("{}/{path}?token=c4n4ry", engine.world().url());
    let held = json!({"startAt": "2100-01-01T00:00:00Z"});
    let order = |id: &str, url: &str| json!({"id": id, "scenario": "quick", "notify": {"url": url}});
    let mut later = order("a", &url("one"));
    later["lifecycle"] = held.clone();
    engine.accepted(later).await;
    // A client that reads it and sends it back changes nothing of it.
    let shown = engine.order("a").await.unwrap()["notify"].clone();
    assert_eq!(shown["url"], format!("{}/one?***", engine.world().url()));
    let mut back = shown.clone();
    back["correlationId"] = "mine".into();
    let api = engine.env().api(engine.node(pagurus_harness::nodes::Role::Intake));
    let answer = api.patch("/v1/orders/a", &json!({"notify": back})).await.unwrap();
    assert_eq!((answer.status, &answer.body["notify"]["correlationId"]), (200, &json!("mine")), "{answer:?}");
    assert_eq!(stored_url(&engine, "a").await, url("one"));
    for changes in [json!({"id": "b"}), json!({"id": "c", "notify": shown})] {
        let clone = engine.act("a", "clone", &changes).await;
        assert_eq!(clone.status, 201, "{clone:?}");
        assert_eq!(stored_url(&engine, changes["id"].as_str().unwrap()).await, url("one"));
    }
    // What stands for no stored one is refused, and does not lose its query unseen.
    let elsewhere = json!({"url": format!("{}/two?***", engine.world().url())});
    let refused = api.patch("/v1/orders/a", &json!({"notify": elsewhere})).await.unwrap();
    assert_eq!((refused.status, refused.body.to_string().contains("whole URL")), (422, true), "{refused:?}");
    let refused = engine.submit(&order("d", elsewhere["url"].as_str().unwrap())).await;
    assert!(refused.status == 422 && refused.body.to_string().contains("whole URL"), "{refused:?}");
    let answer = api.patch("/v1/orders/a", &json!({"notify": {"url": url("gone")}})).await.unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");

    engine.act("a", "cancel", &json!({})).await.success().unwrap();
    until("its receiver wants no more", PATIENCE, async || {
        engine.order("a").await.unwrap()["unsentNotifications"][0]["parkedBecause"] == "gone"
    })
    .await;
    engine.run(order("e", &url("told")), "success").await;
    let call = engine.calls("/told", 1).await.remove(0);
    assert_eq!(call.query, "token=c4n4ry", "it is called as it was given");
    let mut places = everything_shown(&engine, "a", &inbox).await;
    for page in ["orders/b", "orders/e", "notifications", "audit"] {
        let answer = engine.get(&format!("/v1/{page}")).await.unwrap().success().unwrap();
        places.push((page.to_owned(), answer.to_string()));
    }
    for (place, text) in &places {
        assert!(!text.contains("c4n4ry"), "{place}: {text}");
    }
}

#[tokio::test]
async fn scn_15_header_fields_that_carry_credentials_are_not_stored_and_neither_are_secret_constants() {
    let settings =
        [("PAGURUS__CONFIG__PARTNER_TOKEN", "c4n4ry-constant"), ("PAGURUS__CONFIG__PARTNER", "acme-corp")];
    let engine = Installation::with("scn_15_fields", &settings).await;
    let asks = asking("/ask", "1m");
    let key = asks.replace(
        "headers: {",
        "headers: {X-Key: \"${config.partner_token}\", X-Partner: \"${config.partner}\", ",
    );
    assert_ne!(asks, key);
    engine.scenario("asks", &key).await;
    let names = [
        "X-Api-Key",
        "X-Hub-Signature-256",
        "Client-Secret",
        "X-Session",
        "Authorization",
        "Cookie",
        "x_token",
    ];
    for id in ["http", "amqp"] {
        engine.run(json!({"id": id, "scenario": "asks"}), "wait").await;
        let call = engine.world().calls("/ask").last().unwrap().clone();
        assert_eq!(call.headers["x-key"], "c4n4ry-constant");
        let url = call.headers["x-callback-url"].clone();
        let body = json!({"you sent": call.headers["x-key"], "and": call.headers["x-partner"]});
        if id == "http" {
            let post = engine.env().http().post(&url).header("Idempotency-Key", "k-1");
            let post = names.iter().fold(post, |post, name| post.header(*name, "c4n4ry-field"));
            assert_eq!(post.body(body.to_string()).send().await.unwrap().status().as_u16(), 200);
        } else {
            let mut headers = FieldTable::default();
            headers.insert("idempotency-key".into(), AMQPValue::LongString("k-1".into()));
            for name in names {
                headers.insert(name.into(), AMQPValue::LongString("c4n4ry-field".into()));
            }
            let request = url.rsplit('/').next().unwrap();
            let marked = BasicProperties::default().with_correlation_id(request.into()).with_headers(headers);
            let exchange = format!("{}.callbacks", engine.env().prefix());
            let amqp = engine.env().amqp().await.unwrap();
            amqp.publish(&exchange, "any", body.to_string().as_bytes(), &marked).await.unwrap();
        }
        engine.reach(id, "success").await;
        let shown = engine.part(id, "callbacks").await;
        let callback = &shown[0];
        assert_eq!(callback["headers"]["idempotency-key"], "k-1", "{shown}");
        assert_eq!(callback["body"], json!({"you sent": "***", "and": "acme-corp"}), "{shown}");
    }
    let stored = dump(&engine).await;
    // Bodies are bytes, which a dump writes in hexadecimal digits.
    let line = stored.lines().find(|line| ["c4n4ry", "63346e347279"].iter().any(|part| line.contains(part)));
    assert!(line.is_none(), "{line:?}");
    for node in &engine.nodes {
        let log = std::fs::read_to_string(&node.spec.log).unwrap();
        assert!(!log.contains("c4n4ry"), "{}", node.spec.name);
    }
}
