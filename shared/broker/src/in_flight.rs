//! Many operations on one channel, all started before the first is awaited.
//!
//! A lapin operation puts its frames into the channel's outgoing buffer at its first poll and then
//! waits. Awaiting one after the other costs two thread hops for each; started together they leave
//! in the order given, in few writes, and their results are mostly there when they are asked for.
//! Never used by two tasks on one channel at a time: the order of tags would no longer be ours.

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::Poll,
};

use futures_util::future::{MaybeDone, maybe_done};
use tokio::time::{Instant, sleep_until};

/// Starts all operations in order and awaits them until the deadline, or until the connection is
/// lost. `None` stands for one that was not done by then.
pub(crate) async fn all_until<F: Future>(
    deadline: Instant,
    lost: impl Future<Output = ()>,
    operations: impl IntoIterator<Item = F>,
) -> Vec<Option<F::Output>> {
    let mut started: Vec<Pin<Box<MaybeDone<F>>>> =
        operations.into_iter().map(|operation| Box::pin(maybe_done(operation))).collect();
    poll_each(&mut started).await;
    let all = async {
        for operation in &mut started {
            operation.as_mut().await;
        }
    };
    let finished = tokio::select! {
        biased;
        () = all => true,
        () = lost => false,
        () = sleep_until(deadline) => false,
    };
    if !finished {
        // Those behind the first unfinished one may be done all the same.
        poll_each(&mut started).await;
    }
    started.iter_mut().map(|operation| operation.as_mut().take_output()).collect()
}

/// Polls each of them once.
async fn poll_each<F: Future>(started: &mut [Pin<Box<MaybeDone<F>>>]) {
    poll_fn(|context| {
        for operation in started.iter_mut() {
            let _ = operation.as_mut().poll(context);
        }
        Poll::Ready(())
    })
    .await;
}
