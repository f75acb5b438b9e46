//! How the answers of called systems move a stage: judged by the rules of the deployment, shown to
//! the scenario, repeated, or handed on as a failure.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::super::value::{Template, body_value};
use super::super::{Action, Folded, HttpAction, ScenarioKind};
use super::need::{HttpFailure, NO_ROOM, Response};
use super::snapshot::Asked;
use super::{Stage, Then};
use crate::order::OrderError;
use crate::retry::{self, Cycle, ErrorClass, Interaction, Outcome as Answered, Verdict};

/// Bytes of an error body that a message for people quotes.
pub(super) const QUOTED_BYTES: usize = 200;

/// What came of an HTTP request.
pub(super) type Outcome<'a> = Result<&'a Response, &'a HttpFailure>;

/// A failed call: what is told of it, and how long the called system asks to be left alone.
struct Failed {
    error: OrderError,
    retry_after: Option<Duration>,
}

impl Stage {
    /// Takes what came of the `http` action under the cursor.
    pub(super) fn take_answer(&mut self, url: &str, outcome: Outcome<'_>, now: Timestamp, dice: f64) {
        let scenario = self.scenario.clone();
        let Some(Action::Http(http)) = self.present(&scenario) else {
            return;
        };
        match self.judge(http, url, outcome, now) {
            Ok(response) => {
                self.keep(http, response);
                match self.save(&http.save) {
                    Ok(()) => self.advance(),
                    Err(error) => self.fail_action(error, now),
                }
            }
            // A repeat must render the same call, so that it sees the answers that this attempt saw.
            Err(failed) => {
                if !self.retries(&failed.error, failed.retry_after, now, dice) {
                    if let Ok(response) = outcome {
                        self.keep(http, response);
                    }
                    self.fail_action(failed.error, now);
                }
            }
        }
    }

    /// Takes what came of those steps of the `parallel` action under the cursor that were made.
    pub(super) fn take_parallel(
        &mut self,
        made: &[(usize, String)],
        outcomes: &[Result<Response, HttpFailure>],
        now: Timestamp,
        dice: f64,
    ) {
        let scenario = self.scenario.clone();
        let Some(Action::Parallel(steps)) = self.present(&scenario) else {
            return;
        };
        let mut failures = Vec::new();
        for ((index, url), outcome) in made.iter().zip(outcomes) {
            let Some(http) = steps.get(*index) else { continue };
            match self.judge(http, url, outcome.as_ref(), now) {
                Ok(response) => {
                    self.name(http, response_value(response).folded());
                    self.cursor.parallel_done.push(*index);
                }
                Err(failed) => failures.push(failed),
            }
        }
        if failures.is_empty() {
            self.cursor.parallel_done = (0..steps.len()).collect();
            return match self.settle_parallel(steps) {
                Ok(()) => self.advance(),
                Err(error) => self.fail_action(error, now),
            };
        }
        let verdicts = failures
            .iter()
            .map(|Failed { error, retry_after }| self.verdict(error, *retry_after, now, dice))
            .collect();
        match retry::together(verdicts) {
            None => {}
            Some(Ok((place, at, cycle))) => {
                self.rest_until_retry(at, cycle, &failures.swap_remove(place).error, now);
            }
            Some(Err(place)) => {
                for ((index, _), outcome) in made.iter().zip(outcomes) {
                    if let (Some(http), Ok(response)) = (steps.get(*index), outcome) {
                        self.name(http, response_value(response).folded());
                    }
                }
                let saved = self.settle_parallel(steps);
                self.fail_action(saved.err().unwrap_or(failures.swap_remove(place).error), now);
            }
        }
    }

    /// The `parallel` is over: variables are set from the steps that went through, in their order.
    /// Not before, so that a repeat renders what failed as it was rendered the first time.
    fn settle_parallel(&mut self, steps: &[HttpAction]) -> Result<(), OrderError> {
        let done = std::mem::take(&mut self.cursor.parallel_done);
        for (index, http) in steps.iter().enumerate() {
            let answer = http.name.as_ref().and_then(|name| self.context.responses.get(name)).cloned();
            if answer.is_some() {
                self.context.response = answer;
            }
            if done.contains(&index) {
                self.save(&http.save)?;
            }
        }
        Ok(())
    }

