//! Each situation under `examples/lab` with its bounds: the laboratory of DSP-15.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a test may panic, reads its files, and tells"
)]

use std::path::PathBuf;

use super::*;

/// Pictures are kept in the repository: bytes of one at most.
const MOST_OF_A_PICTURE: usize = 20_000;

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
    assert_documented(name, &plan, &run);
}

/// The documents show what this run showed. Of other rules they show what was measured when the page was written.
fn assert_documented(name: &str, plan: &LabPlan, run: &LabRun) {
    const STALE: &str = "run `pagurus lab examples/lab --report docs/laboratory.md`, or, where only pictures are stale, \
                         the tests with UPDATE_GENERATED=1";
    let docs = folder().join("../../docs");
    let drawn = picture(plan, run);
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        std::fs::write(docs.join(format!("pictures/lab/{name}.svg")), &drawn).unwrap();
    }
    assert!(drawn.len() < MOST_OF_A_PICTURE, "{name}: the picture has {} bytes", drawn.len());
    let shipped = std::fs::read_to_string(docs.join(format!("pictures/lab/{name}.svg"))).unwrap_or_default();
    assert!(drawn == shipped, "{name}: the picture is stale: {STALE}");
    assert!(!plan.shows.is_empty(), "{name} does not tell what its picture shows");
    let page = std::fs::read_to_string(docs.join("laboratory.md")).unwrap();
    let shows = |text: &str| assert!(page.contains(text), "{name}: no `{text}` in the page: {STALE}");
    shows(&format!("\n## {name}\n"));
    shows(&plan.about);
    shows(&plan.shows);
    run.figures.iter().for_each(|figure| shows(&row_of(figure)));
}

#[test]
fn dsp_15_the_report_says_where_another_rule_is_ahead_and_why() {
    let page = std::fs::read_to_string(folder().join("../../docs/laboratory.md")).unwrap();
    assert!(!page.contains(UNEXPLAINED), "a situation in which another rule is ahead has no `behind`");
    let pictures = std::fs::read_dir(folder().join("../../docs/pictures/lab")).unwrap();
    for picture in pictures {
        let name = picture.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned();
        assert!(
            folder().join(format!("{name}.yaml")).exists(),
            "the picture {name} has no situation any more"
        );
    }
}

#[test]
fn dsp_15_a_rule_is_ahead_where_it_is_better_in_one_figure_and_worse_in_none() {
    let run = |rule: &str, values: [Option<f64>; 2]| {
        let of = [Measure::Share, Measure::Back];
        let figures = of.into_iter().zip(values).map(|(of, value)| {
            let name = "stock".to_owned();
            let (from, until) = (std::time::Duration::ZERO, std::time::Duration::from_secs(9));
            LabFigure { bound: LabBound { of, name, from, until, bound: 0.9, missed: None }, value }
        });
        let figures = figures.collect();
        let nothing = Trace { systems: Vec::new(), names: Vec::new(), flows: Vec::new() };
        LabRun { rule: rule.to_owned(), figures, trace: nothing, forecasts: Vec::new() }
    };
    let plan = read(&std::fs::read_to_string(folder().join("outage.yaml")).unwrap()).unwrap();
    let page = |other: [Option<f64>; 2]| {
        let runs = vec![run("pagurus", [Some(0.95), Some(5.0)]), run("other", other)];
        let situation =
            Situation { name: "outage".to_owned(), plan: LabPlan { behind: None, ..plan.clone() }, runs };
        library(&[situation], "pictures")
    };
    let is_shown = |other| page(other).contains("| [outage](#outage) | other | (not explained) |");
    assert!(is_shown([Some(0.95), Some(3.0)]), "back sooner");
    assert!(is_shown([Some(0.99), Some(5.5)]), "more of the capacity, and a tie");
    assert!(!is_shown([Some(0.96), Some(5.9)]), "ties");
    assert!(!is_shown([Some(0.99), Some(7.0)]), "more of the capacity, and later");
    assert!(!is_shown([Some(0.99), None]), "never back");
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
fn dsp_15_two_servers() {
    check("two-servers");
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

/// Fewer orders than this say nothing of a situation.
const ENOUGH: u64 = 500;

/// Over all situations, each as much as the other, and over all orders, the promise of the far end holds. Within each it
/// holds for the orders whose system did not change between the promise and their start: the others nobody could foresee.
#[test]
fn ord_30_of_what_has_to_wait_nine_of_ten_start_when_it_was_foreseen() {
    let mut whole = Forecasts::default();
    let (mut covered, mut broken) = (Vec::new(), Vec::new());
    for file in std::fs::read_dir(folder()).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let run = run(&read(&std::fs::read_to_string(&path).unwrap()).unwrap());
        let all = run.forecasts.into_iter().sum::<Forecasts>();
        whole = [whole, all].into_iter().sum();
        if all.orders >= ENOUGH {
            let (name, foreseeable) = (path.file_stem().unwrap().to_string_lossy(), all.foreseeable());
            println!("{name}: {all:?}, {:.3}, foreseeable {:.3}", all.covered(), foreseeable.covered());
            covered.push(all.covered());
            if foreseeable.orders >= ENOUGH && foreseeable.covered() < 0.85 {
                broken.push(format!("{name}: {foreseeable:?}"));
            }
        }
    }
    let mean = covered.iter().sum::<f64>() / covered.len() as f64;
    println!("{whole:?}: {:.3} of orders, {mean:.3} of situations", whole.covered());
    assert!((0.85..=0.95).contains(&whole.covered()) && (0.85..=0.95).contains(&mean), "{whole:?} {mean}");
    assert!(broken.is_empty(), "{broken:#?}");
}

/// Half of the waits in queues end by the middle, more or less: the waits of others are not counted for each in front.
#[test]
fn ord_30_the_middle_of_waits_in_queues_is_near_the_middle() {
    let text = std::fs::read_to_string(folder().join("queues.yaml")).unwrap();
    let all = run(&read(&text).unwrap()).forecasts.into_iter().sum::<Forecasts>();
    let middle = all.by_p50 as f64 / all.orders as f64;
    assert!((0.3..=0.9).contains(&middle), "{all:?}");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(100))]

    #[test]
    fn dsp_15_qlt_8_no_change_of_a_situation_breaks_its_reader(
        at in proptest::arbitrary::any::<proptest::sample::Index>(), dropped in 0_usize..12,
        piece in "[\\[\\]{}:,&*!|>'\"#\n\t a-z0-9.-]{0,4}",
    ) {
        let file = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).min().unwrap();
        let mut letters: Vec<char> = std::fs::read_to_string(file).unwrap().chars().collect();
        let at = at.index(letters.len());
        let end = (at + dropped).min(letters.len());
        letters.splice(at..end, piece.chars());
        if let Err(faults) = read(&letters.into_iter().collect::<String>()) {
            proptest::prop_assert!(!faults.is_empty());
        }
    }
}

/// Two minutes away at four fifths of the load: eight minutes of a backlog that becomes less by a fifth of what ends.
#[test]
fn dsp_18_the_end_of_a_backlog_is_forecast_after_an_outage() {
    let plan = read(
        "title: A drain
duration: 900s
systems:
  stock: {servers: 20, queue: 20, takes: 100ms, changes: [{at: 60s, outage: refuses}, {at: 180s, outage: none}]}
flows:
  orders: {calls: stock, rate: 160}
bounds:
  - {measure: forecast, of: orders, from: 190s, until: 880s, bound: 0.7}
",
    );
    let figures = run(&plan.unwrap()).figures;
    assert!(figures[0].holds(), "{figures:?}");
}
