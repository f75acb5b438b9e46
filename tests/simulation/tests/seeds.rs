//! Seeds of the simulation: good ones report nothing, a repeat is the same to the byte, and each planted bug is found.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may stop at the first surprise")]

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use pagurus_domain::invariants::Invariant;
use pagurus_simulation::judge::DEFECT;
use pagurus_simulation::outcome::Outcome;
use pagurus_simulation::planted::Planted;
use pagurus_simulation::report::shrunk;
use pagurus_simulation::run::run;
use pagurus_simulation::scenarios::Deployment;

/// Orders of a run: few find nearly as much as many, and sooner.
const ORDERS: usize = 20;
/// Seeds within which a planted bug must be found.
const WITHIN: u64 = 300;

fn one(seed: u64, planted: Option<Planted>, deployment: &Deployment) -> Outcome {
    run(seed, ORDERS, planted, deployment, false).unwrap()
}

/// Events that must occur at least once in all these seeds: without them their silence says nothing.
const SOMETIMES: [&str; 31] = [
    "a call was held back",
    "a child was refused that would stand behind its parent",
    "a child was started again, and was there",
    "a flow was stopped",
    "an operation acted on an order",
    "an order ended because another ended otherwise",
    "an order started another",
    "an order was restarted, and waits for others",
    "an order waited for others, and they ended as it needs",
    "the end of a child was reported to its parent",
    "a callback came too late",
    "a callback came twice",
    "a callback was accepted",
    "a claim whose answer was lost was given back",
    "a conflict",
    "a dispatcher took the lease",
    "a duplicate order",
    "a hand-out found nothing",
    "a hand-out was not the head of its queue",
    "a node that was declared lost came back",
    "a process died after a commit",
    "a stage saved how far it has come",
    "a stage was broken off",
    "a stage was handed out again",
    "a stage was killed while it ran",
    "a stale pass was refused",
    "an order was interrupted",
    "an order was restarted",
    "the answer of a commit was lost",
    "the end of a stage came too late",
    "the work of a lost node went to others",
];

#[test]
fn qlt_14_without_a_bug_nothing_is_reported_and_everything_was_seen() {
    let deployment = Deployment::new().unwrap();
    let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in 1..=400 {
        let outcome = one(seed, None, &deployment);
        assert!(outcome.is_good(), "{outcome}");
        for (what, count) in outcome.seen {
            *seen.entry(what).or_default() += count;
        }
    }
    let missing: Vec<&str> = SOMETIMES.into_iter().filter(|what| !seen.contains_key(what)).collect();
    assert!(missing.is_empty(), "not seen: {missing:?}");
    assert_eq!(seen.get(DEFECT), None);
}

#[test]
fn qlt_14_a_seed_replays_to_the_byte() {
    let deployment = Deployment::new().unwrap();
    for seed in 1..=20 {
        let digests: Vec<String> = std::thread::scope(|scope| {
            let runs: Vec<_> = (0..2).map(|_| scope.spawn(|| one(seed, None, &deployment).digest)).collect();
            runs.into_iter().map(|run| run.join().unwrap()).collect()
        });
        assert_eq!(digests[0], digests[1], "seed {seed}");
    }
    assert_ne!(one(1, None, &deployment).digest, one(2, None, &deployment).digest);
}

#[test]
fn qlt_14_each_planted_bug_is_caught() {
    let deployment = Deployment::new().unwrap();
    let next = AtomicUsize::new(0);
    let missed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(planted) = Planted::ALL.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let runs = (1..=WITHIN).map(|seed| one(seed, Some(*planted), &deployment));
                    match runs.into_iter().find(|one| !one.is_good()) {
                        Some(one) => println!("{planted:?}: seed {}, {}", one.seed, one.violations[0]),
                        None => missed.lock().unwrap().push(*planted),
                    }
                }
            });
        }
    });
    let missed = missed.into_inner().unwrap();
    assert!(missed.is_empty(), "not found within {WITHIN} seeds: {missed:?}");
}

#[test]
fn qlt_14_a_failure_is_shrunk_to_few_orders_and_shows_its_end() {
    let deployment = Deployment::new().unwrap();
    let planted = Some(Planted::RemovedBeforeConfirm);
    let failed = (1..=WITHIN).map(|seed| one(seed, planted, &deployment)).find(|one| !one.is_good()).unwrap();
    let (seed, orders) = (failed.seed, failed.orders);
    let least = shrunk(failed, planted, &deployment).unwrap();
    assert_eq!(least.seed, seed);
    assert!(least.orders <= orders && !least.is_good());
    assert_eq!(least.violations[0].invariant, Invariant::OneNotification);
    let report = least.to_string();
    assert!(report.contains(&format!("seed {seed} with {} orders", least.orders)), "{report}");
    assert!(report.contains("INV-26") && report.contains("ends Some"), "{report}");
}
