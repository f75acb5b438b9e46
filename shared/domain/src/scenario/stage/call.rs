//! What a stage asks of the world, what the world answers, and how answers move the stage.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::super::script::RunError;
use super::super::value::percent_encode;
use super::super::{Action, AmqpAction, Auth, Body, HttpAction, Method};
use super::{Stage, StageEnd, Then, later};
use crate::id::RequestId;
use crate::order::{Mode, OrderError};
use crate::retry::{self, ErrorClass, Interaction, Outcome as Answered, Verdict};

/// What a stage needs to go on.
#[derive(Clone, Debug, PartialEq)]
pub enum Need {
    /// Store a request before it is sent; the same visit and action give the same request.
    Register {
        /// Name that the scenario gives it.
        name: String,
        /// Number of the visit.
        visit: u32,
        /// Index of the action.
        action: u32,
    },
    /// Make an HTTP request.
    Http(HttpCall),
    /// Publish a message and have it confirmed.
    Publish(Publication),
    /// Nothing more: the stage has ended.
    Done(Box<StageEnd>),
}

/// One HTTP request, rendered.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpCall {
    /// The method.
    pub method: Method,
    /// The URL with its query.
    pub url: String,
    /// Header fields.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Option<HttpBody>,
    /// Longest time; none means the configured one.
    pub timeout: Option<Duration>,
    /// Sent as `Idempotency-Key`.
    pub idempotency_key: Uuid,
}

/// A body with its media type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpBody {
    /// Media type, unless the action's headers name one.
    pub content_type: &'static str,
    /// The body.
    pub bytes: Vec<u8>,
}

/// One AMQP message, rendered.
#[derive(Clone, Debug, PartialEq)]
pub struct Publication {
    /// The exchange.
    pub exchange: String,
    /// The routing key.
    pub key: String,
    /// Header fields.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// Media type of the body.
    pub content_type: &'static str,
    /// Sent as `message_id`.
    pub message_id: Uuid,
    /// Sent as `correlation_id`, with a `reply_to`.
    pub request: Option<RequestId>,
}

/// What the world answered.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// To [`Need::Register`].
    Registered(RequestId),
    /// To [`Need::Http`]: an answer came, whatever its status.
    Response(Response),
    /// To [`Need::Http`]: no answer came.
    Failed(HttpFailure),
    /// To [`Need::Publish`]: confirmed.
    Published,
    /// To [`Need::Publish`]: the broker has no place for it, or refused it.
    Unpublished(String),
}

/// The answer to an HTTP request.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// Header fields, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, as text.
    pub body: String,
    /// How long it took.
    pub duration: Duration,
}

/// Why no answer came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpFailure {
    /// Names from the outermost to the cause (ERR-3).
    pub chain: Vec<&'static str>,
    /// For people.
    pub message: String,
}

/// Bytes of an error body that a message for people quotes.
const QUOTED_BYTES: usize = 200;

impl Stage {
    pub(super) fn render_http(&self, http: &HttpAction) -> Result<HttpCall, RunError> {
        let scripting = &self.settings.scripting;
        let context = &self.context;
        let mut url = http.url.render_url(context, scripting)?;
        for (name, value) in &http.query {
            let value = value.render_text(context, scripting)?;
            url.push(if url.contains('?') { '&' } else { '?' });
            url.push_str(&format!("{}={}", percent_encode(name), percent_encode(&value)));
        }
        let mut headers = Vec::with_capacity(http.headers.len() + 1);
        for (name, value) in &http.headers {
            headers.push((name.clone(), header_text(value.render_text(context, scripting)?)?));
        }
        match &http.auth {
            None => {}
            Some(Auth::Bearer(token)) => {
                let token = header_text(token.render_text(context, scripting)?)?;
                headers.push(("Authorization".into(), format!("Bearer {token}")));
            }
            Some(Auth::Basic { username, password }) => {
                let pair = format!(
                    "{}:{}",
                    username.render_text(context, scripting)?,
                    password.render_text(context, scripting)?
                );
                headers.push(("Authorization".into(), format!("Basic {}", BASE64.encode(pair))));
            }
        }
        let body = http.body.as_ref().map(|body| self.render_body(body)).transpose()?;
        Ok(HttpCall {
            method: http.method,
            url,
            headers,
            body,
            timeout: self.bounded_timeout(http.timeout),
            idempotency_key: self.idempotency_key(),
        })
    }

