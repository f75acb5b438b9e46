//! Notifications over HTTP: signed, sent again until the receiver has them, and never in the way of others (ORD-18, 19).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use pagurus_domain::order::notification::SigningSecrets;
use pagurus_harness::nodes::Role;
use pagurus_harness::world::program::{Program, Step, Then};
use pagurus_harness::world::{Call, World};
use serde_json::{Value, json};

use crate::installation::{Installation, LOG, PATIENCE, until};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// An engine that may tell receivers on this machine.
pub(super) async fn engine(test: &str, settings: &[(&str, &str)]) -> Installation {
    let mut all = vec![
        (
            "PAGURUS__NOTIFY__ALLOW",
            "[{url: 'http://127.0.0.1:*', secret: hooks}, {exchange: '*', key: '*'}, {queue: '*'}]",
        ),
        ("PAGURUS__NOTIFY__RETRY__INITIAL", "50ms"),
        ("PAGURUS__NOTIFY__RETRY__MAX", "200ms"),
        ("PAGURUS_SECRET_HOOKS", SECRET),
    ];
    all.extend_from_slice(settings);
    Installation::with(test, &all).await
}

/// Makes an order of the scenario `quick` whose end is reported to `url`.
fn order(id: &str, url: &str) -> Value {
    json!({"id": id, "scenario": "quick", "transactionId": "t-1", "notify": {"url": url, "correlationId": "c-1"}})
}

fn signature(call: &Call) -> String {
    let seconds: i64 = call.headers["webhook-timestamp"].parse().unwrap();
    let secrets = SigningSecrets::parse(SECRET).unwrap();
    secrets.sign(&call.headers["webhook-id"], seconds, call.text.as_bytes())
}

/// The one notification of an order that is not delivered.
async fn unsent(engine: &Installation, id: &str) -> Value {
    engine.order(id).await.unwrap()["unsentNotifications"][0].clone()
}

async fn delivered(engine: &Installation, id: &str) {
    until("it is delivered", PATIENCE, async || unsent(engine, id).await.is_null()).await;
}

async fn parked(engine: &Installation, id: &str, why: &str) {
    let is_parked = async || unsent(engine, id).await["parkedBecause"] == why;
    until(why, PATIENCE, is_parked).await;
}

#[tokio::test]
async fn ord_18_a_webhook_is_signed_and_sent_under_one_id_until_the_receiver_has_it() {
    let engine = engine("ord_18_webhook", &[]).await;
    engine.actions("quick", LOG).await;
    // Each of them may be mended: a refusal, trouble, a broken connection, and a way elsewhere.
    let away = Step {
        then: Then::Answer {
            status: 302,
            headers: vec![("location".into(), format!("{}/elsewhere", engine.world().url()))],
            body: Value::Null,
        },
        ..Step::fine()
    };
    engine.world().program(Program::at("/hook").fail(1, 404).fail(1, 503).cut(1).first(1, &away));
    let url = format!("{}/hook?token=t", engine.world().url());
    engine.run(order("a", &url), "success").await;
    let calls = engine.calls("/hook", 5).await;
    delivered(&engine, "a").await;
    for call in &calls {
        assert_eq!((call.method.as_str(), call.query.as_str()), ("POST", "token=t"));
        assert_eq!(call.headers["webhook-id"], calls[0].headers["webhook-id"], "a repeat is known by its id");
        assert_eq!(call.headers["webhook-signature"], signature(call));
        assert_eq!(call.headers["content-type"], "application/json");
        assert_eq!(call.headers["pagurus-type"], "order.final");
        assert_eq!((&call.body["id"], &call.body["correlationId"]), (&json!("a"), &json!("c-1")));
        assert_eq!(call.text, calls[0].text, "the body is the same for every copy");
    }
    assert_eq!(engine.world().calls("/hook").len(), 5, "what is delivered is not sent again");
    assert!(engine.world().calls("/elsewhere").is_empty(), "nobody follows a receiver elsewhere");
    let notifier = engine.node(Role::Notifier);
    let delivered = "pagurus_notifications_total{outcome=\"delivered\"}";
    engine.until_metric(notifier, delivered, |count| count >= 1.0).await;
}

