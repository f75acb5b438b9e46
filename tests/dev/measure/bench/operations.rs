//! Work of operators among millions of orders: searches, and the restart of a million at once (REC-12, REC-13).
//! Never waits for all that a bulk operation does: how fast it goes is known long before.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use pagurus_harness::client::{Api, http};
use serde_json::json;

use super::copies;
use super::load::{Flow, Generator, Latencies};
use super::works::{ENGINE, ONE_ACTION, Row, Works};

/// Failed orders, all of which are selected, and how many of them are restarted while it is measured.
const FAILED: i64 = 1_000_000;
const RESTARTED: u64 = 100_000;
/// Ended orders that are searched through.
const SEARCHED: i64 = 10_000_000;
/// Number of other orders a second meanwhile: well below what the machine can do, so that a wait shows.
const PACE: f64 = 200.0;
/// Number of other orders that run alone before, for comparison.
const ALONE: u64 = 1000;
const PATIENCE: Duration = Duration::from_secs(600);
/// Repeats of each search after the first, which finds nothing in the caches of the database.
const REPEATS: usize = 20;

/// Fails at once; [`MENDED`] is its next version.
const BROKEN: &str = include_str!("broken.yaml");
/// Scenario that is mended.
pub const MENDED: &str = "bench-mended";

impl Works<'_> {
    /// A restart of a million failed orders under a mended scenario, and others that go on meanwhile.
    pub async fn operation(&mut self) -> Result<Row> {
        let api = self.with_copies("fail", FAILED).await?;
        let mended = include_str!("one-action.yaml").replace("bench-one-action", MENDED);
        api.put_scenario(MENDED, &mended).await?;
        let meter = self.installation.meter()?;
        let flow = Flow { in_flight: self.extent.in_flight, pace: Some(PACE) };
        let generator = Generator::start(&self.installation.amqp_url(), ENGINE, ONE_ACTION, flow).await?;
        generator.wait_received(ALONE / 2, None).await?;
        let alone = self.measure(&generator, &meter, ALONE).await?.latencies;
        let (before, begun) = (meter.read()?, Instant::now());
        let asked = json!({
            "action": "restart", "search": {"status": "fail"}, "reason": "the scenario is mended",
            "with": {"from": "initial", "scenarioVersion": 2},
        });
        let made = api.post("/v1/operations", &asked).await?.success()?;
        let path = format!("/v1/operations/{}", made["operation"]["no"]);
        let mut selected = None;
        let done = loop {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let now = api.get(&path).await?.success()?;
            if now["selecting"] == false && selected.is_none() {
                selected = Some((begun.elapsed(), now["total"].clone()));
            }
            let done = now["done"].as_u64().unwrap_or_default();
            if done >= RESTARTED && selected.is_some() {
                break done;
            }
            if begun.elapsed() > PATIENCE || now["failed"] != 0 || now["skipped"] != 0 {
                bail!("after {:?}: {now}", begun.elapsed());
            }
        };
        let seconds = begun.elapsed().as_secs_f64();
        let (cpu, latencies) = (before.until(&meter.read()?), generator.take_latencies());
        api.post(&format!("{path}/abort"), &json!({"reason": "measured"})).await?.success()?;
        generator.finish().await?;
        let (selecting, total) = selected.context("nothing was selected")?;
        let p99 = |latencies: &Latencies| latencies.percentile(0.99).unwrap_or_default();
        Ok(Row {
            work: "operation",
            orders: done,
            rate: Some(done as f64 / seconds),
            cpu,
            latencies,
            memory: None,
            notes: vec![format!(
                "{total} failed orders were selected for a restart in {:.1} s, {done} of them restarted and carried out as far as \
                 the engine had got after {seconds:.1} s; the latencies are those of {PACE} other orders a second meanwhile (p99 \
                 before: {:.0} ms)",
                selecting.as_secs_f64(),
                p99(&alone)
            )],
        })
    }

    /// Measures one page of each kind of search among ten million orders, nearly all of which have ended `success`.
    pub async fn searches(&mut self) -> Result<Row> {
        let (api, middle) = self.millions().await?;
        let meter = self.installation.meter()?;
        let before = meter.read()?;
        let (mut all, mut notes) = (Vec::new(), Vec::new());
        for (name, query) in kinds(middle) {
            let mut times = Vec::new();
            let mut found = 0;
            for _ in 0..=REPEATS {
                let begun = Instant::now();
                let page = api.get(&format!("/v1/orders?limit=100&{query}")).await?;
                times.push(u32::try_from(begun.elapsed().as_micros())?);
                found = page.success()?["items"].as_array().map_or(0, Vec::len);
            }
            let milliseconds = |microseconds: u32| f64::from(microseconds) / 1000.0;
            let first = milliseconds(times.remove(0));
            let slowest = milliseconds(times.iter().copied().max().unwrap_or_default());
            let median = Latencies::of(times.clone()).percentile(0.5).unwrap_or_default();
            notes.push(format!(
                "{name}: {found} orders; first {first:.1} ms, then {median:.1}, at most {slowest:.1}"
            ));
            all.extend(times);
        }
        let cpu = before.until(&meter.read()?);
        let orders = all.len() as u64;
        let latencies = Latencies::of(all);
        Ok(Row { work: "search", orders, rate: None, cpu, latencies, memory: None, notes })
    }

    /// Fresh services, ten million ended orders and a hundred thousand failed ones; and a time between the two kinds.
    pub async fn millions(&mut self) -> Result<(Api, Timestamp)> {
        let api = self.with_copies("fail", SEARCHED / 100).await?;
        let middle = Timestamp::now();
        let mended = include_str!("one-action.yaml").replace("bench-one-action", MENDED);
        api.put_scenario(MENDED, &mended).await?;
        self.copies_of("ended", MENDED, "success", SEARCHED).await?;
        Ok((api, middle))
    }

    /// Fresh services, and copies of an order that ended like this under the broken scenario.
    async fn with_copies(&mut self, status: &str, count: i64) -> Result<Api> {
        self.installation.renew().await?;
        let api = Api::new(http()?, format!("http://{}", self.installation.intake()));
        api.put_scenario(MENDED, BROKEN).await?;
        self.copies_of("broken", MENDED, status, count).await?;
        Ok(api)
    }

    async fn copies_of(&self, id: &str, scenario: &str, status: &str, count: i64) -> Result<()> {
        self.submit(id, scenario).await?;
        let database = self.installation.database().await?;
        let template = copies::template(&database, id, status).await?;
        copies::make(&database, template, count).await?;
        Ok(())
    }
}

