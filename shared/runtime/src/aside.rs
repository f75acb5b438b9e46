//! Work that somebody asks for beside the orders: on a thread of its own, which gives way to everything else, and at whose end
//! by a defect nothing else ends.

use pagurus_scenario::script::STACK_BYTES;
use rustix::process::setpriority_process;
use rustix::thread::gettid;
use tokio::sync::oneshot;

/// Claim on the processor: about a tenth of what a thread of orders gets beside it.
const NICE: i32 = 10;

/// Does the work; none where it ended by a defect, or no thread could be started. The log says which.
pub async fn run<T: Send + 'static>(
    name: &'static str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (sender, receiver) = oneshot::channel();
    let thread = std::thread::Builder::new().name(name.to_owned()).stack_size(STACK_BYTES);
    let started = thread.spawn(move || {
        // A system that does not let it has the work done all the same.
        let _ = setpriority_process(Some(gettid()), NICE);
        // Nobody may be waiting any more.
        drop(sender.send(work()));
    });
    if let Err(error) = started {
        tracing::error!(%error, name, "no thread could be started");
        return None;
    }
    let done = receiver.await.ok();
    if done.is_none() {
        tracing::error!(name, "the work panicked");
    }
    done
}

/// Threads that may work aside at a time on this host: one processor is left to everything else.
#[must_use]
pub fn places() -> usize {
    std::thread::available_parallelism().map_or(1, |processors| processors.get() - 1).max(1)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[tokio::test]
    async fn qlt_8_a_defect_of_work_aside_ends_nothing_else() {
        assert_eq!(run("fine", || 1).await, Some(1));
        let defect = |none: Option<u8>| move || none.unwrap();
        assert_eq!(run("broken", defect(None)).await, None);
        assert_eq!(run("fine again", || 2).await, Some(2));
    }
}
