//! Messages of the corpus, written byte for byte: bodies, properties, headers, routes. Each is answered by a receipt, or kept
//! with its reason, or acted on; and nothing is left in a queue.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use futures_util::StreamExt as _;
use futures_util::future::join_all;
use lapin::BasicProperties;
use lapin::options::BasicConsumeOptions;
use lapin::types::{AMQPValue, FieldTable};
use pagurus_harness::client::amqp::{Amqp, Inbox};
use pagurus_harness::client::raw::{RawAmqp, RawProperties, long, nested_lists, short};
use pagurus_harness::client::{lock, pause_since};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::sync::Mutex as AsyncMutex;

use super::data::{Change, Piece, files, words};
use super::watch::Watch;
use crate::amqp::waiting;
use crate::installation::{Installation, LOG, PATIENCE, until};

/// A file of messages.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// Fields of all items that leave them out.
    #[serde(default)]
    usual: Item,
    /// The body that the items change.
    base: Value,
    items: Vec<Item>,
}

/// A message with its outcome.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Item {
    #[serde(deserialize_with = "words")]
    name: String,
    /// `orders` or `callbacks`.
    to: Option<String>,
    key: Option<Piece>,
    body: Option<Piece>,
    set: Map<String, Value>,
    without: Vec<String>,
    /// Properties by their names in AMQP, as texts; the last three as numbers.
    properties: Map<String, Value>,
    timestamp: Option<u64>,
    priority: Option<u8>,
    delivery_mode: Option<u8>,
    /// Entries of the table of headers.
    headers: Vec<Header>,
    /// Number of copies that are sent.
    times: Option<usize>,
    /// True to send no `reply-to`.
    silent: bool,
    /// `accepted`, `duplicate`, `done` or another word of a receipt; `rejected TYPE`; these after `each`, for the orders of a
    /// message that holds many; `kept TYPE` for what is kept and gets no
    /// receipt; `registered` for an order that gets none; a verdict about a callback; `broker` where the broker takes none
    /// of it; `nothing`.
    expect: String,
    /// Words of the reason.
    says: Option<String>,
    then: Option<String>,
}

/// A header: a text, or a value of another type with its bytes as they are sent.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    name: Piece,
    #[serde(default)]
    text: Option<Piece>,
    /// Letter of the type and the bytes behind it.
    #[serde(default)]
    value: Option<Piece>,
    /// Lists in lists.
    #[serde(default)]
    lists: Option<usize>,
    /// Tables in tables.
    #[serde(default)]
    tables: Option<usize>,
    /// Names with their number at `<n>`.
    #[serde(default)]
    count: Option<usize>,
}

impl Header {
    fn entries(&self, id: &str) -> Vec<u8> {
        let value = match (&self.text, &self.value, self.lists, self.tables) {
            (Some(text), ..) => [&b"S"[..], &long(&text.bytes(id))].concat(),
            (_, Some(value), ..) => value.bytes(id),
            (.., Some(depth), _) => nested_lists(depth),
            (.., Some(depth)) => (0..depth)
                .fold(vec![b'V'], |inner, _| [&b"F"[..], &long(&[short(b"t"), inner].concat())].concat()),
            _ => vec![b'V'],
        };
        let name = self.name.bytes(id);
        let one = |n: usize| match self.count {
            None => [short(&name), value.clone()].concat(),
            Some(_) => {
                let name = String::from_utf8_lossy(&name).replace("<n>", &n.to_string());
                [short(name.as_bytes()), value.clone()].concat()
            }
        };
        (0..self.count.unwrap_or(1)).flat_map(one).collect()
    }
}

impl Item {
    fn change(&self) -> Change {
        Change { set: self.set.clone(), without: self.without.clone() }
    }

    fn properties(&self, id: &str, prefix: &str, to: &str, reply_to: &str) -> RawProperties {
        let text = |name: &str| -> Option<Vec<u8>> {
            let value = self.properties.get(name)?.to_string().replace("<prefix>", prefix);
            Some(serde_json::from_str::<Piece>(&value).expect("a text").bytes(id))
        };
        let mut headers: Vec<u8> = self.headers.iter().flat_map(|header| header.entries(id)).collect();
        // An answer is found by the status of its step where its name is a strange one.
        if to == "callbacks" && self.properties.contains_key("correlation-id") {
            headers.extend([short(b"step-status"), b"S".to_vec(), long(id.as_bytes())].concat());
        }
        RawProperties {
            content_type: text("content-type"),
            content_encoding: text("content-encoding"),
            headers: (!headers.is_empty()).then_some(headers),
            correlation_id: text("correlation-id").or_else(|| Some(id.as_bytes().to_vec())),
            reply_to: text("reply-to").or_else(|| (!self.silent).then(|| reply_to.as_bytes().to_vec())),
            message_id: text("message-id"),
            timestamp: self.timestamp,
            kind: text("type"),
            app_id: text("app-id"),
            delivery_mode: self.delivery_mode,
            priority: self.priority,
            expiration: text("expiration"),
            user_id: text("user-id"),
            cluster_id: text("cluster-id"),
        }
    }
}

