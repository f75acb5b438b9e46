//! Random scenarios on the real servers: failures, and callbacks that come early, in time, late, twice and for
//! nobody, over both transports. What the API shows and what the called system saw is what the naive model says.
//!
//! `PAGURUS_TEST_SEED=NUMBER` tells one more set of stories; a failure names the seed it came from.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use pagurus_harness::nodes::Role;
use pagurus_harness::random::model::{Expected, Kept, expect};
use pagurus_harness::random::plan::{Story, Word};
use pagurus_harness::random::play::{Play, Seen, ended, numbers};
use pagurus_harness::random::text::rules;
use serde_json::{Value, json};

use crate::installation::{Installation, until};

/// Seeds whose stories are always played.
const SEEDS: [u64; 3] = [1, 2, 3];
/// Number of stories of each seed.
const EACH: usize = 20;
/// A story waits in vain a few times, for seconds each; a busy machine may take its time.
const PATIENCE: Duration = Duration::from_secs(60);
/// Callbacks that answer nothing.
const ORPHANS: usize = 3;

fn stories() -> Vec<(Story, Expected)> {
    let further = std::env::var("PAGURUS_TEST_SEED").ok().map(|seed| seed.parse().expect("a number"));
    let seeds = SEEDS.into_iter().chain(further);
    let stories = seeds.flat_map(|seed| Story::of(seed, EACH, false));
    stories.map(|story| (story.clone(), expect(&story))).collect()
}

#[tokio::test]
async fn scn_7_14_err_6_9_11_13_random_stories_with_early_late_and_double_callbacks_go_as_the_model_says() {
    let stories = stories();
    assert_worthwhile(&stories);
    let engine = Installation::with("random", &[("PAGURUS__EXECUTION__ERROR_HANDLING", &rules(false))]).await;
    let exchange = format!("world-{}", engine.env().prefix());
    let api = engine.env().api(engine.node(Role::Intake));
    let play = Play::start(engine.env(), api.clone(), &exchange, &stories, PATIENCE).await.unwrap();
    for (story, expected) in &stories {
        let text = story.text(&exchange, &expected.in_vain);
        engine.put_scenario(&story.scenario(), &text).await.unwrap();
    }
    let orders: Vec<Value> = stories.iter().map(|(story, _)| story.order()).collect();
    engine.post("/v1/orders/batch", &json!(orders)).await.unwrap().success().unwrap();
    let deadline = Instant::now() + PATIENCE;
    for _ in 0..ORPHANS {
        let nobody = uuid::Uuid::new_v4().to_string();
        assert_eq!(play.orphan(&nobody, false).await.unwrap(), 200);
        play.orphan(&nobody, true).await.unwrap();
    }
    let (mut wrong, mut first) = (Vec::new(), None);
    for (story, expected) in &stories {
        let order = ended(&api, &story.id, deadline).await;
        let seen = play.end(&story.id).await;
        let differences = match &order {
            Ok(order) => differences(&engine, expected, &seen, order).await,
            Err(error) => vec![format!("{error:#}")],
        };
        if !differences.is_empty() {
            wrong.push(differences.join("\n"));
            first.get_or_insert_with(|| story.text(&exchange, &expected.in_vain));
        }
    }
    let count = wrong.len();
    wrong.truncate(5);
    assert!(
        wrong.is_empty(),
        "{count} stories went otherwise (s3-7 is number 7 of seed 3), such as:\n{}\nThe first is\n{}",
        wrong.join("\n\n"),
        first.unwrap_or_default()
    );
    let mut verdicts: BTreeMap<&str, usize> = BTreeMap::from([("orphan", 2 * ORPHANS)]);
    for (_, _, verdict) in stories.iter().flat_map(|(_, expected)| &expected.callbacks) {
        *verdicts.entry(verdict).or_default() += 1;
    }
    until("all callbacks are counted", PATIENCE, async || counted(&engine).await == verdicts).await;
}

