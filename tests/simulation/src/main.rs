//! `./dev simulate`: many seeds, and their outcomes.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use clap::Parser;
use pagurus_simulation::outcome::Outcome;
use pagurus_simulation::report::shrunk;
use pagurus_simulation::run::run;
use pagurus_simulation::scenarios::Deployment;

/// Run whole orders through the rules of the engine, in virtual time, with faults.
#[derive(Debug, Parser)]
struct Arguments {
    /// Seeds to run
    #[arg(long, default_value_t = 100)]
    seeds: u64,
    /// Orders of each
    #[arg(long, default_value_t = 200)]
    orders: usize,
    /// The first seed; one alone is shown in full
    #[arg(long)]
    seed: Option<u64>,
    /// Threads
    #[arg(long, default_value_t = 2)]
    threads: usize,
}

fn main() -> ExitCode {
    match simulate(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("simulate: {error}");
            ExitCode::FAILURE
        }
    }
}

fn simulate(arguments: &Arguments) -> Result<bool, String> {
    let deployment = Deployment::new()?;
    let first = arguments.seed.unwrap_or(1);
    if arguments.seed.is_some() && arguments.seeds == 1 {
        let outcome = run(first, arguments.orders, None, &deployment, true)?;
        print!("{outcome}");
        return Ok(outcome.is_good());
    }
    let begun = Instant::now();
    let next = AtomicU64::new(first);
    let all: Mutex<Vec<Outcome>> = Mutex::new(Vec::new());
    let failure: Mutex<Option<String>> = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..arguments.threads.max(1) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + arguments.seeds {
                        return;
                    }
                    match run(seed, arguments.orders, None, &deployment, false) {
                        Ok(outcome) => {
                            if let Ok(mut all) = all.lock() {
                                let keeps =
                                    if outcome.is_good() { Vec::new() } else { outcome.lines.clone() };
                                all.push(Outcome { lines: keeps, ..outcome });
                            }
                        }
                        Err(error) => {
                            if let Ok(mut failure) = failure.lock() {
                                *failure = Some(error);
                            }
                            return;
                        }
                    }
                }
            });
        }
    });
    if let Ok(Some(error)) = failure.into_inner() {
        return Err(error);
    }
    let outcomes = all.into_inner().unwrap_or_default();
    report(&outcomes, arguments, begun.elapsed().as_secs_f64());
    let Some(failed) = outcomes.iter().filter(|one| !one.is_good()).min_by_key(|one| one.seed) else {
        return Ok(true);
    };
    println!("\n{}", shrunk(failed.clone(), None, &deployment)?);
    Ok(false)
}

fn report(outcomes: &[Outcome], arguments: &Arguments, seconds: f64) {
    let stages: u64 = outcomes.iter().map(|one| one.size.0).sum();
    let hours: f64 = outcomes.iter().map(|one| one.size.1 as f64 / 3_600_000.0).sum();
    let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
    for (what, count) in outcomes.iter().flat_map(|one| &one.seen) {
        *seen.entry(what).or_default() += count;
    }
    println!(
        "{} seeds of {} orders: {stages} stages, {hours:.0} hours of virtual time, in {seconds:.1} s ({:.1} seeds a second)",
        outcomes.len(),
        arguments.orders,
        outcomes.len() as f64 / seconds.max(0.001)
    );
    for (what, count) in seen {
        println!("{count:>10}  {what}");
    }
    let mut failed: Vec<&Outcome> = outcomes.iter().filter(|one| !one.is_good()).collect();
    failed.sort_by_key(|one| one.seed);
    for one in &failed {
        println!("seed {} fails: {}", one.seed, one.violations[0]);
    }
    println!("{} of {} seeds fail", failed.len(), outcomes.len());
}
