//! The client for actors in Python, as a process of its own: its example as it is shipped, and one that takes its time.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::program::{Program, applicant, engine};
use super::{Actor, verdicts};
use crate::clients::python::python;
use crate::installation::Installation;

/// The example, but for the time that it takes.
const SLOW: &str = "import logging, time
from pagurus import Actor
from scoring import score

actor = Actor()

@actor.task('scoring')
def slow(task):
    print('begun', task.order, flush=True)
    time.sleep(9)
    return {**score(task), 'handOut': task.hand_out}

logging.basicConfig(level=logging.INFO)
actor.run()";

/// Takes a task, and never decides.
const HANGING: &str = "import asyncio
from pagurus import Actor

actor = Actor()

@actor.task('scoring')
async def hang(task):
    print('begun', task.order, flush=True)
    await asyncio.Event().wait()

actor.run()";

/// Starts Python in the folder of the example, as its README says.
pub(super) async fn start(engine: &Installation, arguments: &[&str]) -> Program {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("clients/python/examples");
    let mut command = Command::new(python().await);
    command.args(arguments).current_dir(folder).env("PYTHONDONTWRITEBYTECODE", "1");
    Program::start(engine, &mut command)
}

#[tokio::test]
async fn scn_11_the_example_in_python_decides() {
    let engine = engine("scn_11_python", "workTimeout: 10s").await;
    let program = start(&engine, &["scoring.py"]).await;
    // It may look for the queue before the first task has made it.
    let order = engine.run(applicant("a", json!({"income": 50_000})), "success").await;
    assert_eq!(order["result"], json!({"score": 0.5, "order": "a"}), "{order}");
    let order = engine.run(applicant("b", json!({})), "fail").await;
    let end = json!([order["step"], order["error"]["class"], order["error"]["message"]]);
    assert_eq!(end, json!(["failed", "scoring.incomplete", "the applicant has no income"]), "{order}");
    program.stop().await;
    // A program that is killed while it holds a task decides nothing: another gets the same hand-out.
    let program = start(&engine, &["-c", HANGING]).await;
    engine.accepted(applicant("c", json!({"income": 10_000}))).await;
    program.says("begun c").await;
    program.kill().await;
    let program = start(&engine, &["scoring.py"]).await;
    let order = engine.reach("c", "success").await;
    assert_eq!(order["result"], json!({"score": 0.1, "order": "c"}), "{order}");
    program.stop().await;
}

#[tokio::test]
async fn scn_11_the_client_in_python_keeps_its_task_by_heartbeats_and_finishes_it_before_it_ends() {
    let engine = engine("scn_11_python_slow", "workTimeout: 4s").await;
    let seen = Actor::of(&engine).await;
    let program = start(&engine, &["-c", SLOW]).await;
    // Its first hand-outs may have passed before the client was there.
    engine.run(applicant("first", json!({"income": 1})), "success").await;
    let before = seen.inbox.messages().len();
    engine.accepted(applicant("a", json!({"income": 100_000}))).await;
    program.says("begun a").await;
    program.stop().await;
    let order = engine.reach("a", "success").await;
    assert_eq!(order["result"], json!({"score": 1.0, "order": "a", "handOut": 1}), "{order}");
    assert_eq!(seen.inbox.messages().len(), before + 1, "one hand-out for more than two work time-outs");
    assert_eq!(verdicts(&engine).await, ["accepted"]);
    // What the handler did not foresee is a decision, too.
    let program = start(&engine, &["-c", SLOW]).await;
    let order = engine.run(applicant("b", json!({"income": "much"})), "fail").await;
    assert_eq!(order["error"]["class"], "actor.TypeError", "{order}");
    program.stop().await;
}
