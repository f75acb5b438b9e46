//! Writes values as XML: the other direction of what is read.

use serde_json::Value;

use super::characters::{is_legal, is_name};
use super::mapping::{ATTRIBUTE, Namespaces, TEXT, XSI};
use super::read::{NoXml, illegal};

/// Appends a text of an element, escaped.
pub(super) fn text(out: &mut String, text: &str) -> Result<(), NoXml> {
    escape(out, text, |c| match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        // A reader would make another end of line of it.
        '\r' => Some("&#13;"),
        _ => None,
    })
}

/// Appends the value of an attribute, escaped for quotes of either kind.
pub(crate) fn attribute(out: &mut String, text: &str) -> Result<(), NoXml> {
    escape(out, text, |c| match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '"' => Some("&quot;"),
        '\'' => Some("&apos;"),
        // A reader would make a blank of it.
        '\t' => Some("&#9;"),
        '\n' => Some("&#10;"),
        '\r' => Some("&#13;"),
        _ => None,
    })
}

/// A text that may stand in an attribute and between tags alike; what XML cannot hold is replaced.
pub(crate) fn escape_attribute(of: &str) -> String {
    let legal: String = of.chars().map(|c| if is_legal(c) { c } else { '\u{FFFD}' }).collect();
    let mut out = String::with_capacity(legal.len());
    let _ = attribute(&mut out, &legal);
    out
}

fn escape(out: &mut String, text: &str, escaped: fn(char) -> Option<&'static str>) -> Result<(), NoXml> {
    let mut kept = 0;
    for (at, c) in text.char_indices() {
        if !is_legal(c) {
            return Err(illegal(c));
        }
        if let Some(reference) = escaped(c) {
            out.push_str(&text[kept..at]);
            out.push_str(reference);
            kept = at + c.len_utf8();
        }
    }
    out.push_str(&text[kept..]);
    Ok(())
}

/// Appends a value as the content of an element: a text, a number or a truth value as text, null as nothing, a map as the
/// elements that its members are, a list as its items one after the other.
///
/// Recursion is bounded by the depth that values have.
pub(crate) fn content(out: &mut String, value: &Value) -> Result<(), NoXml> {
    match value {
        Value::Null => Ok(()),
        Value::String(of) => text(out, of),
        Value::Bool(_) | Value::Number(_) => text(out, &value.to_string()),
        Value::Array(items) => items.iter().try_for_each(|item| content(out, item)),
        Value::Object(members) => {
            if let Some(name) = members.keys().find(|name| name.starts_with(ATTRIBUTE)) {
                return Err(NoXml::new(format!("the attribute `{name}` has no element here")));
            }
            members.iter().try_for_each(|(name, value)| member(out, name, value))
        }
    }
}

fn member(out: &mut String, name: &str, value: &Value) -> Result<(), NoXml> {
    if name == TEXT { scalar(value).and_then(|of| text(out, &of)) } else { element(out, name, value) }
}

/// Appends an element, or for a list one for each item.
fn element(out: &mut String, name: &str, value: &Value) -> Result<(), NoXml> {
    if !is_name(name) {
        let shown: String = name.chars().take(60).collect();
        return Err(NoXml::new(format!("`{shown}` is not a name of an element")));
    }
    match value {
        Value::Array(items) => items.iter().try_for_each(|item| match item {
            Value::Array(_) => Err(NoXml::new(format!("a list in the list `{name}` has no name"))),
            item => element(out, name, item),
        }),
        Value::Null => {
            out.push_str(&format!("<{name} xmlns:xsi=\"{XSI}\" xsi:nil=\"true\"/>"));
            Ok(())
        }
        Value::Object(members) => {
            out.push_str(&format!("<{name}"));
            for (key, value) in members {
                let Some(key) = key.strip_prefix(ATTRIBUTE).filter(|_| !value.is_null()) else { continue };
                if !is_name(key) {
                    return Err(NoXml::new(format!("`{key}` is not a name of an attribute")));
                }
                out.push_str(&format!(" {key}=\""));
                attribute(out, &scalar(value)?)?;
                out.push('"');
            }
            out.push('>');
            let inside = members.iter().filter(|(key, _)| !key.starts_with(ATTRIBUTE));
            inside.into_iter().try_for_each(|(name, value)| member(out, name, value))?;
            out.push_str(&format!("</{name}>"));
            Ok(())
        }
        scalar => {
            out.push_str(&format!("<{name}>"));
            content(out, scalar)?;
            out.push_str(&format!("</{name}>"));
            Ok(())
        }
    }
}

/// A value that stands in an attribute.
pub(crate) fn scalar(value: &Value) -> Result<String, NoXml> {
    match value {
        Value::Null => Ok(String::new()),
        Value::String(text) => Ok(text.clone()),
        Value::Bool(_) | Value::Number(_) => Ok(value.to_string()),
        Value::Array(_) | Value::Object(_) => {
            Err(NoXml::new("a list or a map has no place in an attribute or in the text beside elements"))
        }
    }
}

impl Namespaces {
    /// Declarations of the namespaces whose prefix is wanted, as attributes.
    pub(crate) fn declarations(&self, wanted: impl Fn(&str) -> bool) -> String {
        let mut out = String::new();
        for (prefix, uri) in self.iter().filter(|(prefix, _)| wanted(prefix)) {
            out.push_str(&format!(" xmlns:{prefix}=\""));
            // Its characters were checked when it was declared.
            let _ = attribute(&mut out, uri);
            out.push('"');
        }
        out
    }
}
