//! The tool behind `./dev`: everything that a person or a build server does with this checkout.
//! Never uses the engine from inside: what it can do with the program of the engine, anybody can.

#[path = "dev/bench.rs"]
mod bench;
#[path = "dev/build.rs"]
mod build;
#[path = "dev/capacity.rs"]
mod capacity;
#[path = "dev/check.rs"]
mod check;
#[path = "dev/demo.rs"]
mod demo;
#[path = "dev/down.rs"]
mod down;
#[path = "dev/node.rs"]
mod node;
#[path = "dev/package.rs"]
mod package;
#[path = "dev/place.rs"]
mod place;
#[path = "dev/quick.rs"]
mod quick;
#[path = "dev/random.rs"]
mod random;
#[path = "dev/run.rs"]
mod run;
#[path = "dev/servers.rs"]
mod servers;
#[path = "dev/simulate.rs"]
mod simulate;
#[path = "dev/soak.rs"]
mod soak;
#[path = "dev/stages.rs"]
mod stages;
#[path = "dev/story.rs"]
mod story;
#[path = "dev/test.rs"]
mod test;
#[path = "dev/up.rs"]
mod up;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Run, test and check Pagurus from this checkout.
#[derive(Debug, Parser)]
#[command(name = "./dev", disable_help_subcommand = false)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start everything, submit demo orders, tell their story, and stay up until Ctrl-C
    Run(run::Options),
    /// Start everything in the background; returns when all is ready
    Up(up::Options),
    /// End what `up` started
    Down,
    /// Add or end one node (or a private server: `postgres postgres`, `rabbitmq rabbitmq`)
    #[command(subcommand)]
    Node(node::Command),
    /// Run all tests with private servers; arguments go to the test runner
    Test(test::Options),
    /// Send thousands of strange inputs over every door, with orders of others between them
    Fuzz(random::Fuzz),
    /// Break servers, networks and processes at random under load, and check what is promised
    Storm(random::Storm),
    /// Run whole orders through the rules in virtual time, with crashes and lost messages, many seeds
    Simulate(simulate::Options),
    /// A mixed load and random faults for minutes or hours, with one table of what was seen at its end
    Soak(soak::Options),
    /// Format, lints, and the unit tests of what was changed and of what needs it; no servers
    Quick(quick::Options),
    /// Format, lints, documentation, architecture rules, dependencies
    Check,
    /// Make a Debian package, a tarball, the files of the image, and the list of what is built in
    Package(package::Options),
    /// Run the benchmarks
    Bench(bench::Options),
    /// The demo system that example scenarios call
    #[command(hide = true)]
    Demo(demo::Options),
    /// The hand-written pipeline that the benchmarks measure beside the engine
    #[command(hide = true)]
    Limit(bench::limit::Options),
}

#[tokio::main]
async fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Run(options) => run::run(options).await,
        Command::Up(options) => up::command(options).await,
        Command::Down => down::command().await,
        Command::Node(command) => node::command(command).await,
        Command::Test(options) => test::command(options).await,
        Command::Fuzz(options) => random::fuzz(options).await,
        Command::Storm(options) => random::storm(options).await,
        Command::Simulate(options) => simulate::command(options).await,
        Command::Soak(options) => soak::command(options).await,
        Command::Quick(options) => quick::command(&options),
        Command::Check => check::command(),
        Command::Package(options) => package::command(options).await,
        Command::Bench(options) => bench::command(options).await,
        Command::Limit(options) => bench::limit::serve(options).await,
        Command::Demo(options) => demo::serve(options).await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dev: {error:#}");
            ExitCode::FAILURE
        }
    }
}
