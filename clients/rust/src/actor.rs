//! Actors: takes tasks, runs a function for each, and sends the result to the engine.
//!
//! A task may come twice, after a lost connection or a work time-out: [`Task::task`] stays the
//! same, so a handler can drop doubles by it. A handler whose task is given up by the engine is
//! broken off, and starts again when the task comes again. Never acknowledges a task that is not
//! given up before the broker has its decision.

mod desk;

use std::io;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use desk::Desk;
use futures_util::stream::pending;
use futures_util::{FutureExt, StreamExt};
use lapin::options::{
    BasicCancelOptions, BasicConsumeOptions, BasicPublishOptions, BasicQosOptions, ConfirmSelectOptions,
    QueueBindOptions, QueueDeclareOptions,
};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Channel, Confirmation, Connection, ConnectionProperties, Consumer, Error};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{MissedTickBehavior, interval, sleep};

/// Pauses between attempts to connect: the first, and the longest after doubling.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(15));

/// A task as the engine hands it out.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Identity of the task, the same over all of its hand-outs.
    pub task: String,
    /// The token of this hand-out; every answer carries it.
    pub pass: String,
    /// Name of the actor.
    pub actor: String,
    /// The order that waits for the decision.
    pub order: String,
    /// The transaction of that order.
    pub transaction_id: Option<String>,
    /// Number of the hand-out, from 1.
    pub hand_out: u32,
    /// Milliseconds without a decision or a heartbeat after which the hand-out is over.
    pub work_timeout_ms: u64,
    /// Body that the scenario gives.
    pub body: Value,
}

/// Why a handler decides `fail`.
#[derive(Clone, Debug)]
pub struct Fail {
    /// The class that retry policies and the scenario see.
    pub class: String,
    /// For people.
    pub message: String,
}

/// Source of tasks, and the number of them that are worked on at once.
#[derive(Clone, Debug)]
pub struct Actor {
    /// Name of the actor in the scenario.
    pub name: String,
    /// Address of the broker.
    pub url: String,
    /// Prefix of the engine's names at the broker, `pagurus` unless configured otherwise.
    pub prefix: String,
    /// Tasks at work at once.
    pub prefetch: u16,
}

impl Actor {
    /// Serves until `stop` is done; then takes nothing new, finishes what runs, and returns.
    ///
    /// A lost connection breaks off the handlers that run, and so does the engine where it gives a task up, because
    /// the stage that handed it out goes to another worker: their tasks come again. A handler that is broken off is
    /// dropped at its next `await`.
    pub async fn run<H, F>(&self, handler: H, stop: impl Future<Output = ()>)
    where
        H: Fn(Task) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Value, Fail>> + Send + 'static,
    {
        let handler = Arc::new(handler);
        let mut stop = std::pin::pin!(stop);
        let (mut pause, mut stopping) = (PAUSES.0, false);
        loop {
            match self.connect().await {
                Ok(session) => {
                    pause = PAUSES.0;
                    match session.serve(&handler, stop.as_mut(), &mut stopping).await {
                        Ok(()) => return,
                        Err(_) if stopping => return,
                        Err(error) => eprintln!("actor {}: {error}; connecting again", self.name),
                    }
                }
                // 404 before the first task of this name: the engine makes the queue with it.
                Err(error) => eprintln!("actor {}: {error}; trying again", self.name),
            }
            tokio::select! {
                () = stop.as_mut() => return,
                () = sleep(pause) => pause = (pause * 2).min(PAUSES.1),
            }
        }
    }

    async fn connect(&self) -> Result<Session, Error> {
        let connection = Connection::connect(&self.url, ConnectionProperties::default()).await?;
        let channel = connection.create_channel().await?;
        channel.confirm_select(ConfirmSelectOptions::default()).await?;
        channel.basic_qos(self.prefetch, BasicQosOptions::default()).await?;
        let queue = format!("{}.actors.{}", self.prefix, self.name);
        let look = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
        channel.queue_declare(queue.as_str().into(), look, FieldTable::default()).await?;
        let cancels = match self.listen(&connection).await {
            Ok(cancels) => Some(cancels),
            // A user of the broker who may not do that works as before: what is given up comes as a double.
            Err(error) => {
                eprintln!("actor {}: hears of no task that is given up: {error}", self.name);
                None
            }
        };
        let callbacks = format!("{}.callbacks", self.prefix);
        Ok(Session { connection, voice: Voice { channel, callbacks }, queue, cancels })
    }

