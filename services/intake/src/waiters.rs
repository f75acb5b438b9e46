//! Callers that wait for the answers of live orders: one task looks for all of them together.
//!
//! A caller is looked for again soon after it came, and less often as it waits on. One that gets
//! no answer, because the database is away or too many wait, finds it by the key of the call.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pagurus_runtime::Host;
use pagurus_runtime::node::chain;
use pagurus_store::hot::calls::{self, StoredCall};
use tokio::sync::{Notify, oneshot};

/// Callers of one process that may wait at a time; the next one learns that its call waits.
pub(crate) const MAX_WAITERS: usize = 5000;
/// Interval between two looks, so that callers that came together are looked for together.
const TURN: Duration = Duration::from_millis(10);
/// The longest pause between two looks for one caller.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// Callers that wait. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiters(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<Vec<Waiter>>,
    /// Notified when the first caller waits.
    begun: Notify,
}

#[derive(Debug)]
struct Waiter {
    /// Number of the call.
    no: i64,
    look_at: Instant,
    pause: Duration,
    tell: oneshot::Sender<StoredCall>,
}

impl Waiters {
    /// Waits for the answer to a call; `None` if too many wait already.
    pub fn wait_for(&self, no: i64) -> Option<oneshot::Receiver<StoredCall>> {
        let mut waiting = self.lock();
        if waiting.len() >= MAX_WAITERS {
            waiting.retain(|waiter| !waiter.tell.is_closed());
        }
        if waiting.len() >= MAX_WAITERS {
            return None;
        }
        let (tell, answer) = oneshot::channel();
        waiting.push(Waiter { no, look_at: Instant::now() + TURN, pause: TURN, tell });
        drop(waiting);
        self.0.begun.notify_one();
        Some(answer)
    }

    /// Looks for as long as the process takes new work.
    pub async fn watch(self, host: Host) -> anyhow::Result<()> {
        loop {
            if self.lock().is_empty() {
                tokio::select! {
                    () = self.0.begun.notified() => {}
                    () = host.draining.cancelled() => return Ok(()),
                }
            }
            if host.sleep_unless_draining(TURN).await {
                return Ok(());
            }
            let due = self.due(Instant::now());
            if due.is_empty() {
                continue;
            }
            let found = async {
                let client = host.store.api().await?;
                calls::answered(&client, &due).await
            };
            match found.await {
                Ok(answered) => self.tell(answered),
                Err(error) => tracing::debug!(error = chain(&error), "answers could not be looked for"),
            }
        }
    }

    /// Returns the numbers of the calls whose answers are to be looked for now, and forgets callers that went away.
    fn due(&self, now: Instant) -> Vec<i64> {
        let mut waiting = self.lock();
        waiting.retain(|waiter| !waiter.tell.is_closed());
        let due = waiting.iter_mut().filter(|waiter| waiter.look_at <= now);
        due.map(|waiter| {
            waiter.pause = (waiter.pause * 3 / 2).min(LONGEST_PAUSE);
            waiter.look_at = now + waiter.pause;
            waiter.no
        })
        .collect()
    }

    fn tell(&self, answered: Vec<StoredCall>) {
        let answered: HashMap<i64, StoredCall> = answered.into_iter().map(|call| (call.no, call)).collect();
        let mut waiting = self.lock();
        let all = std::mem::take(&mut *waiting).into_iter();
        let (ready, others): (Vec<_>, Vec<_>) = all.partition(|waiter| answered.contains_key(&waiter.no));
        *waiting = others;
        drop(waiting);
        for waiter in ready {
            if let Some(call) = answered.get(&waiter.no) {
                // Who went away meanwhile asks again.
                let _ = waiter.tell.send(call.clone());
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Waiter>> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use jiff::Timestamp;
    use serde_json::Value;

    use super::*;

    fn answer(no: i64) -> StoredCall {
        StoredCall {
            no,
            key: format!("k{no}"),
            name: "say".into(),
            body: Value::Null,
            status: "answered".into(),
            answer: Some(Value::Null),
            error: None,
            received_at: Timestamp::UNIX_EPOCH,
            answered_at: Some(Timestamp::UNIX_EPOCH),
        }
    }

    #[test]
    fn qlt_3_callers_are_bounded_and_who_went_away_makes_room() {
        let waiters = Waiters::default();
        let mut receivers: Vec<_> = (0..5000).map(|no| waiters.wait_for(no).unwrap()).collect();
        assert!(waiters.wait_for(5000).is_none());
        receivers.pop();
        assert!(waiters.wait_for(5000).is_some());
    }

    #[test]
    fn scn_9_all_who_wait_are_looked_for_together_and_less_often_as_they_wait_on() {
        let waiters = Waiters::default();
        let mut receivers: Vec<_> = [7, 8, 7].map(|no| waiters.wait_for(no).unwrap()).into_iter().collect();
        let begun = Instant::now() + TURN;
        assert_eq!(waiters.due(begun), [7, 8, 7]);
        assert_eq!(waiters.due(begun + TURN), [0_i64; 0]);
        assert_eq!(waiters.due(begun + TURN * 3 / 2), [7, 8, 7]);
        waiters.tell(vec![answer(7)]);
        assert_eq!(receivers.remove(2).try_recv().unwrap().no, 7);
        assert_eq!(receivers.remove(0).try_recv().unwrap().no, 7);
        assert!(receivers[0].try_recv().is_err());
        let looks = (0..1000_u32).filter(|turn| !waiters.due(begun + TURN * *turn).is_empty()).count();
        assert!((20..40).contains(&looks), "{looks} looks in ten seconds");
        drop(receivers);
        assert!(waiters.due(begun + LONGEST_PAUSE * 100).is_empty());
    }
}
