//! `./dev soak`: a mixed load and random faults for minutes or hours, then the question whether every promise was
//! kept, and one table of what was done and seen. Never forgives: one violation is the exit code 1.

mod counts;
mod faults;
mod ground;
mod kinds;
mod ledger;
mod load;
mod queues;
mod system;
mod table;
mod verdict;
mod watch;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::Args;
use rand::SeedableRng;
use rand::rngs::StdRng;
use tokio_util::task::AbortOnDropHandle;

use counts::Counts;
use faults::Faults;
use ground::Ground;
use ledger::Ledger;
use load::Load;
use pagurus_dev::build::{Profile, Targets, build};
use pagurus_dev::place::root;
use pagurus_dev::stages::Stages;
use system::System;
use table::Table;
use watch::Watch;

/// Options of a soak.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// Minutes under load and faults; the time until all orders are final comes on top
    #[arg(long, default_value_t = 10)]
    minutes: u64,
    /// Seed of the faults; left out: another each time
    #[arg(long)]
    seed: Option<u64>,
    /// Orders a second
    #[arg(long, default_value_t = 20.0)]
    rate: f64,
    /// Build for speed instead of building quickly
    #[arg(long)]
    release: bool,
}

/// Stages after the build of the tool.
const STAGES: [&str; 3] = ["programs", "servers and nodes", "load and faults"];
/// Time within which everything sent must be final after the last fault.
const CALM: Duration = Duration::from_secs(180);

/// `./dev soak`.
pub async fn command(options: Options) -> Result<()> {
    let root = root()?;
    let seed = options.seed.unwrap_or_else(rand::random);
    let mut stages = Stages::after_tool(&STAGES);
    stages.next();
    let profile = if options.release { Profile::Release } else { Profile::Dev };
    let programs = build(&root, profile, Targets::Programs).await?;
    stages.next();
    let mut ground = Ground::start(&root, &programs).await?;
    stages.next();
    let outcome = tokio::select! {
        outcome = soak(&options, seed, &mut ground) => outcome,
        _ = tokio::signal::ctrl_c() => bail!("broken off"),
    };
    let folder = ground.folder().to_path_buf();
    ground.stop().await?;
    let table = outcome?;
    print!("{table}");
    if table.violations() > 0 {
        bail!("{} violations; the logs and the data are in {}", table.violations(), folder.display());
    }
    Ok(())
}

async fn soak(options: &Options, seed: u64, ground: &mut Ground) -> Result<Table> {
    let ledger = Arc::new(Ledger::default());
    let system = System::at(ground.env().world());
    let load = Load::start(ground, Arc::clone(&ledger), options.rate).await?;
    let counts = Arc::new(Counts::default());
    let over = Arc::new(AtomicBool::new(false));
    let watch = Watch::start(ground, Arc::clone(&counts), Arc::clone(&over))?;
    let begun = Instant::now();
    let mut faults = Faults::of(StdRng::seed_from_u64(seed));
    let end = begun + Duration::from_secs(60 * options.minutes);
    faults.go_on_until(end, ground).await?;
    let under_load = begun.elapsed();
    let settled = load.stop(CALM).await?;
    let mut verdict = verdict::judge(ground, &ledger, &system, CALM).await?;
    verdict.extend(settled);
    over.store(true, Ordering::SeqCst);
    let watched = watch.end().await?;
    let mut table = Table::new(seed, options, under_load);
    table.load(&ledger, faults.windows());
    table.faults(&faults);
    table.events(&verdict, &counts, ground);
    table.sizes(&watched);
    verdict.extend(watched.violations);
    let broken = counts.sum("pagurus_invariant_violations_total");
    verdict.extend(vec![verdict::Violation::of(
        "invariants broken, as the check counts them",
        broken,
        String::new(),
    )]);
    table.verdict(&verdict);
    Ok(table)
}

/// A task that ends with its handle.
type Task<T> = AbortOnDropHandle<T>;

fn task<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> Task<T> {
    AbortOnDropHandle::new(tokio::spawn(future))
}
