//! `pagurus`, the command line for people: commands, and exit codes that scripts can use.
//!
//! Whatever the API can do goes through the API. Only `serve` and `dev` start services, only `migrate` and `recover` open
//! the database.

mod access;
mod actors;
mod audit;
mod bench;
mod callbacks;
mod classify;
mod client;
mod config;
mod dev;
mod doctor;
#[cfg(test)]
mod documented;
mod errors;
mod examples;
mod failure;
mod failure_text;
mod flows;
mod health;
mod input;
mod lab;
mod leases;
mod list;
mod manual;
mod migrate;
mod nodes;
mod notifications;
mod operation;
mod order;
mod queues;
mod recover;
mod refused;
mod scenario;
mod schedules;
mod schema;
mod screen;
mod search;
mod serve;
mod subscriptions;
mod systems;
mod top;
mod topology;
mod watch;
mod windows;

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::parser::ValueSource;
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use clap_complete::Shell;
use pagurus_domain::id::Role;
use pagurus_scenario::script::STACK_BYTES;
use tokio::runtime::Runtime;

use client::ApiClient;
use failure::CliError;
use notifications::NOTIFICATIONS;
use screen::{Output, Screen};

const EXIT_CODES: &str = "\
Exit codes:
  0  done; an order that was followed ended in `success`
  1  failed: the input is invalid, or something else went wrong; a followed order ended otherwise
  2  the command line is invalid
  3  refused: the present status does not allow it, or another order has the id
  4  not found: no such order, scenario, flow, …
  5  the server does not answer, or is too busy: the same command may succeed later
  6  --timeout has passed; the order, or the call, goes on";

/// Talk to a Pagurus server, or run one
#[derive(Debug, Parser)]
#[command(name = "pagurus", version, after_help = EXIT_CODES, max_term_width = 100)]
struct CommandLine {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// Options that every command understands.
#[derive(Debug, Args)]
struct Global {
    /// Address of the API
    #[arg(
        long,
        global = true,
        help_heading = "Global options",
        env = "PAGURUS_SERVER",
        default_value = "http://127.0.0.1:8080",
        value_name = "URL"
    )]
    server: String,
    /// File with your access token [default: the token in PAGURUS_TOKEN, if set]
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        env = "PAGURUS_TOKEN_FILE",
        help_heading = "Global options"
    )]
    token_file: Option<PathBuf>,
    /// True if the command line names it, and not only the environment
    #[arg(skip)]
    names_server: bool,
    /// Output format
    #[arg(long, short, global = true, value_enum, value_name = "FORM", help_heading = "Global options")]
    output: Option<Output>,
    /// The same as --output json
    #[arg(long, global = true, conflicts_with = "output", help_heading = "Global options")]
    json: bool,
    /// Repeat the command every SECONDS until interrupted; only for commands that change nothing
    #[arg(long, global = true, value_name = "SECONDS", value_parser = seconds, help_heading = "Global options")]
    watch: Option<Duration>,
    /// Configuration file, for commands that work without the API; PAGURUS__… variables override it
    #[arg(long, global = true, value_name = "FILE", help_heading = "Global options")]
    config: Option<PathBuf>,
}

impl Global {
    /// The token; empty if there is none. No option takes it, because lists of processes show options.
    fn token(&self) -> Result<String, CliError> {
        let token = match &self.token_file {
            Some(file) => input::text_of(file)?,
            None => std::env::var("PAGURUS_TOKEN").unwrap_or_default(),
        };
        Ok(token.trim().to_owned())
    }

    /// Output form of a command line.
    fn output(&self) -> Output {
        if self.json { Output::Json } else { self.output.unwrap_or_default() }
    }
}

/// Shortest pause between two looks.
const LEAST_PAUSE: f64 = 0.2;
/// Longest pause between two looks.
const LONGEST_PAUSE: f64 = 86_400.0;

