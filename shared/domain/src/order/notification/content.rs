//! Content of notifications (ORD-20): of the end of a life, of a transition, and of an order that needs a person.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

use crate::classes::{INCONSISTENT, POISON};
use crate::id::spelled;
use crate::json::json_text;
use crate::order::notification::notices::{
    EndNotice, MoveNotice, NoticeError, NoticeJeopardy, NoticeMove, NoticeParked,
};
use crate::order::{OrderError, OrderHead, ScenarioStatus, Status};

/// Content of a notification about the end of a life, besides what its client asked for (ORD-20).
#[derive(Clone, Debug)]
pub struct Content<'a> {
    /// The order.
    pub order: &'a OrderHead,
    /// Name of the scenario.
    pub scenario: &'a str,
    /// Version of the scenario.
    pub scenario_version: i32,
    /// Status in which the order ended.
    pub status: Status,
    /// Relation of the order to the target of its scenario.
    pub scenario_status: ScenarioStatus,
    /// The last state.
    pub step: Option<&'a str>,
    /// Set by the scenario.
    pub result: Option<&'a Value>,
    /// Set by the scenario.
    pub message: Option<&'a str>,
    /// Why it failed.
    pub error: Option<&'a OrderError>,
    /// First stage of this life begun at.
    pub started_at: Option<Timestamp>,
    /// Ended at; where it is suspended or in jeopardy, since when.
    pub finished_at: Timestamp,
    /// Stages of this life that ran, this last one counted in.
    pub stages: i32,
    /// Number of those among them that were repeats after a classified error.
    pub retries: i32,
}

/// Why an order needs a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParkedReason {
    /// Ended `fail` by a failure that no repeat mended, or a stage of it was handed out too often.
    RetriesExhausted,
    /// Suspended, without a time that its scenario set, for longer than `notify.parked_after`.
    Suspended,
    /// Rows of it are missing or unreadable.
    Inconsistent,
}

spelled!(ParkedReason {
    RetriesExhausted => "retries_exhausted",
    Suspended => "suspended",
    Inconsistent => "inconsistent",
});

impl Content<'_> {
    /// Why this end needs a person; none for one that was wanted.
    #[must_use]
    pub fn parked(&self) -> Option<ParkedReason> {
        let error = self.error.filter(|_| self.status == Status::Fail)?;
        match error.class.as_deref() {
            Some(INCONSISTENT) => Some(ParkedReason::Inconsistent),
            Some(POISON) => Some(ParkedReason::RetriesExhausted),
            _ => error.exhausted.then_some(ParkedReason::RetriesExhausted),
        }
    }

    /// The JSON body of an end, with the mark of the client, and times in this zone (IANA name; none is UTC).
    #[must_use]
    pub fn render(&self, correlation_id: Option<&str>, timezone: Option<&str>) -> String {
        json_text(&self.body(correlation_id, &Zone::of(timezone)))
    }

    /// The same of an order that needs a person, with the reason.
    #[must_use]
    pub fn render_parked(
        &self,
        reason: ParkedReason,
        correlation_id: Option<&str>,
        timezone: Option<&str>,
    ) -> String {
        let zone = Zone::of(timezone);
        let mut body = self.body(correlation_id, &zone);
        body.parked = Some(NoticeParked { reason: reason.as_str(), since: zone.write(self.finished_at) });
        if !self.status.is_final() {
            (body.finished_at, body.duration_ms) = (None, None);
        }
        json_text(&body)
    }

    /// The same of an order in jeopardy, with what is expected of it and why.
    #[must_use]
    pub fn render_jeopardy(
        &self,
        jeopardy: &Jeopardy<'_>,
        correlation_id: Option<&str>,
        timezone: Option<&str>,
    ) -> String {
        let zone = Zone::of(timezone);
        let mut body = self.body(correlation_id, &zone);
        (body.finished_at, body.duration_ms) = (None, None);
        body.jeopardy = Some(NoticeJeopardy {
            since: zone.write(self.finished_at),
            promise_at: zone.write(jeopardy.promise_at),
            expected_at: zone.write(jeopardy.expected_at),
            cause: jeopardy.cause,
        });
        json_text(&body)
    }

    fn body<'b>(&'b self, correlation_id: Option<&'b str>, zone: &Zone) -> EndNotice<'b> {
        let order = self.order;
        let duration_ms =
            |begin: Timestamp| (self.finished_at.as_millisecond() - begin.as_millisecond()).max(0);
        EndNotice {
            id: &order.id,
            correlation_id,
            transaction_id: order.transaction_id.as_deref(),
            labels: order.labels.given(),
            scenario: self.scenario,
            scenario_version: self.scenario_version,
            status: self.status.as_str(),
            scenario_status: self.scenario_status.as_str(),
            step: self.step,
            result: self.result,
            message: self.message,
            error: self
                .error
                .map(|error| NoticeError { class: error.class.as_deref(), message: &error.message }),
            created_at: zone.write(order.created_at),
            started_at: self.started_at.map(|at| zone.write(at)),
            finished_at: Some(zone.write(self.finished_at)),
            duration_ms: self.started_at.map(duration_ms),
            life: order.life.0,
            stages: self.stages,
            retries: self.retries,
            parked: None,
            jeopardy: None,
        }
    }
}

