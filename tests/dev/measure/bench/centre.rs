//! The control centre over a large installation: ten million orders, a hundred thousand queues, an order of 50 000 events, a load of
//! 70 % (UI-2, UI-3). What a page asks for is what a browser was seen to ask for.

mod asked;
mod large;
mod section;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use futures_util::future::try_join_all;
use pagurus_harness::client::http;
use pagurus_harness::npm::with_packages;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use super::cpu::Usage;
use super::load::{Flow, Generator, Latencies};
use super::works::{ENGINE, ONE_ACTION, Works};
use asked::{AskedPage, ScrolledPage, SeenChanges, Sight, WatchedPage, replay};
pub use section::section;

/// Share of the greatest rate at which the pages are looked at.
const LOAD: f64 = 0.7;
const WARM_UP: u64 = 4_000;
/// Repeats of each request of each page, at most and at least, and the time after which those are enough.
const REPEATS: usize = 100;
const FEW: usize = 20;
const LONG_ENOUGH: Duration = Duration::from_secs(5);
/// Pages that are open at once.
const OPEN: usize = 100;
/// Turns with and without open pages, and their length.
const TURNS: usize = 4;
const TURN: Duration = Duration::from_secs(15);

/// Measurements of the control centre.
#[derive(Debug)]
pub struct Centre {
    /// The pages, as a browser saw them, without load and under load.
    pages: Vec<PageFigures>,
    /// Orders a second under load.
    rate: f64,
    /// From a change to its sight without load and under load, in milliseconds.
    sight: [Sight; 2],
    /// Pages that were scrolled, without load.
    scrolled: Vec<ScrolledPage>,
    /// Usage an order, without and with open pages.
    open: [Usage; 2],
    /// Orders that ended meanwhile.
    orders: [u64; 2],
    /// Requests a second of the open pages.
    requests: f64,
}

/// Figures of one page.
#[derive(Debug)]
struct PageFigures {
    asked: AskedPage,
    /// Times of the server without load and under load.
    times: [Latencies; 2],
}

impl Works<'_> {
    /// Measures the pages of the control centre.
    pub async fn centre(&mut self, root: &Path) -> Result<Centre> {
        let long = self.large_installation().await?;
        let browser = Browser { server: format!("http://{}", self.installation.intake()), long, root };
        eprintln!("    the pages, without load");
        let asked: Vec<AskedPage> = browser.figures("pages").await?;
        let quiet = self.times_of(&asked).await?;
        let unloaded = self.sight(&browser).await?;
        let scrolled = browser.figures("scrolled").await?;

        eprintln!("    the greatest rate");
        let most = self.loaded("one-action", ENGINE, ONE_ACTION).await?.rate.context("no rate")?;
        let rate = most * LOAD;
        eprintln!("    the pages, at {rate:.0} orders a second");
        let flow = Flow { in_flight: self.extent.in_flight, pace: Some(rate) };
        let generator = Generator::start(&self.installation.amqp_url(), ENGINE, ONE_ACTION, flow).await?;
        generator.wait_received(WARM_UP, None).await?;
        let busy = self.times_of(&asked).await?;
        let loaded = self.sight(&browser).await?;
        let watched: Vec<WatchedPage> = browser.figures("watched").await?;
        eprintln!("    {OPEN} open pages");
        let (open, orders) = self.beside_open_pages(&generator, &watched).await?;
        generator.finish().await?;

        let pages = asked.into_iter().zip(quiet.into_iter().zip(busy));
        let pages = pages.map(|(asked, (quiet, busy))| PageFigures { asked, times: [quiet, busy] }).collect();
        let requests = OPEN as f64 / watched.len().max(1) as f64
            * watched.iter().map(WatchedPage::requests_a_second).sum::<f64>();
        Ok(Centre { pages, rate, sight: [unloaded, loaded], scrolled, open, orders, requests })
    }

    async fn sight(&self, browser: &Browser<'_>) -> Result<Sight> {
        let seen: SeenChanges = browser.figures("changes").await?;
        seen.sight(&self.installation.database().await?).await
    }

    /// Times of the server for each page: of each of its requests, one after the other.
    async fn times_of(&self, pages: &[AskedPage]) -> Result<Vec<Latencies>> {
        let (client, server) = (http()?, format!("http://{}", self.installation.intake()));
        let mut all = Vec::new();
        for page in pages {
            let mut times = Vec::new();
            for url in page.requests.keys() {
                let first = Instant::now();
                for repeat in 0..REPEATS {
                    // A slow request shows after a few.
                    if repeat >= FEW && first.elapsed() > LONG_ENOUGH {
                        break;
                    }
                    let begun = Instant::now();
                    let answer = client.get(format!("{server}{url}")).send().await?;
                    let status = answer.status();
                    answer.bytes().await?;
                    if !status.is_success() {
                        bail!("{url}: {status}");
                    }
                    times.push(u32::try_from(begun.elapsed().as_micros())?);
                }
            }
            all.push(Latencies::of(times));
        }
        Ok(all)
    }

    /// Usage and ended orders without and with open pages, in turns, so that what else happens on the machine meets both alike.
    async fn beside_open_pages(
        &self,
        generator: &Generator,
        watched: &[WatchedPage],
    ) -> Result<([Usage; 2], [u64; 2])> {
        let meter = self.installation.meter()?;
        let server = format!("http://{}", self.installation.intake());
        let (mut usage, mut orders) = ([Vec::new(), Vec::new()], [0, 0]);
        for turn in 0..2 * TURNS {
            let with = turn % 2;
            let end = CancellationToken::new();
            let replayed = (with == 1).then(|| {
                let pages = (0..OPEN).map(|number| watched[number % watched.len()].clone());
                tokio::spawn(try_join_all(
                    pages.enumerate().map(|(number, page)| replay(server.clone(), page, number, end.clone())),
                ))
            });
            tokio::time::sleep(Duration::from_secs(2)).await;
            let (before, first) = (meter.read()?, generator.received());
            tokio::time::sleep(TURN).await;
            usage[with].push(before.until(&meter.read()?));
            orders[with] += generator.received() - first;
            end.cancel();
            if let Some(replayed) = replayed {
                replayed.await??;
            }
        }
        Ok((usage.map(|turns| Usage::of_turns(&turns)), orders))
    }
}

/// The browser, driven by a program beside its tests.
struct Browser<'a> {
    server: String,
    long: String,
    root: &'a Path,
}

impl Browser<'_> {
    /// Figures that the program prints.
    async fn figures<T: DeserializeOwned>(&self, work: &str) -> Result<T> {
        let place = with_packages(&self.root.join("tests/centre"), self.root)?;
        let mut command = tokio::process::Command::new("node");
        command.arg(place.join("figures.mjs")).arg(work);
        command.env("PAGURUS_SERVER", &self.server).env("CENTRE_LONG", &self.long).kill_on_drop(true);
        let output = command.output().await.context("node cannot be run; `./dev test` installs it")?;
        if !output.status.success() {
            bail!("figures.mjs {work} failed:\n{}", String::from_utf8_lossy(&output.stderr));
        }
        let printed = String::from_utf8_lossy(&output.stdout);
        let line = printed.lines().find(|line| line.starts_with(['[', '{'])).context("no figures")?;
        Ok(serde_json::from_str(line)?)
    }
}
