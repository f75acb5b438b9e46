//! The report of many situations as one page in Markdown: what each picture shows, and each figure beside those of other
//! rules. Must never compute a figure.

use std::fmt::Write as _;

use super::measure::LabFigure;
use super::{LabPlan, LabRun};

/// A situation with its runs.
#[derive(Debug)]
pub struct Situation {
    /// Name, as that of its file.
    pub name: String,
    /// Plan that was run.
    pub plan: LabPlan,
    /// The run of the policy, then those of other rules where limits are learnt.
    pub runs: Vec<LabRun>,
}

/// The page; pictures are looked for under this path.
#[must_use]
pub fn library(situations: &[Situation], pictures: &str) -> String {
    let mut page = String::new();
    let _ = writeln!(
        page,
        "# Report of the laboratory\n\n\
         <!-- This page and its pictures are written by `pagurus lab examples/lab --report docs/laboratory.md`. -->\n\n\
         Each situation of the laboratory, with its picture and its figures. The file of a situation says what happens in \
         it, and what must hold; [the guide](guides/laboratory.md) explains the measures, and how to run one. `pagurus` \
         is the rule of the engine. The other rules run in the same dispatcher: three fixed limits (two fifths of the \
         servers of the first system, five quarters, ten times), AIMD, Gradient2 of Netflix and ARC of Vector, as \
         published. Figures that do not keep to their bound are marked with \u{2717}.\n"
    );
    summary(&mut page, situations);
    for situation in situations {
        section(&mut page, situation, pictures);
    }
    page
}

/// Returns the start of the row of a figure, with what the rule of the policy came to.
#[must_use]
pub fn row_of(figure: &LabFigure) -> String {
    let bound = &figure.bound;
    let sign = if bound.of.is_least() { "\u{2265}" } else { "\u{2264}" };
    format!(
        "| {} of {}, {} to {} s | {sign} {} | {} |",
        bound.of,
        bound.name,
        bound.from.as_secs_f64(),
        bound.until.as_secs_f64(),
        bound.bound,
        cell(figure)
    )
}

fn cell(figure: &LabFigure) -> String {
    let sign = if figure.holds() { "" } else { " \u{2717}" };
    figure.value.map_or_else(|| "never \u{2717}".to_owned(), |value| format!("{value:.3}{sign}"))
}

fn summary(page: &mut String, situations: &[Situation]) {
    let compared = situations.iter().filter(|situation| situation.runs.len() > 1);
    let (mut wins, mut behind) = (0, Vec::new());
    let mut count = 0;
    for situation in compared {
        count += 1;
        match ahead(&situation.runs) {
            rules if rules.is_empty() => wins += 1,
            rules => behind.push((situation, rules)),
        }
    }
    let _ = writeln!(
        page,
        "## Beside other rules\n\n\
         A rule is ahead of another in a situation if it is better in one figure and as good in all others. Figures \
         count as equally good where they differ by no more than this: {}.\n\n\
         In {wins} of {count} situations no rule is ahead of `pagurus`.{}\n",
        ties(),
        if behind.is_empty() { "" } else { " In the others:" },
    );
    if !behind.is_empty() {
        page.push_str("| situation | ahead | why |\n|---|---|---|\n");
    }
    for (situation, rules) in &behind {
        let why = situation.plan.behind.as_deref().unwrap_or(UNEXPLAINED);
        let _ = writeln!(page, "| [{0}](#{0}) | {1} | {why} |", situation.name, rules.join("; "));
    }
    if !behind.is_empty() {
        page.push('\n');
    }
    let rules = situations.iter().map(|situation| &*situation.runs).max_by_key(|runs| runs.len());
    page.push_str("| rule | situations in which it keeps all bounds | in which `pagurus` is ahead of it |\n|---|---|---|\n");
    for at in 0..rules.map_or(0, <[LabRun]>::len) {
        let compared = || situations.iter().filter(|situation| situation.runs.len() > at.max(1));
        let keeps = |run: &LabRun| run.figures.iter().all(|one| one.holds() || (at > 0 && !is_compared(one)));
        let held = compared().filter(|situation| keeps(&situation.runs[at])).count();
        let beaten = compared().filter(|situation| is_ahead(&situation.runs[0], &situation.runs[at])).count();
        let name = rules.map_or("", |runs| &runs[at].rule);
        let _ = writeln!(
            page,
            "| {name} | {held} | {} |",
            if at == 0 { String::new() } else { beaten.to_string() }
        );
    }
    page.push('\n');
}

