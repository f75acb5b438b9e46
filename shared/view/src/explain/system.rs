//! Causes for which a called system is left alone (DSP-16): since when, what lets it be called again, and what a person
//! can do. Orders rest for it in the middle of a stage, or stand ready with their flow.

use jiff::Timestamp;
use pagurus_domain::flow::{SystemOrder, SystemRecord, SystemState};
use pagurus_domain::order::wait_reason::WaitReason;
use pagurus_scenario::stage::Snapshot;
use pagurus_store::upkeep::flows;
use pagurus_store::upkeep::stops::{self, StoredOverride};
use pagurus_store::upkeep::windows::{self, StoredWindow};
use pagurus_store::{Client, Error};
use pagurus_wire::flows::OpenWindowView;

use super::WaitSentence;
use crate::windows::open_window;

/// Present state of a called system.
#[derive(Debug, Default)]
pub(super) struct SystemStand {
    system: String,
    record: Option<SystemRecord>,
    order: Option<StoredOverride>,
    window: Option<OpenWindowView>,
}

/// The cause for which a system is left alone. There is no other: where none of these holds, it may be called.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Closure {
    /// An operator keeps it stopped.
    ByOperator { since: Timestamp, until: Option<Timestamp>, reason: String },
    /// A maintenance window is open for it.
    InWindow(OpenWindowView),
    /// Failed calls, or a request of the system itself; then a few orders try it.
    Stopped { since: Option<Timestamp>, until: Option<Timestamp>, why: String },
    /// A few orders try it.
    Probing { since: Option<Timestamp>, why: String },
}

impl SystemStand {
    /// Reads the present state of a system; `held` are the windows that are open or to come.
    pub async fn read(client: &Client, system: &str, held: &[StoredWindow]) -> Result<Self, Error> {
        Ok(Self {
            system: system.to_owned(),
            record: flows::system(client, system).await?.map(|known| known.record),
            order: stops::override_of(client, system).await?,
            window: open_window(held.iter().filter(|window| window.rule.target.has_system(system))),
        })
    }

    /// Cause for which it is left alone, as a clause behind its name; `None` if it may be called.
    pub fn clause(&self) -> Option<String> {
        Some(self.closure()?.clause(&self.system))
    }

    fn closure(&self) -> Option<Closure> {
        let order = self.order.as_ref();
        if let Some(StoredOverride { rule, reason, .. }) = order
            && rule.order == SystemOrder::KeepStopped
        {
            return Some(Closure::ByOperator { since: rule.from, until: rule.until, reason: reason.clone() });
        }
        // An operator who opened it before the window began did not mean the window.
        let is_opened = |window: &OpenWindowView| order.is_some_and(|order| order.rule.from >= window.from);
        if let Some(window) = self.window.as_ref().filter(|window| !is_opened(window)) {
            return Some(Closure::InWindow(window.clone()));
        }
        let record = self.record.as_ref().filter(|_| order.is_none())?;
        let since = record.stopped_since;
        let last = |state: SystemState| {
            let decided = record.decisions.iter().rev().find(|decision| decision.state == state.as_str());
            decided.map(|decision| decision.why.clone()).unwrap_or_default()
        };
        let why = last(SystemState::Stopped);
        match record.state {
            SystemState::Stopped => Some(Closure::Stopped { since, until: record.closed_until, why }),
            SystemState::Probing => Some(Closure::Probing { since, why }),
            SystemState::Healthy | SystemState::Failing | SystemState::Slowing | SystemState::Recovering => {
                None
            }
        }
    }
}

