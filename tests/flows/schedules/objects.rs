//! Schedules as objects: made, changed, paused, run by hand, removed; and what is wrong with them.

use super::*;

const SCHEMA: &str = "params: {type: object, required: [n], properties: {n: {type: integer}}}\n";

#[tokio::test]
async fn ord_39_a_refused_order_is_shown_and_counted_and_stops_no_later_time() {
    let engine = Installation::start("schedules_refused").await;
    engine.actions("strict", LOG).await;
    put(&engine, "s", json!({"every": "1s", "overlap": "allow", "order": {"scenario": "strict"}})).await;
    until("an order is there", PATIENCE, async || !orders(&engine, "s").await.is_empty()).await;
    // The newest version at its time counts: this one wants a parameter.
    engine.scenario("strict", &format!("{SCHEMA}{}", with_actions(LOG))).await;
    until("two times were refused", PATIENCE, async || {
        shown(&engine, "s").await["counts"]["refused"].as_i64().unwrap() >= 2
    })
    .await;
    let seen = shown(&engine, "s").await;
    let message = seen["problem"]["message"].as_str().unwrap();
    assert!(message.contains("/order/params") && seen["problem"]["lasts"] == json!(true), "{seen}");
    let refused = runs(&engine, "s").await.remove(0);
    assert_eq!(refused["outcome"], "refused", "{refused}");
    let node = engine.node(Role::Activator);
    engine
        .until_metric(node, "pagurus_schedule_times_total{outcome=\"refused\"}", |count| count >= 2.0)
        .await;
    engine.until_metric(node, "pagurus_schedules{state=\"failing\"}", |count| count == 1.0).await;
    // A change that would not help is refused, one that does is taken, and the orders come again.
    let path = "/v1/schedules/s";
    let (status, wrong) =
        send(&engine, (Method::PATCH, path), &[], json!({"order": {"params": {"n": "x"}}})).await;
    assert_eq!((status, &wrong["pointer"]), (422, &json!("/order/params/n")), "{wrong}");
    let (status, changed) =
        send(&engine, (Method::PATCH, path), &[], json!({"order": {"params": {"n": 1}}})).await;
    assert_eq!((status, &changed["change"]), (200, &json!("changed")), "{changed}");
    until("it is well again", PATIENCE, async || {
        shown(&engine, "s").await["problem"]["lasts"] == json!(false)
    })
    .await;
    // A stranger has taken an id: that time is refused, and the next one is not.
    let at = Timestamp::from_second(Timestamp::now().as_second() + 3).unwrap();
    engine.accepted(json!({"id": format!("s@{at}"), "scenario": "strict", "params": {"n": 7}})).await;
    until("the time of the taken id is behind", PATIENCE, async || {
        let after = runs(&engine, "s").await;
        let of = |at: Timestamp| after.iter().find(|run| run["time"] == json!(format!("{at:.3}"))).cloned();
        let (taken, next) = (of(at), of(at + jiff::SignedDuration::from_secs(1)));
        next.is_some_and(|next| next["outcome"] == "registered")
            && taken.is_some_and(|taken| {
                taken["reason"].as_str().is_some_and(|why| why.contains("another order has its id"))
            })
    })
    .await;
}

