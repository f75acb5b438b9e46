//! The AsyncAPI document of the engine: the exchanges that outsiders write to and read from, and what their messages carry
//! (AMQP-4). Names and kinds are those of the topology.

use axum::Json;
use axum::extract::State;
use pagurus_broker::topology::Names;
use pagurus_wire::bodies::{ActionBody, CallBody, OrderBody, RestartBody};
use pagurus_wire::message::{Receipt, TaskCancel, actor, key};
use pagurus_wire::notices::{ActorTask, EndNotice, MoveNotice};
use serde_json::{Map, Value, json};

use super::HttpResult;
use super::document::Schemas;
use crate::Intake;

/// `GET /asyncapi.json`
pub(super) async fn show(State(intake): State<Intake>) -> HttpResult<Json<Map<String, Value>>> {
    match asyncapi(intake.host.broker.names()) {
        Value::Object(document) => Ok(Json(document)),
        _ => Ok(Json(Map::new())),
    }
}

/// Specification of a message that outsiders send or get: its name, what it is, the headers that it may carry, and the schema
/// of its body.
struct MessageSpec {
    name: &'static str,
    summary: &'static str,
    headers: &'static [&'static str],
    payload: Value,
}

/// Content of a CloudEvent in structured mode.
const EVENT: &str = "application/cloudevents+json";
/// Content of a group of them.
const EVENTS: &str = "application/cloudevents-batch+json";

/// W3C trace context, which every message may carry.
const TRACE: [&str; 2] = ["traceparent", "tracestate"];
/// Headers of orders and actions.
const SENT: &[&str] = &["request-sent-time"];
/// Headers of callbacks.
const ANSWERED: &[&str] = &["step-status"];
/// Headers of notifications.
const NOTIFIED: &[&str] = &["sequence", "transaction-id"];
/// Headers of notifications that are CloudEvents in binary mode, whose attributes are headers.
const NOTIFIED_AS_EVENT: &[&str] = &[
    "sequence",
    "transaction-id",
    "cloudEvents_specversion",
    "cloudEvents_id",
    "cloudEvents_source",
    "cloudEvents_type",
    "cloudEvents_subject",
    "cloudEvents_time",
    "cloudEvents_correlationid",
    "cloudEvents_sequence",
    "cloudEvents_traceparent",
];

/// Returns the schema of a header.
fn header(name: &str) -> Value {
    let text = |description: &str| json!({"type": "string", "description": description});
    match name {
        "traceparent" => text("W3C trace context of the sender."),
        "tracestate" => text("W3C trace state, carried along."),
        "request-sent-time" => json!({"type": ["string", "integer"],
            "description": "When the client sent the message: RFC 3339, or milliseconds since 1970."}),
        "step-status" => text("Status of the step that is answered, for the rules of errors."),
        "sequence" => {
            json!({"type": "integer", "description": "For messages about transitions: grows with each such message of the order."})
        }
        "transaction-id" => text("The business transaction of the order."),
        name => match name.strip_prefix("cloudEvents_") {
            Some(attribute) => text(&format!("Attribute `{attribute}` of the CloudEvent.")),
            None => json!({}),
        },
    }
}

fn headers(names: &[&str]) -> Value {
    let all = TRACE.iter().chain(names).map(|name| ((*name).to_owned(), header(name)));
    json!({"type": "object", "properties": Map::from_iter(all)})
}

/// Returns the schema of a notification that is a CloudEvent in structured mode.
fn event(notices: &[&Value]) -> Value {
    let text = || json!({"type": "string"});
    json!({
        "type": "object",
        "required": ["specversion", "id", "source", "type", "subject", "datacontenttype", "data"],
        "properties": {
            "specversion": {"const": "1.0"},
            "id": text(),
            "source": text(),
            "type": {"type": "string", "pattern": "^io\\.pagurus\\.order\\.(ended|transition|parked|jeopardy)\\.v1$"},
            "subject": {"type": "string", "description": "Id of the order."},
            "time": {"type": "string", "format": "date-time"},
            "correlationid": {"type": "string", "description": "The correlation id of the receiver; without one, the business transaction of the order."},
            "sequence": {"type": "string", "pattern": "^[0-9]{20}$"},
            "traceparent": text(),
            "datacontenttype": {"const": "application/json"},
            "data": {"anyOf": notices},
        },
        "additionalProperties": false,
    })
}

