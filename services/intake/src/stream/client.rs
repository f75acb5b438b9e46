//! One client of the stream: what it asked for, and its buffer.

use std::sync::Arc;
use std::time::Instant;

use pagurus_domain::access::scope::AccessScope;
use pagurus_runtime::ClientAddress as Address;
use pagurus_wire::stream::{StreamLagged, StreamedEvent};
use tokio::sync::mpsc::{self, error::TrySendError};

use super::coverage::StreamInterest;

/// Events that wait for one client. They are shared between clients, so that a full buffer costs pointers.
const BUFFER: usize = 1000;

/// Conditions on events; an empty list is no condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StreamFilter {
    /// Scope of the client.
    pub scope: AccessScope,
    /// Ids of orders.
    pub orders: Vec<String>,
    /// Names of scenarios.
    pub scenarios: Vec<String>,
    /// Statuses of orders.
    pub statuses: Vec<String>,
    /// Business transactions.
    pub transactions: Vec<String>,
}

impl StreamFilter {
    /// No condition but the scope.
    #[cfg(test)]
    pub const fn within(scope: AccessScope) -> Self {
        Self {
            scope,
            orders: Vec::new(),
            scenarios: Vec::new(),
            statuses: Vec::new(),
            transactions: Vec::new(),
        }
    }

    /// True if an event fulfils all conditions.
    pub fn takes(&self, event: &StreamedEvent) -> bool {
        let one_of = |wanted: &[String], found: Option<&str>| {
            wanted.is_empty() || found.is_some_and(|found| wanted.iter().any(|one| one == found))
        };
        one_of(&self.orders, Some(&event.order))
            && one_of(&self.scenarios, Some(&event.scenario))
            && one_of(&self.statuses, Some(&event.status))
            && one_of(&self.transactions, event.transaction_id.as_deref())
            && self.scope.has_order(&event.flow, event.queue.as_deref(), &event.scenario)
    }
}

/// Message to a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StreamMessage {
    /// An event.
    Event(Arc<StreamedEvent>),
    /// Notice that events are missing.
    Lagged(StreamLagged),
}

/// A client, from the side of the listener.
pub(super) struct StreamClient {
    address: Address,
    /// Time of the last event that it was handed, or of its coming.
    heard_at: Instant,
    filter: StreamFilter,
    interest: StreamInterest,
    sender: mpsc::Sender<StreamMessage>,
    /// Events that were left out since the last one that it got.
    missed: u64,
    /// Gap of unknown length that it was not informed of yet.
    gap: Option<StreamLagged>,
}

impl StreamClient {
    pub fn new(
        address: Address,
        filter: StreamFilter,
        interest: StreamInterest,
    ) -> (Self, mpsc::Receiver<StreamMessage>) {
        let (sender, receiver) = mpsc::channel(BUFFER);
        (Self { address, heard_at: Instant::now(), filter, interest, sender, missed: 0, gap: None }, receiver)
    }

    pub const fn address(&self) -> Address {
        self.address
    }

    /// Returns the time of the last event that it was handed, or of its coming.
    pub const fn heard_at(&self) -> Instant {
        self.heard_at
    }

    #[cfg(test)]
    pub fn was_silent_for(&mut self, time: std::time::Duration) {
        self.heard_at -= time;
    }

    /// True until the client has gone.
    pub fn is_there(&self) -> bool {
        !self.sender.is_closed()
    }

    /// Returns the orders whose events it may take.
    pub const fn interest(&self) -> &StreamInterest {
        &self.interest
    }

    pub fn takes(&self, event: &StreamedEvent) -> bool {
        self.filter.takes(event)
    }

    /// Hands an event over; false if there is no room, and it is left out.
    pub fn offer(&mut self, event: &Arc<StreamedEvent>) -> bool {
        self.own_up();
        if self.missed == 0 && self.gap.is_none() {
            match self.sender.try_send(StreamMessage::Event(Arc::clone(event))) {
                // A client that has gone misses nothing.
                Ok(()) | Err(TrySendError::Closed(_)) => {
                    self.heard_at = Instant::now();
                    return true;
                }
                Err(TrySendError::Full(_)) => {}
            }
        }
        self.missed += 1;
        false
    }

