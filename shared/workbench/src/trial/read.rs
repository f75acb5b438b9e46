//! Reads a file of tests into [`TrialFile`]; all its faults are reported at once.

mod answer;
mod expect;
mod keys;
mod reader;

use jiff::Timestamp;
use pagurus_domain::document::{self, DocumentNode, Fault};
use pagurus_domain::order::labels::Labels;
use pagurus_domain::retry::ErrorPolicy;
use serde_json::{Value, json};

use super::{Expect, Ordered, Trial, TrialCall, TrialFile, TrialSecrets};
pub use keys::editor_schema;
use keys::{CALL, FILE, ORDER, TRIAL};
use reader::{TrialField, TrialReader};

/// Tests of one file; more of them make a file that nobody reads.
const MAX_TRIALS: usize = 1000;
/// Time at which tests begin that say nothing else.
const START: &str = "2026-03-01T10:00:00Z";

/// See [`super::read()`].
pub(super) fn file(text: &str) -> Result<TrialFile, Vec<Fault>> {
    let tree = document::parse(text, &document::DocumentLimits::default())?;
    let mut reader = TrialReader::default();
    let root = TrialField::root(&tree);
    let fields = reader.fields(&root, &FILE);
    let scenario = fields.get("scenario").and_then(|field| reader.text(field)).map(str::to_owned);
    let mut trials = Vec::new();
    match reader.required(&root, &fields, "tests", "tests: [{test: NAME, expect: {status: success}}]") {
        Some(field) if field.node.as_list().is_some_and(|list| list.len() > MAX_TRIALS) => {
            reader.push(field.fault(format!("more than {MAX_TRIALS} tests")).hint("split the file"));
        }
        Some(field) => trials.extend(reader.items(field).iter().map(|item| trial(&mut reader, item))),
        None => {}
    }
    reader.end().map(|()| TrialFile { scenario, trials })
}

fn trial(reader: &mut TrialReader, spot: &TrialField<'_>) -> Trial {
    let fields = reader.fields(spot, &TRIAL);
    let name = reader.required(spot, &fields, "test", "test: what it shows");
    let name = name.and_then(|field| reader.text(field)).unwrap_or_default().to_owned();
    let params = fields.get("params").map_or_else(|| json!({}), |field| map(reader, field));
    let config = fields.get("config").map_or_else(|| json!({}), |field| map(reader, field));
    let now = fields.get("now").and_then(|field| time(reader, field));
    let answers = fields.get("answers").map_or_else(Vec::new, |field| {
        reader.items(field).iter().filter_map(|item| answer::read(reader, item)).collect()
    });
    let secrets = fields.get("secrets").map_or_else(Vec::new, |field| reader.texts(field));
    let calls = fields.get("calls").map_or_else(Vec::new, |field| {
        let mut calls: Vec<TrialCall> =
            reader.items(field).iter().filter_map(|item| call(reader, item)).collect();
        calls.sort_by_key(|call| call.after);
        calls
    });
    let errors = fields.get("errors").and_then(|field| errors(reader, field));
    let expect = reader.required(spot, &fields, "expect", "expect: {status: success}");
    let expect = expect.map_or_else(Expect::default, |field| expect::read(reader, field));
    Trial {
        name,
        at: spot.node.at,
        order: order(reader, fields.get("order"), params),
        config,
        secrets: TrialSecrets(secrets.into_iter().collect()),
        calls,
        now: now.unwrap_or_else(start),
        answers,
        errors,
        expect,
    }
}

fn order(reader: &mut TrialReader, field: Option<&TrialField<'_>>, params: Value) -> Ordered {
    let mut order = Ordered {
        id: "order-1".to_owned(),
        transaction_id: None,
        labels: Labels::default(),
        queue: None,
        params,
    };
    let Some(field) = field else {
        return order;
    };
    let fields = reader.fields(field, &ORDER);
    let mut text = |key| fields.get(key).and_then(|field| reader.text(field)).map(str::to_owned);
    if let Some(id) = text("id") {
        order.id = id;
    }
    order.transaction_id = text("transactionId");
    order.queue = text("queue");
    if let Some(field) = fields.get("labels") {
        order.labels = labels(reader, field);
    }
    order
}

fn labels(reader: &mut TrialReader, field: &TrialField<'_>) -> Labels {
    let Value::Object(labels) = map(reader, field) else { return Labels::default() };
    Labels::read(labels, "").unwrap_or_else(|faults| {
        for found in faults {
            reader.push(field.fault(format!(
                "label `{}` {}",
                found.pointer.trim_start_matches('/'),
                found.message
            )));
        }
        Labels::default()
    })
}

fn call(reader: &mut TrialReader, item: &TrialField<'_>) -> Option<TrialCall> {
    let fields = reader.fields(item, &CALL);
    let after = reader.required(item, &fields, "after", "after: 1h");
    let after = after.and_then(|field| reader.duration(field));
    let name = reader.required(item, &fields, "name", "name: change-address");
    let name = name.and_then(|field| reader.text(field))?.to_owned();
    let body = fields.get("body").map_or(Value::Null, |field| value(field.node));
    Some(TrialCall { after: after?, name, body })
}

fn map(reader: &mut TrialReader, field: &TrialField<'_>) -> Value {
    if field.node.as_map().is_none() {
        reader.push(field.must_be("a mapping"));
        return json!({});
    }
    field.node.to_json()
}

fn time(reader: &mut TrialReader, field: &TrialField<'_>) -> Option<Timestamp> {
    let time = reader.text(field)?.parse();
    if time.is_err() {
        let fault = field.fault("this is not a time");
        reader.push(fault.hint("write it like `2026-03-01T10:00:00Z`"));
    }
    time.ok()
}

fn start() -> Timestamp {
    // A constant that the tests read; the fallback is never used.
    START.parse().unwrap_or(Timestamp::UNIX_EPOCH)
}

fn errors(reader: &mut TrialReader, field: &TrialField<'_>) -> Option<ErrorPolicy> {
    match ErrorPolicy::read(field.node) {
        Ok(errors) => Some(errors),
        Err(faults) => {
            for fault in faults {
                let pointer = format!("{}{}", field.pointer, fault.pointer);
                reader.push(Fault { pointer, ..fault });
            }
            None
        }
    }
}

/// The value of a node, for bodies and expectations.
fn value(node: &DocumentNode) -> Value {
    node.to_json()
}
