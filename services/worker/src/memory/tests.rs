//! MemoryBudget is bounded, and nobody waits for ever for it (QLT-3, QLT-8).

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::time::Duration;

use tokio::time::timeout;

use super::*;

const MIB: usize = 1024 * 1024;
/// Longest time that taking what is there needs.
const AT_ONCE: Duration = Duration::from_secs(5);
/// Time after which a stage counts as waiting for another.
const A_WHILE: Duration = Duration::from_millis(50);

async fn takes(share: &Share, bytes: usize) -> bool {
    timeout(A_WHILE, share.more(bytes)).await.is_ok_and(|taken| taken.is_ok())
}

/// All of a memory of 4 MiB is taken by two stages.
async fn full(memory: &MemoryBudget) -> [Share; 2] {
    let shares = [memory.share(), memory.share()];
    for share in &shares {
        share.more(MIB + RESERVE).await.unwrap();
    }
    for share in &shares {
        share.more(MIB).await.unwrap();
    }
    shares
}

fn memory() -> MemoryBudget {
    MemoryBudget { per_stage: 4 * MIB, ..MemoryBudget::new(4 * MIB, MIB) }
}

#[tokio::test]
async fn qlt_3_who_finds_no_room_waits_until_another_gives_it_back() {
    let memory = memory();
    let [one, other] = full(&memory).await;
    let late = memory.share();
    assert!(!takes(&late, MIB + RESERVE).await);
    // What was taken last is given back first: that is for those who hold some.
    one.settle(MIB + RESERVE).await;
    assert!(!takes(&late, MIB + RESERVE).await);
    assert!(takes(&other, MIB).await);
    one.settle(100).await;
    assert!(takes(&late, MIB + RESERVE).await);
    drop((one, other, late));
    assert_eq!((memory.begin.available_permits(), memory.more.available_permits()), (2 * MIB, 2 * MIB));
}

#[tokio::test]
async fn qlt_8_who_holds_little_does_not_wait_for_those_who_hold_much() {
    let memory = memory();
    let _full = full(&memory).await;
    let waiting = memory.share();
    let small = memory.share();
    let mut patient = Box::pin(waiting.more(MIB));
    assert!(timeout(A_WHILE, &mut patient).await.is_err());
    assert!(takes(&small, RESERVE).await);
    assert!(!takes(&small, 1).await);
}

#[tokio::test]
async fn qlt_8_one_stage_at_a_time_goes_beyond_the_room() {
    let memory = memory();
    let [one, other] = full(&memory).await;
    assert!(takes(&one, MIB).await);
    assert!(!takes(&other, MIB).await);
    // The one that is there goes on, all of its calls together.
    let both = futures_util::future::join(one.more(MIB / 4), one.more(MIB / 4));
    assert_eq!(timeout(AT_ONCE, both).await.unwrap(), (Ok(()), Ok(())));
    drop(one);
    assert!(takes(&other, MIB).await);
}

#[tokio::test]
async fn qlt_8_stages_that_hold_some_and_want_more_all_come_to_their_end() {
    let memory = memory();
    let stages: Vec<_> = (0..60)
        .map(|_| {
            let share = memory.share();
            tokio::spawn(async move {
                for _ in 0..3 {
                    share.more(MIB).await.unwrap();
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    for stage in stages {
        timeout(AT_ONCE, stage).await.unwrap().unwrap();
    }
    assert_eq!((memory.begin.available_permits(), memory.more.available_permits()), (2 * MIB, 2 * MIB));
    assert_eq!(memory.beyond.available_permits(), 1);
}

#[tokio::test]
async fn qlt_3_one_stage_holds_a_part_of_the_room_at_most() {
    let memory = MemoryBudget::new(8 * MIB, MIB);
    let share = memory.share();
    share.more(2 * MIB).await.unwrap();
    let refused = share.more(MIB).await.unwrap_err().to_string();
    assert!(refused.contains("`worker.max_held_bytes`"), "{refused}");
    // However small the memory, the longest answer fits.
    MemoryBudget::new(1024, MIB).share().more(MIB).await.unwrap();
}
