//! The called systems of all plays: one HTTP server, one queue for all messages, and one for copies of
//! all tasks of actors. Answers only as the table of the play says whose mark a request carries.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use lapin::options::{BasicConsumeOptions, ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties, Consumer, ExchangeKind};
use pagurus_harness::client::amqp::Amqp;
use pagurus_harness::world::Call;
use pagurus_harness::world::program::{CallBack, Program, Step, Then};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::pace::duration;
use super::play::{Play, marked};
use crate::installation::Installation;

/// The longest time until an HTTP answer; no call runs into its time-out because of it.
const ANSWER_MAX: Duration = Duration::from_millis(200);

/// Systems that run beside an engine; it ends with this value.
pub struct Systems {
    _connection: Connection,
    _tasks: JoinSet<()>,
}

impl Systems {
    /// Starts the systems of these plays and of their children.
    pub async fn start(engine: &Installation, plays: Vec<Arc<Play>>) -> Self {
        for play in &plays {
            serve_http(engine, play);
        }
        let prefix = engine.env().prefix();
        let connection =
            Connection::connect(engine.env().amqp_url(), ConnectionProperties::default()).await.unwrap();
        let client = Arc::new(engine.env().amqp().await.unwrap());
        let channel = connection.create_channel().await.unwrap();
        let messages = declare(&channel, prefix, &plays).await;
        let handed_out = copies_of_tasks(&channel, prefix, &plays).await;
        let mut tasks = JoinSet::new();
        tasks.spawn(take_tasks(handed_out, prefix.to_owned(), plays.clone(), client.clone()));
        tasks.spawn(take_messages(messages, prefix.to_owned(), plays, client));
        Self { _connection: connection, _tasks: tasks }
    }
}

fn serve_http(engine: &Installation, play: &Arc<Play>) {
    let play = play.clone();
    let program = Program::at(format!("/{}/**", play.mark));
    engine.world().program(program.decided_by(move |call| answer(&play, call)));
}

fn answer(play: &Play, call: &Call) -> Step {
    let path = call.path.strip_prefix(&format!("/{}", play.mark)).unwrap();
    let query = if call.query.is_empty() { String::new() } else { format!("?{}", call.query) };
    let url = format!("http:/{path}{query}");
    let Some(line) = play.table.http(&call.method, &url, json!(call.headers), &call.body) else {
        return Step::answer(500, json!({"error": "nobody said what to answer"}));
    };
    let delay = line.get("after").map_or(Duration::ZERO, duration).min(ANSWER_MAX);
    let then = match line["fails"].as_str() {
        Some("ReadTimeout") => Then::Hang,
        Some(other) => panic!("no system here fails by {other}"),
        None => {
            let status = u16::try_from(line["status"].as_u64().unwrap_or(200)).unwrap();
            Then::Answer { status, headers: Vec::new(), body: line["body"].clone() }
        }
    };
    let callback = line["callback"].is_object().then(|| CallBack {
        delay: line["callback"].get("after").map_or(Duration::ZERO, |after| play.pace.short(duration(after))),
        body: line["callback"]["body"].clone(),
        times: 1,
        step_status: line["callback"]["stepStatus"].as_str().map(str::to_owned),
        to: callback_url(&call.body),
    });
    Step { delay, hold: None, then, callback }
}

/// Returns the address for callbacks that a body names, under whichever key.
fn callback_url(body: &Value) -> Option<String> {
    let texts = body.as_object()?.values().filter_map(Value::as_str);
    texts.into_iter().find(|text| text.contains("/v1/callbacks/")).map(str::to_owned)
}

/// Declares the exchanges of all plays, and one queue for what is published to them.
async fn declare(channel: &Channel, prefix: &str, plays: &[Arc<Play>]) -> Consumer {
    let queue = format!("{prefix}-messages");
    let durable = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
    channel.queue_declare(queue.as_str().into(), durable, FieldTable::default()).await.unwrap();
    for play in plays {
        for (name, taken) in &play.exchanges {
            let exchange = format!("{prefix}-{}", marked(name, &play.mark));
            let durable = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
            let (kind, none) = (ExchangeKind::Topic, FieldTable::default());
            channel.exchange_declare(exchange.as_str().into(), kind, durable, none).await.unwrap();
            if *taken {
                let (options, none) = (QueueBindOptions::default(), FieldTable::default());
                let (from, to) = (exchange.as_str().into(), queue.as_str().into());
                channel.queue_bind(to, from, "#".into(), options, none).await.unwrap();
            }
        }
    }
    consume(channel, &queue).await
}

