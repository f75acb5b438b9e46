//! The demo system that the example scenarios call: it fails at times, calls back, and is slow on request.
//! Never forgets what it owes: a request over AMQP is acknowledged when its callback is out.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use pagurus_harness::world::amqp::{Answer, Question, Responder};
use pagurus_harness::world::program::{CallBack, Program, Step};
use pagurus_harness::world::{Call, World};
use serde_json::{Value, json};

use crate::capacity;

/// The exchange at which it takes requests.
pub const EXCHANGE: &str = "demo.network";
/// The time a callback takes unless the order says otherwise.
const CALLBACK_DELAY: Duration = Duration::from_millis(1500);
/// Number of orders among which one, chosen by its id, has its first call refused.
const UNLUCKY: u32 = 10;

/// Options of the demo system.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// The port on 127.0.0.1
    #[arg(long)]
    port: u16,
    /// The broker at which it takes requests
    #[arg(long)]
    amqp_url: String,
}

/// Serves until it is ended.
pub async fn serve(options: Options) -> Result<()> {
    let world = World::start_on(options.port, false).await?;
    let failures: Mutex<HashMap<String, u32>> = Mutex::default();
    world.program(Program::at("/do").decided_by(move |call| work(call, &failures)));
    world.program(Program::at("/ask").decided_by(ask));
    capacity::serve(&world);
    world.program(
        Program::at("/reservations")
            .decided_by(|call| Step::answer(201, json!({"id": format!("r-{}", checksum(&order_id(call)))}))),
    );
    let decide = |question: &Question| {
        Answer::CallBack(
            delay(&question.body).unwrap_or(CALLBACK_DELAY),
            json!({"code": 0, "text": "activated"}),
        )
    };
    let decide = Arc::new(decide);
    loop {
        // The broker may be away or come later; HTTP goes on meanwhile.
        match Responder::start(&options.amqp_url, EXCHANGE, "pagurus", decide.clone()).await {
            Ok(mut responder) => responder.ended().await,
            Err(error) => eprintln!("no requests over AMQP: {error:#}"),
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// `POST /do`: refuses the first `fail` calls of an order, or the first one of an unlucky order.
fn work(call: &Call, failures: &Mutex<HashMap<String, u32>>) -> Step {
    let id = order_id(call);
    let unlucky = u32::from(!id.is_empty() && checksum(&id).is_multiple_of(UNLUCKY));
    let wanted = number(&call.body, "fail").map_or(unlucky, |count| u32::try_from(count).unwrap_or(u32::MAX));
    let mut failures = failures.lock().unwrap_or_else(PoisonError::into_inner);
    let so_far = failures.get(&id).copied().unwrap_or(0);
    if so_far < wanted {
        failures.insert(id, so_far + 1);
        return Step::answer(503, json!({"error": "the demo system is having a bad moment"}));
    }
    // Kept only while it fails, so that the memory of a long run stays small.
    failures.remove(&id);
    let mut step = Step::answer(200, json!({"order": id, "done": true}));
    step.delay = delay(&call.body).unwrap_or_default();
    step
}

/// `POST /ask`: takes the request at once and calls back later.
fn ask(call: &Call) -> Step {
    let mut step = Step::answer(202, json!({"taken": true}));
    let callback = CallBack::with(json!({"code": 0, "text": "all is well"}));
    step.callback = Some(callback.after(delay(&call.body).unwrap_or(CALLBACK_DELAY)));
    step
}

fn order_id(call: &Call) -> String {
    call.body["order"].as_str().unwrap_or_default().to_owned()
}

/// The wish of an order, from the `params` that the example scenarios pass on.
fn number(body: &Value, name: &str) -> Option<u64> {
    body["params"][name].as_u64()
}

fn delay(body: &Value) -> Option<Duration> {
    number(body, "delayMs").map(Duration::from_millis)
}

fn checksum(text: &str) -> u32 {
    text.bytes().fold(0, |sum: u32, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)))
}
