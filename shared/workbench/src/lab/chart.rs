//! A chart over time as SVG: one panel with its key, and both axes named with their units. Must never compute a figure.

use std::fmt::Write as _;

/// Width of a panel.
pub(super) const WIDTH: f64 = 760.0;
/// Height of a panel with all that belongs to it.
pub(super) const HEIGHT: f64 = 184.0;
/// Room for the scale at the left.
const LEFT: f64 = 48.0;
/// Room at the right, for half of the last time.
const RIGHT: f64 = 24.0;
/// Room for the name of the scale and the key.
const TOP: f64 = 26.0;
/// Room for the times and their name.
const BOTTOM: f64 = 38.0;
/// Points of a line: more are not seen.
const POINTS: usize = 180;
/// Lines of the scale, more or less.
const SCALE_LINES: f64 = 4.0;
/// Times below a panel at most.
const MAX_TIMES: f64 = 9.0;
/// Width of a letter, more or less.
const LETTER: f64 = 6.3;

/// Style of charts; it belongs into the document that shows them.
pub(super) const SHEET: &str = "\
text{font:11px system-ui,-apple-system,'DejaVu Sans',sans-serif;fill:#4a5560}.name{font-weight:600}\
path{fill:none;stroke-width:1.6}.grid{stroke:#e3e8ec;stroke-width:1}.axis{stroke:#8b98a3;stroke-width:1}\
.a{stroke:#0969da}.b{stroke:#1a7f37}.c{stroke:#b42318}.d{stroke:#9a6b00;stroke-dasharray:5 3}\
.e{stroke:#0969da;stroke-dasharray:2 3}";

/// A line of a chart.
#[derive(Debug)]
pub(super) struct ChartLine {
    /// Name in the key.
    pub(super) name: String,
    /// Colour, as in [`SHEET`].
    pub(super) class: &'static str,
    /// Values, evenly over the time; none is a gap.
    pub(super) values: Vec<Option<f64>>,
}

/// Lines over time.
#[derive(Debug)]
pub(super) struct Chart {
    /// Name of the scale, with its unit.
    pub(super) scale: &'static str,
    /// Lines, each of which spans the whole time.
    pub(super) lines: Vec<ChartLine>,
    /// Time in seconds.
    pub(super) seconds: f64,
}

impl Chart {
    /// Draws it so far below the top.
    pub(super) fn draw(&self, out: &mut String, below: f64) {
        let step = self.scale_step();
        let most = (self.greatest() / step).ceil().max(1.0) * step;
        // Writing into a String cannot fail.
        let _ = write!(out, "<g transform=\"translate(0 {below:.0})\">");
        self.draw_scale(out, step, most);
        self.draw_times(out);
        self.draw_key(out);
        for line in &self.lines {
            let path = path(&line.values, most);
            let _ = write!(out, "<path class=\"{}\" d=\"{path}\"/>", line.class);
        }
        out.push_str("</g>");
    }

    fn greatest(&self) -> f64 {
        let values = self.lines.iter().flat_map(|line| points(&line.values));
        values.flatten().fold(0.0, f64::max).max(1.0)
    }

    /// Step of the scale: one, two or five times a power of ten.
    fn scale_step(&self) -> f64 {
        let wanted = self.greatest() / SCALE_LINES;
        let power = 10_f64.powf(wanted.log10().floor());
        let nice = [1.0, 2.0, 5.0, 10.0].into_iter().map(|part| part * power).find(|step| *step >= wanted);
        nice.unwrap_or(power * 10.0)
    }

    fn draw_scale(&self, out: &mut String, step: f64, most: f64) {
        let _ = write!(out, "<text class=\"name\" x=\"4\" y=\"13\">{}</text>", self.scale);
        let count = (most / step).round() as u32;
        for at in 0..=count {
            let value = f64::from(at) * step;
            let y = height_of(value, most);
            let class = if at == 0 { "axis" } else { "grid" };
            let _ = write!(
                out,
                "<path class=\"{class}\" d=\"M{LEFT},{y:.1}H{:.0}\"/>\
                 <text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                y + 4.0,
                number(value)
            );
        }
        let _ = write!(out, "<path class=\"axis\" d=\"M{LEFT},{TOP}V{:.0}\"/>", HEIGHT - BOTTOM);
    }

