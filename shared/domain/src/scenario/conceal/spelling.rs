//! Finding a text in another one that may spell its characters otherwise: escaped as in JSON, percent-encoded
//! as in URLs, with `+` for a blank as in forms.

use percent_encoding::percent_decode;

/// The text with every occurrence replaced, however it is spelled.
pub(super) fn replace(text: &str, wanted: &str, by: &str) -> String {
    let bytes = text.as_bytes();
    let Some(first) = wanted.chars().next() else { return text.to_owned() };
    // Nearly every text spells nothing otherwise, and is searched ten times as fast so.
    if !bytes.iter().any(|byte| matches!(byte, b'\\' | b'%' | b'+')) && !text.contains(wanted) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let (mut copied, mut at) = (0, 0);
    while at < bytes.len() {
        let end = if may_begin(bytes[at], first) { end_of(bytes, at, wanted) } else { None };
        match end.filter(|end| text.is_char_boundary(*end)) {
            Some(end) => {
                out.push_str(&text[copied..at]);
                out.push_str(by);
                (copied, at) = (end, end);
            }
            None => at += 1,
        }
    }
    out.push_str(&text[copied..]);
    out
}

/// Only so do spellings of this character begin.
fn may_begin(byte: u8, first: char) -> bool {
    matches!(byte, b'\\' | b'%')
        || (byte == b'+' && first == ' ')
        || byte == first.encode_utf8(&mut [0; 4]).as_bytes()[0]
}

/// Where a spelling of the text that begins here ends. A backslash may belong to this character or to the
/// next, so that several ends are followed up; there are never more than the backslashes in a row.
fn end_of(bytes: &[u8], start: usize, wanted: &str) -> Option<usize> {
    let mut ends = vec![start];
    let mut next = Vec::new();
    for character in wanted.chars() {
        next.clear();
        for end in &ends {
            spellings(bytes, *end, character, &mut |end| {
                if !next.contains(&end) {
                    next.push(end);
                }
            });
        }
        if next.is_empty() {
            return None;
        }
        std::mem::swap(&mut ends, &mut next);
    }
    ends.into_iter().max()
}

/// Longest row of backslashes that is looked at: JSON in JSON in JSON in JSON.
const MOST_BACKSLASHES: usize = 16;

/// Tells every place where a spelling of the character ends that begins here.
fn spellings(bytes: &[u8], at: usize, character: char, found: &mut dyn FnMut(usize)) {
    let rest = &bytes[at..];
    let mut buffer = [0; 4];
    let literal = character.encode_utf8(&mut buffer).as_bytes();
    if let Some(length) = percent_length(rest, literal) {
        found(at + length);
    }
    if character == ' ' && rest.first() == Some(&b'+') {
        found(at + 1);
    }
    let slashes = rest.iter().take(MOST_BACKSLASHES).take_while(|byte| **byte == b'\\').count();
    if character == '\\' {
        (1..=slashes).for_each(|count| found(at + count));
    }
    let after = &rest[slashes..];
    if after.starts_with(literal) {
        found(at + slashes + literal.len());
    }
    if slashes > 0 {
        if letter_of(character).is_some_and(|letter| after.first() == Some(&letter)) {
            found(at + slashes + 1);
        }
        if let Some(length) = unicode_length(after, character) {
            found(at + slashes + length);
        }
    }
}

/// Length of the percent-encoded bytes, if all of them stand here; those that need no encoding may be
/// encoded, too.
fn percent_length(rest: &[u8], literal: &[u8]) -> Option<usize> {
    // Three bytes for each one of the text are as many only where all of them are encoded.
    let length = literal.len() * 3;
    percent_decode(rest.get(..length)?).eq(literal.iter().copied()).then_some(length)
}

/// The letter that stands for the character behind a backslash.
fn letter_of(character: char) -> Option<u8> {
    Some(match character {
        '\n' => b'n',
        '\r' => b'r',
        '\t' => b't',
        '\u{8}' => b'b',
        '\u{c}' => b'f',
        _ => return None,
    })
}

/// Length of an escape (`u` and four digits), or of two for a character beyond the first 65 536.
fn unicode_length(after: &[u8], character: char) -> Option<usize> {
    let mut length = 0;
    for (index, unit) in character.encode_utf16(&mut [0; 2]).iter().enumerate() {
        if index > 0 {
            let slashes = after[length..].iter().take_while(|byte| **byte == b'\\').count();
            length += Some(slashes).filter(|count| (1..=MOST_BACKSLASHES).contains(count))?;
        }
        let digits = after.get(length..length + 5)?.strip_prefix(b"u")?;
        let found = u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        if found != *unit {
            return None;
        }
        length += 5;
    }
    Some(length)
}
