//! Batching: many items in one call.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::sync::{SemaphorePermit, mpsc, oneshot};

use crate::lanes::WorkLanes;

/// The handler went away before it answered: the process is ending, or the handler panicked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the batch was not carried out, because its handler is gone")]
pub struct Gone;

/// Failure of an item, as the caller of [`Batcher::submit`] gets it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failed<E: std::error::Error> {
    /// The handler failed, for this item alone or for all of its batch.
    #[error(transparent)]
    Handler(E),
    /// Not known to be carried out or not.
    #[error(transparent)]
    Gone(#[from] Gone),
}

type QueuedItem<T, R, E> = (T, oneshot::Sender<Result<R, Arc<E>>>);

/// Gathers items and hands them to one function, which answers each. What is there is taken together, at once or after a
/// [`Linger`]: under load batches grow by themselves while the one before them is at work. Cheap to clone.
#[derive(Debug)]
pub struct Batcher<T, R, E> {
    sender: mpsc::Sender<QueuedItem<T, R, E>>,
}

impl<T, R, E> Clone for Batcher<T, R, E> {
    fn clone(&self) -> Self {
        Self { sender: self.sender.clone() }
    }
}

/// Bounds within which a batcher gathers.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Items in one call.
    pub max: usize,
    /// Calls at a time: one, and more where batches are full, or beside one that takes long ([`WorkLanes`]).
    pub lanes: usize,
    /// Wait for more items.
    pub linger: Linger,
}

/// Wait of a batch for more items.
#[derive(Clone, Copy, Debug)]
pub enum Linger {
    /// None: what is there goes.
    Never,
    /// This long when the batch before had several items: under load a few milliseconds save a third of the work, when
    /// idle they would only cost time.
    UnderLoad(Duration),
    /// This long for each batch, where nobody waits for the outcome.
    Always(Duration),
}

impl Linger {
    /// Returns the wait of a batch, by whether the one before had several items.
    const fn after(self, several: bool) -> Option<Duration> {
        match self {
            Self::UnderLoad(time) if several => Some(time),
            Self::Always(time) => Some(time),
            Self::UnderLoad(_) | Self::Never => None,
        }
    }
}

impl<T, R, E> Batcher<T, R, E>
where
    T: Clone + Send + Sync + 'static,
    R: Send + 'static,
    E: std::error::Error + Send + Sync + 'static,
{
    /// Starts a batcher. `handle` answers each item of its slice, in order. Where it fails for a
    /// batch of several and `concerns_one` says that one item may be the cause, each half is tried
    /// alone, so that a bad item cannot fail the others.
    pub fn start<H, F>(shape: Shape, concerns_one: fn(&E) -> bool, handle: H) -> Self
    where
        H: Fn(Arc<[T]>) -> F + Send + Sync + Clone + 'static,
        F: Future<Output = Result<Vec<R>, E>> + Send,
    {
        // Twice a batch for each lane: one being carried out and one being gathered.
        let (sender, receiver) = mpsc::channel(shape.max * shape.lanes * 2);
        let receiver = Arc::new(tokio::sync::Mutex::new(receiver));
        let lanes = Arc::new(WorkLanes::default());
        for _ in 0..shape.lanes {
            let (receiver, lanes, handle) = (receiver.clone(), lanes.clone(), handle.clone());
            tokio::spawn(async move {
                let mut several = false;
                while let Some((waiting, alone)) = gather(&receiver, &lanes, shape, several).await {
                    several = waiting.len() > 1;
                    carry_out(&handle, concerns_one, waiting).await;
                    drop(alone);
                }
            });
        }
        Self { sender }
    }

    /// Hands an item in and waits for its answer.
    ///
    /// # Errors
    /// The error of the handler, or that there is none any more.
    pub async fn submit(&self, item: T) -> Result<R, Failed<Arc<E>>>
    where
        Arc<E>: std::error::Error,
    {
        let (answer, answered) = oneshot::channel();
        self.sender.send((item, answer)).await.map_err(|_| Gone)?;
        answered.await.map_err(|_| Gone)?.map_err(Failed::Handler)
    }
}

/// The next batch, and the right to carry it out alone where no other is at work.
async fn gather<'a, T, R, E>(
    receiver: &tokio::sync::Mutex<mpsc::Receiver<QueuedItem<T, R, E>>>,
    lanes: &'a WorkLanes,
    shape: Shape,
    several: bool,
) -> Option<(Vec<QueuedItem<T, R, E>>, Option<SemaphorePermit<'a>>)> {
    let mut receiver = receiver.lock().await;
    let mut waiting = Vec::new();
    if receiver.recv_many(&mut waiting, shape.max).await == 0 {
        return None;
    }
    if let Some(time) = shape.linger.after(several)
        && waiting.len() < shape.max
    {
        tokio::time::sleep(time).await;
    }
    // A full batch gains nothing by waiting.
    let alone = if waiting.len() < shape.max { lanes.begin().await } else { None };
    while waiting.len() < shape.max {
        match receiver.try_recv() {
            Ok(item) => waiting.push(item),
            Err(_) => break,
        }
    }
    Some((waiting, alone))
}

