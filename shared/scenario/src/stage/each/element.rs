//! Runs one element of an `each`: as far as it comes by itself, up to its next request to the world.

use pagurus_domain::classes::{PANIC, SCENARIO_INCOMPLETE, VARS_TOO_LARGE};
use pagurus_domain::id::RequestId;
use pagurus_domain::order::OrderError;
use serde_json::Value;

use super::super::asked::{asked_by_amqp, request_value};
use super::super::failing::Failing as _;
use super::super::need::{ChildOrder, HttpCall, Publication};
use super::super::response::asked_by_http;
use super::super::snapshot::{ElementEnd, ElementProgress};
use super::super::{Need, StageRun, StageTurn};
use super::{ACTIONS, EachFailure, EachRequest, ElementFault, ElementPoint};
use crate::action::MOST_ACTIONS;
use crate::script::{Raised, RunError, Script};
use crate::value::Element;
use crate::{Action, EachAction, Folded};

impl StageRun {
    /// Shows the actions their element, with its answer.
    pub(super) fn show(&mut self, each: &EachAction, index: usize) {
        let Some(element) = self.element(index) else { return };
        let value = element.value.as_ref().map_or(Value::Null, |value| value.value().clone());
        let last = element.last.clone();
        self.context.element = Some(Element { name: each.name.clone(), value, index });
        self.context.response = last;
    }

    /// Runs the scripts of an element up to what it asks the world for, or to its end.
    pub(super) fn come_far(
        &mut self,
        each: &EachAction,
        index: usize,
        turn: &StageTurn<'_>,
    ) -> Result<ElementPoint, EachFailure> {
        loop {
            let Some(next) = self.element(index).map(|element| element.next) else {
                return Ok(ElementPoint::Over);
            };
            let outcome = match each.actions.get(next) {
                None => self.end_element(each, index, turn).map(|()| true),
                Some(Action::Script(script)) => self.run_for_element(each, script, index, turn),
                Some(action) => {
                    if !action.request().is_some_and(|name| self.is_element_answered(name, index, turn)) {
                        return Ok(ElementPoint::AtWorld);
                    }
                    // Its answer was good: only what failed is sent again.
                    self.element(index).into_iter().for_each(ElementProgress::advance);
                    Ok(false)
                }
            };
            match outcome {
                Ok(false) => {}
                Ok(true) => return Ok(ElementPoint::Over),
                Err(fault) => {
                    return self.element_fails(each, index, fault, turn).map_or(Ok(ElementPoint::Over), Err);
                }
            }
        }
    }

    /// Ends an element whose actions have all gone through.
    pub(super) fn end_element(
        &mut self,
        each: &EachAction,
        index: usize,
        turn: &StageTurn<'_>,
    ) -> Result<(), ElementFault> {
        self.show(each, index);
        let mut values = Vec::with_capacity(each.save.len());
        for (name, template) in &each.save {
            let value = template.render(&self.context, &turn.settings.scripting).map_err(|error| {
                let message = format!("save `{name}`: {}", error.message);
                ElementFault::for_good(RunError { message, ..error }.into_error(self, turn))
            })?;
            values.push(Folded::from(value).folded());
        }
        if let Some(element) = self.element(index) {
            element.over(ElementEnd::Done(values));
        }
        let most = turn.settings.bounds.max_vars_bytes;
        let bytes: usize = self.elements().iter().map(ElementProgress::bytes_of_end).sum();
        if bytes > most {
            let message = format!("what the elements have for `save` has more than {most} bytes");
            return Err(ElementFault::for_good(OrderError::new(VARS_TOO_LARGE, message)));
        }
        Ok(())
    }

    /// Saves what the answers of the element give by now; null for a variable that needs more.
    pub(super) fn save_as_far(&mut self, each: &EachAction, index: usize, turn: &StageTurn<'_>) {
        let Some(element) = self.element(index) else { return };
        if element.end.is_some() || (element.next == 0 && element.last.is_none()) {
            return;
        }
        self.show(each, index);
        let values = each.save.iter().map(|(_, template)| {
            let value = template.render(&self.context, &turn.settings.scripting);
            Folded::from(value.unwrap_or_default()).folded()
        });
        let values = values.collect();
        if let Some(element) = self.element(index) {
            element.over(ElementEnd::Done(values));
        }
    }

