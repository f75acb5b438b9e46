//! `pagurus lab --random`: many situations drawn from seeds, on all cores, and the distribution of each measure.

use std::path::Path;

use pagurus_workbench::lab::{self, RandomFigures, RandomMeasure, RandomSituation};
use serde_json::{Map, Value, json};

use super::{on_all_cores, write};
use crate::failure::CliError;
use crate::screen::Screen;

/// Runs situations from a first seed on, and writes what came out.
pub(super) fn run(
    count: u64,
    first: u64,
    is_compared: bool,
    out: Option<&Path>,
    screen: &Screen,
) -> Result<(), CliError> {
    let seeds: Vec<u64> = (first..first.saturating_add(count)).collect();
    let situations = on_all_cores(&seeds, screen, |seed| lab::judge_random(*seed, is_compared))?;
    if let Some(out) = out {
        write(out, &lab::random_page(&situations))?;
    }
    if screen.json {
        for situation in &situations {
            screen.value(&value(situation))?;
        }
    } else if out.is_none() {
        screen.line(&lab::random_page(&situations))?;
    }
    Ok(())
}

fn value(situation: &RandomSituation) -> Value {
    let rules = situation.runs.iter().map(
        |run| json!({"rule": run.rule, "systems": run.systems.iter().map(figures).collect::<Vec<Value>>()}),
    );
    json!({"seed": situation.seed, "about": situation.about, "rules": rules.collect::<Vec<Value>>()})
}

fn figures(its: &RandomFigures) -> Value {
    let measured = |measure: &RandomMeasure| {
        its.of(*measure).map(|value| (measure.as_str().to_owned(), Value::from(value)))
    };
    RandomMeasure::ALL.iter().filter_map(measured).collect::<Map<String, Value>>().into()
}
