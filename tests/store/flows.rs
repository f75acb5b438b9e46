//! Records of the active dispatcher about flows, and decisions of operators: fenced, and made once (DSP-10, DSP-12).

use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::flow::{DecisionNumbers, DecisionSubject, FlowRecord, SystemRecord};
use pagurus_domain::id::Epoch;
use pagurus_domain::maintenance::{Calendar, CalendarRule, WindowTarget};
use pagurus_store::Client;
use pagurus_store::upkeep::decisions::{self, DecisionOrigin, DecisionsWanted, NewDecision};
use pagurus_store::upkeep::flows;
use pagurus_store::upkeep::shift::{self, Shift, Window};
use pagurus_store::upkeep::stops::{self, NewStop};
use pagurus_store::upkeep::windows::{self, NewWindow};

use crate::ground::{FIRST_EPOCH, Ground};

async fn stop(client: &mut Client, key: &str) -> (i64, i64) {
    let stop = NewStop { key, keyword: "tariff", from: Timestamp::now(), until: None, reason: "r", by: "{}" };
    let tx = client.transaction().await.unwrap();
    let made = stops::stop(&tx, &stop).await.unwrap();
    tx.commit().await.unwrap();
    made
}

#[tokio::test]
async fn dsp_10_a_stop_that_is_asked_for_again_because_its_answer_was_lost_is_one_stop() {
    let ground = Ground::new("stops").await;
    let mut client = ground.work().await;
    let (first, revision) = stop(&mut client, "a").await;
    let (again, later) = stop(&mut client, "a").await;
    assert_eq!((again, later), (first, revision + 1));
    assert_ne!(stop(&mut client, "b").await.0, first);
    let rules = stops::rules(&client).await.unwrap();
    assert_eq!((rules.stops.len(), rules.revision), (2, revision + 2));
}

#[tokio::test]
async fn dsp_12_what_a_dispatcher_of_another_epoch_writes_of_flows_changes_nothing() {
    let ground = Ground::new("flow_states").await;
    let client = ground.work().await;
    let flow = |limit| FlowRecord { flow: "f".into(), limit: Some(limit), ..FlowRecord::default() };
    let system = SystemRecord { system: "s".into(), ..SystemRecord::default() };
    let old = Epoch(FIRST_EPOCH.0 - 1);
    assert_eq!(flows::write_flows(&client, FIRST_EPOCH, &[flow(5)]).await.unwrap(), 1);
    assert_eq!(flows::write_flows(&client, old, &[flow(9)]).await.unwrap(), 0);
    assert_eq!(flows::write_systems(&client, old, &[system]).await.unwrap(), 0);
    assert!(!stops::confirm(&client, old, 7, 1).await.unwrap());
    let (known, systems) = flows::all(&client, 10).await.unwrap();
    assert_eq!((known[0].limit, known.len(), systems.len()), (Some(5), 1, 0));
    assert_eq!(stops::confirmed(&client).await.unwrap().revision, 0);
}

async fn window(client: &mut Client, key: &str, from: &str) -> (i64, i64) {
    let rule = CalendarRule {
        from: Some(from.parse().unwrap()),
        duration: "3h".to_owned(),
        ..CalendarRule::default()
    };
    let (calendar, target) = (Calendar::read(&rule).unwrap(), WindowTarget::Flows("tariff".to_owned()));
    let window = NewWindow { key, target: &target, calendar: &calendar, shifts: true, reason: "r", by: "{}" };
    let tx = client.transaction().await.unwrap();
    let made = windows::add(&tx, &window).await.unwrap().unwrap();
    tx.commit().await.unwrap();
    made
}

#[tokio::test]
async fn dsp_16_a_window_that_is_asked_for_again_is_one_window_and_what_is_over_or_removed_is_held_no_more() {
    let ground = Ground::new("windows").await;
    let mut client = ground.work().await;
    let (first, revision) = window(&mut client, "a", "2999-01-01T00:00:00Z").await;
    assert_eq!(window(&mut client, "a", "2999-01-01T00:00:00Z").await, (first, revision + 1));
    let (removed, _) = window(&mut client, "b", "2999-01-01T00:00:00Z").await;
    window(&mut client, "c", "2001-01-01T00:00:00Z").await;
    let tx = client.transaction().await.unwrap();
    assert!(windows::remove(&tx, removed, "{}", "r").await.unwrap().is_some());
    assert_eq!(windows::remove(&tx, removed, "{}", "r").await.unwrap(), None);
    assert_eq!(windows::call_off(&tx, removed, Timestamp::now()).await.unwrap(), None);
    tx.commit().await.unwrap();
    let held = windows::held(&client).await.unwrap();
    assert_eq!(held.iter().map(|window| window.rule.no).collect::<Vec<_>>(), [first]);
    assert_eq!(stops::rules(&client).await.unwrap().windows, [held[0].rule.clone()]);
    assert_eq!(windows::page(&client, true, i64::MAX, 10).await.unwrap().len(), 3);
}

