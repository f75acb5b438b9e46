//! A place in a text that may be unfinished YAML: the keys that lead to it, and what was typed there.
//!
//! Reads block mappings and lists by their indentation, and flow mappings and lists by their brackets. What it does not know
//! (anchors, tags, complex keys) it passes over.

use super::schema::ITEM;

/// Kind of what is written at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlaceRole {
    Key,
    Value,
    /// An item of a list: a value, or the first key of a mapping.
    Item,
}

/// A place in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextPlace {
    /// Keys that lead to it; of a value, its own key among them.
    pub path: Vec<String>,
    pub role: PlaceRole,
    /// Text before the place that an item takes the place of.
    pub typed: String,
    /// Column at which it begins.
    pub column: usize,
    /// The expression that the place stands in, from behind its `${`.
    pub expression: Option<String>,
}

/// A key of a text, with its value where that is plain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SeenKey {
    pub path: Vec<String>,
    pub value: String,
}

/// A mapping or a list that is open.
#[derive(Clone, Debug)]
struct OpenFrame {
    /// Column of its keys or dashes; none inside of brackets.
    indent: Option<usize>,
    is_list: bool,
    key: Option<String>,
}

#[derive(Debug, Default)]
struct Scan {
    frames: Vec<OpenFrame>,
    /// Indentation of the key whose text of many lines is being passed over.
    text_of: Option<usize>,
    seen: Vec<SeenKey>,
    /// Text since the last key, comma or bracket.
    token: String,
}

/// Keys of a text, in order.
pub(super) fn keys_of(text: &str) -> Vec<SeenKey> {
    let mut scan = Scan::default();
    text.lines().for_each(|line| scan.line(line));
    scan.seen
}

/// The place at a line and a column, counted from 1, columns in units of UTF-16.
pub(super) fn place_at(text: &str, line: usize, column: usize) -> TextPlace {
    let mut scan = Scan::default();
    let mut lines = text.lines();
    lines.by_ref().take(line.saturating_sub(1)).for_each(|line| scan.line(line));
    let present = before(lines.next().unwrap_or_default(), column);
    let is_text = scan.is_text(present);
    scan.line(present);
    let expression = present.rfind("${").map(|at| &present[at + 2..]).filter(|rest| !rest.contains('}'));
    let typed = match expression {
        Some(expression) => expression.rsplit(['.', ' ', '(', '[']).next().unwrap_or_default(),
        None => present.strip_suffix(scan.token.as_str()).map_or("", |before| &present[before.len()..]),
    };
    let typed = typed.trim_start_matches(['"', '\'']);
    let (path, role) = scan.present(present, is_text);
    TextPlace {
        path,
        role,
        typed: typed.to_owned(),
        column: 1 + utf16(&present[..present.len() - typed.len()]),
        expression: expression.map(str::to_owned),
    }
}

