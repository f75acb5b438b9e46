//! The list of an `each`: its elements are known by their content, so that a repeat over another list keeps what was done
//! for the same element wherever it stands, and asks what was not asked.

use pagurus_domain::classes::EACH_TOO_LONG;
use pagurus_domain::id::RequestId;
use pagurus_domain::order::OrderError;
use serde_json::Value;

use super::super::input::by_request;
use super::super::names::local_name;
use super::super::snapshot::{Digest, ElementNumbers};
use super::super::task::is_task;
use super::super::{StageRun, StageTurn};
use super::element::name_of;
use crate::{Action, EachAction};

/// Different elements that one action may go through in one visit, over all of its lists: more than three lists of the
/// largest `scenario.max_each`, and few enough that each action of each element has a number in an `integer` of SQL.
const MOST_NUMBERS: usize = 32_000;

impl StageRun {
    /// The number of the element at this place.
    pub(super) fn number(&self, index: usize) -> usize {
        self.cursor.frame().each.as_ref().map_or(index, |each| each.number(index))
    }

    /// Digest of the element at this place, as the list has it. `None` in positions that were stored before it was noted.
    fn content_of_element(&self, index: usize) -> Option<Digest> {
        let frame = self.cursor.frame();
        let each = frame.each.as_ref()?;
        frame.numbers.iter().find(|numbers| numbers.at == each.at)?.element(each.number(index))
    }

    /// Numbers of the elements of a list, in its order.
    pub(super) fn number_elements(
        &mut self,
        each: &EachAction,
        at: (u32, usize),
        list: &[Value],
        turn: &StageTurn<'_>,
    ) -> Result<Vec<usize>, OrderError> {
        let list: Vec<Digest> = list.iter().map(|element| self.digest_of(element)).collect();
        let known = self.cursor.frame().numbers.iter().position(|numbers| numbers.at == at);
        let place = known.unwrap_or_else(|| {
            let request = each.actions.iter().find_map(Action::request);
            // The numbers of good answers stay theirs: nobody sees them behind a later request of the same name.
            let kept = request.map_or_else(Vec::new, |request| self.kept_numbers(request, turn));
            let mut numbers = ElementNumbers { at, ..ElementNumbers::default() };
            kept.into_iter().for_each(|(number, element)| numbers.reserve(number, element));
            let tables = &mut self.cursor.frame_mut().numbers;
            tables.push(numbers);
            tables.len() - 1
        });
        let table = &mut self.cursor.frame_mut().numbers[place];
        let numbers = table.assign(&list);
        if table.elements.len() > MOST_NUMBERS {
            let message = format!("the lists of this action had more than {MOST_NUMBERS} different elements");
            return Err(OrderError::new(EACH_TOO_LONG, message));
        }
        Ok(numbers)
    }

    /// Makes `callbacks.NAME` the answers to these elements from here on.
    pub(super) fn begin_round(&mut self, each: &EachAction, numbers: &[usize], turn: &StageTurn<'_>) {
        let request = each.actions.iter().find_map(Action::request);
        let Some(request) = request.filter(|_| self.cursor.handling.is_none()) else { return };
        let kept: Vec<usize> =
            self.kept_numbers(request, turn).into_iter().map(|(number, _)| number).collect();
        let round = numbers.iter().map(|number| Some(*number).filter(|number| kept.contains(number)));
        self.cursor.rounds.insert(request.to_owned(), round.collect());
        let shown = turn.received.iter().filter(|callback| !is_task(&callback.name));
        if let Some(list) = by_request(shown, &self.cursor.rounds).remove(request) {
            self.context.callbacks.insert(local_name(request).to_owned(), list);
        }
    }

    /// True if an earlier attempt got a good answer to the request of this element.
    pub(super) fn is_element_answered(&self, request: &str, index: usize, turn: &StageTurn<'_>) -> bool {
        self.is_answered(&name_of(request, self.number(index)), self.content_of_element(index), turn)
    }

    /// Notes the request of an element, which is stored now.
    pub(super) fn note_element_request(
        &mut self,
        request: &str,
        index: usize,
        id: RequestId,
        turn: &StageTurn<'_>,
    ) {
        let number = self.number(index);
        let content = self.content_of_element(index);
        self.note_request(name_of(request, number), id, content, turn);
        let round = self.cursor.rounds.get_mut(request).filter(|_| self.cursor.handling.is_none());
        round.and_then(|round| round.get_mut(index)).into_iter().for_each(|place| *place = Some(number));
    }
}
