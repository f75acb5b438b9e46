//! `./dev test`: private servers, a build, all tests, and nothing left running.
//! Never uses the servers of `./dev up`: both can run side by side.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use clap::Args;
use pagurus_harness::ports::{Owner, Ports};
use pagurus_harness::postgres::{self, Postgres, Stop};
use pagurus_harness::process::{Identity, Signal};
use pagurus_harness::rabbit::{self, Rabbit};
use pagurus_harness::{npm, packages, venv};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::task::AbortOnDropHandle;

use pagurus_dev::build::{MEASURE, Profile, Targets, build, command as cargo};
use pagurus_dev::place::root;
use pagurus_dev::stages::Stages;

use crate::{memory, pages};

/// Arguments for the test runner.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// Passed on to the test runner, such as the name of a test
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
    /// Environment of the tests, besides what the run sets.
    #[arg(skip)]
    environment: Vec<(String, String)>,
}

impl Options {
    /// Options to run these tests and print their output.
    pub fn printing(filter: &str, environment: Vec<(String, String)>) -> Self {
        let arguments = ["--no-capture", "-E", filter].map(str::to_owned).to_vec();
        Self { arguments, environment }
    }
}

/// Stages after the build of the tool.
const STAGES: [&str; 2] = ["programs and tests, and beside them packages and servers", "tests"];

/// Name of the migrated database that those of the tests are copied from.
const TEMPLATE: &str = "pagurus_template";
/// The time in which the test runner ends its tests after Ctrl-C.
const INTERRUPT_TIMEOUT: Duration = Duration::from_secs(30);

/// `./dev test`.
pub async fn command(options: Options) -> Result<()> {
    let root = root()?;
    // A folder per run: two runs in one checkout do not meet.
    let runs = root.join(".dev/test");
    end_abandoned(&runs).await?;
    let folder = runs.join(std::process::id().to_string());
    fs::create_dir_all(&folder)?;
    // The kernel gives it up when this process ends, however it ends.
    let lock = File::create(folder.join("lock"))?;
    lock.lock()?;
    let owner = Owner::this_process()?;
    let mut stages = Stages::after_tool(&STAGES);
    stages.next();
    let missing = packages::missing(true)?;
    // Cargo needs none of the packages, and the servers do not need what it builds.
    let build_root = root.clone();
    let building = AbortOnDropHandle::new(tokio::spawn(async move {
        build(&build_root, Profile::Dev, Targets::Tests).await
    }));
    missing.install(&folder.join("log/packages.log")).await?;
    pages::build(&root).await?;
    let installing = tokio::task::spawn_blocking({
        let root = root.clone();
        move || install_clients(&root)
    });
    let (port, broker_port) = (Ports::reserve(1, &owner)?, Ports::reserve(rabbit::PORTS, &owner)?);
    let (data, log) = (folder.join("postgres"), folder.join("log/postgres.log"));
    // Each test makes a database of more than a thousand files and removes it. For each new file the file system of a disk passes
    // over all that were removed in the last seconds.
    memory::folder(&data);
    let postgres = Postgres::prepare(&data, &log, port.first())?.shared_by_tests()?;
    let rabbit = Rabbit::prepare(&folder.join("rabbitmq"), broker_port.first(), true)?.shared_by_tests()?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let runner = Mutex::new(None);
    let work = async {
        // A build that failed is reported at once, servers or not.
        let servers = async { tokio::try_join!(rabbit.start(), postgres.start()) };
        let (built, _) = tokio::try_join!(async { building.await? }, servers)?;
        installing.await?;
        // For measurements: services that were built for speed, or an earlier version.
        let programs = std::env::var_os("PAGURUS_TEST_PROGRAMS").map_or(built, PathBuf::from);
        stages.next();
        test(&root, &folder, &programs, &postgres, &rabbit, &options, &runner).await
    };
    tokio::pin!(work);
    let outcome = tokio::select! {
        outcome = &mut work => outcome,
        // A terminal sends Ctrl-C to the runner too; a second signal would make it give up its tests unended.
        _ = interrupt.recv() => broken_off(work, None).await,
        _ = terminate.recv() => {
            let runner = *runner.lock().unwrap_or_else(PoisonError::into_inner);
            broken_off(work, runner).await
        }
    };
    let ended = tokio::join!(rabbit.stop(), postgres.stop(Stop::Immediate));
    ended.0.and(ended.1)?;
    clean(&folder, &postgres, outcome.is_ok());
    outcome
}