#[tokio::test]
async fn ord_18_a_receiver_that_wants_no_more_ends_it_and_one_that_never_comes_back_is_given_up() {
    let engine = engine("ord_18_gone", &[("PAGURUS__NOTIFY__WEBHOOK__GIVE_UP_AFTER", "3s")]).await;
    engine.actions("quick", LOG).await;
    engine.world().program(Program::at("/gone").then_answer(410, Value::Null));
    engine.world().program(Program::at("/down").then_answer(503, Value::Null));
    engine.run(order("gone", &format!("{}/gone", engine.world().url())), "success").await;
    parked(&engine, "gone", "gone").await;
    assert_eq!(engine.world().calls("/gone").len(), 1, "410 is the last word");
    for id in ["down-1", "down-2"] {
        engine.run(order(id, &format!("{}/down", engine.world().url())), "success").await;
    }
    parked(&engine, "down-1", "given_up").await;
    parked(&engine, "down-2", "given_up").await;
    assert!(engine.world().calls("/down").len() > 2, "it was tried again before");
    let explained = engine.part("gone", "explain").await["explanation"].to_string();
    assert!(explained.contains("its notification `final` is parked (gone"), "{explained}");
    let list = engine.get("/v1/notifications?limit=2").await.unwrap().success().unwrap();
    let found: Vec<(&Value, &Value)> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| (&line["order"], &line["parkedBecause"]))
        .collect();
    assert_eq!(found, [(&json!("gone"), &json!("gone")), (&json!("down-1"), &json!("given_up"))]);
    let next = format!("/v1/notifications?cursor={}", list["next"].as_str().unwrap());
    let rest = engine.get(&next).await.unwrap().success().unwrap();
    assert_eq!((rest["items"][0]["order"].as_str(), &rest["next"]), (Some("down-2"), &Value::Null));
    let notifier = engine.node(Role::Notifier);
    let given_up = "pagurus_notifications_total{outcome=\"given_up\"}";
    engine.until_metric(notifier, given_up, |count| count >= 2.0).await;
    // Mended, and sent again: it is tried for as long as a new one.
    engine.world().program(Program::at("/down").fail(1, 503));
    assert_eq!(engine.act("down-1", "resend", &json!({"reason": "mended"})).await.status, 200);
    delivered(&engine, "down-1").await;
}

#[tokio::test]
async fn ord_18_receivers_that_hang_or_refuse_hold_up_neither_others_nor_the_broker() {
    const EACH: usize = 30;
    let engine = engine("ord_18_lanes", &[("PAGURUS__NOTIFY__WEBHOOK__TIMEOUT", "60s")]).await;
    engine.actions("quick", LOG).await;
    let (hanging, down) = (World::start().await.unwrap(), World::start().await.unwrap());
    hanging.program(Program::at("/hook").hang(10_000));
    down.program(Program::at("/hook").then_answer(503, Value::Null));
    for number in 0..EACH {
        engine.accepted(order(&format!("hanging-{number}"), &format!("{}/hook", hanging.url()))).await;
        engine.accepted(order(&format!("down-{number}"), &format!("{}/hook", down.url()))).await;
    }
    hanging.wait_calls("/hook", 8, PATIENCE).await.unwrap();
    let amqp = engine.env().amqp().await.unwrap();
    let inbox = amqp.listen(&format!("{}.notifications", engine.env().prefix()), "#").await.unwrap();
    let begun = Instant::now();
    for number in 0..EACH {
        engine.accepted(order(&format!("good-{number}"), &format!("{}/hook", engine.world().url()))).await;
        engine.accepted(order(&format!("amqp-{number}"), "amqp://?key=done")).await;
    }
    engine.calls("/hook", EACH).await;
    inbox.wait(PATIENCE, |all| all.len() >= EACH).await.unwrap();
    // A receiver may take a minute: nobody has waited for one.
    assert!(begun.elapsed() < Duration::from_secs(40), "{:?}", begun.elapsed());
    assert_eq!(hanging.calls("/hook").len(), 8, "a receiver has no more calls than its lane is wide");
    let notifier = engine.node(Role::Notifier);
    let in_trouble = async || engine.metric(notifier, "pagurus_receivers_in_trouble").await >= 1.0;
    until("the receiver that refuses is left alone", PATIENCE, in_trouble).await;
    // It comes back, and gets all that it missed.
    down.program(Program::at("/hook"));
    until("all is delivered", PATIENCE, async || {
        let calls = down.calls("/hook");
        let good = calls.iter().filter(|call| call.status == Some(200));
        good.map(|call| &call.headers["webhook-id"]).collect::<std::collections::HashSet<_>>().len() == EACH
    })
    .await;
}

