//! Memory of the services under the heaviest load that is legal: the longest bodies, answers, and callbacks.
//! Never a measure of speed: each load is sent as fast as it is taken, on fresh services and an empty database.

use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use futures_util::future::{join_all, try_join_all};
use lapin::options::ConfirmSelectOptions;
use lapin::{BasicProperties, Connection, ConnectionProperties};
use pagurus_harness::client::{Api, http};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

use super::http::{Caller, read};
use super::load::publish_confirmed;
use super::works::{ENGINE, Memory, Works};

/// The bounds of the defaults: of an answer, of an order, of a batch.
const MIB: usize = 1024 * 1024;
const BATCH_BYTES: usize = 16 * MIB;
/// Length of a body without its padding.
const FRAME_BYTES: usize = 300;
/// Time for which a stage goes on after it has its answers.
const SLOW: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(300);
/// Versions that are applied, and the length of each.
const VERSIONS: usize = 60;
const VERSION_BYTES: usize = 29_000;

/// Memory of the services under one load.
#[derive(Clone, Debug)]
pub struct Peak {
    /// The load.
    pub load: String,
    /// Resident megabytes at most, while it lasted.
    pub most: Memory,
    /// Resident megabytes when it was over.
    pub after: Memory,
}

impl Works<'_> {
    /// All loads, one after the other.
    pub async fn memory(&mut self) -> Result<Vec<Peak>> {
        let stub = stub().await?;
        let mut peaks = vec![self.peak("idle", &stub, Load::Idle).await?];
        for stages in [60, 200] {
            let what = format!("{stages} stages, each with two answers of 1 MiB");
            peaks.push(self.peak(&what, &stub, Load::Answers(stages)).await?);
        }
        for (what, load) in [
            ("200 orders of 1 MiB over AMQP", Load::Amqp(200)),
            ("16 batches of 16 MiB over HTTP, 8 at a time", Load::Batches(16)),
            ("200 callbacks of 1 MiB", Load::Callbacks(200)),
            ("60 versions of a scenario of 29 kB", Load::Versions),
        ] {
            peaks.push(self.peak(what, &stub, load).await?);
        }
        Ok(peaks)
    }

    async fn peak(&mut self, what: &str, stub: &str, load: Load) -> Result<Peak> {
        eprintln!("    {what}");
        self.installation.renew().await?;
        let api = Api::new(http()?, format!("http://{}", self.installation.intake()));
        for (name, source) in [
            ("bench-memory", include_str!("memory.yaml")),
            ("bench-memory-callback", include_str!("memory-callback.yaml")),
        ] {
            api.put_scenario(name, &source.replace("STUB", stub)).await?;
        }
        let meter = self.installation.meter()?;
        meter.forget_peaks()?;
        self.carry(load, &api).await.with_context(|| format!("under {what}"))?;
        Ok(Peak { load: what.to_owned(), most: meter.peak_memory(), after: meter.memory() })
    }

    async fn carry(&self, load: Load, api: &Api) -> Result<()> {
        match load {
            Load::Idle => tokio::time::sleep(SLOW).await,
            Load::Answers(orders) => {
                let bodies = (0..orders).map(|number| order("bench-memory", "a", number, 0)).collect();
                self.publish(bodies).await?;
                self.ended(orders).await?;
            }
            Load::Callbacks(orders) => {
                let bodies =
                    (0..orders).map(|number| order("bench-memory-callback", "c", number, 0)).collect();
                self.publish(bodies).await?;
                self.ended(orders).await?;
            }
            Load::Amqp(orders) => {
                let longest = |number| order("bench-one-action", "m", number, MIB - FRAME_BYTES);
                for first in (0..orders).step_by(20) {
                    self.publish((first..orders.min(first + 20)).map(longest).collect()).await?;
                }
                self.ended(orders).await?;
            }
            Load::Batches(batches) => self.batches(batches).await?,
            Load::Versions => {
                for number in 0..VERSIONS {
                    api.put_scenario("bench-memory", &version(number)).await?;
                    // Every service that runs orders reads the version.
                    self.publish(vec![order("bench-memory", "v", number, 0)]).await?;
                }
                self.ended(VERSIONS).await?;
            }
        }
        Ok(())
    }

    async fn publish(&self, bodies: Vec<String>) -> Result<()> {
        let connection =
            Connection::connect(&self.installation.amqp_url(), ConnectionProperties::default()).await?;
        let channel = connection.create_channel().await?;
        channel.confirm_select(ConfirmSelectOptions::default()).await?;
        let none = BasicProperties::default();
        let sent = bodies.iter().map(|body| {
            publish_confirmed(&channel, ENGINE.exchange, ENGINE.key, body.as_bytes(), none.clone())
        });
        join_all(sent).await.into_iter().collect::<Result<Vec<()>>>()?;
        connection.close(200, "done".into()).await?;
        Ok(())
    }

    /// Half of the batches have few long orders, half have as many short ones as fit.
    async fn batches(&self, batches: usize) -> Result<()> {
        let caller = Caller::new(&self.installation.intake(), 8);
        let long = (BATCH_BYTES / MIB, MIB - FRAME_BYTES);
        let short = (9_000, BATCH_BYTES / 9_000 - FRAME_BYTES);
        let sent = (0..batches).map(|batch| {
            let (orders, padding) = if batch % 2 == 0 { long } else { short };
            let tag = format!("b{batch}");
            let bodies: Vec<String> =
                (0..orders).map(|number| order("bench-one-action", &tag, number, padding)).collect();
            let caller = &caller;
            async move {
                let body = bodies.join("\n");
                let answer = caller.post("/v1/orders/batch", "application/x-ndjson", body.as_bytes()).await?;
                match answer.status() {
                    // An intake that is full says so: that is a bound, too.
                    Some(200 | 429 | 503) => Ok(()),
                    status => {
                        bail!("a batch was answered {status:?}: {}", String::from_utf8_lossy(&answer.body))
                    }
                }
            }
        });
        try_join_all(sent).await?;
        let database = self.installation.database().await?;
        let taken: i64 = database.query_one("SELECT count(*) FROM orders", &[]).await?.get(0);
        self.ended(usize::try_from(taken)?).await
    }

    /// Waits until this number of orders has ended, each as it should.
    async fn ended(&self, orders: usize) -> Result<()> {
        let database = self.installation.database().await?;
        let begun = Instant::now();
        let count = "SELECT count(*) FILTER (WHERE status = 'success'), count(*) FILTER (WHERE status = 'fail') FROM orders";
        loop {
            let row = database.query_one(count, &[]).await?;
            let (good, failed): (i64, i64) = (row.get(0), row.get(1));
            if failed > 0 {
                let why = "SELECT concat_ws(': ', error_class, error_message) FROM orders WHERE status = 'fail' LIMIT 1";
                let why: String = database.query_one(why, &[]).await?.get(0);
                bail!("{failed} orders failed, one of them so: {why}");
            }
            if usize::try_from(good)? >= orders {
                return Ok(());
            }
            if begun.elapsed() > PATIENCE {
                bail!("after {PATIENCE:?} only {good} of {orders} orders have ended");
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Load {
    Idle,
    Answers(usize),
    Amqp(usize),
    Batches(usize),
    Callbacks(usize),
    Versions,
}

fn order(scenario: &str, tag: &str, number: usize, padding: usize) -> String {
    let note = ".".repeat(padding);
    format!(
        r#"{{"id":"memory-{tag}-{number}","scenario":"{scenario}","params":{{"account":"1","note":"{note}"}}}}"#
    )
}

/// A scenario that differs from the others, and is as long as they are.
fn version(number: usize) -> String {
    let mut text = format!(
        "scenario: bench-memory\nkind: workflow\ninitialState: s0\ntargetStates: [done]\nstates:\n  s0:\n    actions:\n      - log: version {number}\n"
    );
    while text.len() < VERSION_BYTES {
        text.push_str("      - log: \"${params.account} and ${order.id}, once more\"\n");
    }
    text.push_str("    on: {success: done, fail: failed}\n  done: {kind: terminal}\n  failed: {kind: terminal, outcome: fail}\n");
    text
}

/// A list of numbers: the tree of nothing else is so much larger than its text.
static NUMBERS: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut text = b"[1".to_vec();
    while text.len() < MIB - 2 {
        text.extend_from_slice(b",1");
    }
    text.push(b']');
    text
});

/// Starts the called system; where it is.
async fn stub() -> Result<String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = format!("http://{}", listener.local_addr()?);
    tokio::spawn(async move {
        loop {
            let Ok((stream, _)) = listener.accept().await else { continue };
            // An error here is a peer that went away, and that is how every connection ends.
            tokio::spawn(async move { answer(stream).await.ok() });
        }
    });
    Ok(address)
}

async fn answer(mut stream: TcpStream) -> Result<()> {
    let mut buffer = Vec::new();
    while let Some(request) = read(&mut stream, &mut buffer).await? {
        let path = request.head.split(' ').nth(1).unwrap_or_default();
        let body: &[u8] = match path {
            "/answer" => &NUMBERS,
            "/slow" => {
                tokio::time::sleep(SLOW).await;
                b"{}"
            }
            _ => b"{}",
        };
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(body).await?;
        if let Some(url) = request.header("x-callback-url").map(str::to_owned) {
            tokio::spawn(async move { call_back(&url).await });
        }
    }
    Ok(())
}

/// Tries until the callback is taken: it may come before the intake has room.
async fn call_back(url: &str) {
    let Some((address, path)) = url.strip_prefix("http://").and_then(|url| url.split_once('/')) else {
        return;
    };
    let caller = Arc::new(Caller::new(address, 1));
    loop {
        let answer = caller.post(&format!("/{path}"), "application/json", &NUMBERS).await;
        if answer.is_ok_and(|answer| answer.status().is_some_and(|status| status < 500 && status != 429)) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