/// The jeopardy of an order, as a notification tells it (ORD-31).
#[derive(Clone, Copy, Debug)]
pub struct Jeopardy<'a> {
    /// Time at which the client must be served.
    pub promise_at: Timestamp,
    /// Time at which nine of ten orders like it would have ended.
    pub expected_at: Timestamp,
    /// Why, in words.
    pub cause: &'a str,
}

/// A transition, as a notification tells it.
#[derive(Clone, Copy, Debug)]
pub struct Moved<'a> {
    /// The order.
    pub order: &'a OrderHead,
    /// Name of the scenario.
    pub scenario: &'a str,
    /// Version of the scenario.
    pub scenario_version: i32,
    /// State that the order left.
    pub from: &'a str,
    /// Event that moved the order.
    pub event: &'a str,
    /// The state that was entered.
    pub to: &'a str,
    /// When.
    pub at: Timestamp,
}

impl Moved<'_> {
    /// The JSON body, as that of an end is made.
    #[must_use]
    pub fn render(&self, correlation_id: Option<&str>, timezone: Option<&str>) -> String {
        let at = Zone::of(timezone).write(self.at);
        json_text(&MoveNotice {
            id: &self.order.id,
            correlation_id,
            transaction_id: self.order.transaction_id.as_deref(),
            labels: self.order.labels.given(),
            scenario: self.scenario,
            scenario_version: self.scenario_version,
            life: self.order.life.0,
            transition: NoticeMove { from: self.from, event: self.event, to: self.to, at },
        })
    }
}

/// The zone in which times are written.
struct Zone(Option<TimeZone>);

impl Zone {
    fn of(timezone: Option<&str>) -> Self {
        Self(timezone.and_then(|name| TimeZone::get(name).ok()))
    }

