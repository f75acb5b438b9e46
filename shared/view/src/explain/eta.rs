//! Forecast of the start of a waiting order (ORD-30), from its place and the figures of its flow.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use pagurus_domain::activation::Stream;
use pagurus_domain::flow::{
    FlowRecord, HolderWait, StartEstimate, queue_estimate, standstill, start_estimate,
};
use pagurus_domain::id::OrderNo;
use pagurus_runtime::config::Settings;
use pagurus_store::hot::queues::{self, QueueHolder};
use pagurus_store::outside::orders::OrderRow as Row;
use pagurus_store::upkeep::flows;
use pagurus_store::upkeep::forecasts::{self, ForecastRecord};
use pagurus_store::upkeep::stops;
use pagurus_store::{Client, Error};
use pagurus_wire::foresight::{EtaRecord, EtaView};

use super::capacity;

/// Stages that are counted before one, at most. Behind more, a forecast of the start is useless.
const MOST: i64 = 100_000;

/// A stage that waits for a worker.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitingStage<'a> {
    /// Order of the stage.
    pub no: OrderNo,
    /// Flow of the order.
    pub flow: &'a str,
    /// Time since which it may run.
    pub since: Timestamp,
    /// The queue, with its place there.
    pub queue: Option<(&'a str, i64)>,
}

/// Forecast of the start of a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StartOutlook {
    /// Time until which its flow is stopped by hand.
    pub stopped_until: Option<Timestamp>,
    /// The time until it starts; none where that is not known, or its flow is stopped.
    pub start: Option<StartEstimate>,
    /// Time since which nothing of its flow has ended, although it was forecast to start earlier.
    pub still_since: Option<Timestamp>,
}

/// Figures of a flow for a forecast.
#[derive(Clone, Debug, Default)]
pub(super) struct FlowOutlook {
    /// Set while it is stopped by hand: until when, where that is known.
    stopped: Option<Option<Timestamp>>,
    record: Option<FlowRecord>,
}

impl FlowOutlook {
    /// Reads the present figures of a flow.
    pub async fn read(client: &Client, flow: &str) -> Result<Self, Error> {
        let stops = stops::of_flow(client, flow).await?;
        if !stops.is_empty() {
            let ends: Option<Vec<Timestamp>> = stops.iter().map(|stop| stop.rule.until).collect();
            return Ok(Self { stopped: Some(ends.and_then(|ends| ends.into_iter().max())), record: None });
        }
        Ok(Self { stopped: None, record: flows::one(client, flow).await?.map(|known| known.record) })
    }

    /// Forecasts the start of a stage of this flow. If only an upper bound is wanted, the stages before it are not counted.
    pub async fn start_of(
        &self,
        client: &Client,
        stage: WaitingStage<'_>,
        is_bound: bool,
    ) -> Result<StartOutlook, Error> {
        if let Some(until) = self.stopped {
            return Ok(StartOutlook { stopped_until: until, ..StartOutlook::default() });
        }
        let Some(record) = &self.record else { return Ok(StartOutlook::default()) };
        let before = match stage.queue {
            Some((queue, position)) => queues::before(client, queue, position).await?,
            None => 0,
        };
        let start = if let Some((queue, _)) = stage.queue.filter(|_| before > 0) {
            let holder = queues::holder(client, queue).await?;
            let wait = holder.and_then(|holder| wait_of(&holder, Timestamp::now()));
            queue_estimate(record, u32::try_from(before).unwrap_or(u32::MAX), wait)
        } else if is_bound {
            start_estimate(record, record.ready.sum())
        } else {
            let position = flows::ready_before(client, stage.flow, stage.no, MOST).await?;
            start_estimate(record, position)
        };
        let still = |start| standstill(record, start, stage.since, Timestamp::now());
        let still_since = start.and_then(still);
        Ok(StartOutlook { stopped_until: None, start: start.filter(|_| still_since.is_none()), still_since })
    }
}

/// The wait of the holder of a queue, as far as its time is known.
fn wait_of(holder: &QueueHolder, now: Timestamp) -> Option<HolderWait> {
    let (stream, until) = holder.waits?;
    let time =
        |from: Timestamp, to: Timestamp| Duration::try_from(to.duration_since(from)).unwrap_or_default();
    Some(HolderWait {
        left: time(now, until),
        held: holder.since.map_or(Duration::ZERO, |since| time(since, now)),
        is_answerable: stream == Stream::Wait,
    })
}

/// The stage of an order, where it waits for a worker.
pub(super) fn waiting(row: &Row) -> Option<WaitingStage<'_>> {
    let since = row.ready_since.filter(|_| row.running.is_none())?;
    let queue = row.queue.as_deref().zip(row.position);
    Some(WaitingStage { no: row.no, flow: &row.flow, since, queue })
}

/// Start of an order that waits for a worker: the time, or a clause that says why it is unknown.
pub(super) type Foreseen = (Option<EtaView>, Option<String>);

/// Forecasts the start of an order that waits for a worker. No time is given for other orders, if nothing is known, or if
/// nobody hands stages out or takes them. If its flow stands still, a clause says so instead.
pub(super) async fn of(
    client: &Client,
    row: &Row,
    settings: &Settings,
    now: Timestamp,
) -> Result<Foreseen, Error> {
    let Some(stage) = waiting(row) else { return Ok((None, None)) };
    if !capacity::goes_on(client, settings).await? {
        return Ok((None, None));
    }
    let outlook = FlowOutlook::read(client, stage.flow).await?.start_of(client, stage, false).await?;
    let eta = outlook.start.and_then(|StartEstimate { p50, p90 }| {
        let at = |after| now.checked_add(SignedDuration::try_from(after).ok()?).ok();
        Some((at(p50)?, at(p90)?))
    });
    let eta = match eta {
        Some((p50, p90)) => {
            forecasts::give(client, stage.no, p90).await?;
            let ForecastRecord { forecasts, held } = forecasts::record(client).await?;
            Some(EtaView { p50, p90, record: (forecasts > 0).then_some(EtaRecord { forecasts, held }) })
        }
        None => None,
    };
    let still = |since| {
        format!(
            "; no stage of its flow has ended since {since:.3}, longer than it was expected to wait: see `pagurus doctor`"
        )
    };
    Ok((eta, outlook.still_since.map(still)))
}
