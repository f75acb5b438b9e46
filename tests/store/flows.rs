//! Records of the active dispatcher about flows, and decisions of operators: fenced, and made once (DSP-10, DSP-12).

use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::flow::{FlowRecord, SystemRecord};
use pagurus_domain::id::Epoch;
use pagurus_domain::maintenance::{Calendar, CalendarRule, WindowTarget};
use pagurus_store::Client;
use pagurus_store::upkeep::flows;
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
    for (node, shift, expected) in [("a", 7, true), ("b", 8, false)] {
        let tx = client.transaction().await.unwrap();
        assert_eq!(windows::note_shift(&tx, no, occurrence, shift, hold(node)).await.unwrap(), expected);
        tx.commit().await.unwrap();
    }
    assert_eq!(windows::take_shift(&client, no, occurrence, hold("b")).await.unwrap(), None);
    assert_eq!(windows::take_shift(&client, no, occurrence, ("a", Duration::ZERO)).await.unwrap(), Some(7));
    assert_eq!(
        windows::take_shift(&client, no, occurrence, hold("b")).await.unwrap(),
        Some(7),
        "the hold is over"
    );
}
