//! What a browser asks for: each page once, and open pages again and again.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures_util::future::try_join_all;
use jiff::Timestamp;
use pagurus_harness::client::http;
use serde::Deserialize;
use tokio_postgres::{Client, Row};
use tokio_util::sync::CancellationToken;

/// A page as a browser loaded it.
#[derive(Clone, Debug, Deserialize)]
pub struct AskedPage {
    /// Address or pattern of the page.
    pub page: String,
    /// Length of the answer to each of its requests.
    pub requests: BTreeMap<String, u64>,
    /// Elements of the document.
    pub nodes: u64,
}

/// An open page.
#[derive(Clone, Debug, Deserialize)]
pub struct WatchedPage {
    seconds: u64,
    /// Addresses of its streams.
    streams: Vec<String>,
    /// Number of its requests by address.
    requests: BTreeMap<String, u64>,
}

impl WatchedPage {
    /// Requests a second.
    pub fn requests_a_second(&self) -> f64 {
        self.requests.values().sum::<u64>() as f64 / self.seconds as f64
    }
}

/// A page that was scrolled.
#[derive(Clone, Debug, Deserialize)]
pub struct ScrolledPage {
    /// Address of the page.
    pub page: String,
    /// Frames a second.
    pub frames: f64,
}

/// Changes of an order, as a browser saw them.
#[derive(Debug, Deserialize)]
pub struct SeenChanges {
    /// The order.
    order: String,
    /// Time of each change by the API, and time of the frame that shows it, in milliseconds since 1970.
    changes: Vec<(i64, i64)>,
}

impl SeenChanges {
    /// The times from the commit of each change to its sight.
    pub async fn sight(&self, database: &Client) -> Result<Sight> {
        let events = "SELECT h.at, pg_xact_commit_timestamp(h.xmin) AS committed FROM history h
                        JOIN orders o ON o.no = h.order_no WHERE o.id = $1 ORDER BY h.number";
        let rows = database.query(events, &[&self.order]).await?;
        let millis = |row: &Row, column: &str| row.get::<_, Timestamp>(column).as_millisecond();
        let committed: HashMap<i64, i64> =
            rows.iter().map(|row| (millis(row, "at"), millis(row, "committed"))).collect();
        let mut took = Vec::new();
        for (changed, frame) in &self.changes {
            let committed = committed.get(changed).context("a change has no event")?;
            took.push((frame - committed) as f64);
        }
        took.sort_by(f64::total_cmp);
        let quantile = |share: f64| {
            let place = (took.len() as f64 * share).ceil() as usize;
            took.get(place.saturating_sub(1)).copied().unwrap_or_default()
        };
        Ok(Sight { changes: took.len() as u64, p50: quantile(0.5), p99: quantile(0.99) })
    }
}

/// Times from the commit of a change to its sight, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Sight {
    /// Number of changes.
    pub changes: u64,
    /// Median.
    pub p50: f64,
    /// Time within which 99 of 100 changes are seen.
    pub p99: f64,
}

/// Asks as an open page does until the end, with its streams open.
pub async fn replay(server: String, page: WatchedPage, number: usize, end: CancellationToken) -> Result<()> {
    let client = http()?;
    let streams = page.streams.iter().map(|url| read_stream(&client, format!("{server}{url}"), &end));
    let requests = page.requests.iter().map(|(url, &count)| {
        let every = Duration::from_secs(page.seconds).div_f64(count.max(1) as f64);
        // Open pages have not been opened at one moment.
        let first = every.mul_f64(number as f64 * 0.618 % 1.0);
        ask(&client, format!("{server}{url}"), first, every, &end)
    });
    tokio::try_join!(try_join_all(streams), try_join_all(requests))?;
    Ok(())
}

async fn read_stream(client: &reqwest::Client, url: String, end: &CancellationToken) -> Result<()> {
    let mut answer = client.get(&url).timeout(Duration::from_secs(3600)).send().await?.error_for_status()?;
    loop {
        tokio::select! {
            () = end.cancelled() => return Ok(()),
            part = answer.chunk() => match part? {
                Some(part) => drop(part),
                None => bail!("{url} has ended"),
            },
        }
    }
}

async fn ask(
    client: &reqwest::Client,
    url: String,
    first: Duration,
    every: Duration,
    end: &CancellationToken,
) -> Result<()> {
    let mut turns = tokio::time::interval_at(tokio::time::Instant::now() + first, every);
    loop {
        tokio::select! {
            () = end.cancelled() => return Ok(()),
            _ = turns.tick() => drop(client.get(&url).send().await?.error_for_status()?.bytes().await?),
        }
    }
}