#[tokio::test]
async fn ord_39_schedules_are_objects_with_tags_dry_runs_and_an_audit() {
    let engine = Installation::start("schedules_objects").await;
    engine.scenario("masked", &format!("mask: [params.card]\n{}", with_actions(&call("/pay")))).await;
    let order = json!({"scenario": "masked", "params": {"card": "4111", "day": "${schedule.date}"},
        "notify": {"url": "https://example.com/hook?token=t", "correlationId": "c"}});
    let rule = json!({"name": "nightly", "cron": "0 3 * * 1-5", "zone": "Europe/Moscow", "note": "load", "order": order});
    let dry = engine.post("/v1/schedules?dryRun=true", &rule).await.unwrap();
    assert_eq!(
        (dry.status, &dry.body["pointer"]),
        (422, &json!("/order/notify/url")),
        "no receiver is allowed: {dry:?}"
    );
    let mut rule = rule;
    rule["order"]["notify"] = json!({"url": "amqp://?key=ends", "correlationId": "c"});
    let dry = engine.post("/v1/schedules?dryRun=true", &rule).await.unwrap().success().unwrap();
    assert_eq!(
        (dry["next"].as_array().unwrap().len(), &dry["change"], dry.get("tag")),
        (5, &json!("created"), None)
    );
    assert_eq!(engine.get("/v1/schedules/nightly").await.unwrap().status, 404);
    let made = engine.post("/v1/schedules", &rule).await.unwrap();
    assert_eq!(made.status, 201, "{made:?}");
    assert_eq!(engine.post("/v1/schedules", &rule).await.unwrap().status, 409);
    let path = "/v1/schedules/nightly";
    let seen = shown(&engine, "nightly").await;
    assert_eq!((&seen["order"]["params"]["card"], &seen["next"]), (&json!("***"), &dry["next"]), "{seen}");
    let next: Vec<Timestamp> =
        seen["next"].as_array().unwrap().iter().map(|at| at.as_str().unwrap().parse().unwrap()).collect();
    assert!(next.iter().all(|at| at.to_string().ends_with("T00:00:00Z")), "03:00 in Moscow: {next:?}");
    let times = engine.get(&format!("{path}/times?count=7")).await.unwrap().success().unwrap();
    assert_eq!(times["times"].as_array().unwrap()[..5], seen["next"].as_array().unwrap()[..]);

    // What was read is sent back: the hidden value stays, and nothing has changed.
    let mut whole = json!({});
    for key in ["order", "cron", "zone", "note", "catchUp", "overlap"] {
        whole[key] = seen[key].clone();
    }
    let same = put(&engine, "nightly", whole.clone()).await;
    assert_eq!((&same["change"], &same["tag"]), (&json!("unchanged"), &seen["tag"]), "{same}");
    whole["order"]["params"]["other"] = json!("***");
    let (status, hidden) = send(&engine, (Method::PUT, path), &[], whole).await;
    assert_eq!((status, &hidden["pointer"]), (422, &json!("/order/params/other")), "{hidden}");

    let tag = format!("\"{}\"", seen["tag"].as_str().unwrap());
    let change = json!({"cron": null, "every": "1h", "reason": "more often"});
    let (status, changed) = send(&engine, (Method::PATCH, path), &[("If-Match", &tag)], change.clone()).await;
    assert_eq!((status, &changed["change"]), (200, &json!("changed")), "{changed}");
    let (status, _) = send(&engine, (Method::PATCH, path), &[("If-Match", &tag)], change).await;
    assert_eq!(status, 412, "somebody has changed it");
    let (status, _) = send(&engine, (Method::PATCH, path), &[], json!({"crom": "x"})).await;
    assert_eq!(status, 422);

    // Paused, it has no orders of its own; somebody may still ask for one.
    act(&engine, "nightly", "pause", json!({"reason": "holidays"})).await;
    set_back(&engine, "nightly", "3 hours").await;
    let by_hand = act(&engine, "nightly", "run", json!({"reason": "now"})).await;
    let id = by_hand["order"].as_str().unwrap();
    let order = engine.reach(id, "success").await;
    assert_eq!(order["params"]["card"], "***", "{order}");
    assert_eq!(orders(&engine, "nightly").await, [id]);
    let resumed = act(&engine, "nightly", "resume", json!({})).await;
    assert_eq!(resumed["change"], "resumed");
    put(&engine, "probe", json!({"every": "1s", "order": {"scenario": "masked"}})).await;
    until("the activator is at work", PATIENCE, async || !orders(&engine, "probe").await.is_empty()).await;
    assert_eq!(orders(&engine, "nightly").await, [id], "what came in the pause is not made up for");

    let (status, _) = send(&engine, (Method::DELETE, path), &[("If-Match", &tag)], json!({})).await;
    assert_eq!(status, 412);
    let (status, _) = send(&engine, (Method::DELETE, path), &[], json!({})).await;
    assert_eq!(status, 204);
    assert_eq!(engine.get(path).await.unwrap().status, 404);
    assert_eq!(engine.order(id).await.unwrap()["status"], "success", "its orders stay");
    let audit = engine.get("/v1/audit?subject=nightly&limit=100").await.unwrap().success().unwrap();
    let entries = audit["items"].as_array().unwrap();
    let actions: Vec<&str> = entries.iter().rev().map(|entry| entry["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["create", "change", "pause", "run", "resume", "remove"], "{audit}");
    assert!(!audit.to_string().contains("4111"), "hidden values are hidden there, too: {audit}");
}

#[tokio::test]
async fn ord_39_everything_that_is_wrong_with_a_schedule_is_reported_with_its_place() {
    let engine = Installation::only("schedules_faults", &[Role::Intake], &[]).await;
    engine.actions("quick", LOG).await;
    let cases = [
        (json!({"cron": "0 25 * * *", "order": {"scenario": "quick"}}), "/cron"),
        (json!({"every": "1h", "zone": "Mars/Base", "order": {"scenario": "quick"}}), "/zone"),
        (json!({"order": {"scenario": "quick"}}), "/cron"),
        (json!({"every": "1h", "order": {"scenario": "quick", "id": "x"}}), "/order/id"),
        (json!({"every": "1h", "order": {"scenario": "nothing"}}), "/order/scenario"),
        (json!({"every": "1h", "order": {"scenario": "quick", "priority": "urgent"}}), "/order/priority"),
        (
            json!({"every": "1h", "order": {"scenario": "quick", "params": {"a": ["${schedule.tim}"]}}}),
            "/order/params/a/0",
        ),
        (json!({"every": "1h", "overlap": "wait", "order": {"scenario": "quick"}}), "/overlap"),
        (json!({"every": "1h", "until": "2020-01-01T00:00:00Z", "order": {"scenario": "quick"}}), "/until"),
        (json!({"every": "1h", "name": "other", "order": {"scenario": "quick"}}), "/name"),
        (
            json!({"every": "1h", "catchUp": {"policy": "skip", "within": "1h"}, "order": {"scenario": "quick"}}),
            "/catchUp/within",
        ),
    ];
    for (rule, pointer) in cases {
        let (status, problem) = send(&engine, (Method::PUT, "/v1/schedules/s"), &[], rule.clone()).await;
        assert_eq!((status, &problem["pointer"]), (422, &json!(pointer)), "{rule}: {problem}");
    }
    let (status, problem) = send(
        &engine,
        (Method::PUT, "/v1/schedules/a@b"),
        &[],
        json!({"every": "1h", "order": {"scenario": "quick"}}),
    )
    .await;
    assert_eq!((status, &problem["pointer"]), (422, &json!("/name")), "{problem}");
    assert_eq!(engine.post("/v1/schedules/none/run", &json!({})).await.unwrap().status, 404);
    assert_eq!(engine.post("/v1/schedules/none/pause", &json!({})).await.unwrap().status, 404);
    let listed = engine.get("/v1/schedules").await.unwrap().success().unwrap();
    assert_eq!(listed["items"], json!([]));
}