/// Refused messages that nobody has looked for yet: bodies, with the reason of each.
type Refused = Arc<Mutex<Vec<(Vec<u8>, String)>>>;

/// Takes what is refused out of its queue, as it comes.
async fn collect_refused(engine: &Installation, client: &Amqp) -> Refused {
    let queue = format!("{}.refused", engine.env().prefix());
    let options = BasicConsumeOptions { no_ack: true, ..BasicConsumeOptions::default() };
    let arguments = FieldTable::default();
    let consumer = client.channel().basic_consume(queue.as_str().into(), "".into(), options, arguments);
    let mut consumer = consumer.await.expect("a consumer");
    let refused = Refused::default();
    let sink = refused.clone();
    tokio::spawn(async move {
        while let Some(Ok(delivery)) = consumer.next().await {
            let headers = delivery.properties.headers().clone().unwrap_or_default();
            let reason = match headers.inner().get("refused-reason") {
                Some(AMQPValue::LongString(reason)) => reason.to_string(),
                other => format!("{other:?}"),
            };
            lock(&sink).push((delivery.data, reason));
        }
    });
    refused
}

/// The clients of one file of messages.
struct Senders<'a> {
    engine: &'a Installation,
    client: &'a Amqp,
    raw: RawAmqp,
    receipts: Inbox,
    refused: Refused,
    seen: usize,
}

impl Senders<'_> {
    /// Sends, and returns the outcome in the words of [`Item::expect`] with the reason behind them.
    async fn send(&mut self, item: &Item, id: &str, usual: &Item, base: &Value) -> String {
        let to = item.to.as_ref().or(usual.to.as_ref()).map_or("orders", String::as_str);
        let exchange = format!("{}.{to}", self.engine.env().prefix());
        let key = item.key.as_ref().or(usual.key.as_ref()).map_or(Vec::new(), |key| key.bytes(id));
        let change = item.change();
        let body = match &item.body {
            Some(body) => body.bytes(id),
            None => change.of(base, id).to_string().into_bytes(),
        };
        let prefix = self.engine.env().prefix();
        let properties = item.properties(id, prefix, to, self.receipts.queue());
        let times = item.times.unwrap_or(1);
        if times > 1 {
            self.copies(&key, &change.of(base, id), times).await;
        } else if self.raw.publish(&exchange, &key, &properties, &body).await.is_err() {
            self.raw = RawAmqp::connect(self.engine.env().amqp_url()).await.expect("a connection");
            return "broker".to_owned();
        }
        match item.expect.split(' ').next().unwrap_or_default() {
            "broker" => "taken".to_owned(),
            "nothing" => "nothing".to_owned(),
            "kept" => self.kept(&body).await,
            "registered" => self.registered(&change.of(base, id)).await,
            "orphan" => self.callback(id).await,
            _ => self.receipt(&body, times).await,
        }
    }

    /// Sends many copies of an order at once.
    async fn copies(&self, key: &[u8], order: &Value, times: usize) {
        let key = std::str::from_utf8(key).expect("a key");
        let properties = BasicProperties::default().with_reply_to(self.receipts.queue().into());
        let copies = vec![order.clone(); times];
        self.client.publish_orders(key, &copies, &properties).await.expect("they are published");
    }

    async fn receipt(&mut self, body: &[u8], count: usize) -> String {
        let wanted = self.seen + count;
        let Ok(all) = self.receipts.wait(PATIENCE, |all| all.len() >= wanted).await else {
            return "no receipt".to_owned();
        };
        self.seen = wanted;
        let receipt = &all[wanted - 1].body;
        if let Some(orders) = receipt.as_array() {
            return self.each(body, orders).await;
        }
        let (words, error) = (words_of(receipt), &receipt["error"]);
        let [status, kind] = words[..] else { return words.concat() };
        // Whatever is answered by a problem is kept, too.
        let kept = self.kept(body).await;
        let rest = format!("{} {} {}", error["pointer"], error["detail"], error["errors"]);
        if kept.split(' ').nth(1) == Some(kind) {
            format!("{status} {kind} {rest}")
        } else {
            format!("{status} {kind} {rest}, but {kept}")
        }
    }

    /// The words of each receipt of a message that holds many orders; what is refused of them is kept alone.
    async fn each(&self, body: &[u8], receipts: &[Value]) -> String {
        let orders: Vec<&RawValue> = serde_json::from_slice(body).unwrap_or_default();
        let mut outcomes = Vec::new();
        for (order, receipt) in orders.into_iter().zip(receipts) {
            let words = words_of(receipt);
            let mut outcome = words.join(" ");
            if let [_, kind] = words[..] {
                let kept = self.kept(order.get().as_bytes()).await;
                if kept.split(' ').nth(1) != Some(kind) {
                    outcome = format!("{outcome}, but {kept}");
                }
            }
            outcomes.push(outcome);
        }
        format!("each {}", outcomes.join(", "))
    }

    /// Takes the reason of a message of this body out of those that were kept so far.
    fn take_kept(&self, body: &[u8]) -> Option<String> {
        let mut refused = lock(&self.refused);
        let index = refused.iter().position(|(kept, _)| kept == body)?;
        Some(refused.remove(index).1)
    }

    /// The reason for which a message of this body is kept. Bodies are as they came, or this one is not found.
    async fn kept(&self, body: &[u8]) -> String {
        let begun = Instant::now();
        loop {
            if let Some(reason) = self.take_kept(body) {
                return format!("kept {}", reason.replacen(": ", " ", 1));
            }
            if begun.elapsed() > PATIENCE {
                return "not kept".to_owned();
            }
            pause_since(begun).await;
        }
    }

    async fn registered(&self, order: &Value) -> String {
        let id = order["id"].as_str().unwrap_or_default();
        let begun = Instant::now();
        while self.engine.get(&format!("/v1/orders/{id}")).await.is_ok_and(|answer| answer.status != 200) {
            if begun.elapsed() > PATIENCE {
                return "not registered".to_owned();
            }
            pause_since(begun).await;
        }
        "registered".to_owned()
    }

    /// The verdict about the callback that was sent last: it is known by the name of its request, or by the status of its step.
    async fn callback(&self, id: &str) -> String {
        let begun = Instant::now();
        loop {
            let page = self.engine.get("/v1/callbacks?limit=1").await.expect("an answer").body;
            let last = &page["items"][0];
            if last["named"] == id || last["stepStatus"] == id {
                return last["verdict"].as_str().unwrap_or_default().to_owned();
            }
            if begun.elapsed() > PATIENCE {
                return format!("no callback; the last is {last}");
            }
            pause_since(begun).await;
        }
    }
}

