//! Judgement of forecasts of starts whose time has come (ORD-30).

use std::time::Duration;

use pagurus_domain::number::saturated;
use pagurus_runtime::Host;
use pagurus_runtime::task::{BackgroundTask, NextTurn, TurnPause};
use pagurus_store::Error;
use pagurus_store::upkeep::forecasts;

use crate::recover::note;

/// Interval between two looks.
const EVERY: Duration = Duration::from_secs(2);
/// Forecasts of one look.
const BATCH: i64 = 1000;

/// The look at forecasts.
#[derive(Default)]
pub(crate) struct ForecastJudge;

impl BackgroundTask for ForecastJudge {
    const PAUSE: TurnPause = |_| EVERY;

    async fn turn(&mut self, host: &Host) -> NextTurn {
        let judged = judge(host).await;
        let is_full = matches!(judged, Ok(count) if saturated::<i64>(count) >= BATCH);
        note(host, "forecasts", judged.map(|_| ()));
        if is_full { NextTurn::AtOnce } else { NextTurn::AfterPause }
    }
}

async fn judge(host: &Host) -> Result<u64, Error> {
    let client = host.store.operations().await?;
    let judged = forecasts::judge(&client, BATCH).await?;
    if judged > 0 {
        forecasts::forget(&client).await?;
    }
    Ok(judged)
}
