//! Users of the services at the broker (QLT-9, reliability 35): each is tried on every exchange and queue of the engine, and may do
//! there what its part is and nothing else.

use lapin::options::{
    BasicGetOptions, BasicPublishOptions, ConfirmSelectOptions, ExchangeDeclareOptions, QueuePurgeOptions,
};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Connection, ConnectionProperties, ErrorKind, ExchangeKind};
use pagurus_broker::topology::{definitions, password_hash};
use pagurus_domain::id::Role;
use pagurus_harness::rabbit::parts::BrokerApi;
use serde_json::json;

use crate::{World, amqp_url};

/// Exchanges that each service publishes to, by the last part of their names.
const PUBLISHES: [(Role, &[&str]); 5] = [
    (Role::Intake, &["orders", "callbacks", "refused", "news"]),
    (Role::Dispatcher, &["news", "work"]),
    (Role::Activator, &["news", "actors"]),
    (Role::Worker, &["news", "actors"]),
    (Role::Notifier, &["news", "notifications", "callbacks"]),
];
/// Queues that each service takes from. The private ones are not here: they are of one connection.
const TAKES: [(Role, &[&str]); 1] = [(Role::Intake, &["orders.in", "callbacks.in", "refused"])];

const EXCHANGES: [&str; 7] = ["orders", "callbacks", "notifications", "actors", "refused", "news", "work"];
const QUEUES: [&str; 3] = ["orders.in", "callbacks.in", "refused"];

/// A try, on a channel of its own: an error of the broker ends it.
async fn permits<T>(attempt: impl Future<Output = lapin::Result<T>>) -> bool {
    match attempt.await {
        Ok(_) => true,
        Err(error) => match error.kind() {
            ErrorKind::ProtocolError(amqp) if amqp.get_id() == 403 => false,
            _ => panic!("{error:?}"),
        },
    }
}

async fn publishes(connection: &Connection, exchange: &str) -> bool {
    permits(async {
        let channel = connection.create_channel().await?;
        channel.confirm_select(ConfirmSelectOptions::default()).await?;
        let options = BasicPublishOptions::default();
        let none = BasicProperties::default();
        // A key that no queue is bound with.
        channel.basic_publish(exchange.into(), "nobody".into(), options, b"{}", none).await?.await
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn qlt_9_each_user_of_the_broker_is_refused_what_is_not_its_part() {
    let (world, api) = (World::new().await, BrokerApi::of_run().unwrap());
    let mut brokers = Vec::new();
    for service in Role::ALL {
        brokers.push(world.broker(*service).await);
    }
    let prefix = &world.names.prefix;
    let shipped = definitions(prefix, &Default::default());
    let (_, place) = amqp_url().split_once('@').map(|(_, place)| ((), place.to_owned())).unwrap();
    let (mut wrong, mut refused) = (Vec::new(), 0);
    for service in Role::ALL {
        let user = format!("{prefix}-{service}");
        let hash = password_hash("secret", [1, 2, 3, 4]);
        let all = shipped["permissions"].as_array().unwrap();
        let rights = all.iter().find(|one| one["user"] == user.as_str()).unwrap();
        api.put(&format!("users/{user}"), &json!({"password_hash": hash, "tags": ""})).await.unwrap();
        api.put(&format!("permissions/%2F/{user}"), rights).await.unwrap();
        let url = format!("amqp://{user}:secret@{place}");
        let connection = Connection::connect(&url, ConnectionProperties::default()).await.unwrap();
        let mut note = |what: String, is_permitted: bool, is_own: bool| {
            refused += usize::from(!is_permitted);
            if is_permitted != is_own {
                wrong.push(format!("{service} {what}: permitted: {is_permitted}"));
            }
        };
        let (_, own) = PUBLISHES.iter().find(|(one, _)| one == service).unwrap();
        for name in EXCHANGES {
            let is_permitted = publishes(&connection, &format!("{prefix}.{name}")).await;
            note(format!("publishes to {name}"), is_permitted, own.contains(&name));
        }
        note("publishes to amq.topic".to_owned(), publishes(&connection, "amq.topic").await, false);
        let own = TAKES.iter().find(|(one, _)| one == service).map_or(&[][..], |(_, own)| own);
        for name in QUEUES {
            let queue = format!("{prefix}.{name}");
            let (get, purge) = (BasicGetOptions::default(), QueuePurgeOptions::default());
            let takes = permits(async {
                connection.create_channel().await?.basic_get(queue.as_str().into(), get).await
            });
            note(format!("takes from {name}"), takes.await, own.contains(&name));
            let empties = permits(async {
                connection.create_channel().await?.queue_purge(queue.as_str().into(), purge).await
            });
            note(format!("empties {name}"), empties.await, own.contains(&name));
        }
        let strange = permits(async {
            let channel = connection.create_channel().await?;
            let (kind, options) = (ExchangeKind::Fanout, ExchangeDeclareOptions::default());
            channel.exchange_declare("strange".into(), kind, options, FieldTable::default()).await
        });
        note("declares an exchange of its own".to_owned(), strange.await, false);
        api.delete(&format!("users/{user}")).await.unwrap();
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(refused >= 12 * Role::ALL.len() / 2, "{refused} refused");
    println!("{refused} refused");
    let last = brokers.pop().unwrap();
    for broker in brokers {
        broker.close().await;
    }
    world.end(last).await;
}
