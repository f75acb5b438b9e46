//! Tables of deliveries, and of what they are read as.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use pagurus_broker::{DeliveryTag, Properties};

use super::*;

const ID: &str = r#"{"id": "o-1"}"#;

fn allow() -> AllowList {
    AllowList { prefix: "pagurus".to_owned(), default_exchange: "n".to_owned(), patterns: Vec::new() }
}

fn delivery(routing_key: &str, body: &str, properties: Properties) -> Delivery {
    Delivery {
        tag: DeliveryTag { generation: 1, tag: 1 },
        exchange: "pagurus.orders".to_owned(),
        routing_key: routing_key.to_owned(),
        redelivered: false,
        properties,
        body: body.as_bytes().to_vec(),
    }
}

fn read_from(entry: IntakeQueue, delivery: &Delivery) -> Result<Incoming, Rejection> {
    let rules = ReadRules {
        entry,
        orders_in: "pagurus.orders.in",
        straight_to_queue: true,
        max_body_bytes: 200,
        reply: &allow(),
    };
    read(delivery, &rules, Timestamp::UNIX_EPOCH)
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// Returns what was read in a word, with the order it is about.
fn shown(read: Result<Incoming, Rejection>) -> (String, Option<String>) {
    match read {
        Ok(message) => {
            let word = match &message {
                Incoming::Register(_) => "register",
                Incoming::Action(act) => match act.action {
                    LifeAction::Cancel => "cancel",
                    LifeAction::Interrupt => "interrupt",
                    LifeAction::Kill => "kill",
                    LifeAction::Restart(_) => "restart",
                },
                Incoming::Call { .. } => "call",
                Incoming::Answer(_) => "answer",
                Incoming::Heartbeat(_) => "heartbeat",
            };
            (word.to_owned(), message.order().map(str::to_owned))
        }
        Err(Rejection { id, problem }) => {
            (problem.type_.rsplit(':').next().unwrap_or_default().to_owned(), id)
        }
    }
}

#[test]
fn amqp_1_the_routing_key_says_what_is_asked_for() {
    let order = r#"{"id": "o-1", "scenario": "s"}"#;
    let call = r#"{"id": "o-1", "name": "n", "key": "k"}"#;
    for (key, body, word, id) in [
        ("order.create", order, "register", Some("o-1")),
        ("order.create", r#"{"id": "o-1"}"#, "invalid", Some("o-1")),
        ("order.create", "{", "malformed", None),
        ("order.cancel", ID, "cancel", Some("o-1")),
        ("order.interrupt", ID, "interrupt", Some("o-1")),
        ("order.kill", ID, "kill", Some("o-1")),
        ("order.restart", ID, "restart", Some("o-1")),
        ("order.call", call, "call", Some("o-1")),
        ("order.cancel", "{}", "invalid", None),
        ("order.cancel", "{", "malformed", None),
        ("order.cancel", r#"{"id": "o-1", "other": 1}"#, "invalid", Some("o-1")),
        ("order.other", ID, "unknown-key", Some("o-1")),
        ("pagurus.orders.in", ID, "unknown-key", Some("o-1")),
    ] {
        let read = read_from(IntakeQueue::Orders, &delivery(key, body, Properties::default()));
        assert_eq!(shown(read), (word.to_owned(), id.map(str::to_owned)), "{key} {body}");
    }
}

#[test]
fn amqp_1_a_message_straight_to_the_queue_says_by_its_type_what_is_asked_for() {
    for (type_, word) in [(None, "invalid"), (text(""), "invalid"), (text("order.cancel"), "cancel")] {
        let mut straight = delivery("pagurus.orders.in", ID, Properties { type_, ..Properties::default() });
        straight.exchange = String::new();
        assert_eq!(shown(read_from(IntakeQueue::Orders, &straight)).0, word);
    }
}

#[test]
fn amqp_5_what_cannot_be_answered_or_is_too_long_is_refused_unread() {
    let long = "x".repeat(201);
    for (entry, body, reply_to, word) in [
        (IntakeQueue::Orders, long.as_str(), None, "too-large"),
        (IntakeQueue::Callbacks, &long, None, "too-large"),
        (IntakeQueue::Orders, ID, text("elsewhere"), "invalid"),
        (IntakeQueue::Orders, ID, text(""), "cancel"),
        (IntakeQueue::Orders, ID, text("amq.rabbitmq.reply-to.x"), "cancel"),
        (IntakeQueue::Callbacks, ID, text("elsewhere"), "answer"),
    ] {
        let properties = Properties { reply_to: reply_to.clone(), ..Properties::default() };
        let read = read_from(entry, &delivery("order.cancel", body, properties));
        assert_eq!(shown(read).0, word, "{entry:?} {reply_to:?}");
    }
}

#[test]
fn ord_17_the_time_of_sending_is_a_header_or_the_property() {
    let header = |value| vec![("Request-Sent-Time".to_owned(), value)];
    for (headers, timestamp, expected) in [
        (vec![], None, Ok(None)),
        (vec![], Some(0), Ok(None)),
        (vec![], Some(1_700_000_000), Ok(Some(1_700_000_000))),
        (vec![], Some(u64::MAX), Err(())),
        (header(HeaderValue::Integer(1_700_000_000_000)), Some(1), Ok(Some(1_700_000_000))),
        (header(HeaderValue::Timestamp(1_700_000_000)), None, Ok(Some(1_700_000_000))),
        (header("2023-11-14T22:13:20Z".into()), None, Ok(Some(1_700_000_000))),
        (header("yesterday".into()), None, Err(())),
        (header(HeaderValue::Integer(1_700_000_000)), None, Err(())),
        (header("1700000000".into()), None, Err(())),
    ] {
        let properties = Properties { headers, timestamp, ..Properties::default() };
        let read = sent_at(&delivery("order.restart", ID, properties.clone()));
        let read = read.map(|at| at.map(Timestamp::as_second)).map_err(drop);
        assert_eq!(read, expected, "{properties:?}");
    }
}

#[test]
fn amqp_3_a_callback_is_an_answer_or_a_heartbeat() {
    let properties = Properties {
        correlation_id: text("pass"),
        content_type: text("text/plain"),
        headers: vec![("step_status".to_owned(), "done".into())],
        ..Properties::default()
    };
    let beat = Properties { type_: text("heartbeat"), ..properties.clone() };
    let read = read_from(IntakeQueue::Callbacks, &delivery("any", "", beat)).unwrap();
    assert!(matches!(read, Incoming::Heartbeat(pass) if pass == "pass"));
    let read = read_from(IntakeQueue::Callbacks, &delivery("any", "body", properties)).unwrap();
    let Incoming::Answer(answer) = read else { panic!("{read:?}") };
    assert_eq!((answer.named.as_str(), answer.step_status.as_deref()), ("pass", Some("done")));
    assert_eq!(answer.body, b"body");
    assert!(answer.headers.unwrap().contains("text/plain"));
}
