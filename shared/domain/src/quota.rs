//! How much each client may ask of a server: requests a second with a burst, bytes of bodies a second, and requests in
//! progress. What one client has used is nothing to another.
//!
//! Rates follow the generic cell rate algorithm in its form of virtual scheduling (ITU-T I.371, annex A; ATM Forum, Traffic
//! Management 4.0, 4.4.2): of each rate one number is kept, the time at which the bucket of the client will be full again.
//! What is refused costs nothing, so that a client which asks on and on is served at its rate.

use std::collections::HashMap;
use std::hash::Hash;
use std::num::NonZeroU64;
use std::time::Duration;

use crate::number::saturated;

/// A rate with a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaRate {
    /// Units a second.
    pub per_second: NonZeroU64,
    /// Units that a client may take at once after it has taken none for a while.
    pub burst: NonZeroU64,
}

/// Limits of each client; none of a measure is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuotaLimits {
    /// Rate of requests.
    pub requests: Option<QuotaRate>,
    /// Rate of the bytes of their bodies.
    pub bytes: Option<QuotaRate>,
    /// Requests in progress at a time.
    pub open: Option<NonZeroU64>,
}

impl QuotaLimits {
    /// True if nothing is limited.
    #[must_use]
    pub fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }
}

/// Measure by which a client is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuotaMeasure {
    /// Requests a second.
    Requests,
    /// Bytes a second.
    Bytes,
    /// Requests in progress.
    Open,
}

impl QuotaMeasure {
    /// The word for header fields and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Bytes => "bytes",
            Self::Open => "open",
        }
    }
}

/// Refusal of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaExceeded {
    /// The measure that the client has used up.
    pub measure: QuotaMeasure,
    /// Time after which the same request is taken, if the client asks for nothing else; `None` where that depends on the end of
    /// another of its requests.
    pub retry_after: Option<Duration>,
}

/// Units that a client has left of a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaLeft {
    /// The measure.
    pub measure: QuotaMeasure,
    /// Units that it may take now.
    pub units: u64,
    /// Time until it may take as many as ever at once; `None` where that depends on the end of its requests.
    pub full_after: Option<Duration>,
}

/// Time in picoseconds: a unit at a rate of gigabytes a second takes less than a nanosecond.
type Picoseconds = u128;

const PICOSECONDS: Picoseconds = 1_000_000_000_000;

fn picoseconds(time: Duration) -> Picoseconds {
    time.as_nanos() * 1000
}

/// A time in whole nanoseconds, and no less.
fn duration(time: Picoseconds) -> Duration {
    Duration::from_nanos(saturated(time.div_ceil(1000)))
}

impl QuotaRate {
    /// Time that a unit takes. Rounded up: a client never gets more than its rate.
    const fn interval(self) -> Picoseconds {
        PICOSECONDS.div_ceil(self.per_second.get() as Picoseconds)
    }

    /// Time in which an empty bucket fills.
    const fn depth(self) -> Picoseconds {
        self.interval() * self.burst.get() as Picoseconds
    }

    /// Time until a bucket that is full at `full_at` has room for these units. More than a burst, as a long body may be, waits
    /// for a full bucket.
    fn wait(self, full_at: Picoseconds, units: u64, now: Picoseconds) -> Picoseconds {
        let needed = self.interval() * Picoseconds::from(units.min(self.burst.get()));
        (full_at.max(now) + needed).saturating_sub(now + self.depth())
    }

    /// Time at which the bucket is full once these units were taken out of it.
    fn taken(self, full_at: Picoseconds, units: u64, now: Picoseconds) -> Picoseconds {
        full_at.max(now) + self.interval() * Picoseconds::from(units)
    }

    fn left(self, measure: QuotaMeasure, full_at: Picoseconds, now: Picoseconds) -> QuotaLeft {
        let missing = full_at.saturating_sub(now);
        let units = self.depth().saturating_sub(missing) / self.interval();
        QuotaLeft { measure, units: saturated(units), full_after: Some(duration(missing)) }
    }
}

/// Use that a client has made of its limits.
#[derive(Clone, Copy, Debug, Default)]
struct ClientUse {
    /// Time at which its bucket of requests is full.
    requests: Picoseconds,
    /// Time at which its bucket of bytes is full.
    bytes: Picoseconds,
    /// Requests in progress.
    open: u64,
}

