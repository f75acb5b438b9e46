//! The one table of a soak: what was sent, what was broken, what was seen, and what was wrong.
//! Never rounds a violation away, and never hides what did not happen.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::time::{Duration, Instant};

use super::Options;
use super::counts::Counts;
use super::faults::{Faults, Window};
use super::ground::Ground;
use super::ledger::Ledger;
use super::verdict::Verdict;
use super::watch::Watched;

/// Time without a fault before an order was sent, for it to count as calm; nor may a fault occur while it is under way.
const AFTER_FAULT: Duration = Duration::from_secs(4);

/// Events that a full run shows.
const WANTED: [&str; 24] = [
    "callbacks accepted",
    "lives begun by a bulk operation",
    "rounds of the consistency check",
    "waits timed out and asked again",
    "hand-out not claimed: behind",
    "guard refused: finish",
    "guard refused: outbox",
    "handed out again: node_lost",
    "node lost: worker",
    "notification: failed",
    "wake-up repeated",
    "woken: sleep_youngest",
    "woken: wait",
    "woken: retry",
    "ended: success",
    "ended: fail",
    "orders handed out again",
    "stages repeated by a retry policy",
    "take-overs of the lease",
    "lives of nodes that were lost",
    "callbacks duplicate",
    "COMMIT done, answer lost",
    "registration: duplicate",
    "registration: conflict",
];

/// The lines of the table.
pub struct Table {
    lines: String,
    violations: u64,
    under_load: Duration,
}

impl Table {
    /// Starts the table with the settings of the run.
    pub fn new(seed: u64, options: &Options, under_load: Duration) -> Self {
        let mut table = Self { lines: String::new(), violations: 0, under_load };
        let build = match (std::env::var_os("PAGURUS_PROGRAMS"), options.release) {
            (Some(_), _) => "programs that were given",
            (None, true) => "release",
            (None, false) => "debug",
        };
        table.line("what", "figure");
        table.line("---", "---");
        table.line("seed, length under load", format!("{seed}, {:.1} min", minutes(under_load)));
        table.line("rate asked for, build", format!("{} orders/s, {build}", options.rate));
        table
    }

