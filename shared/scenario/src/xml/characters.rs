//! Characters and names that XML 1.0 allows.

/// True for a character that a document may hold, escaped or not.
pub(crate) const fn is_legal(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..='\u{10FFFF}')
}

/// True for white space of XML, which is less than that of Unicode.
pub(crate) const fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

/// True for a name without a prefix, or with one: `line`, `o:line`.
#[must_use]
pub fn is_name(name: &str) -> bool {
    match name.split_once(':') {
        None => is_local_name(name),
        Some((prefix, local)) => is_local_name(prefix) && is_local_name(local),
    }
}

/// True for a name without a colon. Letters beyond ASCII are taken generously: who reads the document decides.
pub(super) fn is_local_name(name: &str) -> bool {
    let first = |c: char| c.is_alphabetic() || c == '_';
    let other = |c: char| {
        c.is_alphanumeric()
            || matches!(c, '_' | '-' | '.' | '\u{B7}')
            || (!c.is_ascii() && !c.is_whitespace())
    };
    name.starts_with(first) && name.chars().all(|c| is_legal(c) && other(c))
}
