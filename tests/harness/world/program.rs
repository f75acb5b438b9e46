//! Behaviour of a called system at a path: first these steps, one per call, then always the same.
//! Never reads a clock and never draws lots: the same calls get the same answers.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;

use super::Call;

/// The header in which a caller says where it wants to be called back.
pub const CALLBACK_HEADER: &str = "x-callback-url";

/// End of a call.
#[derive(Clone, Debug)]
pub enum Then {
    /// With an answer.
    Answer {
        /// The HTTP status.
        status: u16,
        /// Further headers, such as `Retry-After`.
        headers: Vec<(String, String)>,
        /// JSON; a string goes out as plain text, null as nothing.
        body: Value,
    },
    /// Never: the caller has to give up.
    Hang,
    /// The connection breaks without a byte.
    Cut,
}

/// Reaction to one call.
#[derive(Clone, Debug)]
pub struct Step {
    /// The time before the end of the call.
    pub delay: Duration,
    /// Nothing of the end comes before this is true, or nobody can make it true any more.
    pub hold: Option<watch::Receiver<bool>>,
    /// End of the call.
    pub then: Then,
    /// The callback it causes, sent independently of the end of the call.
    pub callback: Option<CallBack>,
}

impl Step {
    /// An answer 200 at once.
    #[must_use]
    pub fn fine() -> Self {
        Self::answer(200, json!({"ok": true}))
    }

    /// Gives this answer at once.
    #[must_use]
    pub const fn answer(status: u16, body: Value) -> Self {
        Self {
            delay: Duration::ZERO,
            hold: None,
            then: Then::Answer { status, headers: Vec::new(), body },
            callback: None,
        }
    }

    const fn without_answer(then: Then) -> Self {
        Self { delay: Duration::ZERO, hold: None, then, callback: None }
    }
}

/// A callback over HTTP to the address that the caller gave.
#[derive(Clone, Debug)]
pub struct CallBack {
    /// Time after the call at which it is sent.
    pub delay: Duration,
    /// Body of the callback.
    pub body: Value,
    /// Number of times that it is sent: two or more for a system that repeats itself.
    pub times: u32,
    /// The `step-status` header, if any.
    pub step_status: Option<String>,
    /// The address, where a system knows it from a place of its own.
    pub to: Option<String>,
}

impl CallBack {
    /// A callback with this body, at once.
    #[must_use]
    pub const fn with(body: Value) -> Self {
        Self { delay: Duration::ZERO, body, times: 1, step_status: None, to: None }
    }

    /// The same, later.
    #[must_use]
    pub const fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Sends it this number of times.
    #[must_use]
    pub const fn times(mut self, times: u32) -> Self {
        self.times = times;
        self
    }

    /// Sends it where the caller wants it: what the system knows, else the header, else `callbackUrl` in the body.
    #[must_use]
    pub fn address(&self, call: &Call) -> Option<String> {
        let in_body = || call.body.get("callbackUrl")?.as_str().map(str::to_owned);
        let in_header = || call.headers.get(CALLBACK_HEADER).cloned();
        self.to.clone().or_else(in_header).or_else(in_body)
    }
}

/// A rule for calls that no fixed list of steps describes.
#[derive(Clone)]
struct Rule(Arc<dyn Fn(&Call) -> Step + Send + Sync>);

impl fmt::Debug for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Rule")
    }
}

/// Behaviour of a path.
#[derive(Clone, Debug)]
pub struct Program {
    path: String,
    first: VecDeque<Step>,
    then: Step,
    rule: Option<Rule>,
    by: Option<String>,
    seen: HashMap<String, VecDeque<Step>>,
}

impl Program {
    /// A path that answers 200; one that ends with `/**` covers all paths below.
    #[must_use]
    pub fn at(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            first: VecDeque::new(),
            then: Step::fine(),
            rule: None,
            by: None,
            seen: HashMap::new(),
        }
    }

    /// The next `times` calls get this status.
    #[must_use]
    pub fn fail(self, times: usize, status: u16) -> Self {
        self.first(times, &Step::answer(status, json!({"error": "as programmed"})))
    }

    /// The next `times` calls are never answered.
    #[must_use]
    pub fn hang(self, times: usize) -> Self {
        self.first(times, &Step::without_answer(Then::Hang))
    }

    /// The next `times` calls lose their connection.
    #[must_use]
    pub fn cut(self, times: usize) -> Self {
        self.first(times, &Step::without_answer(Then::Cut))
    }

    /// The next `times` calls do this.
    #[must_use]
    pub fn first(mut self, times: usize, step: &Step) -> Self {
        self.first.extend(std::iter::repeat_n(step.clone(), times));
        self
    }

    /// All calls after the first ones get this answer.
    #[must_use]
    pub fn then_answer(mut self, status: u16, body: Value) -> Self {
        self.then.then = Then::Answer { status, headers: Vec::new(), body };
        self
    }

    /// All calls after the first ones do this.
    #[must_use]
    pub fn then(mut self, step: Step) -> Self {
        self.then = step;
        self
    }

    /// Decides on each call after the first ones by looking at it.
    #[must_use]
    pub fn decided_by(mut self, rule: impl Fn(&Call) -> Step + Send + Sync + 'static) -> Self {
        self.rule = Some(Rule(Arc::new(rule)));
        self
    }

    /// All calls after the first ones take this long.
    #[must_use]
    pub const fn delayed(mut self, delay: Duration) -> Self {
        self.then.delay = delay;
        self
    }

    /// All calls after the first ones cause this callback.
    #[must_use]
    pub fn calling_back(mut self, callback: CallBack) -> Self {
        self.then.callback = Some(callback);
        self
    }

    /// The first steps are counted for each value of this header by itself, such as `idempotency-key`.
    #[must_use]
    pub fn counted_by(mut self, header: &str) -> Self {
        self.by = Some(header.to_ascii_lowercase());
        self
    }

    /// The path it was made for.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    pub(super) fn matches(&self, path: &str) -> bool {
        covers(&self.path, path)
    }

    pub(super) fn next(&mut self, call: &Call) -> Step {
        let steps = match &self.by {
            None => &mut self.first,
            Some(header) => {
                let key = call.headers.get(header).cloned().unwrap_or_default();
                self.seen.entry(key).or_insert_with(|| self.first.clone())
            }
        };
        let fixed = steps.pop_front();
        fixed.unwrap_or_else(|| self.rule.as_ref().map_or_else(|| self.then.clone(), |rule| (rule.0)(call)))
    }
}

/// True if a path is the one that was named, or lies below it if the name ends with `/**`.
pub(super) fn covers(named: &str, path: &str) -> bool {
    match named.strip_suffix("/**") {
        Some(above) => {
            path.strip_prefix(above).is_some_and(|below| below.is_empty() || below.starts_with('/'))
        }
        None => path == named,
    }
}