    fn line(&mut self, name: impl fmt::Display, figure: impl fmt::Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.lines, "| {name} | {figure} |");
    }

    /// Number of violations found.
    pub const fn violations(&self) -> u64 {
        self.violations
    }

    /// Adds the numbers of orders and their times.
    pub fn load(&mut self, ledger: &Ledger, windows: &[Window]) {
        let (sent, notified) = (ledger.sent(), ledger.notified());
        let (mut all, mut calm) = (Vec::new(), Vec::new());
        let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
        let mut doubled = 0;
        for (id, order) in &sent {
            *kinds.entry(order.kind.as_str()).or_default() += 1;
            let Some(notified) = notified.get(id) else { continue };
            doubled += notified.copies.values().filter(|copies| **copies > 1).count();
            if order.kind.as_str() == "one" {
                let took = notified.at.duration_since(order.at).as_secs_f64() * 1000.0;
                all.push(took);
                if is_calm(order.at, notified.at, windows) {
                    calm.push(took);
                }
            }
        }
        let of_kinds: Vec<String> = kinds.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        self.line("orders sent", format!("{} ({})", sent.len(), of_kinds.join(", ")));
        let ended = notified.len() as f64 / minutes(self.under_load);
        self.line("ended and reported", format!("{} ({ended:.0} a minute)", notified.len()));
        self.line("notifications that came twice, under one id", doubled);
        self.line("one call, sent to reported, between faults", percentiles(&mut calm));
        self.line("one call, sent to reported, all of them", percentiles(&mut all));
    }

    /// Adds the faults, and how soon they were noticed.
    pub fn faults(&mut self, faults: &Faults) {
        let mut names: BTreeMap<String, u64> = BTreeMap::new();
        for window in faults.windows() {
            *names.entry(window.fault.name()).or_default() += 1;
        }
        self.line("faults done", faults.windows().len());
        for (name, count) in names {
            self.line(format!("fault: {name}"), count);
        }
        let notices = faults.notices();
        self.line("kill -9 of a worker to its life being over", seconds(&notices.workers));
        self.line("kill -9 of the dispatcher to another one leading", seconds(&notices.dispatchers));
    }

    /// Adds the events that must have occurred for the run to mean something.
    pub fn events(&mut self, verdict: &Verdict, counts: &Counts, ground: &Ground) {
        let mut seen: Vec<(String, u64)> =
            verdict.events.iter().map(|(name, count)| (name.clone(), *count)).collect();
        let commits = ground.databases.iter().map(|proxy| proxy.commits_unanswered()).sum();
        seen.push(("COMMIT done, answer lost".to_owned(), commits));
        for (what, name, label) in [
            ("registration", "pagurus_registrations_total", "result"),
            ("hand-out not claimed", "pagurus_unclaimed_total", "reason"),
            ("guard refused", "pagurus_guards_refused_total", "kind"),
            ("handed out again", "pagurus_reissued_total", "finding"),
            ("node lost", "pagurus_nodes_lost_total", "role"),
            ("notification", "pagurus_notifications_total", "outcome"),
            ("woken", "pagurus_activations_total", "stream"),
            ("call", "pagurus_calls_total", "outcome"),
            ("ended", "pagurus_ended_total", "status"),
            ("asked for", "pagurus_actions_total", "action"),
            ("put aside", "pagurus_refused_total", "reason"),
            ("stood still", "pagurus_idle_total", "cause"),
            ("contradiction", "pagurus_inconsistencies_total", "finding"),
        ] {
            let labels = counts.by_label(name, label);
            seen.extend(labels.into_iter().map(|(label, count)| (format!("{what}: {label}"), count)));
        }
        for (what, name) in [
            ("errors of PostgreSQL survived", "pagurus_store_errors_total"),
            ("errors of RabbitMQ survived", "pagurus_broker_errors_total"),
        ] {
            let kinds = counts.by_label(name, "operation").len();
            seen.push((format!("{what}, in {kinds} kinds of work"), counts.sum(name)));
        }
        for (what, name) in [
            ("wake-up repeated", "pagurus_activation_repeats_total"),
            ("receipt that could not be delivered", "pagurus_receipts_lost_total"),
            ("acknowledgement that came too late", "pagurus_stale_acknowledgements_total"),
            ("stage or task beyond its time-out", "pagurus_work_timeout_total"),
            ("stage handed out too often", "pagurus_poisoned_total"),
        ] {
            seen.push((what.to_owned(), counts.sum(name)));
        }
        for (name, count) in &seen {
            self.line(format!("seen: {name}"), count);
        }
        let has = |name: &str| seen.iter().any(|(seen, count)| seen == name && *count > 0);
        let missing: Vec<&str> = WANTED.into_iter().filter(|name| !has(name)).collect();
        let text = if missing.is_empty() { "nothing".to_owned() } else { missing.join(", ") };
        self.line("not seen, though a full run shows it", text);
    }

    /// Adds the sizes of memory and tables.
    pub fn sizes(&mut self, watched: &Watched) {
        self.line("looks at the tables under way", watched.samples);
        for (role, [warm, most, end]) in &watched.memory {
            let figure = format!("{warm:.0} / {most:.0} / {end:.0} MiB");
            self.line(format!("memory of {role}: warm / most / end"), figure);
        }
        for (table, sizes) in &watched.tables {
            let [warm, most, end] = sizes.map(|bytes| bytes / 1024);
            self.line(format!("size of {table}: warm / most / end"), format!("{warm} / {most} / {end} KiB"));
        }
    }

    /// Adds the violations.
    pub fn verdict(&mut self, verdict: &Verdict) {
        self.line("all final after the end of the load", format!("{:.1} s", verdict.final_after));
        for check in &verdict.checks {
            let examples = if check.count > 0 { format!(": {}", check.examples) } else { String::new() };
            self.line(format!("violation: {}", check.what), format!("{}{examples}", check.count));
        }
        self.violations = verdict.count();
        self.line("**violations**", format!("**{}**", self.violations));
    }
}

impl fmt::Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.lines)
    }
}

fn is_calm(from: Instant, until: Instant, windows: &[Window]) -> bool {
    windows.iter().all(|window| until < window.from || from > window.until + AFTER_FAULT)
}

fn minutes(time: Duration) -> f64 {
    time.as_secs_f64() / 60.0
}

fn seconds(times: &[f64]) -> String {
    if times.is_empty() {
        return "not tried".to_owned();
    }
    let most = times.iter().copied().fold(0.0, f64::max);
    format!("{most:.1} s at most, of {}", times.len())
}

fn percentiles(milliseconds: &mut [f64]) -> String {
    milliseconds.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let last = milliseconds.len().saturating_sub(1);
        milliseconds.get((last as f64 * share).round() as usize).copied().unwrap_or(f64::NAN)
    };
    format!("p50 {:.0} ms, p99 {:.0} ms, of {}", at(0.5), at(0.99), milliseconds.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_what_was_sorted() {
        let mut values: Vec<f64> = (0..=100).rev().map(f64::from).collect();
        assert_eq!(percentiles(&mut values), "p50 50 ms, p99 99 ms, of 101");
        assert_eq!(seconds(&[1.0, 3.25]), "3.2 s at most, of 2");
    }
}
