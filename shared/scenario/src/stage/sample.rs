//! Calls that came to an end, as the limits of flows and systems learn from them (DSP-7). Must never move the stage.

use std::time::Duration;

use pagurus_domain::classes::SECRET_FORBIDDEN;
use pagurus_domain::order::OrderError;
use pagurus_domain::order::stage::Then;
use pagurus_domain::system::{BuiltInClass, CallFailure, CallKind, CallOutcome, SystemNames, host_and_path};

use super::need::{HttpFailure, NO_ROOM, SECRET_KEPT};
use super::retry_after;
use super::snapshot::{Destination, OpenRequest};
use super::{Callback, HttpCall, Publication, Response, Stage, StageEnd, StageRun, StageTurn};

/// Good calls reported for one stage at most: a loop of calls says no more by more of them.
const MOST_GOOD: usize = 100;
/// All calls reported for one stage at most. Failures and wishes to be left alone say more, until the system is left alone.
const MOST: usize = 1000;

/// A call of a system that came to an end, or was sent and will be answered by callback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallMade {
    /// The called system: its name in the configuration, else as [`OrderError::system`] names it.
    pub system: String,
    /// Way in which its answer comes.
    pub kind: CallKind,
    /// Outcome of the call.
    pub outcome: CallOutcome,
    /// Time that it took; `None` if no answer came, or none yet.
    pub took: Option<Duration>,
    /// Time for which the system asked to be left alone.
    pub retry_after: Option<Duration>,
}

/// A failed call: the error to report, what it says of the called system, and how long that asks to be left alone.
pub(super) struct FailedCall {
    pub error: OrderError,
    pub nature: FailureNature,
    pub retry_after: Option<Duration>,
}

impl FailedCall {
    /// A call that was not made, because a secret may not be sent there: no rule makes another failure of it.
    pub(super) fn kept(failure: &HttpFailure) -> Self {
        let error = OrderError::new(SECRET_FORBIDDEN, failure.message.clone());
        Self { error, nature: FailureNature::Business, retry_after: None }
    }
}

/// Nature of a failed call, whatever class the rules give it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailureNature {
    /// Limiting without any rule.
    BuiltIn(BuiltInClass),
    /// Technical; it says nothing of the load.
    Technical,
    /// An answer that only the scenario does not want, or a fault of this side: nothing is learnt from it, unless a rule gives it a class.
    Business,
}

impl FailureNature {
    /// Returns the nature of an answer.
    pub(super) fn of_status(status: u16) -> Self {
        match BuiltInClass::of_status(status) {
            Some(class) => Self::BuiltIn(class),
            None if status >= 500 => Self::Technical,
            None => Self::Business,
        }
    }

    /// Returns the nature of a call without an answer, by the names of its failure.
    pub(super) fn of_exception(failure: &HttpFailure) -> Self {
        let is = |name: &str| failure.chain.contains(&name);
        if is(NO_ROOM) || is("UrlError") || is("Forbidden") || is(SECRET_KEPT) {
            Self::Business
        } else if is("ConnectError") || is("ConnectionReset") || is("ConnectionClosed") {
            Self::BuiltIn(BuiltInClass::Connection)
        } else if is("ReadTimeout") {
            Self::BuiltIn(BuiltInClass::Timeout)
        } else {
            Self::Technical
        }
    }
}

impl Stage {
    /// Calls that came to an end so far, or were sent.
    #[must_use]
    pub fn calls(&self) -> &[CallMade] {
        &self.run.end.calls
    }
}

impl StageRun {
    /// The end of the stage with the systems of the requests that it waits for.
    pub(super) fn with_asked(&self, end: StageEnd, turn: &StageTurn<'_>) -> StageEnd {
        if !matches!(end.then, Then::Wait { .. }) {
            return end;
        }
        let asked = self.cursor.asked().map(|(request, asked)| (request, turn.system_of(asked))).collect();
        StageEnd { asked, ..end }
    }
}

impl HttpCall {
    /// The called system: its name in the configuration, else its host.
    #[must_use]
    pub fn system_by(&self, names: &SystemNames) -> String {
        let (host, path) = host_and_path(&self.url);
        names.of_http(host, path).map_or_else(|| self.system(), str::to_owned)
    }
}

impl Publication {
    /// The system behind the exchange: its name in the configuration, else as [`OrderError::system`] names it. `vhost` is
    /// the engine's own virtual host.
    #[must_use]
    pub fn system_by(&self, names: &SystemNames, vhost: &str) -> String {
        let named = names.of_exchange(&self.exchange).map(str::to_owned);
        named.unwrap_or_else(|| {
            let vhost = self.vhost.clone().unwrap_or_else(|| vhost.to_owned());
            Destination::Amqp { vhost, exchange: self.exchange.clone(), key: self.key.clone() }.system()
        })
    }
}