    /// Whether an outcome is a success by the scenario and by the rules of the deployment.
    fn judge<'a>(
        &self,
        http: &HttpAction,
        url: &str,
        outcome: Outcome<'a>,
        now: Timestamp,
    ) -> Result<&'a Response, Failed> {
        let system = Some(asked_by_http(http, url).system());
        match outcome {
            Ok(response) => {
                let is_error = response.status >= 400;
                let allowed = is_error && http.expect.iter().any(|range| range.contains(response.status));
                let answered = Answered::Response { status: response.status, body: &response.body };
                // What the scenario expects is no failure, whatever the rules of the deployment say.
                let class = if allowed { None } else { self.classify(http, url, &answered) };
                if class.is_none() && (allowed || !is_error) {
                    return Ok(response);
                }
                let mut quoted = self.end.concealed(&self.scenario.mask.body_text(&response.body));
                quoted.truncate(quoted.floor_char_boundary(QUOTED_BYTES));
                let message = format!("{} answered {}: {quoted}", called(http, url), response.status);
                let class = class.map(|class| class.to_string());
                let error = OrderError { class, message, system };
                Err(Failed { error, retry_after: retry_after(response, now) })
            }
            Err(failure) => {
                let answered = Answered::Exception { chain: &failure.chain, message: &failure.message };
                let class = self.classify(http, url, &answered).map(|class| class.to_string());
                let chain = failure.chain.join(" > ");
                let message = format!("{}: {} ({chain})", called(http, url), failure.message);
                // Nobody is to ask the called system why this worker was full.
                let system = system.filter(|_| !failure.chain.contains(&NO_ROOM));
                Err(Failed { error: OrderError { class, message, system }, retry_after: None })
            }
        }
    }

    /// Ends the stage with a retry where there is a policy for the class; else the failure is the
    /// caller's to hand to the scenario.
    pub(super) fn retries(
        &mut self,
        error: &OrderError,
        retry_after: Option<Duration>,
        now: Timestamp,
        dice: f64,
    ) -> bool {
        let Verdict::RetryAt { at, cycle } = self.verdict(error, retry_after, now, dice) else {
            return false;
        };
        self.rest_until_retry(at, cycle, error, now);
        true
    }

    fn verdict(
        &self,
        error: &OrderError,
        retry_after: Option<Duration>,
        now: Timestamp,
        dice: f64,
    ) -> Verdict {
        let class = error.class.as_deref().map(ErrorClass::from);
        let errors = &self.settings.errors;
        let failure = retry::Failure {
            scenario: &self.scenario.name,
            class: class.as_ref(),
            retry_after,
            sequential_since: self.holding_since(now),
            max_acquisition: self.settings.max_acquisition_duration,
            latest: self.cursor.async_cycle.as_ref().map(|cycle| errors.async_cycle_ends_at(cycle)),
        };
        retry::on_failure(errors, &failure, self.cycle(), now, dice)
    }

    fn rest_until_retry(&mut self, at: Timestamp, cycle: Cycle, error: &OrderError, now: Timestamp) {
        let told = format!(
            "{}; class `{}`, attempt {} of cycle {}, next at {at}",
            error.message,
            error.class.as_deref().unwrap_or_default(),
            cycle.attempts,
            cycle.number
        );
        self.end.log(now, told);
        self.set_cycle(Some(cycle));
        self.note_retry(now, at);
        if self.scenario.kind == ScenarioKind::Operation && self.cursor.call.is_none() {
            // What the repeat does again before it comes here is no end of the cycle.
            self.cursor.failed_at = self.cursor.failed_at.max(Some((self.cursor.visit, self.cursor.action)));
            self.back_to_savepoint();
        }
        self.end.over(Then::Retry { at, error: error.clone() });
    }

    /// The next attempt of an operation begins at its last savepoint (ERR-11). The visit is counted
    /// back, too, so that what is sent again bears the same keys.
    fn back_to_savepoint(&mut self) {
        let Some(savepoint) = self.cursor.entry_point.clone() else { return };
        let Some(state) = self.scenario.state_named(&savepoint.state) else { return };
        self.state = state;
        self.cursor.state = Some(savepoint.state);
        self.cursor.visit = savepoint.visit;
        self.cursor.action = 0;
        self.cursor.parallel_done.clear();
    }

    /// Shows an answer to the scenario.
    fn keep(&mut self, http: &HttpAction, response: &Response) {
        let value = response_value(response);
        self.name(http, value.clone());
        self.context.response = Some(value);
    }

    fn name(&mut self, http: &HttpAction, value: Folded) {
        if let Some(name) = &http.name {
            self.context.responses.insert(name.clone(), value);
        }
    }

    fn classify(&self, http: &HttpAction, url: &str, answered: &Answered<'_>) -> Option<ErrorClass> {
        let (host, path) = host_and_path(url);
        let interaction = Interaction { method: http.method.as_str(), host, path };
        self.settings.errors.classify(&interaction, answered).map(|classified| classified.class)
    }

    /// Sets variables from an answer: all of them, or none.
    pub(super) fn save(&mut self, save: &[(String, Template)]) -> Result<(), OrderError> {
        if save.is_empty() {
            return Ok(());
        }
        let before = self.context.vars.clone();
        self.set_vars(save).inspect_err(|_| self.context.vars = before)
    }

    fn set_vars(&mut self, save: &[(String, Template)]) -> Result<(), OrderError> {
        for (name, template) in save {
            let value = template
                .render(&self.context, &self.settings.scripting)
                .map_err(|error| OrderError::new(error.class, format!("save `{name}`: {}", error.message)))?;
            self.context.vars.insert(name.clone(), value);
        }
        self.check_vars()
    }
}

