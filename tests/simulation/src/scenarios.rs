//! Scenarios of a run: random small ones of the language, and what a deployment sets for them.
//!
//! The shape is that of the interpreter's own random tests: plain states with calls, choices, steps at once and lists;
//! states that ask and wait; pollings; turns by a script; sleeps. Times are short, so that a run is.

mod draft;

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
use crate::constant::ConstantWorld;
use draft::Draft;

/// Times of the rules for failures: short, so that a run is.
const TIMES: SampleTimes =
    SampleTimes { longest: "1h", busy: ("1s", "8s", 0.5), down: "2s", refused: "3s", late: ("2s", 1) };

/// Scenarios of one run; the last one starts no children.
const COUNT: usize = 5;
/// The scenario among those of [`constant_texts`] that gives its orders their queue (SCN-21).
pub const SEQUENTIAL: usize = 1;

/// Times of rules for systems that answer a request the same way however often it is made.
const TIMES_OF_CONSTANT: SampleTimes = SampleTimes {
    longest: "1h",
    busy: ("200ms", "400ms", 0.5),
    down: "200ms",
    refused: "200ms",
    late: ("200ms", 1),
};

/// The rules for failures beside systems that answer a request the same way however often it is made.
#[must_use]
pub fn constant_rules() -> String {
    sample_rules(&TIMES_OF_CONSTANT)
}

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
        Self::with(&sample_rules(&TIMES))
    }

    /// The deployment in which [`constant_rules`] stand.
    ///
    /// # Errors
    /// The rules of this file cannot be read.
    pub fn constant() -> Result<Self, String> {
        Self::with(&constant_rules())
    }

    fn with(rules: &str) -> Result<Self, String> {
        let node = parse(rules, &DocumentLimits::default()).map_err(|fault| format!("{fault:?}"))?;
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
            constants: Arc::new(json!({"demo": "http://h"})),
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
        let mut chance = Chance::of(seed, 3);
        let texts = (0..COUNT).map(|index| Draft::changing(index).text(&mut chance));
        Self::read(texts, deployment)
    }

    /// The scenarios of a seed, which always end the same way beside systems that always answer the same.
    ///
    /// # Errors
    /// A scenario is not sound, which is a defect of this file.
    pub fn constant(seed: u64, deployment: &Deployment) -> Result<Self, String> {
        Self::read(constant_texts(seed, "e").into_iter(), deployment)
    }

    fn read(texts: impl Iterator<Item = String>, deployment: &Deployment) -> Result<Self, String> {
        let settings = deployment.0.clone();
        let read = |text: String| {
            source::read(&text, &settings.scripting, &settings.bounds)
                .map(Arc::new)
                .map_err(|faults| source::explain_faults(&text, "scenario", &faults))
        };
        Ok(Self { scenarios: texts.map(read).collect::<Result<_, _>>()?, settings })
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

/// Files of the scenarios of [`Library::constant`], whose messages go to this exchange.
#[must_use]
pub fn constant_texts(seed: u64, exchange: &str) -> Vec<String> {
    let mut chance = Chance::of(seed, 3);
    let first = usize::try_from(seed).unwrap_or(0) * COUNT;
    let draft = |index| Draft::constant(first + index, index, ConstantWorld(seed), exchange);
    (0..COUNT).map(|index| draft(index).text(&mut chance)).collect()
}

/// Names of the scenarios of [`constant_texts`]; the last one is that of children.
#[must_use]
pub fn constant_names(seed: u64) -> Vec<String> {
    let first = usize::try_from(seed).unwrap_or(0) * COUNT;
    (0..COUNT).map(|index| format!("s{}", first + index)).collect()
}
