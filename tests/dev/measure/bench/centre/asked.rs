//! What a browser asks for: each page once, and open pages again and again.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, bail};
use futures_util::future::try_join_all;
use pagurus_harness::client::http;
use serde::Deserialize;
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

/// Times from a change to its sight, in milliseconds.
#[derive(Clone, Copy, Debug, Deserialize)]
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
