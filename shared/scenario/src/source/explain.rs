//! Faults as people read them: each with its line of the file and a caret under its place.
//!
//! Must never let a file that is shown write to the terminal: control characters are replaced.

use std::fmt::Write as _;

use pagurus_domain::document::{Fault, Position};

/// Characters of a source line that are shown; longer lines are cut around the place.
const SHOWN_CHARACTERS: usize = 100;

/// Renders faults for a terminal or a log.
///
/// `file_name` is what the reader of the message calls the file; it is not opened.
#[must_use]
pub fn explain_faults(text: &str, file_name: &str, faults: &[Fault]) -> String {
    explain_as("error", text, file_name, faults)
}

/// Renders warnings in the same way.
#[must_use]
pub fn explain_warnings(text: &str, file_name: &str, warnings: &[Fault]) -> String {
    explain_as("warning", text, file_name, warnings)
}

fn explain_as(word: &str, text: &str, file_name: &str, faults: &[Fault]) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut out = String::new();
    for fault in faults {
        if !out.is_empty() {
            out.push('\n');
        }
        // Writing into a String cannot fail.
        let _ = explain(&mut out, word, &lines, file_name, fault);
    }
    out
}

fn explain(
    out: &mut String,
    word: &str,
    lines: &[&str],
    file_name: &str,
    fault: &Fault,
) -> Result<(), std::fmt::Error> {
    writeln!(out, "{word}: {}", harmless(&fault.message))?;
    let hint = fault.hint.as_deref().map(harmless);
    let source = fault.at.and_then(|at| lines.get(line_index(at)?).map(|line| (at, *line)));
    let Some((at, line)) = source else {
        writeln!(out, " --> {file_name}")?;
        if let Some(hint) = hint {
            writeln!(out, "  = {hint}")?;
        }
        return Ok(());
    };
    let number = at.line.to_string();
    let gutter = " ".repeat(number.len());
    let (shown, before, width) = window(line, at.column);
    writeln!(out, "{gutter}--> {file_name}:{at}")?;
    writeln!(out, "{gutter} |")?;
    writeln!(out, "{number} | {shown}")?;
    writeln!(out, "{gutter} | {}{}", " ".repeat(before), "^".repeat(width))?;
    if let Some(hint) = hint {
        writeln!(out, "{gutter} = {hint}")?;
    }
    Ok(())
}

fn line_index(at: Position) -> Option<usize> {
    usize::try_from(at.line).ok()?.checked_sub(1)
}

/// The part of a line that is shown, the width in front of the place, and that of the word at it.
fn window(line: &str, column: u32) -> (String, usize, usize) {
    let characters: Vec<char> = line.chars().collect();
    let place = usize::try_from(column).unwrap_or(1).saturating_sub(1).min(characters.len());
    let word = characters[place..]
        .iter()
        .take_while(|c| c.is_alphanumeric() || "_.-$".contains(**c))
        .count()
        .clamp(1, SHOWN_CHARACTERS / 2);
    let first =
        if characters.len() > SHOWN_CHARACTERS { place.saturating_sub(SHOWN_CHARACTERS / 2) } else { 0 };
    let shown: String = characters[first..].iter().take(SHOWN_CHARACTERS).collect();
    (harmless(&shown), place - first, word)
}

/// The text without what a terminal would obey.
fn harmless(text: &str) -> String {
    let replaced = |c: char| match c {
        '\t' => ' ',
        c if c.is_control() => '\u{fffd}',
        c => c,
    };
    text.chars().map(replaced).collect()
}
