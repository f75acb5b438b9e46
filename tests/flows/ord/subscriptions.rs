//! Subscriptions: standing receivers by scenario, label and outcome; paused, resumed, replayed and removed (ORD-38).

use std::collections::BTreeSet;
use std::time::Duration;

use pagurus_harness::client::Answer;
use pagurus_harness::nodes::Role;
use pagurus_harness::world::program::Program;
use serde_json::{Value, json};

use super::receivers::inbox;
use super::webhook::engine;
use crate::installation::{Installation, LOG, PATIENCE, until};

async fn put(engine: &Installation, name: &str, body: Value) -> Answer {
    let url = format!("{}/v1/subscriptions/{name}", engine.base());
    let response = engine.env().http().put(url).json(&body).send().await.unwrap();
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    Answer { status, body: serde_json::from_str(&text).unwrap_or_default() }
}

async fn act(engine: &Installation, path: &str, body: Value) -> Value {
    engine.post(&format!("/v1/subscriptions/{path}"), &body).await.unwrap().success().unwrap()
}

async fn shown(engine: &Installation, name: &str) -> Value {
    engine.get(&format!("/v1/subscriptions/{name}")).await.unwrap().success().unwrap()
}

/// The last replay of a subscription, once it is done.
async fn replayed(engine: &Installation, name: &str) -> Value {
    let path = format!("/v1/subscriptions/{name}/replays");
    let last = async || engine.get(&path).await.unwrap().success().unwrap()["items"][0].clone();
    until("the replay is done", PATIENCE, async || last().await["state"] == "done").await;
    last().await
}

fn order(id: &str, scenario: &str, region: &str) -> Value {
    json!({"id": id, "scenario": scenario, "labels": {"region": region}})
}

#[tokio::test]
async fn ord_38_a_subscription_hears_of_orders_by_scenario_label_and_outcome_and_others_go_on() {
    let engine = engine("ord_38_subscribed", &[]).await;
    engine.actions("shop-good", LOG).await;
    engine.actions("shop-bad", "- script: 'fail(\"no luck\", \"shop.closed\")'").await;
    engine.actions("other", LOG).await;
    engine.world().program(Program::at("/dead").then_answer(503, Value::Null));
    let inbox = inbox(&engine).await;
    let body = json!({"url": "amqp://?key=audit", "scenarios": ["shop-*"], "labels": {"region": "north"}, "outcomes": ["fail"]});
    let made = put(&engine, "audit", body.clone()).await;
    assert_eq!((made.status, &made.body["state"]), (201, &json!("active")), "{made:?}");
    let dead = json!({"url": format!("{}/dead?token=t", engine.world().url()), "format": "cloudevents"});
    assert_eq!(put(&engine, "dead", dead).await.status, 201);
    let all = json!({"url": format!("{}/all", engine.world().url())});
    assert_eq!(put(&engine, "all", all).await.status, 201);
    // From the answer on, each end is held against them.
    engine.run(order("a", "shop-bad", "north"), "fail").await;
    engine.run(order("b", "shop-bad", "south"), "fail").await;
    engine.run(order("c", "shop-good", "north"), "success").await;
    engine.run(order("d", "other", "north"), "success").await;
    let calls = engine.calls("/all", 4).await;
    let heard: BTreeSet<&str> = calls.iter().filter_map(|call| call.body["id"].as_str()).collect();
    assert_eq!(heard, BTreeSet::from(["a", "b", "c", "d"]));
    let received = inbox.wait(PATIENCE, |all| !all.is_empty()).await.unwrap();
    assert_eq!((received[0].key.as_str(), &received[0].body["id"]), ("audit", &json!("a")));
    assert_eq!(received[0].body["labels"], json!({"region": "north"}));
    let listed = engine.get("/v1/subscriptions").await.unwrap().success().unwrap();
    let names: Vec<&Value> = listed["items"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["all", "audit", "dead"]);
    let dead = shown(&engine, "dead").await;
    assert_eq!(
        (&dead["waiting"], &dead["url"]),
        (&json!(4), &json!(format!("{}/dead?***", engine.world().url())))
    );
    // Ends from outside of a stage, too, and lives that follow.
    assert_eq!(engine.act("a", "cancel", &json!({})).await.status, 200);
    engine.calls("/all", 5).await;
    assert_eq!(inbox.messages().len(), 1, "a canceled order has another outcome than the one asked for");
    // A change of the rule counts as a whole, and names what it expects.
    let url = format!("{}/v1/subscriptions/audit", engine.base());
    let stale = engine.env().http().put(&url).header("if-match", "\"0-0\"").json(&body).send().await.unwrap();
    assert_eq!(stale.status().as_u16(), 412);
    assert_eq!(put(&engine, "audit", json!({"url": "amqp://?key=audit"})).await.status, 200);
    engine.run(order("e", "other", "south"), "success").await;
    inbox.wait(PATIENCE, |all| all.len() == 2).await.unwrap();
    // Removed: nothing waits for the dead one any more.
    let gone =
        engine.env().http().delete(format!("{}/v1/subscriptions/dead", engine.base())).send().await.unwrap();
    assert_eq!(gone.status().as_u16(), 204);
    let database = engine.database().await;
    until("what waited for it is deleted", PATIENCE, async || {
        let left = database.query_one("SELECT count(*) FROM outbox WHERE subscription IS NOT NULL AND receiver LIKE '%127%' AND target LIKE '%dead%'", &[]).await.unwrap();
        left.get::<_, i64>(0) == 0
    })
    .await;
    let audit = engine.get("/v1/audit?kind=subscription").await.unwrap();
    assert!(audit.body["items"].as_array().is_none_or(|items| items.len() >= 5), "{audit:?}");
}

