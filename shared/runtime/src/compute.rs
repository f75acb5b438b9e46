//! Code of scenarios that takes the processor for long, on threads of its own: a few run at a time, in turns by version, so that
//! they delay nobody else.
//!
//! Nearly all code takes microseconds, and runs where it is called. Code that took long before, or has not run yet, gets a thread
//! apart as soon as one of few slots is free. There it gives its slot to another version after a while, and waits for the next
//! one on its thread; the clock of its run stands still meanwhile. Code that was quick and is suddenly long holds the thread of its
//! caller once, until its work is done: for a stage that runs one script at most as long as the script may take, for one that runs
//! many the sum of them.

mod slots;

use std::cell::{Cell, RefCell};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use pagurus_domain::id::ScenarioNo;
use pagurus_domain::number::saturated;
use rustix::time::{ClockId, clock_gettime};

use slots::{Slot, Slots};

/// Time of the processor up to which code is quick.
const QUICK: Duration = Duration::from_millis(5);
/// Quick runs that make up for each such time of a long one.
const QUICK_AGAIN: u32 = 10;
/// Time after which code gives its slot to another version that waits.
const QUANTUM: Duration = Duration::from_millis(50);
/// Longer than any script may run.
const FAR_AHEAD: Duration = Duration::from_secs(366 * 24 * 3600);
/// Runs that may wait in the middle for their next slot. Each takes a thread.
const MAX_INTERRUPTED: usize = 32;

/// The code of one version of a scenario, and how long it takes. Cheap to share.
#[derive(Debug)]
pub struct ScenarioCode {
    version: ScenarioNo,
    /// Quick runs until the code is taken for quick.
    unproven: AtomicU32,
}

impl ScenarioCode {
    /// The code of a version that has not run yet.
    #[must_use]
    pub const fn of(version: ScenarioNo) -> Self {
        // One run shows what it is.
        Self { version, unproven: AtomicU32::new(1) }
    }

    /// True if the code is known to take no time worth a thread apart.
    #[must_use]
    pub fn is_quick(&self) -> bool {
        self.unproven.load(Ordering::Relaxed) == 0
    }

    /// Does work of this code on this thread, and notes how long it takes.
    pub fn run_here<T>(&self, work: impl FnOnce() -> T) -> T {
        let begun = processor_time();
        let done = work();
        self.note(processor_time().saturating_sub(begun));
        done
    }

    fn note(&self, used: Duration) {
        if used > QUICK {
            let times = saturated::<u32>(used.as_nanos() / QUICK.as_nanos());
            self.unproven.store(times.saturating_mul(QUICK_AGAIN), Ordering::Relaxed);
        } else if !self.is_quick() {
            // Two at a time may count one run too few: then it is proven later.
            self.unproven.store(self.unproven.load(Ordering::Relaxed).saturating_sub(1), Ordering::Relaxed);
        }
    }
}

/// Threads for code that may take long. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Computing(Arc<Slots<ScenarioNo>>);

impl Default for Computing {
    /// Makes one slot less than there are processors, and at least one.
    fn default() -> Self {
        Self(Slots::new(crate::aside::places()))
    }
}

/// Right to run code on a thread apart; given to the next one when it is dropped.
#[derive(Debug)]
pub struct ComputeSlot(Option<Slot<ScenarioNo>>);

impl Computing {
    /// Waits for a slot for a run of this code.
    pub async fn slot(&self, code: &ScenarioCode) -> ComputeSlot {
        ComputeSlot(self.0.wait(code.version, false).await.ok())
    }

    /// Does work of this code on a thread apart. Work that panics has the caller panic. The run of work that nobody waits for
    /// any more is over.
    pub async fn run<T: Send + 'static>(
        &self,
        ComputeSlot(slot): ComputeSlot,
        code: &Arc<ScenarioCode>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        let wanted = Arc::new(AtomicBool::new(true));
        let _caller = CallerGuard(wanted.clone());
        let (slots, code) = (self.0.clone(), code.clone());
        let computed = tokio::task::spawn_blocking(move || {
            let _watched = RunGuard::begin(ComputeRun { slots, version: code.version, slot, wanted });
            code.run_here(work)
        });
        match computed.await {
            Ok(done) => done,
            Err(failed) => match failed.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                // The process ends.
                Err(_) => std::future::pending().await,
            },
        }
    }
}

/// The caller that waits for the result; gone when this is dropped.
struct CallerGuard(Arc<AtomicBool>);

impl Drop for CallerGuard {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Code that runs on this thread, with a slot.
struct ComputeRun {
    slots: Arc<Slots<ScenarioNo>>,
    version: ScenarioNo,
    slot: Option<Slot<ScenarioNo>>,
    /// False once nobody waits for the result.
    wanted: Arc<AtomicBool>,
}

thread_local! {
    static RUN: RefCell<Option<ComputeRun>> = const { RefCell::new(None) };
    /// Time at which the run of this thread is looked at.
    static LOOK_AT: Cell<Duration> = const { Cell::new(Duration::MAX) };
    /// Time by which the clock of this thread is behind: runs waited for slots meanwhile.
    static BEHIND: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    /// Time by which it is ahead: the time of runs that nobody wants any more is over.
    static AHEAD: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Watches the run of this thread until it is dropped, which gives the slot to the next one.
struct RunGuard;

impl RunGuard {
    fn begin(run: ComputeRun) -> Self {
        LOOK_AT.set(since_start() + QUANTUM);
        RUN.set(Some(run));
        Self
    }
}

impl Drop for RunGuard {
    fn drop(&mut self) {
        LOOK_AT.set(Duration::MAX);
        drop(RUN.take());
    }
}

/// The clock by which runs of scripts are watched; they ask for it with each operation.
pub(crate) fn script_clock() -> Duration {
    let mut now = since_start();
    if now >= LOOK_AT.get() {
        look(now);
        now = since_start();
    }
    (now + AHEAD.get()).saturating_sub(BEHIND.get())
}

/// Looks at the run of this thread, which may have to wait for its next turn.
fn look(now: Duration) {
    let Some(mut run) = RUN.take() else { return };
    if run.wanted.load(Ordering::Relaxed) {
        if run.slots.begin_interruption(&run.version, MAX_INTERRUPTED) {
            run.slot = None;
            run.slot = run.slots.wait_here(run.version);
            BEHIND.set(BEHIND.get() + since_start().saturating_sub(now));
        }
        LOOK_AT.set(since_start() + QUANTUM);
    } else {
        // Looked at again with each question from here on: whatever the work runs next is over, too.
        AHEAD.set(AHEAD.get() + FAR_AHEAD);
    }
    RUN.set(Some(run));
}

/// Time of the processor that this thread has used.
fn processor_time() -> Duration {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = saturated::<u64>(used.tv_sec);
    Duration::new(seconds, saturated::<u32>(used.tv_nsec))
}

fn since_start() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests;
