//! Turns of work that takes the processor for long: few run at a time, flow by flow, so that they delay nobody else.
//!
//! Nearly all code of scenarios is done in microseconds, and runs where it is called. Work of a kind that was long before, or
//! was never seen, waits for one of few places without holding a thread, and then leaves the threads of the runtime. Work that is
//! long for the first time is noticed while it runs, by the clock that watches runs of scripts: it leaves the runtime and waits
//! for a place where it is. The clock of a run stands still while it waits.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tokio::sync::oneshot;

/// Time of the processor after which work is long.
const QUICK: Duration = Duration::from_millis(2);
/// Quick turns of a kind of work after one that was long, before it runs without a place again.
const QUICK_AGAIN: u32 = 20;
/// Time after which work gives its place to another flow that waits.
const QUANTUM: Duration = Duration::from_millis(50);
/// Threads that wait for a place in the middle of their work at most, so that the runtime always finds another thread.
const MOST_PARKED: usize = 32;
/// Time for another thread to take over the tasks of one that leaves the runtime.
const HAND_OVER: Duration = Duration::from_millis(1);

/// How long work of one kind was of late. Cheap to share.
#[derive(Debug)]
pub struct Habit(AtomicU32);

impl Default for Habit {
    fn default() -> Self {
        // One turn shows what it is.
        Self(AtomicU32::new(1))
    }
}

impl Habit {
    fn is_long(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }

    fn took(&self, used: Duration) {
        if used > QUICK {
            self.0.store(QUICK_AGAIN, Ordering::Relaxed);
        } else {
            // Two at a time may count one turn too few: then it is watched for longer.
            self.0.store(self.0.load(Ordering::Relaxed).saturating_sub(1), Ordering::Relaxed);
        }
    }
}

/// Places for long work, given to the flows that wait in turn.
#[derive(Debug)]
pub struct Turns(Mutex<State>);

#[derive(Debug)]
struct State {
    free: usize,
    /// Flows that wait, the next one first.
    flows: VecDeque<Arc<str>>,
    /// What waits of each of them, the next one first.
    waiting: HashMap<Arc<str>, VecDeque<oneshot::Sender<Place>>>,
    /// Threads that wait.
    parked: usize,
}

/// A place. Goes to the next who waits when it is dropped.
#[derive(Debug)]
struct Place(Option<Arc<Turns>>);

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(turns) = self.0.take() {
            turns.pass_on();
        }
    }
}

impl Turns {
    /// One place less than there are processors, and at least one.
    #[must_use]
    pub fn of_this_host() -> Arc<Self> {
        Self::with_places(places_of_this_host())
    }

    /// So many places.
    #[must_use]
    pub fn with_places(free: usize) -> Arc<Self> {
        let waiting = HashMap::new();
        Arc::new(Self(Mutex::new(State { free, flows: VecDeque::new(), waiting, parked: 0 })))
    }

    /// Does work of this kind for a flow: at once where it is known to be quick, else in its turn. Must be called on a runtime
    /// with several threads.
    pub async fn run<T>(
        self: &Arc<Self>,
        flow: &Arc<str>,
        habit: &Arc<Habit>,
        work: impl FnOnce() -> T,
    ) -> T {
        if !habit.is_long() {
            let watched = Watched::begin(self, flow, habit, None);
            let done = work();
            drop(watched);
            return done;
        }
        let place = self.place(flow, false).await;
        tokio::task::block_in_place(|| {
            let begun = processor_time();
            let watched = Watched::begin(self, flow, habit, place.ok());
            let done = work();
            drop(watched);
            habit.took(processor_time().saturating_sub(begun));
            done
        })
    }

    /// The next place for this flow; work that has begun goes before what has not.
    fn place(self: &Arc<Self>, flow: &Arc<str>, has_begun: bool) -> oneshot::Receiver<Place> {
        let (give, taken) = oneshot::channel();
        let mut state = self.lock();
        if state.free > 0 {
            state.free -= 1;
            drop(state);
            // Nobody can have gone away yet.
            drop(give.send(Place(Some(self.clone()))));
            return taken;
        }
        let State { flows, waiting, .. } = &mut *state;
        let of_flow = waiting.entry(flow.clone()).or_insert_with(|| {
            flows.push_back(flow.clone());
            VecDeque::new()
        });
        if has_begun {
            of_flow.push_front(give)
        } else {
            of_flow.push_back(give)
        }
        taken
    }

