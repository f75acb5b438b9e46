//! Keeps the values of secrets out of what is told and stored (SCN-15).
//!
//! JSON is taken apart, and its texts are looked through one by one. In a text a secret is found however
//! JSON, URLs, forms and Base64 spell it.

mod spelling;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use serde_json::Value;

use super::mask::MASKED;

/// Shorter values would mask half of every text, and are no secrets.
const SHORTEST: usize = 4;
/// So long a secret is not a part of other values by chance.
const SURE: usize = 8;
/// JSON inside of JSON inside of JSON is taken apart so deep; what is deeper is a text.
const DEEPEST: usize = 4;

/// Values that nothing that is told or stored may hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Concealed(Vec<String>);

impl Concealed {
    /// From now on this value is kept out.
    pub fn add(&mut self, secret: &str) {
        if secret.len() < SHORTEST {
            return;
        }
        for wanted in std::iter::once(secret.to_owned()).chain(in_base64(secret)) {
            if !self.0.contains(&wanted) {
                self.0.push(wanted);
            }
        }
        // One may be a part of another, which would leave the rest of it.
        self.0.sort_by_key(|wanted| std::cmp::Reverse(wanted.len()));
    }

    /// True if there is nothing to keep out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text without secrets.
    #[must_use]
    pub fn text(&self, text: &str) -> String {
        self.text_at(text, DEEPEST)
    }

    /// The value without secrets, in names of members as in values.
    #[must_use]
    pub fn value(&self, value: &Value) -> Value {
        self.value_at(value, DEEPEST)
    }

    /// The same for what an order remembers and goes on with. A short secret is found in numbers of
    /// customers and orders by chance: inside of a longer text only those count that are long enough to
    /// be nobody's, and a shorter one where it is the whole value.
    #[must_use]
    pub fn kept(&self, value: &Value) -> Value {
        let (long, short): (Vec<String>, Vec<String>) =
            self.0.iter().cloned().partition(|wanted| wanted.len() >= SURE);
        Self(long).value(&without(value, &short))
    }

    /// The same for a text, such as a body: one that is JSON is masked value by value, and stays as it
    /// came, blanks and all, where it holds nothing that is masked.
    #[must_use]
    pub fn kept_text(&self, text: &str) -> String {
        if self.is_empty() {
            return text.to_owned();
        }
        match serde_json::from_str::<Value>(text) {
            // A number alone may be any text: a mask in its place bears no quotes then.
            Ok(value) if !value.is_number() => {
                let kept = self.kept(&value);
                if kept == value { text.to_owned() } else { kept.to_string() }
            }
            _ => match self.kept(&Value::String(text.to_owned())) {
                Value::String(kept) => kept,
                other => other.to_string(),
            },
        }
    }

    fn text_at(&self, text: &str, deepest: usize) -> String {
        if self.is_empty() {
            return text.to_owned();
        }
        // A text that is JSON keeps its form where there is nothing to be masked.
        if deepest > 0
            && text.trim_start().starts_with(['{', '[', '"'])
            && let Ok(value) = serde_json::from_str::<Value>(text)
        {
            let masked = self.value_at(&value, deepest - 1);
            return if masked == value { text.to_owned() } else { masked.to_string() };
        }
        self.0.iter().fold(text.to_owned(), |text, wanted| spelling::replace(&text, wanted, MASKED))
    }

    fn value_at(&self, value: &Value, deepest: usize) -> Value {
        match value {
            Value::String(text) => Value::String(self.text_at(text, deepest)),
            Value::Array(items) => items.iter().map(|item| self.value_at(item, deepest)).collect(),
            Value::Object(members) => members
                .iter()
                .map(|(name, value)| (self.text_at(name, deepest), self.value_at(value, deepest)))
                .collect(),
            Value::Number(number) => {
                let text = number.to_string();
                let masked = self.text_at(&text, 0);
                if masked == text { value.clone() } else { Value::String(masked) }
            }
            other => other.clone(),
        }
    }
}

/// The value without the texts and numbers that are one of these as a whole.
fn without(value: &Value, whole: &[String]) -> Value {
    let is_one = |text: &str| whole.iter().any(|wanted| wanted == text);
    match value {
        Value::String(text) if is_one(text) => Value::String(MASKED.to_owned()),
        Value::Number(number) if is_one(&number.to_string()) => Value::String(MASKED.to_owned()),
        Value::Array(items) => items.iter().map(|item| without(item, whole)).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), without(value, whole))).collect()
        }
        other => other.clone(),
    }
}