fn utf16(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// The part of a line before a column.
fn before(line: &str, column: usize) -> &str {
    let mut units = 1;
    for (at, letter) in line.char_indices() {
        if units >= column {
            return &line[..at];
        }
        units += letter.len_utf16();
    }
    line
}

impl Scan {
    fn path(&self) -> Vec<String> {
        let name = |frame: &OpenFrame| if frame.is_list { Some(ITEM.to_owned()) } else { frame.key.clone() };
        self.frames.iter().filter_map(name).collect()
    }

    /// True if a line belongs to a text of many lines.
    fn is_text(&self, line: &str) -> bool {
        let indent = line.len() - line.trim_start().len();
        self.text_of.is_some_and(|of| indent > of || line.trim().is_empty())
    }

    fn in_brackets(&self) -> bool {
        self.frames.last().is_some_and(|frame| frame.indent.is_none())
    }

    /// Path and role of the place behind what was read.
    fn present(&self, line: &str, is_text: bool) -> (Vec<String>, PlaceRole) {
        let path = self.path();
        if is_text {
            return (path, PlaceRole::Value);
        }
        let Some(frame) = self.frames.last() else { return (path, PlaceRole::Key) };
        if frame.is_list {
            return (path, PlaceRole::Item);
        }
        let is_value = frame.key.is_some() && (self.in_brackets() || line.contains(':'));
        if is_value {
            return (path, PlaceRole::Value);
        }
        let behind_key = frame.key.is_some();
        let indent = line.len() - line.trim_start().len();
        // A key beside the last one, or the first one below it.
        let is_beside = frame.indent == Some(indent) || line.trim_start().starts_with('-');
        let mut outer = path;
        if behind_key && is_beside {
            outer.pop();
        }
        (outer, PlaceRole::Key)
    }

    fn line(&mut self, line: &str) {
        if self.is_text(line) {
            return;
        }
        self.text_of = None;
        self.token.clear();
        if self.in_brackets() {
            self.flow(line);
            return;
        }
        let content = line.trim_start();
        let mut indent = line.len() - content.len();
        if content.starts_with('#') {
            return;
        }
        if content.is_empty() {
            self.close(indent, false);
            return;
        }
        let mut rest = content;
        self.close(indent, rest.starts_with('-'));
        while let Some(item) = rest.strip_prefix("- ").or_else(|| (rest == "-").then_some("")) {
            if !self.frames.last().is_some_and(|frame| frame.is_list && frame.indent == Some(indent)) {
                self.frames.push(OpenFrame { indent: Some(indent), is_list: true, key: None });
            }
            let item = item.trim_start();
            indent += rest.len() - item.len();
            rest = item;
        }
        self.entry(rest, indent);
    }

    /// Closes what a line of this indentation stands outside of.
    fn close(&mut self, indent: usize, is_item: bool) {
        while let Some(OpenFrame { indent: Some(of), is_list, .. }) = self.frames.last() {
            if *of > indent || (*of == indent && *is_list && !is_item) {
                self.frames.pop();
            } else {
                break;
            }
        }
    }

    /// Reads `key: value` at an indentation, or a value alone.
    fn entry(&mut self, rest: &str, indent: usize) {
        let Some((name, value)) = split_key(rest) else {
            self.flow(rest);
            return;
        };
        match self.frames.last_mut() {
            Some(frame) if !frame.is_list && frame.indent == Some(indent) => frame.key = Some(name),
            _ => self.frames.push(OpenFrame { indent: Some(indent), is_list: false, key: Some(name) }),
        }
        let value = value.trim_start();
        if value.starts_with(['|', '>']) {
            self.text_of = Some(indent);
        }
        let plain = if value.starts_with(['{', '[']) { "" } else { value };
        self.note(plain);
        self.token.clear();
        self.flow(value);
    }

    fn note(&mut self, value: &str) {
        let value = value.split(" #").next().unwrap_or_default().trim().trim_matches(['"', '\'']);
        self.seen.push(SeenKey { path: self.path(), value: value.to_owned() });
    }

    /// Reads brackets, and what stands between them.
    fn flow(&mut self, text: &str) {
        let mut quote = None;
        let mut letters = text.char_indices().peekable();
        while let Some((at, letter)) = letters.next() {
            match (quote, letter) {
                (Some(open), _) => {
                    self.token.push(letter);
                    quote = (letter != open).then_some(open);
                }
                (None, '"' | '\'') if self.token.trim().is_empty() => {
                    self.token = letter.to_string();
                    quote = Some(letter);
                }
                (None, '#') if at == 0 || text[..at].ends_with(' ') => break,
                // Not a mapping: an expression.
                (None, '$') if letters.peek().is_some_and(|(_, next)| *next == '{') => {
                    self.token.push_str("${");
                    letters.next();
                    while letters.peek().is_some_and(|(_, next)| *next != '}') {
                        self.token.extend(letters.next().map(|(_, letter)| letter));
                    }
                    self.token.extend(letters.next().map(|(_, letter)| letter));
                }
                (None, '{' | '[') if self.token.trim().is_empty() => {
                    self.frames.push(OpenFrame { indent: None, is_list: letter == '[', key: None });
                    self.token.clear();
                }
                (None, _) if self.in_brackets() => {
                    self.bracketed(letter, letters.peek().map(|(_, next)| *next))
                }
                (None, _) => self.token.push(letter),
            }
        }
        self.token = self.token.trim_start().to_owned();
    }

    fn bracketed(&mut self, letter: char, next: Option<char>) {
        match letter {
            '}' | ']' | ',' => {
                let value = std::mem::take(&mut self.token);
                self.end_value(&value);
                if letter != ',' {
                    self.frames.pop();
                }
            }
            ':' if next.is_none_or(|next| next == ' ') => {
                let name = std::mem::take(&mut self.token).trim().trim_matches(['"', '\'']).to_owned();
                if let Some(frame) = self.frames.last_mut().filter(|frame| !frame.is_list) {
                    frame.key = Some(name);
                }
            }
            _ => self.token.push(letter),
        }
    }

    fn end_value(&mut self, value: &str) {
        if self.frames.last().is_some_and(|frame| !frame.is_list && frame.key.is_some()) {
            self.note(value);
            if let Some(frame) = self.frames.last_mut() {
                frame.key = None;
            }
        }
    }
}

/// The key at the front of a line and what stands behind its colon.
fn split_key(text: &str) -> Option<(String, &str)> {
    if text.starts_with(['{', '[']) {
        return None;
    }
    let at = match text.chars().next().filter(|letter| matches!(letter, '"' | '\'')) {
        Some(quote) => 2 + text[1..].find(quote)?,
        None => text.find(": ").or_else(|| text.ends_with(':').then(|| text.len() - 1))?,
    };
    let behind = text.get(at..)?.strip_prefix(':')?;
    Some((text[..at].trim().trim_matches(['"', '\'']).to_owned(), behind))
}
