//! The one table of a run, for the terminal and for `docs/performance.md`.
//! Never rounds a figure into a better one, and sets each rate against the limit of the same round.

use std::fmt::Write as _;

use pagurus_harness::nodes::Role;

use super::centre::{self, Centre};
use super::cpu::Part;
use super::memory::Peak;
use super::paced::{self, Paced};
use super::rest::{self, Rest};
use super::works::{LIMIT_WITH_CLAIM, Memory, Row};

/// Heads of the columns before those of the processes, and of those behind them.
const HEAD: [&str; 5] = ["work", "orders", "orders/s", "of the limit", "CPU ms"];
const TIMES: [&str; 2] = ["p50 ms", "p99 ms"];

/// Figures are not published where other programs used more of the machine.
const MOST_OTHERS: f64 = 0.05;

/// All that was measured.
#[derive(Debug, Default)]
pub struct Report {
    /// Rows of each round. A machine gets faster and slower within minutes: only within a round are works compared.
    rounds: Vec<Vec<Row>>,
    /// The same of orders at steady rates.
    paced: Vec<Vec<Paced>>,
    rest: Vec<Rest>,
    peaks: Vec<Peak>,
    centre: Option<Centre>,
}

impl Report {
    /// Begins a round, in which each work is measured once.
    pub fn begin_round(&mut self) {
        self.rounds.push(Vec::new());
    }

    /// Takes what the round that was begun last measured of a work.
    pub fn add(&mut self, row: Row) {
        match self.rounds.last_mut() {
            Some(round) => round.push(row),
            None => self.rounds.push(vec![row]),
        }
    }

    /// Takes what a round measured at steady rates.
    pub fn add_paced(&mut self, round: Vec<Paced>) {
        self.paced.push(round);
    }

    /// Takes what an installation at rest costs.
    pub fn add_rest(&mut self, rest: Vec<Rest>) {
        self.rest.extend(rest);
    }

    /// Takes what the services took under heavy loads.
    pub fn add_peaks(&mut self, peaks: Vec<Peak>) {
        self.peaks.extend(peaks);
    }

    /// Takes what the pages of the control centre cost.
    pub fn add_centre(&mut self, centre: Centre) {
        self.centre = Some(centre);
    }

    /// The work that was disturbed most, and by which share of the machine, where that is too much to publish.
    pub fn disturbed(&self) -> Option<(&'static str, f64)> {
        let paced = self.paced.iter().flatten().map(Paced::others);
        let shares = self.rounds.iter().flatten().map(|row| (row.work, row.cpu.others)).chain(paced);
        shares.max_by(|one, other| one.1.total_cmp(&other.1)).filter(|(_, share)| *share > MOST_OTHERS)
    }

    /// All that was measured, in Markdown.
    pub fn text(&self) -> String {
        self.works().unwrap_or_default() + &self.sections()
    }

    /// The parts with a date of their own.
    pub fn sections(&self) -> String {
        let mut text = String::new();
        if !self.paced.is_empty() {
            text.push_str(&paced::section(&self.paced));
        }
        if !self.rest.is_empty() {
            text.push_str(&rest::section(&self.rest));
        }
        if !self.peaks.is_empty() {
            text.push_str(&self.memory());
        }
        if let Some(centre) = &self.centre {
            text.push_str(&centre::section(centre));
        }
        text
    }

    /// Resident size of each service under the heaviest legal loads.
    fn memory(&self) -> String {
        let services = Role::ALL.map(|role| role.to_string()).join(" | ");
        let rules = "--:|".repeat(Role::ALL.len());
        let date = jiff::Zoned::now().strftime("%Y-%m-%d");
        let mut text = format!(
            "\n### Memory\n\nMeasured on {date} by `./dev bench memory`.\n\n\
             | resident MB, most (after) | {services} |\n|---|{rules}\n"
        );
        for peak in &self.peaks {
            let of =
                |memory: &Memory, role| memory.get(&role).map_or_else(String::new, |mb| format!("{mb:.0}"));
            let cells = Role::ALL
                .map(|role| format!("{} ({})", of(&peak.most, role), of(&peak.after, role)))
                .join(" | ");
            let _ = writeln!(text, "| {} | {cells} |", peak.load);
        }
        text
    }

    /// The rows to show, one of each work, in the order of measuring: that of the round with the median processor time of an order.
    pub fn rows(&self) -> Vec<&Row> {
        let mut names: Vec<&str> = Vec::new();
        for row in self.rounds.iter().flatten() {
            if !names.contains(&row.work) {
                names.push(row.work);
            }
        }
        names
            .iter()
            .filter_map(|&name| median(self.measured(name).collect(), |row| row.cpu_an_order()))
            .collect()
    }

    fn measured<'a>(&'a self, work: &'a str) -> impl Iterator<Item = &'a Row> {
        self.rounds.iter().flatten().filter(move |row| row.work == work)
    }

