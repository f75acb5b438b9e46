//! Maps characters of a read text to their places in the file.
//!
//! Errors inside scripts and expressions count lines and columns in the text that YAML made of the
//! file: indentation taken off, lines folded, escapes resolved. Here both are walked side by side.
//! Must never fail: where the two do not match, the best place so far is the answer.

use pagurus_domain::document::{DocumentNode, Position};

use crate::places::Places;

/// The text of a file with the places of its lines.
pub(super) struct SourceMap<'a> {
    text: &'a str,
    line_starts: Vec<usize>,
}

/// Style in which a text is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    Single,
    Double,
    Block,
}

impl<'a> SourceMap<'a> {
    /// Notes where the lines begin.
    pub(super) fn new(text: &'a str) -> Self {
        let after_breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        let line_starts = std::iter::once(0).chain(after_breaks).collect();
        Self { text, line_starts }
    }

    /// The places of the text `value` that was read at `node`.
    pub(super) fn places(&self, node: &DocumentNode, value: &str) -> Places {
        let mut text = Position { line: 1, column: 1 };
        let mut places = Places::default();
        let Some(mut walk) = self.walk(node) else {
            places.push(text, node.at);
            return places;
        };
        places.push(text, walk.at);
        for wanted in value.chars() {
            let before = walk.at.line;
            walk.pass(wanted);
            text = match wanted {
                '\n' => Position { line: text.line + 1, column: 1 },
                _ => Position { column: text.column + 1, ..text },
            };
            if walk.at.line != before || wanted == '\n' {
                places.push(text, walk.at);
            }
        }
        places
    }

    /// The walk over a text from its first character on.
    fn walk(&self, node: &DocumentNode) -> Option<Walk<'_>> {
        let start = self.offset(node.at)?;
        let style = self.style(start);
        let mut walk =
            Walk { rest: &self.text[start..], at: node.at, style, indent: node.at.column.saturating_sub(1) };
        if matches!(style, Style::Single | Style::Double) {
            walk.step();
        }
        Some(walk)
    }

    /// The place of line `line`, column `column` of the text `value` that was read at `node`.
    pub(super) fn place(&self, node: &DocumentNode, value: &str, line: u32, column: u32) -> Position {
        let Some(mut walk) = self.walk(node) else {
            return node.at;
        };
        for wanted in before(value, line, column) {
            walk.pass(wanted);
        }
        walk.at
    }

    fn offset(&self, at: Position) -> Option<usize> {
        let line = usize::try_from(at.line).ok()?.checked_sub(1)?;
        let column = usize::try_from(at.column).ok()?.checked_sub(1)?;
        let start = *self.line_starts.get(line)?;
        let end = self.line_starts.get(line + 1).copied();
        let text = &self.text[start..end.unwrap_or(self.text.len())];
        let (within, _) = text.char_indices().nth(column)?;
        Some(start + within)
    }

    fn style(&self, start: usize) -> Style {
        let (before, from) = self.text.split_at(start);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let own_line = before[line_start..].chars().all(|c| c == ' ');
        if own_line && ends_in_block_header(&before[..line_start]) {
            return Style::Block;
        }
        match from.chars().next() {
            Some('"') => Style::Double,
            Some('\'') => Style::Single,
            _ => Style::Plain,
        }
    }
}

/// True if the last line with content ends in `|` or `>`, with or without indicators.
fn ends_in_block_header(before: &str) -> bool {
    let Some(line) = before.lines().rev().find(|line| !line.trim().is_empty()) else {
        return false;
    };
    let line = line.split(" #").next().unwrap_or(line).trim_end();
    let header = line.trim_end_matches(|c: char| c == '+' || c == '-' || c.is_ascii_digit());
    line.len() - header.len() <= 2 && header.ends_with(['|', '>'])
}

/// The characters of `value` in front of a line and column.
fn before(value: &str, line: u32, column: u32) -> impl Iterator<Item = char> + '_ {
    let mut at = (1, 1);
    value.chars().take_while(move |c| {
        let wanted = at < (line, column);
        at = if *c == '\n' { (at.0 + 1, 1) } else { (at.0, at.1 + 1) };
        wanted
    })
}

/// A place in the file that moves on as characters of the value are passed.
struct Walk<'a> {
    rest: &'a str,
    at: Position,
    style: Style,
    indent: u32,
}

impl Walk<'_> {
    /// Passes what the file has for one character of the value.
    fn pass(&mut self, wanted: char) {
        while self.style == Style::Double && self.rest.starts_with('\\') {
            if self.escape() {
                return;
            }
        }
        if !wanted.is_whitespace() {
            self.skip_whitespace();
        }
        match self.rest.chars().next() {
            Some('\'') if self.style == Style::Single => {
                self.step();
                if self.rest.starts_with('\'') {
                    self.step();
                }
            }
            Some('\r' | '\n') if wanted == '\n' => {
                if self.rest.starts_with("\r\n") {
                    self.step();
                }
                self.step();
                let end = self.at.column + self.indent;
                while self.at.column < end && self.rest.starts_with(' ') {
                    self.step();
                }
            }
            Some(found) if found == wanted => self.step(),
            Some(found) if wanted.is_whitespace() && found.is_whitespace() => {
                self.skip_whitespace();
            }
            _ => {}
        }
    }

    /// Passes one escape; false for an escaped line break, which stands for nothing.
    fn escape(&mut self) -> bool {
        self.step();
        let digits = match self.rest.chars().next() {
            Some('x') => 2,
            Some('u') => 4,
            Some('U') => 8,
            Some('\r' | '\n') => {
                self.skip_whitespace();
                return false;
            }
            _ => 0,
        };
        for _ in 0..=digits {
            self.step();
        }
        true
    }

    fn skip_whitespace(&mut self) {
        while self.rest.starts_with(char::is_whitespace) {
            self.step();
        }
    }

    fn step(&mut self) {
        let mut rest = self.rest.chars();
        match rest.next() {
            Some('\n') => {
                self.at.line += 1;
                self.at.column = 1;
            }
            Some(_) => self.at.column += 1,
            None => {}
        }
        self.rest = rest.as_str();
    }
}
