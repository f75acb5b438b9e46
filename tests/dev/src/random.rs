//! `./dev fuzz` and `./dev storm`: the random tests that every run of the tests makes, with more of everything
//! and another seed each time.

use anyhow::Result;
use clap::Args;

use crate::test;

/// Arguments for strange inputs.
#[derive(Clone, Copy, Debug, Args)]
pub struct Fuzz {
    /// Strange inputs to send
    #[arg(long, default_value_t = 5000)]
    inputs: u64,
    /// Seed of the inputs; the same seed sends the same; left out: another each time
    #[arg(long)]
    seed: Option<u64>,
}

/// Arguments for random faults.
#[derive(Clone, Copy, Debug, Args)]
pub struct Storm {
    /// Windows in which something is broken
    #[arg(long, default_value_t = 40)]
    windows: u64,
    /// Seed of the faults; left out: another each time
    #[arg(long)]
    seed: Option<u64>,
}

/// `./dev fuzz`.
pub async fn fuzz(options: Fuzz) -> Result<()> {
    run("FUZZ", "INPUTS", options.inputs, options.seed, "test(fuzz::)").await
}

/// `./dev storm`.
pub async fn storm(options: Storm) -> Result<()> {
    run("STORM", "WINDOWS", options.windows, options.seed, "test(storm::)").await
}

async fn run(what: &str, unit: &str, count: u64, seed: Option<u64>, filter: &str) -> Result<()> {
    let seed = seed.unwrap_or_else(rand::random);
    eprintln!("==> {what}: {count} {unit} of seed {seed}");
    let environment = vec![
        (format!("PAGURUS_{what}_{unit}"), count.to_string()),
        (format!("PAGURUS_{what}_SEED"), seed.to_string()),
    ];
    test::command(test::Options::printing(filter, environment)).await
}
