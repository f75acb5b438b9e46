//! What must hold whatever is sent: an order of a neighbour after each input ends in time, every process lives on, nothing
//! panics, memory stays within its bound, and no order is lost or made up.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pagurus_harness::client::pause_since;
use pagurus_harness::nodes::{Node, Role};
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

use super::socket::{Sent, ask};
use crate::installation::{Installation, LOG, PATIENCE};

/// Most memory that inputs add to a process, in KiB: what stands in the list of inputs, and what a debug build adds.
const MEMORY: u64 = 128 * 1024;
/// Orders of neighbours under way: the inputs wait where there would be more.
const AT_ONCE: usize = 16;

/// Scenario of the neighbours' orders.
pub const CANARY: &str = "canary";

/// An installation under inputs.
pub struct Watch<'a> {
    pub engine: &'a Installation,
    peaks: Vec<(Node, u64)>,
    turns: Arc<Semaphore>,
    canaries: JoinSet<Result<Duration, String>>,
    /// Header lines that prove who asks, each with its end.
    proof: String,
    /// Ids of orders that were accepted, with the statuses in which they may stand at the end.
    accepted: Vec<(String, &'static [&'static str])>,
    sent: usize,
    /// Everything that was not as expected.
    pub wrong: Vec<String>,
}

impl<'a> Watch<'a> {
    /// Watches an engine that asks nobody who he is.
    pub async fn start(engine: &'a Installation) -> Self {
        engine.actions(CANARY, LOG).await;
        engine.run(json!({"id": "canary-first", "scenario": CANARY}), "success").await;
        Self::over(engine, String::new())
    }

    /// Watches an engine that knows the neighbours by these header lines, and has run the first of their orders.
    pub fn over(engine: &'a Installation, proof: String) -> Self {
        let peaks = engine.nodes.iter().map(|node| (node.clone(), peak_of(node))).collect();
        let turns = Arc::new(Semaphore::new(AT_ONCE));
        let accepted = vec![("canary-first".to_owned(), &["success"][..])];
        let canaries = JoinSet::new();
        Self { engine, peaks, turns, canaries, proof, accepted, sent: 0, wrong: Vec::new() }
    }

    /// Sends an order of a neighbour right behind an input; its answer comes when it has ended, while the next inputs are sent.
    /// It must come before its patience is over; at the end of the test all answers are looked at.
    pub async fn canary(&mut self, behind: &str) {
        let turn = self.turns.clone().acquire_owned().await.unwrap();
        let id = format!("canary-{}", self.sent);
        self.sent += 1;
        let address = self.engine.node(Role::Intake).address();
        self.canaries.spawn(follow(address, self.proof.clone(), id, behind.to_owned(), turn));
    }

    /// Notes an order that was accepted, and the statuses in which it may be at the end.
    pub fn accepted(&mut self, id: &str, statuses: &'static [&'static str]) {
        self.accepted.push((id.to_owned(), statuses));
    }

    /// Looks at all of it, and stops the test where something was not as expected.
    pub async fn finish(mut self, what: &str, items: usize) {
        let mut slowest = Duration::ZERO;
        while let Some(canary) = self.canaries.join_next().await {
            match canary.unwrap() {
                Ok(took) => slowest = slowest.max(took),
                Err(why) => self.wrong.push(why),
            }
        }
        self.orders().await;
        let mut grown = 0;
        for (node, before) in &self.peaks {
            let role = node.spec.role;
            if !node.identity.alive() {
                self.wrong.push(format!("{role}: its process has ended"));
                continue;
            }
            let log = std::fs::read_to_string(&node.spec.log).unwrap_or_default();
            if log.contains("panicked") {
                self.wrong.push(format!("{role}: a panic in its log"));
            }
            let more = peak_of(node).saturating_sub(*before);
            grown = grown.max(more);
            if more > MEMORY {
                self.wrong.push(format!("{role}: {} MiB more than before", more / 1024));
            }
        }
        println!(
            "{what}: {items} inputs, {} orders of neighbours, the slowest {slowest:?}; {} MiB more at most",
            self.sent,
            grown / 1024
        );
        assert!(self.wrong.is_empty(), "{} are wrong:\n{}", self.wrong.len(), self.wrong.join("\n"));
    }

    /// Each order that was accepted is found by its id and stands where it should, and there is no other.
    async fn orders(&mut self) {
        let address = self.engine.node(Role::Intake).address();
        for (id, statuses) in &self.accepted {
            let begun = Instant::now();
            let get = Sent { bytes: get_order(id, &self.proof), ..Sent::default() };
            loop {
                let reply = ask(&address, &get).await;
                let order = reply.json();
                let status = order["status"].as_str().unwrap_or_default();
                if order["id"] == **id && statuses.contains(&status) {
                    break;
                }
                if begun.elapsed() > PATIENCE {
                    self.wrong.push(format!("order {id:?}: {}", reply.shown()));
                    break;
                }
                pause_since(begun).await;
            }
        }
        let session = self.engine.database().await;
        let rows = session.query("SELECT id FROM orders", &[]).await.unwrap();
        let known: HashSet<&str> = self.accepted.iter().map(|(id, _)| id.as_str()).collect();
        // The orders of the neighbours have reported their end.
        let is_canary =
            |id: &str| id.strip_prefix("canary-").is_some_and(|number| number.parse::<usize>().is_ok());
        for row in &rows {
            let id: &str = row.get(0);
            if !known.contains(id) && !is_canary(id) {
                self.wrong.push(format!("order {id:?} was registered, and its sender got no receipt"));
            }
        }
    }
}

async fn follow(
    address: String,
    proof: String,
    id: String,
    behind: String,
    _turn: OwnedSemaphorePermit,
) -> Result<Duration, String> {
    let begun = Instant::now();
    let body = json!({"id": id, "scenario": CANARY}).to_string();
    let head = format!(
        "POST /v1/orders?wait={} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{proof}content-length: {}\r\n\r\n",
        PATIENCE.as_secs(),
        body.len()
    );
    let ended = ask(&address, &Sent { bytes: (head + &body).into_bytes(), ..Sent::default() }).await;
    match ended.json()["status"] == "success" {
        true => Ok(begun.elapsed()),
        false => Err(format!("the order of a neighbour behind `{behind}`: {}", ended.shown())),
    }
}

/// The request for an order, whatever its id has in it: a library would mend some of these paths.
fn get_order(id: &str, proof: &str) -> Vec<u8> {
    let path: String = id.bytes().map(|byte| format!("%{byte:02X}")).collect();
    format!("GET /v1/orders/{path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{proof}\r\n")
        .into_bytes()
}

fn peak_of(node: &Node) -> u64 {
    peak(&node.identity.pid.to_string())
}

/// The most memory that this process ever held, in KiB.
pub fn own_peak() -> u64 {
    peak("self")
}

/// The most memory that a process ever held, in KiB.
fn peak(process: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse().unwrap_or(0)
}
