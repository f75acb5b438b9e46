//! Remedies for what the YAML reader refuses: its messages name the fault of form, and not what most probably led to it.

use super::Position;
use crate::number::saturated;

/// The remedy for a fault of form at a place of the text, by the words of the YAML reader.
pub(super) fn remedy(message: &str, at: Option<Position>, text: &str) -> Option<String> {
    let line = at.and_then(|at| text.lines().nth(index(at.line)));
    if message.contains("mapping values are not allowed") {
        let before: String = line?.chars().take(index(at?.column)).collect();
        return Some(if before.contains(": ") {
            "put a text that contains `: ` in quotes".to_owned()
        } else {
            "does this line belong under the same key as the one above? Then indent both alike".to_owned()
        });
    }
    if message.contains("tab") && line.is_some_and(|line| line.contains('\t')) {
        return Some("indent with spaces".to_owned());
    }
    let is_closed = message.contains("after double-quoted scalar");
    if is_closed || message.contains("in multiline quoted scalar") {
        let quotes = quotes_before(text, at?);
        let opened =
            quotes.len().checked_sub(if is_closed { 2 } else { 1 }).map(|opening| quotes[opening])?;
        return Some(if opened == at?.line {
            "put the whole text in quotes, with `\\\"` for each inside of it".to_owned()
        } else {
            format!("a `\"` that opens in line {opened} is not closed there")
        });
    }
    None
}

/// The line of each quote before this place.
fn quotes_before(text: &str, at: Position) -> Vec<u32> {
    let before = text.lines().take(index(at.line)).collect::<Vec<_>>();
    let last: String =
        text.lines().nth(index(at.line)).unwrap_or_default().chars().take(index(at.column)).collect();
    let mut quotes = Vec::new();
    for (number, line) in (1..).zip(before.into_iter().chain([last.as_str()])) {
        let mut escaped = false;
        for c in line.chars() {
            if c == '"' && !escaped {
                quotes.push(number);
            }
            escaped = c == '\\' && !escaped;
        }
    }
    quotes
}

/// Index of a number that counts from 1.
fn index(number: u32) -> usize {
    saturated::<usize>(number).saturating_sub(1)
}
