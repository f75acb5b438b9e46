//! Orders that were sent, and the notifications of their ends, with the times of both.
//! Never forgets an order: what is missing in the end must be named.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::time::Instant;

use pagurus_harness::client::lock;

use super::kinds::Kind;

/// An order as it was sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Kind of the order.
    pub kind: Kind,
    /// Time at which it was first sent.
    pub at: Instant,
    /// True once it has been accepted: by a 2xx, or by the confirm of the broker.
    pub confirmed: bool,
}

/// Notifications of an order: number of copies per message id, redeliveries by the broker not counted.
#[derive(Clone, Debug)]
pub struct Notified {
    /// Time of the first notification.
    pub at: Instant,
    /// Copies by message id.
    pub copies: BTreeMap<String, u32>,
}

/// All orders of a soak.
#[derive(Debug, Default)]
pub struct Ledger {
    sent: Mutex<HashMap<String, Sent>>,
    notified: Mutex<HashMap<String, Notified>>,
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
        let mut notified = lock(&self.notified);
        let notified = notified
            .entry(id.to_owned())
            .or_insert_with(|| Notified { at: Instant::now(), copies: BTreeMap::new() });
        let copies = notified.copies.entry(message_id.to_owned()).or_default();
        // A copy that this very consumer got before its acknowledgement was lost is none of the engine's.
        if *copies == 0 || !redelivered {
            *copies += 1;
        }
    }

    /// Number of orders sent.
    pub fn count(&self) -> usize {
        lock(&self.sent).len()
    }

    /// All orders sent.
    pub fn sent(&self) -> HashMap<String, Sent> {
        lock(&self.sent).clone()
    }

    /// All notifications, by the id of the order.
    pub fn notified(&self) -> HashMap<String, Notified> {
        lock(&self.notified).clone()
    }
}
