//! Splitting of messages into orders, and the gathering of their outcomes.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use pagurus_broker::{Message, Properties};

use super::*;

fn message(tag: DeliveryTag, body: &str) -> Delivery {
    Delivery {
        tag,
        exchange: "pagurus.orders".to_owned(),
        routing_key: "order.create".to_owned(),
        redelivered: false,
        properties: Properties { reply_to: Some("q".to_owned()), ..Properties::default() },
        body: body.as_bytes().to_vec(),
    }
}

const fn tag(generation: u64, tag: u64) -> DeliveryTag {
    DeliveryTag { generation, tag }
}

fn bodies(body: &str, most: usize) -> Result<Vec<String>, u16> {
    let message = message(tag(1, 1), body);
    if !is_array(&message) {
        return Ok(Vec::new());
    }
    let orders = orders_of(&message, most).map_err(|problem| problem.status)?;
    let orders = orders.into_iter().enumerate().map(|(place, order)| {
        let part = MessagePart::of(&message, order, place);
        assert_eq!((part.place, &part.delivery.properties), (Some(place), &message.properties));
        assert_eq!((part.delivery.tag, &*part.delivery.routing_key), (tag(1, 1), "order.create"));
        String::from_utf8(part.delivery.into_owned().body).unwrap()
    });
    Ok(orders.collect())
}

/// The outcome of an order: its receipt, and whether it is put aside.
fn handled(tag: DeliveryTag, place: Option<usize>, id: &str, is_refused: bool) -> Handled {
    let receipt = Receipt {
        id: Some(id.to_owned()),
        status: "accepted".to_owned(),
        order_status: None,
        note: None,
        error: None,
        call: None,
    };
    let to = ReplyTo { queue: "q".to_owned(), correlation_id: None };
    let refused = is_refused
        .then(|| RefusedMessage { message: Message::json("", id, Vec::new()), is_for_sender: true });
    Handled { tag, place, reply: Some(AddressedReceipt { to, receipt }), refused }
}

/// Returns tag, ids of receipts and ids of what is put aside of complete messages.
fn shown(messages: Vec<HandledMessage>) -> Vec<(u64, Vec<String>, Vec<String>)> {
    let one = |HandledMessage { tag, reply, refused }: HandledMessage| {
        let receipts = match reply.unwrap().1 {
            Receipts::One(receipt) => vec![*receipt],
            Receipts::Each(receipts) => receipts,
        };
        let ids = receipts.into_iter().filter_map(|receipt| receipt.id).collect();
        (tag.tag, ids, refused.into_iter().map(|one| one.message.key).collect())
    };
    messages.into_iter().map(one).collect()
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn amqp_1_the_orders_of_a_message_keep_their_text_and_their_row() {
    assert_eq!(
        bodies(" [ {\"id\": \"a\", \"n\": 1.50},3 , {}]", 3),
        Ok(texts(&["{\"id\": \"a\", \"n\": 1.50}", "3", "{}"]))
    );
    assert_eq!(bodies("[{},{},{},{}]", 3), Err(413));
}

#[test]
fn amqp_1_what_holds_no_order_is_one_message() {
    for body in ["", "{\"id\": \"a\"}", "[]", "[1, \"x\", []]", "[{}", "[{}] x", "[[{}]]", "\u{feff}[{}]"] {
        assert_eq!(bodies(body, 3), Ok(Vec::new()), "{body}");
    }
}

#[test]
fn amqp_1_a_message_is_complete_when_all_its_orders_are_handled_whatever_their_row() {
    let open = OpenMessages::default();
    open.open(tag(1, 7), 3);
    let first = vec![handled(tag(1, 7), Some(2), "c", true), handled(tag(1, 8), None, "single", false)];
    assert_eq!(shown(open.gather(first)), [(8, texts(&["single"]), vec![])]);
    assert!(open.gather(vec![handled(tag(1, 7), Some(0), "a", false)]).is_empty());
    assert!(open.contains(tag(1, 7)));
    let last = open.gather(vec![handled(tag(1, 7), Some(1), "b", false)]);
    assert_eq!(shown(last), [(7, texts(&["a", "b", "c"]), texts(&["c"]))]);
    assert!(!open.contains(tag(1, 7)));
}

#[test]
fn amqp_1_an_order_of_a_message_that_went_back_is_settled_by_nothing() {
    let open = OpenMessages::default();
    open.open(tag(1, 7), 1);
    open.open(tag(1, 8), 1);
    open.forget(&[tag(1, 7)]);
    assert!(open.gather(vec![handled(tag(1, 7), Some(0), "a", false)]).is_empty());
    open.open(tag(2, 1), 1);
    assert!(!open.contains(tag(1, 8)), "the broker delivers it again to the next life of the consumer");
    assert_eq!(open.gather(vec![handled(tag(2, 1), Some(0), "a", false)]).len(), 1);
}

#[test]
fn amqp_1_receipts_of_many_are_an_array_and_that_of_one_is_an_object() {
    let receipt = |place| handled(tag(1, 1), place, "a", false).reply.unwrap().receipt;
    let json = |receipts: Receipts| serde_json::to_value(receipts).unwrap();
    let one = serde_json::json!({"id": "a", "status": "accepted"});
    assert_eq!(json(Receipts::One(receipt(None).into())), one);
    assert_eq!(json(Receipts::Each(vec![receipt(Some(0)), receipt(Some(1))])), serde_json::json!([one, one]));
}

#[test]
fn amqp_1_headers_that_each_of_many_orders_would_keep_are_bounded() {
    let mut message = message(tag(1, 1), &format!("[{}]", vec!["{}"; 10_000].join(",")));
    assert_eq!(orders_of(&message, 10_000).unwrap().len(), 10_000);
    message.properties.headers = vec![("x".to_owned(), "y".repeat(100_000).as_str().into())];
    assert_eq!(orders_of(&message, 10_000).unwrap_err().status, 413);
}

#[test]
fn amqp_1_receipts_of_many_refused_orders_fit_a_message_and_name_each_order() {
    let refused = |n: usize| {
        let mut receipt = handled(tag(1, 1), Some(n), &format!("order-{n}"), true).reply.unwrap().receipt;
        let problem = Problem::new(Type::Invalid, "ж".repeat(2000));
        receipt.error = Some(problem);
        receipt
    };
    let body = Receipts::Each((0..10_000).map(refused).collect()).into_body().unwrap();
    assert!(body.len() < 4 * 1024 * 1024, "{}", body.len());
    let read: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(
        (read.as_array().unwrap().len(), &read[9999]["id"]),
        (10_000, &serde_json::json!("order-9999"))
    );
    assert!(read[0]["error"]["detail"].as_str().unwrap().ends_with('…'));
}
