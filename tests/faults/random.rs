//! Random stories with a worker and an intake killed in the middle of them, again and again: their way, their
//! result, and what counts of their callbacks stay what the naive model says. Calls may be repeated, with equal keys.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use pagurus_harness::nodes::{Node, Role};
use pagurus_harness::random::model::{Expected, Made, expect};
use pagurus_harness::random::plan::Story;
use pagurus_harness::random::play::{Play, Seen, ended, numbers};
use pagurus_harness::random::text::rules;
use serde_json::{Value, json};

use crate::installation::Installation;

/// Seed of the stories, unless `PAGURUS_TEST_SEED` is set.
const SEED: u64 = 7;
const STORIES: usize = 30;
/// A node that was killed may take a while to be back on a busy machine, and stories wait in vain besides.
const PATIENCE: Duration = Duration::from_secs(90);

#[tokio::test]
async fn rec_10_scn_7_14_err_13_random_stories_go_their_way_though_worker_and_intake_are_killed() {
    let engine =
        Installation::start("random_kill", &[("PAGURUS__EXECUTION__ERROR_HANDLING", &rules(true))]).await;
    let seed = std::env::var("PAGURUS_TEST_SEED").map_or(SEED, |seed| seed.parse().expect("a number"));
    let cases: Vec<(Story, Expected)> =
        Story::of(seed, STORIES, true).into_iter().map(|story| (story.clone(), expect(&story))).collect();
    let exchange = format!("world-{}", engine.env.prefix());
    let play = Play::start(&engine.env, engine.api.clone(), &exchange, &cases, PATIENCE).await.unwrap();
    for (story, expected) in &cases {
        let text = story.text(&exchange, &expected.in_vain);
        engine.api.put_scenario(&story.scenario(), &text).await.unwrap();
    }
    let orders: Vec<Value> = cases.iter().map(|(story, _)| story.order()).collect();
    engine.api.post("/v1/orders/batch", &json!(orders)).await.unwrap().success().unwrap();
    let total = cases.iter().map(|(_, expected)| expected.calls.len() + expected.questions.len()).sum();
    kill_again_and_again(&engine, &play, total).await;
    let deadline = Instant::now() + PATIENCE;
    let (mut wrong, mut repeated) = (Vec::new(), 0);
    for (story, expected) in &cases {
        let order = ended(&engine.api, &story.id, deadline).await;
        let seen = play.end(&story.id).await;
        repeated += seen.calls.len().saturating_sub(expected.calls.len());
        match &order {
            Ok(order) => wrong.extend(differences(&engine, expected, &seen, order).await),
            Err(error) => wrong.push(format!("{error:#}")),
        }
    }
    assert!(wrong.is_empty(), "of seed {seed}:\n{}", wrong.join("\n"));
    engine.rows_are_sound().await;
    assert!(repeated > 0, "no call was under way when a worker was killed: the test shows nothing");
}

/// Kills a worker, an intake, and both once more, each when a further part of the calls has been made.
async fn kill_again_and_again(engine: &Installation, play: &Play, total: usize) {
    let mut nodes: HashMap<Role, Node> =
        [Role::Worker, Role::Intake].map(|role| (role, engine.node(role).clone())).into();
    for (part, role) in [(1, Role::Worker), (2, Role::Intake), (3, Role::Worker), (4, Role::Intake)] {
        let deadline = Instant::now() + PATIENCE;
        while play.count() < total * part / 6 {
            assert!(Instant::now() < deadline, "{} of {total} calls, part {part}", play.count());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(play.count() < total, "everything had been called before the kill: the test shows nothing");
        nodes[&role].kill().await.unwrap();
        let again = engine.env.restart(&nodes[&role]).await.unwrap();
        nodes.insert(role, again);
    }
}

async fn differences(engine: &Installation, expected: &Expected, seen: &Seen, order: &Value) -> Vec<String> {
    let id = order["id"].as_str().unwrap();
    let mut differences = seen.faults.clone();
    let mut same = |what: &str, expected: String, seen: String| {
        if expected != seen {
            differences.push(format!("{id}: {what}\n  expected {expected}\n  seen     {seen}"));
        }
    };
    same(
        "calls but for repeats",
        format!("{:?}", first(&expected.calls)),
        format!("{:?}", first(&seen.calls)),
    );
    let questions = [&expected.questions, &seen.questions].map(|made| format!("{:?}", first(made)));
    let [asked, came] = questions;
    same("messages but for repeats", asked, came);
    let path = engine.api.transitions(id).await.unwrap();
    let path = path.iter().map(|one| ["from", "event", "to"].map(|key| one[key].as_str().unwrap()).join(" "));
    same("path", expected.path.join(", "), path.collect::<Vec<_>>().join(", "));
    same("status", expected.status.into(), order["status"].as_str().unwrap().into());
    let result = order.get("result").filter(|result| !result.is_null()).map(numbers);
    same("result", format!("{:?}", expected.result), format!("{result:?}"));
    let class = order.pointer("/error/class").and_then(Value::as_str);
    same("class", format!("{:?}", expected.class), format!("{class:?}"));
    let kept = engine.api.get(&format!("/v1/orders/{id}/callbacks")).await.unwrap().success().unwrap();
    let accepted = kept.as_array().unwrap().iter().filter(|one| one["verdict"] == "accepted");
    let accepted: BTreeSet<i64> = accepted.map(|one| one["body"]["n"].as_i64().unwrap_or(-1)).collect();
    let wanted = expected.callbacks.iter().filter(|(_, _, verdict)| *verdict == "accepted");
    let wanted: BTreeSet<i64> = wanted.map(|(_, number, _)| *number).collect();
    same("callbacks that count", format!("{wanted:?}"), format!("{accepted:?}"));
    differences
}

/// Returns each key once, in the order of first occurrence.
fn first(made: &[Made]) -> Vec<(usize, usize, usize)> {
    let mut first = Vec::new();
    for one in made {
        let place = (one.at, one.slot, one.pass);
        if !first.contains(&place) {
            first.push(place);
        }
    }
    first
}