    fn draw_times(&self, out: &mut String) {
        const STEPS: [f64; 12] = [1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 60.0, 90.0, 120.0, 180.0, 240.0];
        let (unit, seconds) = match self.seconds {
            ..=600.0 => ("seconds", 1.0),
            ..=18_000.0 => ("minutes", 60.0),
            _ => ("hours", 3600.0),
        };
        let whole = self.seconds / seconds;
        let step = STEPS.into_iter().find(|step| whole / step <= MAX_TIMES).unwrap_or(whole);
        let bottom = HEIGHT - BOTTOM;
        for at in 0..=(whole / step).floor() as u32 {
            let time = f64::from(at) * step;
            let x = LEFT + (WIDTH - RIGHT - LEFT) * time / whole;
            let _ = write!(
                out,
                "<path class=\"axis\" d=\"M{x:.1},{bottom}v4\"/>\
                 <text x=\"{x:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{time:.0}</text>",
                bottom + 16.0
            );
        }
        let middle = f64::midpoint(LEFT, WIDTH - RIGHT);
        let _ = write!(
            out,
            "<text class=\"name\" x=\"{middle:.0}\" y=\"{:.0}\" text-anchor=\"middle\">time in {unit}</text>",
            HEIGHT - 7.0
        );
    }

    fn draw_key(&self, out: &mut String) {
        let width = |text: &str| LETTER * text.chars().count() as f64;
        let whole: f64 = self.lines.iter().map(|line| 40.0 + width(&line.name)).sum();
        let mut x = (WIDTH - RIGHT - whole).max(width(self.scale) + 30.0);
        for line in &self.lines {
            let _ = write!(
                out,
                "<path class=\"{}\" d=\"M{x:.0},9h20\"/><text x=\"{:.0}\" y=\"13\">{}</text>",
                line.class,
                x + 25.0,
                escaped(&line.name)
            );
            x += 40.0 + width(&line.name);
        }
    }
}

fn height_of(value: f64, most: f64) -> f64 {
    let (top, bottom) = (TOP, HEIGHT - BOTTOM);
    bottom - (bottom - top) * value / most
}

fn number(value: f64) -> String {
    if value >= 10_000.0 {
        format!("{:.0} k", value / 1000.0)
    } else if value.fract() == 0.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.1}")
    }
}

/// Values at the points of a line: the average of each stretch of time; a gap where one has no value.
fn points(values: &[Option<f64>]) -> Vec<Option<f64>> {
    let every = values.len().div_ceil(POINTS).max(1);
    let average = |stretch: &[Option<f64>]| {
        let known: Vec<f64> = stretch.iter().flatten().copied().collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    };
    values.chunks(every).map(average).collect()
}

/// A gap in the values is a gap in the line. Where it runs level, only its ends are written.
fn path(values: &[Option<f64>], most: f64) -> String {
    let points = points(values);
    let last = points.len().saturating_sub(1).max(1) as f64;
    let height = |at: usize| points.get(at).copied().flatten().map(|value| height_of(value, most));
    let is_level = |one: Option<f64>, two: f64| one.is_some_and(|one| (one - two).abs() < 0.05);
    let mut path = String::new();
    let mut is_down = false;
    for at in 0..points.len() {
        let Some(y) = height(at) else {
            is_down = false;
            continue;
        };
        let before = at.checked_sub(1).and_then(height);
        if is_level(before, y) && is_level(height(at + 1), y) {
            continue;
        }
        let x = LEFT + (WIDTH - RIGHT - LEFT) * at as f64 / last;
        let _ = write!(path, "{}{x:.1},{y:.1}", if is_down { "L" } else { "M" });
        is_down = true;
    }
    path
}

/// Text as it stands in a document.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
