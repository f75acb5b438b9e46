//! The characters that may stand at a place of a text that spells them otherwise: escaped as in JSON, percent-encoded as
//! in URLs, with `+` for a blank as in forms, as entities of HTML; escaped once more by another hand, too.

use super::entity;

/// Longest row of backslashes that is looked at: JSON in JSON in JSON in JSON.
const MOST_BACKSLASHES: usize = 16;
/// Most hands that may have escaped a `%` or an `&` once more.
const MOST_HANDS: usize = 4;

/// Bytes by which spellings begin that are not the character itself.
pub(super) const SPECIAL: [u8; 4] = [b'\\', b'%', b'&', b'+'];

/// True if a character may be spelled otherwise from here on.
pub(super) const fn is_special(byte: u8) -> bool {
    matches!(byte, b'\\' | b'%' | b'&' | b'+')
}

/// Tells every character that may be spelled here, and where its spelling ends. A backslash may belong to this
/// character or to the next, so that there are several.
pub(super) fn readings(text: &str, at: usize, found: &mut dyn FnMut(char, usize)) {
    let bytes = text.as_bytes();
    let mut first = None;
    unescaped(text, at, &mut |character, end| {
        if character == '\\' {
            first = Some(end);
        }
        found(character, end);
    });
    let Some(mut here) = first else { return };
    for _ in 1..MOST_BACKSLASHES {
        let Some(end) = backslash(text, here) else { break };
        here = end;
        found('\\', here);
    }
    unescaped(text, here, found);
    let letter = match bytes.get(here) {
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'u') => {
            if let Some((character, end)) = unicode(text, here) {
                found(character, end);
                if character == '&' {
                    entities(bytes, end, found);
                }
            }
            return;
        }
        _ => return,
    };
    found(letter, here + 1);
}

/// The same without the escapes of JSON.
fn unescaped(text: &str, at: usize, found: &mut dyn FnMut(char, usize)) {
    let Some(character) = text.get(at..).and_then(|rest| rest.chars().next()) else { return };
    let after = at + character.len_utf8();
    found(character, after);
    match character {
        '+' => found(' ', after),
        '%' => percent(text.as_bytes(), after, found),
        '&' => entities(text.as_bytes(), after, found),
        _ => {}
    }
}

/// Returns the end of the backslash at this place.
fn backslash(text: &str, at: usize) -> Option<usize> {
    match text.as_bytes().get(at)? {
        b'\\' => Some(at + 1),
        b'%' | b'&' => {
            let mut ends = None;
            unescaped(text, at, &mut |character, end| {
                if character == '\\' {
                    ends = Some(end);
                }
            });
            ends
        }
        _ => None,
    }
}

/// Characters whose percent-encoding goes on here, behind its `%`: in UTF-8, or a byte of Latin-1.
fn percent(bytes: &[u8], after: usize, found: &mut dyn FnMut(char, usize)) {
    let mut digits = after;
    for _ in 0..=MOST_HANDS {
        if let Some(first) = hex(bytes, digits) {
            found(char::from(first), digits + 2);
            if first == b'+' {
                // The blank of a form that was encoded once more.
                found(' ', digits + 2);
            }
            if let Some((character, end)) = of_several(bytes, after - 1, digits, first) {
                found(character, end);
            }
        }
        if !bytes[digits.min(bytes.len())..].starts_with(b"25") {
            return;
        }
        digits += 2;
    }
}

/// The character beyond ASCII whose first byte stands at `digits`; each of its bytes has the mark from `mark` on.
fn of_several(bytes: &[u8], mark: usize, digits: usize, first: u8) -> Option<(char, usize)> {
    let length = match first {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return None,
    };
    let mark = &bytes[mark..digits];
    let (mut read, mut end) = ([first, 0, 0, 0], digits + 2);
    for byte in &mut read[1..length] {
        let next = end + mark.len();
        if bytes.get(end..next)? != mark {
            return None;
        }
        *byte = hex(bytes, next)?;
        end = next + 2;
    }
    Some((std::str::from_utf8(&read[..length]).ok()?.chars().next()?, end))
}

/// Characters whose entity goes on here, behind its `&`.
fn entities(bytes: &[u8], after: usize, found: &mut dyn FnMut(char, usize)) {
    let mut at = after;
    for _ in 0..=MOST_HANDS {
        if let Some((character, end)) = entity::read(bytes, at) {
            found(character, end);
        }
        if !bytes[at.min(bytes.len())..].starts_with(b"amp;") {
            return;
        }
        at += 4;
    }
}

/// The character of an escape (`u` and four digits), or of two for one beyond the first 65 536, and where it ends.
fn unicode(text: &str, at: usize) -> Option<(char, usize)> {
    let bytes = text.as_bytes();
    let first = unit(bytes, at)?;
    if let Some(character) = char::from_u32(u32::from(first)) {
        return Some((character, at + 5));
    }
    let (mut slashes, mut here) = (0, at + 5);
    while slashes < MOST_BACKSLASHES
        && let Some(end) = backslash(text, here)
    {
        (slashes, here) = (slashes + 1, end);
    }
    let second = unit(bytes, here).filter(|_| slashes > 0)?;
    let character = char::decode_utf16([first, second]).next()?.ok()?;
    Some((character, here + 5))
}

fn unit(bytes: &[u8], at: usize) -> Option<u16> {
    (bytes.get(at) == Some(&b'u')).then_some(())?;
    Some(u16::from_be_bytes([hex(bytes, at + 1)?, hex(bytes, at + 3)?]))
}

/// The byte of two hexadecimal digits.
fn hex(bytes: &[u8], at: usize) -> Option<u8> {
    let digit =
        |at: usize| char::from(*bytes.get(at)?).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(at)? * 16 + digit(at + 1)?)
}
