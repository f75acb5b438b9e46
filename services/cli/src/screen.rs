//! Output of the program: lines and tables for people, JSON for programs.
//!
//! Texts that came from clients never reach a terminal with what a terminal would obey, and
//! nothing is coloured unless a terminal shows it and nobody said no.

use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use clap::builder::styling::{AnsiColor, Style};
use comfy_table::{Cell, Color, ColumnConstraint, ContentArrangement, Table, Width, presets};
use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use pagurus_domain::number::saturated;
pub(crate) use pagurus_domain::time::shown as time;
use serde::Serialize;

use crate::failure::CliError;

/// A terminal that says it is narrower breaks lines better than a table with columns of single
/// letters would; some say 0.
const LEAST_WIDTH: u16 = 60;

/// Meaning of a colour; the colours themselves are chosen here only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    /// Success.
    Good,
    /// Failed.
    Bad,
    /// Not at its end, or not as planned.
    Under,
    /// Less important than the rest.
    Dim,
}

impl Paint {
    /// Returns the paint for a status of an order or of a node; `None` if it has none.
    pub fn of_status(status: &str) -> Option<Self> {
        match status {
            "success" | "accepted" | "would_be_accepted" | "target" => Some(Self::Good),
            "fail" | "rejected" | "conflict" | "failed" | "off_target" => Some(Self::Bad),
            "interrupted" | "canceled" | "stopped" | "undefined" => Some(Self::Dim),
            "retry" | "starting" | "stopping" | "offline" => Some(Self::Under),
            _ => None,
        }
    }

    const fn style(self) -> Style {
        match self {
            Self::Good => AnsiColor::Green.on_default(),
            Self::Bad => AnsiColor::Red.on_default().bold(),
            Self::Under => AnsiColor::Yellow.on_default(),
            Self::Dim => AnsiColor::BrightBlack.on_default(),
        }
    }

    const fn colour(self) -> Color {
        match self {
            Self::Good => Color::Green,
            Self::Bad => Color::Red,
            Self::Under => Color::Yellow,
            Self::Dim => Color::DarkGrey,
        }
    }
}

/// Form in which the values of a command are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Output {
    /// Tables and sentences, for people.
    #[default]
    Table,
    /// A JSON value on each line, for programs.
    Json,
    /// A YAML document for each value, for both.
    Yaml,
}

/// Standard output and standard error, and how they are written to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    /// True if whole values are wanted, as programs read them: as JSON, or as the same in YAML.
    pub json: bool,
    output: Output,
    /// True if lines are held until the turn is over, so that a screen that is written again does not flicker.
    gathers: bool,
    output_colours: bool,
    error_colours: bool,
}

/// Lines of a turn that is not over yet.
static TURN: Mutex<String> = Mutex::new(String::new());
/// Puts the cursor of a terminal at its start, and clears what is below.
const CLEAR: &str = "\u{1b}[H\u{1b}[J";

impl Screen {
    /// The screen of this process.
    pub fn new(output: Output) -> Self {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let wanted = !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        Self {
            json: output != Output::Table,
            output,
            gathers: false,
            output_colours: wanted && io::stdout().is_terminal(),
            error_colours: wanted && io::stderr().is_terminal(),
        }
    }

    /// A screen without colours, as tests and files have it.
    #[cfg(test)]
    pub const fn plain() -> Self {
        Self {
            json: false,
            output: Output::Table,
            gathers: false,
            output_colours: false,
            error_colours: false,
        }
    }

    /// The same, with lines that are held until [`Screen::turn_over`].
    pub const fn gathering(self) -> Self {
        Self { gathers: true, ..self }
    }

    /// True if people see the output on a terminal.
    pub fn is_terminal(&self) -> bool {
        !self.json && io::stdout().is_terminal()
    }

    /// Writes what was held: on a terminal in place of what it showed, as far as that has room.
    pub fn turn_over(&self) -> Result<(), CliError> {
        let text = std::mem::take(&mut *TURN.lock().unwrap_or_else(PoisonError::into_inner));
        let mut output = io::stdout().lock();
        if self.is_terminal() {
            let room = usize::from(Term::stdout().size().0).saturating_sub(1).max(1);
            let lines: Vec<&str> = text.lines().take(room).collect();
            write!(output, "{CLEAR}{}", lines.join("\n"))?;
        } else {
            write!(output, "{text}")?;
        }
        Ok(output.flush()?)
    }

    /// Writes a line, or several, that are safe to show.
    pub fn line(&self, text: &str) -> Result<(), CliError> {
        if self.gathers {
            let mut turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
            turn.push_str(text);
            turn.push('\n');
            return Ok(());
        }
        Ok(writeln!(io::stdout().lock(), "{text}")?)
    }

