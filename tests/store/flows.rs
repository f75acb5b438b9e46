//! What the active dispatcher writes of flows, and what operators decide: fenced, and made once (DSP-10, DSP-12).

use jiff::Timestamp;
use pagurus_domain::dispatch::{FlowRecord, SystemRecord};
use pagurus_domain::id::Epoch;
use pagurus_store::stops::{self, NewStop};
use pagurus_store::{Client, flows};

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
