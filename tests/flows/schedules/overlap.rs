//! Orders of before that have not ended.

use super::*;

/// Makes a schedule of each second whose orders wait for a callback.
async fn waiting(engine: &Installation, name: &str, overlap: &str) {
    let rule = json!({"every": "1s", "overlap": overlap, "catchUp": {"policy": "all"}, "order": {"scenario": "asks"}});
    put(engine, name, rule).await;
}

/// Ends an order by hand.
async fn end(engine: &Installation, id: &str) {
    engine.reach(id, "wait").await;
    let answer = engine.act(id, "kill", &json!({"reason": "a test"})).await;
    assert_eq!(answer.status, 200, "{answer:?}");
}

async fn outcomes(engine: &Installation, name: &str, outcome: &str) -> Vec<Value> {
    let mut runs = runs(engine, name).await;
    runs.retain(|run| run["outcome"] == outcome);
    runs
}

#[tokio::test]
async fn ord_39_a_time_is_skipped_while_the_order_of_before_has_not_ended() {
    let engine = Installation::start("schedules_skip").await;
    engine.scenario("asks", &asking("/ask", "10m")).await;
    waiting(&engine, "s", "skip").await;
    until("a time was skipped", PATIENCE, async || outcomes(&engine, "s", "skipped").await.len() >= 2).await;
    let ids = orders(&engine, "s").await;
    assert_eq!(ids.len(), 1, "{ids:?}");
    let skipped = outcomes(&engine, "s", "skipped").await.remove(0);
    let reason = skipped["reason"].as_str().unwrap();
    assert!(reason.contains(&ids[0]) && skipped.get("order").is_none(), "{skipped}");
    end(&engine, &ids[0]).await;
    until("the next time has its order", PATIENCE, async || orders(&engine, "s").await.len() == 2).await;
}

#[tokio::test]
async fn ord_39_orders_queue_up_and_come_in_their_turn_also_after_a_death() {
    let mut engine = Installation::start("schedules_queue").await;
    engine.scenario("asks", &asking("/ask", "10m")).await;
    waiting(&engine, "s", "queue").await;
    until("times wait", PATIENCE, async || outcomes(&engine, "s", "queued").await.len() >= 3).await;
    engine.node(Role::Activator).kill().await.unwrap();
    engine.restart(Role::Activator).await;
    let mut queued: Vec<String> = outcomes(&engine, "s", "queued")
        .await
        .iter()
        .map(|run| run["time"].as_str().unwrap().replace(".000Z", "Z"))
        .collect();
    queued.reverse();
    for time in &queued[..2] {
        let last = orders(&engine, "s").await.pop().unwrap();
        end(&engine, &last).await;
        let next = format!("s@{time}");
        until("the next one in turn is registered", PATIENCE, async || {
            orders(&engine, "s").await.last() == Some(&next)
        })
        .await;
    }
    assert_eq!(orders(&engine, "s").await.len(), 3);
    let seen = shown(&engine, "s").await;
    let waits = outcomes(&engine, "s", "queued").await.len();
    assert!(seen["queued"].as_u64().unwrap() > 0 && waits > 0, "{seen}");
}

#[tokio::test]
async fn ord_39_the_order_of_before_gives_way_to_the_next() {
    let engine = Installation::start("schedules_replace").await;
    engine.scenario("asks", &asking("/ask", "10m")).await;
    waiting(&engine, "s", "replace").await;
    until("three orders are there", PATIENCE, async || orders(&engine, "s").await.len() >= 3).await;
    act(&engine, "s", "pause", json!({})).await;
    let ids = orders(&engine, "s").await;
    let (last, former) = ids.split_last().unwrap();
    for id in former {
        let order = engine.order(id).await.unwrap();
        assert_eq!(order["status"], "canceled", "{order}");
    }
    engine.reach(last, "wait").await;
    let log = engine.get(&format!("/v1/orders/{}/log", former[0])).await.unwrap().body.to_string();
    assert!(
        log.contains("the next order of schedule `s` is due") && log.contains("of schedule `s`"),
        "{log}"
    );
}

#[tokio::test]
async fn ord_39_orders_of_a_schedule_that_allows_it_stand_side_by_side() {
    let engine = Installation::start("schedules_allow").await;
    engine.scenario("asks", &asking("/ask", "10m")).await;
    waiting(&engine, "s", "allow").await;
    until("three orders are there", PATIENCE, async || orders(&engine, "s").await.len() >= 3).await;
    for id in orders(&engine, "s").await {
        engine.reach(&id, "wait").await;
    }
}

#[tokio::test]
async fn ord_39_stops_and_windows_hold_the_orders_of_schedules_like_any_other() {
    let engine = Installation::start("schedules_held").await;
    engine.actions("held", &call("/held")).await;
    engine.actions("away", &call("/away")).await;
    let stop = json!({"keyword": "held", "reason": "a test"});
    assert_eq!(engine.post("/v1/flows/stop", &stop).await.unwrap().status, 200);
    let from = Timestamp::now() - jiff::SignedDuration::from_secs(1);
    let window = json!({"flow": "away", "from": from, "for": "1h", "reason": "works"});
    let window = engine.post("/v1/windows", &window).await.unwrap().success().unwrap();
    for name in ["held", "away"] {
        put(&engine, name, json!({"every": "1s", "order": {"scenario": name}})).await;
        until("its next time is skipped", PATIENCE, async || {
            shown(&engine, name).await["counts"]["skipped"].as_i64().unwrap() >= 1
        })
        .await;
        let ids = orders(&engine, name).await;
        assert_eq!(ids.len(), 1, "the held one has not ended: {ids:?}");
        assert_eq!(engine.order(&ids[0]).await.unwrap()["status"], "new");
    }
    assert!(engine.world().calls("/held").is_empty() && engine.world().calls("/away").is_empty());
    assert_eq!(engine.post("/v1/flows/resume", &stop).await.unwrap().status, 200);
    let path = format!("/v1/windows/{}/end", window["window"]);
    engine.post(&path, &json!({"reason": "over"})).await.unwrap().success().unwrap();
    for name in ["held", "away"] {
        let first = orders(&engine, name).await.remove(0);
        engine.reach(&first, "success").await;
    }
}
