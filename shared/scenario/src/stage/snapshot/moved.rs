//! Moves an order in time, for planned works (DSP-11).

use jiff::{SignedDuration, Timestamp};

use super::Snapshot;

impl Snapshot {
    /// Moves everything that runs by time: what is suspended, what is repeated, what is awaited. The time that passes
    /// by it counts in no limit.
    pub fn shift(&mut self, by: SignedDuration) {
        let moved = |at: &mut Timestamp| *at = at.checked_add(by).unwrap_or(*at);
        self.cycles_mut().for_each(|cycle| cycle.shift(by));
        self.retry_time.shift(by);
        self.visit.poll.iter_mut().for_each(|poll| moved(&mut poll.ends_at));
        if let Some(awaiting) = &mut self.visit.awaiting {
            moved(&mut awaiting.queued_at);
            awaiting.task.iter_mut().flat_map(|task| &mut task.ends_at).for_each(moved);
        }
        let frames = [Some(&mut self.main), self.handling.as_mut().map(|call| &mut call.frame)];
        for frame in frames.into_iter().flatten() {
            frame.rest.iter_mut().for_each(|rest| moved(&mut rest.until));
            frame.held.iter_mut().flat_map(|hold| [&mut hold.since, &mut hold.first]).for_each(moved);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::super::{ActionHold, Awaiting, Polling, Rest, RetryTime, TaskTimes};
    use super::*;
    use pagurus_domain::order::Status;

    #[test]
    fn dsp_11_everything_that_runs_by_time_is_moved_and_moved_back() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut snapshot = Snapshot {
            retry_time: RetryTime { over_ms: 5, span: Some((at(10), at(20))) },
            ..Snapshot::default()
        };
        snapshot.visit.poll = Some(Polling { ends_at: at(30), attempt: 2 });
        snapshot.visit.awaiting = Some(Awaiting {
            name: "actor.a".into(),
            id: None,
            queued_at: at(40),
            task: Some(TaskTimes { work_ms: 1, ends_at: Some(at(50)) }),
        });
        snapshot.main.rest = Some(Rest { status: Status::Wait, until: at(60), planned: None, error: None });
        snapshot.main.held = Some(ActionHold { since: at(70), first: at(65), system: None });
        let before = snapshot.clone();
        snapshot.shift(SignedDuration::from_secs(100));
        assert_eq!(snapshot.retry_time.span, Some((at(110), at(120))));
        assert_eq!(snapshot.visit.poll.as_ref().map(|poll| poll.ends_at), Some(at(130)));
        let awaiting = snapshot.visit.awaiting.as_ref().unwrap();
        assert_eq!((awaiting.queued_at, awaiting.task.unwrap().ends_at), (at(140), Some(at(150))));
        assert_eq!(snapshot.main.rest.as_ref().map(|rest| rest.until), Some(at(160)));
        assert_eq!(snapshot.main.held, Some(ActionHold { since: at(170), first: at(165), system: None }));
        snapshot.shift(SignedDuration::from_secs(-100));
        assert_eq!(snapshot, before);
    }
}