    fn render_body(&self, body: &Body) -> Result<HttpBody, RunError> {
        let scripting = &self.settings.scripting;
        Ok(match body {
            Body::Json(template) => HttpBody {
                content_type: "application/json",
                bytes: template.render(&self.context, scripting)?.to_string().into_bytes(),
            },
            Body::Text(template) => HttpBody {
                content_type: "text/plain; charset=utf-8",
                bytes: template.render_text(&self.context, scripting)?.into_bytes(),
            },
            Body::Form(fields) => {
                let mut pairs = Vec::with_capacity(fields.len());
                for (name, value) in fields {
                    let value = value.render_text(&self.context, scripting)?;
                    pairs.push(format!("{}={}", percent_encode(name), percent_encode(&value)));
                }
                HttpBody {
                    content_type: "application/x-www-form-urlencoded",
                    bytes: pairs.join("&").into_bytes(),
                }
            }
        })
    }

    pub(super) fn render_amqp(&self, amqp: &AmqpAction) -> Result<Publication, RunError> {
        let scripting = &self.settings.scripting;
        let mut headers = Vec::with_capacity(amqp.headers.len());
        for (name, value) in &amqp.headers {
            headers.push((name.clone(), value.render_text(&self.context, scripting)?));
        }
        let body = amqp.body.as_ref().map(|body| body.render(&self.context, scripting)).transpose()?;
        let (content_type, body) = match body {
            None => ("application/json", Vec::new()),
            Some(Value::String(text)) => ("text/plain; charset=utf-8", text.into_bytes()),
            Some(value) => ("application/json", value.to_string().into_bytes()),
        };
        Ok(Publication {
            exchange: amqp.exchange.render_text(&self.context, scripting)?,
            key: amqp.key.render_text(&self.context, scripting)?,
            headers,
            body,
            content_type,
            message_id: self.idempotency_key(),
            request: None,
        })
    }

    /// A sequential order's stage has a bound of its own for its synchronous part (ORD-12).
    fn bounded_timeout(&self, timeout: Option<Duration>) -> Option<Duration> {
        if self.facts.mode == Mode::Parallel {
            return timeout;
        }
        let end = later(self.started_at, self.settings.max_sync_duration);
        let left = end.as_millisecond().saturating_sub(self.context.now.as_millisecond());
        let left = Duration::from_millis(u64::try_from(left).unwrap_or(0).max(1));
        Some(timeout.map_or(left, |timeout| timeout.min(left)))
    }

    pub(super) fn take_response(&mut self, url: &str, response: &Response, now: Timestamp, dice: f64) {
        let scenario = self.scenario.clone();
        let Some(Action::Http(http)) = scenario.state(self.state).actions.get(self.cursor.action) else {
            return;
        };
        let is_error = response.status >= 400;
        let allowed = is_error && http.expect.iter().any(|range| range.contains(response.status));
        let answered = Answered::Response { status: response.status, body: &response.body };
        // What the scenario expects is no failure, whatever the rules of the deployment say.
        let class = if allowed { None } else { self.classify(http, url, &answered) };
        if class.is_none() && (allowed || !is_error) {
            self.keep(http, response);
            match self.save(http) {
                Ok(()) => self.advance(),
                Err(error) => self.fail_action(error, now),
            }
            return;
        }
        let mut quoted = response.body.clone();
        quoted.truncate(quoted.floor_char_boundary(QUOTED_BYTES));
        let error = OrderError {
            class: class.map(|class| class.to_string()),
            message: format!("{} answered {}: {quoted}", called(http, url), response.status),
        };
        // A repeat must render the same call, so that it sees the answers that this attempt saw.
        if !self.retries(&error, retry_after(response, now), now, dice) {
            self.keep(http, response);
            self.fail_action(error, now);
        }
    }

