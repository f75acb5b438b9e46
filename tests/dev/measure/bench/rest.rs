//! An installation that nobody uses: what heartbeats, looks and rounds over the tables cost by themselves.
//! Never counts the start: connections, caches and the first rounds are behind each measurement.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::copies;
use super::cpu::{Part, Usage};
use super::report::table;
use super::works::Works;
use pagurus_harness::nodes::Role;

/// Time before each measurement, and its length.
const SETTLED: Duration = Duration::from_secs(15);
const WINDOW: Duration = Duration::from_secs(60);
/// Sleeping orders beside which nothing happens.
const SLEEPERS: i64 = 100_000;

const HEAD: [&str; 9] = [
    "% of one core",
    "intake",
    "dispatcher",
    "activator",
    "worker",
    "notifier",
    "Postgres",
    "RabbitMQ",
    "all",
];

/// An installation at rest.
#[derive(Debug)]
pub struct Rest {
    name: &'static str,
    cpu: Usage,
    seconds: f64,
}

impl Works<'_> {
    /// Measures an empty installation, and one with many sleeping orders.
    pub async fn rest(&mut self) -> Result<Vec<Rest>> {
        self.installation.renew().await?;
        let empty = self.at_rest("no orders").await?;
        self.submit("sleeper", "bench-sleeper").await?;
        let database = self.installation.database().await?;
        let template = copies::template(&database, "sleeper", "sleep").await?;
        copies::make(&database, template, SLEEPERS).await?;
        database.batch_execute("CHECKPOINT").await?;
        drop(database);
        Ok(vec![empty, self.at_rest("100 000 sleeping orders").await?])
    }

    async fn at_rest(&self, name: &'static str) -> Result<Rest> {
        tokio::time::sleep(SETTLED).await;
        let meter = self.installation.meter()?;
        let (before, begun) = (meter.read()?, Instant::now());
        tokio::time::sleep(WINDOW).await;
        let seconds = begun.elapsed().as_secs_f64();
        Ok(Rest { name, cpu: before.until(&meter.read()?), seconds })
    }
}

/// The table, in Markdown.
pub fn section(all: &[Rest]) -> String {
    let mut lines = vec![HEAD.map(str::to_owned)];
    lines.extend(all.iter().map(cells));
    let date = jiff::Zoned::now().strftime("%Y-%m-%d");
    format!("\n### At rest\n\nMeasured on {date} by `./dev bench rest`.\n\n{}", table(&lines))
}

fn cells(rest: &Rest) -> [String; HEAD.len()] {
    let percent = |seconds: f64| format!("{:.2}", 100.0 * seconds / rest.seconds);
    let of = |part: Part| percent(rest.cpu.used.get(&part).copied().unwrap_or_default());
    let all = rest.cpu.used.iter().filter(|(part, _)| **part != Part::Load).map(|(_, seconds)| seconds);
    [
        rest.name.to_owned(),
        of(Part::Service(Role::Intake)),
        of(Part::Service(Role::Dispatcher)),
        of(Part::Service(Role::Activator)),
        of(Part::Service(Role::Worker)),
        of(Part::Service(Role::Notifier)),
        of(Part::Postgres),
        of(Part::Rabbit),
        percent(all.sum()),
    ]
}