/// A pause, as `--watch` takes it.
fn seconds(text: &str) -> Result<Duration, String> {
    let fault = || format!("write a number of seconds, at least {LEAST_PAUSE}");
    let seconds: f64 = text.parse().map_err(|_| fault())?;
    let is_pause = (LEAST_PAUSE..=LONGEST_PAUSE).contains(&seconds);
    if is_pause { Ok(Duration::from_secs_f64(seconds)) } else { Err(fault()) }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Register, show, follow and stop orders
    #[command(subcommand, visible_alias = "orders")]
    Order(order::Command),
    /// Check, apply and show scenarios
    #[command(subcommand)]
    Scenario(scenario::Command),
    /// Show flows, and stop and resume them by hand
    #[command(subcommand)]
    Flows(flows::Command),
    /// Show called systems, and stop or open them by hand
    #[command(subcommand)]
    Systems(systems::Command),
    /// Show actors: programs outside that decide tasks of orders
    #[command(subcommand)]
    Actors(actors::Command),
    /// Show and change subscriptions: standing receivers of notifications
    #[command(subcommand)]
    Subscriptions(subscriptions::Command),
    /// Show and plan maintenance windows of flows and called systems
    #[command(subcommand)]
    Windows(windows::Command),
    /// Show, apply, pause and run schedules: orders at planned times
    #[command(subcommand)]
    Schedules(schedules::Command),
    /// Show leases, and make the active dispatcher step down
    #[command(subcommand)]
    Leases(leases::Command),
    /// Show and release queues of sequential orders
    #[command(subcommand)]
    Queues(queues::Command),
    /// Show nodes and leases; take nodes out of service and put them back
    #[command(subcommand)]
    Nodes(nodes::Command),
    /// Show failed and retrying orders in groups, with their counts over time, and act on a group
    Errors(Box<errors::Arguments>),
    /// Act on many orders in the background; watch, pause and resume the operation
    #[command(subcommand, visible_alias = "operations")]
    Operation(operation::Command),
    /// List, save and remove saved searches
    #[command(subcommand)]
    Searches(search::Command),
    /// List callbacks, including late, repeated and unexpected ones
    Callbacks(callbacks::Arguments),
    /// List parked notifications, which are sent again only by hand
    Notifications(notifications::Arguments),
    /// Show, resend and drop refused messages, which can never be handled as they are
    #[command(subcommand)]
    Refused(refused::Command),
    /// Make and revoke tokens, list and end sessions, and explain why a person has a role
    #[command(subcommand)]
    Access(access::Command),
    /// Show the audit log: who did what, when and why; verify and export it
    Audit(audit::Arguments),
    /// Show rates, backlogs, flows, systems and nodes, refreshed every two seconds
    Top(top::Arguments),
    /// Diagnose servers, nodes and backlog: what is wrong, and what to do; exit code 0 or 1
    Doctor(doctor::Arguments),
    /// Show which rule, class and policy apply to a failure, by --config or by the server
    Classify(classify::Arguments),
    /// Check and show the configuration without a server; with --server, show the version that a process runs
    #[command(subcommand)]
    Config(config::Command),
    /// Simulate the dispatcher in virtual time with the flows and called systems of a file, without a server
    Lab(lab::Arguments),
    /// Load an installation with real orders of one scenario, and measure how soon they are accepted and end
    Bench(bench::Arguments),
    /// Bring the database schema up to date; with --roles, also make a database user for each service
    Migrate(migrate::Arguments),
    /// Prepare a database restored from a backup, before the services start: raise all numbers above those given since
    Recover(recover::Arguments),
    /// Print the exchanges, queues and users that the engine needs in RabbitMQ, as definitions.json
    Topology {
        /// Prefix of all names
        #[arg(long, default_value = "pagurus")]
        prefix: String,
    },
    /// Print the JSON Schema of a kind of file, for completion and checks in editors
    Schema {
        /// The kind of file
        file: schema::File,
    },
    /// Query a health probe; exit code 0 or 1, for health checks of containers
    Health {
        /// URL of the probe [default: /readyz of the server]
        #[arg(long)]
        url: Option<String>,
    },
    /// Run services in this process: all five, or those of some roles
    Serve(serve::Arguments),
    /// Run all five services in this process, for development
    Dev {
        /// Address of the API [default: node.listen, or 127.0.0.1:8080, or any free port]
        #[arg(long, value_name = "ADDRESS")]
        listen: Option<SocketAddr>,
        /// Check, test and apply the scenarios in this folder whenever their files change
        #[arg(long, value_name = "FOLDER")]
        scenarios: Option<PathBuf>,
    },
    /// Write the manual pages of all commands into FOLDER/man1
    Manual {
        /// The folder
        #[arg(value_name = "FOLDER")]
        into: PathBuf,
    },
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
}

fn main() -> ExitCode {
    // Commands check and try scenarios, and the main thread has the stack that the shell gave it.
    let command = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(on_own_stack);
    match command.map(std::thread::JoinHandle::join) {
        Ok(Ok(code)) => code,
        // It has reported itself.
        Ok(Err(_)) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("pagurus: no thread could be started: {error}");
            ExitCode::FAILURE
        }
    }
}

