//! Everything that expressions and scripts of a running scenario can name.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value};

/// Where the secrets of the deployment are read at the moment of a call.
pub trait Secrets: std::fmt::Debug + Send + Sync {
    /// The secret of this name; `None` where the deployment has none.
    fn secret(&self, name: &str) -> Option<String>;
}

/// A deployment without secrets.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSecrets;

impl Secrets for NoSecrets {
    fn secret(&self, _: &str) -> Option<String> {
        None
    }
}

/// Error class of a call that names a secret which the deployment does not have.
pub const SECRET_MISSING: &str = "secret.missing";

/// Everything that expressions and scripts can name.
#[derive(Clone, Debug)]
pub struct Context {
    /// The order's parameters.
    pub params: Arc<Value>,
    /// Set by `save` and scripts; survives suspension.
    pub vars: Map<String, Value>,
    /// The answer to the last `http` action.
    pub response: Option<Value>,
    /// Answers to `http` actions that bear a name.
    pub responses: Map<String, Value>,
    /// Callbacks by the name of their request.
    pub callbacks: Map<String, Value>,
    /// What is known of the order: id, transactionId, attempt, …
    pub order: Arc<Value>,
    /// Named constants of the deployment.
    pub config: Arc<Value>,
    /// The time of this turn, by the database's clock.
    pub now: Timestamp,
    /// The request that the present action registers: `id` and `url`.
    pub request: Option<Value>,
    /// The call from outside that is being handled: `name` and `body`. Not `call`, which is a word of
    /// the script language.
    pub event: Option<Value>,
    /// What `${secret.NAME}` reads. Scripts have no way to it.
    pub secrets: Arc<dyn Secrets>,
}

impl Default for Context {
    fn default() -> Self {
        let empty = Arc::new(Value::Object(Map::new()));
        Self {
            params: empty.clone(),
            vars: Map::new(),
            response: None,
            responses: Map::new(),
            callbacks: Map::new(),
            order: empty.clone(),
            config: empty,
            now: Timestamp::UNIX_EPOCH,
            request: None,
            event: None,
            secrets: Arc::new(NoSecrets),
        }
    }
}

impl Context {
    /// The whole value under one of [`ROOTS`]; `None` where there is none yet.
    #[must_use]
    pub fn root(&self, name: &str) -> Option<Cow<'_, Value>> {
        match name {
            "params" => Some(Cow::Borrowed(&self.params)),
            "vars" => Some(Cow::Owned(Value::Object(self.vars.clone()))),
            "response" => self.response.as_ref().map(Cow::Borrowed),
            "responses" => Some(Cow::Owned(Value::Object(self.responses.clone()))),
            "callbacks" => Some(Cow::Owned(Value::Object(self.callbacks.clone()))),
            "order" => Some(Cow::Borrowed(&self.order)),
            "config" => Some(Cow::Borrowed(&self.config)),
            "now" => Some(Cow::Owned(Value::String(self.now.to_string()))),
            "request" => self.request.as_ref().map(Cow::Borrowed),
            "event" => self.event.as_ref().map(Cow::Borrowed),
            _ => None,
        }
    }

    /// The value at a plain path, without copying the root it stands in.
    pub(super) fn at(&self, path: &[String]) -> Option<Cow<'_, Value>> {
        let (root, rest) = path.split_first()?;
        let map = match root.as_str() {
            "vars" => Some(&self.vars),
            "responses" => Some(&self.responses),
            "callbacks" => Some(&self.callbacks),
            _ => None,
        };
        let (start, rest) = match (map, rest.split_first()) {
            (Some(map), Some((key, rest))) => (Cow::Borrowed(map.get(key)?), rest),
            _ => (self.root(root)?, rest),
        };
        match start {
            Cow::Borrowed(value) => {
                rest.iter().try_fold(value, |value, key| value.get(key)).map(Cow::Borrowed)
            }
            Cow::Owned(value) if rest.is_empty() => Some(Cow::Owned(value)),
            Cow::Owned(_) => None,
        }
    }
}
