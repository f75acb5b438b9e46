//! Random situations as a page: the distribution of each measure by rule, and the worst situations of ours.

use std::fmt::Write as _;

use super::figures::{RandomFigures, RandomMeasure};
use super::verdict::RandomSituation;

/// Worst situations that the page names.
const WORST: usize = 10;
/// Difference of shares, and of refusals, that counts as none.
const EQUAL: f64 = 0.02;

/// A measure on the page: for each rule its distribution, for ours the worst.
struct MeasureRow {
    name: &'static str,
    is_least: bool,
    /// Bounds of the median, and of the worst twentieth.
    must: (f64, f64),
    /// The value, beside the figures of the oracle.
    of: fn(&RandomFigures, Option<&RandomFigures>) -> Option<f64>,
}

const fn plain(
    measure: RandomMeasure,
    must: (f64, f64),
    of: fn(&RandomFigures, Option<&RandomFigures>) -> Option<f64>,
) -> MeasureRow {
    MeasureRow { name: measure.as_str(), is_least: measure.is_least(), must, of }
}

const ROWS: [MeasureRow; 11] = [
    plain(RandomMeasure::Share, (0.95, 0.8), |its, _| its.of(RandomMeasure::Share)),
    plain(RandomMeasure::ShareOfFailing, (0.93, 0.8), |its, _| its.of(RandomMeasure::ShareOfFailing)),
    MeasureRow {
        name: "share by that of the oracle",
        is_least: true,
        must: (0.95, 0.8),
        of: |its, oracle| Some(its.any_share()? / oracle?.any_share()?),
    },
    plain(RandomMeasure::Refused, (0.005, 0.02), |its, _| its.of(RandomMeasure::Refused)),
    MeasureRow {
        name: "refused beyond the oracle",
        is_least: false,
        must: (0.005, 0.02),
        of: |its, oracle| {
            Some((its.of(RandomMeasure::Refused)? - oracle?.of(RandomMeasure::Refused)?).max(0.0))
        },
    },
    plain(RandomMeasure::Standing, (1.3, 2.0), |its, _| its.of(RandomMeasure::Standing)),
    plain(RandomMeasure::Fairness, (0.98, 0.95), |its, _| its.of(RandomMeasure::Fairness)),
    plain(RandomMeasure::Base, (1.1, 1.3), |its, _| its.of(RandomMeasure::Base)),
    plain(RandomMeasure::Trip, (10.0, 20.0), |its, _| its.of(RandomMeasure::Trip)),
    plain(RandomMeasure::Back, (5.0, 10.0), |its, _| its.of(RandomMeasure::Back)),
    plain(RandomMeasure::BackInCalls, (20.0, 20.0), |its, _| its.of(RandomMeasure::BackInCalls)),
];

impl MeasureRow {
    /// Values of a rule over all systems, the best first, with the place of the situation.
    fn values(&self, situations: &[RandomSituation], rule: &str) -> Vec<(f64, usize)> {
        let mut values = Vec::new();
        for (place, situation) in situations.iter().enumerate() {
            let Some(run) = situation.runs.iter().find(|run| run.rule == rule) else { continue };
            let oracle = situation.runs.last().filter(|_| situation.runs.len() > 1);
            for (index, its) in run.systems.iter().enumerate() {
                let beside = oracle.and_then(|oracle| oracle.systems.get(index));
                values.extend((self.of)(its, beside).map(|value| (value, place)));
            }
        }
        values.sort_by(|one, other| one.0.total_cmp(&other.0));
        if self.is_least {
            values.reverse();
        }
        values
    }

    fn holds(&self, value: f64, must: f64) -> &'static str {
        if if self.is_least { value >= must } else { value <= must } { "" } else { " ✗" }
    }
}

/// Writes the distribution of each measure for each rule, and the worst situations of ours, as Markdown.
#[must_use]
pub fn random_page(situations: &[RandomSituation]) -> String {
    let Some(first) = situations.first() else { return String::new() };
    let rules: Vec<&str> = first.runs.iter().map(|run| &*run.rule).collect();
    let mut page = String::from(
        "| measure | rule | systems | median | must | worst 5 % | must | worst |\n|---|---|---|---|---|---|---|---|\n",
    );
    // Writing into a String cannot fail.
    for row in &ROWS {
        for rule in &rules {
            let values = row.values(situations, rule);
            let Some((worst, _)) = values.last() else { continue };
            let at = |part: f64| values[((values.len() - 1) as f64 * part).round() as usize].0;
            let (median, late, must) = (at(0.5), at(0.95), row.must);
            let _ = writeln!(
                page,
                "| {} | {rule} | {} | {median:.3}{} | {} | {late:.3}{} | {} | {worst:.3} |",
                row.name,
                values.len(),
                row.holds(median, must.0),
                must.0,
                row.holds(late, must.1),
                must.1,
            );
        }
    }
    for rule in rules.iter().filter(|rule| ["AIMD", "Gradient2", "ARC"].contains(rule)) {
        let (ahead, all) = ahead(situations, rule);
        let _ = writeln!(page, "\n{rule} is ahead of ours in {ahead} of {all} systems.");
    }
    for row in &ROWS {
        let values = row.values(situations, rules[0]);
        if values.is_empty() {
            continue;
        }
        let _ = writeln!(page, "\nThe worst of {}:\n\n| seed | value | situation |\n|---|---|---|", row.name);
        for (value, place) in values.into_iter().rev().take(WORST) {
            let RandomSituation { seed, about, .. } = &situations[place];
            let _ = writeln!(page, "| {seed} | {value:.3} | {} |", about.replace('|', "and"));
        }
    }
    page
}

/// Systems in which a rule has a larger share without more refusals, or fewer refusals without a smaller share; and all that can be
/// compared.
fn ahead(situations: &[RandomSituation], rule: &str) -> (usize, usize) {
    let mut counts = (0, 0);
    for situation in situations {
        let Some(other) = situation.runs.iter().find(|run| run.rule == rule) else { continue };
        for (ours, its) in situation.runs[0].systems.iter().zip(&other.systems) {
            let gain =
                |its: &RandomFigures| Some((its.any_share()?, its.of(RandomMeasure::Refused).unwrap_or(0.0)));
            let (Some(ours), Some(its)) = (gain(ours), gain(its)) else { continue };
            let (more, fewer) = (its.0 - ours.0, ours.1 - its.1);
            counts.0 += usize::from(more.max(fewer) > EQUAL && more.min(fewer) >= -EQUAL);
            counts.1 += 1;
        }
    }
    counts
}
