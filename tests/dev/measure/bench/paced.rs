//! Orders at steady rates, from a machine that is nearly at rest to one that is nearly full: what people run every day.
//! Never a measure of throughput: orders come by chance at the rate, whatever the engine does with those before.

use std::fmt::Write as _;

use anyhow::{Context, Result};

use super::load::{Flow, Generator, Route};
use super::report::{head, median, milliseconds_an_order, table};
use super::works::{ENGINE, LIMIT, ONE_ACTION, Window, Works};

/// Orders a second.
const RATES: [u32; 5] = [250, 500, 1000, 2000, 4000];
/// Seconds of each rate before its measurement, and at most in it.
const WARM_UP: u64 = 3;
const SECONDS: u64 = 10;
/// Orders before the first rate, as many as before other works: caches and plans are as they stay then.
const FIRST: u64 = 4000;

/// Name of the hand-written pipeline, against which the others are set.
const LIMIT_NAME: &str = "limit";

/// Heads of the columns before those of the processes.
const HEAD: [&str; 10] = [
    "orders/s",
    "measured",
    "p50 ms",
    "p99 ms",
    "p99.9 ms",
    "CPU ms",
    "of the limit",
    "cores used",
    "commits",
    "others",
];

/// One-action at one rate.
#[derive(Debug)]
pub struct Paced {
    rate: u32,
    runner: &'static str,
    window: Window,
}

impl Paced {
    /// Whose orders they were, and the share of the machine that other programs used.
    pub fn others(&self) -> (&'static str, f64) {
        (self.runner, self.window.cpu.others)
    }

    fn cpu_an_order(&self) -> f64 {
        self.window.cpu.all() / self.window.orders.max(1) as f64
    }
}

impl Works<'_> {
    /// Measures engine, limit, and the engine in one process and with several workers at each rate.
    pub async fn paced(&mut self) -> Result<Vec<Paced>> {
        let mut all = Vec::new();
        self.installation.renew().await?;
        self.at_rates("engine", ENGINE, &mut all).await?;
        self.installation.renew_for_limit(false).await?;
        self.at_rates(LIMIT_NAME, LIMIT, &mut all).await?;
        self.installation.renew_in_one_process().await?;
        self.at_rates("one process", ENGINE, &mut all).await?;
        self.installation.renew_with_workers(4).await?;
        self.at_rates("4 workers", ENGINE, &mut all).await?;
        Ok(all)
    }

    async fn at_rates(&self, runner: &'static str, route: Route, all: &mut Vec<Paced>) -> Result<()> {
        self.run_some(route.clone()).await.with_context(|| format!("{runner}: warm-up"))?;
        let meter = self.installation.meter()?;
        for rate in RATES {
            let per_second = u64::from(rate);
            let flow = Flow { in_flight: self.extent.in_flight, pace: Some(f64::from(rate)) };
            let generator =
                Generator::start(&self.installation.amqp_url(), route.clone(), ONE_ACTION, flow).await?;
            let context = || format!("{runner} at {rate}/s");
            generator.wait_received(WARM_UP * per_second, None).await.with_context(context)?;
            let window = self.measure(&generator, &meter, SECONDS * per_second).await?;
            generator.finish().await.with_context(context)?;
            all.push(Paced { rate, runner, window });
        }
        Ok(())
    }

    /// Runs orders as fast as they go.
    async fn run_some(&self, route: Route) -> Result<()> {
        let flow = Flow { in_flight: self.extent.in_flight, pace: None };
        let generator = Generator::start(&self.installation.amqp_url(), route, ONE_ACTION, flow).await?;
        generator.wait_received(FIRST, None).await?;
        generator.finish().await?;
        Ok(())
    }
}

/// The table of all rounds, in Markdown.
pub fn section(rounds: &[Vec<Paced>]) -> String {
    let mut lines = vec![head(&HEAD, &[])];
    for (rate, runner) in rounds.first().into_iter().flatten().map(|paced| (paced.rate, paced.runner)) {
        let of = |round: &'_ Vec<Paced>, runner| {
            round.iter().position(|paced| paced.rate == rate && paced.runner == runner)
        };
        let measured = rounds.iter().filter_map(|round| Some(&round[of(round, runner)?])).collect();
        let ratio = |round: &Vec<Paced>| {
            Some(round[of(round, runner)?].cpu_an_order() / round[of(round, LIMIT_NAME)?].cpu_an_order())
        };
        let ratio = median(rounds.iter().filter_map(ratio).collect(), |&ratio: &f64| ratio);
        if let Some(paced) = median(measured, |paced: &&Paced| paced.cpu_an_order()) {
            lines.push(cells(paced, ratio));
        }
    }
    let date = jiff::Zoned::now().strftime("%Y-%m-%d");
    let mut text = format!("\n### At steady rates\n\nMeasured on {date} by `./dev bench paced`, in ");
    let _ = writeln!(
        text,
        "{} rounds; a line is that of the round with the median CPU.\n\n{}",
        rounds.len(),
        table(&lines)
    );
    text
}

fn cells(paced: &Paced, of_the_limit: Option<f64>) -> Vec<String> {
    let window = &paced.window;
    let time =
        |share| window.latencies.percentile(share).map_or_else(String::new, |time| format!("{time:.1}"));
    let mut cells = vec![
        paced.rate.to_string(),
        paced.runner.to_owned(),
        time(0.5),
        time(0.99),
        time(0.999),
        format!("{:.3}", paced.cpu_an_order() * 1000.0),
        of_the_limit.map_or_else(String::new, |ratio| format!("{ratio:.2}")),
        format!("{:.2}", window.cpu.all() / window.seconds),
        format!("{:.3}", window.written.commits),
        format!("{:.0} %", window.cpu.others * 100.0),
    ];
    cells.extend(window.cpu.columns(|seconds| milliseconds_an_order(seconds, window.orders)));
    cells
}
