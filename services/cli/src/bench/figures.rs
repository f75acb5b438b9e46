//! Figures of a measurement: rates, distributions of times, and failures by their classes.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_wire::order::OrderLine;
use serde_json::{Value, json};

use crate::failure::{CliError, FAILED, NOT_YET};
use crate::screen::Screen;

/// Most classes that are counted separately; all further ones are counted together.
const MOST_CLASSES: usize = 50;
/// Class of all further failures.
const OTHER: &str = "(others)";
/// Parts of a distribution that are shown.
const PARTS: [(&str, f64); 3] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)];

/// Times in steps, of which 32 are a doubling: what is read from it is 2 % wrong at most.
#[derive(Clone, Debug, Default)]
pub(super) struct Times {
    counts: BTreeMap<i32, u64>,
}

/// Steps of a doubling.
const STEPS: f64 = 32.0;

impl Times {
    fn add(&mut self, time: Duration, count: u64) {
        let micros = time.as_secs_f64().max(1e-6) * 1e6;
        *self.counts.entry((micros.log2() * STEPS).round() as i32).or_default() += count;
    }

    fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// The time that this part of all does not exceed, in milliseconds.
    fn quantile(&self, part: f64) -> Option<f64> {
        let wanted = self.total() as f64 * part;
        let mut below = 0;
        let step = self.counts.iter().find(|(_, count)| {
            below += **count;
            below as f64 >= wanted
        });
        step.map(|(step, _)| (f64::from(*step) / STEPS).exp2() / 1e3)
    }

    fn to_value(&self) -> Value {
        PARTS
            .iter()
            .map(|(name, part)| ((*name).to_owned(), json!(self.quantile(*part).map(rounded))))
            .collect()
    }
}

/// Figures of a measurement so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Figures {
    /// Orders that were sent.
    pub sent: u64,
    /// Time from the start to the last answer.
    pub sent_within: Duration,
    accepted: Times,
    ended: Times,
    succeeded: u64,
    /// Orders that were not registered, or ended otherwise, by class.
    failures: BTreeMap<String, u64>,
    /// Registration of the first, and end of the last.
    span: Option<(Timestamp, Timestamp)>,
}

impl Figures {
    /// Counts registered orders, which took this time.
    pub fn accept(&mut self, orders: u64, took: Duration) {
        if orders > 0 {
            self.accepted.add(took, orders);
        }
    }

    /// Counts orders that failed in this way.
    pub fn fail(&mut self, class: &str, orders: u64) {
        let is_known = self.failures.contains_key(class) || self.failures.len() < MOST_CLASSES;
        *self.failures.entry(if is_known { class } else { OTHER }.to_owned()).or_default() += orders;
    }

    /// An order has ended. Its times are those of the engine, whenever they are asked for.
    pub fn end(&mut self, line: &OrderLine) {
        let (from, to) = (line.created_at, line.updated_at);
        self.ended.add(to.duration_since(from).try_into().unwrap_or_default(), 1);
        let (first, last) = self.span.unwrap_or((from, to));
        self.span = Some((first.min(from), last.max(to)));
        if line.status == "success" {
            self.succeeded += 1;
        } else {
            self.fail(line.error_class.as_ref().unwrap_or(&line.status), 1);
        }
    }

    /// Orders that have ended.
    pub fn ended(&self) -> u64 {
        self.ended.total()
    }

    /// Orders that were accepted and go on.
    pub fn not_ended(&self) -> u64 {
        self.accepted.total().saturating_sub(self.ended())
    }

    fn accepted_rate(&self) -> f64 {
        rate(self.accepted.total(), self.sent_within)
    }

    fn ended_rate(&self) -> f64 {
        let span = self.span.and_then(|(first, last)| Duration::try_from(last.duration_since(first)).ok());
        rate(self.ended(), span.unwrap_or_default())
    }

    /// Returns all figures, for programs.
    pub fn to_value(&self, prefix: &str, scenario: &str) -> Value {
        let failures: Vec<Value> =
            self.failures.iter().map(|(class, orders)| json!({"class": class, "orders": orders})).collect();
        json!({
            "idPrefix": prefix, "scenario": scenario,
            "sent": self.sent, "accepted": self.accepted.total(), "ended": self.ended(),
            "succeeded": self.succeeded, "notEnded": self.not_ended(),
            "sentWithinSeconds": rounded(self.sent_within.as_secs_f64()),
            "acceptedPerSecond": rounded(self.accepted_rate()), "endedPerSecond": rounded(self.ended_rate()),
            "acceptedMillis": self.accepted.to_value(), "endedMillis": self.ended.to_value(),
            "failures": failures,
        })
    }

