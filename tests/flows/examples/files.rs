//! The example scenarios and their tests, as their files have them. Never changes what it reads.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use pagurus_domain::document::{self, DocumentLimits};
use pagurus_scenario::deployment::Deployment;
use pagurus_scenario::script::Scripting;
use pagurus_scenario::{Bounds, source};
use pagurus_workbench::trial;
use serde_json::Value;

/// An example.
#[derive(Debug)]
pub struct Example {
    /// The name of the scenario.
    pub name: String,
    /// The scenario.
    pub scenario: Value,
    /// Tests of the scenario, at least one.
    pub tests: Vec<Test>,
}

/// A test of an example.
#[derive(Debug)]
pub struct Test {
    /// Text of the file.
    pub text: Value,
    /// The states whose time runs out in it, as virtual time shows.
    pub timed_out: HashSet<String>,
}

/// Reads all examples of this checkout, sorted by name.
pub fn read_all() -> Vec<Example> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("scenarios");
    let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
    let names = files.map(|name| name.into_string().unwrap());
    let mut names: Vec<String> =
        names.filter_map(|name| Some(name.strip_suffix(".test.yaml")?.to_owned())).collect();
    names.sort_unstable();
    names.into_iter().map(|name| read(&folder, name)).collect()
}

fn read(folder: &Path, name: String) -> Example {
    let text = |ending: &str| std::fs::read_to_string(folder.join(format!("{name}{ending}"))).unwrap();
    let (scenario, tests) = (text(".yaml"), text(".test.yaml"));
    let bounds = Bounds::default();
    let compiled =
        Arc::new(source::read(&scenario, &Scripting::new(bounds.script.clone()), &bounds).unwrap());
    let mut stories = trial::read(&tests).unwrap().trials.into_iter().map(|test| {
        let outcome = trial::run(&compiled, &Deployment::default(), &test, &mut || true);
        assert!(outcome.passed(), "{name}, {}: {:?}", test.name, outcome.faults);
        let ended = |moment: &trial::Moment| {
            let (state, _) = moment.text.strip_prefix('`')?.split_once("` timeout to ")?;
            Some(state.to_owned())
        };
        outcome.story.iter().filter_map(ended).collect()
    });
    let tests = json(&tests)["tests"].as_array().unwrap().clone();
    let tests = tests.into_iter().map(|text| Test { text, timed_out: stories.next().unwrap() }).collect();
    Example { name, scenario: json(&scenario), tests }
}

fn json(text: &str) -> Value {
    document::parse(text, &DocumentLimits::default()).unwrap().to_json()
}