fn on_own_stack() -> ExitCode {
    let matches = examples::with_examples(CommandLine::command()).get_matches();
    let read = || CommandLine::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let CommandLine { mut global, command } = read();
    global.names_server = matches.value_source("server") == Some(ValueSource::CommandLine);
    let screen = Screen::new(global.output());
    let outcome = match global.watch {
        None => block_on(threads(&command), run(command, &global, &screen)),
        Some(_) if !watch::only_shows(&command) => Err(CliError::Usage(
            "--watch is for commands that only show something, like `order list`".to_owned(),
        )),
        Some(pause) => {
            let turn = |screen| {
                let (command, global) = (read().command, &global);
                async move { run(command, global, &screen).await }
            };
            block_on(threads(&command), watch::run(pause, &screen, turn))
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure_text::show(&failure, &screen);
            ExitCode::from(failure.code())
        }
    }
}

async fn run(command: Command, global: &Global, screen: &Screen) -> Result<(), CliError> {
    let client = || ApiClient::new(&global.server)?.with_token(&global.token()?);
    let config = global.config.as_deref();
    match command {
        Command::Order(command) => order::run(command, &client()?, screen).await,
        Command::Scenario(scenario::Command::Check { files, strict }) => {
            scenario::check(&files, strict, config, screen)
        }
        Command::Scenario(scenario::Command::Test { files, wanted }) if global.names_server => {
            scenario::test_there(&files, &wanted, &client()?, screen).await
        }
        Command::Scenario(scenario::Command::Test { files, wanted }) => {
            scenario::test(&files, &wanted, config, screen)
        }
        Command::Scenario(command) => scenario::run(command, &client()?, config, screen).await,
        Command::Queues(command) => queues::run(command, &client()?, screen).await,
        Command::Flows(command) => flows::run(command, &client()?, screen).await,
        Command::Actors(command) => actors::run(command, &client()?, screen).await,
        Command::Systems(command) => systems::run(command, &client()?, screen).await,
        Command::Subscriptions(command) => subscriptions::run(command, &client()?, screen).await,
        Command::Windows(command) => windows::run(command, &client()?, screen).await,
        Command::Schedules(command) => schedules::run(command, &client()?, screen).await,
        Command::Leases(command) => leases::run(command, &client()?, screen).await,
        Command::Nodes(command) => nodes::run(command, &client()?, screen).await,
        Command::Errors(arguments) => errors::run(*arguments, &client()?, screen).await,
        Command::Callbacks(arguments) => callbacks::run(&arguments, &client()?, screen).await,
        Command::Notifications(arguments) => NOTIFICATIONS.page(&arguments, &client()?, screen).await,
        Command::Operation(command) => operation::run(command, &client()?, screen).await,
        Command::Searches(command) => search::run(command, &client()?, screen).await,
        Command::Refused(command) => refused::run(&command, &client()?, screen).await,
        Command::Access(command) => access::run(command, &client()?, screen).await,
        Command::Audit(arguments) => audit::run(&arguments, &client()?, screen).await,
        Command::Classify(arguments) if arguments.is_offline(config) => {
            classify::offline(&arguments, config, screen)
        }
        Command::Classify(arguments) => classify::online(&arguments, &client()?, screen).await,
        Command::Config(config::Command::Show { defaults: false }) if global.names_server => {
            config::show_running(&client()?, screen).await
        }
        Command::Config(command) => config::run(command, config, screen),
        Command::Top(arguments) => top::run(&arguments, &client()?, screen).await,
        Command::Doctor(arguments) => doctor::run(&arguments, &client()?, screen).await,
        Command::Bench(arguments) => bench::run(&arguments, &client()?, screen).await,
        Command::Lab(arguments) => lab::run(&arguments, screen),
        Command::Migrate(arguments) => migrate::run(&arguments, config, screen).await,
        Command::Recover(arguments) => recover::run(&arguments, config, screen).await,
        Command::Topology { prefix } => topology::run(&prefix, screen),
        Command::Schema { file } => schema::run(file, screen),
        Command::Manual { into } => manual::write(&into),
        Command::Health { url } => health::run(url.as_deref(), &global.server, screen).await,
        Command::Serve(arguments) => serve::run(&arguments, config).await,
        Command::Dev { listen, scenarios } => dev::run(config, listen, scenarios, screen).await,
        Command::Completions { shell } => completions(shell, screen),
    }
}

/// The threads on which a command runs: of services as many as their roles need.
fn threads(command: &Command) -> std::io::Result<Runtime> {
    match command {
        Command::Serve(arguments) => pagurus_runtime::threads(arguments.roles()),
        _ => pagurus_runtime::threads(Role::ALL),
    }
}

fn block_on(
    threads: std::io::Result<Runtime>,
    command: impl Future<Output = Result<(), CliError>>,
) -> Result<(), CliError> {
    threads.map_err(anyhow::Error::from)?.block_on(command)
}

fn completions(shell: Shell, screen: &Screen) -> Result<(), CliError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut CommandLine::command(), "pagurus", &mut script);
    screen.line(String::from_utf8_lossy(&script).trim_end())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests;
