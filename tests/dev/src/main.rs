//! The tool behind `./dev`: everything that a person or a build server does with this checkout.
//! Never uses the engine from inside: what it can do with the program of the engine, anybody can.

mod capacity;
mod check;
mod demo;
mod down;
mod measure;
mod memory;
mod node;
mod package;
mod pages;
mod quick;
mod random;
mod run;
mod servers;
mod simulate;
mod story;
mod test;
mod up;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use pagurus_dev::build::Profile;

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
    /// Start everything, and check, test and apply the scenarios of a folder whenever their files change, until Ctrl-C
    Write(run::WriteOptions),
    /// Start everything in the background; returns when all is ready
    Up(up::Options),
    /// End what `up` started
    Down,
    /// Add or end one node (or a private server: `postgres postgres`, `rabbitmq rabbitmq`)
    #[command(subcommand)]
    Node(node::Command),
    /// Run all tests with private servers; arguments go to the test runner
    Test(test::Options),
    /// Send thousands of strange inputs over every transport, with orders of others between them
    Fuzz(random::Fuzz),
    /// Break servers, networks and processes at random under load, and check what is promised
    Storm(random::Storm),
    /// Run whole orders through the rules in virtual time, with crashes and lost messages, many seeds
    Simulate(simulate::Options),
    /// A mixed load and random faults for minutes or hours, with one table of what was seen at its end
    Soak(measure::Words),
    /// Format, lints, and the unit tests of what was changed and of what needs it; no servers
    Quick(quick::Options),
    /// Format, lints, documentation, architecture rules, dependencies
    Check,
    /// Bundle the pages of the control centre
    Pages,
    /// Build the documentation as a site, with every link checked
    Docs,
    /// Make a Debian package, a tarball, the files of the image, and the list of what is built in
    Package(package::Options),
    /// Run the benchmarks
    Bench(measure::Words),
    /// The demo system that example scenarios call
    #[command(hide = true)]
    Demo(demo::Options),
}

#[tokio::main]
async fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Run(options) => run::run(options).await,
        Command::Write(options) => run::write(options).await,
        Command::Up(options) => up::command(options).await,
        Command::Down => down::command().await,
        Command::Node(command) => node::command(command).await,
        Command::Test(options) => test::command(options).await,
        Command::Fuzz(options) => random::fuzz(options).await,
        Command::Storm(options) => random::storm(options).await,
        Command::Simulate(options) => simulate::command(options).await,
        Command::Soak(options) => measure::command("soak", Profile::Dev, options).await,
        Command::Quick(options) => quick::command(&options),
        Command::Check => check::command().await,
        Command::Pages => pages::command().await,
        Command::Docs => pages::docs().await,
        Command::Package(options) => package::command(options).await,
        Command::Bench(options) => measure::command("bench", Profile::Release, options).await,
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
