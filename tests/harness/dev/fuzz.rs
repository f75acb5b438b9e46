//! `./dev fuzz`: strange inputs over every door, with orders of others between them. The same test that
//! every run of the tests makes, with more inputs.

use anyhow::Result;
use clap::Args;

use crate::test;

/// Arguments for the fuzzer.
#[derive(Clone, Copy, Debug, Args)]
pub struct Options {
    /// Strange inputs to send
    #[arg(long, default_value_t = 5000)]
    inputs: u64,
    /// Where the inputs come from; the same seed sends the same; left out: another each time
    #[arg(long)]
    seed: Option<u64>,
}

/// `./dev fuzz`.
pub async fn command(options: Options) -> Result<()> {
    let seed = options.seed.unwrap_or_else(rand::random);
    eprintln!("==> {} inputs of seed {seed}", options.inputs);
    let environment =
        vec![("PAGURUS_FUZZ_INPUTS", options.inputs.to_string()), ("PAGURUS_FUZZ_SEED", seed.to_string())];
    test::command(test::Options::told("test(fuzz::)", environment)).await
}
