//! `./dev bench`: the reference works, each measured beside the limit of the same run, in one table.
//! Never measures anything that was not built for release and is not durable, and touches nothing of `./dev up`.

mod centre;
mod chart;
mod copies;
mod cpu;
mod flood;
mod http;
mod installation;
mod intake;
pub mod limit;
mod load;
mod mass;
mod memory;
mod operations;
mod paced;
mod page;
mod profile;
mod report;
mod rest;
mod stub;
mod works;
mod writes;

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use pagurus_harness::packages;
use tokio::signal::unix::{SignalKind, signal};

use installation::Installation;
use pagurus_dev::build::{Profile, Targets, build};
use pagurus_dev::place;
use report::Report;
use stub::Stub;
use works::{Extent, Row, Works};

/// Options of a measurement.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// The works to measure; without any: limit, one-action, straight, grouped, three-stage, sequential, idle, intake
    #[arg(value_enum)]
    works: Vec<Work>,
    /// Orders of each measurement
    #[arg(long, value_name = "N", default_value_t = 30_000)]
    orders: u64,
    /// Times that the works are measured in turn; the median counts
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Longest time of each measurement, in seconds
    #[arg(long, value_name = "S", default_value_t = 60)]
    seconds: u64,
    /// Orders in flight at most
    #[arg(long, value_name = "N", default_value_t = 2000)]
    in_flight: usize,
    /// Sleepers that are due within one second, of a million that sleep
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=i64::from(mass::SLEEPERS)))]
    due: u32,
    /// Write docs/performance.md
    #[arg(long)]
    record: bool,
    /// Show where the time of this work goes, by function (needs perf) and by statement
    #[arg(long, value_enum, value_name = "WORK", conflicts_with_all = ["works", "record", "rounds"])]
    profile: Option<Work>,
}

/// A reference work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Work {
    /// The least row writes and messages with the same durability, by hand
    Limit,
    /// An HTTP call per order
    OneAction,
    /// The same, orders and notifications straight from queue to queue, past all exchanges
    Straight,
    /// The same as straight, with many orders in one message and their ends in groups
    Grouped,
    /// A call, a callback, a call
    ThreeStage,
    /// An HTTP call per order, over a thousand queues
    Sequential,
    /// A single order at a time, from publishing to notification
    Idle,
    /// The same as one-action and idle, with all services in one process
    OneProcess,
    /// Durable acceptance alone, over AMQP and over HTTP
    Intake,
    /// Durable acceptance of one order a request, with and without tokens
    Tokens,
    /// Durable acceptance at a steady pace, with and without another client at and beyond its limit
    Flood,
    /// Many sleeping orders beside running ones
    Sleepers,
    /// An HTTP call per order, with millions of ended orders in the tables
    History,
    /// An HTTP call per order, over 1 000, 10 000 and 100 000 queues
    Queues,
    /// An HTTP call per order, with bodies of 10 and 100 kilobytes that do not compress
    Bodies,
    /// An HTTP call per order, with 2 and 4 workers on the same cores
    Workers,
    /// An HTTP call per order, while another session of the database holds a snapshot
    Pinned,
    /// A new dispatcher before a million ready orders
    TakeOver,
    /// A restart of a million failed orders beside running ones
    Operation,
    /// A page of each kind of search among ten million orders
    Search,
    /// An HTTP call per order at rates from 250 to 4 000 orders a second: engine, limit, one process, 4 workers
    Paced,
    /// An installation that nobody uses, without orders and with 100 000 sleeping ones
    Rest,
    /// Resident size of each service under the heaviest legal loads
    Memory,
    /// The pages of the control centre, over ten million orders and under load
    Centre,
    /// All of them
    All,
}

/// `./dev bench`.
pub async fn command(options: Options) -> Result<()> {
    if options.orders == 0 {
        bail!("--orders 0 measures nothing");
    }
    let root = place::root()?;
    let log = root.join(".dev/log/packages.log");
    let missing = packages::missing(chosen(&options).contains(&Work::Centre))?;
    let ((), programs) =
        tokio::try_join!(missing.install(&log), build(&root, Profile::Release, Targets::Programs))?;
    eprintln!("==> servers");
    let mut installation = Installation::start(&root, programs, options.profile.is_some()).await?;
    let stub = Stub::start(installation.stub_port()).await?;
    let mut report = Report::default();
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let outcome = tokio::select! {
        outcome = measure(&root, &mut installation, &stub, &options, &mut report) => outcome,
        _ = interrupt.recv() => Err(anyhow::anyhow!("interrupted")),
        _ = terminate.recv() => Err(anyhow::anyhow!("terminated")),
    };
    // What was measured before a failure is not lost with it.
    println!("\n{}", report.text());
    installation.stop().await?;
    outcome?;
    if options.record {
        if let Some((work, share)) = report.disturbed() {
            bail!("not recorded: other programs used {:.0} % of the machine during {work}", share * 100.0);
        }
        let words: Vec<String> = std::env::args().skip(2).collect();
        page::record(&report, &root, &words.join(" "), options.in_flight)?;
        eprintln!("==> docs/performance.md");
    }
    Ok(())
}

