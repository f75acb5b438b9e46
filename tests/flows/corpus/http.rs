//! Requests of the corpus, over a socket: framing, bodies, fields, meaning, searches, pages, routes.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::data::{Change, Piece, files_with, words};
use super::socket::{Reply, Sent, ask};
use super::watch::Watch;
use super::{routes, scenarios, scripts};
use crate::installation::{Installation, LOG};

/// Statuses of an order that was accepted, by what the file says of it.
const ENDED: &[&str] = &["success"];
const POSTPONED: &[&str] = &["postponed"];
const MISSED: &[&str] = &["fail"];

/// A file of requests.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// Fields of all items that leave them out.
    #[serde(default)]
    usual: Item,
    /// The document that the items change.
    #[serde(default)]
    base: Value,
    #[serde(default)]
    items: Vec<Item>,
    /// Each text in each field.
    #[serde(default)]
    cross: Option<Cross>,
}

/// A request with the answer that the contract demands.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Item {
    #[serde(deserialize_with = "words")]
    name: String,
    method: Option<String>,
    path: Option<Piece>,
    /// Header fields beside `host`; a value that is null takes a usual one away.
    headers: Map<String, Value>,
    /// Header fields that no map can hold.
    lines: Vec<Piece>,
    body: Option<Piece>,
    /// In place of all these: the bytes of the connection.
    raw: Option<Piece>,
    set: Map<String, Value>,
    without: Vec<String>,
    /// Milliseconds between two bytes.
    pause: Option<u64>,
    /// True to end the sending behind the bytes.
    ends: bool,
    /// See [`Expected`].
    #[serde(deserialize_with = "words")]
    expect: String,
    /// Words that the answer has.
    says: Option<String>,
    /// Status of an accepted order at the end; left out: `success`.
    then: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cross {
    fields: BTreeMap<String, Field>,
    texts: Vec<Text>,
}

/// A field of the document.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Field {
    /// JSON pointer of its value, or of the object in which it is the key.
    at: String,
    /// True where the text is a key.
    #[serde(default)]
    is_key: bool,
    /// Method and path, if they are other than usual.
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    path: Option<Piece>,
    /// Further values that the document needs.
    #[serde(default)]
    set: Map<String, Value>,
    /// Answer to a text that the field takes.
    takes: String,
    #[serde(default)]
    then: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    #[serde(deserialize_with = "words")]
    name: String,
    text: Piece,
    /// Fields that refuse it.
    #[serde(default)]
    refused: Vec<String>,
}

/// The answer that is demanded: statuses apart by `|` (`closed` for none), then the type of the problem and a JSON pointer
/// at or above the fault, where there are any.
#[derive(Debug)]
struct Expected<'a> {
    statuses: Vec<&'a str>,
    kind: Option<&'a str>,
    pointer: Option<&'a str>,
}

impl<'a> Expected<'a> {
    fn of(text: &'a str) -> Self {
        let mut words = text.split(' ');
        let statuses = words.next().unwrap_or_default().split('|').collect();
        Self { statuses, kind: words.next(), pointer: words.next() }
    }

    fn fault(&self, reply: &Reply) -> Option<String> {
        let status = match reply {
            Reply::Closed => "closed".to_owned(),
            Reply::Nothing => "nothing".to_owned(),
            Reply::Answer { status, .. } => status.to_string(),
        };
        let body = reply.json();
        let type_of = body["type"].as_str().unwrap_or_default();
        let kind = self.kind.is_none_or(|kind| type_of == format!("urn:pagurus:problem:{kind}"));
        let places = body["errors"].as_array().into_iter().flatten().map(|fault| &fault["pointer"]);
        let mut places = places.chain([&body["pointer"]]).filter_map(Value::as_str);
        let is_place = |pointer: &str, place: &str| {
            place == pointer || place.strip_prefix(pointer).is_some_and(|rest| rest.starts_with('/'))
        };
        let place = self.pointer.is_none_or(|pointer| places.any(|place| is_place(pointer, place)));
        (!self.statuses.contains(&&*status) || !kind || !place).then(|| reply.shown())
    }
}

impl Item {
    fn sent(&self, id: &str, usual: &Self, base: &Value) -> Sent {
        let pause = self.pause.map(Duration::from_millis);
        if let Some(raw) = &self.raw {
            return Sent { bytes: raw.bytes(id), pause, ends: self.ends, is_head: false };
        }
        let method = self.method.as_ref().or(usual.method.as_ref()).map_or("GET", String::as_str);
        let path = self.path.as_ref().or(usual.path.as_ref()).expect("a path").bytes(id);
        let changed = !self.set.is_empty() || !self.without.is_empty();
        let body = match &self.body {
            Some(body) => Some(body.bytes(id)),
            None if changed => Some(self.change().of(base, id).to_string().into_bytes()),
            None => usual.body.as_ref().map(|body| body.bytes(id)),
        };
        let mut head = format!("{method} ").into_bytes();
        head.extend(path);
        head.extend(b" HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n");
        let mut fields = usual.headers.clone();
        fields.extend(self.headers.clone());
        for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
            let value: Piece = serde_json::from_value(value.clone()).expect("the value of a field");
            head.extend([name.as_bytes(), b": ", &value.bytes(id), b"\r\n"].concat());
        }
        self.lines.iter().for_each(|line| head.extend([&line.bytes(id)[..], b"\r\n"].concat()));
        if let Some(body) = &body {
            head.extend(format!("content-length: {}\r\n", body.len()).bytes());
        }
        head.extend(b"\r\n");
        head.extend(body.unwrap_or_default());
        Sent { bytes: head, pause, ends: self.ends, is_head: method == "HEAD" }
    }

    fn change(&self) -> Change {
        Change { set: self.set.clone(), without: self.without.clone() }
    }
}