/// Stands where a file should say why another rule is ahead, and does not.
pub const UNEXPLAINED: &str = "(not explained)";

fn ties() -> String {
    use super::Measure as M;
    let measures = [M::Share, M::Refused, M::Back, M::Trip, M::Base, M::Swing, M::Fairness];
    let ties: Vec<String> =
        measures.iter().map(|measure| format!("`{measure}` by {}", measure.tie())).collect();
    ties.join(", ")
}

fn section(page: &mut String, situation: &Situation, pictures: &str) {
    let (name, plan) = (&situation.name, &situation.plan);
    let _ = writeln!(
        page,
        "## {name}\n\n{}. {}\n\n![{}]({pictures}/{name}.svg)\n\n{}\n",
        plan.title.trim_end_matches('.'),
        plan.about,
        plan.title,
        plan.shows
    );
    let rules: Vec<&str> = situation.runs.iter().map(|run| &*run.rule).collect();
    let _ =
        writeln!(page, "| figure | bound | {} |\n|---|---|{}", rules.join(" | "), "---|".repeat(rules.len()));
    let Some((ours, others)) = situation.runs.split_first() else { return };
    for (at, figure) in ours.figures.iter().enumerate() {
        page.push_str(&row_of(figure));
        for other in others.iter().filter_map(|run| run.figures.get(at)) {
            let cell = if is_compared(other) { cell(other) } else { "\u{2013}".to_owned() };
            let _ = write!(page, " {cell} |");
        }
        page.push('\n');
    }
    page.push('\n');
    for missed in ours.figures.iter().filter_map(|figure| figure.bound.missed.as_ref()) {
        let _ = writeln!(page, "The bound that does not hold: {missed}\n");
    }
}

/// Rules that are ahead of the first.
fn ahead(runs: &[LabRun]) -> Vec<&str> {
    let Some((ours, others)) = runs.split_first() else { return Vec::new() };
    others.iter().filter(|other| is_ahead(other, ours)).map(|other| &*other.rule).collect()
}

/// True if one run is better than another in a figure and worse in none.
fn is_ahead(one: &LabRun, other: &LabRun) -> bool {
    let figures = one.figures.iter().zip(&other.figures).filter(|(one, _)| is_compared(one));
    let gains: Vec<f64> = figures.map(|(one, other)| gain(one, other)).collect();
    gains.iter().any(|gain| *gain > 0.0) && gains.iter().all(|gain| *gain >= 0.0)
}

/// False for the base latency, which only the rule of the policy learns.
fn is_compared(figure: &LabFigure) -> bool {
    figure.bound.of != super::Measure::Base
}

/// Above zero where a figure is better than another, below where it is worse, by more than counts as good as each other.
fn gain(one: &LabFigure, other: &LabFigure) -> f64 {
    let gain = match (one.value, other.value) {
        (None, None) => 0.0,
        (Some(_), None) => f64::INFINITY,
        (None, Some(_)) => f64::NEG_INFINITY,
        (Some(one), Some(other)) => one - other,
    };
    let is_known = one.value.is_some() && other.value.is_some();
    let gain = if is_known && !one.bound.of.is_least() { -gain } else { gain };
    if gain.abs() <= one.bound.of.tie() { 0.0 } else { gain }
}
