//! Takes the answers of called systems: judged by the rules of the deployment, shown to
//! the scenario, repeated, or handed on as a failure.

use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::order::OrderError;
use pagurus_domain::order::stage::Then;
use pagurus_domain::retry::{self, Cycle, ErrorClass, Outcome as Answered, Verdict};
use pagurus_domain::system::host_and_path;

use super::super::script::RunError;
use super::super::value::Template;
use super::super::xml;
use super::super::{Action, Folded, HttpAction, ScenarioKind};
use super::answered::{SoapFailure, called, response_value};
use super::failing::Failing as _;
use super::need::{HttpFailure, NO_ROOM, READ_TIMEOUT, Response, SECRET_KEPT};
use super::sample::{FailedCall, FailureNature};
use super::snapshot::{AnsweredCall, AsyncRetry, Destination, Polling};
use super::{StageRun, StageTurn, retry_after};

/// Bytes of an error body that a message for people quotes.
pub(super) const QUOTED_BYTES: usize = 200;

/// Outcome of an HTTP request.
pub(super) type ResponseResult<'a> = Result<&'a Response, &'a HttpFailure>;

impl StageRun {
    /// Takes the outcome of the `http` action under the cursor.
    pub(super) fn take_answer(&mut self, url: &str, outcome: ResponseResult<'_>, turn: &StageTurn<'_>) {
        let Some(Action::Http(http)) = self.present(turn) else {
            return;
        };
        let judged = self.judge(http, url, outcome, turn);
        self.sample_judged(&asked_by_http(http, url), &judged, turn);
        match judged {
            Ok(response) => {
                self.note_sent(turn);
                self.note_answered(turn);
                self.keep(http, response);
                self.note_cancel_of_sent(turn);
                match self.save(&http.save, turn) {
                    Ok(()) => self.cursor.advance(),
                    Err(error) => self.fail(error, turn),
                }
            }
            // A repeat must render the same call, so that it sees the answers that this attempt saw.
            Err(failed) => {
                if !self.retries(&failed.error, failed.retry_after, turn) {
                    let point = self.failure_point(turn);
                    match outcome {
                        Ok(response) => self.keep(http, response),
                        Err(_) => self.keep_none(http),
                    }
                    self.fail_at(point, failed.error, turn);
                }
            }
        }
    }

    /// Takes the outcomes of those steps of the `parallel` action under the cursor that were made.
    pub(super) fn take_parallel(
        &mut self,
        made: &[(usize, String)],
        outcomes: &[Result<Response, HttpFailure>],
        turn: &StageTurn<'_>,
    ) {
        let Some(Action::Parallel(steps)) = self.present(turn) else {
            return;
        };
        let mut failures = Vec::new();
        for ((index, url), outcome) in made.iter().zip(outcomes) {
            let Some(http) = steps.get(*index) else { continue };
            let judged = self.judge(http, url, outcome.as_ref(), turn);
            self.sample_judged(&asked_by_http(http, url), &judged, turn);
            match judged {
                Ok(response) => {
                    self.name(http, response_value(http, response).folded());
                    self.cursor.frame_mut().parallel_done.push(*index);
                }
                Err(failed) => failures.push(failed),
            }
        }
        if failures.is_empty() {
            self.cursor.frame_mut().parallel_done = (0..steps.len()).collect();
            return match self.settle_parallel(steps, turn) {
                Ok(()) => self.cursor.advance(),
                Err(error) => self.fail(error, turn),
            };
        }
        let verdicts = failures
            .iter()
            .map(|FailedCall { error, retry_after, .. }| self.verdict(error, *retry_after, turn))
            .collect();
        match retry::together(verdicts) {
            None => {}
            Some(Ok((place, at, cycle))) => {
                self.rest_until_retry(at, cycle, &failures.swap_remove(place).error, turn);
            }
            Some(Err(place)) => {
                let point = self.failure_point(turn);
                for ((index, _), outcome) in made.iter().zip(outcomes) {
                    match (steps.get(*index), outcome) {
                        (Some(http), Ok(response)) => {
                            self.name(http, response_value(http, response).folded())
                        }
                        (Some(http), Err(_)) => self.keep_none(http),
                        (None, _) => {}
                    }
                }
                let saved = self.settle_parallel(steps, turn);
                self.fail_at(point, saved.err().unwrap_or(failures.swap_remove(place).error), turn);
            }
        }
    }

