//! A control as it is stored for the next dispatcher. Must never fail on what it cannot read: that is forgotten.

use jiff::Timestamp;
use pagurus_domain::flow::Decision;
use serde_json::{Value, json};

use super::probing::Probing;
use super::{Control, MAX_DECISIONS, Phase};

impl Control {
    /// Knowledge and decisions.
    pub(in super::super) fn remember(&self) -> Value {
        let phase = match self.phase {
            Phase::Open => json!("open"),
            Phase::Stopped(until) => json!({"stopped": until.as_millisecond()}),
            Phase::Probing(_) => json!("probing"),
        };
        json!({
            "phase": phase, "rule": self.rule.remember(), "pauses": self.pauses,
            "relapses": self.relapses, "borne": self.borne, "sampled": self.is_sampled, "asked": self.was_asked, "stoppedSince": self.stopped_since.map(Timestamp::as_millisecond),
        })
    }

    /// Goes on where another dispatcher was. Probes that it sent may be lost: as many go again.
    pub(in super::super) fn recall(&mut self, memory: &Value, decisions: &[Decision], now: Timestamp) {
        let Some(phase) = memory.get("phase") else { return };
        if let Some(rule) = memory.get("rule") {
            self.rule.recall(rule);
        }
        let stopped = phase.get("stopped").and_then(Value::as_i64);
        self.phase = match stopped.and_then(|until| Timestamp::from_millisecond(until).ok()) {
            Some(until) => Phase::Stopped(until),
            None if phase.as_str() == Some("probing") => {
                Phase::Probing(Probing { first: Some(now), left: 1, sent: 0, good: 0, ended: 0, again: now })
            }
            None => Phase::Open,
        };
        let count =
            |key: &str| memory.get(key).and_then(Value::as_u64).map_or(0, |count| count.min(99) as u32);
        (self.pauses, self.relapses) = (count("pauses"), count("relapses"));
        self.borne = memory.get("borne").and_then(Value::as_f64).filter(|borne| borne.is_finite());
        let since = memory.get("stoppedSince").and_then(Value::as_i64);
        self.stopped_since = since.and_then(|since| Timestamp::from_millisecond(since).ok());
        self.was_asked = memory.get("asked").and_then(Value::as_bool).unwrap_or_default();
        self.is_sampled = memory.get("sampled").and_then(Value::as_bool).unwrap_or_default();
        self.decisions = decisions.iter().rev().take(MAX_DECISIONS).rev().cloned().collect();
    }
}
