//! How the rest of a waiting or polling state ends: what came and what did not is classified, and
//! repeated from the last entry point where a policy says so (ERR-6, 7, 11…13).

use jiff::Timestamp;

use super::super::{Event, State};
use super::call::QUOTED_BYTES;
use super::snapshot::{Asked, OpenRequest};
use super::task::awaited;
use super::{Stage, Then};
use crate::order::OrderError;
use crate::retry::{self, ASYNC_TIMEOUT, ErrorClass, Interaction, POLLING_TIMEOUT, Reply};

impl Stage {
    /// All callbacks are in, or their time is over.
    pub(super) fn leave_wait(&mut self, event: Event, now: Timestamp) {
        let requests: Vec<OpenRequest> = awaited(&self.cursor.requests).cloned().collect();
        self.cursor.requests.clear();
        let failed: Vec<(usize, OrderError)> = requests
            .iter()
            .enumerate()
            .filter_map(|(index, request)| Some((index, self.failure_of(request, event)?)))
            .collect();
        if failed.is_empty() {
            return self.raise(event, now);
        }
        let errors: Vec<OrderError> = failed.iter().map(|(_, error)| error.clone()).collect();
        match self.repeat_later(&errors, now) {
            Ok(()) => {
                let failed: Vec<usize> = failed.iter().map(|(index, _)| *index).collect();
                self.keep_good_answers(&requests, &failed);
            }
            Err(error) => {
                // Its cycle is over, whatever the scenario makes of it.
                self.forget_async_cycle();
                self.end.failed(error, now);
                let state = self.scenario.state(self.state);
                let told_apart = event == Event::Callback && state.target_of(Event::Fail).is_some();
                self.raise(if told_apart { Event::Fail } else { event }, now);
            }
        }
    }

    /// The repeat does not send again what has its answer, where the scenario wants it so.
    fn keep_good_answers(&mut self, requests: &[OpenRequest], failed: &[usize]) {
        let all_kept = self.scenario.state(self.state).retry_failed_only;
        let good = requests.iter().enumerate().filter(|(index, _)| !failed.contains(index));
        for (_, request) in good.filter(|(_, request)| all_kept || request.keep_answer) {
            let place = format!("{}/{}", request.state, request.name);
            if !self.cursor.answered.contains(&place) {
                self.cursor.answered.push(place);
            }
        }
    }

    /// What is wrong with the answer to a request, or with its absence.
    fn failure_of(&self, request: &OpenRequest, event: Event) -> Option<OrderError> {
        let name = &request.name;
        let callback = self.received.iter().find(|callback| callback.name == *name);
        let reply = match callback {
            Some(callback) => {
                Reply::Callback { step_status: callback.step_status.as_deref(), body: &callback.body }
            }
            None if event == Event::Timeout => Reply::TimedOut,
            None => return None,
        };
        let class = self.class_of(request.asked.as_ref(), &reply)?;
        let message = match &reply {
            Reply::TimedOut => format!("no answer to request `{name}` came in time"),
            Reply::Callback { step_status, body } => {
                let mut quoted = self.end.concealed(&self.scenario.mask.body_text(body));
                quoted.truncate(quoted.floor_char_boundary(QUOTED_BYTES));
                let status = step_status.map_or_else(String::new, |status| format!(" {status}"));
                format!("request `{name}` was answered{status}: {quoted}")
            }
        };
        let system = request.asked.as_ref().map(Asked::system);
        Some(OrderError { class: Some(class.to_string()), message, system })
    }

    fn class_of(&self, asked: Option<&Asked>, reply: &Reply<'_>) -> Option<ErrorClass> {
        let Some(asked) = asked else {
            // A child order says how it ended: only its absence is a failure.
            return matches!(reply, Reply::TimedOut).then(|| ErrorClass::from(ASYNC_TIMEOUT));
        };
        let asked = match asked {
            Asked::Http { method, host, path } => retry::Asked::Http(Interaction { method, host, path }),
            Asked::Amqp { vhost, exchange, key } => retry::Asked::Amqp { vhost, exchange, key },
        };
        self.settings.errors.classify_async(&asked, reply).map(|classified| classified.class)
    }

    /// Ends the stage with a retry from the last entry point, where each failure has a policy; the
    /// longest of the waits counts (ERR-13). Else the failure that has no retry left.
    fn repeat_later(&mut self, failures: &[OrderError], now: Timestamp) -> Result<(), OrderError> {
        let before = self.cursor.async_cycle.clone();
        let judged = |error: &OrderError| {
            let class = error.class.as_deref().map(ErrorClass::from);
            let failure = retry::Failure {
                scenario: &self.scenario.name,
                class: class.as_ref(),
                retry_after: None,
                sequential_since: self.holding_since(now),
                max_acquisition: self.settings.max_acquisition_duration,
                latest: None,
            };
            retry::on_async_failure(&self.settings.errors, &failure, before.as_ref(), now, self.dice)
        };
        let (place, at, cycle) = match retry::together(failures.iter().map(judged).collect()) {
            None => return Ok(()),
            Some(Err(place)) => return Err(failures[place].clone()),
            Some(Ok(repeat)) => repeat,
        };
        let error = failures[place].clone();
        let told = format!(
            "{}; class `{}`, attempt {} of cycle {}, again from the entry point at {at}",
            error.message, cycle.class, cycle.attempts, cycle.number
        );
        self.end.log(now, told);
        self.cursor.async_cycle = Some(cycle);
        self.note_retry(now, at);
        // A repeat that fails before it comes to where the first failure was goes on with its cycle:
        // two states that took turns would never come to an end otherwise.
        if self.cursor.async_state.is_none() {
            self.cursor.async_state = Some(self.scenario.state(self.state).name.clone());
        }
        self.cursor.from_entry_point = true;
        self.end.over(Then::Retry { at, error });
        Ok(())
    }

    /// The retry of what failed asynchronously is due.
    pub(super) fn repeat_from_entry_point(&mut self, now: Timestamp) {
        self.cursor.from_entry_point = false;
        let named = self.cursor.entry_point.as_ref().map(|entry| entry.state.as_str());
        // An entry point that this version does not have was checked when the order moved to it.
        let to = named.and_then(|name| self.scenario.state_named(name)).unwrap_or(self.scenario.initial);
        self.go(Event::Retry.as_str().into(), to, now);
    }

    /// A script of the polling state wants another attempt.
    pub(super) fn poll_again(&mut self, state: &State, now: Timestamp) {
        let polling = self.cursor.poll.as_mut().filter(|_| self.cursor.call.is_none());
        let (Some(poll), Some(polling)) = (&state.poll, polling) else {
            let message = format!("`poll()` in `{}`, which does not poll", state.name);
            return self.fail_action(OrderError::new("scenario.incomplete", message), now);
        };
        if now < polling.ends_at {
            // The last attempt is made when the time is over, so that none is lost to rounding.
            let at = super::later(now, poll.interval).min(polling.ends_at);
            polling.attempt += 1;
            self.cursor.action = 0;
            self.set_cycle(None);
            return self.end.over(Then::Poll { at });
        }
        let message = format!("`{}` has polled {} times without success", state.name, polling.attempt);
        let error = OrderError::new(POLLING_TIMEOUT, message).about(self.cursor.called.clone());
        if let Err(error) = self.repeat_later(&[error], now) {
            self.forget_async_cycle();
            self.end.failed(error, now);
            self.raise(Event::Timeout, now);
        }
    }
}
