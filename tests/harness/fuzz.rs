//! Strange inputs for every transport of the engine, from a seed: each route, each message property, each
//! field at its longest, deepest and strangest. Never sends what the contract forbids to survive: a
//! flood, or a message beyond the broker's bound.

pub mod amqp;
pub mod http;
pub mod values;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};

use values::Strange;

/// A random input.
#[derive(Clone, Debug)]
pub enum Input {
    /// A request to the API.
    Http(http::Request),
    /// A message to one of the two exchanges.
    Amqp(Box<amqp::Message>),
}

/// The inputs of a seed, without end.
#[derive(Debug)]
pub struct Inputs {
    dice: StdRng,
    number: usize,
}

impl Inputs {
    /// Inputs of this seed.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        Self { dice: StdRng::seed_from_u64(seed), number: 0 }
    }
}

impl Iterator for Inputs {
    type Item = Input;

    fn next(&mut self) -> Option<Input> {
        self.number += 1;
        let strange = Strange::new(&mut self.dice);
        // Routes come in turn, so that none is left out; what is sent to them is drawn.
        Some(if self.number.is_multiple_of(3) {
            Input::Amqp(Box::new(amqp::Message::draw(strange)))
        } else {
            Input::Http(http::Request::draw(self.number * 2 / 3, strange))
        })
    }
}

/// A registration with every field, all of them legal; `id` is drawn.
fn order(dice: &mut StdRng) -> Value {
    json!({
        "id": format!("fuzz-{:08x}", dice.random::<u32>()),
        "scenario": "fuzzed",
        "scenarioVersion": 1,
        "params": {"n": 1, "text": "x", "list": [1, 2], "map": {"a": null}},
        "mode": "sequential",
        "queue": "fuzz",
        "priority": "low",
        "flow": {"region": "200"},
        "transactionId": "t-1",
        "notify": {"url": "amqp://?key=fuzz", "correlationId": "c-1", "timezone": "Europe/Moscow", "on": ["final"]},
        "lifecycle": {
            "startAt": "2020-01-01T00:00:00Z",
            "periodToStart": 4_000_000_000_u32,
            "after": [{"order": "fuzz-before", "states": ["done"], "otherwise": "wait"}],
        },
    })
}

/// A body like the given one, with one to three things wrong, or not JSON at all.
fn spoiled(strange: &mut Strange<'_>, mut body: Value) -> Vec<u8> {
    if strange.one_in(12) {
        return strange.bytes();
    }
    for _ in 0..strange.up_to(3) {
        strange.spoil(&mut body);
    }
    let mut text = body.to_string();
    if strange.one_in(10) {
        strange.spoil_text(&mut text);
    }
    text.into_bytes()
}
