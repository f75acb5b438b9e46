//! Scripts: run by the interpreter in the trial of a scenario, and once more in that of a running engine. Each ends as the
//! language says, within bounds of time and memory.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pagurus_scenario::deployment::Deployment;
use pagurus_scenario::script::{STACK_BYTES, Scripting};
use pagurus_scenario::{Library, source};
use pagurus_workbench::trial;
use serde::Deserialize;
use serde_json::{Value, json};

use super::data::{Piece, files, words};
use super::watch::{Watch, own_peak};

/// Longest wait for the end of all orders: they take turns on the worker, some a second each.
const HOW_LONG: Duration = Duration::from_secs(60);
/// A script may take a second by the clock, and some of it beyond where the machine is busy: what takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(20);
/// Most memory that all scripts add together, in KiB.
const MEMORY: u64 = 256 * 1024;

/// A file of scripts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// Parameters of all orders.
    params: Value,
    items: Vec<Item>,
}

/// A script with its end.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Item {
    #[serde(deserialize_with = "words")]
    name: String,
    script: Piece,
    /// `success`, a class of error, or `fault` for what does not compile.
    expect: String,
    /// The result of the order.
    #[serde(default)]
    result: Option<Value>,
}

impl Item {
    /// The text of a scenario of this name that runs it.
    fn scenario(&self, name: &str) -> String {
        let actions = json!([{"script": self.script.text("")}]);
        json!({
            "scenario": name, "kind": "workflow", "initialState": "a",
            "states": {
                "a": {"actions": actions, "on": {"success": "done", "fail": "failed"}},
                "done": {"kind": "terminal"},
                "failed": {"kind": "terminal", "outcome": "fail"},
            },
        })
        .to_string()
    }

    /// The file of the test: what the order is to end as.
    fn test(&self, params: &Value) -> String {
        let mut expect = match self.expect.as_str() {
            "success" => json!({"status": "success"}),
            class => json!({"status": "fail", "error": class}),
        };
        if let Some(result) = &self.result {
            expect["result"] = result.clone();
        }
        json!({"tests": [{"test": "it ends", "params": params, "expect": expect}]}).to_string()
    }

    fn fault(&self, params: &Value, scripting: &Scripting, deployment: &Deployment) -> Option<String> {
        let library = Library::default();
        let read = source::read_with_warnings(&self.scenario("s"), &library, scripting, &deployment.bounds);
        let scenario = match (read, self.expect.as_str()) {
            (Err(_), "fault") => return None,
            (Err(faults), _) => return Some(format!("it does not compile: {faults:?}")),
            (Ok(_), "fault") => return Some("it compiles".to_owned()),
            (Ok(reading), _) => Arc::new(reading.scenario),
        };
        let file = trial::read(&self.test(params)).expect("a file of tests");
        let outcome = trial::run(&scenario, deployment, &file.trials[0], &mut || true);
        let said: Vec<String> = outcome.faults.iter().map(ToString::to_string).collect();
        (!outcome.passed()).then(|| format!("{said:?} {:?}", outcome.story.last()))
    }
}

#[test]
fn qlt_8_every_script_of_the_corpus_ends_as_the_language_says_within_its_bounds() {
    // Services run scripts on threads of this size, tests on smaller ones.
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(run_all).unwrap();
    thread.join().unwrap();
}

fn run_all() {
    // With the clock of services: the core itself has none.
    let settings = pagurus_runtime::config::load(None, std::iter::empty()).unwrap();
    let (scripting, deployment) =
        (Scripting::new(settings.scenario.script.clone()), settings.trial_deployment());
    let (before, mut wrong, mut count, mut slowest) = (own_peak(), Vec::new(), 0, Duration::ZERO);
    for (category, file) in files::<File>("scripts") {
        println!("scripts, {category}: {} inputs", file.items.len());
        for item in &file.items {
            let begun = Instant::now();
            let fault = item.fault(&file.params, &scripting, &deployment);
            let took = begun.elapsed();
            slowest = slowest.max(took);
            if let Some(fault) = fault {
                wrong.push(format!("{}: {fault:.600}, instead of {}", item.name, item.expect));
            }
            if took > PATIENCE {
                wrong.push(format!("{} takes {took:?}", item.name));
            }
            count += 1;
        }
    }
    let more = own_peak().saturating_sub(before);
    println!("scripts: {count} inputs, the slowest {slowest:?}; {} MiB more", more / 1024);
    assert!(more < MEMORY, "{} MiB more than before", more / 1024);
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Runs the same scripts as orders of a running engine, with orders of neighbours beside them. Returns their number.
pub(super) async fn run(watch: &mut Watch<'_>) -> usize {
    let engine = watch.engine;
    let mut orders = Vec::new();
    for (category, file) in files::<File>("scripts") {
        for (number, item) in file.items.iter().enumerate().filter(|(_, item)| item.expect != "fault") {
            let id = format!("{category}-{number}");
            engine.put_scenario(&id, &item.scenario(&id)).await.expect("a scenario");
            engine.accepted(json!({"id": id, "scenario": id, "params": file.params})).await;
            watch.accepted(&id, &["success", "fail"]);
            watch.canary(&item.name).await;
            orders.push((id, item.name.clone(), item.expect.clone(), item.result.clone()));
        }
    }
    for (id, name, expect, result) in &orders {
        let status = if expect == "success" { "success" } else { "fail" };
        match engine.wait_status(id, status, HOW_LONG).await {
            Err(error) => watch.wrong.push(format!("order of {name}: {error:.400}")),
            Ok(order) => {
                let class = order["error"]["class"].as_str().unwrap_or("unclassified");
                let as_demanded = expect == "success" || class == expect;
                if !as_demanded || result.as_ref().is_some_and(|result| *result != order["result"]) {
                    watch.wrong.push(format!("order of {name}: {:.400}", order["error"]));
                }
            }
        }
    }
    orders.len()
}
