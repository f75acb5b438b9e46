//! Loops that wait and take turns by hand. All others are tasks ([`pagurus_runtime::task`]), which begin nothing while the node
//! is out of service or the process is to stop.

use crate::tree::{none, rust};

/// Files that do it themselves, with the reason. The list may only shrink.
const BY_HAND: [(&str, &str); 9] = [
    ("services/dispatcher/src/lib.rs", "a turn is as long as it leads, and the pause follows from the lease"),
    ("services/intake/src/amqp/trouble.rs", "a consumer waits for the database within its turn"),
    ("services/intake/src/calls.rs", "a request waits for its answer"),
    ("services/intake/src/http/start.rs", "a request waits for a change of its order"),
    ("services/intake/src/waiters.rs", "it looks only while callers wait"),
    ("services/notifier/src/webhooks.rs", "calls outlive their turns, and room is gathered"),
    ("services/worker/src/lib.rs", "the start waits for the consumer"),
    ("services/worker/src/reconcile.rs", "a failed claim waits for the database, and longer each time"),
    ("services/worker/src/rules.rs", "the start waits for an intake"),
];

/// Files that define what is waited by, and the one that does it for all.
const OF_THE_RUNTIME: [&str; 3] =
    ["shared/runtime/src/host.rs", "shared/runtime/src/offline.rs", "shared/runtime/src/task.rs"];

#[test]
fn architecture_loops_are_tasks_but_for_those_that_differ() {
    let sources = rust();
    let by_hand: Vec<&str> = sources
        .iter()
        .filter(|source| {
            let code = source.code();
            code.contains("sleep_unless_draining") || code.contains("host.turn()")
        })
        .map(|source| source.path.as_str())
        .filter(|path| !OF_THE_RUNTIME.contains(path))
        .collect();
    let known = |path: &str| BY_HAND.iter().any(|(file, _)| *file == path);
    let offenders: Vec<String> =
        by_hand.iter().filter(|path| !known(path)).map(|path| (*path).to_owned()).collect();
    none("loops that wait by hand and are no tasks", &offenders);
    let needless: Vec<String> = BY_HAND
        .iter()
        .filter(|(file, _)| !by_hand.contains(file))
        .map(|(file, _)| (*file).to_owned())
        .collect();
    none("exceptions that are none any more", &needless);
}