    pub(super) fn take_failure(&mut self, url: &str, failure: &HttpFailure, now: Timestamp, dice: f64) {
        let scenario = self.scenario.clone();
        let Some(Action::Http(http)) = scenario.state(self.state).actions.get(self.cursor.action) else {
            return;
        };
        let answered = Answered::Exception { chain: &failure.chain, message: &failure.message };
        let class = self.classify(http, url, &answered);
        let chain = failure.chain.join(" > ");
        let error = OrderError {
            class: class.map(|class| class.to_string()),
            message: format!("{}: {} ({chain})", called(http, url), failure.message),
        };
        if !self.retries(&error, None, now, dice) {
            self.fail_action(error, now);
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
        let class = error.class.as_deref().map(ErrorClass::from);
        let since = self.cursor.retrying_since.unwrap_or(now);
        let failure = retry::Failure {
            scenario: &self.scenario.name,
            class: class.as_ref(),
            retry_after,
            sequential_since: (self.facts.mode == Mode::Sequential).then_some(since),
            max_acquisition: self.settings.max_acquisition_duration,
            due_at: Some(self.due_at),
            started_at: Some(self.started_at),
            latest: None,
        };
        let verdict =
            retry::on_failure(&self.settings.errors, &failure, self.cursor.cycle.as_ref(), now, dice);
        let Verdict::RetryAt { at, cycle } = verdict else {
            return false;
        };
        let told = format!(
            "{}; class `{}`, attempt {} of cycle {}, next at {at}",
            error.message,
            error.class.as_deref().unwrap_or_default(),
            cycle.attempts,
            cycle.number
        );
        self.end.log(now, told);
        self.cursor.cycle = Some(cycle);
        self.cursor.retrying_since = Some(since);
        self.end.over(Then::Retry { at, error: error.clone() });
        true
    }

    /// Shows an answer to the scenario.
    fn keep(&mut self, http: &HttpAction, response: &Response) {
        let value = response_value(response);
        if let Some(name) = &http.name {
            self.context.responses.insert(name.clone(), value.clone());
        }
        self.context.response = Some(value);
    }

    fn classify(&self, http: &HttpAction, url: &str, answered: &Answered<'_>) -> Option<ErrorClass> {
        let (host, path) = host_and_path(url);
        let interaction = Interaction { method: http.method.as_str(), host, path };
        self.settings.errors.classify(&interaction, answered).map(|classified| classified.class)
    }

    fn save(&mut self, http: &HttpAction) -> Result<(), OrderError> {
        if http.save.is_empty() {
            return Ok(());
        }
        let before = self.context.vars.clone();
        self.set_vars(http).inspect_err(|_| self.context.vars = before)
    }

    fn set_vars(&mut self, http: &HttpAction) -> Result<(), OrderError> {
        for (name, template) in &http.save {
            let value =
                template.render(&self.context, &self.settings.scripting).map_err(|error| OrderError {
                    class: Some(error.class.into()),
                    message: format!("save `{name}`: {}", error.message),
                })?;
            self.context.vars.insert(name.clone(), value);
        }
        self.check_vars()
    }
}

fn called(http: &HttpAction, url: &str) -> String {
    let (host, path) = host_and_path(url);
    format!("{} {host}{path}", http.method)
}

/// The answer as `response` shows it: a JSON body as its value, any other as text.
fn response_value(response: &Response) -> Value {
    let headers: Map<String, Value> =
        response.headers.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
    let body = serde_json::from_str(&response.body).unwrap_or_else(|_| Value::String(response.body.clone()));
    json!({
        "status": response.status,
        "headers": headers,
        "body": body,
        "durationMs": u64::try_from(response.duration.as_millis()).unwrap_or(u64::MAX),
    })
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

/// Host with port, and path, of an absolute URL; without the query.
fn host_and_path(url: &str) -> (&str, &str) {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.split(['?', '#']).next().unwrap_or(rest);
    rest.find('/').map_or((rest, "/"), |at| rest.split_at(at))
}

fn header_text(text: String) -> Result<String, RunError> {
    if text.chars().any(|c| c.is_control() && c != '\t') {
        return Err(RunError::new("a header field must not contain control characters"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn err_1_the_path_of_a_url_is_found_without_its_query() {
        assert_eq!(host_and_path("http://h:1/a/b?c=/d"), ("h:1", "/a/b"));
        assert_eq!(host_and_path("http://h"), ("h", "/"));
    }
}