/// Sends the messages of a file one after the other, each followed by the order of a neighbour.
async fn send_all(senders: &mut Senders<'_>, watch: &AsyncMutex<Watch<'_>>, category: &str, file: &File) {
    for (number, item) in file.items.iter().enumerate() {
        let id = format!("{category}-{number}");
        let name = format!("{category}: {} ({id})", item.name);
        let outcome = senders.send(item, &id, &file.usual, &file.base).await;
        let mut watch = watch.lock().await;
        let is = outcome == item.expect || outcome.starts_with(&format!("{} ", item.expect));
        if !is || item.says.as_ref().is_some_and(|words| !outcome.contains(words.as_str())) {
            let says = item.says.as_deref().unwrap_or_default();
            watch.wrong.push(format!("{name}: {outcome:.400}, instead of {} {says}", item.expect));
        }
        let is_accepted = item.expect.contains("accepted") || item.expect == "registered";
        if is_accepted || item.times == Some(1000) {
            let order = item.change().of(&file.base, &id);
            let statuses: &[&str] = match item.then.as_deref() {
                Some("postponed") => &["postponed"],
                Some("fail") => &["fail"],
                _ => &["success"],
            };
            watch.accepted(order["id"].as_str().unwrap_or_default(), statuses);
        }
        watch.canary(&name).await;
    }
}

/// Returns the status of a receipt, and the type of its problem if it has one.
fn words_of(receipt: &Value) -> Vec<&str> {
    let status = receipt["status"].as_str().unwrap_or("no status");
    let problem = receipt["error"]["type"].as_str().and_then(|kind| kind.rsplit(':').next());
    std::iter::once(status).chain(problem).collect()
}

#[tokio::test]
async fn qlt_8_every_message_of_the_corpus_is_answered_or_kept_as_the_contract_says_and_harms_nobody() {
    let engine = Installation::start("corpus_amqp").await;
    engine.actions("one", LOG).await;
    let client = engine.env().amqp().await.unwrap();
    let refused = collect_refused(&engine, &client).await;
    let watch = AsyncMutex::new(Watch::start(&engine).await);
    let files = files::<File>("amqp");
    // Files go beside one another; what one of them waits for is its own.
    let sending = files.iter().map(async |(category, file)| {
        println!("amqp, {category}: {} inputs", file.items.len());
        let raw = RawAmqp::connect(engine.env().amqp_url()).await.unwrap();
        let receipts = client.listen_directly().await.unwrap();
        let refused = refused.clone();
        let mut senders = Senders { engine: &engine, client: &client, raw, receipts, refused, seen: 0 };
        send_all(&mut senders, &watch, category, file).await;
    });
    join_all(sending).await;
    for queue in ["orders.in", "callbacks.in", "refused"] {
        until("nothing is left in a queue", PATIENCE, async || waiting(&engine, &client, queue).await == 0)
            .await;
    }
    let left: Vec<String> = lock(&refused).iter().map(|(_, reason)| reason.clone()).collect();
    assert!(left.is_empty(), "refused, and nobody was to be: {left:?}");
    let count = files.iter().map(|(_, file)| file.items.len()).sum();
    watch.into_inner().finish("messages", count).await;
}
