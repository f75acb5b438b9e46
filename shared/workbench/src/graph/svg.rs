//! The workflow as an SVG document. Colours stand in one sheet, with those for dark pages beside
//! those for light ones.

use std::fmt::Write as _;

use pagurus_scenario::{Action, CalledOperation, Scenario, State, StateKind};

use super::layout::{Layout, LayoutBox, LayoutPoint, layout};
use super::{GraphEdge, Tone, operations, runs, tone, ways};

/// Height of a state.
const HEIGHT: f64 = 46.0;
/// Space around the picture.
const MARGIN: f64 = 28.0;
/// Above the first layer: where the way into the initial state begins.
const HEAD: f64 = 40.0;
/// Width of a letter of a name, as most fonts have it.
const LETTER: f64 = 8.0;
/// Width of a small letter, of labels and actions.
const SMALL: f64 = 6.2;
/// Letters of a name that are shown.
const SHOWN: usize = 40;
/// Words of actions that are shown.
const SHOWN_ACTIONS: usize = 4;
/// Mark between these words.
const BETWEEN: &str = " · ";

const SHEET: &str = "\
.ground{fill:#ffffff}\
.state{fill:#eef3f8;stroke:#44617c;stroke-width:1.5}\
.rest{fill:#fdf4dc;stroke:#9a6b00}\
.target{fill:#d7f0dd;stroke:#1a7f37}\
.end{fill:#eeeeee;stroke:#555555}\
.fail{fill:#fbdcdc;stroke:#b42318}\
.inner{fill:none}\
.entry{fill:#44617c;stroke:none}\
.way{fill:none;stroke:#5b6670;stroke-width:1.4}\
.way.back{stroke-dasharray:5 3}\
.tip,.start{fill:#5b6670}\
text{font-family:system-ui,-apple-system,\"Segoe UI\",Roboto,\"DejaVu Sans\",sans-serif;text-anchor:middle}\
.name{font-size:14px;fill:#16202a}\
.small{font-size:11px;fill:#4a5560}\
.label{font-size:11px;fill:#333d47;stroke:#ffffff;stroke-width:4px;paint-order:stroke;stroke-linejoin:round}\
@media (prefers-color-scheme:dark){\
.ground{fill:#14181d}\
.state{fill:#1f2b37;stroke:#8fb0cf}\
.rest{fill:#38300f;stroke:#e0b040}\
.target{fill:#12361f;stroke:#4ac26b}\
.end{fill:#2b2b2b;stroke:#aaaaaa}\
.fail{fill:#431714;stroke:#ff8a80}\
.entry{fill:#8fb0cf}\
.way{stroke:#a5b1bc}\
.tip,.start{fill:#a5b1bc}\
.name{fill:#eef2f6}\
.small{fill:#b3bec9}\
.label{fill:#dbe3ea;stroke:#14181d}}";

/// See [`super::svg()`].
pub(super) fn draw(scenario: &Scenario) -> String {
    let ways = ways(scenario);
    let widths: Vec<f64> = scenario.states.iter().map(width_of).collect();
    let pairs: Vec<(usize, usize)> = ways.iter().map(|way| (way.from, way.to)).collect();
    let layout = layout(&widths, HEIGHT, &pairs, scenario.initial.0);
    let labels = labels(&ways, &layout);
    // A label or a way to oneself may stand out at the side.
    let mut right = layout.width;
    for label in &labels {
        right = right.max(label.x + label.width / 2.0);
    }
    let left = labels.iter().map(|label| label.x - label.width / 2.0).fold(0.0, f64::min);
    let (width, height) = (right - left + 2.0 * MARGIN, layout.height + HEAD + MARGIN);
    let mut out = String::new();
    // Writing into a String cannot fail.
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" role=\"img\"><title>{}</title><style>{SHEET}</style>\
         <rect class=\"ground\" width=\"100%\" height=\"100%\"/><g transform=\"translate({:.1} {HEAD:.1})\">",
        escaped(&scenario.name),
        MARGIN - left,
    );
    draw_start(&mut out, &layout.places[scenario.initial.0]);
    for (way, line) in ways.iter().zip(&layout.lines) {
        let (from, to) = (&scenario.states[way.from].name, &scenario.states[way.to].name);
        let (from, events, to) = (escaped(from), escaped(&way.events.join(" ")), escaped(to));
        let _ = write!(out, "<g data-from=\"{from}\" data-events=\"{events}\" data-to=\"{to}\">");
        draw_way(&mut out, way, line, &layout);
        out.push_str("</g>");
    }
    for (at, state) in scenario.states.iter().enumerate() {
        draw_state(&mut out, state, tone(scenario, at), &layout.places[at]);
    }
    for label in &labels {
        let (x, y, text) = (label.x, label.y, escaped(&label.text));
        let _ = write!(out, "<text class=\"label\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>");
    }
    out.push_str("</g></svg>\n");
    out
}

