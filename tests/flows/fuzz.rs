//! Strange inputs over every route, message property and field, with orders of others between them
//! (QLT-8): nothing answers 5xx, hangs, dies, grows beyond its bounds, or stands in anybody's way.
//!
//! `PAGURUS_FUZZ_INPUTS=NUMBER` and `PAGURUS_FUZZ_SEED=NUMBER` send others than usual (`./dev fuzz`); what
//! goes wrong names its number and seed.

use std::time::{Duration, Instant};

use pagurus_harness::client::amqp::Amqp;
use pagurus_harness::client::raw::RawAmqp;
use pagurus_harness::fuzz::{Input, Inputs, amqp, http};
use serde_json::json;

use crate::amqp::waiting;
use crate::contract::Contract;
use crate::installation::{Installation, asking, call, until};

/// Inputs of a usual run of the tests.
const USUAL: usize = 900;
/// Inputs between two looks at the neighbours.
const BETWEEN: usize = 60;
/// Longest answer to a strange request: a second (QLT-8), and what a machine adds that stands still meanwhile.
const LONGEST: Duration = Duration::from_secs(10);
/// Longest time that an order of a neighbour may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// Most memory of any process, in KiB: it holds some messages of 3 MiB at a time.
const MEMORY: u64 = 400 * 1024;

fn setting<T: std::str::FromStr>(name: &str, usual: T) -> T {
    std::env::var(name).ok().map_or(usual, |text| text.parse().ok().expect("a number"))
}

#[tokio::test]
async fn qlt_8_strange_inputs_cost_their_sender_an_answer_and_nobody_else_anything() {
    let (count, seed) = (setting("PAGURUS_FUZZ_INPUTS", USUAL), setting("PAGURUS_FUZZ_SEED", 1_u64));
    let engine = Installation::start("fuzz").await;
    engine.actions("canary", &call("/canary")).await;
    engine.scenario("waits", &asking("/ask", "20s")).await;
    engine.actions("fuzzed", "- log: \"${params.n}\"").await;
    let known = json!({"id": "fuzz-known", "scenario": "fuzzed", "params": {"n": 1}});
    engine.run(known, "success").await;
    let client = engine.env().amqp().await.unwrap();
    // A connection for each: one that the engine has closed over the last input answers for that alone.
    let http = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).timeout(PATIENCE * 2);
    let http = http.build().unwrap();
    let mut fuzz = Fuzz {
        http,
        engine: &engine,
        client,
        raw: raw(&engine).await,
        slowest: Duration::ZERO,
        refused: 0,
        contract: Contract::of(&engine).await,
    };
    for (number, input) in Inputs::of(seed).take(count).enumerate() {
        let outcome = match input {
            Input::Http(request) => fuzz.request(&request).await,
            Input::Amqp(message) => fuzz.message(&message).await,
        };
        if let Err(why) = outcome {
            panic!("input {number} of seed {seed}: {why}");
        }
        if number % BETWEEN == BETWEEN - 1 {
            fuzz.neighbours(number).await;
        }
    }
    for queue in ["orders.in", "callbacks.in"] {
        until("every message is taken", PATIENCE, async || waiting(&engine, &fuzz.client, queue).await == 0)
            .await;
    }
    fuzz.neighbours(count).await;
    println!(
        "{count} inputs of seed {seed}: slowest answer {:?}, {} refused by the broker",
        fuzz.slowest, fuzz.refused
    );
    for node in &engine.nodes {
        let log = std::fs::read_to_string(&node.spec.log).unwrap_or_default();
        assert!(!log.contains("panicked"), "{}: a panic in its log", node.spec.role);
        let peak = peak_of(node.identity.pid);
        println!("{}: {} MiB at most", node.spec.role, peak / 1024);
        assert!(peak < MEMORY, "{}: {} MiB", node.spec.role, peak / 1024);
    }
}

async fn raw(engine: &Installation) -> RawAmqp {
    RawAmqp::connect(engine.env().amqp_url()).await.unwrap()
}

/// The most memory that a process ever held, in KiB.
fn peak_of(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

struct Fuzz<'a> {
    engine: &'a Installation,
    http: reqwest::Client,
    client: Amqp,
    raw: RawAmqp,
    slowest: Duration,
    refused: usize,
    contract: Contract,
}

