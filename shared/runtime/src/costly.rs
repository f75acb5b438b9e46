//! Work of the processor that would be felt by others on the same thread.

/// Does the work; where it is costly, the other tasks of this thread go on elsewhere meanwhile.
///
/// The amount that goes on at once is bounded by the callers, each of which waits here for its own.
pub fn run<T>(is_costly: bool, work: impl FnOnce() -> T) -> T {
    if is_costly { tokio::task::block_in_place(work) } else { work() }
}
