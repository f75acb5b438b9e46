//! State of the message broker in its own words, for the verdict over the installation. Never waits for it without a limit.

use std::time::{Duration, Instant};

use pagurus_broker::{LinkState, Message, Published};
use pagurus_domain::diagnosis::{BrokerFacts, Fact, QueueFacts};
use pagurus_runtime::Host;

/// Longest time for the broker to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Routing key that nobody listens to.
const NOBODY: &str = "doctor";

/// Facts about the message broker, as this process sees it.
pub(crate) async fn broker_facts(host: &Host) -> BrokerFacts {
    let state = host.broker.state();
    let links = [("publish", &state.publish), ("consume", &state.consume)];
    let closed: Vec<(String, String)> = links
        .into_iter()
        .filter(|(_, link)| **link != LinkState::Up)
        .map(|(name, link)| (name.to_owned(), link.to_string()))
        .collect();
    if !closed.is_empty() {
        return BrokerFacts { closed, ..BrokerFacts::default() };
    }
    let (confirm, queues) = tokio::join!(confirm(host), queues(host));
    BrokerFacts { closed, confirm: Some(confirm), queues }
}

/// Sends a message that nobody gets, and waits for its confirm: a broker with an alarm keeps it back.
async fn confirm(host: &Host) -> Fact<Duration> {
    let begun = Instant::now();
    let mut message = Message::json(host.broker.names().news.clone(), NOBODY, b"{}".to_vec());
    message.mandatory = false;
    message.properties.persistent = false;
    let sent = tokio::time::timeout(PATIENCE, host.broker.publish_many(vec![message])).await;
    match sent.map(|mut results| results.pop()) {
        Ok(Some(Published::Confirmed | Published::Unroutable { .. })) => Ok(begun.elapsed()),
        Ok(Some(Published::Failed(error))) => Err(error.to_string()),
        Ok(None) => Err("it was not sent".to_owned()),
        Err(_) => Err(format!("no answer within {PATIENCE:?}")),
    }
}

async fn queues(host: &Host) -> Vec<QueueFacts> {
    let names = host.broker.names();
    let queues = [(&names.orders_in, false), (&names.callbacks_in, false), (&names.refused_queue, true)];
    let mut found = Vec::new();
    for (name, is_of_refused) in queues {
        // The connection or the confirm shows what cannot be asked.
        let asked = host.broker.depth_of(name, PATIENCE);
        if let Ok(Ok(depth)) = tokio::time::timeout(PATIENCE, asked).await {
            let (messages, consumers) = depth.unzip();
            found.push(QueueFacts {
                name: name.clone(),
                messages: messages.unwrap_or_default(),
                consumers,
                is_of_refused,
            });
        }
    }
    found
}
