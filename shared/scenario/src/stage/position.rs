//! The position of a stage where it ends, and where it is saved on its way.

use pagurus_domain::order::stage::Then;
use serde_json::Value;

use super::end::{Reached, StageEnd};
use super::snapshot::{Answers, RetryTime, Snapshot};
use super::{StageRun, StageTurn};

impl StageRun {
    /// The end of the stage.
    pub(super) fn finished(&mut self, turn: &StageTurn<'_>) -> StageEnd {
        let stays = matches!(self.end.then, Some(Then::Retry { .. } | Then::Hold { .. }));
        // A call that moved the order is answered when the order comes to rest or to its end.
        if !stays {
            self.answer_mover(turn);
        }
        // A sleep gives the queue up: an order that takes it again may hold it as long as any other.
        if matches!(self.end.then, Some(Then::Sleep { .. })) {
            self.cursor.retry_time = RetryTime::default();
        }
        self.cursor.main.so_far = self.so_far(turn);
        // Where the same state goes on, it sees the answers that it had.
        let keeps_answers =
            stays || self.cursor.visit.awaiting.is_some() || self.cursor.operation().is_some();
        let cursor = self.position(keeps_answers);
        let (step, distance) = self.stand(turn);
        let end = self.end.build(cursor, step, distance, turn.started_at);
        self.with_cancels(self.with_asked(end, turn), turn)
    }

    /// Name of the present state, and transitions from there to the nearest target.
    fn stand<'t>(&self, turn: &StageTurn<'t>) -> (&'t str, Option<usize>) {
        (&turn.scenario.state(self.state).name, turn.scenario.distance_to_target(self.state))
    }

    /// The position with the names that are in the hand of the stage.
    pub(super) fn position(&self, keeps_answers: bool) -> Snapshot {
        let mut cursor = self.cursor.clone();
        let (last, named) = (self.context.response.clone(), self.context.responses.clone());
        let answers = Answers { last, named };
        match cursor.operation_mut() {
            Some(operation) => {
                operation.vars = Value::Object(self.context.vars.clone()).into();
                operation.answers = answers;
            }
            None => {
                cursor.vars.clone_from(&self.context.vars);
                if keeps_answers {
                    cursor.frame_mut().answers = answers;
                }
            }
        }
        cursor
    }

    /// Returns what is to be saved at the entry point that was just entered, and is not reported again at the end.
    pub(super) fn reached(&mut self, turn: &StageTurn<'_>) -> Reached {
        // The stage goes on, and so do its answers.
        let snapshot = self.position(true);
        let (step, distance) = self.stand(turn);
        let is_entry_point = snapshot.operations.is_empty();
        self.end.reach(snapshot, (step, is_entry_point), distance)
    }
}