#[tokio::test]
async fn ord_18_qlt_8_only_receivers_that_are_named_and_may_be_called_are_notified() {
    let settings = [("PAGURUS__WORKER__HTTP__DENY", "['127.0.0.0/8']")];
    let engine = engine("ord_18_egress", &settings).await;
    engine.actions("quick", LOG).await;
    for url in [
        "https://127.0.0.1/hook",
        "http://localhost/hook",
        "http://127.0.0.1.example/hook",
        "http://user:password@127.0.0.1/hook",
        "http://127.0.0.1:99999/",
    ] {
        let answer = engine.submit(&order("x", url)).await;
        assert_eq!(
            (answer.status, &answer.body["pointer"]),
            (422, &json!("/notify/url")),
            "{url}: {answer:?}"
        );
        assert!(!answer.body.to_string().contains("password"), "{answer:?}");
    }
    // Named, and an address that may not be called: known when it is sent.
    engine.run(order("denied", &format!("{}/hook", engine.world().url())), "success").await;
    parked(&engine, "denied", "not_allowed").await;
    assert!(engine.world().calls("/hook").is_empty());
}

#[tokio::test]
async fn ord_18_without_its_secret_nothing_is_sent_and_with_it_everything() {
    let engine = engine("ord_18_secret", &[("PAGURUS_SECRET_HOOKS", "too-short")]).await;
    engine.actions("quick", LOG).await;
    engine.run(order("a", &format!("{}/hook", engine.world().url())), "success").await;
    let says_why = async || {
        unsent(&engine, "a").await["lastError"].as_str().is_some_and(|error| error.contains("24 bytes"))
    };
    until("the reason is shown", PATIENCE, says_why).await;
    assert!(engine.world().calls("/hook").is_empty());
    let mut engine = engine;
    let notifier = engine.node(Role::Notifier).clone();
    notifier.kill().await.unwrap();
    engine.add_with(Role::Notifier, "notifier-2", &[("PAGURUS_SECRET_HOOKS", SECRET)]).await;
    engine.calls("/hook", 1).await;
    delivered(&engine, "a").await;
}

#[tokio::test]
async fn ord_18_19_a_second_end_is_reported_after_the_first_and_a_dead_notifier_loses_none() {
    let mut engine = engine("ord_18_ends", &[]).await;
    engine.actions("fails", "- script: 'fail(\"no luck\", \"shop.closed\")'").await;
    // The second end would get through at once.
    let refused = AtomicUsize::new(0);
    engine.world().program(Program::at("/hook").decided_by(move |call| {
        match call.body["status"] == "fail" && refused.fetch_add(1, Ordering::Relaxed) < 2 {
            true => Step::answer(503, Value::Null),
            false => Step::fine(),
        }
    }));
    let url = format!("{}/hook", engine.world().url());
    let notifier = engine.node(Role::Notifier).clone();
    notifier.kill().await.unwrap();
    let order = json!({"id": "a", "scenario": "fails", "notify": {"url": url}});
    engine.run(order, "fail").await;
    assert_eq!(engine.act("a", "cancel", &json!({})).await.status, 200);
    engine.add(Role::Notifier, "notifier-2").await;
    delivered(&engine, "a").await;
    let good = engine.world().calls("/hook").into_iter().filter(|call| call.status == Some(200));
    let statuses: Vec<Value> = good.map(|call| call.body["status"].clone()).collect();
    assert_eq!(statuses, [json!("fail"), json!("canceled")]);
}
