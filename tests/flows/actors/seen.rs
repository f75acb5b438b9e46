//! Actors as operators see them: their queue, their programs, and what these have in hand.

use lapin::options::{BasicConsumeOptions, BasicQosOptions};
use lapin::types::FieldTable;
use serde_json::{Value, json};

use super::scoring;
use crate::installation::{Installation, PATIENCE, until};

/// The actor `scoring`.
async fn shown(engine: &Installation) -> Value {
    engine.get("/v1/actors/scoring").await.unwrap().body
}

async fn reason(engine: &Installation, id: &str) -> String {
    engine.part(id, "explain").await["reason"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn dsp_14_an_actor_shows_its_queue_its_programs_and_what_they_have_in_hand() {
    let (engine, actor) = scoring("dsp_14_actors", "workTimeout: 10m").await;
    let nobody = engine.get("/v1/actors/nobody").await.unwrap();
    assert_eq!(nobody.status, 404, "{nobody:?}");
    until("the task stands in the queue", PATIENCE, async || {
        let shown = shown(&engine).await;
        shown["queued"] == 1 && shown["tasks"] == 1
    })
    .await;
    let unserved = shown(&engine).await;
    assert_eq!(
        (&unserved["state"], &unserved["consumers"], &unserved["inHand"]),
        (&json!("unserved"), &json!(0), &json!(0)),
        "{unserved}"
    );
    assert_eq!(reason(&engine, "a").await, "wait");
    let text = engine.part("a", "explain").await["explanation"].to_string();
    assert!(text.contains("no program takes tasks of actor `scoring`"), "{text}");

    // A program that takes one task at a time, and keeps it.
    let channel = actor.amqp.channel();
    channel.basic_qos(1, BasicQosOptions::default()).await.unwrap();
    let queue = format!("{}.actors.scoring", actor.prefix);
    let program = channel.basic_consume(
        queue.as_str().into(),
        "busy".into(),
        BasicConsumeOptions::default(),
        FieldTable::default(),
    );
    let _program = program.await.unwrap();
    until("the program has it in hand", PATIENCE, async || shown(&engine).await["inHand"] == 1).await;
    engine.accepted(json!({"id": "b", "scenario": "score", "params": {"who": 8}})).await;
    until("the next task waits", PATIENCE, async || {
        let shown = shown(&engine).await;
        shown["queued"] == 1 && shown["tasks"] == 2
    })
    .await;
    let busy = shown(&engine).await;
    assert_eq!(
        (&busy["state"], &busy["consumers"], &busy["inHand"]),
        (&json!("busy"), &json!(1), &json!(1)),
        "{busy}"
    );
    let taken: jiff::Timestamp = busy["lastTakenAt"].as_str().unwrap().parse().unwrap();
    let oldest: jiff::Timestamp = busy["oldestSince"].as_str().unwrap().parse().unwrap();
    assert_eq!(taken, oldest, "the task in hand is the older one: {busy}");
    assert_eq!(
        (reason(&engine, "a").await, reason(&engine, "b").await),
        ("wait".into(), "actor_busy".into())
    );

    for (number, id) in ["a", "b"].into_iter().enumerate() {
        let tasks = actor.tasks(number + 1).await;
        let task = tasks.iter().find(|task| task.body["order"] == id).unwrap();
        actor.decide(task, json!({"score": 1})).await;
        engine.reach(id, "success").await;
    }
    until("the decisions are counted", PATIENCE, async || shown(&engine).await["decided"] == 2).await;
    let list = engine.get("/v1/actors").await.unwrap().success().unwrap();
    let names: Vec<&Value> = list["items"].as_array().unwrap().iter().map(|one| &one["actor"]).collect();
    assert_eq!(names, [&json!("scoring")], "{list}");
}