/// A set of stories in which something never happens shows nothing about it.
fn assert_worthwhile(stories: &[(Story, Expected)]) {
    let paths = || stories.iter().flat_map(|(_, expected)| &expected.path);
    for event in [" retry ", " timeout ", " callback ", " fail ", " wait ", " success "] {
        assert!(paths().any(|one| one.contains(event)), "no{event}anywhere");
    }
    for wanted in ["accepted", "duplicate", "late"] {
        let kept = stories.iter().flat_map(|(_, expected)| &expected.callbacks);
        assert!(kept.filter(|(_, _, verdict)| *verdict == wanted).count() >= 20, "hardly one is {wanted}");
    }
    let mut calls = stories.iter().flat_map(|(_, expected)| &expected.calls);
    assert!(
        calls.any(|made| made.tried > 0) && stories.iter().any(|(_, expected)| !expected.gates.is_empty())
    );
    assert!(stories.iter().any(|(_, expected)| expected.status == "fail"));
}

async fn differences(engine: &Installation, expected: &Expected, seen: &Seen, order: &Value) -> Vec<String> {
    let id = order["id"].as_str().unwrap();
    let mut differences = seen.faults.clone();
    let mut same = |what: &str, expected: String, seen: String| {
        if expected != seen {
            differences.push(format!("{id}: {what}\n  expected {expected}\n  seen     {seen}"));
        }
    };
    same("calls, with keys that are equal or different", list(&expected.calls), list(&seen.calls));
    same("messages", list(&expected.questions), list(&seen.questions));
    same("answers that the scenario knew", list(&expected.knew), list(&seen.knew));
    let path = engine.transitions(id).await.unwrap();
    let path = path.iter().map(|one| ["from", "event", "to"].map(|key| one[key].as_str().unwrap()).join(" "));
    same("path", expected.path.join(", "), path.collect::<Vec<_>>().join(", "));
    same("status", expected.status.into(), order["status"].as_str().unwrap().into());
    let result = order.get("result").filter(|result| !result.is_null()).map(numbers);
    same("result", format!("{:?}", expected.result), format!("{result:?}"));
    let class = order.pointer("/error/class").and_then(Value::as_str);
    same("class", format!("{:?}", expected.class), format!("{class:?}"));
    let kept = engine.part(id, "callbacks").await;
    let kept = kept.as_array().unwrap();
    same("callbacks", list(&expected.callbacks), list(&all_kept(kept)));
    for (number, verdict) in &seen.verdicts {
        let known = expected.callbacks.iter().any(|(_, other, kept)| other == number && kept == verdict);
        same("answer to a callback", "known".into(), if known { "known" } else { verdict }.into());
    }
    let words = kept.iter().map(|one| one["stepStatus"].as_str());
    let odd = words.filter(|word| ![Word::Good, Word::Refused, Word::Odd].map(Word::as_str).contains(word));
    same("step statuses that nobody sent", "[]".into(), format!("{:?}", odd.collect::<Vec<_>>()));
    differences
}

fn list(values: &[impl std::fmt::Debug]) -> String {
    values.iter().map(|one| format!("{one:?}")).collect::<Vec<_>>().join("\n           ")
}

/// The callbacks that the API shows, in the order of their numbers.
fn all_kept(callbacks: &[Value]) -> Vec<Kept> {
    let verdict = |one: &Value| match one["verdict"].as_str() {
        Some("accepted") => "accepted",
        Some("duplicate") => "duplicate",
        Some("late") => "late",
        _ => "another",
    };
    let mut kept: Vec<Kept> = callbacks
        .iter()
        .map(|one| {
            let number = one["body"]["n"].as_i64().unwrap_or(-1);
            (one["request"].as_str().unwrap_or_default().to_owned(), number, verdict(one))
        })
        .collect();
    kept.sort_by(|one, two| (one.1, one.2).cmp(&(two.1, two.2)));
    kept
}

/// Number of callbacks that intake has counted, by verdict.
async fn counted(engine: &Installation) -> BTreeMap<&'static str, usize> {
    let text = engine.env().http().get(format!("{}/metrics", engine.base())).send().await.unwrap();
    let text = text.text().await.unwrap();
    let mut counted = BTreeMap::new();
    for word in ["accepted", "duplicate", "late", "orphan"] {
        let label = format!("verdict=\"{word}\"");
        let line = text.lines().find(|line| line.contains("callbacks") && line.contains(&label));
        let count = line.and_then(|line| line.rsplit(' ').next()?.parse::<usize>().ok());
        counted.extend(count.map(|count| (word, count)));
    }
    counted
}
