//! Takes the answers to what elements asked for: they go on, are set aside to be repeated, or have failed.

use pagurus_domain::classes::{AMQP_UNROUTABLE, ORDER_REFUSED, SECRET_FORBIDDEN};
use pagurus_domain::order::OrderError;
use pagurus_domain::retry::Verdict;

use super::super::answered::response_value;
use super::super::need::{HttpFailure, Response};
use super::super::response::asked_by_http;
use super::super::sample::FailedCall;
use super::super::snapshot::{AnsweredCall, ElementEnd, ElementProgress, FailedElement};
use super::super::{Answer, StageRun, StageTurn};
use super::element::name_of;
use super::{EachFailure, EachRequest, ElementFault};
use crate::{Action, EachAction};

impl StageRun {
    /// Takes what the world answered.
    pub(in super::super) fn take_each(&mut self, asked: EachRequest, answer: Answer, turn: &StageTurn<'_>) {
        let Some(Action::Each(each)) = self.present(turn) else { return };
        let fault = match (asked, answer) {
            (EachRequest::Registration(index), Answer::Registered(id)) => {
                let name = self.element(index).and_then(|element| each.actions.get(element.next)?.request());
                self.note_element_request(name.unwrap_or_default(), index, id, turn);
                self.element(index).into_iter().for_each(|element| element.request = Some(id));
                return;
            }
            (EachRequest::Calls(made), Answer::Parallel(outcomes)) => {
                return self.take_calls_of_each(each, &made, &outcomes, turn);
            }
            (EachRequest::Publication(index), Answer::Unpublished(message)) => {
                let error = OrderError::new(AMQP_UNROUTABLE, message);
                (index, error.about(self.cursor.visit.called.clone()))
            }
            (EachRequest::Publication(index), Answer::Forbidden(message)) => {
                (index, OrderError::new(SECRET_FORBIDDEN, message))
            }
            (EachRequest::Order(index), Answer::OrderRefused(message)) => {
                (index, OrderError::new(ORDER_REFUSED, message))
            }
            (EachRequest::Publication(index) | EachRequest::Order(index), _) => {
                self.note_sent_of(index, turn);
                return self.element(index).into_iter().for_each(ElementProgress::advance);
            }
            (EachRequest::Registration(_) | EachRequest::Calls(_), _) => return,
        };
        let (index, error) = fault;
        if let Some(ended) = self.element_fails(each, index, ElementFault::for_good(error), turn) {
            self.fail_each(each, ended, turn);
        }
    }

    pub(super) fn take_calls_of_each(
        &mut self,
        each: &EachAction,
        made: &[(usize, String)],
        outcomes: &[Result<Response, HttpFailure>],
        turn: &StageTurn<'_>,
    ) {
        let (mut through, mut ended) = (0, None);
        for ((index, url), outcome) in made.iter().zip(outcomes) {
            let next = self.element(*index).map_or(usize::MAX, |element| element.next);
            let Some(Action::Http(http)) = each.actions.get(next) else { continue };
            let judged = self.judge(http, url, outcome.as_ref(), turn);
            self.sample_judged(&asked_by_http(http, url), &judged, turn);
            match judged {
                Ok(response) => {
                    through += 1;
                    self.note_sent_of(*index, turn);
                    let is_judged =
                        each.actions[next + 1..].iter().any(|action| matches!(action, Action::Script(_)));
                    let Some(element) = self.element(*index) else { continue };
                    let before = element.last.replace(response_value(http, response).folded());
                    element.answered = is_judged.then_some(AnsweredCall::of_element(next, before));
                    let (id, answer) = (element.request, element.last.clone());
                    element.advance();
                    if let Some(id) = id {
                        self.show(each, *index);
                        self.note_cancel(&each.actions[next], id, answer, turn);
                        self.context.element = None;
                    }
                }
                Err(FailedCall { error, retry_after, .. }) => {
                    let fault = ElementFault { error, repeat: Some(retry_after), by_script: false };
                    if let Some(failure) = self.element_fails(each, *index, fault, turn) {
                        let last =
                            outcome.as_ref().ok().map(|response| response_value(http, response).folded());
                        ended.get_or_insert(EachFailure { last, ..failure });
                    }
                }
            }
        }
        match ended {
            Some(ended) => self.fail_each(each, ended, turn),
            // Nobody got through: to call for all the others, too, would help no one.
            None if through == 0 && self.elements().iter().any(|element| element.failed.is_some()) => {
                self.end_pass(each, turn);
            }
            None => {}
        }
    }

    /// Notes that the request of the element, if any, was sent.
    pub(super) fn note_sent_of(&mut self, index: usize, turn: &StageTurn<'_>) {
        if let Some(id) = self.element(index).and_then(|element| element.request) {
            self.note_sent_request(id, turn);
        }
    }

    /// Sets the element aside to be repeated, or keeps its failure; else the end of all.
    pub(super) fn element_fails(
        &mut self,
        each: &EachAction,
        index: usize,
        fault: ElementFault,
        turn: &StageTurn<'_>,
    ) -> Option<EachFailure> {
        let ElementFault { error, repeat, by_script } = fault;
        let error = OrderError { message: format!("element {index}: {}", error.message), ..error };
        if let Some(retry_after) = repeat
            && matches!(self.verdict(&error, retry_after, turn), Verdict::RetryAt { .. })
        {
            self.end.log(turn.now, format!("{}; to be repeated", error.message));
            let retry_after_ms = retry_after.and_then(|after| u64::try_from(after.as_millis()).ok());
            let element = self.element(index)?;
            element.repeated = Some(element.next);
            element.failed = Some(FailedElement { error, retry_after_ms });
            if by_script {
                element.back_to_call(each);
            }
            return None;
        }
        self.give_element_up(each, index, error.storable(), turn)
    }

    /// Gives up a failure that has no repeat left: it is kept beside the others, or ends them all.
    pub(super) fn give_element_up(
        &mut self,
        each: &EachAction,
        index: usize,
        error: OrderError,
        turn: &StageTurn<'_>,
    ) -> Option<EachFailure> {
        // What was not sent will not be answered.
        let number = self.number(index);
        let request = each.actions.iter().find_map(Action::request).map(|name| name_of(name, number));
        let element = self.element(index)?;
        let is_open = element.request.is_some();
        let last = element.last.clone();
        if let Some(request) = request.filter(|_| is_open) {
            self.cursor.drop_requests(&request);
        }
        if !each.collects {
            return Some(EachFailure { index, error, last });
        }
        let class = error.class_word();
        self.end.log(turn.now, format!("kept ({class}): {}", error.message));
        self.element(index)?.over(ElementEnd::Failed(error));
        None
    }
}