    /// True if the element is over.
    pub(super) fn run_for_element(
        &mut self,
        each: &EachAction,
        script: &Script,
        index: usize,
        turn: &StageTurn<'_>,
    ) -> Result<bool, ElementFault> {
        self.show(each, index);
        let vars = script.may_name("vars").then(|| self.context.vars.clone());
        let said = turn.settings.scripting.run(script, &mut self.context);
        let said = said.map_err(|error| ElementFault::for_good(error.into_error(self, turn)))?;
        said.log.into_iter().for_each(|line| self.end.log(turn.now, line));
        let (result, message) = self.hear(said.result, said.message, turn);
        self.cursor.hear(result, message, said.answer);
        if let Some(vars) = vars.filter(|vars| *vars != self.context.vars) {
            self.context.vars = vars;
            let error = RunError::new("a script inside `each` sets no variables; change the element instead");
            return Err(ElementFault::for_good(error.into_error(self, turn)));
        }
        let value = self.context.element.take().map(|element| element.value).filter(|value| !value.is_null());
        let Some(element) = self.element(index) else { return Ok(true) };
        element.value = value.map(Folded::from);
        match said.raised {
            None => {
                element.advance();
                Ok(false)
            }
            Some(Raised::Success) => {
                element.next = each.actions.len();
                element.advance();
                Ok(false)
            }
            Some(Raised::Fail { message, class }) => {
                let message = message.unwrap_or_else(|| "the scenario said so".into());
                let system = self.cursor.visit.called.clone();
                let error = OrderError { class, message, system, ..OrderError::default() };
                Err(ElementFault { error, repeat: Some(None), by_script: true })
            }
            Some(Raised::Poll | Raised::Event(_)) => {
                let message = "a script inside `each` does not move the order";
                Err(ElementFault::for_good(OrderError::new(SCENARIO_INCOMPLETE, message)))
            }
        }
    }

    /// Returns the next request of the element to the world.
    pub(super) fn ask(
        &mut self,
        each: &EachAction,
        index: usize,
        turn: &StageTurn<'_>,
    ) -> Result<ToWorld, ElementFault> {
        let element = self.element(index).map(|element| (element.next, element.request));
        let Some((next, request)) = element else { return Err(ElementFault::for_good(no_action())) };
        let Some(action) = each.actions.get(next) else { return Err(ElementFault::for_good(no_action())) };
        if let (Some(name), None) = (action.request(), request) {
            self.show(each, index);
            let cancel = self.cancel_of(action, turn);
            self.context.element = None;
            let cancel = cancel.map_err(|error| ElementFault::for_good(error.into_error(self, turn)))?;
            let need = Need::Register {
                name: name_of(name, self.number(index)),
                visit: self.cursor.visit.number,
                action: number_of(self.cursor.frame().action, self.number(index), next),
                hand_out: 0,
                task: None,
                cancel,
            };
            return Ok(ToWorld::Alone(EachRequest::Registration(index), Box::new(need)));
        }
        self.show(each, index);
        let rendered = self.render_for_element(action, index, request, turn);
        (self.context.request, self.context.element) = (None, None);
        rendered.map_err(|error| ElementFault::for_good(error.into_error(self, turn)))
    }

    pub(super) fn render_for_element(
        &mut self,
        action: &Action,
        index: usize,
        request: Option<RequestId>,
        turn: &StageTurn<'_>,
    ) -> Result<ToWorld, RunError> {
        self.context.request = request.map(|id| request_value(id, turn));
        match action {
            Action::Http(http) => {
                self.conceal_secrets(&http.secrets, turn);
                let call = self.render_http(http, turn)?;
                let asked = asked_by_http(http, &call.url);
                self.note_asked(asked, request, turn);
                Ok(ToWorld::Call(Box::new(HttpCall { request, ..call })))
            }
            Action::Amqp(amqp) => {
                self.conceal_secrets(&amqp.secrets, turn);
                let message = self.render_amqp(amqp, turn)?;
                self.note_asked(asked_by_amqp(&message, turn), request, turn);
                let need = Need::Publish(Publication { request, ..message });
                Ok(ToWorld::Alone(EachRequest::Publication(index), Box::new(need)))
            }
            Action::Order(order) => {
                let registration = self.render_order(order, turn)?;
                let need = Need::Order(ChildOrder { registration, request });
                Ok(ToWorld::Alone(EachRequest::Order(index), Box::new(need)))
            }
            other => Err(RunError::new(format!("`{}` has no place inside `each`", other.word()))),
        }
    }
}

/// Request of an element.
pub(super) enum ToWorld {
    /// A call, which is made together with those of others.
    Call(Box<HttpCall>),
    /// A request that is made alone.
    Alone(EachRequest, Box<Need>),
}

/// The name of the request of the element with this number: no scenario can name one like this.
pub(super) fn name_of(request: &str, number: usize) -> String {
    format!("{request}.{number}")
}

/// A number for an action of the element with this number that no other action of the state has.
fn number_of(action: usize, number: usize, next: usize) -> u32 {
    let number = action + ACTIONS * (1 + number * MOST_ACTIONS + next);
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Fault that is never reached: elements without a next action are over.
fn no_action() -> OrderError {
    OrderError::new(PANIC, "a defect of the engine left an element without its action")
}