    /// Reports a gap of unknown length to the client.
    pub fn tell_gap(&mut self, gap: &StreamLagged) {
        self.gap = Some(gap.clone());
        self.own_up();
    }

    /// Reports what was left out, as soon as there is room for it.
    pub fn own_up(&mut self) {
        let missed = (self.missed > 0).then_some(self.missed);
        let lagged = match (&self.gap, missed) {
            (None, None) => return,
            (Some(gap), missed) => StreamLagged { missed, ..gap.clone() },
            (None, missed) => {
                StreamLagged { reason: "events came faster than they were read".to_owned(), missed }
            }
        };
        if self.sender.try_send(StreamMessage::Lagged(lagged)).is_ok() {
            self.missed = 0;
            self.gap = None;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use jiff::Timestamp;

    use super::*;

    fn event(number: i32) -> Arc<StreamedEvent> {
        Arc::new(StreamedEvent {
            no: 1,
            order: "a".into(),
            scenario: "s".into(),
            flow: "s".into(),
            queue: None,
            transaction_id: Some("t".into()),
            number,
            life: 1,
            kind: "stage_ended".into(),
            at: Timestamp::UNIX_EPOCH,
            source: "w".into(),
            status: "success".into(),
            is_final: true,
            step: None,
        })
    }

    fn filter(orders: &[&str], scenarios: &[&str], statuses: &[&str], transactions: &[&str]) -> StreamFilter {
        let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        StreamFilter {
            scope: AccessScope::WHOLE,
            orders: texts(orders),
            scenarios: texts(scenarios),
            statuses: texts(statuses),
            transactions: texts(transactions),
        }
    }

    #[test]
    fn http_all_conditions_hold_for_what_a_client_gets() {
        assert!(filter(&[], &[], &[], &[]).takes(&event(1)));
        assert!(filter(&["b", "a"], &["s"], &["success"], &["t"]).takes(&event(1)));
        for other in [
            filter(&["b"], &[], &[], &[]),
            filter(&[], &["x"], &[], &[]),
            filter(&["a"], &["s"], &["fail"], &[]),
            filter(&[], &[], &[], &["u"]),
        ] {
            assert!(!other.takes(&event(1)), "{other:?}");
        }
    }

    #[test]
    fn http_a_slow_client_learns_how_many_events_it_missed_before_it_gets_the_next() {
        let (mut client, mut receiver) = StreamClient::new(
            pagurus_runtime::Peer(([10, 0, 0, 1], 1).into()).client(),
            StreamFilter::within(AccessScope::WHOLE),
            StreamInterest::All,
        );
        let number = |place: usize| i32::try_from(place).unwrap();
        for place in 0..BUFFER + 3 {
            assert_eq!(client.offer(&event(number(place))), place < BUFFER, "{place}");
        }
        assert_eq!(receiver.try_recv().unwrap(), StreamMessage::Event(event(0)));
        client.own_up();
        for place in 1..BUFFER {
            assert_eq!(receiver.try_recv().unwrap(), StreamMessage::Event(event(number(place))));
        }
        let StreamMessage::Lagged(lagged) = receiver.try_recv().unwrap() else {
            panic!("no word of what is missing")
        };
        assert_eq!(lagged.missed, Some(3));
        assert!(client.offer(&event(9)));
        assert_eq!(receiver.try_recv().unwrap(), StreamMessage::Event(event(9)));
        client.tell_gap(&StreamLagged { reason: "why".into(), missed: None });
        assert!(matches!(
            receiver.try_recv().unwrap(),
            StreamMessage::Lagged(StreamLagged { missed: None, .. })
        ));
        drop(receiver);
        assert!(!client.is_there());
    }
}
