//! Parts of an order that are shown to nobody without the right to see payloads (SCN-15).

use pagurus_domain::MASKED;
use pagurus_domain::order::notification::shown_url;
use serde_json::Value;

use super::conceal::Concealed;
use super::xml::{self, Namespaces, is_same_name};

/// Root of a masked path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MaskRoot {
    Params,
    Body,
    Headers,
}

/// Paths of parameters, bodies and header fields. A `*` stands for any key; lists are passed
/// through, so that a path holds for each of their items.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mask(Vec<(MaskRoot, Vec<String>)>);

impl Mask {
    /// Adds a path such as `params.card.number`; whether it is one.
    #[must_use]
    pub fn add(&mut self, path: &str) -> bool {
        let mut parts = path.split('.').map(str::to_owned);
        let root = match parts.next().as_deref() {
            Some("params") => MaskRoot::Params,
            Some("body") => MaskRoot::Body,
            Some("headers") => MaskRoot::Headers,
            _ => return false,
        };
        let parts: Vec<String> = parts.collect();
        let good = !parts.is_empty() && parts.iter().all(|part| !part.is_empty());
        if good {
            self.0.push((root, parts));
        }
        good
    }

    /// Masks what the other one does as well.
    pub fn join(&mut self, other: &Self) {
        let more: Vec<_> = other.0.iter().filter(|path| !self.0.contains(path)).cloned().collect();
        self.0.extend(more);
    }

    /// Masks in bodies and header fields what the other one does as well.
    pub(crate) fn join_bodies(&mut self, other: &Self) {
        let bodies = other.0.iter().filter(|(root, _)| *root != MaskRoot::Params).cloned();
        self.join(&Self(bodies.collect()));
    }

    /// True if nothing is masked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Masks parameters.
    pub fn params(&self, value: &mut Value) {
        self.apply(MaskRoot::Params, value, str::eq);
    }

    /// A registration as people see it: masked parameters, no query of a webhook, no secret.
    #[must_use]
    pub fn registration(&self, order: &Value, secrets: &Concealed) -> Value {
        let mut shown = secrets.value(order);
        if let Some(params) = shown.get_mut("params") {
            self.params(params);
        }
        if let Some(notify) = shown.get_mut("notify") {
            hide_queries(notify);
        }
        shown
    }

    /// True if the parameter at this path, or a part of it, is masked.
    #[must_use]
    pub fn hides_param(&self, path: &str) -> bool {
        let wanted: Vec<&str> = path.split('.').collect();
        self.0
            .iter()
            .filter(|(root, _)| *root == MaskRoot::Params)
            .any(|(_, masked)| masked.iter().zip(&wanted).all(|(key, part)| key == "*" || key == part))
    }

    /// Masks the body of a request, of an answer or of a callback. The prefixes of XML do not count, because they are those of
    /// an action; and scenarios know the envelope of SOAP by its content, while others see it as a whole.
    pub fn body(&self, value: &mut Value) {
        self.apply(MaskRoot::Body, value, is_same_name);
        if let Some(content) = value.get_mut("Envelope").and_then(|envelope| envelope.get_mut("Body")) {
            self.apply(MaskRoot::Body, content, is_same_name);
        }
    }

    /// Masks header fields; upper and lower case are the same.
    pub fn headers(&self, value: &mut Value) {
        self.apply(MaskRoot::Headers, value, str::eq_ignore_ascii_case);
    }

    /// True if something of bodies is masked.
    #[must_use]
    pub fn hides_bodies(&self) -> bool {
        self.0.iter().any(|(root, _)| *root == MaskRoot::Body)
    }

    /// Masks the text of a body, where it is JSON or XML, and then it is JSON; any other text is replaced as a whole, because
    /// nobody knows what it holds.
    #[must_use]
    pub fn body_text(&self, text: &str) -> String {
        if !self.hides_bodies() {
            return text.to_owned();
        }
        let read = serde_json::from_str::<Value>(text).ok();
        match read.or_else(|| xml::read(text, &Namespaces::default()).ok()) {
            Some(mut value) => {
                self.body(&mut value);
                value.to_string()
            }
            None => MASKED.to_owned(),
        }
    }

    fn apply(&self, root: MaskRoot, value: &mut Value, is_same: fn(&str, &str) -> bool) {
        for (_, path) in self.0.iter().filter(|(of, _)| *of == root) {
            hide(value, path, is_same);
        }
    }
}

/// Hides the queries of all URLs below.
fn hide_queries(value: &mut Value) {
    match value {
        Value::String(url) => *url = shown_url(url).into_owned(),
        Value::Array(items) => items.iter_mut().for_each(hide_queries),
        Value::Object(members) => members.values_mut().for_each(hide_queries),
        _ => {}
    }
}

fn hide(value: &mut Value, path: &[String], is_same: fn(&str, &str) -> bool) {
    let Some((key, rest)) = path.split_first() else {
        *value = Value::String(MASKED.to_owned());
        return;
    };
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| hide(item, path, is_same)),
        Value::Object(members) => {
            let fits = |name: &str| key == "*" || is_same(key, name);
            for (_, member) in members.iter_mut().filter(|(name, _)| fits(name)) {
                hide(member, rest, is_same);
            }
        }
        // The text of an element of XML that has nothing else.
        Value::String(text) if key == xml::TEXT => *text = MASKED.to_owned(),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn scn_15_masked_paths_are_hidden_wherever_they_lead() {
        let mut mask = Mask::default();
        for path in ["params.card.number", "params.people.pin", "headers.Authorization", "body.*.secret"] {
            assert!(mask.add(path), "{path}");
        }
        for path in ["params", "vars.x", "", "params.", "params..x"] {
            assert!(!mask.add(path), "{path}");
        }
        let mut params =
            json!({"card": {"number": 4111, "name": "n"}, "people": [{"pin": 1}, {"pin": 2, "id": 3}]});
        for (path, hidden) in [
            ("card.number", true),
            ("card", true),
            ("card.number.x", true),
            ("people.pin", true),
            ("other", false),
        ] {
            assert_eq!(mask.hides_param(path), hidden, "{path}");
        }
        mask.params(&mut params);
        assert_eq!(
            params,
            json!({"card": {"number": "***", "name": "n"}, "people": [{"pin": "***"}, {"pin": "***", "id": 3}]})
        );
        let mut headers = json!({"authorization": "Bearer t", "x": 1});
        mask.headers(&mut headers);
        assert_eq!(headers, json!({"authorization": "***", "x": 1}));
        assert_eq!(mask.body_text(r#"{"a":{"b":2,"secret":1}}"#), r#"{"a":{"b":2,"secret":"***"}}"#);
        assert_eq!(mask.body_text("secret=1"), "***");
        let mut joined = Mask::default();
        assert!(joined.add("body.pin"));
        joined.join(&mask);
        joined.join(&mask);
        assert_eq!(
            joined.body_text(r#"{"a":{"secret":2},"pin":1}"#),
            r#"{"a":{"secret":"***"},"pin":"***"}"#
        );
        assert_eq!(joined.0.len(), 5, "each path once: {joined:?}");
    }
}
