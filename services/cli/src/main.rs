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
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<CommandLine, clap::Error> {
        CommandLine::try_parse_from(line.split_whitespace())
    }

    #[test]
    fn the_commands_fit_together() {
        CommandLine::command().debug_assert();
    }

    /// Lines that people type.
    const TYPED: &[&str] = &[
        "pagurus order submit --id a --scenario s --param k=v -p n:=1 --queue q --priority high --wait --json",
        "pagurus order submit --scenario s --params {} --notify-url amqp://?key=k --timeout 5s --wait",
        "pagurus order submit --scenario s --notify-url https://h/o --notify-on final,parked --notify-format cloudevents",
        "pagurus order submit --file - --wait --timeout 1h30m",
        "pagurus --server http://x:1 order list --status running --transaction-id t --limit 10 --all",
        "pagurus order restart a --from initial --params {} --reason because",
        "pagurus order clone a --new-id b --params {} --with {}",
        "pagurus order repair a --state s --vars {} --reason stuck",
        "pagurus order repair a --state s --action 2 --reason stuck",
        "pagurus order repair a --failed-action --reason mended",
        "pagurus order update a --priority high --start-at now --notify-url amqp://?key=k",
        "pagurus order dependencies a --depth 2",
        "pagurus order answer a confirmation --body {} --step-status k2 --reason lost",
        "pagurus notifications --limit 7 --cursor 1.1.final",
        "pagurus operation start restart --status fail --class http.5xx --reason mended --rate 50 --ramp 1:3 --stop-if-failed 0.2",
        "pagurus operation start update --with {} --queue q --status new --reason r --follow 2h --dry-run",
        "pagurus operation start cancel --id a --id b --ids-file ids.txt --reason r --yes --no-wait",
        "pagurus operations list --state running",
        "pagurus operation orders 7 --outcome failed --limit 5",
        "pagurus operation pause 7 --reason lunch",
        "pagurus operation again 7 --reason mended",
        "pagurus order list --attribute customer=7 --where customer.id=7 --created-since 2h --text refused --flow f",
        "pagurus order count --by class,state --status fail",
        "pagurus searches save broken --status fail --scenario s",
        "pagurus refused list --limit 7 --cursor 1 --status all --reason-type conflict --refused-before 7d",
        "pagurus refused show r",
        "pagurus refused replay r --body {} --key order.create --reason mended",
        "pagurus refused drop r s --reason nobody",
        "pagurus order steps a",
        "pagurus order tasks a",
        "pagurus audit --action restart --kind order --subject a --since 2h --limit 7",
        "pagurus audit verify --head 7:5f6c0f1a7d0b2c4e9a3d8b7c6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a1b0c9d8e7f --json",
        "pagurus audit export --kind flow --since 2h --file audit.ndjson",
        "pagurus order submit --scenario s --after a=done --after b=done,failed:cancel",
        "pagurus order watch a --timeout 10s",
        "pagurus order events a --after 3",
        "pagurus scenario check a.yaml b.yaml --config pagurus.yaml",
        "pagurus scenario test scenarios --json --story --server http://x:1",
        "pagurus scenario test scenarios --coverage --min 90",
        "pagurus scenario graph s@2 --format mermaid",
        "pagurus scenario diff old.yaml s@3",
        "pagurus scenario show s@1",
        "pagurus scenario migrate s --from 1 --to 2 --apply --reason fixed",
        "pagurus queues release q --reason stuck",
        "pagurus nodes leases",
        "pagurus nodes offline worker/w-1 --reason disk --wait --timeout 5m",
        "pagurus nodes online w-1 --reason back",
        "pagurus flows list tariff --state limited",
        "pagurus flows stop tariff --reason works --for 3h --resume --dry-run",
        "pagurus flows resume tariff --reason done",
        "pagurus flows resume --stop 7 --reason done",
        "pagurus orders shift --flow tariff --by 3h --reason works --dry-run",
        "pagurus order shift --undo 3 --reason earlier",
        "pagurus systems stop billing --reason works --for 1h",
        "pagurus windows add --flow tariff --from 2026-12-01T22:00:00Z --for 3h --shift --reason works --dry-run",
        "pagurus windows skip 3 --reason holidays",
        "pagurus subscriptions add audit --url amqp://?key=audit --scenario shop-* --label region=north --outcome fail --dry-run",
        "pagurus subscriptions resume audit --replay --reason mended",
        "pagurus subscriptions replay audit --from 2026-12-01T00:00:00Z --until 2026-12-02T00:00:00Z --reason lost",
        "pagurus schedules run nightly --at 2026-12-01T03:00:00Z --reason missed",
        "pagurus leases resign dispatcher --reason stuck",
        "pagurus errors --by state --since 2h --limit 10 --cursor 50",
        "pagurus callbacks --verdict orphan --since 2h --limit 7 --json",
        "pagurus classify --config pagurus.yaml --path /a --status 503 --body x --scenario s --json",
        "pagurus classify --path /a --exception ConnectError --message refused",
        "pagurus classify --scenario-file s.yaml --path /a --status 503",
        "pagurus classify --path /a --method POST --host h:1 --timeout",
        "pagurus classify --amqp %2F?exchange=a&key=b --step-status k2 --body x --why",
        "pagurus config show --defaults",
        "pagurus config show --server http://x:1",
        "pagurus lab outage.yaml --out report.html --compare --json",
        "pagurus dev --listen 127.0.0.1:8081",
    ];

    #[test]
    fn what_people_type_is_understood() {
        for line in TYPED {
            parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        }
    }

    #[test]
    fn what_is_printed_for_editors_and_readers_is_asked_for() {
        let more = ["manual target/man", "completions bash", "health --url http://127.0.0.1:1/healthz"];
        for line in ["schema scenario", "schema tests", "schema configuration"].into_iter().chain(more) {
            assert!(parse(&format!("pagurus {line}")).is_ok(), "{line}");
        }
        assert!(parse("pagurus schema order").is_err());
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for line in [
            "pagurus order submit",
            "pagurus order submit --id a",
            "pagurus order submit --file x --scenario s",
            "pagurus order submit --file x --param a=b",
            "pagurus order submit --scenario s --param alone",
            "pagurus order submit --scenario s --mode sideways",
            "pagurus order submit --scenario s --timeout 5s",
            "pagurus order list --status asleep",
            "pagurus order repair a --state s",
            "pagurus order repair a --action 2 --reason r",
            "pagurus order repair a --state s --failed-action --reason r",
            "pagurus order update a --priority urgent",
            "pagurus order submit --scenario s --after alone",
            "pagurus order list --limit 501",
            "pagurus scenario check",
            "pagurus scenario test",
            "pagurus scenario show s@x",
            "pagurus scenario graph s --format png",
            "pagurus scenario migrate s --from 1",
            "pagurus errors --by node",
            "pagurus errors restart --class c",
            "pagurus errors --class c restart --reason r",
            "pagurus errors --limit 501",
            "pagurus callbacks --verdict early",
            "pagurus callbacks --limit 0",
            "pagurus classify --status 503",
            "pagurus classify --path /a --amqp /a --timeout",
            "pagurus classify --path /a --status 503 --timeout",
            "pagurus classify --path /a --status 503 --scenario s --scenario-file s.yaml",
            "pagurus classify --path /a --status 99",
            "pagurus classify --path /a --message alone",
            "pagurus queues release q",
            "pagurus nodes offline w-1",
            "pagurus nodes offline w-1 --reason disk --timeout 5m",
            "pagurus dev --listen here",
            "pagurus serve --roles worker,nobody",
        ] {
            let error = parse(line).unwrap_err();
            assert_eq!(error.exit_code(), i32::from(failure::USAGE), "{line}");
        }
    }

    #[test]
    fn a_server_that_the_command_line_names_is_distinguished_from_the_usual_one() {
        let source = |line: &str| {
            let matches = CommandLine::command().get_matches_from(line.split_whitespace());
            matches.value_source("server") == Some(ValueSource::CommandLine)
        };
        assert!(source("pagurus config show --server http://x:1"));
        assert!(source("pagurus --server http://x:1 config show"));
        assert!(!source("pagurus config show"));
    }

    #[test]
    fn help_lists_the_exit_codes() {
        let help = CommandLine::command().render_help().to_string();
        for code in [
            failure::FAILED,
            failure::USAGE,
            failure::REFUSED,
            failure::NOT_FOUND,
            failure::AWAY,
            failure::NOT_YET,
        ] {
            assert!(help.contains(&format!("\n  {code}  ")), "{code} in\n{help}");
        }
    }

    #[test]
    fn completions_name_the_commands() {
        let mut script = Vec::new();
        clap_complete::generate(Shell::Bash, &mut CommandLine::command(), "pagurus", &mut script);
        assert!(String::from_utf8(script).unwrap().contains("submit"));
    }
}