#[tokio::test]
async fn ord_38_a_paused_subscription_is_notified_by_a_replay_of_what_it_missed_under_the_ids_of_the_first_time()
 {
    let mut engine = engine("ord_38_replay", &[]).await;
    engine.actions("quick", LOG).await;
    engine.actions("bad", "- script: 'fail(\"no luck\", \"shop.closed\")'").await;
    let url = format!("{}/hook", engine.world().url());
    assert_eq!(put(&engine, "audit", json!({"url": url})).await.status, 201);
    engine.run(order("heard", "bad", "north"), "fail").await;
    let first = engine.calls("/hook", 1).await.remove(0);
    act(&engine, "audit/pause", json!({"reason": "works"})).await;
    assert_eq!(shown(&engine, "audit").await["pausedBecause"], "by_hand");
    for number in 0..5 {
        engine.run(order(&format!("missed-{number}"), "quick", "north"), "success").await;
    }
    engine.run(order("canceled", "bad", "north"), "fail").await;
    assert_eq!(engine.act("canceled", "cancel", &json!({})).await.status, 200);
    assert_eq!(engine.world().calls("/hook").len(), 1, "nothing is stored for it");
    // The notifier dies meanwhile: what the replay stores waits for the next one.
    let notifier = engine.node(Role::Notifier).clone();
    notifier.kill().await.unwrap();
    let resumed = act(&engine, "audit/resume", json!({"reason": "done", "replay": true})).await;
    assert_eq!(
        (&resumed["subscription"]["state"], resumed["replay"].is_i64()),
        (&json!("active"), true),
        "{resumed}"
    );
    let replay = replayed(&engine, "audit").await;
    assert_eq!((&replay["stored"], &replay["progress"]), (&json!(7), &json!(1.0)), "{replay}");
    engine.add(Role::Notifier, "notifier-2").await;
    let calls = engine.calls("/hook", 8).await;
    let ids = |id: &str| -> BTreeSet<&str> {
        calls
            .iter()
            .filter(|call| call.body["id"] == id)
            .map(|call| call.headers["webhook-id"].as_str())
            .collect()
    };
    assert_eq!(
        ids("heard"),
        BTreeSet::from([first.headers["webhook-id"].as_str()]),
        "a double is known by its id"
    );
    assert!((0..5).all(|number| ids(&format!("missed-{number}")).len() == 1));
    let statuses: Vec<&Value> =
        calls.iter().filter(|call| call.body["id"] == "canceled").map(|call| &call.body["status"]).collect();
    assert_eq!(statuses, ["canceled"], "of a life with two ends the last one is replayed");
    // A range by hand, before all of them: nothing to tell.
    let range = json!({"from": "2020-01-01T00:00:00Z", "until": "2020-01-02T00:00:00Z", "reason": "lost"});
    act(&engine, "audit/replays", range).await;
    assert_eq!(replayed(&engine, "audit").await["stored"], 0);
    let strange = engine
        .post("/v1/subscriptions/audit/replays", &json!({"from": "2099-01-01T00:00:00Z", "reason": "r"}))
        .await
        .unwrap();
    assert_eq!(strange.status, 422, "{strange:?}");
    let stopped = engine
        .env()
        .http()
        .delete(format!("{}/v1/subscriptions/audit/replays/1", engine.base()))
        .send()
        .await
        .unwrap();
    assert_eq!(stopped.status().as_u16(), 404, "it is done");
}