    /// Writes an answer of the server, which is JSON, as it came or as YAML.
    pub fn document(&self, text: &str) -> Result<(), CliError> {
        if self.output != Output::Yaml {
            return self.line(text);
        }
        match serde_json::from_str::<serde_json::Value>(text) {
            Ok(value) => self.value(&value),
            // Whatever it is, it is shown.
            Err(_) => self.line(text),
        }
    }

    /// Writes a text of somebody else as it is; only a terminal gets it without control characters.
    pub fn foreign(&self, text: &str) -> Result<(), CliError> {
        if self.gathers {
            let shown: Vec<String> = text.lines().map(harmless).collect();
            return self.line(&shown.join("\n"));
        }
        let mut output = io::stdout().lock();
        let end = if text.ends_with('\n') { "" } else { "\n" };
        if io::stdout().is_terminal() {
            let shown: Vec<String> = text.lines().map(harmless).collect();
            return Ok(writeln!(output, "{}", shown.join("\n"))?);
        }
        Ok(write!(output, "{text}{end}")?)
    }

    /// Writes a value as one line of JSON, or as a document of YAML.
    pub fn value(&self, value: &impl Serialize) -> Result<(), CliError> {
        if self.output == Output::Yaml {
            // By way of JSON: names and numbers are those of the API.
            let value = serde_json::to_value(value).map_err(anyhow::Error::from)?;
            let text = serde_saphyr::to_string(&value).map_err(anyhow::Error::from)?;
            return self.line(&format!("---\n{}", text.trim_end()));
        }
        let text = serde_json::to_string(value).map_err(anyhow::Error::from)?;
        self.line(&text)
    }

    /// Shows what was found out: to programs as a value, to people in these words.
    pub fn show<T: Serialize>(&self, found: &T, words: impl FnOnce(&T) -> String) -> Result<(), CliError> {
        if self.json { self.value(found) } else { self.line(&words(found)) }
    }

    /// Says something beside the output, to people only.
    pub fn note(&self, text: &str) {
        if !self.json {
            eprintln!("{}", self.paint_error(Paint::Dim, &harmless(text)));
        }
    }

    /// The text in a colour of standard output, if that has any.
    pub fn paint(&self, paint: Paint, text: &str) -> String {
        painted(self.output_colours, paint, text)
    }

    /// The text in a colour of standard error, if that has any.
    pub fn paint_error(&self, paint: Paint, text: &str) -> String {
        painted(self.error_colours, paint, text)
    }

    /// A status in its colour.
    pub fn status(&self, status: &str) -> String {
        let shown = harmless(status);
        match Paint::of_status(status) {
            Some(paint) => self.paint(paint, &shown),
            None => shown,
        }
    }

    /// A table without rules; it keeps to the width of the terminal, if there is one. A column
    /// called `STATUS` is coloured by what it says. An empty header is left out.
    pub fn table<R: AsRef<[String]>>(&self, header: &[&str], rows: &[R]) -> String {
        self.table_within(header, rows, u16::MAX)
    }

    /// Returns the same with columns of at most `widest` letters, even without a terminal: longer texts go over several lines.
    pub fn table_within<R: AsRef<[String]>>(&self, header: &[&str], rows: &[R], widest: u16) -> String {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        if table.width().is_some_and(|width| width >= LEAST_WIDTH) {
            table.set_content_arrangement(ContentArrangement::Dynamic);
        }
        if !header.is_empty() {
            table.set_header(header);
        }
        for row in rows {
            let cells = row.as_ref().iter().enumerate().map(|(at, text)| {
                let cell = Cell::new(harmless(text));
                let is_status = header.get(at).is_some_and(|title| title.ends_with("STATUS"));
                match Paint::of_status(text).filter(|_| is_status && self.output_colours) {
                    Some(paint) => cell.fg(paint.colour()),
                    None => cell,
                }
            });
            table.add_row(cells.collect::<Vec<_>>());
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
            if widest < u16::MAX {
                column.set_constraint(ColumnConstraint::UpperBoundary(Width::Fixed(widest)));
            }
        }
        table.trim_fmt()
    }

    /// Names and values, one below the other; values that are not there are left out.
    pub fn pairs(&self, pairs: &[(&str, Option<String>)]) -> String {
        let present: Vec<[String; 2]> =
            pairs.iter().filter_map(|(name, value)| Some([(*name).to_owned(), value.clone()?])).collect();
        self.table(&[], &present)
    }
}