async fn carry_out<T, R, E, H, F>(handle: &H, concerns_one: fn(&E) -> bool, waiting: Vec<QueuedItem<T, R, E>>)
where
    T: Clone + Send + Sync + 'static,
    H: Fn(Arc<[T]>) -> F + Send + Sync,
    F: Future<Output = Result<Vec<R>, E>> + Send,
{
    // Halves that are still to be tried, the first on top.
    let mut open = vec![waiting];
    while let Some(mut waiting) = open.pop() {
        let items: Arc<[T]> = waiting.iter().map(|(item, _)| item.clone()).collect();
        // A defect that one batch meets must not end the lane: all that came after would be lost.
        let handled = AssertUnwindSafe(handle(items)).catch_unwind().await;
        let Ok(handled) = handled else {
            tracing::error!(items = waiting.len(), "the handler of a batch panicked");
            continue;
        };
        match handled {
            Ok(answers) => {
                for ((_, sender), answer) in waiting.into_iter().zip(answers) {
                    // Who no longer waits has gone away; the work is done all the same.
                    let _ = sender.send(Ok(answer));
                }
            }
            Err(error) if waiting.len() > 1 && concerns_one(&error) => {
                let second = waiting.split_off(waiting.len() / 2);
                open.push(second);
                open.push(waiting);
            }
            Err(error) => {
                let error = Arc::new(error);
                for (_, sender) in waiting {
                    let _ = sender.send(Err(error.clone()));
                }
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const SHAPE: Shape = Shape { max: 100, lanes: 1, linger: Linger::Never };

    #[tokio::test]
    async fn items_that_wait_together_are_carried_out_together_and_answered_each() {
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = calls.clone();
        let batcher: Batcher<u32, u32, std::io::Error> = Batcher::start(
            SHAPE,
            |_| true,
            move |items: Arc<[u32]>| {
                counted.fetch_add(1, Ordering::SeqCst);
                async move { Ok(items.iter().map(|item| item * 2).collect()) }
            },
        );
        let answers = futures_util::future::join_all((0..50).map(|item| batcher.submit(item))).await;
        let answers: Vec<u32> = answers.into_iter().map(Result::unwrap).collect();
        assert_eq!(answers, (0..50).map(|item| item * 2).collect::<Vec<_>>());
        assert!(calls.load(Ordering::SeqCst) < 50);
    }

    #[tokio::test]
    async fn what_comes_while_a_lane_is_at_work_goes_together_and_waits_for_none_that_is_slow() {
        const SLOW: u32 = 13;
        let (calls, gate) =
            (Arc::new(std::sync::Mutex::new(Vec::new())), Arc::new(tokio::sync::Semaphore::new(0)));
        let (counted, closed) = (calls.clone(), gate.clone());
        let batcher: Batcher<u32, u32, std::io::Error> = Batcher::start(
            Shape { lanes: 2, ..SHAPE },
            |_| true,
            move |items: Arc<[u32]>| {
                counted.lock().unwrap().push(items.len());
                let closed = closed.clone();
                async move {
                    if items.contains(&SLOW) {
                        closed.acquire().await.unwrap().forget();
                    }
                    Ok(items.to_vec())
                }
            },
        );
        let submit_slow = || {
            let batcher = batcher.clone();
            tokio::spawn(async move { batcher.submit(SLOW).await })
        };
        let begun = async |count| {
            while calls.lock().unwrap().len() < count {
                tokio::task::yield_now().await;
            }
        };
        let first = submit_slow();
        begun(1).await;
        let others = futures_util::future::join_all((0..3).map(|item| batcher.submit(item)));
        let (others, ()) = tokio::join!(others, async {
            tokio::task::yield_now().await;
            gate.add_permits(1);
        });
        assert!(others.iter().all(Result::is_ok));
        assert_eq!(first.await.unwrap().unwrap(), SLOW);
        assert_eq!(*calls.lock().unwrap(), [1, 3]);
        // The slow one goes on for as long as the other takes.
        let held = submit_slow();
        begun(3).await;
        assert_eq!(batcher.submit(1).await.unwrap(), 1);
        assert!(!held.is_finished());
        gate.add_permits(1);
        assert_eq!(held.await.unwrap().unwrap(), SLOW);
    }

    #[tokio::test]
    async fn a_panic_costs_its_batch_and_not_those_that_come_after() {
        let batcher: Batcher<u32, u32, std::io::Error> = Batcher::start(
            SHAPE,
            |_| true,
            |items: Arc<[u32]>| async move {
                assert_ne!(items[0], 13, "thirteen");
                Ok(items.to_vec())
            },
        );
        assert!(matches!(batcher.submit(13).await, Err(Failed::Gone(Gone))));
        assert_eq!(batcher.submit(14).await.unwrap(), 14);
    }

    #[tokio::test]
    async fn one_bad_item_does_not_fail_its_neighbours() {
        let batcher: Batcher<u32, u32, std::io::Error> = Batcher::start(
            SHAPE,
            |_| true,
            |items: Arc<[u32]>| async move {
                if items.contains(&13) { Err(std::io::Error::other("thirteen")) } else { Ok(items.to_vec()) }
            },
        );
        let answers = futures_util::future::join_all((0..50).map(|item| batcher.submit(item))).await;
        let failed: Vec<usize> = answers
            .iter()
            .enumerate()
            .filter(|(_, answer)| answer.is_err())
            .map(|(index, _)| index)
            .collect();
        assert_eq!(failed, [13]);
    }
}
