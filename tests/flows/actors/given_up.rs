//! The clients for actors, where the engine gives a task up because its stage goes to another worker (REC-10): they stop,
//! report nothing, and start over with the task that comes again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pagurus_harness::nodes::Role;
use serde_json::json;

use super::program::Program;
use super::{python, typescript, verdicts};
use crate::asyncapi::fits;
use crate::installation::{Installation, PATIENCE, until};

/// Waits until its task is given up, as long as it takes; what comes again is done at once.
const WAITING: &str = "import logging
from pagurus import Actor

actor = Actor()
begun = []

@actor.task('scoring')
def wait(task):
    begun.append(task.task)
    print('begun', len(begun), flush=True)
    if len(begun) == 1:
        task.canceled.wait()
        print('given up', flush=True)
        return 'of the first'
    return 'of the second'

logging.basicConfig(level=logging.INFO)
actor.run()";

/// The same in TypeScript.
const WAITING_TYPESCRIPT: &str = "import { Actor } from 'pagurus-client/actor';

let begun = 0;
const wait = async ({ canceled }) => {
  begun += 1;
  console.log('begun', begun);
  if (begun > 1) return 'of the second';
  if (!canceled.aborted) await new Promise((resolve) => canceled.addEventListener('abort', resolve));
  console.log('given up');
  return 'of the first';
};

await new Actor().task('scoring', wait).run();";

/// An engine without a worker whose stage hands a task to the actor.
async fn engine(test: &str) -> Installation {
    let settings = [("PAGURUS__NODE__LOST_AFTER", "1200ms")];
    let roles = [Role::Intake, Role::Dispatcher, Role::Activator, Role::Notifier];
    let engine = Installation::only(test, &roles, &settings).await;
    let actions = "- actor: {name: scoring, workTimeout: 5m}\n- script: 'result(response.body)'";
    engine.actions("score", actions).await;
    engine.accepted(json!({"id": "a", "scenario": "score"})).await;
    engine
}

/// A worker hands the task out, and is lost before the end of the stage is written; another one takes the stage when the
/// program has given the task up.
async fn lose_the_stage(
    engine: &mut Installation,
    is_begun: impl AsyncFn() -> bool,
    is_given_up: impl AsyncFn() -> bool,
) {
    let document = engine.get("/asyncapi.json").await.unwrap().success().unwrap();
    let amqp = engine.env().amqp().await.unwrap();
    let exchange = document["channels"]["actors"]["address"].as_str().unwrap();
    let canceled = amqp.listen(exchange, "cancel:scoring").await.unwrap();
    let mut database = engine.database().await;
    let locked = database.transaction().await.unwrap();
    locked.execute("SELECT no FROM orders FOR UPDATE", &[]).await.unwrap();
    let worker = engine.add(Role::Worker, "worker-1").await;
    until("the handler has begun", PATIENCE, is_begun).await;
    worker.kill().await.unwrap();
    locked.rollback().await.unwrap();
    until("the handler has stopped", PATIENCE, is_given_up).await;
    let messages = canceled.wait(PATIENCE, |all| !all.is_empty()).await.unwrap();
    fits(&document, "actors", "cancel", &messages[0].body);
    engine.add(Role::Worker, "worker-2").await;
}

/// Counts up when it is dropped.
struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn rec_10_the_client_in_rust_drops_the_handler_of_a_task_that_is_given_up_and_begins_again() {
    let mut engine = engine("given_up_rust").await;
    let client = pagurus_client::actor::Actor {
        name: "scoring".into(),
        url: engine.env().amqp_url().into(),
        prefix: engine.env().prefix().into(),
        prefetch: 4,
    };
    let (begun, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (of_handler, guards) = (begun.clone(), dropped.clone());
    let handler = move |_: pagurus_client::actor::Task| {
        let (number, guard) = (of_handler.fetch_add(1, Ordering::SeqCst) + 1, Dropped(guards.clone()));
        async move {
            if number == 1 {
                std::future::pending::<()>().await;
            }
            drop(guard);
            Ok(json!(number))
        }
    };
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(async move {
        client.run(handler, async move { stopped.await.unwrap_or_default() }).await;
    });
    let is_begun = async || begun.load(Ordering::SeqCst) == 1;
    let is_given_up = async || dropped.load(Ordering::SeqCst) == 1;
    lose_the_stage(&mut engine, is_begun, is_given_up).await;
    let order = engine.reach("a", "success").await;
    assert_eq!((&order["result"], begun.load(Ordering::SeqCst)), (&json!(2), 2), "{order}");
    assert_eq!(verdicts(&engine).await, ["accepted"], "nothing was reported of what was given up");
    stop.send(()).unwrap();
    serving.await.unwrap();
}

#[tokio::test]
async fn rec_10_the_client_in_python_tells_the_handler_of_a_task_that_is_given_up_and_begins_again() {
    let engine = engine("given_up_python").await;
    let program = python::start(&engine, &["-c", WAITING]).await;
    starts_again(engine, program).await;
}

#[tokio::test]
async fn rec_10_the_client_in_typescript_aborts_the_handler_of_a_task_that_is_given_up_and_begins_again() {
    let engine = engine("given_up_typescript").await;
    let program = typescript::start(&engine, &typescript::text(WAITING_TYPESCRIPT)).await;
    starts_again(engine, program).await;
}

/// The task of the program is given up, and handed out again.
async fn starts_again(mut engine: Installation, program: Program) {
    let is_begun = async || program.has_said("begun 1");
    let is_given_up = async || program.has_said("given up");
    lose_the_stage(&mut engine, is_begun, is_given_up).await;
    assert_eq!(engine.reach("a", "success").await["result"], json!("of the second"));
    assert_eq!(verdicts(&engine).await, ["accepted"], "nothing was reported of what was given up");
    program.stop().await;
}
