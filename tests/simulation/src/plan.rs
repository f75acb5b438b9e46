//! The plan of a run: what its seed says of nodes, faults and their frequency. All of it is printed with a failure.

use std::time::Duration;

use crate::chance::Chance;

/// Silence after which a node is lost.
pub const LOST_AFTER: Duration = Duration::from_secs(9);
/// Time between two looks of recovery.
pub const RECOVERY: Duration = Duration::from_secs(2);
/// Longest time of a stage without progress.
pub const WORK: Duration = Duration::from_secs(25);
/// Time of a lease.
pub const TTL: Duration = Duration::from_secs(3);
/// A call that nobody answers is over.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(16);

/// The plan.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Orders.
    pub orders: usize,
    /// Milliseconds over which they come.
    pub arrival_ms: i64,
    /// Length of the faults, in milliseconds.
    pub faults_ms: i64,
    /// Workers.
    pub workers: usize,
    /// Places of each worker.
    pub concurrency: u32,
    /// Names of queues.
    pub queues: u64,
    /// Store calls in a million before which the caller dies.
    pub dies_before: u64,
    /// Store calls in a million after which the caller dies.
    pub dies_after: u64,
    /// Store calls in a million whose answer is lost.
    pub answer_lost: u64,
    /// Lost messages in a million that may be lost.
    pub lost: u64,
    /// Doubled messages in a million.
    pub doubled: u64,
    /// Messages in a million that are delayed by seconds.
    pub delayed: u64,
    /// Faults of processes and servers.
    pub faults: usize,
    /// Calls of systems in a million that take seconds.
    pub slow: u64,
    /// Actions of operators.
    pub actions: usize,
    /// Orders in a million that wait for others.
    pub dependent: u64,
    /// Bulk operations.
    pub operations: usize,
    /// Stops of flows.
    pub stops: usize,
    /// Milliseconds that a slow call takes at most. In some runs it outlives the loss of a node, so that two workers hold one
    /// stage at the same moment.
    pub slow_ms: i64,
}

impl Plan {
    /// The plan of a seed.
    #[must_use]
    pub fn of(seed: u64, orders: usize) -> Self {
        let mut chance = Chance::of(seed, 1);
        // One run in eight is without any fault: what is broken there is broken everywhere.
        let calm = chance.happens(125_000);
        let rate = |chance: &mut Chance, most: i64| {
            if calm { 0 } else { chance.between(0, most).unsigned_abs() }
        };
        let some = i64::try_from(orders).unwrap_or(i64::MAX).min(1_000);
        Self {
            orders,
            arrival_ms: 2_000 + some * chance.between(20, 200),
            faults_ms: 25_000 + some * 200,
            workers: usize::try_from(chance.between(2, 4)).unwrap_or(2),
            concurrency: u32::try_from(chance.between(2, 12)).unwrap_or(4),
            queues: chance.between(1, 12).unsigned_abs(),
            dies_before: rate(&mut chance, 1_000),
            dies_after: rate(&mut chance, 1_000),
            answer_lost: rate(&mut chance, 6_000),
            lost: rate(&mut chance, 100_000),
            doubled: rate(&mut chance, 60_000),
            delayed: rate(&mut chance, 60_000),
            faults: usize::try_from(rate(&mut chance, 8 + some / 20)).unwrap_or(0),
            slow: chance.between(40_000, 300_000).unsigned_abs(),
            actions: usize::try_from(chance.between(0, 2 + some / 4)).unwrap_or(0),
            dependent: chance.between(0, 250_000).unsigned_abs(),
            operations: usize::try_from(chance.between(0, 2)).unwrap_or(0),
            stops: usize::try_from(chance.between(0, 2)).unwrap_or(0),
            slow_ms: if chance.happens(800_000) { 15_000 } else { 3_500 },
        }
    }
}
