//! Keeps the values of secrets out of what is told (SCN-15).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use serde_json::Value;

use super::mask::MASKED;
use super::value::percent_encode;

/// Shorter values would mask half of every text, and are no secrets.
const SHORTEST: usize = 4;

/// Values that nothing that is told may hold, in each of the spellings that URLs, JSON and Base64 give
/// them.
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
        let spellings = [secret.to_owned(), percent_encode(secret), json];
        for spelling in spellings.into_iter().chain(in_base64(secret)) {
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

/// How the secret looks inside a longer text in Base64, such as the name and password of a login: three
/// bytes become four characters, so by its place there it has one of three spellings. Characters that
/// hold bits of what stands around it are left out.
fn in_base64(secret: &str) -> impl Iterator<Item = String> {
    (0..3).filter_map(move |before: usize| {
        let mut bytes = vec![0; before];
        bytes.extend(secret.as_bytes());
        let text = BASE64.encode(&bytes);
        let inner = text.get((before * 8).div_ceil(6)..bytes.len() * 8 / 6)?;
        (inner.len() >= SHORTEST).then(|| inner.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scn_15_a_secret_inside_a_login_in_base64_is_kept_out() {
        let mut concealed = Concealed::default();
        concealed.add("p4ss-w0rd");
        for user in ["u", "us", "use", "user"] {
            for after in ["", "!", "more"] {
                let login = BASE64.encode(format!("{user}:p4ss-w0rd{after}"));
                let told = concealed.text(&format!("got Basic {login}"));
                assert!(told.contains(MASKED) && !told.contains(&login), "{user}: {told}");
            }
        }
        assert_eq!(concealed.text("an answer without it"), "an answer without it");
    }
}
