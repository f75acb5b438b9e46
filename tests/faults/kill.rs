//! `kill -9` of each role while a mixed load is under way: everything accepted ends, and is reported once.
//! Never gives the engine a hint: the node comes back under its name, nothing else is done.

use pagurus_harness::nodes::Role;

use crate::installation::{Installation, PATIENCE};
use crate::load::{Load, notified};

async fn killed_under_load(role: Role) {
    let engine = Installation::start(&format!("kill_{role}"), &[]).await;
    let amqp = engine.env.amqp().await.unwrap();
    let inbox = engine.listen(&amqp).await;
    let load = Load::new(role.as_str());
    load.publish(&amqp).await;
    if role != Role::Intake {
        inbox.wait(PATIENCE, |messages| notified(messages).len() >= 10).await.unwrap();
    }
    engine.node(role).kill().await.unwrap();
    let before = notified(&inbox.messages()).len();
    engine.env.restart(engine.node(role)).await.unwrap();
    load.check(&engine, &inbox, PATIENCE).await;
    engine.holds().await;
    assert!(before < load.bodies.len(), "everything had ended before the kill: the test shows nothing");
}

#[tokio::test]
async fn rec_10_intake_killed_under_load_loses_and_doubles_nothing() {
    killed_under_load(Role::Intake).await;
}

#[tokio::test]
async fn rec_10_dispatcher_killed_under_load_loses_and_doubles_nothing() {
    killed_under_load(Role::Dispatcher).await;
}

#[tokio::test]
async fn rec_10_activator_killed_under_load_loses_and_doubles_nothing() {
    killed_under_load(Role::Activator).await;
}

#[tokio::test]
async fn rec_10_worker_killed_under_load_loses_and_doubles_nothing() {
    killed_under_load(Role::Worker).await;
}

#[tokio::test]
async fn rec_10_notifier_killed_under_load_loses_and_doubles_nothing() {
    killed_under_load(Role::Notifier).await;
}
