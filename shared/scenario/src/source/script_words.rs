//! Finds calls of a function in code of the script language, without running or parsing it.
//!
//! Texts and comments do not count. A function that is called by a name made at run time is not
//! found: the interpreter then ends the order with a clear error.

/// True if the code calls the function `name`.
pub(super) fn calls(code: &str, name: &str) -> bool {
    let code = without_texts(code);
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(name).any(|(at, _)| {
        let before = code[..at].trim_end();
        let after = code[at + name.len()..].trim_start();
        !code[..at].ends_with(is_word) && !before.ends_with("fn") && after.starts_with('(')
    })
}

/// The code with a space for every text and comment. Texts in back-ticks stay, because they may
/// hold expressions.
fn without_texts(code: &str) -> String {
    let mut out = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let skipped = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => block_comment(rest),
            '"' | '\'' => quoted(rest, first),
            '`' => {
                let (text, after) = rest.split_at(quoted(rest, first));
                out.push_str(text);
                rest = after;
                continue;
            }
            _ => 0,
        };
        if skipped == 0 {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            out.push(' ');
            rest = &rest[skipped..];
        }
    }
    out
}

/// Length of a comment; they nest.
fn block_comment(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// Length of a text in quotes.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}
