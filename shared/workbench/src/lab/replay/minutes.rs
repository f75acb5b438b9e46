//! Figures of each minute, of the record and of a replay alike.

use pagurus_domain::flow::MinuteFigures;

use super::{FlowMinute, RecordedFlow, situation};
use crate::lab::LabRun;
use crate::lab::trace::{FlowLook, Trace};

const SECONDS: usize = 60;

/// Figures of a record.
pub(super) fn recorded(flow: &RecordedFlow) -> Vec<MinuteFigures> {
    let mut waiting = situation::backlog(&flow.minutes);
    let figures = flow.minutes.iter().map(|counts| {
        let FlowMinute { came, ended, waited, repeated, .. } = *counts;
        waiting = (waiting + came - ended - repeated).max(0.0);
        MinuteFigures {
            came: (came - repeated).max(0.0),
            ended,
            repeated,
            wait_ms: (ended > 0.0).then(|| waited / ended * 1e3),
            waiting,
            limit: None,
        }
    });
    figures.collect()
}

/// Figures of the first flow of a run.
pub(super) fn played(run: &LabRun) -> Vec<MinuteFigures> {
    let looks = run.trace.flows.first().map_or(&[][..], |looks| looks);
    let figures = (0..looks.len() / SECONDS).map(|minute| {
        let [before, after] =
            [minute, minute + 1].map(|minute| Trace::flow_at(looks, (minute * SECONDS) as f64));
        figures(&before, &after)
    });
    figures.collect()
}

fn figures(before: &FlowLook, after: &FlowLook) -> MinuteFigures {
    let all = f64::from(after.ended) - f64::from(before.ended);
    let repeated = f64::from(after.failed) - f64::from(before.failed);
    let waited = f64::from(after.waited) - f64::from(before.waited);
    MinuteFigures {
        came: f64::from(after.came) - f64::from(before.came),
        ended: all - repeated,
        repeated,
        wait_ms: (all > 0.0).then(|| waited / all * 1e3),
        waiting: f64::from(after.ready + after.in_progress),
        limit: after.limit,
    }
}

/// Likeness of two rows of minutes by what ended in each: 1 if they are equal.
pub(super) fn likeness(recorded: &[MinuteFigures], replayed: &[MinuteFigures]) -> f64 {
    let all: f64 = recorded.iter().map(|minute| minute.ended).sum();
    let apart: f64 = recorded.iter().zip(replayed).map(|(one, other)| (one.ended - other.ended).abs()).sum();
    if all > 0.0 { (1.0 - apart / all).max(0.0) } else { 0.0 }
}
