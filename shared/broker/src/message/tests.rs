//! Messages: headers and properties there and back.
#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use super::*;

fn headers() -> Vec<(String, HeaderValue)> {
    let inner = vec![("b".to_owned(), HeaderValue::Bytes(vec![0xff, 0x00]))];
    let list = vec![HeaderValue::Integer(-7), HeaderValue::Null, "x".into()];
    vec![
        ("flag".to_owned(), HeaderValue::Boolean(true)),
        ("list".to_owned(), HeaderValue::List(list)),
        ("table".to_owned(), HeaderValue::Table(inner)),
        ("text".to_owned(), "é".repeat(300).into()),
        ("when".to_owned(), HeaderValue::Timestamp(1_700_000_000)),
    ]
}

#[test]
fn amqp_3_properties_survive_both_ways() {
    let properties = Properties {
        correlation_id: Some("c-1".to_owned()),
        timestamp: Some(5),
        persistent: true,
        headers: headers(),
        ..Properties::default()
    };
    assert_eq!(from_amqp(&to_amqp(&properties).unwrap()), properties);
}

#[test]
fn amqp_1_user_and_expiration_are_never_sent() {
    let properties = Properties {
        user_id: Some("guest".to_owned()),
        expiration: Some("1".to_owned()),
        ..Properties::default()
    };
    let amqp = to_amqp(&properties).unwrap();
    assert_eq!((amqp.user_id(), amqp.expiration()), (&None, &None));
}

#[test]
fn scn_11_a_message_leaves_its_queue_when_nobody_needs_it_any_more() {
    for (useful_for, expiration) in [
        (None, None),
        (Some(Duration::from_micros(1_500_900)), Some("1500")),
        (Some(Duration::from_secs(50 * 86_400)), None),
    ] {
        let message = Message { useful_for, ..Message::json("e", "k", Vec::new()) };
        let amqp = to_amqp_for(&message).unwrap();
        assert_eq!(amqp.expiration().as_ref().map(ShortString::as_str), expiration, "{useful_for:?}");
    }
}

#[test]
fn amqp_1_too_long_names_are_faults_not_panics() {
    let properties = Properties { message_id: Some("é".repeat(128)), ..Properties::default() };
    let fault = Error::InvalidName { field: "message_id", bytes: 256, limit: 255 };
    assert_eq!(to_amqp(&properties), Err(fault));
    let properties = Properties {
        headers: vec![("h".to_owned(), "x".repeat(100 * 1024).into())],
        ..Properties::default()
    };
    let refusal = to_amqp(&properties);
    assert!(matches!(refusal, Err(Error::HeadersTooLarge { .. })));
}

#[test]
fn amqp_1_headers_as_json_keep_everything() {
    let json = headers_to_json(&headers());
    assert_eq!(json["list"], json!([-7, null, "x"]));
    assert_eq!(json["table"]["b"]["$bytes"], "ff00");
    assert_eq!(json["when"], 1_700_000_000);
    assert_eq!(headers_to_keep(&headers())["when"], json!({"$timestamp": 1_700_000_000}));
}
