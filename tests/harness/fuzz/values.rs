//! Values at the edges of what can be written: of JSON, of text, of time, of numbers.

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use serde_json::{Map, Value, json};

/// Texts that something might take for something else, or count otherwise than it is long.
const TEXTS: &[&str] = &[
    "",
    " ",
    "\0",
    "a\0b",
    "\u{1a}",
    "\u{7f}\u{80}\u{9f}",
    "\r\nInjected: yes",
    "café",
    "cafe\u{301}",
    "👩‍👩‍👧‍👦",
    "\u{202e}txet",
    "\u{feff}bom",
    "\u{fffd}\u{ffff}",
    "'; DROP TABLE orders; --",
    "${params.n}",
    "${secret.token}",
    "${",
    "../../etc/passwd",
    "%00%2e%2e%2f",
    "$1",
    "{{7*7}}",
    "null",
    "NaN",
    "0x10",
    "1e999",
    "true",
    "2026-02-30T25:61:61Z",
    "-004713-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999999Z",
    "1969-12-31T23:59:59Z",
    "9223372036854775808",
    "-1",
    "PT1H",
    "99999999999d",
    "1ns",
    "amqp://?exchange=amq.topic&key=x",
    "amqp://?queue=pagurus.orders.in",
    "http://169.254.169.254/",
    "fuzz-0",
    "fuzz",
    "success",
    "*",
    "#",
    "Europe/Moscow",
    "Mars/Olympus",
];

/// Draws values.
#[derive(Debug)]
pub struct Strange<'a>(pub(super) &'a mut StdRng);

impl<'a> Strange<'a> {
    pub(super) fn new(dice: &'a mut StdRng) -> Self {
        Self(dice)
    }

    pub(super) fn one_in(&mut self, count: u32) -> bool {
        self.0.random_ratio(1, count)
    }

    /// Returns a number from 1 to `most`.
    pub(super) fn up_to(&mut self, most: usize) -> usize {
        self.0.random_range(1..=most)
    }

    pub(super) fn pick<'t, T: ?Sized>(&mut self, of: &[&'t T]) -> &'t T {
        of.choose(self.0).copied().unwrap_or(of[0])
    }

    /// Any text, up to some 200 kB.
    pub fn text(&mut self) -> String {
        if self.one_in(3) {
            let letter = self.pick(&["x", "é", "漢", "😀", "\"", "\\", "/"]);
            let length = *[1, 63, 64, 255, 256, 1023, 1024, 1025, 4096, 65_536].choose(self.0).unwrap_or(&1);
            return letter.repeat(length);
        }
        self.pick(TEXTS).to_owned()
    }

    /// Any bytes, text or not.
    pub fn bytes(&mut self) -> Vec<u8> {
        match self.up_to(4) {
            1 => Vec::new(),
            2 => self.text().into_bytes(),
            3 => vec![0xe9; self.up_to(300)],
            _ => (0..self.up_to(2000)).map(|_| self.0.random()).collect(),
        }
    }

    /// Any JSON.
    pub fn value(&mut self) -> Value {
        match self.up_to(12) {
            1 => Value::Null,
            2 => json!(self.0.random::<bool>()),
            3 => self.number(),
            4..=7 => Value::String(self.text()),
            8 => json!([]),
            9 => json!({}),
            10 => nested(*[5, 60, 120].choose(self.0).unwrap_or(&5), self.0.random()),
            11 => Value::Array((0..self.up_to(300)).map(Value::from).collect()),
            _ => {
                let names = (0..self.up_to(20)).map(|_| (self.text(), Value::Null));
                Value::Object(names.collect::<Map<_, _>>())
            }
        }
    }

    fn number(&mut self) -> Value {
        let numbers = [
            json!(0),
            json!(-1),
            json!(1),
            json!(i64::MIN),
            json!(i64::MAX),
            json!(u64::MAX),
            json!(9_007_199_254_740_993_i64),
            json!(u32::MAX),
            json!(1e308),
            json!(-0.0),
            json!(5e-324),
            json!(0.1),
        ];
        numbers.choose(self.0).cloned().unwrap_or_default()
    }

    /// Changes one thing somewhere in a document.
    pub fn spoil(&mut self, document: &mut Value) {
        // Down by chance, so that the whole and every part of it has its turn.
        let down = !self.one_in(4);
        match document {
            Value::Object(map) if !map.is_empty() && down => {
                let names: Vec<String> = map.keys().cloned().collect();
                let name = names.choose(self.0).cloned().unwrap_or_default();
                match self.up_to(6) {
                    1 => drop(map.remove(&name)),
                    2 => drop(map.insert(self.text(), self.value())),
                    3 => {
                        let moved = map.remove(&name).unwrap_or_default();
                        map.insert(self.text(), moved);
                    }
                    _ => self.spoil(map.entry(name).or_insert(Value::Null)),
                }
            }
            Value::Array(list) if !list.is_empty() && down => {
                let index = self.0.random_range(0..list.len());
                match self.up_to(3) {
                    1 => list.push(self.value()),
                    2 => drop(list.remove(index)),
                    _ => self.spoil(&mut list[index]),
                }
            }
            other => *other = self.value(),
        }
    }

    /// Makes text of JSON that no serializer writes: keys twice, numbers without bound, half of it.
    pub fn spoil_text(&mut self, text: &mut String) {
        match self.up_to(6) {
            1 => text.truncate(text.floor_char_boundary(text.len() / 2)),
            2 => *text = text.replacen('{', r#"{"id": "twice", "#, 1),
            3 => *text = text.replacen(':', ": 1e400, \"x\":", 1),
            4 => text.insert(0, '\u{feff}'),
            5 => *text = format!("{}{text}{}", "[".repeat(300), "]".repeat(300)),
            _ => *text = text.replacen('"', r#""\ud800"#, 1),
        }
    }
}

fn nested(depth: usize, lists: bool) -> Value {
    (0..depth).fold(Value::Null, |inner, _| if lists { json!([inner]) } else { json!({"n": inner}) })
}
