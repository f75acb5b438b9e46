//! Messages of scenarios, and tasks of actors: each is confirmed before its stage goes on.

use std::time::{Duration, Instant};

use pagurus_broker::{HeaderValue, Message, Published};
use pagurus_domain::trace::TraceContext;
use pagurus_runtime::metrics::Count;
use pagurus_runtime::waits::Waits;
use pagurus_scenario::stage::{Answer, Publication, Task};

use crate::outbound::Outbound;
use crate::traced;

/// Time for which an action waits for the broker before it fails.
const PATIENCE: Duration = Duration::from_secs(30);

impl Outbound {
    /// Publishes a message and waits for its confirm. While the broker is away it waits for it: that
    /// is no failure of the order.
    pub async fn publish(&self, message: &Publication, trace: Option<&TraceContext>) -> Answer {
        let names = self.host.broker.names();
        let foreign = message.vhost.as_deref().filter(|vhost| *vhost != self.host.broker.vhost());
        let own = message.exchange.starts_with(&format!("{}.", names.prefix))
            && message.exchange != names.notifications
            && foreign.is_none();
        if message.exchange.is_empty() || message.exchange.starts_with("amq.") || own {
            let why = format!("exchange `{}` belongs to the engine or the broker", message.exchange);
            return Answer::Unpublished(why);
        }
        let (settings, own) = (self.host.settings(), self.host.broker.vhost());
        let (vhost, exchange) = (foreign.unwrap_or(own), &message.exchange);
        if let Err(why) = settings.worker.exchanges.permit(vhost, own, exchange) {
            return Answer::Unpublished(why);
        }
        let secrets = &settings.worker.calls.secrets;
        if let Err(why) = secrets.permit_exchange(&message.secrets, vhost, own, exchange) {
            return Answer::Forbidden(why);
        }
        self.send_until_confirmed(foreign, self.message(message), trace).await
    }

    /// Queues a task for its actor.
    pub async fn queue_task(&self, task: &Task, trace: Option<&TraceContext>) -> Answer {
        if let Err(why) = self.ensure_queue(&task.actor).await {
            return Answer::Unpublished(why);
        }
        let names = self.host.broker.names();
        let mut message = Message::json(names.actors.clone(), task.actor.clone(), task.body.clone());
        message.useful_for = Some(task.useful_for);
        let properties = &mut message.properties;
        properties.type_ = Some("task".into());
        properties.message_id = Some(task.message_id.to_string());
        properties.correlation_id = Some(task.pass.to_string());
        properties.reply_to = Some(names.callbacks_in.clone());
        self.send_until_confirmed(None, message, trace).await
    }

    /// Makes sure that the tasks of an actor have a queue to wait in. The error says why there can be none.
    async fn ensure_queue(&self, actor: &str) -> Result<(), String> {
        let begun = Instant::now();
        let mut waits = Waits::between(Duration::from_millis(100), Duration::from_secs(2));
        loop {
            match self.host.broker.ensure_actor_queue(actor, Duration::from_secs(1)).await {
                Ok(()) => return Ok(()),
                Err(error) if error.is_transient() && begun.elapsed() < PATIENCE => {
                    self.host.metrics.count(Count::BrokerErrors, "actor", 1);
                    waits.pause().await;
                }
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    async fn send_until_confirmed(
        &self,
        vhost: Option<&str>,
        mut message: Message,
        trace: Option<&TraceContext>,
    ) -> Answer {
        let mut span = traced::message(&self.host, trace, vhost, &mut message);
        let begun = Instant::now();
        let answer = self.confirmed(vhost, &message).await;
        let error = if matches!(answer, Answer::Published) { "" } else { "unpublished" };
        self.host.metrics.messages_sent(&message.exchange, 1, error, begun.elapsed());
        traced::published(&mut span, &answer);
        answer
    }

    async fn confirmed(&self, vhost: Option<&str>, message: &Message) -> Answer {
        let begun = Instant::now();
        let mut waits = Waits::between(Duration::from_millis(100), Duration::from_secs(2));
        loop {
            let broker = &self.host.broker;
            let sent = match vhost {
                Some(vhost) => broker.publish_many_in_vhost(vhost, vec![message.clone()]).await,
                None => broker.publish_many_foreign(vec![message.clone()]).await,
            };
            match sent.into_iter().next() {
                Some(Published::Confirmed) => return Answer::Published,
                Some(Published::Unroutable { text, .. }) => {
                    let (exchange, key) = (&message.exchange, &message.key);
                    let why = format!("no queue takes exchange `{exchange}` with key `{key}`: {text}");
                    return Answer::Unpublished(why);
                }
                Some(Published::Failed(error)) if error.is_transient() && begun.elapsed() < PATIENCE => {
                    self.host.metrics.count(Count::BrokerErrors, "publish", 1);
                    waits.pause().await;
                }
                Some(Published::Failed(error)) => return Answer::Unpublished(error.to_string()),
                None => return Answer::Unpublished("the broker did not answer".into()),
            }
        }
    }

    fn message(&self, publication: &Publication) -> Message {
        let mut message =
            Message::json(publication.exchange.clone(), publication.key.clone(), publication.body.clone());
        let properties = &mut message.properties;
        properties.content_type = Some(publication.content_type.to_owned());
        properties.message_id = Some(publication.message_id.to_string());
        if let Some(request) = publication.request {
            properties.correlation_id = Some(request.to_string());
            // The answer may come straight into the queue of callbacks, which only our own virtual host has.
            let own = publication.vhost.as_deref().is_none_or(|vhost| vhost == self.host.broker.vhost());
            properties.reply_to = own.then(|| self.host.broker.names().callbacks_in.clone());
        }
        properties.headers = publication
            .headers
            .iter()
            .map(|(name, value)| (name.clone(), HeaderValue::Text(value.clone())))
            .collect();
        message
    }
}