/// Searches by every access path; most of them find more orders than a page has, or pass over all that they look at.
fn kinds(middle: Timestamp) -> Vec<(&'static str, String)> {
    let missing = "no-such-text";
    vec![
        ("all, newest first", String::new()),
        ("ids", "ids=ended-1000000,ended-2000000,ended-3000000".to_owned()),
        ("begin of the id", "idPrefix=ended-77".to_owned()),
        ("begin of the id and a text that none has", format!("idPrefix=ended-&text={missing}")),
        ("attribute that a hundred thousand have", "attributes.account=79110000001".to_owned()),
        ("attribute that none has", format!("attributes.account={missing}")),
        ("transaction that none has", format!("transactionId={missing}")),
        ("not ended", "status=new,running,sleep,wait,retry".to_owned()),
        ("failed", "status=fail".to_owned()),
        ("failed, with a class that none has", format!("status=fail&class={missing}")),
        ("failed, by a value of a parameter", "status=fail&params.tariff=light".to_owned()),
        ("failed, by a value that none has", format!("status=fail&params.tariff={missing}")),
        ("registered before a time", format!("createdUntil={middle}")),
        (
            "registered since a time, with a text that none has",
            format!("createdSince={middle}&text={missing}"),
        ),
        ("by a value that none has, since a time", format!("createdSince={middle}&params.tariff={missing}")),
        ("scenario and status, without a path of their own", format!("scenario={MENDED}&status=canceled")),
        ("queue that none stands in", format!("queue={missing}&status=new")),
        ("node", "node=worker".to_owned()),
    ]
}
