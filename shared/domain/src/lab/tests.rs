//! Each situation under `examples/lab` with its bounds: the laboratory of DSP-15.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a test may panic, reads its files, and tells"
)]

use std::path::PathBuf;

use super::*;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/lab")
}

fn check(name: &str) {
    let text = std::fs::read_to_string(folder().join(format!("{name}.yaml"))).unwrap();
    let plan = read(&text).unwrap_or_else(|faults| panic!("{name}: {faults:?}"));
    assert!(!plan.bounds.is_empty(), "{name} has no bound");
    let run = run(&plan);
    let mut broken = Vec::new();
    for figure in &run.figures {
        let bound = &figure.bound;
        let line = format!("{} of {} is {:?}, bound {}", bound.of, bound.name, figure.value, bound.bound);
        println!("{name}: {line}");
        if figure.holds() == bound.missed.is_some() {
            broken.push(line);
        }
    }
    assert!(broken.is_empty(), "{name}: {broken:#?}");
}

#[test]
fn dsp_15_step_degradation() {
    check("step-degradation");
}

#[test]
fn dsp_15_slower_service() {
    check("slower-service");
}

#[test]
fn dsp_15_slower_service_and_has_a_short_queue() {
    check("slower-and-full");
}

#[test]
fn dsp_15_slow_leak() {
    check("slow-leak");
}

#[test]
fn dsp_15_outage() {
    check("outage");
}

#[test]
fn dsp_15_hanging() {
    check("hanging");
}

#[test]
fn dsp_15_flapping() {
    check("flapping");
}

#[test]
fn dsp_16_flows_by_weight() {
    check("weights");
}

#[test]
fn dsp_15_herd() {
    check("herd");
}

#[test]
fn dsp_15_batch_and_small() {
    check("batch-and-small");
}

#[test]
fn dsp_15_slow_and_fast() {
    check("slow-and-fast");
}

#[test]
fn dsp_15_two_flows() {
    check("two-flows");
}

#[test]
fn dsp_15_thousand_flows() {
    check("thousand-flows");
}

#[test]
fn dsp_15_few_of_many() {
    check("few-of-many");
}

#[test]
fn dsp_15_queues() {
    check("queues");
}

#[test]
fn dsp_15_seconds_and_hours() {
    check("seconds-and-hours");
}

#[test]
fn dsp_15_asynchronous() {
    check("asynchronous");
}

#[test]
fn dsp_15_retry_after() {
    check("retry-after");
}

#[test]
fn dsp_15_lost_samples() {
    check("lost-samples");
}

#[test]
fn dsp_15_take_over() {
    check("take-over");
}

#[test]
fn dsp_15_priorities() {
    check("priorities");
}

#[test]
fn dsp_15_business_failures() {
    check("business-failures");
}

#[test]
fn dsp_15_slow_overload() {
    check("slow-overload");
}

#[test]
fn dsp_15_no_queue() {
    check("no-queue");
}

/// Situations differ: where a system gets slower all the time the far end comes too early, where it recovers too late.
/// Over all of them, each as much as the other, and over all orders, the promise of the far end holds.
#[test]
fn ord_30_of_what_has_to_wait_nine_of_ten_start_when_it_was_told() {
    let mut whole = Foretold::default();
    let mut covered = Vec::new();
    for file in std::fs::read_dir(folder()).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let run = run(&read(&std::fs::read_to_string(&path).unwrap()).unwrap());
        let mut all = Foretold::default();
        for Foretold { told, by_p50, by_p90 } in run.foretold {
            all.told += told;
            all.by_p50 += by_p50;
            all.by_p90 += by_p90;
        }
        whole.told += all.told;
        whole.by_p50 += all.by_p50;
        whole.by_p90 += all.by_p90;
        if all.told > 0 {
            println!("{}: {all:?}, {:.3}", path.display(), all.covered());
            covered.push(all.covered());
        }
    }
    let mean = covered.iter().sum::<f64>() / covered.len() as f64;
    println!("{whole:?}: {:.3} of orders, {mean:.3} of situations", whole.covered());
    assert!((0.85..=0.95).contains(&whole.covered()) && (0.85..=0.95).contains(&mean), "{whole:?} {mean}");
}
