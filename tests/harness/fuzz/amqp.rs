//! Messages for both exchanges: every property, headers of every type, and bodies of every command.

use rand::Rng;
use serde_json::json;

use super::values::Strange;
use super::{order, spoiled};
use crate::client::raw::{RawProperties, entries, long, nested_lists, short};

/// Keys of the exchange of orders, and some that mean nothing.
const KEYS: &[&str] = &[
    "order.create",
    "order.create",
    "order.create",
    "order.restart",
    "order.cancel",
    "order.interrupt",
    "order.kill",
    "order.call",
    "order",
    "",
    "order.create.x",
    "ORDER.CREATE",
];
/// Names of headers that the engine reads, and some that it does not.
const HEADERS: &[&str] = &[
    "request-sent-time",
    "Crab-Request-Sent-Time",
    "traceparent",
    "step-status",
    "content-type",
    "retry-after",
    "n",
    "CC",
    "x-death",
    "",
];

/// A random message.
#[derive(Clone, Debug)]
pub struct Message {
    /// `orders` or `callbacks`.
    pub exchange: &'static str,
    /// The routing key.
    pub key: Vec<u8>,
    /// Properties of the message.
    pub properties: RawProperties,
    /// The content.
    pub body: Vec<u8>,
}

impl Message {
    pub(super) fn draw(mut strange: Strange<'_>) -> Self {
        let strange = &mut strange;
        let to_orders = !strange.one_in(3);
        let key = if strange.one_in(12) { name(strange) } else { strange.pick(KEYS).as_bytes().to_vec() };
        let body = match std::str::from_utf8(&key) {
            Ok("order.create") => spoil(strange, order),
            Ok("order.call") => {
                spoil(strange, |_| json!({"id": "fuzz-known", "name": "go", "key": "k", "body": [1]}))
            }
            _ => spoil(
                strange,
                |_| json!({"id": "fuzz-known", "reason": "r", "ifStatus": "fail", "from": "a", "params": {"n": 3}}),
            ),
        };
        Self {
            exchange: if to_orders { "orders" } else { "callbacks" },
            key,
            properties: properties(strange),
            body,
        }
    }
}

fn spoil(
    strange: &mut Strange<'_>,
    good: impl FnOnce(&mut rand::rngs::StdRng) -> serde_json::Value,
) -> Vec<u8> {
    if strange.one_in(40) {
        // Longer than intake takes, and within what the broker does.
        return vec![b'x'; 1024 * 1024 + strange.up_to(2 * 1024 * 1024)];
    }
    let good = good(strange.0);
    spoiled(strange, good)
}

/// Returns at most 255 bytes, text or not.
fn name(strange: &mut Strange<'_>) -> Vec<u8> {
    let mut name = strange.bytes();
    name.truncate(255);
    name
}

fn properties(strange: &mut Strange<'_>) -> RawProperties {
    let mut some = |odds: u32| strange.one_in(odds).then(|| name(strange));
    RawProperties {
        content_type: some(6),
        content_encoding: some(12),
        correlation_id: some(4),
        reply_to: some(6),
        message_id: some(4),
        kind: some(8),
        app_id: some(12),
        timestamp: strange.one_in(6).then(|| *strange.pick(&[&0, &1, &1_700_000_000, &u64::MAX, &(1 << 63)])),
        headers: strange.one_in(3).then(|| headers(strange)),
        ..RawProperties::default()
    }
}

fn headers(strange: &mut Strange<'_>) -> Vec<u8> {
    let count = strange.up_to(6);
    let all: Vec<(Vec<u8>, Vec<u8>)> = (0..count)
        .map(|_| {
            let name =
                if strange.one_in(6) { name(strange) } else { strange.pick(HEADERS).as_bytes().to_vec() };
            (name, value(strange, 3))
        })
        .collect();
    // They share a frame of 128 KiB with the other properties.
    let mut room = 90_000_usize;
    let fit = all.iter().take_while(|(name, value)| {
        room = room.saturating_sub(name.len() + value.len());
        room > 0
    });
    let all: Vec<(&[u8], Vec<u8>)> = fit.map(|(name, value)| (&name[..], value.clone())).collect();
    entries(&all)
}

/// A value of any type, nested at most so deep, or very deep at once.
fn value(strange: &mut Strange<'_>, depth: usize) -> Vec<u8> {
    let fixed = |kind: u8, bytes: &[u8]| [&[kind][..], bytes].concat();
    let number: [u8; 8] = *strange.pick(&[&[0; 8], &[0xff; 8], &[0x80, 0, 0, 0, 0, 0, 0, 0], &[0x7f; 8]]);
    match strange.up_to(if depth == 0 { 14 } else { 18 }) {
        1 => fixed(b'V', &[]),
        2 => fixed(b't', &number[..1]),
        3 => fixed(b'b', &number[..1]),
        4 => fixed(b'B', &number[..1]),
        5 => fixed(b's', &number[..2]),
        6 => fixed(b'u', &number[..2]),
        7 => fixed(b'I', &number[..4]),
        8 => fixed(b'i', &number[..4]),
        9 => fixed(b'f', &number[..4]),
        10 => fixed(b'd', &number),
        11 => fixed(b'l', &number),
        12 => fixed(b'T', &number),
        13 => fixed(b'D', &number[..5]),
        14 | 15 => {
            let mut text = strange.bytes();
            text.truncate(20_000);
            [&b"S"[..], &long(&text)].concat()
        }
        16 => [&b"x"[..], &long(&strange.bytes())].concat(),
        17 => {
            let name = name(strange);
            let inner = [short(&name), value(strange, depth - 1)].concat();
            [&b"F"[..], &long(&inner)].concat()
        }
        _ if strange.0.random_ratio(1, 2) => nested_lists(*strange.pick(&[&2, &32, &33, &1_000, &5_000])),
        _ => [&b"A"[..], &long(&value(strange, depth - 1))].concat(),
    }
}
