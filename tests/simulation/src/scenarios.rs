//! Scenarios of a run: random small ones of the language, and what a deployment sets for them.
//!
//! The shape is that of the interpreter's own random tests: plain states with calls, choices, steps at once and lists;
//! states that ask and wait; pollings; turns by a script; sleeps. Times are short, so that a run is.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use pagurus_domain::document::{DocumentLimits, parse};
use pagurus_domain::retry::ErrorPolicy;
use pagurus_domain::retry::sample::{SampleTimes, sample_rules};
use pagurus_scenario::admission::unknown_states;
use pagurus_scenario::script::{Limits, Scripting};
use pagurus_scenario::stage::StageSettings;
use pagurus_scenario::value::NoSecrets;
use pagurus_scenario::{Bounds, Scenario, source};
use serde_json::json;

use crate::chance::Chance;

/// Times of the rules for failures: short, so that a run is.
const TIMES: SampleTimes =
    SampleTimes { longest: "1h", busy: ("1s", "8s", 0.5), down: "2s", refused: "3s", late: ("2s", 1) };

/// Scenarios of one run; the last one starts no children.
const COUNT: usize = 5;

/// The scenarios of a run, and the settings that stages go by.
#[derive(Debug)]
pub struct Library {
    scenarios: Vec<Arc<Scenario>>,
    settings: Arc<StageSettings>,
}

/// Settings, which are the same in all runs; made once, because rules are costly to read.
#[derive(Clone, Debug)]
pub struct Deployment(Arc<StageSettings>);

impl Deployment {
    /// The deployment.
    ///
    /// # Errors
    /// The rules of this file cannot be read.
    pub fn new() -> Result<Self, String> {
        let node =
            parse(&sample_rules(&TIMES), &DocumentLimits::default()).map_err(|fault| format!("{fault:?}"))?;
        let errors = ErrorPolicy::read(&node).map_err(|faults| format!("{faults:?}"))?;
        let hour = Duration::from_secs(3600);
        Ok(Self(Arc::new(StageSettings {
            scripting: Scripting::new(Limits::default()),
            bounds: Bounds {
                min_sleep: Duration::from_secs(1),
                max_transitions_per_stage: 40,
                ..Bounds::default()
            },
            errors,
            systems: Arc::default(),
            constants: Arc::new(json!({})),
            secret_constants: Arc::default(),
            secrets: Arc::new(NoSecrets),
            callback_base: "http://engine".into(),
            vhost: "/".into(),
            call_timeout: hour,
            max_sync_duration: hour,
            max_acquisition_duration: hour,
            max_wait_sequential: hour,
            max_wait_parallel: hour,
            max_retry_after: hour,
        })))
    }
}

impl Library {
    /// The scenarios of a seed.
    ///
    /// # Errors
    /// A scenario is not sound, which is a defect of this file.
    pub fn of(seed: u64, deployment: &Deployment) -> Result<Self, String> {
        let settings = deployment.0.clone();
        let mut chance = Chance::of(seed, 3);
        let read = |index: usize, chance: &mut Chance| {
            let text = text(index, chance);
            source::read(&text, &settings.scripting, &settings.bounds)
                .map(Arc::new)
                .map_err(|faults| source::explain_faults(&text, "scenario", &faults))
        };
        let scenarios = (0..COUNT).map(|index| read(index, &mut chance)).collect::<Result<_, _>>()?;
        Ok(Self { scenarios, settings })
    }

    /// Returns the scenario of this index.
    #[must_use]
    pub fn scenario(&self, index: usize) -> Arc<Scenario> {
        self.scenarios[index % self.scenarios.len()].clone()
    }

    /// True if a scenario ends in a state of this name.
    #[must_use]
    pub fn can_end_in(&self, index: usize, state: &str) -> bool {
        unknown_states(&[state.to_owned()], &self.scenarios[index % self.scenarios.len()]).is_empty()
    }

    /// Settings of the stages.
    #[must_use]
    pub fn settings(&self) -> Arc<StageSettings> {
        self.settings.clone()
    }

    /// Number of scenarios.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.scenarios.len()
    }
}

