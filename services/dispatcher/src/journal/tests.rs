//! The journal: which decisions it writes, and how often.

use std::slice::from_ref;

use pagurus_domain::flow::FlowStop;
use pagurus_store::upkeep::decisions::DecisionOrigin;

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap_or_default()
}

fn decision(second: i64, state: &str, limit: Option<u32>, why: &str) -> Decision {
    Decision { at: at(second), state: state.to_owned(), limit, why: why.to_owned() }
}

fn flow(state: FlowState, decisions: &[Decision]) -> FlowRecord {
    FlowRecord { flow: "tariff".to_owned(), state, decisions: decisions.to_vec(), ..FlowRecord::default() }
}

fn stopped_by(stops: &[(i64, &str, Option<i64>)]) -> OperatorRules {
    let stops = stops.iter().map(|(no, keyword, until)| FlowStop {
        no: *no,
        keyword: (*keyword).to_owned(),
        from: at(10 + no),
        until: until.map(at),
    });
    OperatorRules { stops: stops.collect(), ..OperatorRules::default() }
}

fn words(rows: &[NewDecision]) -> Vec<(i64, &str, &str)> {
    rows.iter().map(|row| (row.at.as_second(), row.key.as_str(), row.why.as_str())).collect()
}

#[test]
fn dsp_14_each_decision_is_written_once() {
    let all = ["a", "b", "c", "d", "e"].into_iter().zip([1, 5, 5, 6, 9]);
    let all: Vec<Decision> = all.map(|(why, second)| decision(second, "open", None, why)).collect();
    let mut journal = Journal::new(at(5));
    let mut fresh = |count: usize| {
        let fresh = journal.fresh(DecisionSubject::Flow, "f", &all[..count]);
        fresh.iter().map(|(number, one)| format!("{}{number} ", one.why)).collect::<String>()
    };
    assert_eq!(fresh(1), "", "another dispatcher has written it");
    assert_eq!(fresh(2), "b0 ");
    assert_eq!(fresh(3), "c1 ", "two of one moment");
    assert_eq!(fresh(3), "");
    assert_eq!(fresh(5), "d0 e0 ");
    assert_eq!(
        journal.fresh(DecisionSubject::System, "f", &all).len(),
        4,
        "a system may have the name of a flow"
    );
}

#[test]
fn dsp_14_a_stop_by_hand_has_rows_when_it_begins_when_another_joins_it_and_when_each_is_over() {
    let mut journal = Journal::new(at(0));
    let held = flow(FlowState::DisabledManually, &[decision(11, "disabled_manually", None, "by hand")]);
    journal.follow(stopped_by(&[(1, "tar", None)]));
    let rows = journal.note(from_ref(&held), &[], at(12));
    assert_eq!(words(&rows), [(11, "stop 1", "stop 1 of flows with `tar`")]);
    assert_eq!(rows[0].origin, DecisionOrigin::Stop(1));
    // No record has changed by this one.
    journal.follow(stopped_by(&[(1, "tar", None), (2, "ff", Some(30))]));
    assert_eq!(words(&journal.note(&[], &[], at(13))), [(12, "stop 2", "stop 2 of flows with `ff`")]);
    journal.follow(stopped_by(&[(2, "ff", Some(30))]));
    let rows = journal.note(&[held], &[], at(20));
    assert_eq!(words(&rows), [(20, "stop 1 over", "stop 1 of flows with `tar` was lifted")]);
    assert_eq!(rows[0].origin, DecisionOrigin::StopLifted(1));
    let open = flow(FlowState::Enabled, &[decision(30, "enabled", None, "it is over: no limit")]);
    let rows = journal.note(&[open], &[], at(31));
    assert_eq!(
        words(&rows),
        [
            (30, "stop 2 over", "stop 2 of flows with `ff` is over"),
            (30, "decision 0", "it is over: no limit")
        ]
    );
    assert_eq!(rows[0].origin, DecisionOrigin::Engine, "nobody lifted it");
}

