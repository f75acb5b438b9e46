//! A state that is left in the middle of an `each` or a `parallel`: what went through of it is saved all the same, so that
//! it can be undone (SCN-17, SCN-9).

use serde_json::{Map, Value};

use super::super::{Action, Folded, HttpAction};
use super::{StageRun, StageTurn};

impl StageRun {
    /// Saves the results so far when the order leaves its state. The handling of a call never does that.
    pub(super) fn save_so_far(&mut self, turn: &StageTurn<'_>) {
        if !self.is_unfinished() {
            return;
        }
        let response = self.context.response.clone();
        let actions = &turn.scenario.state(self.state).actions;
        let in_list = self.cursor.main.each.as_ref().and_then(|each| actions.get(each.at.1));
        if let Some(Action::Each(each)) = in_list {
            self.set_lists_so_far(each, turn);
        }
        if let Some(Action::Parallel(steps)) = actions.get(self.cursor.main.action) {
            self.save_steps_so_far(steps, turn);
        }
        self.context.response = response;
    }

    /// Returns the variables that would be set if the state were left now; `None` if nothing is unfinished.
    pub(super) fn so_far(&mut self, turn: &StageTurn<'_>) -> Option<Folded> {
        if self.cursor.handling.is_some() {
            return self.cursor.main.so_far.take();
        }
        if !self.is_unfinished() {
            return None;
        }
        let (vars, main) = (self.context.vars.clone(), self.cursor.main.clone());
        self.save_so_far(turn);
        self.cursor.main = main;
        let saved = std::mem::replace(&mut self.context.vars, vars);
        let set = saved.into_iter().filter(|(name, value)| self.context.vars.get(name) != Some(value));
        let set: Map<String, Value> = set.collect();
        (!set.is_empty()).then(|| Folded::from(Value::Object(set)).folded())
    }

    fn is_unfinished(&self) -> bool {
        let (main, visit) = (&self.cursor.main, self.cursor.visit.number);
        let in_list = main.each.as_ref().is_some_and(|each| each.at.0 == visit);
        self.cursor.handling.is_none()
            && self.cursor.operations.is_empty()
            && (in_list || !main.parallel_done.is_empty())
    }

    fn save_steps_so_far(&mut self, steps: &[HttpAction], turn: &StageTurn<'_>) {
        let done = std::mem::take(&mut self.cursor.main.parallel_done);
        for (_, http) in steps.iter().enumerate().filter(|(index, _)| done.contains(index)) {
            self.context.response =
                http.name.as_ref().and_then(|name| self.context.responses.get(name)).cloned();
            // What cannot be set is left out.
            self.save(&http.save, turn).unwrap_or_default();
        }
    }
}
