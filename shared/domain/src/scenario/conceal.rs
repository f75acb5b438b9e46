//! Keeps the values of secrets out of what is told (SCN-15).

use serde_json::Value;

use super::mask::MASKED;
use super::value::percent_encode;

/// Shorter values would mask half of every text, and are no secrets.
const SHORTEST: usize = 4;

/// Values that nothing that is told may hold, in each of the spellings that URLs and JSON give them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Concealed(Vec<String>);

impl Concealed {
    /// From now on this value is kept out.
    pub fn add(&mut self, secret: &str) {
        if secret.len() < SHORTEST {
            return;
        }
        let json = Value::String(secret.to_owned()).to_string();
        let json = json.trim_start_matches('"').strip_suffix('"').unwrap_or(&json).to_owned();
        for spelling in [secret.to_owned(), percent_encode(secret), json] {
            if !self.0.contains(&spelling) {
                self.0.push(spelling);
            }
        }
        // One may be a part of another, which would leave the rest of it.
        self.0.sort_by_key(|spelling| std::cmp::Reverse(spelling.len()));
    }

    /// Whether there is nothing to keep out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text without secrets.
    #[must_use]
    pub fn text(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), MASKED))
    }

    /// The value without secrets, in names of members as in values.
    #[must_use]
    pub fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(members) => {
                members.iter().map(|(name, value)| (self.text(name), self.value(value))).collect()
            }
            other => other.clone(),
        }
    }
}
