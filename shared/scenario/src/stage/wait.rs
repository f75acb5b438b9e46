//! End of the rest of a waiting or polling state: what came and what did not is classified, and
//! repeated from the last entry point where a policy says so (ERR-6, 7, 11…13).

use std::time::Duration;

use pagurus_domain::classes::{ASYNC_TIMEOUT, POLLING_TIMEOUT, SCENARIO_INCOMPLETE};
use pagurus_domain::order::OrderError;
use pagurus_domain::order::stage::Then;
use pagurus_domain::retry::{self, ErrorClass, ErrorRules, Interaction, Reply};

use super::super::Event;
use super::super::source::reader::LONGEST_DURATION;
use super::super::xml;
use super::response::QUOTED_BYTES;
use super::snapshot::awaited;
use super::snapshot::{Destination, OpenRequest};
use super::{StageRun, StageTurn, later};

impl StageRun {
    /// Leaves a wait: all callbacks are in, or their time is over.
    pub(super) fn leave_wait(&mut self, event: Event, turn: &StageTurn<'_>) {
        let requests: Vec<OpenRequest> = awaited(&self.cursor.requests).cloned().collect();
        self.cursor.requests.clear();
        let (mut failures, mut good) = (Vec::new(), Vec::new());
        for request in requests {
            let failure = self.failure_of(&request, event, turn);
            let received = turn.received.iter().find(|callback| callback.name == request.name);
            if received.is_some() || failure.is_some() {
                self.sample_callback(&request, received, failure.as_ref(), turn);
            }
            match failure {
                Some(error) => {
                    let retry_after = received.and_then(|callback| callback.retry_after(turn.now));
                    failures.push((error, retry_after));
                }
                None => good.push(request),
            }
        }
        let in_operation = self.cursor.operation().is_some();
        if failures.is_empty() {
            return if in_operation { self.pass_wait(event, None, turn) } else { self.raise(event, turn) };
        }
        let state = turn.scenario.state(self.state);
        match self.repeat_later(&failures, turn) {
            // The repeat does not send again what has its answer, where the scenario wants it so.
            Ok(()) => {
                good.retain(|request| request.keep_answer || state.retry_failed_only);
                self.cursor.keep_answers(&good);
            }
            Err(error) if in_operation => self.give_up(error, event, turn),
            Err(error) => {
                let has_fail_branch = event == Event::Callback && state.target_of(Event::Fail).is_some();
                self.give_up(error, if has_fail_branch { Event::Fail } else { event }, turn);
            }
        }
    }

    /// Gives up a failure that has no retry left: its cycle is over, whatever the scenario makes of it.
    fn give_up(&mut self, mut error: OrderError, event: Event, turn: &StageTurn<'_>) {
        let repeated = self.cursor.asynchronous.as_ref().map(|retry| retry.cycle.class.as_str());
        error.exhausted |= repeated.is_some() && repeated == error.class.as_deref();
        self.cursor.forget_async_retry();
        if self.cursor.operation().is_some() {
            return self.pass_wait(event, Some(error), turn);
        }
        self.note_failure(error, turn);
        self.raise(event, turn);
    }

    /// Returns what is wrong with the answer to a request, or with its absence.
    fn failure_of(&self, request: &OpenRequest, event: Event, turn: &StageTurn<'_>) -> Option<OrderError> {
        let name = &request.name;
        let callback = turn.received.iter().find(|callback| callback.name == *name);
        let fault = callback.and_then(|callback| xml::fault_of(&callback.body)).map(|fault| fault.text());
        let reply = match callback {
            Some(callback) => Reply::Callback {
                step_status: callback.step_status.as_deref(),
                body: &callback.body,
                fault: fault.as_deref(),
            },
            None if event == Event::Timeout => Reply::TimedOut,
            None => return None,
        };
        let class = class_of(request.asked.as_ref(), &reply, self.errors(turn))?;
        let message = match &reply {
            Reply::TimedOut => format!("no answer to request `{name}` came in time"),
            Reply::Callback { step_status, body, .. } => {
                let mut quoted = self.end.secrets.excerpt(&turn.scenario.mask.body_text(body));
                quoted.truncate(quoted.floor_char_boundary(QUOTED_BYTES));
                let status = step_status.map_or_else(String::new, |status| format!(" {status}"));
                format!("request `{name}` was answered{status}: {quoted}")
            }
        };
        let system = request.asked.as_ref().map(|asked| turn.system_of(asked));
        Some(OrderError { class: Some(class.to_string()), message, system, ..OrderError::default() })
    }

