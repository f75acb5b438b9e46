//! Programs of actors are asked to stop what is given to another worker (REC-10). It is asked once, and nobody waits for long: a program
//! that does not hear it works on, and its decision counts or comes too late like any other.

use std::time::Duration;

use pagurus_broker::Message;
use pagurus_store::hot::requests::OpenTask;
use pagurus_wire::message::{TaskCancel, actor};

use crate::Host;
use crate::metrics::Count;
use crate::news::body;

/// Longest time for which the broker is waited for: the rows of the orders are locked meanwhile.
const ASKED_WITHIN: Duration = Duration::from_secs(1);

/// Asks the programs that are at these tasks to stop, and waits until the broker has it, so that it comes before what is handed out
/// again. Where no program listens, the broker sends it back, and that is all.
pub async fn ask_to_stop(host: &Host, tasks: Vec<OpenTask>, reason: &str) {
    if tasks.is_empty() {
        return;
    }
    let messages: Vec<Message> = tasks.into_iter().map(|task| message(host, task, reason)).collect();
    let asked = tokio::time::timeout(ASKED_WITHIN, host.broker.publish_many(messages)).await;
    if asked.is_err() {
        host.metrics.count(Count::BrokerErrors, "cancel of tasks", 1);
    }
}

fn message(host: &Host, task: OpenTask, reason: &str) -> Message {
    let key = actor::cancel_key(&task.actor);
    let cancel = TaskCancel {
        pass: task.pass.to_string(),
        actor: task.actor,
        order: task.order,
        hand_out: task.hand_out,
        reason: reason.to_owned(),
    };
    let mut message = Message::json(host.broker.names().actors.clone(), key, body(&cancel));
    message.properties.type_ = Some(actor::CANCEL.to_owned());
    message.properties.correlation_id = Some(cancel.pass);
    message.properties.persistent = false;
    message
}
