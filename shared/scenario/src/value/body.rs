//! Bodies of answers as values.

use pagurus_domain::depth::{MAX_DEPTH, is_within};
use serde_json::Value;

use crate::xml::{self, Namespaces};

/// A body as scenarios see it: JSON as its value, XML by its content type as the value of its document, any other, and what
/// is nested too deep, as text. Where its content type says that it is something else, only a tree is JSON: `1.10` is no
/// number, while many a system forgets to say JSON.
#[must_use]
pub fn body_value(body: &str, content_type: Option<&str>) -> Value {
    body_value_in(body, content_type, &Namespaces::default())
}

/// The same, where namespaces are declared.
#[must_use]
pub fn body_value_in(body: &str, content_type: Option<&str>, namespaces: &Namespaces) -> Value {
    if content_type.is_some_and(xml::is_xml_type)
        && let Ok(document) = xml::read(body, namespaces)
    {
        return document;
    }
    let is_json = content_type.is_none_or(|of| of.is_empty() || of.to_ascii_lowercase().contains("json"));
    let is_tree = |value: &Value| value.is_object() || value.is_array();
    match serde_json::from_str(body) {
        Ok(value) if is_within(&value, MAX_DEPTH) && (is_json || is_tree(&value)) => value,
        _ => Value::String(body.to_owned()),
    }
}