/// Returns the schema of what goes alone, or as an array.
fn one_or_many(one: &Value) -> Value {
    json!({"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]})
}

/// Returns the document for an installation with these names.
pub(crate) fn asyncapi(names: &Names) -> Value {
    let mut schemas = Schemas::new();
    let orders = [
        (key::CREATE, "An order to be registered, or many.", one_or_many(&schemas.of_request::<OrderBody>())),
        (key::RESTART, "A new life of an order that has ended.", schemas.of_request::<RestartBody>()),
        (key::CANCEL, "An order is canceled.", schemas.of_request::<ActionBody>()),
        (key::INTERRUPT, "An order is stopped before it starts.", schemas.of_request::<ActionBody>()),
        (key::KILL, "An order that runs or waits is stopped.", schemas.of_request::<ActionBody>()),
        (key::CALL, "A call to a live order.", schemas.of_request::<CallBody>()),
    ]
    .map(|(name, summary, payload)| MessageSpec { name, summary, headers: SENT, payload });
    let any = json!(true);
    let callback = message_spec("callback", "An answer of a called system: any body.", ANSWERED, any);
    let outcome = "The outcome of a message, or of each order in it.";
    let receipt = message_spec("receipt", outcome, &[], one_or_many(&schemas.of_answer::<Receipt>()));
    let actors = actors(names, &mut schemas);
    let notices = notices(schemas.of_answer::<EndNotice>(), schemas.of_answer::<MoveNotice>());
    let reply = json!({
        "address": {"location": "$message.header#/reply_to", "description": "Queue that `reply.allow` lists, or direct reply-to."},
        "channel": {"$ref": "#/channels/receipts"},
    });
    json!({
        "asyncapi": "3.0.0",
        "info": {
            "title": "Pagurus",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Orders and callbacks in, receipts, notifications and tasks out, over RabbitMQ. A message of a client is \
                acknowledged after the commit of what it caused; one that can never be handled is answered and kept.",
        },
        "defaultContentType": "application/json",
        "channels": {
            "orders": exchange(&names.orders, "Key of the action.", &orders),
            "ordersStraight": {
                "address": names.orders_in,
                "description": "The queue of orders, past the exchange: the default exchange, with the name of the queue as the key. \
                    The property `type` is the key of the action; without it the message is an order. Taken where \
                    `intake.straight_to_queue` is true.",
                "bindings": {"amqp": {
                    "is": "queue", "queue": {"name": names.orders_in, "durable": true}, "bindingVersion": "0.3.0",
                }},
                "messages": messages_of("orders", &orders),
            },
            "callbacks": exchange(&names.callbacks, "Any key; the correlation id is that of the request.", &[callback]),
            "notifications": exchange(&names.notifications, "Key that `notify.url` gives.", &notices),
            "actors": actors,
            "receipts": {
                "address": null,
                "description": "Queue that the `reply_to` of a message names.",
                "bindings": {"amqp": {"is": "queue", "bindingVersion": "0.3.0"}},
                "messages": messages(&[receipt]),
            },
        },
        "operations": {
            "takeOrder": {
                "action": "receive", "channel": {"$ref": "#/channels/orders"}, "reply": reply,
                "bindings": {"amqp": {"ack": true, "bindingVersion": "0.3.0"}},
            },
            "takeOrderStraight": {
                "action": "receive", "channel": {"$ref": "#/channels/ordersStraight"}, "reply": reply,
                "bindings": {"amqp": {"ack": true, "bindingVersion": "0.3.0"}},
            },
            "takeCallback": {"action": "receive", "channel": {"$ref": "#/channels/callbacks"}},
            "notify": {"action": "send", "channel": {"$ref": "#/channels/notifications"}},
            "giveTask": {"action": "send", "channel": {"$ref": "#/channels/actors"}},
        },
        "components": {"schemas": schemas.finish()},
    })
}

fn message_spec(
    name: &'static str,
    summary: &'static str,
    headers: &'static [&'static str],
    payload: Value,
) -> MessageSpec {
    MessageSpec { name, summary, headers, payload }
}

/// Returns the channel to programs of actors.
fn actors(names: &Names, schemas: &mut Schemas) -> Value {
    let task = message_spec("task", "A task of an actor.", &[], schemas.of_answer::<ActorTask>());
    let summary = "A task is withdrawn: its program may stop; the task comes again.";
    let cancel = message_spec(actor::CANCEL, summary, &[], schemas.of_answer::<TaskCancel>());
    let keys =
        format!("Name of the actor for a task, `{}` for one that is withdrawn.", actor::cancel_key("NAME"));
    exchange(&names.actors, &keys, &[task, cancel])
}

/// Returns the notifications, in each form that `notify.format` can ask for.
fn notices(end: Value, transition: Value) -> [MessageSpec; 6] {
    let either = json!({"anyOf": [end, transition]});
    let event = event(&[&end, &transition]);
    let events = json!({"type": "array", "items": event, "minItems": 1});
    [
        message_spec(
            "group",
            "Several notifications of a receiver that asks for groups (`notify.group`).",
            &[],
            group(&either),
        ),
        message_spec(
            "eventGroup",
            "The same as a batch of CloudEvents (`format: cloudevents`).",
            &[],
            events,
        ),
        message_spec("end", "A life of an order has ended, or it needs a person.", NOTIFIED, end),
        message_spec("transition", "An order has moved.", NOTIFIED, transition),
        message_spec(
            "event",
            "The same as a CloudEvent in structured mode (`format: cloudevents`).",
            NOTIFIED,
            event,
        ),
        message_spec(
            "binaryEvent",
            "The same as a CloudEvent in binary mode (`format: cloudevents-binary`).",
            NOTIFIED_AS_EVENT,
            either,
        ),
    ]
}

/// Returns the schema of a group of notifications.
fn group(notice: &Value) -> Value {
    let member = json!({
        "type": "object",
        "required": ["messageId", "type", "body"],
        "properties": {
            "messageId": {"type": "string", "format": "uuid", "description": "Stays the same over repeats."},
            "type": {"type": "string", "description": "Type of the message that this notification would have been."},
            "sequence": {"type": "integer", "description": "Grows with each transition of an order."},
            "traceparent": {"type": "string"},
            "body": notice,
        },
        "additionalProperties": false,
    });
    json!({"type": "array", "items": member, "minItems": 1})
}

/// Returns a channel that is a topic exchange of ours.
fn exchange(name: &str, keys: &str, specs: &[MessageSpec]) -> Value {
    json!({
        "address": name,
        "description": keys,
        "bindings": {"amqp": {
            "is": "routingKey",
            "exchange": {"name": name, "type": "topic", "durable": true, "autoDelete": false},
            "bindingVersion": "0.3.0",
        }},
        "messages": messages(specs),
    })
}

/// Returns references to the messages of another channel.
fn messages_of(channel: &str, specs: &[MessageSpec]) -> Value {
    let same = |one: &MessageSpec| json!({"$ref": format!("#/channels/{channel}/messages/{}", one.name)});
    Value::Object(specs.iter().map(|one| (one.name.to_owned(), same(one))).collect())
}

fn messages(specs: &[MessageSpec]) -> Value {
    let named = specs.iter().map(|one| {
        let message = json!({
            "name": one.name,
            "summary": one.summary,
            "contentType": match one.name {
                "event" => EVENT,
                "eventGroup" => EVENTS,
                _ => "application/json",
            },
            "headers": headers(one.headers),
            "correlationId": {"location": "$message.header#/correlation_id"},
            "payload": one.payload,
        });
        (one.name.to_owned(), message)
    });
    Value::Object(named.collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use std::collections::{BTreeMap, BTreeSet};

    use pagurus_broker::topology::definitions;

    use super::*;

    #[test]
    fn amqp_4_the_names_of_the_document_are_those_of_the_topology() {
        let document = asyncapi(&Names::new("shop"));
        let definitions = definitions("shop", &BTreeMap::new());
        let declared = definitions["exchanges"].as_array().unwrap();
        let mut described = BTreeSet::new();
        for channel in document["channels"].as_object().unwrap().values() {
            let exchange = &channel["bindings"]["amqp"]["exchange"];
            let Some(name) = exchange["name"].as_str() else { continue };
            let found = declared
                .iter()
                .find(|one| one["name"] == name)
                .unwrap_or_else(|| panic!("no exchange {name}"));
            assert_eq!(
                (&found["type"], &found["durable"]),
                (&exchange["type"], &exchange["durable"]),
                "{name}"
            );
            assert_eq!(channel["address"], name);
            described.insert(name.to_owned());
        }
        // The others are between services, or for messages that nobody reads but the engine.
        let own: BTreeSet<String> = ["refused", "orders.in", "callbacks.in", "news", "work"]
            .map(|rest| format!("shop.{rest}"))
            .into();
        let all: BTreeSet<String> =
            declared.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect();
        assert_eq!(&all - &own, described);
    }

    #[test]
    fn amqp_4_every_reference_of_the_document_leads_somewhere() {
        let document = asyncapi(&Names::new("shop"));
        let text = document.to_string();
        for reference in text.split("\"$ref\":\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
            assert!(document.pointer(reference).is_some(), "{reference}");
        }
    }
}
