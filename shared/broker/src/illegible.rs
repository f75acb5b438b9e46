//! Messages that could not be read as their senders wrote them: what `frames` mended is reported here.

use crate::{
    delivery::Delivery,
    frames::{MAX_HEADER_DEPTH, SUBSTITUTE},
    message::{HeaderValue, Properties},
};

impl Delivery {
    /// Parts of this message that could not be read, for people; none if all could. Where a short string
    /// was no UTF-8 it holds the control character SUBSTITUTE, which no honest name contains either.
    #[must_use]
    pub fn illegible(&self) -> Option<String> {
        if is_broken(&self.routing_key) {
            return Some("the routing key is not UTF-8 text".to_owned());
        }
        of_properties(&self.properties)
    }
}

/// True if a short string came with bytes that are no text.
#[must_use]
pub fn is_broken(text: &str) -> bool {
    text.as_bytes().contains(&SUBSTITUTE)
}

fn of_properties(properties: &Properties) -> Option<String> {
    let texts = [
        ("content_type", &properties.content_type),
        ("content_encoding", &properties.content_encoding),
        ("correlation_id", &properties.correlation_id),
        ("reply_to", &properties.reply_to),
        ("message_id", &properties.message_id),
        ("type", &properties.type_),
        ("app_id", &properties.app_id),
        ("user_id", &properties.user_id),
        ("expiration", &properties.expiration),
    ];
    let broken = texts.iter().find(|(_, text)| text.as_deref().is_some_and(is_broken));
    if let Some((name, _)) = broken {
        return Some(format!("the property `{name}` is not UTF-8 text"));
    }
    of_table(&properties.headers, 1).map(|found| format!("the headers {found}"))
}

/// Faults of the entries of a table, whose values stand on this level.
fn of_table(entries: &[(String, HeaderValue)], depth: usize) -> Option<String> {
    if entries.iter().any(|(name, _)| is_broken(name)) {
        return Some("have a name that is not UTF-8 text".to_owned());
    }
    entries.iter().find_map(|(_, value)| of_value(value, depth))
}

fn of_value(value: &HeaderValue, depth: usize) -> Option<String> {
    if depth > MAX_HEADER_DEPTH {
        return Some(format!("are nested deeper than {MAX_HEADER_DEPTH} levels"));
    }
    match value {
        HeaderValue::List(values) => values.iter().find_map(|value| of_value(value, depth + 1)),
        HeaderValue::Table(entries) => of_table(entries, depth + 1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(depth: usize) -> HeaderValue {
        (0..depth).fold(HeaderValue::Null, |inner, _| HeaderValue::List(vec![inner]))
    }

    fn of(properties: Properties) -> Option<String> {
        of_properties(&properties)
    }

    #[test]
    fn amqp_1_what_was_mended_is_reported_and_nothing_else() {
        assert_eq!(of(Properties { message_id: Some("größe\n".into()), ..Properties::default() }), None);
        let broken = Properties { type_: Some("caf\u{1a}".into()), ..Properties::default() };
        assert_eq!(of(broken).as_deref(), Some("the property `type` is not UTF-8 text"));
        let inside = HeaderValue::Table(vec![("\u{1a}".into(), HeaderValue::Null)]);
        let broken = Properties { headers: vec![("h".into(), inside)], ..Properties::default() };
        assert_eq!(of(broken).as_deref(), Some("the headers have a name that is not UTF-8 text"));
        for (depth, fits) in [(MAX_HEADER_DEPTH - 1, true), (MAX_HEADER_DEPTH, false)] {
            let headers = vec![("h".to_owned(), nested(depth))];
            assert_eq!(of(Properties { headers, ..Properties::default() }).is_none(), fits, "{depth}");
        }
    }
}