    /// Returns the same as tables, for people.
    pub fn table(&self, screen: &Screen) -> String {
        let row = |name: &str, times: &Times, rate: f64| {
            let quantiles =
                PARTS.iter().map(|(_, part)| times.quantile(*part).map_or_else(|| "–".to_owned(), shown));
            [name.to_owned(), times.total().to_string(), format!("{rate:.1}")]
                .into_iter()
                .chain(quantiles)
                .collect()
        };
        let rows: [Vec<String>; 2] = [
            row("accepted", &self.accepted, self.accepted_rate()),
            row("ended", &self.ended, self.ended_rate()),
        ];
        let mut text = screen.table(&["", "ORDERS", "ORDERS/S", "P50", "P90", "P99"], &rows);
        let mut rest: Vec<[String; 2]> =
            self.failures.iter().map(|(class, orders)| [class.clone(), orders.to_string()]).collect();
        if self.not_ended() > 0 {
            rest.push(["(not ended)".to_owned(), self.not_ended().to_string()]);
        }
        if !rest.is_empty() {
            text.push_str(&format!("\n\n{}", screen.table(&["FAILURE", "ORDERS"], &rest)));
        }
        text
    }

    /// The failure with which the program ends where an order did not go well.
    pub fn verdict(&self) -> Result<(), CliError> {
        match (self.failures.is_empty(), self.not_ended()) {
            (false, _) => Err(CliError::Reported(FAILED)),
            (true, 0) => Ok(()),
            (true, _) => Err(CliError::Reported(NOT_YET)),
        }
    }
}

fn rate(count: u64, within: Duration) -> f64 {
    if within.is_zero() { 0.0 } else { count as f64 / within.as_secs_f64() }
}

/// Rounds to three places, which is more than is known.
fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// A time for people, from milliseconds.
fn shown(millis: f64) -> String {
    if millis < 1000.0 { format!("{millis:.1} ms") } else { format!("{:.2} s", millis / 1e3) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn line(status: &str, class: Option<&str>, millis: i64) -> OrderLine {
        serde_json::from_value(json!({
            "id": "a", "scenario": "s", "scenarioVersion": 1, "status": status, "scenarioStatus": "target",
            "step": null, "errorClass": class, "createdAt": "2026-01-01T00:00:00Z",
            "updatedAt": Timestamp::from_millisecond(1_767_225_600_000 + millis).unwrap(),
        }))
        .unwrap()
    }

    #[test]
    fn ui_parts_of_a_distribution_are_right_to_a_few_percent() {
        let mut times = Times::default();
        (1..=10_000).for_each(|millis| times.add(Duration::from_millis(millis), 1));
        for (part, expected) in [(0.5, 5000.0), (0.9, 9000.0), (0.99, 9900.0)] {
            let found = times.quantile(part).unwrap();
            assert!((found / expected - 1.0).abs() < 0.03, "{part}: {found}");
        }
        assert!(times.counts.len() < 450, "memory does not grow with the orders: {}", times.counts.len());
        assert_eq!(Times::default().quantile(0.5), None);
    }

    #[test]
    fn ui_failures_are_reported_by_class_and_their_number_is_bounded() {
        let mut figures = Figures { sent: 3, sent_within: Duration::from_secs(2), ..Figures::default() };
        figures.accept(3, Duration::from_millis(20));
        figures.end(&line("success", None, 500));
        figures.end(&line("fail", Some("http.5xx"), 1000));
        let value = figures.to_value("p", "s");
        assert_eq!(
            (&value["acceptedPerSecond"], &value["endedPerSecond"]),
            (&json!(1.5), &json!(2.0)),
            "{value}"
        );
        assert_eq!(value["failures"], json!([{"class": "http.5xx", "orders": 1}]));
        assert_eq!((&value["succeeded"], &value["notEnded"]), (&json!(1), &json!(1)));
        assert!(
            figures.table(&Screen::plain()).contains("(not ended)"),
            "{}",
            figures.table(&Screen::plain())
        );
        (0..100).for_each(|n| figures.fail(&format!("c{n}"), 1));
        assert_eq!(figures.failures.len(), MOST_CLASSES + 1);
    }

    #[test]
    fn ui_a_measurement_ends_well_where_all_orders_did() {
        let mut figures = Figures::default();
        figures.accept(1, Duration::from_millis(1));
        assert_eq!(figures.verdict().unwrap_err().code(), NOT_YET);
        figures.end(&line("success", None, 1));
        assert!(figures.verdict().is_ok());
        figures.end(&line("canceled", None, 1));
        assert_eq!(figures.verdict().unwrap_err().code(), FAILED);
    }
}
