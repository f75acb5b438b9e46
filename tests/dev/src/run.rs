//! `./dev run`: everything up, demo orders through it, their story, the numbers; stays up until Ctrl-C. `./dev write`: the
//! same without orders, and scenarios that are applied while they are written.
//! Never ends what ran before it.

mod storm;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;
use lapin::BasicProperties;
use pagurus_harness::client::amqp::{Amqp, Message};
use pagurus_harness::client::{Api, http};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};

use crate::down;
use crate::story::{Story, Summary, is_final, tell};
use crate::up;
use pagurus_dev::place::{Place, Record};
use pagurus_dev::stages::Stages;

/// The sleep of an example takes 20 s; the rest is for a slow machine.
const DEMO_TIMEOUT: Duration = Duration::from_secs(180);
const ORDERS: usize = 30;

/// Options of `./dev run`.
#[derive(Clone, Debug, Args)]
#[group(id = "run")]
pub struct Options {
    #[command(flatten)]
    up: up::Options,
    /// Show how the engine treats a called system that slows down, goes away and comes back, instead of the demo orders
    #[arg(long)]
    storm: bool,
}

/// Options of `./dev write`.
#[derive(Clone, Debug, Args)]
#[group(id = "write")]
pub struct WriteOptions {
    #[command(flatten)]
    up: up::Options,
    /// Folder of the scenarios, with their tests beside them
    #[arg(value_name = "FOLDER", default_value = "scenarios")]
    folder: PathBuf,
}

/// Work that is done once all is up.
enum Play {
    Demo,
    Storm,
    Write(PathBuf),
}

impl Play {
    const fn stage(&self) -> &'static str {
        match self {
            Self::Demo | Self::Storm => "demo orders",
            Self::Write(_) => "scenarios",
        }
    }
}

/// `./dev run`.
pub async fn run(options: Options) -> Result<()> {
    let play = if options.storm { Play::Storm } else { Play::Demo };
    stay_up(&options.up, &play).await
}

/// `./dev write`.
pub async fn write(options: WriteOptions) -> Result<()> {
    // As the person who calls sees it, wherever the programs run.
    let folder = std::path::absolute(&options.folder)?;
    anyhow::ensure!(folder.is_dir(), "there is no folder {}", folder.display());
    stay_up(&options.up, &Play::Write(folder)).await
}

/// Brings everything up, plays, and ends what was started at Ctrl-C.
async fn stay_up(options: &up::Options, play: &Play) -> Result<()> {
    let place = Place::open()?;
    let mut before = place.read()?;
    let ours = Mutex::new(None);
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let outcome = tokio::select! {
        outcome = work(&place, options, play, &ours) => outcome,
        _ = interrupt.recv() => Ok(()),
        _ = terminate.recv() => Ok(()),
    };
    eprintln!("\n==> ending what this command started");
    place.lock()?;
    // What was started is in the file, also when the start was broken off half-way.
    let mut record = place.read()?;
    if let Some(ours) = lock(&ours).as_ref() {
        // Nodes that other commands have started since are left to them.
        let foreign =
            record.nodes.iter().filter(|node| !ours.nodes.iter().any(|our| our.identity == node.identity));
        before.nodes.extend(foreign.cloned());
    }
    down::end(&place, &mut record, &before).await?;
    outcome
}

async fn work(place: &Place, options: &up::Options, play: &Play, ours: &Mutex<Option<Record>>) -> Result<()> {
    let mut stages = Stages::after_tool(&[&up::STAGES[..], &[play.stage()]].concat());
    let record = up::up(place, options, &mut stages).await?;
    *lock(ours) = Some(record.clone());
    let server = record.server().context("the demo needs an intake node")?;
    // From now on nodes may come and go by other commands.
    place.unlock()?;
    println!("==> the engine is up: {server}");
    stages.next();
    match play {
        Play::Demo => demo(&record, &server).await?,
        Play::Storm => storm::play(&record, &server).await?,
        Play::Write(_) => {}
    }
    println!("\nControl centre:         {server}");
    println!("API:                    {server}/docs");
    if let Some(port) = record.demo_port {
        println!("Demo system:            http://127.0.0.1:{port} (config.demo)");
    }
    println!("Documentation:          {server}/docs/guide/");
    println!("In your shell:          . {}", place.folder().join("env").display());
    println!("It stays up until Ctrl-C.");
    match play {
        Play::Write(folder) => watch(&record, &server, folder).await,
        Play::Demo | Play::Storm => std::future::pending().await,
    }
}

