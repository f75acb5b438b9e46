//! Reading optional fields by `value?.field`: a field that is not there is `()`, as the value itself may be.
//!
//! The language has `?.` for values that may be `()`, and the sandbox makes a field that is not there an error, so that a
//! typing error is none. Here each `?.field` is written as the call `?.get("field")` before the code is compiled, and places
//! in what is compiled are reported as places in what was written.

use std::borrow::Cow;

/// Text of a call in front of the name of a field, and behind it.
const BEFORE: &str = "get(\"";
const BEHIND: &str = "\")";

/// Places where the compiled code is longer than what was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Shifts(Vec<ColumnShift>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ColumnShift {
    line: usize,
    /// The first column, from 1, that stands further to the right than it was written.
    column: usize,
    by: usize,
}

impl Shifts {
    /// The column of the code as it was written, from 1.
    pub(super) fn written(&self, line: usize, column: usize) -> usize {
        let before = self.0.iter().filter(|shift| shift.line == line && shift.column <= column);
        column.saturating_sub(before.map(|shift| shift.by).sum()).max(1)
    }
}

/// A part of the code that ends by a sign of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CodePart {
    /// Code, with the number of braces that are open in it.
    Code(usize),
    /// A text in back-ticks, which may hold code.
    Text,
}

/// The code with a call for each field that is read by `?.`.
pub(super) fn with_calls(code: &str) -> (Cow<'_, str>, Shifts) {
    if !code.contains("?.") {
        return (Cow::Borrowed(code), Shifts::default());
    }
    let mut writer =
        Writer { out: String::with_capacity(code.len() + 32), shifts: Vec::new(), line: 1, column: 1 };
    let mut parts = vec![CodePart::Code(0)];
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let length = match (parts.last().copied().unwrap_or(CodePart::Code(0)), first) {
            (CodePart::Text, '`') | (CodePart::Code(0), '}') if parts.len() > 1 => {
                parts.pop();
                1
            }
            (CodePart::Text, '\\') => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            (CodePart::Text, '$') if rest.starts_with("${") => {
                parts.push(CodePart::Code(0));
                2
            }
            (CodePart::Text, other) => other.len_utf8(),
            (CodePart::Code(_), '`') => {
                parts.push(CodePart::Text);
                1
            }
            (CodePart::Code(depth), '{' | '}') => {
                let depth = if first == '{' { depth + 1 } else { depth.saturating_sub(1) };
                parts.pop();
                parts.push(CodePart::Code(depth));
                1
            }
            (CodePart::Code(_), '?') if rest.starts_with("?.") => {
                writer.put("?.");
                rest = &rest[2..];
                rest = writer.field(rest);
                continue;
            }
            (CodePart::Code(_), _) => length_in_code(rest, first),
        };
        writer.put(&rest[..length]);
        rest = &rest[length..];
    }
    (Cow::Owned(writer.out), Shifts(writer.shifts))
}

/// Length of the comment or text that begins here, or else of the character.
fn length_in_code(rest: &str, first: char) -> usize {
    match first {
        '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
        '/' if rest.starts_with("/*") => length_of_comment(rest),
        '"' | '\'' => length_of_text(rest, first),
        '#' => {
            let signs = rest.len() - rest.trim_start_matches('#').len();
            let end = format!("\"{}", "#".repeat(signs));
            match rest[signs..].strip_prefix('"').map(|text| text.find(&end)) {
                Some(found) => found.map_or(rest.len(), |at| signs + 1 + at + end.len()),
                None => 1,
            }
        }
        other => other.len_utf8(),
    }
}

/// Returns the length of a comment; comments nest.
fn length_of_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(next) = rest[at..].find(['/', '*']) {
        at += next;
        let here = &rest[at..];
        if here.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with("*/") {
            depth = depth.saturating_sub(1);
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

fn length_of_text(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

struct Writer {
    out: String,
    shifts: Vec<ColumnShift>,
    line: usize,
    /// Column of the output, from 1.
    column: usize,
}

impl Writer {
    fn put(&mut self, text: &str) {
        for c in text.chars() {
            (self.line, self.column) =
                if c == '\n' { (self.line + 1, 1) } else { (self.line, self.column + 1) };
        }
        self.out.push_str(text);
    }

    /// Writes the field that follows `?.`, where it is none that is called.
    fn field<'c>(&mut self, rest: &'c str) -> &'c str {
        let name = rest.trim_start();
        let blank = rest.len() - name.len();
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let length = name.find(|c: char| !is_word(c)).unwrap_or(name.len());
        let is_called = name[length..].trim_start().starts_with('(');
        if length == 0 || is_called || name.starts_with(|c: char| c.is_ascii_digit()) {
            return rest;
        }
        self.put(&rest[..blank]);
        self.insert(BEFORE);
        self.put(&name[..length]);
        self.insert(BEHIND);
        &name[length..]
    }

    fn insert(&mut self, text: &str) {
        self.put(text);
        self.shifts.push(ColumnShift { line: self.line, column: self.column, by: text.len() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scn_18_optional_fields_are_read_by_a_call_and_nothing_else_changes() {
        for (code, expected) in [
            ("a?.b?.c", "a?.get(\"b\")?.get(\"c\")"),
            ("a?.b.c", "a?.get(\"b\").c"),
            ("a?.len()", "a?.len()"),
            ("a?.b ?? 1", "a?.get(\"b\") ?? 1"),
            ("a?. b", "a?. get(\"b\")"),
            ("'?.a' + \"?.b\" // ?.c", "'?.a' + \"?.b\" // ?.c"),
            ("/* ?.a /* ?.b */ ?.c */ x?.d", "/* ?.a /* ?.b */ ?.c */ x?.get(\"d\")"),
            ("`?.a ${b?.c + #{d: 1}.d} ?.e`", "`?.a ${b?.get(\"c\") + #{d: 1}.d} ?.e`"),
            ("#\"?.a\"# + x?.b", "#\"?.a\"# + x?.get(\"b\")"),
            ("x?[0]?.b", "x?[0]?.get(\"b\")"),
            ("#{a: 1}?.a", "#{a: 1}?.get(\"a\")"),
        ] {
            assert_eq!(with_calls(code).0, expected, "{code}");
        }
    }

    #[test]
    fn scn_18_places_are_reported_as_they_were_written() {
        let code = "x;\nlet y = a?.b?.c + no";
        let (compiled, shifts) = with_calls(code);
        let line = compiled.lines().nth(1).unwrap_or_default();
        for word in ["let", "a?", "no"] {
            let (here, there) = (line.find(word), code.lines().nth(1).unwrap_or_default().find(word));
            assert_eq!(here.map(|at| shifts.written(2, at + 1)), there.map(|at| at + 1), "{word}");
        }
        assert_eq!(shifts.written(1, 2), 2);
    }
}