    /// Ends a `parallel`: sets variables from the steps that went through, in their order.
    /// Not before, so that a repeat renders what failed as it was rendered the first time.
    fn settle_parallel(&mut self, steps: &[HttpAction], turn: &StageTurn<'_>) -> Result<(), OrderError> {
        let done = std::mem::take(&mut self.cursor.frame_mut().parallel_done);
        self.note_answered(turn);
        for (index, http) in steps.iter().enumerate() {
            self.context.response =
                http.name.as_ref().and_then(|name| self.context.responses.get(name)).cloned();
            if done.contains(&index) {
                self.save(&http.save, turn)?;
            }
        }
        Ok(())
    }

    pub(super) fn sample_judged(
        &mut self,
        asked: &Destination,
        judged: &Result<&Response, FailedCall>,
        turn: &StageTurn<'_>,
    ) {
        let verdict = judged.as_ref().map(|_| ());
        let verdict = verdict.map_err(|failed| (failed.error.class.clone(), failed.error.message.clone()));
        self.judged.push(verdict);
        match judged {
            Ok(response) => self.sample_answer(asked, response, turn),
            Err(failed) => self.sample_failure(&failed.error, failed.nature, failed.retry_after),
        }
    }

    /// True if an outcome is a success by the scenario and by the rules of the deployment.
    pub(super) fn judge<'a>(
        &self,
        http: &HttpAction,
        url: &str,
        outcome: ResponseResult<'a>,
        turn: &StageTurn<'_>,
    ) -> Result<&'a Response, FailedCall> {
        let system = Some(turn.system_of(&asked_by_http(http, url)));
        match outcome {
            Ok(response) => {
                let is_error = response.status >= 400;
                let allowed = is_error && http.expect.iter().any(|range| range.contains(response.status));
                let soap = if allowed { None } else { SoapFailure::of(http, response) };
                let fault = match &soap {
                    Some(failure) => failure.fault_text(),
                    None => xml::fault_of(&response.body).map(|fault| fault.text()),
                };
                let answered = Answered::Response {
                    status: response.status,
                    body: &response.body,
                    fault: fault.as_deref(),
                };
                // What the scenario expects is no failure, whatever the rules of the deployment say.
                let class = if allowed { None } else { self.classify(http, url, &answered, turn) };
                let class = class.or_else(|| soap.as_ref().map(SoapFailure::class));
                if class.is_none() && (allowed || !is_error) {
                    return Ok(response);
                }
                let mask = &turn.scenario.mask;
                let (link, said) = match &soap {
                    Some(failure) if !mask.hides_bodies() => (" ", failure.words()),
                    _ => (": ", mask.body_text(&response.body)),
                };
                let mut quoted = self.end.secrets.excerpt(&said);
                quoted.truncate(quoted.floor_char_boundary(QUOTED_BYTES));
                let message = format!("{} answered {}{link}{quoted}", called(http, url), response.status);
                let class = class.map(|class| class.to_string());
                let status = Some(response.status);
                let error = OrderError { class, message, system, status, ..OrderError::default() };
                let nature = match &soap {
                    Some(failure) => failure.nature(response.status),
                    None => FailureNature::of_status(response.status),
                };
                Err(FailedCall { error, nature, retry_after: retry_after::of_response(response, turn.now) })
            }
            Err(failure) if failure.chain.contains(&SECRET_KEPT) => Err(FailedCall::kept(failure)),
            Err(failure) => {
                let answered = Answered::Exception { chain: &failure.chain, message: &failure.message };
                let class = self.classify(http, url, &answered, turn).map(|class| class.to_string());
                let chain = failure.chain.join(" > ");
                let message = format!("{}: {} ({chain})", called(http, url), failure.message);
                // Nobody is to ask the called system why this worker was full, or the stage over.
                let is_cut = turn.is_over() && failure.chain.contains(&READ_TIMEOUT);
                let system = system.filter(|_| !is_cut && !failure.chain.contains(&NO_ROOM));
                let bound = ": the stage had to end, by `resource_control.max_sync_duration`";
                let message = if is_cut { message + bound } else { message };
                let error = OrderError { class, message, system, ..OrderError::default() };
                let nature = FailureNature::of_exception(failure);
                Err(FailedCall { error, nature, retry_after: None })
            }
        }
    }

    /// Ends the stage with a retry where there is a policy for the class; else the failure is the
    /// caller's to hand to the scenario.
    pub(super) fn retries(
        &mut self,
        error: &OrderError,
        retry_after: Option<Duration>,
        turn: &StageTurn<'_>,
    ) -> bool {
        let Verdict::RetryAt { at, cycle } = self.verdict(error, retry_after, turn) else {
            return false;
        };
        self.rest_until_retry(at, cycle, error, turn);
        true
    }

    pub(super) fn verdict(
        &self,
        error: &OrderError,
        retry_after: Option<Duration>,
        turn: &StageTurn<'_>,
    ) -> Verdict {
        let class = error.class.as_deref().map(ErrorClass::from);
        let errors = self.errors(turn);
        // The rest of a state is repeated by the rules of the scenario, that of an operation by its own.
        let of_rest = |retry: &AsyncRetry| if retry.action.is_some() { errors } else { turn.errors() };
        let ends_at =
            |retry: &AsyncRetry| of_rest(retry).async_cycle_ends_at(&turn.scenario.name, &retry.cycle);
        let latest = self.cursor.asynchronous.as_ref().map(ends_at);
        // Longer wishes are more often a mistake of the other side than a plan, and they would outlast any policy.
        let retry_after = retry_after.map(|wish| wish.min(turn.settings.max_retry_after));
        let failure = retry::Failure { retry_after, latest, ..self.failure(class.as_ref(), turn) };
        let before = self.cursor.frame().retry.as_ref().map(|retry| &retry.cycle);
        retry::on_failure(errors, &failure, before, turn.now, turn.dice)
    }

    /// A failure as the policies of retries see it.
    pub(super) fn failure<'a>(
        &self,
        class: Option<&'a ErrorClass>,
        turn: &StageTurn<'a>,
    ) -> retry::Failure<'a> {
        retry::Failure {
            scenario: &turn.scenario.name,
            class,
            retry_after: None,
            sequential_since: self.holding_since(turn),
            max_acquisition: turn.settings.max_acquisition_duration,
            latest: None,
        }
    }

    pub(super) fn rest_until_retry(
        &mut self,
        mut at: Timestamp,
        cycle: Cycle,
        error: &OrderError,
        turn: &StageTurn<'_>,
    ) {
        // Repeats inside a polling count in its time: the last one is made when that is over.
        let polling = self.own_state(turn).and(self.cursor.visit.poll.as_ref());
        if let Some(Polling { ends_at, attempt }) = polling {
            if *ends_at <= turn.now {
                let message = format!("attempt {attempt} of polling failed last: {}", error.message);
                return self.end_polling(message, turn);
            }
            at = at.min(*ends_at);
        }
        let text = format!(
            "{}; class `{}`, attempt {} of cycle {}, next at {at:.3}",
            error.message,
            error.class.as_deref().unwrap_or_default(),
            cycle.attempts,
            cycle.number
        );
        self.end.log(turn.now, text);
        self.cursor.repeat(cycle, turn.now, at);
        if self.cursor.operation().is_some() {
            self.back_into_operation();
        } else if turn.scenario.kind == ScenarioKind::Operation && self.own_state(turn).is_some() {
            self.back_to_savepoint(turn);
        }
        self.end.over(Then::Retry { at, error: error.clone() });
    }

    /// Goes back to the last savepoint, where the next attempt of an operation begins (ERR-11). The visit is counted
    /// back, too, so that what is sent again has the same keys.
    fn back_to_savepoint(&mut self, turn: &StageTurn<'_>) {
        // What the repeat does again before it comes here is no end of the cycle.
        let here = (self.cursor.visit.number, self.cursor.main.action);
        self.cursor.main.retry.iter_mut().for_each(|retry| retry.failed_at = retry.failed_at.max(Some(here)));
        let Some(savepoint) = self.cursor.entry_point.clone() else { return };
        let Some(state) = turn.scenario.state_named(&savepoint.state) else { return };
        self.state = state;
        self.cursor.visit.state = Some(savepoint.state);
        self.cursor.visit.number = savepoint.visit;
        self.cursor.begin_frame();
        self.cursor.list_again();
        if let Some(saved) = savepoint.savepoint {
            self.restore(*saved);
        }
    }

    /// Notes that the call under the cursor was answered: a script behind it may refuse the answer.
    pub(super) fn note_answered(&mut self, turn: &StageTurn<'_>) {
        let action = self.cursor.frame().action;
        let is_judged =
            self.actions(turn).iter().skip(action + 1).any(|next| matches!(next, Action::Script(_)));
        self.cursor.frame_mut().answered = is_judged.then(|| AnsweredCall {
            action,
            before: self.context.response.clone(),
            hand_out: self.cursor.visit.hand_out,
            each: None,
        });
    }

    /// Goes back to the call whose answer the script under the cursor refused: the repeat makes it again (ERR-5), and
    /// its cycle is over when the script goes through. Without a call it is the script that is repeated, and an
    /// operation has gone back to its savepoint already.
    pub(super) fn back_to_call(&mut self, turn: &StageTurn<'_>) {
        if !matches!(self.present(turn), Some(Action::Script(_))) {
            return;
        }
        let visit = self.cursor.visit.number;
        let frame = self.cursor.frame_mut();
        let Some(call) = frame.answered.take() else { return };
        let here = (visit, frame.action);
        frame.retry.iter_mut().for_each(|retry| retry.failed_at = retry.failed_at.max(Some(here)));
        frame.action = call.action;
        self.context.response = call.before;
        self.cursor.visit.hand_out = call.hand_out;
    }

    /// Shows the scenario that the call got no answer.
    fn keep_none(&mut self, http: &HttpAction) {
        if let Some(name) = &http.name {
            self.context.responses.remove(name);
        }
        self.context.response = None;
    }

    /// Shows an answer to the scenario.
    fn keep(&mut self, http: &HttpAction, response: &Response) {
        let value = response_value(http, response);
        self.name(http, value.clone());
        self.context.response = Some(value);
    }

    fn name(&mut self, http: &HttpAction, value: Folded) {
        if let Some(name) = &http.name {
            self.context.responses.insert(name.clone(), value);
        }
    }

    /// Sets variables from an answer: all of them, or none.
    pub(super) fn save(
        &mut self,
        save: &[(String, Template)],
        turn: &StageTurn<'_>,
    ) -> Result<(), OrderError> {
        if save.is_empty() {
            return Ok(());
        }
        let before = self.context.vars.clone();
        self.set_vars(save, turn).inspect_err(|_| self.context.vars = before)
    }

    fn set_vars(&mut self, save: &[(String, Template)], turn: &StageTurn<'_>) -> Result<(), OrderError> {
        for (name, template) in save {
            let value = template.render(&self.context, &turn.settings.scripting).map_err(|error| {
                RunError { message: format!("save `{name}`: {}", error.message), ..error }
                    .into_error(self, turn)
            })?;
            self.context.vars.insert(name.clone(), value);
        }
        self.check_vars(turn)
    }
}

/// Returns the destination of a call.
pub(super) fn asked_by_http(http: &HttpAction, url: &str) -> Destination {
    let (host, path) = host_and_path(url);
    Destination::Http { method: http.method.to_string(), host: host.to_owned(), path: path.to_owned() }
}
