//! Attributes by which a scenario lets its orders be found: names for values of parameters, kept in an index.

use serde_json::Value;

/// Attributes of a scenario, at most.
pub const MOST_ATTRIBUTES: usize = 10;
/// Values of one attribute of an order, at most; more are not found by it.
const MOST_VALUES: usize = 20;
/// Longest value, in bytes; a longer one is not found.
pub const MAX_VALUE_BYTES: usize = 255;

/// An attribute: its name, and the path of the parameter that has its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchAttribute {
    /// Name.
    pub name: String,
    /// Path below `params`, like `customer.id`.
    pub path: String,
}

/// A value of an attribute of an order, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttributeValue {
    /// Name of the attribute.
    pub name: String,
    /// Value.
    pub value: String,
}

/// The values that an order with these parameters has. Lists are passed through; what is neither text, number nor truth
/// value has none.
#[must_use]
pub fn attribute_values(attributes: &[SearchAttribute], params: &Value) -> Vec<AttributeValue> {
    let mut values: Vec<AttributeValue> = Vec::new();
    for attribute in attributes {
        let mut found: Vec<String> = values_at(params, &attribute.path).filter_map(text_of).collect();
        found.sort_unstable();
        found.dedup();
        found.truncate(MOST_VALUES);
        values.extend(found.into_iter().map(|value| AttributeValue { name: attribute.name.clone(), value }));
    }
    values
}

/// The values at a path; a list is passed through, so that a path holds for each of its items.
#[must_use]
pub fn values_at<'a>(value: &'a Value, path: &str) -> Box<dyn Iterator<Item = &'a Value> + 'a> {
    if let Value::Array(items) = value {
        let path = path.to_owned();
        return Box::new(items.iter().flat_map(move |item| values_at(item, &path).collect::<Vec<_>>()));
    }
    if path.is_empty() {
        return Box::new(std::iter::once(value));
    }
    let (key, rest) = path.split_once('.').unwrap_or((path, ""));
    match value.get(key) {
        Some(member) => values_at(member, rest),
        None => Box::new(std::iter::empty()),
    }
}

/// The text that a text, a number or a truth value is written as.
#[must_use]
pub fn written(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

fn text_of(value: &Value) -> Option<String> {
    written(value).filter(|text| text.len() <= MAX_VALUE_BYTES && !text.contains('\0'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rec_13_an_order_has_the_values_that_its_scenario_declares() {
        let attribute = |name: &str, path: &str| SearchAttribute { name: name.into(), path: path.into() };
        let attributes =
            [attribute("customer", "customer.id"), attribute("sku", "lines.sku"), attribute("none", "x")];
        let long = "x".repeat(256);
        let params = json!({
            "customer": {"id": 7}, "lines": [{"sku": "b"}, {"sku": "a"}, {"sku": "b"}, {"sku": long}, {"sku": {}}, {"sku": "a\0"}],
        });
        let values: Vec<(String, String)> = attribute_values(&attributes, &params)
            .into_iter()
            .map(|value| (value.name, value.value))
            .collect();
        let expected = [("customer", "7"), ("sku", "a"), ("sku", "b")];
        assert_eq!(values, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let many = json!({"lines": (0..50).map(|n| json!({"sku": n})).collect::<Vec<_>>()});
        assert_eq!(attribute_values(&attributes, &many).len(), MOST_VALUES);
    }
}
