//! An installation that nobody uses: what heartbeats, looks and rounds over the tables cost by themselves.
//! Never counts the start: connections, caches and the first rounds are behind each measurement.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::copies;
use super::cpu::Usage;
use super::report::{head, table};
use super::works::Works;

/// Time before each measurement, and its length.
const SETTLED: Duration = Duration::from_secs(15);
const WINDOW: Duration = Duration::from_secs(60);
/// Sleeping orders beside which nothing happens.
const SLEEPERS: i64 = 100_000;

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
    let mut lines = vec![head(&["% of one core"], &["all"])];
    lines.extend(all.iter().map(cells));
    let date = jiff::Zoned::now().strftime("%Y-%m-%d");
    format!("\n### At rest\n\nMeasured on {date} by `./dev bench rest`.\n\n{}", table(&lines))
}

fn cells(rest: &Rest) -> Vec<String> {
    let percent = |seconds: f64| format!("{:.2}", 100.0 * seconds / rest.seconds);
    let mut cells = vec![rest.name.to_owned()];
    cells.extend(rest.cpu.columns(percent));
    cells.push(percent(rest.cpu.all()));
    cells
}