/// Where a call went.
pub(super) fn asked_by_http(http: &HttpAction, url: &str) -> Asked {
    let (host, path) = host_and_path(url);
    Asked::Http { method: http.method.to_string(), host: host.to_owned(), path: path.to_owned() }
}

fn called(http: &HttpAction, url: &str) -> String {
    let (host, path) = host_and_path(url);
    format!("{} {host}{path}", http.method)
}

/// The answer as `response` shows it.
fn response_value(response: &Response) -> Folded {
    let headers: Map<String, Value> =
        response.headers.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
    let kind = response.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let body = body_value(&response.body, kind.map(|(_, kind)| kind.as_str()));
    let mut value = json!({
        "status": response.status,
        "headers": headers,
        "durationMs": u64::try_from(response.duration.as_millis()).unwrap_or(u64::MAX),
    });
    // Moved, not copied: the tree of a long answer is large.
    if let Value::Object(map) = &mut value {
        map.insert("body".into(), body);
    }
    let of_headers: usize = response.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    Folded::about(value, response.body.len() + of_headers)
}

/// How long the called system asks to be left alone: seconds, or a date (RFC 9110, 10.2.3).
fn retry_after(response: &Response, now: Timestamp) -> Option<Duration> {
    if !matches!(response.status, 429 | 503) {
        return None;
    }
    let (_, value) = response.headers.iter().find(|(name, _)| name == "retry-after")?;
    if let Ok(seconds) = value.trim().parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let at = jiff::fmt::rfc2822::parse(value.trim()).ok()?.timestamp();
    Duration::try_from(at.duration_since(now)).ok()
}

/// Host with port, and path, of an absolute URL; without the query, and without the name and
/// password that some URLs carry.
pub(super) fn host_and_path(url: &str) -> (&str, &str) {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.split(['?', '#']).next().unwrap_or(rest);
    let (authority, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
    (authority.rsplit_once('@').map_or(authority, |(_, host)| host), path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn err_1_the_path_of_a_url_is_found_without_its_query() {
        assert_eq!(host_and_path("http://h:1/a/b?c=/d"), ("h:1", "/a/b"));
        assert_eq!(host_and_path("http://h"), ("h", "/"));
        assert_eq!(host_and_path("http://me:secret@h:1/a@b"), ("h:1", "/a@b"));
    }
}