fn width_of(state: &State) -> f64 {
    let name = shown(&state.name).chars().count() as f64 * LETTER;
    let line = subtitle(state).iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(BETWEEN);
    let actions = line.chars().count() as f64 * SMALL;
    (name.max(actions) + 36.0).max(90.0)
}

fn shown(name: &str) -> String {
    let mut letters = name.chars();
    let mut short: String = letters.by_ref().take(SHOWN).collect();
    if letters.next().is_some() {
        short.push('…');
    }
    short
}

/// A word of the line below the name of a state.
struct SubtitleWord<'s> {
    text: String,
    /// The operation that it stands for.
    operation: Option<&'s CalledOperation>,
}

impl<'s> SubtitleWord<'s> {
    const fn plain(text: String) -> Self {
        Self { text, operation: None }
    }

    fn of(action: &'s Action) -> Self {
        match action {
            Action::Enter(enter) => {
                let operation = &*enter.operation;
                Self { text: format!("do {}", operation.name), operation: Some(operation) }
            }
            other => Self::plain(other.word().to_owned()),
        }
    }
}

/// Kind or actions of the state. Branches of a `choose` lie flat among the actions, and are listed once; an operation is one.
fn subtitle(state: &State) -> Vec<SubtitleWord<'_>> {
    match state.kind {
        StateKind::Plain | StateKind::Polling => {}
        StateKind::Terminal => return vec![SubtitleWord::plain("end".to_owned())],
        kind => return vec![SubtitleWord::plain(kind.to_string())],
    }
    let mut words: Vec<SubtitleWord<'_>> = state.folded().map(SubtitleWord::of).collect();
    words.dedup_by(|one, before| one.text == before.text);
    if words.len() > SHOWN_ACTIONS {
        words.truncate(SHOWN_ACTIONS);
        words.push(SubtitleWord::plain("…".to_owned()));
    }
    if let Some(first) = words.first_mut().filter(|_| state.kind == StateKind::Polling) {
        first.text = format!("polling: {}", first.text);
    }
    words
}

/// Name of an operation with its version: pages ask for its picture by it.
fn key(operation: &CalledOperation) -> String {
    match operation.version {
        Some(version) => format!("{}@{version}", operation.name),
        None => operation.name.clone(),
    }
}

fn draw_start(out: &mut String, place: &LayoutBox) {
    let (x, y) = (place.x, -HEAD + 12.0);
    let _ = write!(out, "<circle class=\"start\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"6\"/>");
    let _ = write!(out, "<path class=\"way\" d=\"M{x:.1} {y:.1}V-6\"/>");
    draw_tip(out, (x, 0.0), (x, -10.0));
}