impl Fuzz<'_> {
    async fn request(&mut self, request: &http::Request) -> Result<(), String> {
        let method = reqwest::Method::from_bytes(request.method.as_bytes()).unwrap();
        let url = format!("{}{}", self.engine.base(), request.path);
        let mut built = self.http.request(method, url).body(request.body.clone());
        for (name, value) in &request.headers {
            built = built.header(*name, value.as_slice());
        }
        let begun = Instant::now();
        let sent = format!("{} {:.200} {:?}", request.method, request.path, shown(&request.body));
        let answer = built.send().await.map_err(|error| format!("{sent}: no answer: {error:?}"))?;
        let status = answer.status().as_u16();
        let media = answer
            .headers()
            .get("content-type")
            .map(|kind| String::from_utf8_lossy(kind.as_bytes()).into_owned());
        let body = answer.text().await.map_err(|error| format!("{sent}: half an answer: {error:?}"))?;
        self.slowest = self.slowest.max(begun.elapsed());
        if status >= 500 {
            return Err(format!("{sent}: {status} {body:.500}"));
        }
        let faults =
            self.contract.faults(&request.method, &request.path, status, &media.unwrap_or_default(), &body);
        if !faults.is_empty() {
            return Err(format!("{sent}: {status} {body:.300}: {}", faults.join("; ")));
        }
        if begun.elapsed() > LONGEST {
            return Err(format!("{sent}: {status} after {:?}", begun.elapsed()));
        }
        Ok(())
    }

    async fn message(&mut self, message: &amqp::Message) -> Result<(), String> {
        let exchange = format!("{}.{}", self.engine.env().prefix(), message.exchange);
        let sent = self.raw.publish(&exchange, &message.key, &message.properties, &message.body).await;
        if sent.is_err() {
            // The broker itself does not take it, and has ended the channel.
            self.refused += 1;
            self.raw = raw(self.engine).await;
        }
        Ok(())
    }

    /// Orders of others, over both transports, with a callback: all in time.
    async fn neighbours(&self, number: usize) {
        let begun = Instant::now();
        let (http, amqp, waits) = (format!("h-{number}"), format!("a-{number}"), format!("w-{number}"));
        self.engine.accepted(json!({"id": http, "scenario": "canary"})).await;
        self.engine.accepted(json!({"id": waits, "scenario": "waits"})).await;
        let order = json!({"id": amqp, "scenario": "canary"});
        self.client
            .publish_orders("order.create", &[order], &lapin::BasicProperties::default())
            .await
            .unwrap();
        self.answer(&waits).await;
        for id in [http, amqp, waits] {
            until("it is registered", PATIENCE, async || {
                self.engine.get(&format!("/v1/orders/{id}")).await.unwrap().status == 200
            })
            .await;
            self.engine.reach(&id, "success").await;
        }
        assert!(begun.elapsed() < PATIENCE, "after input {number}: {:?}", begun.elapsed());
        for node in &self.engine.nodes {
            let ready = reqwest::get(format!("{}/readyz", node.url())).await.unwrap();
            let (status, text) = (ready.status().as_u16(), ready.text().await.unwrap());
            assert_eq!(status, 200, "{} after input {number}: {text}", node.spec.role);
        }
    }

    /// Answers what an order asked, over AMQP.
    async fn answer(&self, id: &str) {
        let asked = async || {
            let calls = self.engine.world().calls("/ask");
            calls.into_iter().find(|call| call.body["order"] == id)
        };
        until("it asks", PATIENCE, async || asked().await.is_some()).await;
        let call = asked().await.unwrap();
        let request = call.headers["x-callback-url"].rsplit('/').next().unwrap().to_owned();
        let properties = lapin::BasicProperties::default().with_correlation_id(request.into());
        let exchange = format!("{}.callbacks", self.engine.env().prefix());
        self.client.publish(&exchange, "answer", br#"{"ok": true}"#, &properties).await.unwrap();
    }
}

/// The beginning of a body, for people.
fn shown(body: &[u8]) -> String {
    String::from_utf8_lossy(&body[..body.len().min(600)]).into_owned()
}
