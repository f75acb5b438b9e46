//! What a repair needs to go on at the action that failed for good, noted before its failure changes the position
//! (ORD-23).

use super::super::Action;
use super::failing::Failing;
use super::snapshot::FailurePoint;
use super::{StageRun, StageTurn};

impl StageRun {
    /// The action under the cursor as the one that fails for good; `None` where nothing can go on from it: in a call, where
    /// answers are awaited that no other life gets, and where it is too large to be kept.
    pub(super) fn failure_point(&self, turn: &StageTurn<'_>) -> Option<FailurePoint> {
        let request = self.present(turn).and_then(Action::request);
        if self.cursor.handling.is_some() || self.cursor.awaits_answers(request) {
            return None;
        }
        let mut point = FailurePoint::of(self.position(true), turn.scenario)?;
        if matches!(self.present(turn), Some(Action::Script(_))) && self.cursor.operation().is_none() {
            point.back_to_call(turn.scenario);
        }
        let fits = point.stored_bytes() <= turn.settings.bounds.max_vars_bytes;
        fits.then_some(point)
    }

    /// Fails the action for good, from this point.
    pub(super) fn fail_at(&mut self, point: Option<FailurePoint>, error: impl Failing, turn: &StageTurn<'_>) {
        let error = error.into_error(self, turn);
        self.leave_frame(Err((error, point)), turn);
    }

    /// Fails the action for good.
    pub(super) fn fail(&mut self, error: impl Failing, turn: &StageTurn<'_>) {
        let point = self.failure_point(turn);
        self.fail_at(point, error, turn);
    }

    /// Forgets the failure where another state does something: that may have undone what went through.
    pub(super) fn forget_failure_point(&mut self, turn: &StageTurn<'_>) {
        let does_something = turn.scenario.state(self.state).actions.iter().any(Action::asks_the_world);
        self.cursor.failed.take_if(|_| does_something);
    }
}
