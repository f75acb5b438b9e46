//! The picture of the guide, drawn from spans that a collector got. Written only with `UPDATE_PICTURES`: times differ
//! from run to run.

use std::fmt::Write as _;

use super::collector::Seen;

const WIDTH: f64 = 760.0;
const LEFT: f64 = 240.0;
const ROW: f64 = 20.0;

/// Draws a row for each span, the traces under each other in the order of their beginning.
pub fn write(spans: &[Seen]) {
    if std::env::var_os("UPDATE_PICTURES").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/guides/telemetry.svg");
        std::fs::write(path, draw(spans)).unwrap();
    }
}

fn draw(spans: &[Seen]) -> String {
    let first = spans.iter().map(|span| span.begun).min().unwrap_or(0);
    let last = spans.iter().map(|span| span.ended).max().unwrap_or(1);
    let rows = rows(spans);
    let traces = rows.iter().filter(|(depth, _)| *depth == 0).count();
    let height = (rows.len() + traces) as f64 * ROW + 40.0;
    let scale = (WIDTH - LEFT - 70.0) / (last - first).max(1) as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<title>Traces of one order with a retry, a sleep and a callback</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    let mut y = 12.0;
    let mut trace = 0;
    for (depth, span) in rows {
        if depth == 0 {
            trace += 1;
            y += ROW * 0.6;
            let links: Vec<&str> = span.links.iter().map(|(meaning, ..)| meaning.as_str()).collect();
            let suffix =
                if links.is_empty() { String::new() } else { format!(", links: {}", links.join(", ")) };
            line(&mut svg, 8.0, y, "#666666", &format!("trace {trace}{suffix}"));
            y += ROW * 0.8;
        }
        let name = match span.attributes.get("pagurus.order.status") {
            Some(status) => format!("{} → {status}", span.name),
            None => span.name.clone(),
        };
        line(&mut svg, 8.0 + 14.0 * (depth + 1) as f64, y, "#111111", &shortened(&name));
        let (begin, width) = ((span.begun - first) as f64 * scale, (span.ended - span.begun) as f64 * scale);
        let colour = if span.failed { "#c0392b" } else { colour_of(&span.service) };
        let _ = writeln!(
            svg,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"12\" rx=\"2\" fill=\"{colour}\"/>",
            LEFT + begin,
            y - 10.0,
            width.max(2.0)
        );
        let time = (span.ended - span.begun) as f64 / 1e6;
        line(&mut svg, LEFT + begin + width.max(2.0) + 4.0, y, "#666666", &format!("{time:.1} ms"));
        y += ROW;
    }
    svg + "</svg>\n"
}

/// The name without the part that tells one test from another.
fn shortened(name: &str) -> String {
    let words = name
        .split(' ')
        .map(|word| word.rsplit_once('.').filter(|_| word.len() > 20).map_or(word, |(_, last)| last));
    words.collect::<Vec<_>>().join(" ")
}

fn line(svg: &mut String, x: f64, y: f64, colour: &str, text: &str) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"{colour}\">{text}</text>");
}

fn colour_of(service: &str) -> &'static str {
    match service {
        "pagurus-intake" => "#2e86c1",
        "pagurus-worker" => "#1e8449",
        _ => "#b7950b",
    }
}

/// Spans with their depth, children below their parents.
fn rows(spans: &[Seen]) -> Vec<(usize, &Seen)> {
    let known = |id: &str| spans.iter().any(|span| span.span == id);
    let mut roots: Vec<&Seen> = spans.iter().filter(|span| !known(&span.parent)).collect();
    roots.sort_by_key(|span| span.begun);
    let mut open: Vec<(usize, &Seen)> = roots.into_iter().rev().map(|root| (0, root)).collect();
    let mut rows = Vec::new();
    while let Some((depth, span)) = open.pop() {
        rows.push((depth, span));
        let mut children: Vec<&Seen> = spans.iter().filter(|child| child.parent == span.span).collect();
        children.sort_by_key(|child| child.begun);
        open.extend(children.into_iter().rev().map(|child| (depth + 1, child)));
    }
    rows
}