    /// The table of the works with its notes; none where no work was measured.
    pub fn works(&self) -> Option<String> {
        let rows = self.rows();
        if rows.is_empty() {
            return None;
        }
        let mut lines = vec![head(&HEAD, &TIMES)];
        lines.extend(rows.iter().map(|row| self.cells(row)));
        let mut text = table(&lines);
        if self.rounds.len() > 1 {
            let _ = writeln!(text, "\n{}", self.spread());
        }
        let _ = writeln!(
            text,
            "\nCPU is in milliseconds an order: of all processes, then of each. {}",
            self.ratios()
        );
        let _ = writeln!(text, "\nOf the machine, idle / used by others: {}", machine_shares(&rows));
        for row in rows {
            if let Some((idle, loaded)) = &row.memory {
                let _ =
                    writeln!(text, "\n{}: resident MB before → after: {}", row.work, memory(idle, loaded));
            }
            for note in &row.notes {
                let _ = writeln!(text, "\n{}: {note}", row.work);
            }
        }
        Some(text)
    }

    /// Median, over the rounds that measured both works, of the figure of one divided by that of the other.
    fn ratio(&self, work: &str, other: &str, figure: impl Fn(&Row) -> Option<f64>) -> Option<f64> {
        let within = |round: &Vec<Row>| {
            let of = |name: &str| round.iter().find(|row| row.work == name).and_then(&figure);
            Some(of(work)? / of(other)?)
        };
        median(self.rounds.iter().filter_map(within).collect(), |&ratio| ratio)
    }

    /// The slowest and the fastest round of each work.
    fn spread(&self) -> String {
        let range = |row: &Row| {
            let rates = || self.measured(row.work).filter_map(|row| row.rate);
            let (least, most) = (rates().reduce(f64::min)?, rates().reduce(f64::max)?);
            Some(format!("{} {least:.0} to {most:.0}", row.work))
        };
        let ranges: Vec<String> = self.rows().into_iter().filter_map(range).collect();
        format!(
            "Each work was measured in {} rounds, one work after the other in each; its line is that of the round with the median CPU, a \
             ratio is the median of those within a round. Orders/s of the slowest and the fastest round: {}",
            self.rounds.len(),
            ranges.join(", ")
        )
    }

    fn ratios(&self) -> String {
        let ratio_of = |work: &&str| {
            let ratio = self.ratio(work, "one-action", |row| row.rate)?;
            Some(format!("{work} is {ratio:.2} of one-action. "))
        };
        let works = [
            "straight",
            "grouped",
            "one process",
            "sequential",
            "1 000 queues",
            "10 000 queues",
            "100 000 queues",
            "pinned",
            "with history",
            "10 KB bodies",
            "100 KB bodies",
            "2 workers",
            "4 workers",
        ];
        let times = |work: &&str| {
            let times = self.ratio(work, "limit", |row| Some(row.cpu_an_order()))?;
            Some(format!("{work} takes {times:.1} × the CPU of the limit. "))
        };
        let claimed = |work: &&str| {
            let ratio = self.ratio(work, LIMIT_WITH_CLAIM, |row| row.rate)?;
            Some(format!("{work} is {ratio:.2} of the {LIMIT_WITH_CLAIM}. "))
        };
        let main = ["one-action", "straight", "grouped"];
        let apart = works.iter().filter_map(ratio_of);
        let against_limits = main.iter().filter_map(times).chain(main.iter().filter_map(claimed));
        apart.chain(against_limits).collect()
    }

    fn cells(&self, row: &Row) -> Vec<String> {
        // The others do another amount of work, or nothing but wait.
        let comparable = matches!(
            row.work,
            "one-action"
                | "straight"
                | "grouped"
                | "one process"
                | "sequential"
                | "with history"
                | "pinned"
                | "limit"
                | LIMIT_WITH_CLAIM
        ) || row.work.ends_with("queues");
        let share = self.ratio(row.work, "limit", |row| row.rate).filter(|_| comparable);
        let time = |percentile| {
            row.latencies.percentile(percentile).map_or_else(String::new, |time| format!("{time:.1}"))
        };
        let mut cells = vec![
            row.work.to_owned(),
            row.orders.to_string(),
            row.rate.map_or_else(String::new, |rate| format!("{rate:.0}")),
            share.map_or_else(String::new, |share| format!("{share:.2}")),
            format!("{:.3}", row.cpu_an_order() * 1000.0),
        ];
        cells.extend(row.cpu.columns(|seconds| milliseconds_an_order(seconds, row.orders)));
        cells.extend([time(0.5), time(0.99)]);
        cells
    }
}

/// Processor time of an order, as tables have it.
pub fn milliseconds_an_order(seconds: f64, orders: u64) -> String {
    format!("{:.3}", seconds * 1000.0 / orders.max(1) as f64)
}

