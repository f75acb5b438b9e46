//! Other virtual hosts: names that nobody has take no place from those that are there.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use pagurus_broker::{Error, Message, Published};
use pagurus_domain::id::Role;
use pagurus_harness::rabbit::parts::BrokerApi;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{World, all_confirmed};

fn message() -> Vec<Message> {
    // Nobody takes it, and nobody is asked to.
    vec![Message { mandatory: false, ..Message::json("amq.topic", "k", b"{}".to_vec()) }]
}

async fn add(api: &BrokerApi, vhost: &str) {
    api.put(&format!("vhosts/{vhost}"), &json!({})).await.unwrap();
    let all = json!({"configure": ".*", "write": ".*", "read": ".*"});
    api.put(&format!("permissions/{vhost}/guest"), &all).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn qlt_8_names_of_virtual_hosts_that_nobody_has_take_no_place_from_those_that_are_there() {
    let (world, api) = (World::new().await, BrokerApi::of_run().unwrap());
    let broker = world.broker(Role::Worker).await;
    let real = format!("{}-real", world.names.prefix);
    add(&api, &real).await;
    // They keep coming until the test has seen enough, more at a time than there is room for.
    let enough = CancellationToken::new();
    let made_up: Vec<_> = (0..40)
        .map(|n| {
            let (broker, enough, prefix) = (broker.clone(), enough.clone(), world.names.prefix.clone());
            tokio::spawn(async move {
                let (mut results, mut slowest) = (Vec::new(), Duration::ZERO);
                for round in 0.. {
                    let begun = Instant::now();
                    // Each name is wanted twice: one attempt answers both, or one is made after the other.
                    let vhost = format!("{prefix}-nobody-{}-{round}", n / 2);
                    results.extend(broker.publish_many_in_vhost(&vhost, message()).await);
                    slowest = slowest.max(begun.elapsed());
                    if enough.is_cancelled() {
                        break;
                    }
                }
                (results, slowest)
            })
        })
        .collect();
    for _ in 0..20 {
        all_confirmed(&broker.publish_many_in_vhost(&real, message()).await);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(!made_up.iter().any(tokio::task::JoinHandle::is_finished), "the test shows nothing");
    enough.cancel();
    for one in join_all(made_up).await {
        let (results, slowest) = one.unwrap();
        let other = results.iter().find(|one| !matches!(one, Published::Failed(Error::NoVirtualHost(_))));
        assert_eq!(other, None);
        assert!(slowest < Duration::from_secs(20), "{slowest:?}");
    }
    all_confirmed(&broker.publish_many_in_vhost(&real, message()).await);
    api.delete(&format!("vhosts/{real}")).await.unwrap();
    // One that is deleted and one that comes back are seen as they are.
    let gone = broker.publish_many_in_vhost(&real, message()).await;
    assert!(matches!(&gone[..], [Published::Failed(_)]), "{gone:?}");
    world.end(broker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn qlt_8_the_virtual_host_that_was_used_longest_ago_makes_room_for_another() {
    let (world, api) = (World::new().await, BrokerApi::of_run().unwrap());
    let broker = world.broker(Role::Worker).await;
    // More than there is room for, used by turns and all at once.
    let hosts: Vec<String> = (0..20).map(|n| format!("{}-{n}", world.names.prefix)).collect();
    for vhost in &hosts {
        add(&api, vhost).await;
        all_confirmed(&broker.publish_many_in_vhost(vhost, message()).await);
    }
    let all = hosts.iter().map(|vhost| broker.publish_many_in_vhost(vhost, message()));
    for results in join_all(all).await {
        all_confirmed(&results);
    }
    for vhost in &hosts {
        api.delete(&format!("vhosts/{vhost}")).await.unwrap();
    }
    world.end(broker).await;
}