impl Closure {
    fn clause(&self, system: &str) -> String {
        let since_of =
            |since: &Option<Timestamp>| since.map_or_else(String::new, |at| format!(" since {at:.3}"));
        let why_of = |why: &str| if why.is_empty() { String::new() } else { format!(" ({why})") };
        match self {
            Self::ByOperator { since, until: Some(until), reason } => format!(
                "which an operator stopped from {since:.3} until {until:.3}: {reason} \
                 (`pagurus systems clear {system}` ends this now)"
            ),
            Self::ByOperator { since, until: None, reason } => format!(
                "which an operator stopped at {since:.3}: {reason} (`pagurus systems clear {system}` ends this)"
            ),
            Self::InWindow(OpenWindowView { window, from, until, reason }) => format!(
                "which is in maintenance window {window} from {from:.3} until {until:.3}: {reason} \
                 (`pagurus windows end {window}` ends it now)"
            ),
            Self::Stopped { since, until, why } => {
                let from = until.map_or_else(String::new, |at| format!(" from {at:.3} on"));
                format!(
                    "which has been stopped{}{}: a few orders try it{from}, and all continue once it answers \
                     (check the system; if it is well, run `pagurus systems open {system}`)",
                    since_of(since),
                    why_of(why)
                )
            }
            Self::Probing { since, why } => format!(
                "which has been stopped{}{}: a few orders try it now, and all continue once it answers (check the system)",
                since_of(since),
                why_of(why)
            ),
        }
    }
}

/// Explains why an order rests at an action, which is carried out when the rest is over; `None` if it rests for another reason.
pub(super) async fn held(
    client: &Client,
    position: &Snapshot,
    due: Timestamp,
) -> Result<Option<WaitSentence>, Error> {
    let Some(hold) = position.hold() else { return Ok(None) };
    let call = position.handling.as_ref().map(|call| call.name.as_str());
    let Some(system) = &hold.system else {
        return Ok(Some((WaitReason::Worker, resting(position.visit.state.as_deref(), call, None, due))));
    };
    let stand = SystemStand::read(client, system, &windows::held(client).await?).await?;
    let clause = stand.clause();
    let text = resting(position.visit.state.as_deref(), call, Some((system, clause.as_deref())), due);
    Ok(Some((WaitReason::System, text)))
}

