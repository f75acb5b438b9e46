//! A story as the engine reads it: the scenario, the rules for errors, the order.
//! Never leaves a wait short that is to be left by answers: a busy machine must not turn the two round.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::plan::{Ask, GATE, Kind, Story};

/// The path at which stories call.
pub const PATH: &str = "/story";
/// Seconds that a state waits if an answer is missing.
const SHORT: u32 = 3;
/// Seconds that it waits if all answers come.
const LONG: u32 = 120;

/// Number of times that a failure is repeated.
#[derive(Clone, Copy, Debug)]
pub struct Attempts {
    /// Repeats of a 503.
    pub busy: u32,
    /// Repeats of a connection that broke.
    pub down: u32,
}

/// Number of tries: in a steady story one may be lost with the process that made it.
#[must_use]
pub const fn attempts(steady: bool) -> Attempts {
    if steady { Attempts { busy: 50, down: 50 } } else { Attempts { busy: 2, down: 1 } }
}

/// Number of times that a refused answer, or one that did not come, is asked for again.
pub const ASKED_AGAIN: u32 = 2;

/// The rules and policies of the deployment, `execution.error_handling`.
#[must_use]
pub fn rules(steady: bool) -> String {
    let Attempts { busy, down } = attempts(steady);
    let policy = |class: &str, scenarios: &str, most: u32| {
        format!(
            "{{error_classes: [{class}], {scenarios}parameters: \
             {{initial_interval: 150ms, multiplier: 1, max_interval: 150ms, jitter: 0, max_attempts: {most}}}}}"
        )
    };
    format!(
        "{{sync: {{classification: {{rules: {{any: {{requests: [{{path: \"/**\"}}], classes: {{\
         busy: {{responses: [{{status_codes: [503]}}]}}, down: {{exceptions: [{{name_keyword: Exception}}]}}}}}}}}}}, \
         retry: {{policies: {{busy: {}, down: {}}}}}}}, \
         async: {{classification: {{rules: {{any: {{requests: {{http: [{{path: \"/**\"}}], amqp: [{{path: \"%2F?exchange=*\"}}]}}, classes: {{\
         refused: {{responses: [{{step_status_keywords: [refused]}}]}}, odd: {{responses: [{{step_status_keywords: [odd]}}]}}}}}}}}}}, \
         retry: {{policies: {{refused: {}, late: {}}}}}}}}}",
        policy("busy", "", busy),
        policy("down", "", down),
        policy("refused", "", ASKED_AGAIN),
        policy("async.timeout", "scenarios: [{name: \"again-*\"}], ", ASKED_AGAIN)
    )
}

impl Story {
    /// The name of its scenario, by which the policy for missing answers knows it.
    #[must_use]
    pub fn scenario(&self) -> String {
        format!("{}-{}", if self.again { "again" } else { "once" }, self.id)
    }

    /// The order.
    #[must_use]
    pub fn order(&self) -> Value {
        let mut order = json!({"id": self.id, "scenario": self.scenario()});
        if self.sequential {
            order["mode"] = "sequential".into();
            order["queue"] = self.id.as_str().into();
        }
        order
    }

    /// The name of a state by its index.
    #[must_use]
    pub fn name(&self, at: usize) -> String {
        match at.checked_sub(self.states.len()) {
            None => format!("s{at}"),
            Some(0) => "done".into(),
            Some(_) => "failed".into(),
        }
    }

    /// The scenario as a file: messages go to `exchange`, and these states wait in vain.
    #[must_use]
    pub fn text(&self, exchange: &str, in_vain: &BTreeSet<usize>) -> String {
        let mut text = format!("scenario: {}\ninitialState: s0\nstates:\n", self.scenario());
        let mut fails = false;
        for (at, state) in self.states.iter().enumerate() {
            let (next, fail) = (self.name(at + 1), self.name(state.fail));
            let _ = write!(text, "  s{at}:\n    entryPoint: {}\n    actions:\n", state.entry);
            match state.kind {
                Kind::Tell => {
                    text.push_str(&telling(at));
                    let _ = writeln!(text, "    on: {{success: {next}, fail: {fail}}}");
                }
                Kind::Ask(ask) => {
                    let timeout = if in_vain.contains(&at) { SHORT } else { LONG };
                    text.push_str(&asking(at, ask, exchange, timeout));
                    let late = self.name(ask.late);
                    fails |= late == "failed";
                    let refused = if ask.fails { format!(", fail: {fail}") } else { String::new() };
                    let _ = writeln!(text, "    on: {{wait: r{at}, fail: {fail}}}");
                    let _ = writeln!(
                        text,
                        "  r{at}: {{kind: waiting, retryFailedOnly: {}, on: {{callback: {next}, timeout: {late}{refused}}}}}",
                        ask.only
                    );
                }
            }
            fails |= fail == "failed";
        }
        text.push_str("  done: {kind: terminal}\n");
        if fails {
            text.push_str("  failed: {kind: terminal, outcome: fail}\n");
        }
        text
    }
}

fn call(at: usize, slot: usize, more: &str) -> String {
    format!(
        "http: {{method: POST, url: \"${{config.demo}}{PATH}\", \
         body: {{order: \"${{order.id}}\", at: {at}, slot: {slot}{more}}}, timeout: 1m"
    )
}

fn asking(at: usize, ask: Ask, exchange: &str, timeout: u32) -> String {
    let mut text = String::new();
    let address = ", id: \"${request.id}\", url: \"${request.url}\"";
    for slot in 0..ask.http {
        let _ = writeln!(text, "      - {}, request: q{at}_{slot}}}", call(at, slot, address));
    }
    for slot in ask.http..ask.http + ask.amqp {
        let _ = writeln!(
            text,
            "      - amqp: {{exchange: {exchange}, key: ask, \
             body: {{order: \"${{order.id}}\", at: {at}, slot: {slot}{address}}}, request: q{at}_{slot}}}"
        );
    }
    if ask.gate {
        let _ = writeln!(text, "      - {}}}", call(at, GATE, ""));
    }
    let _ = writeln!(text, "      - wait: {{timeout: {timeout}s}}");
    text
}

/// Tells the numbers of all answers, and calls one of two slots by whether their sum is odd.
fn telling(at: usize) -> String {
    let mut text = String::from(
        "      - script: |\n          let known = #{};\n          let sum = 0;\n          \
         for name in callbacks.keys() { known[name] = callbacks[name].body.n; sum += known[name]; }\n          \
         vars.known = known;\n          vars.sum = sum;\n          result(known);\n",
    );
    let _ = writeln!(text, "      - {}}}", call(at, 0, ", known: \"${vars.known}\""));
    let _ = writeln!(
        text,
        "      - choose:\n          - when: \"vars.sum % 2 == 1\"\n            actions:\n              - {}}}\n          \
         - otherwise:\n              - {}}}",
        call(at, 1, ""),
        call(at, 2, "")
    );
    text
}