    /// Listens for tasks that the engine gives up, on a channel and a queue of its own.
    async fn listen(&self, connection: &Connection) -> Result<Consumer, Error> {
        let channel = connection.create_channel().await?;
        let own =
            QueueDeclareOptions { exclusive: true, auto_delete: true, ..QueueDeclareOptions::default() };
        let queue = channel.queue_declare("".into(), own, FieldTable::default()).await?;
        let (queue, exchange) = (queue.name().clone(), format!("{}.actors", self.prefix));
        let key = format!("cancel:{}", self.name);
        let bind = QueueBindOptions::default();
        channel
            .queue_bind(
                queue.clone(),
                exchange.as_str().into(),
                key.as_str().into(),
                bind,
                FieldTable::default(),
            )
            .await?;
        let consume = BasicConsumeOptions { no_ack: true, ..BasicConsumeOptions::default() };
        channel.basic_consume(queue, "".into(), consume, FieldTable::default()).await
    }
}

/// A connection, until it is lost or no longer wanted.
struct Session {
    // The connection breaks off with its last handle.
    connection: Connection,
    voice: Voice,
    queue: String,
    cancels: Option<Consumer>,
}

impl Session {
    async fn serve<H, F>(
        self,
        handler: &Arc<H>,
        mut stop: Pin<&mut impl Future<Output = ()>>,
        stopping: &mut bool,
    ) -> Result<(), Error>
    where
        H: Fn(Task) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Value, Fail>> + Send + 'static,
    {
        let consume = BasicConsumeOptions::default();
        let channel = &self.voice.channel;
        let mut tasks = channel
            .basic_consume(self.queue.as_str().into(), "".into(), consume, FieldTable::default())
            .await?;
        let mut cancels = self.cancels.map_or_else(|| pending().boxed(), StreamExt::boxed);
        let mut desk = Desk::new(self.voice.clone(), Arc::clone(handler));
        while !(*stopping && desk.is_empty()) {
            tokio::select! {
                // What is given up is put aside before it comes again.
                biased;
                Some(cancel) = cancels.next() => desk.give_up(&cancel?.data).await?,
                () = stop.as_mut(), if !*stopping => {
                    *stopping = true;
                    channel.basic_cancel(tasks.tag(), BasicCancelOptions::default()).await?;
                }
                Some(done) = desk.ended() => desk.clear(done).await?,
                delivery = tasks.next(), if !*stopping => {
                    let delivery = delivery.ok_or_else(|| io::Error::other("the queue was removed"))?;
                    desk.take(delivery?).await?;
                }
            }
        }
        self.connection.close(200, "done".into()).await
    }
}

/// Works on one task; returns when the broker has the decision.
async fn work<H, F>(voice: Voice, task: Task, handler: Arc<H>) -> Result<(), Error>
where
    H: Fn(Task) -> F + Send + Sync,
    F: Future<Output = Result<Value, Fail>> + Send,
{
    let pass = task.pass.clone();
    let third = Duration::from_millis((task.work_timeout_ms / 3).max(1));
    let mut heartbeats = interval(third);
    heartbeats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    heartbeats.tick().await; // The first one comes at once.
    let mut handled = std::pin::pin!(AssertUnwindSafe(async { handler(task).await }).catch_unwind());
    let decision = loop {
        tokio::select! {
            outcome = handled.as_mut() => break decision(outcome),
            _ = heartbeats.tick() => voice.say("heartbeat", &pass, &json!({})).await?,
        }
    };
    voice.say("decision", &pass, &decision).await
}

/// The decision as the engine reads it.
fn decision(outcome: std::thread::Result<Result<Value, Fail>>) -> Value {
    let fail = |class: &str, message: &str| json!({"decision": "fail", "error": {"class": class, "message": message}});
    match outcome {
        Ok(Ok(result)) => json!({"decision": "success", "result": result}),
        Ok(Err(error)) => fail(&error.class, &error.message),
        Err(_) => fail("actor.panic", "the handler panicked"),
    }
}

/// Connection to the engine.
#[derive(Clone)]
struct Voice {
    channel: Channel,
    callbacks: String,
}

impl Voice {
    /// Says something under a pass; returns when the broker has it.
    async fn say(&self, kind: &str, pass: &str, body: &Value) -> Result<(), Error> {
        let properties = BasicProperties::default()
            .with_type(kind.into())
            .with_correlation_id(pass.into())
            .with_content_type("application/json".into())
            .with_delivery_mode(2);
        let mandatory = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
        let (exchange, key) = (self.callbacks.as_str(), format!("actor.{kind}"));
        let body = body.to_string();
        let sent =
            self.channel.basic_publish(exchange.into(), key.into(), mandatory, body.as_bytes(), properties);
        match sent.await?.await? {
            Confirmation::Ack(None) => Ok(()),
            _ => Err(io::Error::other("the broker did not take the answer").into()),
        }
    }
}