/// Forms of the secret inside a longer text in Base64, such as the name and password of a login: three
/// bytes become four characters, so by its place there it has one of three spellings. Characters that
/// hold bits of what stands around it are left out. Each in the alphabet of URLs as well.
fn in_base64(secret: &str) -> impl Iterator<Item = String> {
    let standard = (0..3).filter_map(move |before: usize| {
        let mut bytes = vec![0; before];
        bytes.extend(secret.as_bytes());
        let text = BASE64.encode(&bytes);
        let inner = text.get((before * 8).div_ceil(6)..bytes.len() * 8 / 6)?;
        (inner.len() >= SHORTEST).then(|| inner.to_owned())
    });
    standard.flat_map(|text| [text.replace('+', "-").replace('/', "_"), text])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scn_15_what_an_order_goes_on_with_is_not_changed_by_a_short_secret_in_it() {
        let mut concealed = Concealed::default();
        for secret in ["2024", "a-long-secret"] {
            concealed.add(secret);
        }
        let kept = concealed.kept(&serde_json::json!({
            "id": 120_245, "text": "79112024567", "whole": "2024", "number": 2024, "in": ["x a-long-secret y"]
        }));
        let expected = serde_json::json!({
            "id": 120_245, "text": "79112024567", "whole": MASKED, "number": MASKED, "in": [format!("x {MASKED} y")]
        });
        assert_eq!(kept, expected);
    }

    #[test]
    fn scn_15_a_body_is_masked_by_value_and_keeps_its_form_where_it_holds_no_secret() {
        let mut concealed = Concealed::default();
        for secret in ["2024", "12345678", "a-long-secret"] {
            concealed.add(secret);
        }
        for (body, kept) in [
            (r#"{"a" : "x a-long-secret", "n": 2024}"#, r#"{"a":"x ***","n":"***"}"#),
            (r#"["\u0061-long-secret"]"#, r#"["***"]"#),
            (r#""a-long-secret""#, r#""***""#),
            ("token=a-long-secret&n=120245", "token=***&n=120245"),
            (r#"{"cut": "a-long-secret"#, r#"{"cut": "***"#),
            ("12345678", MASKED),
            ("2024", MASKED),
        ] {
            assert_eq!(concealed.kept_text(body), kept, "{body}");
        }
        for body in ["", "{\"n\" :  1.50, \"id\": \"79112024567\"}", " [1e2]", "20245", "plain", "{\"a\""] {
            assert_eq!(concealed.kept_text(body), body);
        }
    }

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

    /// With characters that every spelling spells in a way of its own.
    const SECRET: &str = "s3cr3t/Väl ue+%41&x-98765😀\"\\?>~";

    fn assert_kept(told: &str, from: &str) {
        for part in ["s3cr3t", "98765", "czNj", "VäL", "V%C3"] {
            assert!(!told.contains(part), "`{part}` of {from} in {told}");
        }
        assert!(told.contains(MASKED), "{from}: {told}");
    }

    #[test]
    fn scn_15_a_secret_is_found_however_it_is_spelled() {
        use base64::engine::general_purpose::{STANDARD, URL_SAFE, URL_SAFE_NO_PAD};
        let mut concealed = Concealed::default();
        concealed.add(SECRET);
        let ascii = |text: &str, upper: bool| -> String {
            let units = text.encode_utf16().map(|unit| match u8::try_from(unit) {
                Ok(byte) if byte.is_ascii() => char::from(byte).to_string(),
                _ if upper => format!("\\u{unit:04X}"),
                _ => format!("\\u{unit:04x}"),
            });
            units.collect()
        };
        let json = serde_json::to_string(SECRET).unwrap_or_default();
        let percent = super::super::value::percent_encode(SECRET);
        let spellings = [
            SECRET.to_owned(),
            json.clone(),
            ascii(&json, false),
            ascii(&json, true),
            // PHP.
            ascii(&json.replace('/', "\\/"), false),
            SECRET
                .chars()
                .flat_map(|c| c.encode_utf16(&mut [0; 2]).to_vec())
                .map(|u| format!("\\u{u:04x}"))
                .collect(),
            percent.clone(),
            percent.to_lowercase().replace("s3cr3t%2fv", "s3cr3t%2fV"),
            percent.replace("%20", "+"),
            SECRET.bytes().map(|byte| format!("%{byte:02x}")).collect(),
            STANDARD.encode(SECRET),
            URL_SAFE.encode(SECRET),
            URL_SAFE_NO_PAD.encode(format!("me:{SECRET}")),
            STANDARD.encode(format!("{SECRET}!")).replace('/', "\\/"),
            super::super::value::percent_encode(&STANDARD.encode(SECRET)),
        ];
        for spelling in &spellings {
            for (before, after) in [("", ""), ("got ", " at /x"), ("{\"a\": \"", "\""), ("key=", "&b=1")] {
                let text = format!("{before}{spelling}{after}");
                assert_kept(&concealed.text(&text), &text);
            }
            // JSON whose text is JSON, and as a value.
            let inner = serde_json::json!({"said": spelling, "n": 1}).to_string();
            let outer = serde_json::json!({"body": inner});
            assert_kept(&concealed.text(&outer.to_string()), spelling);
            assert_kept(&concealed.value(&outer).to_string(), spelling);
            assert_kept(&concealed.text(&format!("answered 500: {outer}")), spelling);
        }
    }

    #[test]
    fn scn_15_what_holds_no_secret_stays_as_it_is() {
        let mut concealed = Concealed::default();
        concealed.add(SECRET);
        concealed.add("12345678");
        for text in ["", "plain", "{\"a\" :  1.50}", "s3cr3t/V", "\\u00", "%", "%4", "a%20b+c\\\\", "\\"] {
            assert_eq!(concealed.text(text), text);
        }
        let value = serde_json::json!({"n": 12_345_678, "list": [1.5, null, true, "x"]});
        assert_eq!(concealed.value(&value), serde_json::json!({"n": "***", "list": [1.5, null, true, "x"]}));
    }
}
