//! Each time once: activators that die, two at a time, and downtimes.

use std::time::Duration;

use super::*;

/// Ids that a schedule of each second has after one time, up to another.
fn each_second(name: &str, first: &str, until: Timestamp) -> Vec<String> {
    let first: Timestamp = first.rsplit('@').next().unwrap().parse().unwrap();
    (first.as_second()..=until.as_second())
        .map(|second| format!("{name}@{}", Timestamp::from_second(second).unwrap()))
        .collect()
}

#[tokio::test]
async fn ord_39_activators_that_are_killed_in_turns_register_the_order_of_each_time_once() {
    let mut engine = Installation::start("schedules_once").await;
    engine.actions("quick", LOG).await;
    let second = engine.add(Role::Activator, "activator-2").await;
    let names = ["one", "two", "three"];
    for name in names {
        let rule = json!({"every": "1s", "overlap": "allow", "catchUp": {"policy": "all"}, "order": {"scenario": "quick"}});
        put(&engine, name, rule).await;
    }
    until("the first orders are there", PATIENCE, async || !orders(&engine, "one").await.is_empty()).await;
    let mut nodes = [engine.node(Role::Activator).clone(), second];
    for round in 0..10u64 {
        let which = usize::from(round % 2 == 1);
        // Somewhere within the second: before, within and behind the work of a time.
        tokio::time::sleep(Duration::from_millis(97 * round + 311)).await;
        nodes[which].kill().await.unwrap();
        // Now and then nobody is there at all.
        if round % 3 == 0 {
            nodes[1 - which].kill().await.unwrap();
            tokio::time::sleep(Duration::from_millis(1400)).await;
            nodes[1 - which] = engine.env().restart(&nodes[1 - which]).await.unwrap();
        }
        nodes[which] = engine.env().restart(&nodes[which]).await.unwrap();
    }
    for name in names {
        act(&engine, name, "pause", json!({"reason": "enough"})).await;
    }
    for name in names {
        let seen = shown(&engine, name).await;
        let ids = orders(&engine, name).await;
        let last = ids.last().unwrap().rsplit('@').next().unwrap().parse().unwrap();
        assert!(ids.len() > 10, "{ids:?}");
        assert_eq!(ids, each_second(name, &ids[0], last), "each second, and each once");
        assert_eq!(seen["counts"]["registered"], json!(ids.len()), "{seen}");
        let decided =
            ["skipped", "missed", "refused"].map(|outcome| seen["counts"][outcome].as_i64().unwrap());
        assert_eq!(decided, [0, 0, 0], "{seen}");
        for id in &ids {
            let events = engine.part(id, "events").await;
            let scheduled =
                events.as_array().unwrap().iter().filter(|event| event["kind"] == "scheduled").count();
            assert_eq!(scheduled, 1, "{events}");
        }
    }
}

#[tokio::test]
async fn ord_39_after_a_downtime_the_policy_decides_which_times_have_their_orders() {
    let mut engine = Installation::start("schedules_downtime").await;
    engine.actions("quick", LOG).await;
    let policies = [
        ("all", json!({"policy": "all", "within": "2h"})),
        ("one", json!({"policy": "one", "within": "2h"})),
        ("late", json!({"policy": "one", "within": "1s"})),
        ("skip", json!({"policy": "skip"})),
    ];
    for (name, policy) in &policies {
        // At minutes that are not near to now, so that none comes on time.
        let minute = (Timestamp::now().as_second() / 60 + 30) % 60;
        let rule = json!({"cron": format!("{minute} * * * *"), "overlap": "allow", "catchUp": policy,
            "order": {"scenario": "quick"}});
        put(&engine, name, rule).await;
    }
    without_activator(&mut engine).await;
    for (name, _) in &policies {
        set_back(&engine, name, "5 hours").await;
    }
    engine.restart(Role::Activator).await;
    // Five times were missed; within two hours were two of them.
    for (name, registered, missed) in [("all", 2, 3), ("one", 1, 4), ("late", 0, 5), ("skip", 0, 5)] {
        until("all is decided", PATIENCE, async || {
            let counts = shown(&engine, name).await["counts"].clone();
            counts["registered"] == json!(registered) && counts["missed"] == json!(missed)
        })
        .await;
        let ids = orders(&engine, name).await;
        assert_eq!(ids.len(), registered, "{name}: {ids:?}");
        let runs = runs(&engine, name).await;
        let of_missed: Vec<&Value> = runs.iter().filter(|run| run["outcome"] == "missed").collect();
        assert_eq!(
            (of_missed.len(), &of_missed[0]["missed"]),
            (1, &json!(missed)),
            "one line for them: {runs:?}"
        );
        assert!(of_missed[0]["missedFrom"].as_str() < of_missed[0]["time"].as_str(), "{runs:?}");
    }
    // Nothing of it comes again.
    without_activator(&mut engine).await;
    engine.restart(Role::Activator).await;
    put(&engine, "probe", json!({"every": "1s", "order": {"scenario": "quick"}})).await;
    until("the activator is at work", PATIENCE, async || !orders(&engine, "probe").await.is_empty()).await;
    assert_eq!((orders(&engine, "all").await.len(), orders(&engine, "one").await.len()), (2, 1));
    // A missed time has its order after all, where somebody asks for it.
    let missed = runs(&engine, "skip").await[0]["time"].as_str().unwrap().to_owned();
    let made = act(&engine, "skip", "run", json!({"at": missed, "reason": "it is needed"})).await;
    assert_eq!(made["status"], "accepted", "{made}");
    let again = act(&engine, "skip", "run", json!({"at": missed})).await;
    assert_eq!((&again["status"], &again["order"]), (&json!("duplicate"), &made["order"]));
    engine.reach(made["order"].as_str().unwrap(), "success").await;
    assert_eq!(orders(&engine, "skip").await, [made["order"].as_str().unwrap()]);
    let between =
        engine.post("/v1/schedules/skip/run", &json!({"at": "2026-01-01T00:00:01Z"})).await.unwrap();
    assert_eq!((between.status, &between.body["pointer"]), (422, &json!("/at")), "{between:?}");
}

#[tokio::test]
async fn ord_39_a_clock_that_goes_back_brings_no_order_again() {
    let mut engine = Installation::start("schedules_clock").await;
    engine.actions("quick", LOG).await;
    put(&engine, "s", json!({"every": "1s", "overlap": "allow", "order": {"scenario": "quick"}})).await;
    until("orders are there", PATIENCE, async || orders(&engine, "s").await.len() >= 3).await;
    // Seen from the schedule: all until in an hour was decided by a clock that was ahead.
    without_activator(&mut engine).await;
    let ahead = "UPDATE schedules SET decided_until = clock_timestamp() + interval '1 hour', next_at = clock_timestamp()";
    engine.database().await.batch_execute(ahead).await.unwrap();
    let before = orders(&engine, "s").await;
    engine.restart(Role::Activator).await;
    put(&engine, "probe", json!({"every": "1s", "order": {"scenario": "quick"}})).await;
    until("the activator is at work", PATIENCE, async || !orders(&engine, "probe").await.is_empty()).await;
    assert_eq!(orders(&engine, "s").await, before);
    let next: Timestamp = shown(&engine, "s").await["next"][0].as_str().unwrap().parse().unwrap();
    assert!(
        next > Timestamp::now() + jiff::SignedDuration::from_mins(50),
        "it waits until the clock is there again"
    );
}