fn draw_way(out: &mut String, way: &GraphEdge, line: &[LayoutPoint], layout: &Layout) {
    let place = &layout.places[way.from];
    let back = layout.places[way.to].y < place.y;
    let class = if back { "way back" } else { "way" };
    let (Some(first), Some(last)) = (line.first(), line.last()) else {
        // To itself: a loop at the right side.
        let (x, y) = (place.x + place.width / 2.0, place.y + HEIGHT / 2.0);
        let (upper, lower, far) = (y - 10.0, y + 10.0, x + 30.0);
        let _ = write!(
            out,
            "<path class=\"way\" d=\"M{x:.1} {upper:.1}C{far:.1} {upper:.1} {far:.1} {lower:.1} {:.1} {lower:.1}\"/>",
            x + 6.0
        );
        draw_tip(out, (x, lower), (x + 10.0, lower));
        return;
    };
    let _ = write!(out, "<path class=\"{class}\" d=\"M{:.1} {:.1}", first.0, first.1);
    let tip = if back { 6.0 } else { -6.0 };
    let ends = line.len() - 1;
    for (at, pair) in line.windows(2).enumerate() {
        let (from, mut to) = (pair[0], pair[1]);
        if at + 1 == ends {
            to.1 += tip;
        }
        let middle = f64::midpoint(from.1, to.1);
        let _ = write!(out, "C{:.1} {middle:.1} {:.1} {middle:.1} {:.1} {:.1}", from.0, to.0, to.0, to.1);
    }
    out.push_str("\"/>");
    draw_tip(out, *last, (last.0, last.1 + 2.0 * tip));
}

/// The tip of an arrow at a point, coming from another one.
fn draw_tip(out: &mut String, at: LayoutPoint, from: LayoutPoint) {
    let length = (at.0 - from.0).hypot(at.1 - from.1).max(1.0);
    let (x, y) = ((at.0 - from.0) / length, (at.1 - from.1) / length);
    let base = (at.0 - 9.0 * x, at.1 - 9.0 * y);
    let _ = write!(
        out,
        "<path class=\"tip\" d=\"M{:.1} {:.1}L{:.1} {:.1}L{:.1} {:.1}z\"/>",
        at.0,
        at.1,
        base.0 - 4.0 * y,
        base.1 + 4.0 * x,
        base.0 + 4.0 * y,
        base.1 - 4.0 * x,
    );
}

fn draw_state(out: &mut String, state: &State, tone: Tone, place: &LayoutBox) {
    let class = match (tone, state.kind) {
        (Tone::Target, _) => "state target",
        (Tone::Fail, _) => "state fail",
        (Tone::End, _) => "state end",
        (Tone::Between, StateKind::Plain | StateKind::Polling) => "state",
        (Tone::Between, _) => "state rest",
    };
    let (left, top) = (place.x - place.width / 2.0, place.y);
    let rect = |out: &mut String, class: &str, inset: f64, radius: f64| {
        let (width, height) = (place.width - 2.0 * inset, HEIGHT - 2.0 * inset);
        let (x, y) = (left + inset, top + inset);
        let _ = write!(
            out,
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"{radius:.1}\"/>"
        );
    };
    begin_state(out, state);
    match state.kind {
        StateKind::Plain => rect(out, class, 0.0, 6.0),
        StateKind::Sleeping => rect(out, class, 0.0, HEIGHT / 2.0),
        StateKind::Terminal => {
            rect(out, class, 0.0, HEIGHT / 2.0);
            rect(out, &format!("{class} inner"), 4.0, HEIGHT / 2.0 - 4.0);
        }
        StateKind::Polling => {
            let (right, low) = (left + place.width, top + HEIGHT);
            let _ = write!(
                out,
                "<path class=\"{class}\" d=\"M{:.1} {top:.1}H{right:.1}L{:.1} {low:.1}H{left:.1}z\"/>",
                left + 14.0,
                right - 14.0,
            );
        }
        StateKind::Waiting => {
            let (right, low, middle) = (left + place.width, top + HEIGHT, top + HEIGHT / 2.0);
            let _ = write!(
                out,
                "<path class=\"{class}\" d=\"M{:.1} {top:.1}H{:.1}L{right:.1} {middle:.1}L{:.1} {low:.1}H{:.1}L{left:.1} {middle:.1}z\"/>",
                left + 14.0,
                right - 14.0,
                right - 14.0,
                left + 14.0,
            );
        }
    }
    if state.entry_point {
        let _ = write!(
            out,
            "<rect class=\"entry\" x=\"{:.1}\" y=\"{:.1}\" width=\"5\" height=\"{:.1}\" rx=\"2\"/>",
            left + 4.0,
            top + 8.0,
            HEIGHT - 16.0
        );
    }
    let subtitle = subtitle(state);
    let (x, name) = (place.x, escaped(&shown(&state.name)));
    let y = if subtitle.is_empty() { top + HEIGHT / 2.0 + 5.0 } else { top + 20.0 };
    let _ = write!(out, "<text class=\"name\" x=\"{x:.1}\" y=\"{y:.1}\">{name}</text>");
    if !subtitle.is_empty() {
        let y = top + 36.0;
        let _ = write!(out, "<text class=\"small\" x=\"{x:.1}\" y=\"{y:.1}\">");
        draw_words(out, &subtitle);
        out.push_str("</text>");
    }
    out.push_str("</g>");
}

