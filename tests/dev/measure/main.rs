//! The program of `./dev bench` and `./dev soak`: all that is measured, and all that is broken on purpose for long.
//! Never uses the engine from inside: what it can do with the program of the engine, anybody can.

mod bench;
mod soak;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Measure Pagurus from this checkout.
#[derive(Debug, Parser)]
#[command(bin_name = "./dev", disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the benchmarks
    Bench(bench::Options),
    /// A mixed load and random faults for minutes or hours, with one table of what was seen at its end
    Soak(soak::Options),
    /// The hand-written pipeline that the benchmarks measure beside the engine
    #[command(hide = true)]
    Limit(bench::limit::Options),
}

#[tokio::main]
async fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Bench(options) => bench::command(options).await,
        Command::Soak(options) => soak::command(options).await,
        Command::Limit(options) => bench::limit::serve(options).await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dev: {error:#}");
            ExitCode::FAILURE
        }
    }
}
