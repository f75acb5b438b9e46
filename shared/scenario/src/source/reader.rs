//! The hand that walks the tree of a file: reads one kind of value after the other and collects
//! what is wrong. Knows no key of a scenario; must never stop at the first fault.

use std::time::Duration;

use pagurus_domain::document::form::{Form, Keys};
use pagurus_domain::document::{
    DocumentKey, DocumentNode, Fault, Position, Value, parse_duration, pointer_to,
};

use super::around::Inlining;
use super::draft::{Mark, Named};
use super::noted::Noted;
use super::place::SourceMap;
use crate::nearest::nearest;
use crate::places::Places;
use crate::script::{CompileError, Scripting};

/// Faults of one file that are reported. Rendering a fault costs time in proportion to the file, so
/// that without a bound a file of one megabyte could keep a server busy for minutes.
const MAX_FAULTS: usize = 1000;

/// Faults of one file that say which known name was probably meant: finding it compares with all of them, and nobody reads
/// more.
pub(super) const HINTED: usize = 100;

/// The longest name that may be given, and that is shown in full.
const LONGEST_NAME: usize = 64;

/// A name that scripts use after a dot.
pub(super) const IDENTIFIER: &str = "^[A-Za-z_][A-Za-z0-9_]{0,63}$";

/// Names of texts and numbers, such as those of header fields.
pub(super) const NAMED: Form = Form::Map { names: r"^(?!.*\$\{)", of: &Form::AsWritten, least: 0 };

/// Keys by which other engines let a step ask for repeats.
const RETRIES: &[&str] = &["retry", "retries", "retryPolicy", "maxAttempts"];

/// The longest duration that a scenario may name: ten years. Far beyond any business process, far
/// below where adding it to a time could overflow.
pub(in super::super) const LONGEST_DURATION: Duration = Duration::from_secs(3650 * 24 * 3600);

/// The longest time of a call: what takes longer is asked for with `request` and awaited with `wait`.
pub(in super::super) const LONGEST_CALL: Duration = Duration::from_secs(5 * 60);

/// Tools of the reading, and the faults that were found.
pub(super) struct ScenarioReader<'a> {
    /// Compiles scripts and expressions.
    pub(super) scripting: &'a Scripting,
    /// Names that expressions and scripts know besides the roots: those of the element of an `each`.
    pub(super) locals: Vec<String>,
    /// True if what is read is sent to a called system, so that it may name secrets.
    pub(super) is_sent: bool,
    /// Notes for the warnings; `None` if nobody wants them.
    pub(super) noted: Option<Noted>,
    /// The operations that the scenario may run.
    pub(super) inlining: Inlining<'a>,
    source: SourceMap<'a>,
    faults: Vec<Fault>,
    left_out: usize,
}

/// A value of the file with its place and the name it goes by in messages.
#[derive(Clone)]
pub(super) struct Spot<'a> {
    pub(super) node: &'a DocumentNode,
    /// Place of the value.
    pub(super) mark: Mark,
    /// The key it stands under.
    pub(super) label: String,
}

/// The entries of a mapping whose keys have been checked.
pub(super) struct Fields<'a> {
    keys: &'static Keys,
    entries: Vec<(Mark, Spot<'a>)>,
}

impl<'a> Spot<'a> {
    /// The whole document.
    pub(super) fn root(node: &'a DocumentNode) -> Self {
        let mark = Mark { at: node.at, pointer: String::new() };
        Self { node, mark, label: "scenario file".into() }
    }

    /// A fault of this value.
    pub(super) fn fault(&self, message: impl Into<String>) -> Fault {
        self.mark.fault(message)
    }

    /// The fault that this value is of the wrong kind.
    pub(super) fn must_be(&self, wanted: &str) -> Fault {
        let label = quoted(&self.label);
        self.fault(format!("{label} must be {wanted}, not {}", self.node.kind()))
    }

    /// The items of a list; nothing where this is none.
    pub(super) fn items(&self) -> impl Iterator<Item = Spot<'a>> + '_ {
        let items = self.node.as_list().unwrap_or_default().iter().enumerate();
        items.map(|(index, node)| Spot {
            node,
            mark: Mark { at: node.at, pointer: pointer_to(&self.mark.pointer, &index.to_string()) },
            label: self.label.clone(),
        })
    }