/// Progress of a long work: a bar on a terminal, nothing elsewhere.
#[derive(Debug)]
pub(crate) struct ProgressMeter(ProgressBar);

impl ProgressMeter {
    /// Starts the progress of this number of steps.
    pub fn new(steps: u64, screen: &Screen) -> Self {
        let target = if screen.json { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(steps), target);
        // The text is our own; were it wrong, the bar would look plain.
        if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos}/{len} {per_sec} {eta} left") {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// Sets the number of done steps, and of all.
    pub fn at(&mut self, done: u64, steps: u64) {
        self.0.set_length(steps);
        self.0.set_position(done);
    }

    /// Adds a done step.
    pub fn step(&self) {
        self.0.inc(1);
    }

    /// Ends the progress, and leaves nothing on the screen.
    pub fn end(self) {
        self.0.finish_and_clear();
    }
}

fn painted(on: bool, paint: Paint, text: &str) -> String {
    if !on {
        return text.to_owned();
    }
    let style = paint.style();
    format!("{}{text}{}", style.render(), style.render_reset())
}

/// The text in one line, without what a terminal would obey.
pub(crate) fn harmless(text: &str) -> String {
    let replaced = |c: char| match c {
        '\t' | '\n' | '\r' => ' ',
        // Controls, and the marks that turn the direction of writing.
        c if c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') => '\u{fffd}',
        c => c,
    };
    text.chars().map(replaced).collect()
}

/// Heights of a bar.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A bar for each of these counts, the greatest as high as a line.
pub(crate) fn bars(counts: &[i64]) -> String {
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let top = HEIGHTS.len() - 1;
    let bar = |count: &i64| match usize::try_from(count * saturated::<i64>(top) / most) {
        _ if *count == 0 => '·',
        Ok(height) => HEIGHTS[height.min(top)],
        Err(_) => '·',
    };
    counts.iter().map(bar).collect()
}

/// A time of an answer, which was sent as text; what is no time is shown as it is.
pub(crate) fn sent_time(at: &str) -> String {
    at.parse().map_or_else(|_| harmless(at), time)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_no_colours_off_a_terminal_and_no_trailing_blanks() {
        let rows = [["a".to_owned(), "success".to_owned()], ["long one".to_owned(), "fail".to_owned()]];
        let table = Screen::plain().table(&["ID", "STATUS"], &rows);
        assert_eq!(table, "ID        STATUS\na         success\nlong one  fail");
    }

    #[test]
    fn ui_a_value_is_the_same_in_yaml_as_in_json() {
        let value = serde_json::json!({"id": "a: b", "yes": "no", "n": 1.5, "none": null, "list": [{"x": []}], "digits": "007"});
        let text = serde_saphyr::to_string(&value).unwrap();
        assert_eq!(serde_saphyr::from_str::<serde_json::Value>(&text).unwrap(), value, "{text}");
        assert!(text.contains("list:\n"), "a block for each list: {text}");
    }

    #[test]
    fn pairs_leave_out_what_is_not_there() {
        let pairs = [("id", Some("a".to_owned())), ("queue", None), ("status", Some("new".to_owned()))];
        assert_eq!(Screen::plain().pairs(&pairs), "id      a\nstatus  new");
    }

    #[test]
    fn colours_are_only_used_where_they_are_shown() {
        assert_eq!(painted(false, Paint::Bad, "x"), "x");
        assert!(painted(true, Paint::Bad, "x").contains('\u{1b}'));
    }

    #[test]
    fn what_a_terminal_would_obey_is_replaced() {
        assert_eq!(harmless("a\u{1b}[2Jb\nc\u{202e}"), "a\u{fffd}[2Jb c\u{fffd}");
    }

    #[test]
    fn times_are_utc() {
        let at = "2026-01-01T03:00:00.1239+03:00";
        assert_eq!(time(at.parse().unwrap()), "2026-01-01T00:00:00.123Z");
        assert_eq!(sent_time(at), "2026-01-01T00:00:00.123Z");
        assert_eq!(sent_time("soon"), "soon");
    }

    #[test]
    fn long_values_go_over_several_lines_where_a_column_is_bounded() {
        let rows = [["key".to_owned(), "word ".repeat(40).trim().to_owned(), "default".to_owned()]];
        let table = Screen::plain().table_within(&["KEY", "VALUE", "FROM"], &rows, 80);
        let longest = table.lines().map(str::len).max().unwrap_or_default();
        assert!(longest <= 100 && table.lines().count() > 3, "{table}");
        assert_eq!(table.matches("word").count(), 40);
    }
}