/// Binds a queue for copies of the tasks of all actors. The queue of an actor itself comes into being with its first task.
async fn copies_of_tasks(channel: &Channel, prefix: &str, plays: &[Arc<Play>]) -> Consumer {
    let (queue, exchange) = (format!("{prefix}-tasks"), format!("{prefix}.actors"));
    let durable = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
    channel.queue_declare(queue.as_str().into(), durable, FieldTable::default()).await.unwrap();
    for play in plays {
        for actor in &play.actors {
            let key = marked(actor, &play.mark);
            let (options, none) = (QueueBindOptions::default(), FieldTable::default());
            let (to, from) = (queue.as_str().into(), exchange.as_str().into());
            channel.queue_bind(to, from, key.as_str().into(), options, none).await.unwrap();
        }
    }
    consume(channel, &queue).await
}

/// Takes what is published, and calls back.
async fn take_messages(mut consumer: Consumer, prefix: String, plays: Vec<Arc<Play>>, client: Arc<Amqp>) {
    let exchanges = |play: &Arc<Play>| {
        let named = |(name, _): &(String, bool)| {
            (format!("{prefix}-{}", marked(name, &play.mark)), (play.clone(), name.clone()))
        };
        play.exchanges.iter().map(named).collect::<Vec<_>>()
    };
    let known: HashMap<String, (Arc<Play>, String)> = plays.iter().flat_map(exchanges).collect();
    let mut callbacks = JoinSet::new();
    while let Some(Ok(delivery)) = consumer.next().await {
        let (play, exchange) = known[delivery.exchange.as_str()].clone();
        let body = serde_json::from_slice(&delivery.data).unwrap_or(Value::Null);
        let line = play.table.amqp(&exchange, delivery.routing_key.as_str(), &body);
        let Some(callback) = line.map(|line| line["callback"].clone()).filter(Value::is_object) else {
            continue;
        };
        let correlation = delivery.properties.correlation_id().clone().expect("a request has an id");
        let delay = callback.get("after").map_or(Duration::ZERO, |after| play.pace.short(duration(after)));
        let mut properties = BasicProperties::default().with_correlation_id(correlation);
        if let Some(status) = callback["stepStatus"].as_str() {
            let mut headers = FieldTable::default();
            headers.insert("step-status".into(), AMQPValue::LongString(status.into()));
            properties = properties.with_headers(headers);
        }
        let (client, to) = (client.clone(), format!("{prefix}.callbacks"));
        callbacks.spawn(async move {
            tokio::time::sleep(delay).await;
            let body = callback["body"].to_string();
            client.publish(&to, "answer", body.as_bytes(), &properties).await.unwrap();
        });
    }
}

/// Takes the tasks of all actors, and decides on each in its own time.
async fn take_tasks(mut consumer: Consumer, prefix: String, plays: Vec<Arc<Play>>, client: Arc<Amqp>) {
    let actors = |play: &Arc<Play>| {
        let named = |actor: &String| (marked(actor, &play.mark), (play.clone(), actor.clone()));
        play.actors.iter().map(named).collect::<Vec<_>>()
    };
    let known: HashMap<String, (Arc<Play>, String)> = plays.iter().flat_map(actors).collect();
    let callbacks = format!("{prefix}.callbacks");
    let mut decisions = JoinSet::new();
    while let Some(Ok(delivery)) = consumer.next().await {
        let (play, actor) = known[delivery.routing_key.as_str()].clone();
        let task: Value = serde_json::from_slice(&delivery.data).unwrap();
        let Some(line) = play.table.actor(&actor, &task["body"]).filter(|line| line["decision"] != "none")
        else {
            continue;
        };
        let delay = line.get("after").map_or(Duration::ZERO, |after| play.pace.short(duration(after)));
        let decision = line["decision"].as_str().unwrap_or("success");
        let body =
            json!({"decision": decision, "result": line["result"], "error": line["error"]}).to_string();
        let properties =
            BasicProperties::default().with_correlation_id(task["pass"].as_str().unwrap().into());
        let (client, callbacks) = (client.clone(), callbacks.clone());
        decisions.spawn(async move {
            tokio::time::sleep(delay).await;
            client.publish(&callbacks, "actor.decision", body.as_bytes(), &properties).await.unwrap();
        });
    }
}

async fn consume(channel: &Channel, queue: &str) -> Consumer {
    let options = BasicConsumeOptions { no_ack: true, ..BasicConsumeOptions::default() };
    channel.basic_consume(queue.into(), "".into(), options, FieldTable::default()).await.unwrap()
}