impl Cross {
    fn items(&self) -> Vec<Item> {
        let mut items = Vec::new();
        for (name, field) in &self.fields {
            for text in &self.texts {
                let written = serde_json::to_value(text.text.text("<id>")).expect("a text");
                let mut set = field.set.clone();
                if field.is_key {
                    let key = written.as_str().unwrap_or_default().to_owned();
                    set.insert(field.at.clone(), Value::Object(Map::from_iter([(key, json!("v"))])));
                } else {
                    set.insert(field.at.clone(), written);
                }
                let refused = text.refused.contains(name);
                items.push(Item {
                    name: format!("{name}: {}", text.name),
                    method: field.method.clone(),
                    path: field.path.clone(),
                    set,
                    expect: if refused { format!("422 invalid {}", field.at) } else { field.takes.clone() },
                    then: field.then.clone(),
                    ..Item::default()
                });
            }
        }
        for text in &self.texts {
            let unknown: Vec<&String> =
                text.refused.iter().filter(|name| !self.fields.contains_key(*name)).collect();
            assert!(unknown.is_empty(), "{}: there are no fields {unknown:?}", text.name);
        }
        items
    }
}

/// Sends the items of a file one after the other, each followed by the order of a neighbour; slow ones go beside the others.
/// Returns the number of items.
pub(super) async fn run(watch: &mut Watch<'_>, address: &str, folder: &str, words: &[(&str, &str)]) -> usize {
    let mut slow = tokio::task::JoinSet::new();
    let mut count = 0;
    for (category, file) in files_with::<File>(folder, words) {
        let crossed = file.cross.as_ref().map(Cross::items).unwrap_or_default();
        let items: Vec<&Item> = file.items.iter().chain(&crossed).collect();
        println!("{folder}, {category}: {} inputs", items.len());
        for (number, item) in items.into_iter().enumerate() {
            let id = format!("{category}-{number}");
            let (sent, item) = (item.sent(&id, &file.usual, &file.base), item.clone());
            let name = format!("{category}: {} ({id})", item.name);
            count += 1;
            if item.pause.is_some() {
                let address = address.to_owned();
                slow.spawn(async move { (name, item, ask(&address, &sent).await) });
                continue;
            }
            let reply = ask(address, &sent).await;
            judge(watch, &name, &item, &reply);
            watch.canary(&name).await;
        }
    }
    while let Some(ended) = slow.join_next().await {
        let (name, item, reply) = ended.expect("a request");
        judge(watch, &name, &item, &reply);
    }
    count
}

fn judge(watch: &mut Watch<'_>, name: &str, item: &Item, reply: &Reply) {
    let body = reply.json();
    if let Some(fault) = Expected::of(&item.expect).fault(reply) {
        watch.wrong.push(format!("{name}: {fault}, instead of {}", item.expect));
    }
    if let Some(words) = item.says.as_deref().filter(|words| !reply.shown().contains(*words)) {
        watch.wrong.push(format!("{name}: {}, without `{words}`", reply.shown()));
    }
    let statuses = match item.then.as_deref() {
        Some("postponed") => POSTPONED,
        Some("fail") => MISSED,
        _ => ENDED,
    };
    for id in accepted(&body) {
        watch.accepted(&id, statuses);
    }
}

/// Ids of the orders that an answer says are registered: of one, of a batch, or of one that was waited for.
fn accepted(answer: &Value) -> Vec<String> {
    match answer {
        Value::Array(list) => list.iter().flat_map(accepted).collect(),
        Value::Object(map) => {
            let is_taken = ["status", "registered"].iter().any(|key| answer[key] == "accepted");
            let own = answer["id"].as_str().filter(|_| is_taken).map(str::to_owned);
            own.into_iter().chain(map.values().flat_map(accepted)).collect()
        }
        _ => Vec::new(),
    }
}

/// Scenarios that the items name.
async fn apply_scenarios(engine: &Installation) {
    engine.actions("one", LOG).await;
    let typed = "params: {type: object, required: [n], properties: {n: {type: integer, minimum: 1}}, additionalProperties: false}\n";
    let rest = crate::installation::with_actions(LOG);
    engine.scenario("typed", &format!("{typed}{rest}")).await;
    engine.scenario("queued", &format!("sequential: \"${{params.msisdn}}\"\n{rest}")).await;
}

#[tokio::test]
async fn qlt_8_every_request_of_the_corpus_is_answered_as_the_contract_says_and_harms_nobody() {
    let engine = Installation::start("corpus_http").await;
    apply_scenarios(&engine).await;
    let address = engine.node(pagurus_harness::nodes::Role::Intake).address();
    let mut watch = Watch::start(&engine).await;
    let mut count = run(&mut watch, &address, "http", &[]).await;
    count += routes::run(&mut watch, &address).await;
    count += scenarios::run(&mut watch, &address).await;
    count += scripts::run(&mut watch).await;
    watch.finish("requests", count).await;
}
