//! What was sent and what was told of it: the two ends of every order, with their times.
//! Never forgets an order: what is missing in the end must be named.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::time::Instant;

use pagurus_harness::client::lock;

use super::kinds::Kind;

/// An order as it was sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// What it is.
    pub kind: Kind,
    /// Time at which it was sent first.
    pub at: Instant,
    /// True once somebody has taken it: a 2xx, or the confirm of the broker.
    pub confirmed: bool,
}

/// What was told of an order: how often under each message id, redeliveries by the broker not counted.
#[derive(Clone, Debug)]
pub struct Told {
    /// Time at which it was told first.
    pub at: Instant,
    /// Copies by message id.
    pub copies: BTreeMap<String, u32>,
}

/// All orders of a soak.
#[derive(Debug, Default)]
pub struct Ledger {
    sent: Mutex<HashMap<String, Sent>>,
    told: Mutex<HashMap<String, Told>>,
}

impl Ledger {
    /// Notes an order before it is sent.
    pub fn send(&self, id: &str, kind: Kind) {
        let sent = Sent { kind, at: Instant::now(), confirmed: false };
        lock(&self.sent).insert(id.to_owned(), sent);
    }

    /// Notes that it was taken.
    pub fn confirm(&self, id: &str) {
        if let Some(sent) = lock(&self.sent).get_mut(id) {
            sent.confirmed = true;
        }
    }

    /// Notes a notification.
    pub fn tell(&self, id: &str, message_id: &str, redelivered: bool) {
        let mut told = lock(&self.told);
        let told =
            told.entry(id.to_owned()).or_insert_with(|| Told { at: Instant::now(), copies: BTreeMap::new() });
        let copies = told.copies.entry(message_id.to_owned()).or_default();
        // A copy that this very consumer got before its acknowledgement was lost is none of the engine's.
        if *copies == 0 || !redelivered {
            *copies += 1;
        }
    }

    /// How many orders were sent.
    pub fn count(&self) -> usize {
        lock(&self.sent).len()
    }

    /// All orders sent.
    pub fn sent(&self) -> HashMap<String, Sent> {
        lock(&self.sent).clone()
    }

    /// All that was told.
    pub fn told(&self) -> HashMap<String, Told> {
        lock(&self.told).clone()
    }
}
