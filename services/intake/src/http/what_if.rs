//! `POST /v1/flows/{flow}/what-if`: the last hour of a flow, played through other settings. Touches no order.

mod recording;

use std::sync::LazyLock;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use jiff::{SignedDuration, Timestamp};
use pagurus_domain::flow::{FlowChanges, MinuteFigures};
use pagurus_domain::number::saturated;
use pagurus_runtime::aside;
use pagurus_wire::problem::{Problem, Type};
use pagurus_wire::what_if::{RecordedAndReplayed, WhatIfStep, WhatIfSystem, WhatIfTotals, WhatIfView};
use pagurus_workbench::lab::{self, NoReplay, Replay, SystemEstimate};
use tokio::sync::Semaphore;

use super::body::Sent;
use super::caller::ScopedViews;
use super::query::Path;
use super::{HttpResult, ProblemResponse};
use crate::Intake;

/// Replays at the same time: they need processors that orders need, too.
static REPLAYS: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(aside::places()));
const FACTORS: std::ops::RangeInclusive<f64> = 0.01..=100.0;
const WEIGHTS: std::ops::RangeInclusive<u32> = 1..=1000;
const MINUTE: Duration = Duration::from_secs(60);

/// `POST /v1/flows/{flow}/what-if`
pub(super) async fn play(
    State(intake): State<Intake>,
    ScopedViews(views): ScopedViews,
    Path(flow): Path<String>,
    Sent(changes): Sent<FlowChanges>,
) -> HttpResult<Json<WhatIfView>> {
    check(&changes)?;
    let Ok(permit) = REPLAYS.try_acquire() else {
        return Err(ProblemResponse(Problem::new(Type::Busy, "other flows are being replayed; try again")));
    };
    let record = views.recorded(&flow).await?;
    let recording = recording::of(&flow, &record, &intake.host.settings());
    let played = aside::run("what-if", move || {
        // Also if the caller has gone away.
        let _permit = permit;
        lab::replay(&recording, &changes)
    });
    let failed = || ProblemResponse(Problem::new(Type::Internal, "the engine failed; its log has details"));
    let replay = played.await.ok_or_else(failed)?.map_err(refused)?;
    Ok(Json(view(flow, record.from, replay)))
}

fn refused(why: NoReplay) -> ProblemResponse {
    let kind = match why {
        NoReplay::Empty => Type::NotFound,
        NoReplay::TooMuch => Type::Invalid,
    };
    ProblemResponse(Problem::new(kind, why.to_string()))
}

fn check(changes: &FlowChanges) -> Result<(), Problem> {
    let FlowChanges { mode: _, max_limit, weight, load, call_time, capacity } = *changes;
    for (field, factor) in [("load", load), ("callTime", call_time), ("capacity", capacity)] {
        if factor.is_some_and(|factor| !FACTORS.contains(&factor)) {
            return Err(Problem::of_field(&format!("/{field}"), "must be a factor from 0.01 to 100"));
        }
    }
    if max_limit == Some(0) {
        return Err(Problem::of_field("/maxLimit", "must be at least 1"));
    }
    if weight.is_some_and(|weight| !WEIGHTS.contains(&weight)) {
        return Err(Problem::of_field("/weight", "must be from 1 to 1000"));
    }
    Ok(())
}

fn view(flow: String, from: Timestamp, replay: Replay) -> WhatIfView {
    let Replay { skipped, systems, recorded, replayed, changed, likeness } = replay;
    let minute = |number: usize| {
        let passed = SignedDuration::try_from(MINUTE * saturated::<u32>(number)).unwrap_or_default();
        from.checked_add(passed).unwrap_or(from)
    };
    let totals = RecordedAndReplayed {
        recorded: totals(&recorded),
        replayed: totals(&replayed),
        changed: totals(&changed),
    };
    let until = minute(skipped + recorded.len());
    let three = recorded.into_iter().zip(replayed).zip(changed).enumerate();
    let steps = three.map(|(number, ((recorded, replayed), changed))| WhatIfStep {
        at: minute(skipped + number),
        figures: RecordedAndReplayed { recorded, replayed, changed },
    });
    WhatIfView {
        flow,
        from: minute(skipped),
        until,
        skipped_minutes: saturated::<u32>(skipped),
        likeness,
        systems: systems.into_iter().map(system).collect(),
        totals,
        steps: steps.collect(),
    }
}

fn system((system, estimate): (String, SystemEstimate)) -> WhatIfSystem {
    WhatIfSystem {
        system,
        at_once: estimate.servers,
        was_full: estimate.was_full,
        call_ms: estimate.calm * 1e3,
        failed_part: estimate.failed,
    }
}

fn totals(minutes: &[MinuteFigures]) -> WhatIfTotals {
    let sum = |figure: fn(&MinuteFigures) -> f64| minutes.iter().map(figure).sum::<f64>();
    let waited = sum(|minute| minute.wait_ms.unwrap_or_default() * minute.ended);
    let ended = sum(|minute| minute.ended);
    WhatIfTotals {
        came: sum(|minute| minute.came),
        ended,
        repeated: sum(|minute| minute.repeated),
        wait_ms: (ended > 0.0).then(|| waited / ended),
        most_waiting: minutes.iter().map(|minute| minute.waiting).fold(0.0, f64::max),
        waiting_at_end: minutes.last().map_or(0.0, |minute| minute.waiting),
    }
}
