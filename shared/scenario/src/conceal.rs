//! Keeps the values of secrets out of what is reported and stored (SCN-15).
//!
//! JSON is taken apart, and its texts are looked through one by one. In a text a secret is found however
//! JSON, URLs, forms, HTML, hexadecimal digits and Base64 spell it, and as what Latin-1 makes of its bytes.

mod constants;
mod entity;
mod fields;
mod finder;
mod forms;
mod reading;

use pagurus_domain::MASKED;
use serde_json::Value;

pub use fields::holds_credentials;
use finder::{FinderOptions, SecretFinder};

/// Shorter values would mask half of every text, and are no secrets.
const SHORTEST: usize = 4;
/// Length from which a secret is not a part of other values by chance.
const SURE: usize = 8;
/// JSON inside of JSON inside of JSON is taken apart so deep; what is deeper is a text.
const DEEPEST: usize = 4;

const ALL: FinderOptions = FinderOptions { shortest: SHORTEST, may_be_cut: false };

/// Values that nothing that is reported or stored may hold.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Concealed(SecretFinder);

impl std::fmt::Debug for Concealed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} forms of secrets", self.0.wanted().count())
    }
}

impl Concealed {
    /// The values of these constants of a deployment that are secrets by their names.
    #[must_use]
    pub fn of_constants(constants: &Value) -> Self {
        let mut concealed = Self::default();
        constants::secret(constants, &mut |secret| concealed.add(secret));
        concealed
    }

    /// Adds a value to keep out.
    pub fn add(&mut self, secret: &str) {
        if secret.len() >= SHORTEST && !self.0.wanted().any(|known| known == secret) {
            forms::forms(secret, &mut |form| {
                if form.len() >= SHORTEST {
                    self.0.add(form);
                }
            });
        }
    }

    /// Adds all values of the other one.
    pub fn join(&mut self, other: &Self) {
        if self.is_empty() {
            self.clone_from(other);
        } else {
            other.0.wanted().for_each(|wanted| self.0.add(wanted));
        }
    }

    /// True if there is nothing to keep out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text without secrets.
    #[must_use]
    pub fn text(&self, text: &str) -> String {
        self.text_at(text, DEEPEST, ALL)
    }

    /// The same for an excerpt: at its end, the first eight bytes of a secret or more are kept out, too.
    #[must_use]
    pub fn excerpt(&self, text: &str) -> String {
        self.text_at(text, DEEPEST, FinderOptions { may_be_cut: true, ..ALL })
    }

    /// The value without secrets, in names of members as in values.
    #[must_use]
    pub fn value(&self, value: &Value) -> Value {
        if self.is_empty() { value.clone() } else { self.value_at(value, DEEPEST, ALL) }
    }

    /// The same for what an order remembers and goes on with. A short secret is found in numbers of
    /// customers and orders by chance: inside of a longer text only those count that are long enough to
    /// be nobody's, and a shorter one where it is the whole value.
    #[must_use]
    pub fn kept(&self, value: &Value) -> Value {
        if self.is_empty() {
            return value.clone();
        }
        let kept = self.value_at(value, DEEPEST, FinderOptions { shortest: SURE, ..ALL });
        if self.0.wanted().any(|wanted| wanted.len() < SURE) { self.without_short(kept) } else { kept }
    }

    /// The same for a text, such as a body: one that is JSON is masked value by value, and stays as it
    /// came, blanks and all, where it holds nothing that is masked.
    #[must_use]
    pub fn kept_text(&self, text: &str) -> String {
        if self.is_empty() {
            return text.to_owned();
        }
        match serde_json::from_str::<Value>(text) {
            // A number alone may be any text: a mask in its place has no quotes then.
            Ok(value) if !value.is_number() => {
                let kept = self.kept(&value);
                if kept == value {
                    self.plain(text, FinderOptions { shortest: SURE, ..ALL })
                } else {
                    kept.to_string()
                }
            }
            _ => match self.kept(&Value::String(text.to_owned())) {
                Value::String(kept) => kept,
                other => other.to_string(),
            },
        }
    }

    fn text_at(&self, text: &str, deepest: usize, look: FinderOptions) -> String {
        if self.is_empty() {
            return text.to_owned();
        }
        // A text that is JSON keeps its form where there is nothing to be masked.
        if deepest > 0
            && text.trim_start().starts_with(['{', '[', '"'])
            && let Ok(value) = serde_json::from_str::<Value>(text)
        {
            let masked = self.value_at(&value, deepest - 1, FinderOptions { may_be_cut: false, ..look });
            if masked != value {
                return masked.to_string();
            }
        }
        self.plain(text, look)
    }

    /// The text as it is written: of two members of one name, a reader of JSON sees only the last.
    fn plain(&self, text: &str, look: FinderOptions) -> String {
        self.0.replace(text, MASKED, look).unwrap_or_else(|| text.to_owned())
    }

    fn value_at(&self, value: &Value, deepest: usize, look: FinderOptions) -> Value {
        match value {
            Value::String(text) => Value::String(self.text_at(text, deepest, look)),
            Value::Array(items) => items.iter().map(|item| self.value_at(item, deepest, look)).collect(),
            Value::Object(members) => members
                .iter()
                .map(|(name, value)| (self.text_at(name, deepest, look), self.value_at(value, deepest, look)))
                .collect(),
            Value::Number(number) => {
                let text = number.to_string();
                let masked = self.plain(&text, look);
                if masked == text { value.clone() } else { Value::String(masked) }
            }
            other => other.clone(),
        }
    }

    /// The value without the texts and numbers that are a short secret as a whole.
    fn without_short(&self, value: Value) -> Value {
        let is_one = |text: &str| text.len() < SURE && self.0.wanted().any(|wanted| wanted == text);
        match value {
            Value::String(text) if is_one(&text) => Value::String(MASKED.to_owned()),
            Value::Number(number) if is_one(&number.to_string()) => Value::String(MASKED.to_owned()),
            Value::Array(items) => items.into_iter().map(|item| self.without_short(item)).collect(),
            Value::Object(members) => {
                members.into_iter().map(|(name, value)| (name, self.without_short(value))).collect()
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests;