/// Head of a table with a column for each process.
pub fn head(before: &[&str], behind: &[&str]) -> Vec<String> {
    let processes = Part::COLUMNS.map(|part| part.to_string());
    let of = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    [of(before), processes.into(), of(behind)].concat()
}

/// A table in Markdown, its first line the head.
pub fn table(lines: &[Vec<String>]) -> String {
    let width =
        |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..lines.first().map_or(0, Vec::len)).map(width).collect();
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        for (column, cell) in line.iter().enumerate() {
            let width = widths[column];
            let _ = if column == 0 {
                write!(text, "| {cell:<width$} ")
            } else {
                write!(text, "| {cell:>width$} ")
            };
        }
        text.push_str("|\n");
        if number == 0 {
            for (column, &width) in widths.iter().enumerate() {
                let rule = "-".repeat(width);
                text.push_str(&if column == 0 { format!("|-{rule}-") } else { format!("|-{rule}:") });
            }
            text.push_str("|\n");
        }
    }
    text
}

/// The item in the middle by this figure; of an even number the lower of the two, because a mean of both was not measured.
pub fn median<T>(mut items: Vec<T>, figure: impl Fn(&T) -> f64) -> Option<T> {
    items.sort_by(|one, other| figure(one).total_cmp(&figure(other)));
    let middle = items.len().checked_sub(1)? / 2;
    Some(items.swap_remove(middle))
}

fn machine_shares(rows: &[&Row]) -> String {
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let shares = |row: &&Row| format!("{} {} / {}", row.work, percent(row.cpu.idle), percent(row.cpu.others));
    rows.iter().map(shares).collect::<Vec<_>>().join(", ")
}

fn memory(idle: &Memory, loaded: &Memory) -> String {
    let services = idle.iter().map(|(role, before)| {
        let after = loaded.get(role).map_or_else(String::new, |after| format!("{after:.0}"));
        format!("{role} {before:.0} → {after}")
    });
    services.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::cpu::{Seconds, Usage};
    use crate::bench::load::Latencies;

    fn row(work: &'static str, rate: f64, used: Seconds) -> Row {
        let cpu = Usage { used, idle: 0.25, others: 0.0 };
        let latencies = Latencies::of(vec![2000]);
        Row {
            work,
            orders: 1000,
            rate: Some(rate),
            cpu,
            latencies,
            memory: None,
            notes: vec!["noted".to_owned()],
        }
    }

    #[test]
    fn the_table_sets_rates_against_the_limit_of_the_same_run() {
        let mut report = Report::default();
        report.add(row("limit", 10_000.0, Seconds::from([(Part::OneProcess, 0.05), (Part::Postgres, 0.1)])));
        report.add(row("one-action", 6_000.0, Seconds::from([(Part::Service(Role::Worker), 0.2)])));
        let text = report.text();
        let lines: Vec<Vec<&str>> =
            text.lines().map(|line| line.split('|').map(str::trim).collect()).collect();
        assert_eq!(lines[2][1..6], ["limit", "1000", "10000", "1.00", "0.150"]);
        assert_eq!(lines[3][1..6], ["one-action", "1000", "6000", "0.60", "0.200"]);
        assert_eq!((lines[2][9], lines[3][9], lines[3][14]), ("0.050", "0.200", "2.0"));
        assert_eq!(report.disturbed(), None);
        report.add(Row {
            cpu: Usage { used: Seconds::new(), idle: 0.0, others: 0.06 },
            ..row("idle", 1.0, Seconds::new())
        });
        assert_eq!(report.disturbed(), Some(("idle", 0.06)));
        assert!(text.contains("one-action: noted") && text.contains("one-action 25 % / 0 %"));
    }
    #[test]
    fn works_are_compared_within_a_round_and_shown_by_their_median() {
        let mut report = Report::default();
        // The machine is twice as fast in the second round, and one of the third was disturbed.
        for (limit, one, sequential) in
            [(10_000.0, 5_000.0, 4_500.0), (20_000.0, 10_000.0, 9_000.0), (10_000.0, 5_000.0, 1_000.0)]
        {
            report.begin_round();
            for (work, rate) in [("limit", limit), ("one-action", one), ("sequential", sequential)] {
                report.add(row(work, rate, Seconds::from([(Part::Postgres, 1000.0 / rate)])));
            }
        }
        let rates: Vec<_> =
            report.rows().iter().map(|row| (row.work, row.rate.unwrap_or_default())).collect();
        assert_eq!(rates, [("limit", 10_000.0), ("one-action", 5_000.0), ("sequential", 4_500.0)]);
        let text = report.text();
        assert!(text.contains("sequential is 0.90 of one-action") && text.contains("one-action takes 2.0 ×"));
        assert!(text.contains("in 3 rounds") && text.contains("sequential 1000 to 9000"));
        assert_eq!(median(vec![4.0, 1.0, 3.0, 2.0], |&figure: &f64| figure), Some(2.0));
        assert_eq!(median(Vec::<f64>::new(), |&figure| figure), None);
    }
}
