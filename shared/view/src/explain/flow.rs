//! Reasons for which a stage that may run waits with its whole flow: stopped by hand, in a maintenance window, stopped or
//! limited for the sake of its called system.

use pagurus_domain::flow::{FlowRecord, FlowState};
use pagurus_domain::order::wait_reason::WaitReason;
use pagurus_store::upkeep::flows;
use pagurus_store::upkeep::stops::{self, StoredStop};
use pagurus_store::upkeep::windows;
use pagurus_store::{Client, Error};
use pagurus_wire::flows::OpenWindowView;

use super::WaitSentence;
use super::system::SystemStand;
use crate::windows::open_window;

/// Finds the stop or the maintenance window by which a flow is stopped now, if it is. `whose` begins the sentence.
pub(super) async fn stop(client: &Client, flow: &str, whose: &str) -> Result<Option<String>, Error> {
    if let Some(stop) = stops::of_flow(client, flow).await?.first() {
        return Ok(Some(stopped_by_hand(stop, flow, whose)));
    }
    let held = windows::held(client).await?;
    let open = open_window(held.iter().filter(|window| window.rule.target.has_flow(flow)));
    Ok(open.map(|open| in_window(&open, &format!("{whose} `{flow}` is stopped"))))
}

/// Finds what holds the orders of a flow back, if anything does. `whose` begins the sentence: its flow, or another's.
pub(super) async fn hindrance(
    client: &Client,
    flow: &str,
    whose: &str,
) -> Result<Option<WaitSentence>, Error> {
    use WaitReason::{FlowStopped, System};
    if let Some(stop) = stop(client, flow, whose).await? {
        return Ok(Some((FlowStopped, stop)));
    }
    let held = windows::held(client).await?;
    let Some(known) = flows::one(client, flow).await? else { return Ok(None) };
    let record = &known.record;
    let is_away = matches!(record.state, FlowState::Stopped | FlowState::Probing);
    for system in record.systems.iter().filter(|_| is_away) {
        if let Some(closed) = SystemStand::read(client, system, &held).await?.clause() {
            return Ok(Some((System, format!("{whose} `{flow}` calls the system `{system}`, {closed}"))));
        }
    }
    Ok(held_back(record, whose))
}

fn in_window(open: &OpenWindowView, start: &str) -> String {
    let OpenWindowView { window, from, until, reason } = open;
    format!("{start} by maintenance window {window} from {from:.3} until {until:.3}: {reason}")
}

fn stopped_by_hand(stop: &StoredStop, flow: &str, whose: &str) -> String {
    let until = match stop.rule.until {
        Some(until) => format!("until {until:.3}"),
        None => format!("until stop {} is lifted", stop.rule.no),
    };
    format!("{whose} `{flow}` is stopped by hand from {:.3} {until}: {}", stop.rule.from, stop.reason)
}

fn held_back(record: &FlowRecord, whose: &str) -> Option<WaitSentence> {
    use WaitReason::{FlowLimited, FlowStopped};
    let flow = &record.flow;
    let decided = record.decisions.last();
    let why = decided.map_or_else(String::new, |decision| format!(": {}", decision.why));
    // The last decision may be but one more pause of a longer stop.
    let since = record.stopped_since.or(decided.map(|decision| decision.at));
    let since = since.map_or_else(String::new, |at| format!(" since {at:.3}"));
    match record.state {
        FlowState::Stopped => Some((FlowStopped, format!("{whose} `{flow}` has been stopped{since}{why}"))),
        FlowState::Probing => {
            let text = format!(
                "a few of the oldest orders of {whose} `{flow}` test whether its system is back{why}"
            );
            Some((FlowStopped, text))
        }
        FlowState::Limited => {
            let in_use = record.in_progress.saturating_add(record.counted_requests);
            let limit = record.limit.filter(|limit| in_use >= *limit)?;
            let open = if record.counted_requests > 0 {
                format!(" and {} requests open", record.counted_requests)
            } else {
                String::new()
            };
            let text = format!(
                "{whose} `{flow}` is limited to {limit}, with {} stages in progress{open}{why}",
                record.in_progress
            );
            Some((FlowLimited, text))
        }
        // The stop may have been lifted a moment ago; the record is a second old.
        FlowState::Enabled | FlowState::DisabledManually => None,
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use pagurus_domain::flow::{Decision, FlowStop};

    use super::*;

    #[test]
    fn ord_28_a_flow_that_is_held_back_is_reported_with_the_numbers() {
        let decision = Decision {
            at: Timestamp::UNIX_EPOCH,
            state: "limited".into(),
            limit: Some(5),
            why: "slower".into(),
        };
        let record = |state, in_progress, limit| FlowRecord {
            flow: "f".into(),
            state,
            in_progress,
            limit,
            decisions: vec![decision.clone()],
            ..FlowRecord::default()
        };
        let text = |record: &FlowRecord| held_back(record, "its flow").map(|(_, text)| text);
        assert_eq!(text(&record(FlowState::Enabled, 5, None)), None);
        assert_eq!(text(&record(FlowState::Limited, 4, Some(5))), None, "there is room");
        assert_eq!(
            text(&record(FlowState::Limited, 5, Some(5))).as_deref(),
            Some("its flow `f` is limited to 5, with 5 stages in progress: slower")
        );
        assert_eq!(
            text(&record(FlowState::Stopped, 0, None)).as_deref(),
            Some("its flow `f` has been stopped since 1970-01-01T00:00:00.000Z: slower")
        );
        let open = OpenWindowView {
            window: 4,
            from: Timestamp::UNIX_EPOCH,
            until: Timestamp::UNIX_EPOCH,
            reason: "works".into(),
        };
        assert_eq!(
            in_window(&open, "its flow `f` is stopped"),
            "its flow `f` is stopped by maintenance window 4 from 1970-01-01T00:00:00.000Z until 1970-01-01T00:00:00.000Z: works"
        );
        let stop = StoredStop {
            rule: FlowStop { no: 3, keyword: "f".into(), from: Timestamp::UNIX_EPOCH, until: None },
            reason: "works".into(),
            made_by: "{}".into(),
            made_at: Timestamp::UNIX_EPOCH,
            lifted: None,
            holds: true,
        };
        assert_eq!(
            stopped_by_hand(&stop, "f", "its flow"),
            "its flow `f` is stopped by hand from 1970-01-01T00:00:00.000Z until stop 3 is lifted: works"
        );
    }
}
