//! Attributes of messages, by the conventions of OpenTelemetry for RabbitMQ.

use pagurus_broker::{Delivery, HeaderValue, Message, Properties};
use pagurus_domain::number::saturated;
use pagurus_domain::trace::TraceContext;

use super::TraceSpan;

/// The context that a message brings.
#[must_use]
pub fn context_of(properties: &Properties) -> Option<TraceContext> {
    let text = |name| properties.header(name).and_then(HeaderValue::as_text);
    TraceContext::read(text("traceparent")?, text("tracestate"))
}

/// Gives a message a context, unless its author gave it one.
pub fn carry(properties: &mut Properties, context: Option<&TraceContext>) {
    let Some(context) = context.filter(|_| properties.header("traceparent").is_none()) else { return };
    let headers = context.headers().map(|(name, value)| (name.to_owned(), HeaderValue::Text(value)));
    properties.headers.extend(headers);
}

/// Describes a message that is sent.
pub fn publish(span: &mut TraceSpan, message: &Message) {
    if !span.is_recorded() {
        return;
    }
    span.rename(format!("publish {}", place(&message.exchange)));
    span.set("messaging.operation.name", "publish");
    span.set("messaging.operation.type", "send");
    span.set_text("messaging.destination.name", &joined(&[&message.exchange, &message.key]));
    describe(span, &message.key, message.body.len());
    let properties = &message.properties;
    identify(span, properties.message_id.as_deref(), properties.correlation_id.as_deref());
}

/// Describes a message that was taken from a queue.
pub fn process(span: &mut TraceSpan, delivery: &Delivery, queue: &str) {
    if !span.is_recorded() {
        return;
    }
    span.rename(format!("process {queue}"));
    span.set("messaging.operation.name", "process");
    span.set("messaging.operation.type", "process");
    let names = [delivery.exchange.as_str(), delivery.routing_key.as_str(), queue];
    span.set_text("messaging.destination.name", &joined(&names));
    describe(span, &delivery.routing_key, delivery.body.len());
    let properties = &delivery.properties;
    identify(span, properties.message_id.as_deref(), properties.correlation_id.as_deref());
}

fn describe(span: &mut TraceSpan, key: &str, bytes: usize) {
    span.set("messaging.system", "rabbitmq");
    span.set_text("messaging.rabbitmq.destination.routing_key", key);
    span.set("messaging.message.body.size", saturated::<i64>(bytes));
}

fn identify(span: &mut TraceSpan, message: Option<&str>, conversation: Option<&str>) {
    if let Some(id) = message {
        span.set_text("messaging.message.id", id);
    }
    if let Some(id) = conversation {
        span.set_text("messaging.message.conversation_id", id);
    }
}

/// The default exchange has no name of its own.
fn place(exchange: &str) -> &str {
    if exchange.is_empty() { "amq.default" } else { exchange }
}

/// Names that are empty, or the same as the one before, are left out, as the conventions say.
fn joined(names: &[&str]) -> String {
    let mut different: Vec<&str> = names.iter().copied().filter(|name| !name.is_empty()).collect();
    different.dedup();
    different.join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn telemetry_destinations_are_named_as_the_conventions_say() {
        assert_eq!(joined(&["orders", "order.create", "orders.in"]), "orders:order.create:orders.in");
        assert_eq!(joined(&["", "reply", "reply"]), "reply");
        assert_eq!(place(""), "amq.default");
    }
}
