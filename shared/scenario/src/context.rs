//! Everything that expressions and scripts of a running scenario can name.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use pagurus_domain::folded::Folded;
use serde_json::{Map, Value};

/// Source of the secrets of the deployment, read at the moment of a call.
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

/// Everything that expressions and scripts can name.
#[derive(Clone, Debug)]
pub struct Context {
    /// The order's parameters.
    pub params: Folded,
    /// Set by `save` and scripts; survives suspension.
    pub vars: Map<String, Value>,
    /// The answer to the last `http` action.
    pub response: Option<Folded>,
    /// The last failure that went to the scenario: `class`, `message`, `system`, `status`.
    pub error: Option<Value>,
    /// Answers to `http` actions that have a name.
    pub responses: BTreeMap<String, Folded>,
    /// Callbacks by the name of their request.
    pub callbacks: BTreeMap<String, Folded>,
    /// Facts about the order: id, transactionId, attempt, …
    pub order: Arc<Value>,
    /// Named constants of the deployment.
    pub config: Arc<Value>,
    /// The time of this turn, by the database's clock.
    pub now: Timestamp,
    /// The request that the present action registers: `id` and `url`.
    pub request: Option<Value>,
    /// The call from outside that is being handled: `name` and `body`. Not `call`, which is a word of
    /// the script language.
    pub event: Option<Folded>,
    /// The element of a list that the actions of an `each` run for.
    pub element: Option<Element>,
    /// Result of the operation that is over, while it is saved.
    pub result: Option<Value>,
    /// Source of `${secret.NAME}`. Scripts have no way to it.
    pub secrets: Arc<dyn Secrets>,
}

/// An element of a list, while the actions of an `each` run for it.
#[derive(Clone, Debug)]
pub struct Element {
    /// The name that the `each` gives it.
    pub name: Arc<str>,
    /// The element, as the scripts before have left it.
    pub value: Value,
    /// Place of the element in the list, from 0.
    pub index: usize,
}

/// The name by which the actions of an `each` know the place of their element.
pub const INDEX: &str = "index";

/// The name by which `save` of a `do` knows the result of its operation.
pub const RESULT: &str = "result";

impl Element {
    fn local(&self, name: &str) -> Option<Cow<'_, Value>> {
        if name == INDEX {
            return Some(Cow::Owned(self.index.into()));
        }
        (name == &*self.name).then_some(Cow::Borrowed(&self.value))
    }
}

impl Default for Context {
    fn default() -> Self {
        let empty = Arc::new(Value::Object(Map::new()));
        Self {
            params: Folded::from(Value::Object(Map::new())),
            vars: Map::new(),
            response: None,
            error: None,
            responses: BTreeMap::new(),
            callbacks: BTreeMap::new(),
            order: empty.clone(),
            config: empty,
            now: Timestamp::UNIX_EPOCH,
            request: None,
            event: None,
            element: None,
            result: None,
            secrets: Arc::new(NoSecrets),
        }
    }
}

impl Context {
    /// The whole value under one of [`ROOTS`](super::script::ROOTS) that is no map of values of its
    /// own; `None` where there is none yet.
    fn whole(&self, root: &str) -> Option<Cow<'_, Value>> {
        match root {
            "params" => Some(Cow::Borrowed(self.params.value())),
            // A call without an answer has left nothing of the one before it.
            "response" => Some(
                self.response.as_ref().map_or(Cow::Owned(Value::Null), |value| Cow::Borrowed(value.value())),
            ),
            "error" => Some(self.error.as_ref().map_or(Cow::Owned(Value::Null), Cow::Borrowed)),
            "order" => Some(Cow::Borrowed(&self.order)),
            "config" => Some(Cow::Borrowed(&self.config)),
            "now" => Some(Cow::Owned(Value::String(self.now.to_string()))),
            "request" => self.request.as_ref().map(Cow::Borrowed),
            "event" => self.event.as_ref().map(|value| Cow::Borrowed(value.value())),
            RESULT if self.result.is_some() => self.result.as_ref().map(Cow::Borrowed),
            other => self.element.as_ref().and_then(|element| element.local(other)),
        }
    }

    /// Value under a root, as it is: a map of values is not put together for it.
    pub(super) fn root(&self, name: &str) -> Option<Root<'_>> {
        match name {
            "vars" => {
                Some(Root::Members(self.vars.iter().map(|(name, value)| (name.as_str(), value)).collect()))
            }
            "responses" => Some(Root::of(&self.responses)),
            "callbacks" => Some(Root::of(&self.callbacks)),
            other => self.whole(other).map(Root::Value),
        }
    }

    /// The value at a plain path, without copying the root it stands in.
    pub(super) fn at(&self, path: &[String]) -> Option<Cow<'_, Value>> {
        let (root, rest) = path.split_first()?;
        let (start, rest) = match (root.as_str(), rest.split_first()) {
            ("vars", Some((key, rest))) => (Cow::Borrowed(self.vars.get(key)?), rest),
            ("responses", Some((key, rest))) => (Cow::Borrowed(self.responses.get(key)?.value()), rest),
            ("callbacks", Some((key, rest))) => (Cow::Borrowed(self.callbacks.get(key)?.value()), rest),
            (root, _) => match self.root(root)? {
                Root::Value(value) => (value, rest),
                Root::Members(members) => {
                    let map = members.into_iter().map(|(name, value)| (name.to_owned(), value.clone()));
                    (Cow::Owned(Value::Object(map.collect())), rest)
                }
            },
        };
        match start {
            Cow::Borrowed(value) => {
                rest.iter().try_fold(value, |value, key| value.get(key)).map(Cow::Borrowed)
            }
            Cow::Owned(value) if rest.is_empty() => Some(Cow::Owned(value)),
            Cow::Owned(_) => None,
        }
    }

    /// Notes that the order holds its queue no more: its stage gave it up.
    pub(super) fn release_queue(&mut self) {
        if let Some(held) = Arc::make_mut(&mut self.order).get_mut("holdsQueue") {
            *held = Value::Bool(false);
        }
    }

    /// Drops the trees of large values; each is made again on demand.
    pub(super) fn fold(&mut self) {
        self.params.fold();
        let answers = self.responses.values_mut().chain(self.callbacks.values_mut());
        answers.chain(&mut self.response).chain(&mut self.event).for_each(Folded::fold);
    }

    /// Bytes of text that it holds, but for `vars`; what two names share is counted once.
    pub(super) fn held_bytes(&self) -> usize {
        let shared = |value: &&Folded| self.responses.values().any(|named| named.shares_with(value));
        let response = self.response.as_ref().filter(|value| !shared(value));
        let answers = self.responses.values().chain(self.callbacks.values());
        answers.chain(response).chain(&self.event).map(Folded::bytes).sum::<usize>() + self.params.bytes()
    }
}

/// Value of a name of [`ROOTS`](super::script::ROOTS).
pub(super) enum Root<'c> {
    /// A single value.
    Value(Cow<'c, Value>),
    /// A map of values that are kept one by one.
    Members(Vec<(&'c str, &'c Value)>),
}

impl<'c> Root<'c> {
    fn of(map: &'c BTreeMap<String, Folded>) -> Self {
        Self::Members(map.iter().map(|(name, value)| (name.as_str(), value.value())).collect())
    }
}