/// Checks, tests and applies the scenarios of a folder whenever their files change.
async fn watch(record: &Record, server: &str, folder: &Path) -> Result<()> {
    println!("Workbench:              {server}/workbench\n");
    let mut command = Command::new(record.programs.join("pagurus"));
    command.args(["--server", server, "scenario", "watch"]).arg(folder).kill_on_drop(true);
    let ended = command.status().await.context("pagurus scenario watch")?;
    anyhow::ensure!(ended.success(), "`pagurus scenario watch` ended with {ended}");
    Ok(())
}

async fn demo(record: &Record, server: &str) -> Result<()> {
    let api = Api::new(http()?, server);
    let amqp = Amqp::connect(&record.amqp_url, "pagurus").await?;
    let notifications = amqp.listen("pagurus.notifications", "demo").await?;
    let receipts = amqp.listen_directly().await?;
    let tag = &uuid::Uuid::new_v4().simple().to_string()[..4];
    let orders: Vec<Value> = (1..=ORDERS).map(|number| order(tag, number)).collect();
    let ids: Vec<String> =
        orders.iter().filter_map(|order| order["id"].as_str().map(str::to_owned)).collect();
    println!("==> {ORDERS} orders over RabbitMQ; this is the story of three of them\n");
    let stories = vec![
        Story::new(&ids[0], "a call that fails twice and is repeated"),
        Story::new(&ids[1], "a question that is answered by a callback"),
        Story::new(&ids[2], "a tariff change: two systems and a sleep"),
    ];
    let started = Instant::now();
    let properties = BasicProperties::default().with_reply_to(receipts.queue().into());
    amqp.publish_orders("order.create", &orders, &properties).await?;
    let summary = tell(&api, stories, started, DEMO_TIMEOUT).await?;
    let ended = wait_all(&api, &ids, started).await?;
    // The last notifications are on their way; what is missing is said, not hidden.
    let _ = notifications.wait(Duration::from_secs(5), |messages| messages.len() >= ORDERS).await;
    let accepted = receipts.messages().iter().filter(|message| message.body["status"] == "accepted").count();
    let numbers =
        Numbers { accepted, ended, notifications: notifications.messages(), took: started.elapsed() };
    print_numbers(&numbers, &summary);
    Ok(())
}

/// An order of the demo. The story follows the first three; the others are mostly short, some slow, some with callbacks.
fn order(tag: &str, number: usize) -> Value {
    let (scenario, params) = match number {
        1 => ("one-action", json!({"fail": 2})),
        2 => ("callback", json!({"delayMs": 2000})),
        3 => ("change-tariff", json!({"msisdn": "79110000001", "tariff": "light"})),
        number if number % 10 == 0 => ("change-tariff", json!({"msisdn": "79110000002", "tariff": "full"})),
        number if number % 5 == 0 => ("callback", json!({})),
        number if number % 4 == 0 => ("one-action", json!({"delayMs": 3000})),
        _ => ("one-action", json!({})),
    };
    let id = format!("demo-{tag}-{number:02}");
    json!({
        "id": id,
        "scenario": scenario,
        "params": params,
        "notify": {"url": "amqp://?key=demo", "correlationId": id},
    })
}

/// The statuses of all orders, when all are final or the time is over.
async fn wait_all(api: &Api, ids: &[String], started: Instant) -> Result<BTreeMap<String, usize>> {
    loop {
        let mut statuses = BTreeMap::new();
        let mut open = 0;
        for id in ids {
            // An order that is not there yet is one that is not final yet.
            let answer = api.get(&format!("/v1/orders/{id}")).await?;
            let status = answer.body["status"].as_str().unwrap_or("not registered").to_owned();
            open += usize::from(!is_final(&status));
            *statuses.entry(status).or_insert(0) += 1;
        }
        if open == 0 || started.elapsed() > DEMO_TIMEOUT {
            return Ok(statuses);
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Numbers {
    accepted: usize,
    ended: BTreeMap<String, usize>,
    notifications: Vec<Message>,
    took: Duration,
}

fn print_numbers(numbers: &Numbers, summary: &Summary) {
    let statuses: Vec<_> = numbers.ended.iter().map(|(status, count)| format!("{count} {status}")).collect();
    let mut durations: Vec<u64> =
        numbers.notifications.iter().filter_map(|message| message.body["durationMs"].as_u64()).collect();
    durations.sort_unstable();
    println!("\n==> the numbers");
    println!("    orders sent over RabbitMQ   {ORDERS}");
    println!("    accepted                    {}", numbers.accepted);
    println!("    ended                       {}", statuses.join(", "));
    println!("    notifications received      {}", numbers.notifications.len());
    println!("    retries in the story        {}", summary.retries);
    if let (Some(shortest), Some(longest)) = (durations.first(), durations.last()) {
        let median = durations[durations.len() / 2];
        println!("    shortest, median, longest   {shortest} ms, {median} ms, {longest} ms");
    }
    println!("    all of it took              {:.1} s", numbers.took.as_secs_f64());
}