    /// The entries of a mapping, each with the place of its key; nothing where this is none.
    ///
    /// Lazy, because each carries the whole path to it as text.
    pub(super) fn entries(&self) -> impl Iterator<Item = (Mark, Spot<'a>)> + '_ {
        let entries = self.node.as_map().unwrap_or_default().iter();
        entries.map(|(key, node)| self.member(key, node))
    }

    fn member(&self, key: &DocumentKey, node: &'a DocumentNode) -> (Mark, Spot<'a>) {
        let pointer = pointer_to(&self.mark.pointer, &key.name);
        let at_key = Mark { at: key.at, pointer: pointer.clone() };
        let mark = Mark { at: node.at, pointer };
        let label = key.name.clone();
        (at_key, Spot { node, mark, label })
    }
}

impl<'a> Fields<'a> {
    /// The value under a key.
    pub(super) fn get(&self, name: &str) -> Option<&Spot<'a>> {
        self.entry(name).map(|(_, spot)| spot)
    }

    /// The place of a key, and its value.
    pub(super) fn entry(&self, name: &str) -> Option<(&Mark, &Spot<'a>)> {
        let found = self.entries.iter().find(|(_, spot)| spot.label == name);
        found.map(|(mark, spot)| (mark, spot))
    }
}

impl<'a> ScenarioReader<'a> {
    /// A reader of this text, without faults so far.
    pub(super) fn new(text: &'a str, scripting: &'a Scripting, inlining: Inlining<'a>) -> Self {
        Self {
            scripting,
            locals: Vec::new(),
            is_sent: false,
            noted: None,
            inlining,
            source: SourceMap::new(text),
            faults: Vec::new(),
            left_out: 0,
        }
    }
}

impl ScenarioReader<'_> {
    /// Notes a fault.
    pub(super) fn push(&mut self, fault: Fault) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(fault);
        } else {
            self.left_out += 1;
        }
    }

    /// Number of faults so far.
    pub(super) fn fault_count(&self) -> usize {
        self.faults.len() + self.left_out
    }

    /// All faults in the order of the file.
    pub(super) fn into_faults(mut self) -> Vec<Fault> {
        self.faults.sort_by_key(|fault| fault.at);
        if self.left_out > 0 {
            let message = format!("{} more faults are not listed", self.left_out);
            self.faults.push(Fault::placed(None, "", message));
        }
        self.faults
    }

    /// The place in the file of a line and a column of a text that was read.
    pub(super) fn place(&self, spot: &Spot<'_>, text: &str, line: u32, column: u32) -> Position {
        self.source.place(spot.node, text, line, column)
    }

    /// Returns the places of a read text in the file.
    pub(super) fn places_of(&self, spot: &Spot<'_>, text: &str) -> Places {
        self.source.places(spot.node, text)
    }

    /// Notes what is wrong with code inside a text.
    pub(super) fn code_faults(&mut self, spot: &Spot<'_>, text: &str, errors: Vec<CompileError>) {
        for error in errors {
            if self.faults.len() >= MAX_FAULTS {
                self.left_out += 1;
                continue;
            }
            let at = self.source.place(spot.node, text, error.line, error.column);
            let pointer = spot.mark.pointer.clone();
            let mut fault = Mark { at, pointer }.fault(shortened(&error.message, 300));
            fault.hint = error.hint;
            self.push(fault);
        }
    }

    /// The entries of a mapping; keys that nobody knows, and keys without a value, are faults.
    pub(super) fn fields<'s>(&mut self, spot: &Spot<'s>, keys: &'static Keys) -> Option<Fields<'s>> {
        if spot.node.as_map().is_none() {
            self.push(spot.must_be("a mapping with keys"));
            return None;
        }
        let mut entries = Vec::new();
        for (mark, member) in spot.entries() {
            let name = member.label.as_str();
            if !keys.has(name) {
                let fault = mark.fault(format!("unknown key {}", quoted(name)));
                self.push(if self.fault_count() >= HINTED {
                    fault
                } else if RETRIES.contains(&name) {
                    fault.hint("retries are set by rules: those of the scenario under `errors`, and those of the deployment; see docs/guides/errors.md")
                } else {
                    with_nearest(fault, name, keys.names())
                });
            } else if member.node.is_null() {
                let message = format!("{} has no value", quoted(name));
                self.push(mark.fault(message).hint("give it one, or remove the key"));
            } else {
                entries.push((mark, member));
            }
        }
        Some(Fields { keys, entries })
    }

    /// The value of a key that must be there.
    pub(super) fn required<'f, 's>(
        &mut self,
        spot: &Spot<'s>,
        fields: &'f Fields<'s>,
        name: &str,
        example: &str,
    ) -> Option<&'f Spot<'s>> {
        debug_assert!(fields.keys.requires(name), "the table of keys does not say that `{name}` is required");
        let found = fields.get(name);
        // A key without a value has been noted already.
        if found.is_none() && spot.node.get(name).is_none() {
            let fault = spot.fault(format!("{} is missing", quoted(name)));
            self.push(fault.hint(format!("write `{example}`")));
        }
        found
    }

    /// Reads a text.
    pub(super) fn text<'s>(&mut self, spot: &Spot<'s>) -> Option<&'s str> {
        let text = spot.node.as_str();
        if text.is_none() {
            let fault = spot.must_be("a text");
            self.push(match spot.node.value {
                Value::Bool(_) | Value::Integer(_) | Value::Float(_) => fault.hint("put it in quotes"),
                _ => fault,
            });
        }
        text
    }

    /// Reads `true` or `false`.
    pub(super) fn flag(&mut self, spot: &Spot<'_>) -> Option<bool> {
        let flag = spot.node.as_bool();
        if flag.is_none() {
            let fault = spot.must_be("`true` or `false`");
            self.push(fault.hint("write `true` or `false` without quotes"));
        }
        flag
    }

    /// A duration of at most `longest`; zero counts.
    pub(super) fn duration_or_zero(&mut self, spot: &Spot<'_>, longest: Duration) -> Option<Duration> {
        let zero = spot.node.as_i64() == Some(0)
            || spot.node.as_str().is_some_and(|text| parse_duration(text) == Ok(Duration::ZERO));
        if zero { Some(Duration::ZERO) } else { self.duration(spot, longest) }
    }

    /// A duration above zero and at most `longest`.
    pub(super) fn duration(&mut self, spot: &Spot<'_>, longest: Duration) -> Option<Duration> {
        const EXAMPLES: &str = "write it like `500ms`, `5s`, `1h30m`, `2d`";
        let Some(text) = spot.node.as_str() else {
            self.push(spot.must_be("a duration").hint(match spot.node.value {
                Value::Integer(_) | Value::Float(_) => "add the unit: `ms`, `s`, `m`, `h` or `d`",
                _ => EXAMPLES,
            }));
            return None;
        };
        let label = quoted(&spot.label);
        let fault = match parse_duration(text) {
            Ok(duration) if duration.is_zero() => spot.fault(format!("{label} must be longer than zero")),
            Ok(duration) if duration > longest => {
                let fault = spot.fault(format!("{} is too long for {label}", quoted(text)));
                fault.hint(format!("write at most `{}`", in_largest_unit(longest)))
            }
            Ok(duration) => return Some(duration),
            Err(_) => spot.fault(format!("{} is not a duration", quoted(text))).hint(EXAMPLES),
        };
        self.push(fault);
        None
    }

    /// A name for variables, answers and requests: scripts use it after a dot.
    pub(super) fn identifier(&mut self, mark: &Mark, label: &str, name: &str) -> bool {
        let good = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && name.len() <= LONGEST_NAME;
        if !good {
            let message = format!("{} is not a name for {label}", quoted(name));
            self.push(
                mark.fault(message)
                    .hint("write a letter or `_`, then letters, digits and `_`, 64 characters at most"),
            );
        }
        good
    }

    /// The name of a state as another key refers to it; whether it exists is checked later.
    pub(super) fn reference(&mut self, spot: &Spot<'_>) -> Option<Named> {
        let name = self.text(spot)?.to_owned();
        let mark = spot.mark.clone();
        Some(Named { name, mark })
    }
}