    fn write(&self, time: Timestamp) -> String {
        match &self.0 {
            Some(zone) => time.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string(),
            None => crate::time::shown(time),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;
    use crate::id::{Life, OrderNo, ScenarioNo};
    use crate::order::Mode;
    use crate::order::labels::Labels;

    fn order() -> OrderHead {
        OrderHead {
            no: OrderNo(1),
            id: "a".into(),
            scenario: ScenarioNo(1),
            mode: Mode::Parallel,
            transaction_id: None,
            notify: None,
            answers: None,
            labels: Labels::default(),
            trace: None,
            life: Life(2),
            created_at: "2026-01-01T00:00:00Z".parse().unwrap(),
            started_at: None,
            stages: 0,
            retries: 0,
        }
    }

    fn content(order: &OrderHead) -> Content<'_> {
        Content {
            order,
            scenario: "s",
            scenario_version: 2,
            status: Status::Success,
            scenario_status: ScenarioStatus::Target,
            step: Some("done"),
            result: None,
            message: None,
            error: None,
            started_at: Some("2026-01-01T00:00:01Z".parse().unwrap()),
            finished_at: "2026-01-01T00:00:01.5Z".parse().unwrap(),
            stages: 3,
            retries: 1,
        }
    }

    #[test]
    fn ord_20_times_are_written_in_the_zone_of_the_client_and_the_duration_is_that_of_this_life() {
        let order = order();
        let content = content(&order);
        let body = content.render(Some("c"), Some("Europe/Moscow"));
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["correlationId"], "c");
        assert_eq!(body["finishedAt"], "2026-01-01T03:00:01.500+03:00");
        assert_eq!(body["durationMs"], 500, "from the start of this life, not from the registration");
        assert_eq!([&body["life"], &body["stages"], &body["retries"]], [2, 3, 1]);
        assert!(body.get("attempt").is_none(), "{body}");
        assert_eq!(body.as_object().unwrap().len(), 18);
        let content = Content { started_at: None, ..content };
        let body: Value = serde_json::from_str(&content.render(None, None)).unwrap();
        assert_eq!((&body["startedAt"], &body["durationMs"]), (&Value::Null, &Value::Null));
    }

    #[test]
    fn ord_18_an_order_needs_a_person_where_repeats_did_not_help_or_its_rows_are_broken() {
        let order = order();
        let reason = |status, class: &str, exhausted| {
            let error = OrderError { exhausted, ..OrderError::new(class, "m") };
            Content { status, error: Some(&error), retries: 2, ..content(&order) }.parked()
        };
        assert_eq!(reason(Status::Fail, "http.503", true), Some(ParkedReason::RetriesExhausted));
        assert_eq!(reason(Status::Fail, "biz.refused", false), None, "what was repeated was something else");
        assert_eq!(reason(Status::Fail, POISON, false), Some(ParkedReason::RetriesExhausted));
        assert_eq!(reason(Status::Fail, INCONSISTENT, false), Some(ParkedReason::Inconsistent));
        assert_eq!(reason(Status::Success, "http.503", true), None);
        assert_eq!(
            Content { status: Status::Fail, ..content(&order) }.parked(),
            None,
            "its scenario ended it so"
        );
    }

    #[test]
    fn ord_18_a_suspended_order_has_no_end_and_says_since_when_it_is_suspended() {
        let order = order();
        let content = Content { status: Status::Wait, ..content(&order) };
        let body = content.render_parked(ParkedReason::Suspended, None, None);
        let body: Value = serde_json::from_str(&body).unwrap();
        let since = "2026-01-01T00:00:01.500Z";
        assert_eq!(body["parked"], serde_json::json!({"reason": "suspended", "since": since}));
        assert_eq!((&body["finishedAt"], &body["durationMs"]), (&Value::Null, &Value::Null));
        assert_eq!(body["status"], "wait");
    }

    #[test]
    fn ord_18_a_transition_is_reported_with_its_order() {
        let order = order();
        let moved = Moved {
            order: &order,
            scenario: "s",
            scenario_version: 2,
            from: "one",
            event: "success",
            to: "two",
            at: "2026-01-01T00:00:00Z".parse().unwrap(),
        };
        let body: Value = serde_json::from_str(&moved.render(Some("c"), Some("Europe/Moscow"))).unwrap();
        assert_eq!(
            body,
            serde_json::json!({
                "id": "a", "correlationId": "c", "transactionId": null, "scenario": "s", "scenarioVersion": 2, "life": 2,
                "transition": {"from": "one", "event": "success", "to": "two", "at": "2026-01-01T03:00:00.000+03:00"},
            })
        );
    }
}