    /// Ends the stage with a retry from the last entry point, where each failure has a policy; the
    /// longest of the waits counts (ERR-13). Else the failure that has no retry left.
    fn repeat_later(
        &mut self,
        failures: &[(OrderError, Option<Duration>)],
        turn: &StageTurn<'_>,
    ) -> Result<(), OrderError> {
        let before = self.cursor.asynchronous.as_ref().map(|retry| &retry.cycle);
        let judged = |(error, retry_after): &(OrderError, Option<Duration>)| {
            let class = error.class.as_deref().map(ErrorClass::from);
            let retry_after = retry_after.map(|wish| wish.min(turn.settings.max_retry_after));
            let failure = retry::Failure { retry_after, ..self.failure(class.as_ref(), turn) };
            retry::on_async_failure(self.errors(turn), &failure, before, turn.now, turn.dice)
        };
        let (place, at, cycle) = match retry::together(failures.iter().map(judged).collect()) {
            None => return Ok(()),
            Some(Err(place)) => return Err(failures[place].0.clone()),
            Some(Ok(repeat)) => repeat,
        };
        let error = failures[place].0.clone();
        let text = format!(
            "{}; class `{}`, attempt {} of cycle {}, again from the entry point at {at:.3}",
            error.message, cycle.class, cycle.attempts, cycle.number
        );
        self.end.log(turn.now, text);
        self.cursor.repeat_later(cycle, &turn.scenario.state(self.state).name, turn.now, at);
        self.end.over(Then::Retry { at, error });
        Ok(())
    }

    /// Starts the due retry of what failed asynchronously.
    pub(super) fn repeat_from_entry_point(&mut self, turn: &StageTurn<'_>) {
        self.cursor.asynchronous.iter_mut().for_each(|retry| retry.from_entry_point = false);
        if self.cursor.operation().is_some() {
            return self.repeat_in_operation(turn);
        }
        let entry = self.cursor.entry_point.clone();
        // An entry point that this version does not have was checked when the order moved to it. Without one
        // the life began at the initial state.
        let to = entry.as_ref().and_then(|entry| turn.scenario.state_named(&entry.state));
        let to = to.unwrap_or(turn.scenario.initial);
        if let Some(saved) = entry.and_then(|entry| entry.savepoint) {
            self.restore(*saved);
        }
        self.go(Event::Retry.as_str().into(), to, turn);
    }

    /// Plans another attempt, which a script of the polling state wants.
    pub(super) fn poll_again(&mut self, turn: &StageTurn<'_>) {
        let name = &turn.scenario.state(self.state).name;
        let own = self.own_state(turn).filter(|_| self.cursor.operations.is_empty());
        let rhythm = own.and_then(|state| state.poll.as_ref());
        let Some((poll, mut polling)) = rhythm.zip(self.cursor.visit.poll.clone()) else {
            let message = format!("`poll()` in `{name}`, which does not poll");
            return self.fail(OrderError::new(SCENARIO_INCOMPLETE, message), turn);
        };
        if turn.now < polling.ends_at {
            let interval = match self.lapse(&poll.interval, LONGEST_DURATION, turn) {
                Ok(interval) => interval,
                Err(error) => return self.fail(error, turn),
            };
            // The last attempt is made when the time is over, so that none is lost to rounding.
            let at = later(turn.now, interval).min(polling.ends_at);
            polling.attempt += 1;
            self.cursor.visit.poll = Some(polling);
            self.cursor.main.action = 0;
            self.cursor.main.answered = None;
            self.cursor.main.retry = None;
            self.cursor.sum_up_retries();
            return self.end.over(Then::Poll { at });
        }
        let message = format!("`{name}` has polled {} times without success", polling.attempt);
        self.end_polling(message, turn);
    }

    /// Ends a polling whose time is over and whose last attempt was made.
    pub(super) fn end_polling(&mut self, message: String, turn: &StageTurn<'_>) {
        self.close_operations(turn);
        // A call that was repeated to the end of the polling is what ended it.
        let exhausted = self.cursor.main.retry.is_some();
        let error = OrderError { exhausted, ..OrderError::new(POLLING_TIMEOUT, message) };
        let error = error.about(self.cursor.visit.called.clone());
        self.sample_time_out(&error);
        self.cursor.main.retry = None;
        self.cursor.sum_up_retries();
        if let Err(error) = self.repeat_later(&[(error, None)], turn) {
            self.give_up(error, Event::Timeout, turn);
        }
    }
}

fn class_of(asked: Option<&Destination>, reply: &Reply<'_>, errors: ErrorRules<'_>) -> Option<ErrorClass> {
    let asked = match asked {
        // A child order says how it ended: only its absence is a failure.
        None => return matches!(reply, Reply::TimedOut).then(|| ErrorClass::from(ASYNC_TIMEOUT)),
        Some(Destination::Http { method, host, path }) => {
            retry::Asked::Http(Interaction { method, host, path })
        }
        Some(Destination::Amqp { vhost, exchange, key }) => retry::Asked::Amqp { vhost, exchange, key },
    };
    errors.classify_async(&asked, reply).map(|classified| classified.class)
}
