//! Stops by word: of operators, of maintenance windows, and of the system itself. Such a stop says nothing of what is borne.

use jiff::Timestamp;
use pagurus_domain::flow::Decision;

use super::{Bounds, Control, HELD, Phase};

impl Control {
    /// Closes it: nothing goes before this time, because it was said so.
    pub(in super::super) fn close(
        &mut self,
        until: Timestamp,
        in_use: u32,
        bounds: Bounds,
        now: Timestamp,
        why: &str,
    ) {
        if let Phase::Stopped(earlier) = self.phase
            && earlier >= until
        {
            return;
        }
        self.note_borne(in_use);
        self.was_asked |= self.phase == Phase::Open;
        self.phase = Phase::Stopped(until);
        self.stopped_since.get_or_insert(now);
        self.doubt = None;
        self.decide(bounds, now, why.to_owned());
    }

    /// Somebody stops it, who says later when that is over.
    pub(in super::super) fn hold(&mut self, in_use: u32, now: Timestamp, why: &str) {
        self.note_borne(in_use);
        self.keep(Decision { at: now, state: HELD.to_owned(), limit: None, why: why.to_owned() });
    }

    /// Notes what it can take: with that it goes on after a stop.
    fn note_borne(&mut self, in_use: u32) {
        if self.phase == Phase::Open {
            self.borne = Some(self.rule.borne().or(self.rule.limit()).unwrap_or(f64::from(in_use)));
        }
    }

    /// Goes on after somebody had stopped it.
    pub(in super::super) fn begin(&mut self, bounds: Bounds, now: Timestamp, why: &str) {
        (self.pauses, self.relapses, self.was_asked) = (0, 0, true);
        self.resume(bounds, now, why);
    }

    /// Whatever it had decided is void: what failures say does not count any more.
    pub(in super::super) fn release(&mut self, bounds: Bounds, now: Timestamp, why: &str) {
        if self.phase != Phase::Open {
            self.resume(bounds, now, why);
        }
    }

    /// The limit after a stop; none for no limit. Failures say that what was borne may be too much now, and a stop by word
    /// says nothing of it: where nothing limited it before, nothing does afterwards.
    pub(super) fn first_limit(&self, bounds: Bounds) -> Option<f64> {
        let initial = f64::from((bounds.initial >> self.relapses.min(31)).max(1));
        match (self.was_asked || !bounds.stops, bounds.adapts) {
            (false, _) => Some(initial),
            (true, true) => Some(initial.max(self.borne.unwrap_or_default() / 2.0)),
            (true, false) => None,
        }
    }
}
