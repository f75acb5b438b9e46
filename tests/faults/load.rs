//! A mixed load of orders, and what must be true of it in the end, whatever happened meanwhile.
//! Never forgives a lost order, a second notification or an overlap in a queue.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use lapin::BasicProperties;
use pagurus_harness::client::amqp::{Amqp, Inbox, Message};
use pagurus_harness::world::{Call, World};
use serde_json::{Value, json};

use crate::installation::Installation;

/// Orders of each kind: parallel ones, ones that wait for a callback, sequential ones.
const EACH: usize = 50;
const QUEUES: usize = 10;

/// Orders as they are sent.
pub struct Load {
    pub bodies: Vec<Value>,
}

impl Load {
    /// 150 orders; ids begin with `tag`.
    pub fn new(tag: &str) -> Self {
        Self::some(tag, EACH)
    }

    /// `each` orders of each kind.
    pub fn some(tag: &str, each: usize) -> Self {
        let mut bodies = Vec::new();
        for number in 0..each {
            let queue = format!("{tag}-q{}", number % QUEUES);
            bodies.push(body(&format!("{tag}-call-{number}"), "call", json!({})));
            bodies.push(body(&format!("{tag}-ask-{number}"), "ask", json!({})));
            bodies.push(body(
                &format!("{tag}-seq-{number:02}"),
                "call",
                json!({"mode": "sequential", "queue": queue, "params": {"queue": queue}}),
            ));
        }
        Self { bodies }
    }

    /// The same, with as many that sleep for a moment.
    pub fn with_naps(tag: &str, each: usize) -> Self {
        let mut load = Self::some(tag, each);
        load.bodies.extend((0..each).map(|number| body(&format!("{tag}-nap-{number}"), "nap", json!({}))));
        load
    }

    pub fn ids(&self) -> Vec<String> {
        self.bodies.iter().map(|body| body["id"].as_str().unwrap().to_owned()).collect()
    }

    /// Sends all of them over AMQP; what is confirmed to us must not be lost.
    pub async fn publish(&self, amqp: &Amqp) {
        amqp.publish_orders("order.create", &self.bodies, &BasicProperties::default()).await.unwrap();
    }

    /// Sends all of them over HTTP.
    pub async fn post(&self, engine: &Installation) {
        for chunk in self.bodies.chunks(50) {
            let answer = engine.api.post("/v1/orders/batch", &json!(chunk)).await.unwrap();
            answer.success().unwrap();
        }
    }

    /// Sends one after the other over HTTP, each until it is taken, however often that is.
    pub async fn insist(&self, engine: &Installation, within: Duration) {
        for body in &self.bodies {
            let deadline = Instant::now() + within;
            loop {
                let asked =
                    tokio::time::timeout(Duration::from_secs(5), engine.api.post("/v1/orders", body)).await;
                match asked {
                    Ok(Ok(answer)) if matches!(answer.status, 200 | 201) => break,
                    Ok(Ok(answer)) => assert_eq!(answer.status, 503, "{body}: {answer:?}"),
                    Ok(Err(_)) | Err(_) => {}
                }
                assert!(Instant::now() < deadline, "{body} is not taken");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }

    /// Waits for all ends, and looks at each.
    pub async fn check(&self, engine: &Installation, inbox: &Inbox, within: Duration) {
        let wanted: BTreeSet<String> = self.ids().into_iter().collect();
        let messages = inbox
            .wait(within, |messages| {
                notified(messages).keys().cloned().collect::<BTreeSet<_>>().is_superset(&wanted)
            })
            .await;
        let messages = match messages {
            Ok(messages) => messages,
            Err(_) => panic!("{}", self.missing(engine, &inbox.messages()).await),
        };
        for (id, message_ids) in notified(&messages) {
            assert_eq!(message_ids.len(), 1, "{id} was notified as {message_ids:?}");
        }
        let mut created = BTreeMap::new();
        for id in &wanted {
            let order = engine.api.order(id).await.unwrap();
            assert_eq!(order["status"], "success", "{order}");
            created.insert(id.clone(), order["createdAt"].as_str().unwrap().parse::<Timestamp>().unwrap());
        }
        check_queues(engine.env.world(), &created);
    }

    /// The same of this and other loads, and the invariants of everything when all of them have ended.
    pub async fn check_all(loads: &[Self], engine: &Installation, inbox: &Inbox, within: Duration) {
        for load in loads {
            load.check(engine, inbox, within).await;
        }
        engine.holds().await;
    }

    async fn missing(&self, engine: &Installation, messages: &[Message]) -> String {
        let notified = notified(messages);
        let mut lines = Vec::new();
        for id in self.ids().iter().filter(|id| !notified.contains_key(*id)) {
            lines.push(match engine.api.get(&format!("/v1/orders/{id}")).await {
                Ok(answer) => format!("{id}: {}", answer.body),
                Err(error) => format!("{id}: {error:#}"),
            });
        }
        let count = lines.len();
        lines.truncate(5);
        format!("{count} orders without a notification, such as {lines:#?}")
    }
}

pub fn body(id: &str, scenario: &str, more: Value) -> Value {
    let mut body = json!({
        "id": id, "scenario": scenario, "params": {"queue": ""}, "notify": {"url": "amqp://?key=done"},
    });
    let fields = more.as_object().unwrap().clone();
    body.as_object_mut().unwrap().extend(fields);
    body
}

/// The ids of the messages that came for each order.
pub fn notified(messages: &[Message]) -> BTreeMap<String, BTreeSet<String>> {
    let mut notified: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for message in messages {
        let id = message.body["id"].as_str().expect("a notification names its order").to_owned();
        notified.entry(id).or_default().insert(message.message_id.clone().expect("it has an id"));
    }
    notified
}

/// Checks that the orders of each queue ran in the order of their registration, and never two at once.
fn check_queues(world: &World, created: &BTreeMap<String, Timestamp>) {
    let order = |call: &Call| call.body["order"].as_str().unwrap_or_default().to_owned();
    let mut by_queue: BTreeMap<String, Vec<Call>> = BTreeMap::new();
    for call in world.calls("/do") {
        let queue = call.body["queue"].as_str().unwrap_or_default().to_owned();
        if !queue.is_empty() && created.contains_key(&order(&call)) {
            by_queue.entry(queue).or_default().push(call);
        }
    }
    for (queue, calls) in &by_queue {
        for pair in calls.windows(2) {
            let (one, next) = (order(&pair[0]), order(&pair[1]));
            // A call that was given up has no end; only a repeat of the same order may follow it.
            let over = pair[0].ended.is_some_and(|ended| ended <= pair[1].started);
            assert!(over || one == next, "{queue}: {one} and {next} overlap");
            assert!(created[&one] <= created[&next], "{queue}: {one} ran before {next}: {created:#?}");
        }
    }
}