/// Installs the packages of clients beside the build, so that no test waits for that. What fails here is reported by the tests
/// that need it, and no other.
fn install_clients(root: &Path) {
    let python = venv::with_package(&root.join("clients/python"), root).map(drop);
    let typescript = npm::with_packages(&root.join("clients/typescript"), root).map(drop);
    for failure in [python, typescript].into_iter().filter_map(Result::err) {
        eprintln!("    a package of clients is not installed: {failure:#}");
    }
}

/// Lets the runner end its tests, which end their nodes.
async fn broken_off(work: impl Future<Output = Result<()>>, runner: Option<Identity>) -> Result<()> {
    if let Some(runner) = runner {
        runner.signal(Signal::Terminate)?;
    }
    // How the tests ended is of no interest any more.
    let _ = tokio::time::timeout(INTERRUPT_TIMEOUT, work).await;
    Err(anyhow!("broken off"))
}

/// Ends the servers of runs that were killed, and removes what they left.
async fn end_abandoned(runs: &Path) -> Result<()> {
    for entry in fs::read_dir(runs).into_iter().flatten().flatten() {
        let folder = entry.path();
        let abandoned = File::open(folder.join("lock")).is_ok_and(|lock| lock.try_lock().is_ok());
        if !abandoned {
            continue;
        }
        // The ports do not matter to servers that are only to end.
        if folder.join("postgres/PG_VERSION").exists() {
            let log = folder.join("log/postgres.log");
            Postgres::prepare(&folder.join("postgres"), &log, 0)?.stop(Stop::Immediate).await?;
        }
        if folder.join("rabbitmq/pid").exists() {
            Rabbit::prepare(&folder.join("rabbitmq"), 0, false)?.stop().await?;
        }
        memory::remove(&folder.join("postgres"));
        fs::remove_dir_all(&folder)?;
    }
    Ok(())
}

async fn test(
    root: &Path,
    folder: &Path,
    programs: &Path,
    postgres: &Postgres,
    rabbit: &Rabbit,
    options: &Options,
    running: &Mutex<Option<Identity>>,
) -> Result<()> {
    postgres.create_database("pagurus").await?;
    // The file of the roles may be stale when it is to be made again.
    let has_roles = std::env::var_os("UPDATE_GENERATED").is_none();
    // The database that those of the tests are copied from, and the users of the services.
    postgres.create_database(TEMPLATE).await?;
    postgres::migrate(programs, &postgres.url(TEMPLATE), has_roles).await?;
    let mut command = runner(root);
    command
        .args(&options.arguments)
        .envs(options.environment.iter().cloned())
        .env("DATABASE_URL", postgres.url("pagurus"))
        .env("PAGURUS_TEST_TEMPLATE", TEMPLATE)
        .env("AMQP_URL", rabbit.url())
        .env("RABBITMQCTL", rabbit.control_script())
        .env("PAGURUS_TEST_BIN", programs)
        .env("PAGURUS_TEST_LOGS", folder.join("log"));
    if has_roles {
        command.env("PAGURUS_TEST_ROLES", "true");
    }
    if let Some(url) = rabbit.management_url() {
        command.env("PAGURUS_TEST_BROKER_API", url);
    }
    let mut child = tokio::process::Command::from(command).kill_on_drop(true).spawn()?;
    *running.lock().unwrap_or_else(PoisonError::into_inner) = child.id().and_then(Identity::of);
    let status = child.wait().await?;
    if !status.success() {
        bail!("tests failed ({status}); the logs are in {}", folder.join("log").display());
    }
    Ok(())
}

/// The runner with a process per test if it is there, else cargo's own.
fn runner(root: &Path) -> Command {
    let mut command = cargo(root);
    let probe = cargo(root).args(["nextest", "--version"]).output();
    if probe.is_ok_and(|output| output.status.success()) {
        command.args(["nextest", "run", "--workspace", "--locked"]);
    } else {
        eprintln!("    cargo-nextest is not installed: using `cargo test`, which is slower");
        eprintln!("    (`cargo install --locked cargo-nextest` brings it)");
        command.args(["test", "--workspace", "--locked"]);
    }
    command.args(MEASURE);
    command
}

/// Removes the data; the logs of a failed run stay until the next run.
fn clean(folder: &Path, postgres: &Postgres, passed: bool) {
    memory::remove(postgres.data());
    let _ =
        if passed { fs::remove_dir_all(folder) } else { fs::remove_dir_all(folder.join("rabbitmq/data")) };
}
