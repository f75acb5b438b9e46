//! An entry of the audit log as a message of syslog (RFC 5424), and how messages follow each other in a stream (RFC 6587).

use jiff::Timestamp;

use super::chain::{ChainEntry, ChainLink};

/// Longest message, in bytes; of longer texts the ends are left out.
pub const MOST_BYTES: usize = 8 * 1024;
/// Longest value of structured data, in bytes, as it is written: all of them leave place for the text.
const MOST_VALUE_BYTES: usize = 1024;
/// Facility 13, "log audit", and severity 5, "notice".
const PRIORITY: u8 = 13 * 8 + 5;
/// Longest name of a host that the format allows, in bytes.
const MOST_HOST_BYTES: usize = 255;
/// Name of the structured data. The number is the one that is reserved for examples: the project has none of its own.
const DATA: &str = "pagurus@32473";

/// A message: what was done as structured data, and reason and details as its text. An entry that is not there any more leaves
/// its link, which is sent without it.
#[must_use]
pub fn message(link: &ChainLink, entry: Option<&ChainEntry<'_>>, host: &str) -> Vec<u8> {
    let at = entry.and_then(|entry| Timestamp::from_microsecond(entry.at).ok());
    let at = at.map_or_else(|| "-".to_owned(), |at| format!("{at:.6}"));
    let mut message = format!(
        "<{PRIORITY}>1 {at} {} pagurus - audit [{DATA} position=\"{}\"",
        host_name(host),
        link.position
    );
    message += &format!(" no=\"{}\" hash=\"{}\"", link.order.no, link.hash);
    let Some(entry) = entry else {
        message += "] \u{feff}the entry was removed";
        return message.into_bytes();
    };
    let values = [
        ("action", Some(entry.action)),
        ("kind", Some(entry.kind)),
        ("subject", Some(entry.subject)),
        ("transport", Some(entry.door)),
        ("name", entry.name),
        ("origin", entry.origin),
    ];
    for (name, value) in values {
        let Some(value) = value else { continue };
        message += &format!(" {name}=\"");
        let most = message.len() + MOST_VALUE_BYTES;
        push(&mut message, value, most, |c| matches!(c, '"' | '\\' | ']'));
        message.push('"');
    }
    message.push(']');
    // The mark of UTF-8 that the format asks for.
    message.push_str(" \u{feff}");
    let reason = entry.reason.map(|reason| format!("{reason} ")).unwrap_or_default();
    push(&mut message, &format!("{reason}{}", entry.detail), MOST_BYTES, |_| false);
    message.into_bytes()
}

/// A message as it stands in a stream: behind its length.
#[must_use]
pub fn framed(message: &[u8]) -> Vec<u8> {
    let mut framed = format!("{} ", message.len()).into_bytes();
    framed.extend(message);
    framed
}

/// Adds a text until there is this number of bytes. What would end a line or move a cursor is replaced.
fn push(to: &mut String, text: &str, most: usize, is_escaped: fn(char) -> bool) {
    for c in text.chars() {
        let shown = if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') { '\u{fffd}' } else { c };
        let escape = is_escaped(shown);
        if to.len() + shown.len_utf8() + usize::from(escape) > most {
            return;
        }
        if escape {
            to.push('\\');
        }
        to.push(shown);
    }
}

/// A name as the format allows it: printable ASCII without spaces.
fn host_name(name: &str) -> String {
    let fit: String = name.chars().filter(char::is_ascii_graphic).take(MOST_HOST_BYTES).collect();
    if fit.is_empty() { "-".to_owned() } else { fit }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use proptest::prelude::*;

    use super::super::chain::ChainHead;
    use super::*;

    fn entry<'a>(subject: &'a str, reason: Option<&'a str>, detail: &'a str) -> ChainEntry<'a> {
        ChainEntry {
            no: 7,
            transaction: 900,
            at: 1_700_000_000_000_001,
            action: "stop",
            kind: "flow",
            subject,
            door: "http",
            name: None,
            origin: Some("10.0.0.7:41000"),
            reason,
            detail,
        }
    }

    fn text(entry: &ChainEntry<'_>) -> String {
        String::from_utf8(message(&ChainHead::default().next(0, entry), Some(entry), "activator one"))
            .unwrap()
    }

    #[test]
    fn qlt_15_an_entry_as_a_message_of_syslog() {
        let entry = entry("a]b\"c\\d\ne", Some("works"), r#"{"stop":1}"#);
        let hash = ChainHead::default().next(0, &entry).hash;
        let expected = format!(
            "<109>1 2023-11-14T22:13:20.000001Z activatorone pagurus - audit [pagurus@32473 position=\"1\" no=\"7\" \
             hash=\"{hash}\" action=\"stop\" kind=\"flow\" subject=\"a\\]b\\\"c\\\\d\u{fffd}e\" transport=\"http\" \
             origin=\"10.0.0.7:41000\"] \u{feff}works {{\"stop\":1}}"
        );
        assert_eq!(text(&entry), expected);
        assert_eq!(framed("é".as_bytes()), "2 é".as_bytes());
    }

    #[test]
    fn qlt_15_a_time_that_no_calendar_has_is_left_out() {
        let entry = ChainEntry { at: i64::MIN, ..entry("a", None, "{}") };
        assert!(text(&entry).starts_with("<109>1 - activatorone "), "{}", text(&entry));
    }

    proptest! {
        #[test]
        fn qlt_15_no_text_leaves_its_value_or_makes_a_message_too_long(
            subject in "(\\PC|[\"\\\\\\]\n\u{0}\u{7f}\u{2028}]){0,40}", times in 1_usize..400,
        ) {
            let long = subject.repeat(times);
            let entry = entry(&long, Some(&long), &long);
            let message = text(&entry);
            prop_assert!(message.len() <= MOST_BYTES && !message.chars().any(char::is_control));
            // Read as a receiver reads it: the value ends at the first quotation mark that is not escaped.
            let (_, rest) = message.split_once("subject=\"").unwrap();
            let mut chars = rest.chars();
            let mut value = String::new();
            loop {
                match chars.next().unwrap() {
                    '"' => break,
                    '\\' => value.push(chars.next().unwrap()),
                    ']' => prop_assert!(false, "not escaped in {}", rest),
                    c => value.push(c),
                }
            }
            prop_assert!(chars.as_str().starts_with(" transport="), "{}", rest);
            let shown = |c: char| if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') { '\u{fffd}' } else { c };
            let cleaned: String = long.chars().map(shown).collect();
            prop_assert!(cleaned.starts_with(&value));
        }
    }
}
