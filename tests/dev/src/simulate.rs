//! `./dev simulate`: whole orders through the rules of the engine, in virtual time and without servers. Builds for speed; the
//! few hundred seeds that every run of the tests makes are in `tests/simulation/tests`.

use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;

use pagurus_dev::build::{Profile, Targets, build};
use pagurus_dev::place;

/// Arguments for seeds.
#[derive(Clone, Copy, Debug, Args)]
pub struct Options {
    /// Seeds to run
    #[arg(long, default_value_t = 1000)]
    seeds: u64,
    /// Orders of each
    #[arg(long, default_value_t = 200)]
    orders: u64,
    /// The first seed; with `--seeds 1` its whole log is shown; left out: another each time
    #[arg(long)]
    seed: Option<u64>,
}

/// `./dev simulate`.
pub async fn command(options: Options) -> Result<()> {
    let root = place::root()?;
    let programs = build(&root, Profile::Release, Targets::Programs).await?;
    let seed = options.seed.unwrap_or_else(|| u64::from(rand::random::<u32>()));
    eprintln!("==> {} seeds from {seed} on, {} orders each", options.seeds, options.orders);
    let numbers = [("--seeds", options.seeds), ("--orders", options.orders), ("--seed", seed)]
        .map(|(key, value)| (key, value.to_string()));
    let mut command = Command::new(programs.join("pagurus-simulation"));
    numbers.iter().for_each(|(key, value)| {
        command.args([*key, value.as_str()]);
    });
    let status = command.status().context("cannot run the simulation")?;
    if !status.success() {
        bail!(
            "a seed fails: `./dev simulate --seed SEED --seeds 1 --orders {}` shows it again",
            options.orders
        );
    }
    Ok(())
}