impl StageTurn<'_> {
    /// The name of the system that was asked.
    pub(super) fn system_of(&self, asked: &Destination) -> String {
        let names = &self.settings.systems;
        let named = match asked {
            Destination::Http { host, path, .. } => names.of_http(host, path),
            Destination::Amqp { exchange, .. } => names.of_exchange(exchange),
        };
        named.map_or_else(|| asked.system(), str::to_owned)
    }
}

impl StageRun {
    /// Samples a call that was answered as the scenario hoped. A wish to be left alone counts, whatever the scenario expects.
    pub(super) fn sample_answer(&mut self, asked: &Destination, response: &Response, turn: &StageTurn<'_>) {
        self.sample(CallMade {
            system: turn.system_of(asked),
            kind: CallKind::Direct,
            outcome: CallOutcome::Answered,
            took: Some(response.duration),
            retry_after: retry_after::of_response(response, turn.now),
        });
    }

    /// Samples a failed call. From a business failure, which no rule gives a class, nothing is learnt but that the system was
    /// called, and for how long it asks to be left alone.
    pub(super) fn sample_failure(
        &mut self,
        error: &OrderError,
        nature: FailureNature,
        retry_after: Option<Duration>,
    ) {
        self.sample_failed(error, CallKind::Direct, nature, retry_after);
    }

    /// Samples a request that was sent and whose answer comes by callback.
    pub(super) fn sample_sent(&mut self, asked: &Destination, turn: &StageTurn<'_>) {
        self.sample(CallMade {
            system: turn.system_of(asked),
            kind: CallKind::Asynchronous,
            outcome: CallOutcome::Sent,
            took: None,
            retry_after: None,
        });
    }

    /// Samples the answer to a request, or its absence: `failure` says what is wrong with it.
    pub(super) fn sample_callback(
        &mut self,
        request: &OpenRequest,
        received: Option<&Callback>,
        failure: Option<&OrderError>,
        turn: &StageTurn<'_>,
    ) {
        let Some(asked) = &request.asked else { return };
        let retry_after = received.and_then(|callback| callback.retry_after(turn.now));
        if let Some(error) = failure {
            return self.sample_failed(error, CallKind::Asynchronous, FailureNature::Business, retry_after);
        }
        let received_at = received.and_then(|callback| callback.received_at);
        let took = request.sent_at.zip(received_at).map(|(sent, received)| {
            let took = received.as_millisecond().saturating_sub(sent.as_millisecond());
            Duration::from_millis(u64::try_from(took).unwrap_or(0))
        });
        self.sample(CallMade {
            system: turn.system_of(asked),
            kind: CallKind::Asynchronous,
            outcome: CallOutcome::Answered,
            took,
            retry_after,
        });
    }

    /// Notes for how long an actor asks, with its decision, to be left alone. Its work is not measured.
    pub(super) fn sample_decision(&mut self, system: String, retry_after: Option<Duration>) {
        if retry_after.is_none() {
            return;
        }
        let (kind, outcome) = (CallKind::Direct, CallOutcome::Declined);
        self.sample(CallMade { system, kind, outcome, took: None, retry_after });
    }

    /// Samples a failure without an answer: a time-out of polling.
    pub(super) fn sample_time_out(&mut self, error: &OrderError) {
        self.sample_failed(error, CallKind::Direct, FailureNature::Business, None);
    }

    /// Notes that the stage was held before a call.
    pub(super) fn sample_held(&mut self, system: &str) {
        let (kind, outcome) = (CallKind::Direct, CallOutcome::Held);
        self.sample(CallMade { system: system.to_owned(), kind, outcome, took: None, retry_after: None });
    }

    fn sample_failed(
        &mut self,
        error: &OrderError,
        kind: CallKind,
        nature: FailureNature,
        retry_after: Option<Duration>,
    ) {
        let Some(system) = error.system.clone() else { return };
        let class = error.class.as_deref().map(Into::into);
        let outcome = match nature {
            FailureNature::BuiltIn(built_in) => {
                CallOutcome::Failed(CallFailure { class, built_in: Some(built_in) })
            }
            // A call that was never answered may never have been made.
            FailureNature::Business if class.is_none() && error.status.is_none() && retry_after.is_none() => {
                return;
            }
            FailureNature::Business if class.is_none() => CallOutcome::Declined,
            FailureNature::Business | FailureNature::Technical => {
                CallOutcome::Failed(CallFailure { class, built_in: None })
            }
        };
        self.sample(CallMade { system, kind, outcome, took: None, retry_after });
    }

    fn sample(&mut self, call: CallMade) {
        let is_good = call.outcome == CallOutcome::Answered && call.retry_after.is_none();
        let most = if is_good { MOST_GOOD } else { MOST };
        if self.end.calls.len() < most {
            self.end.calls.push(call);
        }
    }
}