/// A random scenario.
fn text(index: usize, chance: &mut Chance) -> String {
    let states = usize::try_from(chance.between(1, 4)).unwrap_or(1);
    let mut out = format!("scenario: s{index}\ninitialState: s0\nstates:\n");
    let mut back = 1;
    for at in 0..states {
        let mut place = |chance: &mut Chance| {
            let bound = states as u64 + 2;
            let mut to = usize::try_from(chance.below(bound)).unwrap_or(0);
            // One way back is enough: more of them make orders that go round for ever.
            if to <= at && back == 0 {
                to = at + 1;
            } else if to <= at {
                back -= 1;
            }
            name(to, states)
        };
        let (fail, late) = (place(chance), place(chance));
        let next = name(at + 1, states);
        let entry = if chance.happens(400_000) { "entryPoint: true, " } else { "" };
        let kinds = if index + 1 < COUNT { 9 } else { 8 };
        let _ = match chance.below(kinds) {
            0..=2 => {
                let count = chance.between(1, 3);
                let acts: Vec<String> = (0..count).map(|slot| action(at, slot, chance)).collect();
                writeln!(
                    out,
                    "  s{at}: {{{entry}actions: [{}], on: {{success: {next}, fail: {fail}}}}}",
                    acts.join(", ")
                )
            }
            3 | 4 => ask(&mut out, chance, at, entry, [&next, &fail, &late]),
            5 => writeln!(
                out,
                "  s{at}: {{{entry}actions: [{{http: {{url: 'http://h/{at}/0'}}}}, {{sleep: {{for: {}s}}}}], on: {{sleep: z{at}, fail: {fail}}}}}\n  \
                 z{at}: {{kind: sleeping, on: {{timeout: {next}}}}}",
                chance.between(1, 25)
            ),
            6 => writeln!(
                out,
                "  s{at}: {{{entry}actions: [{{http: {{url: 'http://h/{at}/0'}}}}, \
                 {{script: 'let way = response.body.n % 3; if way == 1 {{ event(\"left\") }} if way == 2 {{ event(\"right\") }}'}}], \
                 on: {{success: {next}, fail: {fail}, left: {late}, right: {next}}}}}"
            ),
            // No way back: a child may end the same way whenever it is started, and its parent would go round for ever.
            8 => writeln!(
                out,
                "  s{at}: {{{entry}actions: [{}], on: {{success: {next}, fail: {}}}}}",
                child(at, index, chance),
                if chance.happens(500_000) { &next } else { "failed" }
            ),
            _ => writeln!(
                out,
                "  s{at}: {{{entry}kind: polling, poll: {{interval: 3s, timeout: 10s}}, actions: [{{http: {{url: 'http://h/{at}/0'}}}}, \
                 {{script: 'if response.body.n % 3 == 0 {{ poll() }} else if response.body.n % 3 == 2 {{ fail() }}'}}], \
                 on: {{success: {next}, fail: {fail}, timeout: {late}}}}}"
            ),
        };
    }
    out.push_str("  done: {kind: terminal}\n");
    if out.contains(": failed") {
        out.push_str("  failed: {kind: terminal, outcome: fail}\n");
    }
    out
}

fn name(to: usize, states: usize) -> String {
    match to.checked_sub(states) {
        None => format!("s{to}"),
        Some(0) => "done".to_owned(),
        Some(_) => "failed".to_owned(),
    }
}

fn ask(out: &mut String, chance: &mut Chance, at: usize, entry: &str, ways: [&str; 3]) -> std::fmt::Result {
    let [next, fail, late] = ways;
    let requests = chance.between(1, 2);
    let one = |k: i64, chance: &mut Chance| {
        if chance.happens(300_000) {
            format!("{{amqp: {{exchange: e, key: 'k{at}_{k}', request: q{at}_{k}}}}}")
        } else {
            format!("{{http: {{url: 'http://h/{at}/{k}', request: q{at}_{k}}}}}")
        }
    };
    let asks: Vec<String> = (0..requests).map(|k| one(k, chance)).collect();
    writeln!(
        out,
        "  s{at}: {{{entry}actions: [{}, {{wait: {{timeout: {}s}}}}], on: {{wait: r{at}, fail: {fail}}}}}",
        asks.join(", "),
        chance.between(5, 20)
    )?;
    let only = chance.happens(500_000);
    writeln!(
        out,
        "  r{at}: {{kind: waiting, retryFailedOnly: {only}, on: {{callback: {next}, timeout: {late}, fail: {fail}}}}}"
    )
}

/// Starts a child of the last scenario, in a queue of others or in none, and waits for its end or not.
fn child(at: usize, index: usize, chance: &mut Chance) -> String {
    let last = COUNT - 1;
    let wait = if chance.happens(800_000) {
        format!(", wait: true, request: c{at}, timeout: {}s", chance.between(10, 60))
    } else {
        String::new()
    };
    let queue = if (at + index).is_multiple_of(3) { ", mode: sequential, queue: q0" } else { "" };
    format!("{{order: {{scenario: s{last}, params: {{n: {}}}{queue}{wait}}}}}", (at + index) % 10)
}

fn action(at: usize, slot: i64, chance: &mut Chance) -> String {
    let url = |part: i64| format!("url: 'http://h/{at}/{}'", slot * 10 + part);
    match chance.below(6) {
        0..=2 => format!("{{http: {{{}}}}}", url(0)),
        3 => format!(
            "{{choose: [{{when: 'params.n % 2 == 0', actions: [{{http: {{{}}}}}]}}, {{otherwise: [{{http: {{{}}}}}]}}]}}",
            url(0),
            url(1)
        ),
        4 => format!(
            "{{each: {{in: [{}, {}, {}], atOnce: 2, actions: [{{http: {{url: 'http://h/{at}/${{item}}'}}}}]}}}}",
            slot * 10,
            slot * 10 + 1,
            slot * 10 + 2
        ),
        _ => format!(
            "{{parallel: [{{http: {{name: n{slot}a, {}}}}}, {{http: {{name: n{slot}b, {}}}}}]}}",
            url(0),
            url(1)
        ),
    }
}