async fn measure(
    root: &Path,
    installation: &mut Installation,
    stub: &Stub,
    options: &Options,
    report: &mut Report,
) -> Result<()> {
    let extent = Extent {
        orders: options.orders,
        longest: Duration::from_secs(options.seconds),
        in_flight: options.in_flight,
        due: options.due,
        profile: options.profile.is_some(),
    };
    let mut works = Works { installation, stub, extent };
    for round in 1..=options.rounds {
        report.begin_round();
        for work in chosen(options).into_iter().filter(|work| !ONCE.contains(work)) {
            eprintln!("==> {}, round {round}", name(work));
            match work {
                Work::Paced => report.add_paced(works.paced().await?),
                _ => run(&mut works, work).await?.into_iter().for_each(|row| report.add(row)),
            }
        }
    }
    for work in chosen(options).into_iter().filter(|work| ONCE.contains(work)) {
        eprintln!("==> {}", name(work));
        match work {
            Work::Rest => report.add_rest(works.rest().await?),
            Work::Centre => report.add_centre(works.centre(root).await?),
            _ => report.add_peaks(works.memory().await?),
        }
    }
    Ok(())
}

/// Works that are measured once: the most that a load takes has no median, and rest is long.
const ONCE: [Work; 3] = [Work::Rest, Work::Memory, Work::Centre];

fn name(work: Work) -> String {
    work.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

fn chosen(options: &Options) -> Vec<Work> {
    use Work::{
        All, Bodies, Centre, Flood, Grouped, History, Idle, Intake, Limit, Memory, OneAction, OneProcess,
        Operation, Paced, Pinned, Queues, Rest, Search, Sequential, Sleepers, Straight, TakeOver, ThreeStage,
        Tokens, Workers,
    };
    let daily = [Limit, OneAction, Straight, Grouped, ThreeStage, Sequential, Idle, Intake];
    let long = [
        Paced, Rest, Tokens, Flood, OneProcess, Queues, Bodies, Workers, Pinned, Sleepers, History, TakeOver,
        Operation, Search, Memory, Centre,
    ];
    match &options.profile {
        Some(work) => vec![*work],
        None if options.works.is_empty() => daily.to_vec(),
        None if options.works.contains(&All) => [&daily[..], &long].concat(),
        None => options.works.clone(),
    }
}

async fn run(works: &mut Works<'_>, work: Work) -> Result<Vec<Row>> {
    Ok(match work {
        Work::Limit if works.extent.profile => vec![works.limit().await?],
        Work::Limit => {
            vec![works.limit().await?, works.limit_with_claim().await?, works.limit_idle().await?]
        }
        Work::OneAction => vec![works.one_action().await?],
        Work::Straight => vec![works.straight().await?],
        Work::Grouped => vec![works.grouped().await?],
        Work::ThreeStage => vec![works.three_stage().await?],
        Work::Sequential => vec![works.sequential().await?],
        Work::Idle => vec![works.idle().await?],
        Work::OneProcess if works.extent.profile => vec![works.one_process().await?],
        Work::OneProcess => vec![works.one_process().await?, works.one_process_idle().await?],
        Work::Intake => vec![works.intake_amqp().await?, works.intake_http().await?],
        Work::Tokens => vec![works.single().await?, works.single_with_token().await?],
        Work::Flood => works.flood().await?,
        Work::Sleepers => vec![works.sleepers().await?],
        Work::History => vec![works.with_history().await?],
        Work::Queues => works.queues().await?,
        Work::Bodies => works.bodies().await?,
        Work::Workers => works.workers().await?,
        Work::Pinned => vec![works.pinned().await?],
        Work::TakeOver => vec![works.take_over().await?],
        Work::Operation => vec![works.operation().await?],
        Work::Search => vec![works.searches().await?],
        Work::Paced | Work::Rest | Work::Memory | Work::Centre | Work::All => {
            bail!("--profile takes one work that is measured by its speed")
        }
    })
}