/// Opens the group of a state, by whose names pages find what they mark.
fn begin_state(out: &mut String, state: &State) {
    let _ = write!(out, "<g data-state=\"{}\"", escaped(&state.name));
    let mut keys: Vec<String> = operations(state).map(key).collect();
    keys.dedup();
    if !keys.is_empty() {
        let _ = write!(out, " data-operations=\"{}\"", escaped(&keys.join(" ")));
    }
    let _ = write!(out, "><title>{}</title>", escaped(&hint(state)));
}

fn draw_words(out: &mut String, words: &[SubtitleWord<'_>]) {
    for (at, word) in words.iter().enumerate() {
        let text = escaped(&word.text);
        out.push_str(if at == 0 { "" } else { BETWEEN });
        let _ = match word.operation {
            Some(operation) => {
                write!(
                    out,
                    "<tspan class=\"operation\" data-operation=\"{}\">{text}</tspan>",
                    escaped(&key(operation))
                )
            }
            None => write!(out, "{text}"),
        };
    }
}

/// Text that is shown where the pointer rests.
fn hint(state: &State) -> String {
    let entry = if state.entry_point { ", entry point" } else { "" };
    let runs = runs(state);
    let runs = if runs.is_empty() { runs } else { format!("; runs {runs}") };
    format!("{}: {} state{entry}{runs}", state.name, state.kind)
}

/// The text at an arrow.
struct Label {
    x: f64,
    y: f64,
    width: f64,
    text: String,
}

/// Labels stand at the beginning of their arrows; where two would cover one another, the second
/// moves down, or up from below.
fn labels(ways: &[GraphEdge], layout: &Layout) -> Vec<Label> {
    let mut labels: Vec<Label> = Vec::new();
    for (way, line) in ways.iter().zip(&layout.lines) {
        let text = way.label();
        let width = text.chars().count() as f64 * SMALL + 6.0;
        let (x, y) = match line.as_slice() {
            [first, second, ..] => {
                (first.0 * 0.6 + second.0 * 0.4, first.1 + (second.1 - first.1) * 0.42 + 4.0)
            }
            _ => {
                let place = &layout.places[way.from];
                (place.x + place.width / 2.0 + 28.0 + width / 2.0, place.y + HEIGHT / 2.0 + 4.0)
            }
        };
        let covers = |other: &Label, y: f64| {
            (other.x - x).abs() < f64::midpoint(other.width, width) && (other.y - y).abs() < 13.0
        };
        let steps = [0.0, 13.0, -13.0, 24.0, -22.0];
        let free = steps.iter().map(|step| y + step).find(|y| !labels.iter().any(|other| covers(other, *y)));
        labels.push(Label { x, y: free.unwrap_or(y), width, text });
    }
    labels
}

/// A text between tags.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // What XML cannot hold at all.
            letter if letter.is_control() => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
    out
}