#[tokio::test]
async fn dsp_16_the_orders_of_a_window_are_moved_by_one_node_at_a_time_and_by_one_shift() {
    let ground = Ground::new("window_shifts").await;
    let mut client = ground.work().await;
    let (no, _) = window(&mut client, "a", "2999-01-01T00:00:00Z").await;
    let occurrence = windows::held(&client).await.unwrap()[0].rule.next_after(Timestamp::now()).unwrap();
    let hold = |node| (node, Duration::from_secs(30));
    assert_eq!(windows::take_shift(&client, no, occurrence, hold("a")).await.unwrap(), None);
    let begun = Shift::behind("k", Window { from: occurrence.begin, until: occurrence.end }, "r".into());
    let mut noted = Vec::new();
    for (node, expected) in [("a", true), ("b", false)] {
        let tx = client.transaction().await.unwrap();
        let shift = shift::begin(&tx, &begun, "{}", None).await.unwrap().no;
        assert_eq!(windows::note_shift(&tx, no, occurrence, shift, hold(node)).await.unwrap(), expected);
        tx.commit().await.unwrap();
        noted.push(shift);
    }
    assert_eq!(windows::take_shift(&client, no, occurrence, hold("b")).await.unwrap(), None);
    let at_once = ("a", Duration::ZERO);
    assert_eq!(windows::take_shift(&client, no, occurrence, at_once).await.unwrap(), Some(noted[0]));
    let taken = windows::take_shift(&client, no, occurrence, ("b", Duration::ZERO)).await.unwrap();
    assert_eq!(taken, Some(noted[0]), "the hold is over");
    shift::undone(&client, noted[0]).await.unwrap();
    assert_eq!(
        windows::take_shift(&client, no, occurrence, at_once).await.unwrap(),
        None,
        "its orders went back"
    );
}

fn decision(name: &str, second: i64, key: &str, origin: DecisionOrigin) -> NewDecision {
    NewDecision {
        subject: DecisionSubject::Flow,
        name: name.to_owned(),
        at: Timestamp::from_second(second).unwrap(),
        key: key.to_owned(),
        state: "stopped".to_owned(),
        limit: None,
        why: "why".to_owned(),
        numbers: DecisionNumbers::default(),
        left_out: 0,
        origin,
    }
}

#[tokio::test]
async fn dsp_14_a_decision_that_is_written_again_is_one_row_and_pages_go_back_in_time() {
    let ground = Ground::new("decisions").await;
    let client = ground.work().await;
    let engine = |name, second, key| decision(name, second, key, DecisionOrigin::Engine);
    let rows = [engine("f", 1, "a"), engine("f", 2, "a"), engine("f", 2, "b"), engine("g", 3, "a")];
    assert_eq!(decisions::write(&client, FIRST_EPOCH, &rows).await.unwrap(), 4);
    let more = [rows[2].clone(), engine("f", 4, "a")];
    assert_eq!(decisions::write(&client, FIRST_EPOCH, &more).await.unwrap(), 1, "the rest is there");
    let old = Epoch(FIRST_EPOCH.0 - 1);
    assert_eq!(decisions::write(&client, old, &[engine("f", 9, "a")]).await.unwrap(), 0);

    let page = async |since: i64, before: (i64, &str), limit| {
        let at = |second| Timestamp::from_second(second).unwrap();
        let wanted = DecisionsWanted {
            subject: DecisionSubject::Flow,
            name: "f",
            since: at(since),
            before: (at(before.0), before.1),
        };
        let found = decisions::page(&client, &wanted, limit).await.unwrap();
        found.iter().map(|one| format!("{}{}", one.view.at.as_second(), one.key)).collect::<Vec<_>>()
    };
    assert_eq!(page(0, (100, ""), 10).await, ["4a", "2b", "2a", "1a"]);
    assert_eq!(page(0, (100, ""), 2).await, ["4a", "2b"]);
    assert_eq!(page(0, (2, "b"), 10).await, ["2a", "1a"]);
    assert_eq!(page(2, (4, ""), 10).await, ["2b", "2a"]);

    assert_eq!(decisions::forget(&client, Duration::from_secs(3600), 3).await.unwrap(), 3);
    assert_eq!(page(0, (100, ""), 10).await, ["4a"], "the oldest go first");
}

#[tokio::test]
async fn dsp_14_a_decision_by_hand_says_who_decided_and_the_reason_that_was_given() {
    let ground = Ground::new("decisions_by_hand").await;
    let mut client = ground.work().await;
    let tx = client.transaction().await.unwrap();
    let (by, now) = (r#"{"name":"ann"}"#, Timestamp::now());
    let new = NewStop { key: "k", keyword: "f", from: now, until: None, reason: "works", by };
    let (no, _) = stops::stop(&tx, &new).await.unwrap();
    stops::lift(&tx, &[no], r#"{"name":"bob"}"#, "done").await.unwrap();
    tx.commit().await.unwrap();
    let rows = [
        decision("f", 1, "stop", DecisionOrigin::Stop(no)),
        decision("f", 2, "over", DecisionOrigin::StopLifted(no)),
        decision("f", 3, "own", DecisionOrigin::Engine),
    ];
    decisions::write(&client, FIRST_EPOCH, &rows).await.unwrap();
    let wanted = DecisionsWanted {
        subject: DecisionSubject::Flow,
        name: "f",
        since: Timestamp::UNIX_EPOCH,
        before: (Timestamp::MAX, ""),
    };
    let found = decisions::page(&client, &wanted, 10).await.unwrap();
    let words: Vec<_> = found.iter().map(|one| (one.key.as_str(), one.view.why.as_str())).collect();
    assert_eq!(words, [("over", "why: done"), ("own", "why"), ("stop", "why: works")]);
    let names: Vec<_> = found.iter().map(|one| one.view.by.as_ref().map(|by| by["name"].clone())).collect();
    assert_eq!(names, [Some("bob".into()), None, Some("ann".into())]);
    assert!(found[0].view.at >= now.round(jiff::Unit::Second).unwrap() - Duration::from_secs(60));
}
