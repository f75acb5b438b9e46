//! Every example scenario on the real servers (SCN-13): each of its tests is an order, and the systems
//! that it calls answer over HTTP and AMQP as the file of the test says.
//!
//! The tests run side by side on one engine for each deployment that they ask for; virtual time
//! becomes seconds.

mod files;
mod judge;
mod pace;
mod play;
mod systems;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::join_all;
use jiff::Timestamp;
use serde_json::Value;

use crate::installation::Installation;
use crate::language::path;
use files::Example;
use judge::Ended;
use play::Play;
use systems::Systems;

/// Number of examples that the issue asks for.
const EXAMPLES: usize = 30;
/// Orders at the same time: enough to be quick, few enough for times to keep their order.
const AT_ONCE: usize = 20;
/// Far more than any of them takes.
const PATIENCE: Duration = Duration::from_secs(45);
/// Between two looks at an order.
const LOOK: Duration = Duration::from_millis(100);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scn_13_every_example_runs_on_the_real_servers() {
    let examples = files::read_all();
    let mut deployments: BTreeMap<String, (Value, Vec<Arc<Play>>)> = BTreeMap::new();
    let mut ran = BTreeSet::new();
    for (example, play) in plays(&examples) {
        ran.insert(example);
        let deployment = play.deployment();
        let of = deployments.entry(deployment.to_string()).or_insert((deployment, Vec::new()));
        of.1.push(Arc::new(play));
    }
    assert!(ran.len() >= EXAMPLES, "only {} examples run: {ran:?}", ran.len());
    let deployments = deployments.into_values().map(|(deployment, plays)| run_all(deployment, plays));
    let faults: Vec<String> = join_all(deployments).await.into_iter().flatten().collect();
    assert!(faults.is_empty(), "{} tests failed:\n{}", faults.len(), faults.join("\n"));
}

/// Returns the tests of all examples.
fn plays(examples: &[Example]) -> impl Iterator<Item = (&str, Play)> {
    let tests = examples.iter().flat_map(|example| example.tests.iter().map(move |test| (example, test)));
    tests.enumerate().map(|(no, (example, test))| {
        (example.name.as_str(), Play::new(example, test, &format!("order-{no:02}"), examples))
    })
}

/// Runs these plays on an engine of their own, and returns what was not as expected.
async fn run_all(deployment: Value, plays: Vec<Arc<Play>>) -> Vec<String> {
    let mut settings = Vec::new();
    if deployment["errors"].is_object() {
        settings.push(("PAGURUS__EXECUTION__ERROR_HANDLING".to_owned(), deployment["errors"].to_string()));
    }
    for (name, secret) in deployment["secrets"].as_object().into_iter().flatten() {
        let name = format!("PAGURUS_SECRET_{}", name.to_uppercase());
        settings.push((name, secret.as_str().unwrap().to_owned()));
    }
    let settings: Vec<(&str, &str)> =
        settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let engine = Installation::with("scn_13_examples", &settings).await;
    let all = plays.iter().flat_map(|play| play.children.iter().chain([play])).cloned().collect();
    let _systems = Systems::start(&engine, all).await;
    let outcomes = futures_util::stream::iter(plays).map(|play| {
        let engine = &engine;
        async move {
            let faults = run(engine, &play).await;
            (!faults.is_empty())
                .then(|| format!("{} ({}):\n  {}", play.title, play.mark, faults.join("\n  ")))
        }
    });
    outcomes.buffer_unordered(AT_ONCE).filter_map(|fault| async { fault }).collect().await
}

async fn run(engine: &Installation, play: &Play) -> Vec<String> {
    for play in play.children.iter().map(|child| &**child).chain([play]) {
        let text = play.text.replace("<prefix>", engine.env().prefix());
        engine.put_scenario(&play.scenario, &text).await.unwrap();
    }
    let begun = Timestamp::now();
    let id = engine.accepted(play.order(begun)).await;
    let (order, answers) = tokio::join!(end(engine, &id), call(engine, play, begun));
    let mut faults = judge::judge(play, &seen(engine, play, order.clone(), answers).await);
    let children: Vec<&str> = order["children"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|child| child["id"].as_str().unwrap())
        .collect();
    // A child that nobody waits for may end after its parent.
    for (id, child) in children.into_iter().zip(&play.children) {
        let order = end(engine, id).await;
        faults.extend(judge::judge(child, &seen(engine, child, order, Vec::new()).await));
    }
    faults
}

/// Returns the order as soon as it has ended, or as it is when the patience is over.
async fn end(engine: &Installation, id: &str) -> Value {
    let deadline = Timestamp::now() + PATIENCE;
    loop {
        let order = engine.order(id).await.unwrap();
        let ended =
            ["success", "fail", "interrupted", "canceled"].contains(&order["status"].as_str().unwrap());
        if ended || Timestamp::now() > deadline {
            return order;
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Makes the calls of a play at their times.
async fn call(engine: &Installation, play: &Play, begun: Timestamp) -> Vec<Value> {
    let mut answers = Vec::new();
    for (after, body) in play.calls(begun) {
        let left = (begun + after).duration_since(Timestamp::now());
        tokio::time::sleep(left.try_into().unwrap_or(Duration::ZERO)).await;
        answers.push(engine.act(&play.mark, "calls", &body).await.body);
    }
    answers
}

/// Returns all that can be seen of an order that has ended.
async fn seen(engine: &Installation, play: &Play, order: Value, answers: Vec<Value>) -> Ended {
    let id = order["id"].as_str().unwrap().to_owned();
    let log = engine.part(&id, "log").await;
    let lines = log["items"].as_array().or(log.as_array()).into_iter().flatten();
    let log = lines.map(|line| line["text"].as_str().unwrap_or_default().to_owned()).collect();
    // The last message may still be on its way to the queue when its order has ended.
    let wanted = judge::wanted_requests(play).map_or(0, |wanted| wanted.len());
    let deadline = Timestamp::now() + Duration::from_secs(5);
    while play.table.made().len() < wanted && Timestamp::now() < deadline {
        tokio::time::sleep(LOOK).await;
    }
    Ended { order, path: path(engine, &id).await, log, answers }
}