    /// Gives a place that is free to the next one that waits for it.
    fn pass_on(self: &Arc<Self>) {
        loop {
            let next = {
                let mut state = self.lock();
                let Some(next) = state.next() else {
                    state.free += 1;
                    return;
                };
                next
            };
            // What comes back from one that has gone away is passed on by the next round.
            match next.send(Place(Some(self.clone()))) {
                Ok(()) => return,
                Err(mut place) => place.0 = None,
            }
        }
    }

    /// Waits on this thread, which has left the runtime.
    fn wait_here(self: &Arc<Self>, flow: &Arc<str>) -> Option<Place> {
        self.lock().parked += 1;
        let place = self.place(flow, true).blocking_recv().ok();
        self.lock().parked -= 1;
        place
    }

    /// True if work of another flow waits, and a thread more may wait.
    fn is_wanted_by_others(&self, flow: &Arc<str>) -> bool {
        let state = self.lock();
        state.parked < MOST_PARKED && state.flows.iter().any(|other| other != flow)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn next(&mut self) -> Option<oneshot::Sender<Place>> {
        let flow = self.flows.pop_front()?;
        let of_flow = self.waiting.get_mut(&flow)?;
        let next = of_flow.pop_front();
        if of_flow.is_empty() {
            self.waiting.remove(&flow);
        } else {
            self.flows.push_back(flow);
        }
        next
    }
}

/// Places for long work on this host: one processor is left to everything else.
#[must_use]
pub fn places_of_this_host() -> usize {
    std::thread::available_parallelism().map_or(1, |processors| processors.get() - 1).max(1)
}

/// Work that is watched on this thread.
struct Watch {
    turns: Arc<Turns>,
    flow: Arc<str>,
    habit: Arc<Habit>,
    place: Option<Place>,
    /// Time of the processor when it was looked at last; none before the first look.
    seen: Option<Duration>,
}

thread_local! {
    static WATCH: RefCell<Option<Watch>> = const { RefCell::new(None) };
    /// When the work of this thread is to be looked at.
    static LOOK_AT: Cell<Duration> = const { Cell::new(Duration::MAX) };
    /// Time for which work of this thread has waited for places.
    static WAITED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Watches the work of this thread until it is dropped.
struct Watched;

impl Watched {
    fn begin(turns: &Arc<Turns>, flow: &Arc<str>, habit: &Arc<Habit>, place: Option<Place>) -> Self {
        LOOK_AT.set(since_start() + if place.is_some() { QUANTUM } else { QUICK });
        let watch =
            Watch { turns: turns.clone(), flow: flow.clone(), habit: habit.clone(), place, seen: None };
        WATCH.set(Some(watch));
        Self
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        LOOK_AT.set(Duration::MAX);
        drop(WATCH.take());
    }
}

/// The clock by which runs of scripts are watched; they ask for it with each operation.
pub(crate) fn script_clock() -> Duration {
    let now = since_start();
    if now < LOOK_AT.get() {
        return now.saturating_sub(WAITED.get());
    }
    look(now);
    since_start().saturating_sub(WAITED.get())
}

/// Looks at the work of this thread: where it is long, it waits for its turn.
fn look(now: Duration) {
    let Some(mut watch) = WATCH.take() else { return };
    let waited = match &watch.place {
        Some(_) => {
            LOOK_AT.set(now + QUANTUM);
            watch.turns.is_wanted_by_others(&watch.flow)
        }
        None => {
            LOOK_AT.set(now + QUICK);
            let used = processor_time();
            // A thread that others kept from running has done nothing long.
            let is_long = watch.seen.is_some_and(|seen| used.saturating_sub(seen) >= QUICK / 2);
            watch.seen = Some(used);
            is_long
        }
    };
    if waited {
        watch.habit.took(QUANTUM);
        watch.place = leave_and_wait(&mut watch);
        LOOK_AT.set(since_start() + QUANTUM);
        WAITED.set(WAITED.get() + since_start().saturating_sub(now));
    }
    WATCH.set(Some(watch));
}

/// Has the tasks of this thread go on elsewhere, and waits for the next place of the flow.
fn leave_and_wait(watch: &mut Watch) -> Option<Place> {
    let had_place = watch.place.take().is_some();
    tokio::task::block_in_place(|| {
        if !had_place {
            std::thread::park_timeout(HAND_OVER);
        }
        watch.turns.wait_here(&watch.flow)
    })
}

/// Time of the processor that this thread has used.
fn processor_time() -> Duration {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(used.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(used.tv_nsec).unwrap_or(0))
}

fn since_start() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    fn flow(name: &str) -> Arc<str> {
        Arc::from(name)
    }

    /// Uses the processor until `done`, asking for the time as scripts do.
    fn work_until(done: impl Fn() -> bool) {
        while !done() {
            let _ = script_clock();
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn scn_5_long_work_leaves_the_runtime_and_its_clock_stands_still_while_it_waits() {
        let turns = Turns::with_places(1);
        let (a, habit) = (flow("a"), Arc::new(Habit::default()));
        turns.run(&a, &habit, || ()).await;
        assert!(!habit.is_long(), "one quick turn shows it");
        // The only place is taken: what is long for the first time waits for it, and others go on.
        let taken = turns.place(&a, false).await.unwrap();
        let long = tokio::spawn({
            let (turns, b, habit) = (turns.clone(), flow("b"), habit.clone());
            async move {
                turns
                    .run(&b, &habit, || {
                        let begun = script_clock();
                        work_until(|| WATCH.with_borrow(|watch| watch.as_ref().unwrap().place.is_some()));
                        script_clock().saturating_sub(begun)
                    })
                    .await
            }
        });
        while turns.lock().parked == 0 {
            // The only thread of the runtime is free for this task.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert!(habit.is_long());
        let waited = Instant::now();
        tokio::time::sleep(Duration::from_millis(500)).await;
        let waited = waited.elapsed();
        drop(taken);
        let clock = long.await.unwrap();
        assert!(clock < waited, "the clock went on while it waited: {clock:?}");
        assert_eq!((turns.lock().free, turns.lock().parked), (1, 0));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn scn_5_flows_take_turns_and_those_who_went_away_are_passed_over() {
        let turns = Turns::with_places(1);
        let taken = turns.place(&flow("a"), false).await.unwrap();
        let waiting: Vec<_> =
            ["a", "a", "a", "b", "c"].map(|name| (name, turns.place(&flow(name), false))).into();
        let begun = turns.place(&flow("a"), true);
        let gone = turns.place(&flow("b"), false);
        drop(gone);
        drop(taken);
        let mut order = Vec::new();
        let mut waiting: Vec<_> = waiting.into_iter().chain([("begun", begun)]).collect();
        while !waiting.is_empty() {
            let at = waiting.iter_mut().position(|(_, place)| match place.try_recv() {
                Ok(place) => {
                    drop(place);
                    true
                }
                Err(_) => false,
            });
            order.push(waiting.remove(at.unwrap()).0);
        }
        assert_eq!(order, ["begun", "b", "c", "a", "a", "a"]);
        let state = turns.lock();
        assert!(state.free == 1 && state.flows.is_empty() && state.waiting.is_empty());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn scn_5_long_work_gives_its_place_to_another_flow_after_a_while() {
        let turns = Turns::with_places(1);
        let others = Arc::new(AtomicUsize::new(0));
        let run = |name: &str, others: Arc<AtomicUsize>, waits: bool| {
            let (turns, flow, habit) = (turns.clone(), flow(name), Arc::new(Habit::default()));
            tokio::spawn(async move {
                let work = || {
                    others.fetch_add(1, Ordering::SeqCst);
                    work_until(|| !waits || others.load(Ordering::SeqCst) >= 3);
                };
                turns.run(&flow, &habit, work).await;
            })
        };
        // The first one ends only after all have begun, which they do one after the other.
        let all =
            [run("a", others.clone(), true), run("b", others.clone(), true), run("c", others.clone(), false)];
        for one in all {
            one.await.unwrap();
        }
        assert_eq!(turns.lock().free, 1);
    }
}