/// The sentence of an order that rests at an action: for a system, with the cause if it is left alone still, or only
/// because its stage has lasted as long as one may.
fn resting(
    state: Option<&str>,
    call: Option<&str>,
    system: Option<(&str, Option<&str>)>,
    due: Timestamp,
) -> String {
    let whose = call.map_or_else(|| "it is held".to_owned(), |call| format!("its call `{call}` is held"));
    let state = state.map_or_else(String::new, |state| format!(" in state `{state}`"));
    let counted = "this uses up no attempt and no retry time";
    match system {
        None => format!("{whose}{state} between two stages, and continues at {due:.3}"),
        Some((system, Some(closed))) => format!(
            "{whose}{state} before it calls the system `{system}`, {closed}; it checks again at {due:.3}; {counted}"
        ),
        Some((system, None)) => format!(
            "{whose}{state} before it calls the system `{system}`, which may be called again: \
             it continues at {due:.3}; {counted}"
        ),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use pagurus_domain::flow::{Decision, SystemOverride};

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn record(state: SystemState) -> SystemRecord {
        let decision = |state: &str, why: &str| Decision {
            at: at(30),
            state: state.into(),
            limit: None,
            why: why.into(),
        };
        SystemRecord {
            system: "billing".into(),
            state,
            closed_until: Some(at(40)),
            stopped_since: Some(at(10)),
            decisions: vec![
                decision("stopped", "5 of 5 calls failed"),
                decision("probing", "3 of the oldest try"),
            ],
            ..SystemRecord::default()
        }
    }

    fn order(order: SystemOrder, until: Option<Timestamp>) -> Option<StoredOverride> {
        let rule = SystemOverride { system: "billing".into(), order, from: at(20), until };
        Some(StoredOverride { rule, reason: "works".into(), made_by: "{}".into(), made_at: at(20) })
    }

    fn window(from: i64) -> Option<OpenWindowView> {
        Some(OpenWindowView { window: 4, from: at(from), until: at(90), reason: "weekly".into() })
    }

    fn clause_of(change: impl FnOnce(&mut SystemStand)) -> Option<String> {
        let mut stand = SystemStand { system: "billing".into(), ..SystemStand::default() };
        change(&mut stand);
        stand.clause()
    }

    /// Change of a system about which nothing is known.
    type Change = fn(&mut SystemStand);

    fn check<const N: usize>(cases: [(Change, Option<&str>); N]) {
        for (change, expected) in cases {
            assert_eq!(clause_of(change).as_deref(), expected);
        }
    }

    #[test]
    fn ord_28_a_system_that_failed_is_reported_with_the_time_of_its_probes() {
        check([
            (|_| {}, None),
            (|stand| stand.record = Some(record(SystemState::Healthy)), None),
            (|stand| stand.record = Some(record(SystemState::Recovering)), None),
            (
                |stand| stand.record = Some(record(SystemState::Stopped)),
                Some(
                    "which has been stopped since 1970-01-01T00:00:10.000Z (5 of 5 calls failed): a few orders try it from \
                     1970-01-01T00:00:40.000Z on, and all continue once it answers (check the system; if it is well, run \
                     `pagurus systems open billing`)",
                ),
            ),
            (
                |stand| stand.record = Some(record(SystemState::Probing)),
                Some(
                    "which has been stopped since 1970-01-01T00:00:10.000Z (5 of 5 calls failed): a few orders try it now, and \
                     all continue once it answers (check the system)",
                ),
            ),
            (
                |stand| {
                    let known = SystemRecord {
                        decisions: vec![],
                        stopped_since: None,
                        ..record(SystemState::Probing)
                    };
                    stand.record = Some(known);
                },
                Some(
                    "which has been stopped: a few orders try it now, and all continue once it answers (check the system)",
                ),
            ),
        ]);
    }

    #[test]
    fn ord_28_a_system_that_rules_keep_closed_is_reported_with_what_opens_it() {
        check([
            (
                |stand| {
                    stand.record = Some(record(SystemState::Stopped));
                    stand.order = order(SystemOrder::KeepStopped, None);
                    stand.window = window(30);
                },
                Some(
                    "which an operator stopped at 1970-01-01T00:00:20.000Z: works (`pagurus systems clear billing` ends \
                     this)",
                ),
            ),
            (
                |stand| stand.order = order(SystemOrder::KeepStopped, Some(at(60))),
                Some(
                    "which an operator stopped from 1970-01-01T00:00:20.000Z until 1970-01-01T00:01:00.000Z: works \
                     (`pagurus systems clear billing` ends this now)",
                ),
            ),
            (
                |stand| {
                    stand.window = window(30);
                    stand.order = order(SystemOrder::ForceOpen, None);
                },
                Some(
                    "which is in maintenance window 4 from 1970-01-01T00:00:30.000Z until 1970-01-01T00:01:30.000Z: \
                     weekly (`pagurus windows end 4` ends it now)",
                ),
            ),
            (
                |stand| {
                    stand.window = window(15);
                    stand.order = order(SystemOrder::ForceOpen, None);
                },
                None,
            ),
            (
                |stand| {
                    stand.record = Some(record(SystemState::Stopped));
                    stand.order = order(SystemOrder::ForceOpen, None);
                },
                None,
            ),
        ]);
    }

    #[test]
    fn ord_28_a_rest_at_an_action_is_reported_with_its_system_and_never_as_a_wait_for_a_call() {
        let due = at(60);
        assert_eq!(
            resting(Some("pay"), None, Some(("billing", Some("which is stopped"))), due),
            "it is held in state `pay` before it calls the system `billing`, which is stopped; it checks again at \
             1970-01-01T00:01:00.000Z; this uses up no attempt and no retry time"
        );
        assert!(
            resting(None, Some("ask"), Some(("billing", None)), due)
                .starts_with("its call `ask` is held before")
        );
        assert_eq!(
            resting(Some("pay"), None, None, due),
            "it is held in state `pay` between two stages, and continues at 1970-01-01T00:01:00.000Z"
        );
    }
}