#[tokio::test]
async fn ord_38_a_subscription_whose_receiver_is_dead_or_gone_is_paused_before_its_backlog_grows_without_bound()
 {
    let engine = engine("ord_38_bound", &[("PAGURUS__NOTIFY__SUBSCRIPTIONS__MAX_UNDELIVERED", "100")]).await;
    engine.actions("quick", LOG).await;
    engine.world().program(Program::at("/dead").then_answer(503, Value::Null));
    engine.world().program(Program::at("/gone").then_answer(410, Value::Null));
    for name in ["dead", "gone"] {
        assert_eq!(
            put(&engine, name, json!({"url": format!("{}/{name}", engine.world().url())})).await.status,
            201
        );
    }
    engine.accepted(order("first", "quick", "north")).await;
    let because = async |name: &str| shown(&engine, name).await["pausedBecause"].clone();
    until("who wants no more is paused", PATIENCE, async || because("gone").await == "gone").await;
    for number in 0..120 {
        engine.accepted(order(&format!("o-{number}"), "quick", "north")).await;
    }
    until("a backlog is bounded", PATIENCE, async || because("dead").await == "backlog").await;
    let activator = engine.node(Role::Activator);
    engine
        .until_metric(activator, "pagurus_subscriptions{state=\"paused_by_engine\"}", |count| count >= 2.0)
        .await;
    // Whatever ends now is stored for none of them.
    engine.run(order("last", "quick", "north"), "success").await;
    let last = engine.order("last").await.unwrap();
    assert_eq!(last["unsentNotifications"], json!([]), "{last}");
    // Mended: what waited arrives, and the rest is replayed.
    engine.world().program(Program::at("/dead"));
    act(&engine, "dead/resume", json!({"reason": "mended", "replay": true})).await;
    replayed(&engine, "dead").await;
    let heard = || -> BTreeSet<String> {
        let good = engine.world().calls("/dead").into_iter().filter(|call| call.status == Some(200));
        good.map(|call| call.body["id"].as_str().unwrap().to_owned()).collect()
    };
    until("it has heard of all", PATIENCE + Duration::from_secs(30), async || heard().len() == 122).await;
}

#[tokio::test]
async fn ord_38_a_subscription_is_checked_as_a_whole_and_goes_where_notifications_may_go() {
    let engine = engine("ord_38_checked", &[]).await;
    let faults = |answer: &Answer| -> Vec<String> {
        let errors = answer.body["errors"].as_array().cloned().unwrap_or_else(|| vec![answer.body.clone()]);
        errors.iter().map(|one| one["pointer"].as_str().unwrap_or_default().to_owned()).collect()
    };
    for (name, body, pointers) in [
        ("a", json!({"url": "https://elsewhere.example/"}), vec!["/url"]),
        (
            "a",
            json!({"url": "amqp://?key=k", "on": ["transitions"], "outcomes": ["wait"]}),
            vec!["/on/0", "/outcomes/0"],
        ),
        ("a%20b", json!({"url": "amqp://?key=k"}), vec!["/name"]),
    ] {
        let answer = put(&engine, name, body).await;
        assert_eq!(
            (answer.status, faults(&answer)),
            (422, pointers.into_iter().map(str::to_owned).collect()),
            "{answer:?}"
        );
    }
    let dry = put(&engine, "a", json!({"url": "amqp://?key=k", "dryRun": true})).await;
    assert_eq!((dry.status, engine.get("/v1/subscriptions/a").await.unwrap().status), (204, 404));
    assert_eq!(put(&engine, "a", json!({"url": "amqp://?key=k", "on": ["parked"]})).await.status, 201);
    let resumed = engine.post("/v1/subscriptions/a/resume", &json!({"reason": "r"})).await.unwrap();
    assert_eq!(resumed.status, 409, "{resumed:?}");
    let replay = engine
        .post("/v1/subscriptions/a/replays", &json!({"from": "2020-01-01T00:00:00Z", "reason": "r"}))
        .await
        .unwrap();
    assert_eq!(replay.status, 409, "only ends are replayed: {replay:?}");
}