impl ClientUse {
    /// True if nothing is lost where the client is forgotten.
    const fn is_idle(&self, now: Picoseconds) -> bool {
        self.open == 0 && self.requests <= now && self.bytes <= now
    }

    /// The first measure of which the request would take too much.
    fn exceeded(&self, bytes: u64, limits: &QuotaLimits, now: Picoseconds) -> Option<QuotaExceeded> {
        if limits.open.is_some_and(|most| self.open >= most.get()) {
            return Some(QuotaExceeded { measure: QuotaMeasure::Open, retry_after: None });
        }
        let rates = [
            (QuotaMeasure::Requests, limits.requests, self.requests, 1),
            (QuotaMeasure::Bytes, limits.bytes, self.bytes, bytes),
        ];
        rates.into_iter().find_map(|(measure, rate, full_at, units)| {
            let wait = rate?.wait(full_at, units, now);
            (wait > 0).then(|| QuotaExceeded { measure, retry_after: Some(duration(wait)) })
        })
    }
}

/// Account of what the clients of a server have used. Times are those since any one moment.
#[derive(Debug)]
pub struct Quotas<K> {
    clients: HashMap<K, ClientUse>,
    most: usize,
}

impl<K: Eq + Hash> Quotas<K> {
    /// Remembers this number of clients at most. Of more, those are forgotten that have used nothing lately, then those that have no
    /// request in progress; while all have one, others are not limited.
    #[must_use]
    pub fn of_at_most(most: usize) -> Self {
        Self { clients: HashMap::new(), most }
    }

    /// Takes a request with a body of this length in bytes; of one without an announced length, 0. It is in progress until [`Self::end`].
    ///
    /// # Errors
    /// The client has used up a measure; nothing is taken of any.
    pub fn begin(
        &mut self,
        client: K,
        bytes: u64,
        limits: &QuotaLimits,
        now: Duration,
    ) -> Result<(), QuotaExceeded> {
        let now = picoseconds(now);
        let known = self.clients.get(&client).copied();
        let mut used = known.unwrap_or_default();
        if let Some(exceeded) = used.exceeded(bytes, limits, now) {
            return Err(exceeded);
        }
        used.open += 1;
        if let Some(rate) = limits.requests {
            used.requests = rate.taken(used.requests, 1, now);
        }
        if let Some(rate) = limits.bytes {
            used.bytes = rate.taken(used.bytes, bytes, now);
        }
        if known.is_some() || self.has_room(now) {
            self.clients.insert(client, used);
        }
        Ok(())
    }

    /// Takes bytes of a body whose length was not announced. They are paid off by what the client asks for next.
    pub fn read(&mut self, client: &K, bytes: u64, limits: &QuotaLimits, now: Duration) {
        if let (Some(used), Some(rate)) = (self.clients.get_mut(client), limits.bytes) {
            used.bytes = rate.taken(used.bytes, bytes, picoseconds(now));
        }
    }

    /// Ends a request that was taken.
    pub fn end(&mut self, client: &K) {
        if let Some(used) = self.clients.get_mut(client) {
            used.open = used.open.saturating_sub(1);
        }
    }

    /// Returns what a client has left of each measure that is limited.
    #[must_use]
    pub fn left(&self, client: &K, limits: &QuotaLimits, now: Duration) -> Vec<QuotaLeft> {
        let now = picoseconds(now);
        let used = self.clients.get(client).copied().unwrap_or_default();
        let open = limits.open.map(|most| QuotaLeft {
            measure: QuotaMeasure::Open,
            units: most.get().saturating_sub(used.open),
            full_after: None,
        });
        let requests = limits.requests.map(|rate| rate.left(QuotaMeasure::Requests, used.requests, now));
        let bytes = limits.bytes.map(|rate| rate.left(QuotaMeasure::Bytes, used.bytes, now));
        requests.into_iter().chain(bytes).chain(open).collect()
    }

    /// Makes room for another client. Half of all places come free at once where any do, so that a look at all of them is
    /// seldom.
    fn has_room(&mut self, now: Picoseconds) -> bool {
        if self.clients.len() < self.most {
            return true;
        }
        self.clients.retain(|_, used| !used.is_idle(now));
        if self.clients.len() > self.most / 2 {
            self.clients.retain(|_, used| used.open > 0);
        }
        self.clients.len() < self.most
    }
}

#[cfg(test)]
mod tests;
