//! Room is bounded, and nobody waits for ever for it (QLT-3, QLT-8).

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::time::Duration;

use tokio::time::timeout;

use super::*;

const MIB: usize = 1024 * 1024;
/// What is there is taken at once.
const AT_ONCE: Duration = Duration::from_secs(5);
/// Whoever waits so long waits for somebody.
const A_WHILE: Duration = Duration::from_millis(50);

async fn takes(share: &Share, bytes: usize) -> bool {
    timeout(A_WHILE, share.more(bytes)).await.is_ok_and(|taken| taken.is_ok())
}

/// All of the room is taken, and the one that goes beyond it is there.
async fn full(room: &Room) -> Vec<Share> {
    let mut shares = Vec::new();
    for _ in 0..5 {
        let share = room.share();
        share.more(MIB + RESERVE).await.unwrap();
        shares.push(share);
    }
    shares
}

#[tokio::test]
async fn qlt_3_who_finds_no_room_waits_until_another_lets_go() {
    let room = Room::new(4 * MIB, MIB);
    let mut shares = full(&room).await;
    let late = room.share();
    assert!(!takes(&late, MIB + RESERVE).await);
    // The one that went beyond the room gives nothing back to it, and its place to the next.
    shares.pop();
    assert!(takes(&late, MIB + RESERVE).await);
    let later = room.share();
    assert!(!takes(&later, MIB).await);
    shares[0].settle(100).await;
    assert!(takes(&later, MIB).await);
}

#[tokio::test]
async fn qlt_8_who_holds_little_does_not_wait_for_those_who_hold_much() {
    let room = Room::new(4 * MIB, MIB);
    let _full = full(&room).await;
    let waiting = room.share();
    let small = room.share();
    let mut patient = Box::pin(waiting.more(MIB));
    assert!(timeout(A_WHILE, &mut patient).await.is_err());
    assert!(takes(&small, RESERVE).await);
    assert!(!takes(&small, 1).await);
}

#[tokio::test]
async fn qlt_8_stages_that_hold_some_and_want_more_all_come_to_their_end() {
    let room = Room::new(8 * MIB, MIB);
    let stages: Vec<_> = (0..40)
        .map(|_| {
            let share = room.share();
            tokio::spawn(async move {
                share.more(MIB).await.unwrap();
                tokio::task::yield_now().await;
                share.more(MIB).await.unwrap();
            })
        })
        .collect();
    for stage in stages {
        timeout(AT_ONCE, stage).await.unwrap().unwrap();
    }
    assert_eq!(room.free.available_permits(), 8 * MIB);
    assert_eq!(room.beyond.available_permits(), 1);
}

#[tokio::test]
async fn qlt_3_calls_side_by_side_share_what_their_stage_may_have() {
    let room = Room::new(4 * MIB, MIB);
    let _full = {
        let mut full = full(&room).await;
        full.pop();
        full
    };
    // The room is full, and nobody is beyond it: all calls of one stage go there together.
    let stage = room.share();
    let both = futures_util::future::join(stage.more(MIB / 2), stage.more(MIB / 2));
    let (one, other) = timeout(AT_ONCE, both).await.unwrap();
    assert_eq!((one, other), (Ok(()), Ok(())));
}

#[tokio::test]
async fn qlt_3_one_stage_holds_a_part_of_the_room_at_most() {
    let room = Room::new(8 * MIB, MIB);
    let share = room.share();
    share.more(2 * MIB).await.unwrap();
    let refused = share.more(MIB).await.unwrap_err().to_string();
    assert!(refused.contains("`worker.max_held_bytes`"), "{refused}");
    // However small the room, the longest answer fits.
    Room::new(1024, MIB).share().more(MIB).await.unwrap();
}