#[test]
fn dsp_14_a_dispatcher_that_takes_over_writes_nothing_that_the_one_before_has_written() {
    let held = flow(FlowState::DisabledManually, &[decision(11, "disabled_manually", None, "by hand")]);
    let system = SystemRecord {
        system: "billing".to_owned(),
        state: SystemState::Stopped,
        decisions: vec![decision(12, "stopped", None, "12 of 12 calls failed")],
        ..SystemRecord::default()
    };
    let rules = stopped_by(&[(1, "tar", None)]);
    let mut journal = Journal::new(at(20));
    journal.remember(from_ref(&held), from_ref(&system), rules, at(20));
    assert_eq!(words(&journal.note(from_ref(&held), from_ref(&system), at(21))), []);
    let mut later = system;
    later.decisions.push(decision(22, "probing", None, "probes"));
    assert_eq!(words(&journal.note(&[held], &[later], at(23))), [(22, "decision 0", "probes")]);
}

#[test]
fn dsp_14_a_flow_says_which_system_keeps_it_from_going_and_when_it_goes_again() {
    let of = |state| FlowRecord { systems: vec!["crm".into(), "billing".into()], ..flow(state, &[]) };
    let system = |state| SystemRecord { system: "billing".to_owned(), state, ..SystemRecord::default() };
    let mut journal = Journal::new(at(0));
    let rows = journal.note(&[of(FlowState::Stopped)], &[system(SystemState::Stopped)], at(5));
    assert_eq!(words(&rows), [(5, "away", "the system `billing` that it calls is left alone")]);
    let rows = journal.note(&[of(FlowState::Probing)], &[system(SystemState::Probing)], at(6));
    assert_eq!(words(&rows), [], "probes of a system are in its own history");
    let rows = journal.note(&[of(FlowState::Enabled)], &[system(SystemState::Healthy)], at(9));
    assert_eq!(words(&rows), [(9, "back", "no system that it calls holds it any more")]);
}

#[test]
fn dsp_14_an_outage_of_an_hour_and_a_restless_limit_leave_few_rows_that_count_the_others() {
    let mut journal = Journal::new(at(0));
    let (mut rows, mut decisions) = (Vec::new(), Vec::new());
    let mut note = |one: Decision| {
        let second = one.at.as_second();
        let state = if second < 3600 { FlowState::Stopped } else { FlowState::Limited };
        decisions.push(one);
        let from = decisions.len().saturating_sub(20);
        rows.extend(journal.note(&[flow(state, &decisions[from..])], &[], at(second)));
    };
    for second in 0..3600 {
        note(decision(second, if second % 2 == 0 { "stopped" } else { "probing" }, None, "away"));
    }
    for second in 3600..3700 {
        note(decision(second, "limited", Some(100 + u32::from(second % 2 == 0)), "noise"));
    }
    note(decision(3700, "limited", Some(60), "slower"));
    note(decision(3701, "enabled", None, "free"));
    let count = rows.len();
    assert!((60..100).contains(&count), "{count} rows");
    let left_out: u32 = rows.iter().map(|row| row.left_out).sum();
    assert_eq!(count + left_out as usize, decisions.len());
    assert_eq!(words(&rows[count - 2..]), [(3700, "decision 0", "slower"), (3701, "decision 0", "free")]);
}

#[test]
fn dsp_14_the_first_limit_after_a_stop_is_a_decision_and_the_others_are_steps() {
    let states =
        ["limited", "limited", "stopped", "probing", "limited", "limited", "slowing", "enabled", "limited"];
    let all: Vec<Decision> =
        states.into_iter().zip(0..).map(|(state, second)| decision(second, state, None, "why")).collect();
    let steps: Vec<bool> = all.iter().map(|one| is_step(one, &all)).collect();
    assert_eq!(steps, [true, true, false, false, false, true, true, false, true]);
}
