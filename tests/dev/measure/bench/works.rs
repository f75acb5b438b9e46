//! The reference works: each on fresh services and an empty database, warmed up, measured over a window.
//! Never changes the load to suit the engine: what is in flight is bounded, and the same for all.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use pagurus_harness::nodes::Role;

use super::cpu::{Meter, Usage};
use super::installation::Installation;
use super::limit;
use super::load::{BODY_BYTES, Flow, Generator, Latencies, Orders, Route};
use super::profile::Profile;
use super::stub::Stub;
use super::writes::{Writes, Written};

/// Orders before each measurement: connections, caches and plans are as they stay then.
const WARM_UP: u64 = 4000;
/// The same where one order runs at a time.
const WARM_UP_IDLE: u64 = 100;
/// Number of single orders; more of them make the percentiles no better.
const IDLE_ORDERS: u64 = 1000;

/// Parallel orders with one HTTP call.
pub const ONE_ACTION: Orders =
    Orders { scenario: "bench-one-action", queues: None, bytes: BODY_BYTES, grouped: false };
const GROUPED: Orders = Orders { grouped: true, ..ONE_ACTION };
const THREE_STAGE: Orders = Orders { scenario: "bench-three-stage", ..ONE_ACTION };
const SEQUENTIAL: Orders = Orders { queues: Some(1000), ..ONE_ACTION };
/// Bytes of the orders that a work sends at most, and of those in flight: longer orders are fewer.
const SENT_BYTES: u64 = 400_000_000;
const IN_FLIGHT_BYTES: usize = 50_000_000;

/// The way in and out of the engine.
pub const ENGINE: Route = Route {
    exchange: "pagurus.orders",
    key: "order.create",
    notify: "amqp://?key=bench",
    notifications: Some(("pagurus.notifications", "bench")),
    queue: "bench.notifications",
};
/// The same past all exchanges, as the limit has it.
const STRAIGHT: Route = Route {
    exchange: "",
    key: "pagurus.orders.in",
    notify: "amqp://?queue=bench.notifications",
    notifications: None,
    queue: "bench.notifications",
};
/// The way in and out of the hand-written pipeline.
pub const LIMIT: Route = Route {
    exchange: "",
    key: limit::ORDERS,
    notify: "amqp://?key=bench",
    notifications: None,
    queue: limit::NOTIFICATIONS,
};

/// Name of the hand-written pipeline that could be taken over.
pub const LIMIT_WITH_CLAIM: &str = "limit with a claim";

/// Extent of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Orders of a window.
    pub orders: u64,
    /// Longest time of a window.
    pub longest: Duration,
    /// Orders in flight at most.
    pub in_flight: usize,
    /// Sleepers that are due within one second.
    pub due: u32,
    /// True if the windows are profiled.
    pub profile: bool,
}

/// Result for one work: a line of the table.
#[derive(Clone, Debug)]
pub struct Row {
    /// The work.
    pub work: &'static str,
    /// Orders in the window.
    pub orders: u64,
    /// Orders a second; `None` if speed was not the aim.
    pub rate: Option<f64>,
    /// Processor time in the window.
    pub cpu: Usage,
    /// Times from publishing to notification; empty if nobody is notified.
    pub latencies: Latencies,
    /// Resident megabytes of the services before and at the end of the load.
    pub memory: Option<(Memory, Memory)>,
    /// Further remarks.
    pub notes: Vec<String>,
}

impl Row {
    /// Processor time of an order in seconds, of all processes.
    pub fn cpu_an_order(&self) -> f64 {
        self.cpu.all() / self.orders.max(1) as f64
    }
}

/// Resident megabytes of services.
pub type Memory = BTreeMap<Role, f64>;

/// Measurements between two moments.
#[derive(Debug)]
pub struct Window {
    /// Notified orders.
    pub orders: u64,
    /// Length in seconds.
    pub seconds: f64,
    /// Processor time.
    pub cpu: Usage,
    /// Latencies of the notified orders.
    pub latencies: Latencies,
    /// Amounts written to the database.
    pub written: Written,
}

impl Window {
    /// Returns the window as a line of the table.
    pub fn row(self, work: &'static str) -> Row {
        Row {
            work,
            orders: self.orders,
            rate: Some(self.orders as f64 / self.seconds),
            cpu: self.cpu,
            latencies: self.latencies,
            memory: None,
            notes: vec![self.written.to_string()],
        }
    }
}

/// The measuring of works, one after the other.
pub struct Works<'a> {
    /// Installation to measure.
    pub installation: &'a mut Installation,
    /// Called system.
    pub stub: &'a Stub,
    /// Extent of a measurement.
    pub extent: Extent,
}