/// The fault with the known name that was most probably meant, or else with all of them.
pub(crate) fn with_nearest<'k>(
    fault: Fault,
    name: &str,
    known: impl Iterator<Item = &'k str> + Clone,
) -> Fault {
    if let Some(nearest) = nearest(name, known.clone()) {
        return fault.hint(format!("did you mean `{nearest}`?"));
    }
    let mut listed: Vec<&str> = known.clone().take(31).collect();
    if listed.len() > 30 {
        listed[30] = "…";
    }
    if listed.is_empty() {
        return fault;
    }
    fault.hint(format!("there are: {}", listed.join(", ")))
}

/// A word of the file as messages show it.
pub(crate) fn quoted(word: &str) -> String {
    format!("`{}`", shortened(word, LONGEST_NAME))
}

/// The first characters of a text, on one line.
pub(super) fn shortened(text: &str, longest: usize) -> String {
    let mut characters = text.chars();
    let one_line = |c: char| if c.is_control() { ' ' } else { c };
    let mut short: String = characters.by_ref().take(longest).map(one_line).collect();
    if characters.next().is_some() {
        short.push('…');
    }
    short
}

pub(crate) fn in_largest_unit(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let units = [(86_400, "d"), (3600, "h"), (60, "m")];
    let unit = units.iter().find(|(length, _)| seconds.is_multiple_of(*length));
    unit.map_or(format!("{seconds}s"), |(length, name)| format!("{}{name}", seconds / length))
}