impl Works<'_> {
    /// The hand-written pipeline under the load of one-action, and with one order at a time.
    pub async fn limit(&mut self) -> Result<Row> {
        self.installation.renew_for_limit(false).await?;
        self.loaded("limit", LIMIT, ONE_ACTION).await
    }

    /// The same with a claim of each order.
    pub async fn limit_with_claim(&mut self) -> Result<Row> {
        self.installation.renew_for_limit(true).await?;
        self.loaded(LIMIT_WITH_CLAIM, LIMIT, ONE_ACTION).await
    }

    /// The pipeline without claims, one order at a time.
    pub async fn limit_idle(&mut self) -> Result<Row> {
        self.installation.renew_for_limit(false).await?;
        self.one_at_a_time("limit, idle", LIMIT).await
    }

    /// Measures orders with one HTTP call.
    pub async fn one_action(&mut self) -> Result<Row> {
        self.installation.renew().await?;
        self.loaded("one-action", ENGINE, ONE_ACTION).await
    }

    /// Measures one HTTP call, orders and notifications straight from queue to queue.
    pub async fn straight(&mut self) -> Result<Row> {
        self.installation.renew().await?;
        self.loaded("straight", STRAIGHT, ONE_ACTION).await
    }

    /// Measures one HTTP call, with many orders in a message and their ends in groups.
    pub async fn grouped(&mut self) -> Result<Row> {
        self.installation.renew().await?;
        self.loaded("grouped", STRAIGHT, GROUPED).await
    }

    /// Measures one HTTP call, with all services in one process.
    pub async fn one_process(&mut self) -> Result<Row> {
        self.installation.renew_in_one_process().await?;
        self.loaded("one process", ENGINE, ONE_ACTION).await
    }

    /// The same with one order at a time.
    pub async fn one_process_idle(&mut self) -> Result<Row> {
        self.installation.renew_in_one_process().await?;
        self.one_at_a_time("one process, idle", ENGINE).await
    }

    /// A call, a callback, a call.
    pub async fn three_stage(&mut self) -> Result<Row> {
        self.installation.renew().await?;
        self.loaded("three-stage", ENGINE, THREE_STAGE).await
    }

    /// Measures one HTTP call, over a thousand queues.
    pub async fn sequential(&mut self) -> Result<Row> {
        self.installation.renew().await?;
        self.loaded("sequential", ENGINE, SEQUENTIAL).await
    }

    /// Measures one order at a time.
    pub async fn idle(&mut self) -> Result<Row> {
        self.installation.renew().await?;
        self.one_at_a_time("idle", ENGINE).await
    }

    /// Measures one HTTP call for orders that are longer and longer.
    pub async fn bodies(&mut self) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for (work, bytes) in [("10 KB bodies", 10_000), ("100 KB bodies", 100_000)] {
            self.installation.renew().await?;
            rows.push(self.loaded(work, ENGINE, Orders { bytes, ..ONE_ACTION }).await?);
        }
        Ok(rows)
    }

    /// Measures one HTTP call with more and more workers on the same cores.
    pub async fn workers(&mut self) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for (work, workers) in [("2 workers", 2), ("4 workers", 4)] {
            self.installation.renew_with_workers(workers).await?;
            rows.push(self.loaded(work, ENGINE, ONE_ACTION).await?);
        }
        Ok(rows)
    }

    /// Full load on what is installed now.
    pub async fn loaded(&mut self, work: &'static str, route: Route, orders: Orders) -> Result<Row> {
        let most = SENT_BYTES / orders.bytes as u64;
        let (count, warm_up) = (self.extent.orders.min(most), self.extent.orders.min(WARM_UP).min(most / 4));
        let in_flight = self.extent.in_flight.min(IN_FLIGHT_BYTES / orders.bytes);
        let failed_before = self.stub.failed_callbacks();
        let meter = self.installation.meter()?;
        let idle = meter.memory();
        let flow = Flow { in_flight, pace: None };
        let generator = Generator::start(&self.installation.amqp_url(), route, orders, flow).await?;
        generator.wait_received(warm_up, None).await.with_context(|| format!("{work}: warm-up"))?;
        let window = self.measure(&generator, &meter, count).await?;
        let loaded = meter.memory();
        let (sent, repeated) = generator.finish().await.with_context(|| format!("{work}: the end"))?;
        let mut row = window.row(work);
        row.memory = Some((idle, loaded)).filter(|(idle, _)| !idle.is_empty());
        if repeated > 0 {
            row.notes.push(format!("{repeated} of {sent} notifications came more than once"));
        }
        let failed = self.stub.failed_callbacks() - failed_before;
        if failed > 0 {
            row.notes.push(format!("{failed} callbacks were not taken"));
        }
        Ok(row)
    }

    async fn one_at_a_time(&mut self, work: &'static str, route: Route) -> Result<Row> {
        let meter = self.installation.meter()?;
        let flow = Flow { in_flight: 1, pace: None };
        let generator = Generator::start(&self.installation.amqp_url(), route, ONE_ACTION, flow).await?;
        generator.wait_received(WARM_UP_IDLE, None).await.with_context(|| format!("{work}: warm-up"))?;
        let window = self.measure(&generator, &meter, IDLE_ORDERS.min(self.extent.orders)).await?;
        generator.finish().await.with_context(|| format!("{work}: the end"))?;
        let mut row = window.row(work);
        row.rate = None;
        Ok(row)
    }

    /// Measures the next orders of a running load.
    pub async fn measure(&self, generator: &Generator, meter: &Meter, orders: u64) -> Result<Window> {
        let profile = match self.extent.profile {
            true => Some(Profile::start(self.installation, meter).await?),
            false => None,
        };
        let database = self.installation.database().await?;
        let written = Writes::read(&database).await?;
        generator.take_latencies();
        let (cpu, begun, first) = (meter.read()?, Instant::now(), generator.received());
        generator.wait_received(first + orders, Some(begun + self.extent.longest)).await?;
        let seconds = begun.elapsed().as_secs_f64();
        let orders = generator.received() - first;
        let cpu = cpu.until(&meter.read()?);
        let latencies = generator.take_latencies();
        let written = Writes::read(&database).await?.since(&written, orders);
        if let Some(profile) = profile {
            profile.finish(orders).await?;
        }
        Ok(Window { orders, seconds, cpu, latencies, written })
    }
}
