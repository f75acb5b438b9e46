//! Texts of scenarios, read by the reader that check and apply ask; schemas, with parameters that are held against them; and the
//! same texts once more over HTTP.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use pagurus_scenario::params::params_faults;
use pagurus_scenario::script::{Limits, Scripting};
use pagurus_scenario::{Bounds, Library, source};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::data::{Change, Piece, files, words};
use super::socket::{Reply, Sent, ask};
use super::watch::{Watch, own_peak};

/// Far more than any text takes in a debug build on a busy machine: what takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(20);
/// Most memory that all texts together add, in KiB.
const MEMORY: u64 = 256 * 1024;

/// A file of scenarios.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    /// The scenario that the items change.
    #[serde(default)]
    base: Value,
    items: Vec<Item>,
}

/// A text with what is to be said of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Item {
    #[serde(deserialize_with = "words")]
    name: String,
    #[serde(default)]
    text: Option<Piece>,
    #[serde(default)]
    set: Map<String, Value>,
    #[serde(default)]
    without: Vec<String>,
    /// Parameters of an order, where the schema is what matters.
    #[serde(default)]
    params: Option<Piece>,
    /// `ok`, `malformed` for what is no text, or JSON pointers that faults must have, apart by commas; `text` for any fault of
    /// the text, `params` for one of the parameters, `warned` and a pointer for a warning alone.
    expect: String,
    /// Words of a fault.
    #[serde(default)]
    says: Option<String>,
}

impl Item {
    pub(super) fn bytes(&self, base: &Value, id: &str) -> Vec<u8> {
        let change = Change { set: self.set.clone(), without: self.without.clone() };
        self.text.as_ref().map_or_else(|| change.of(base, id).to_string().into_bytes(), |text| text.bytes(id))
    }

    /// Returns the faults that the text has, where they are other than demanded.
    fn fault(&self, bytes: Vec<u8>, scripting: &Scripting) -> Option<String> {
        let Ok(text) = String::from_utf8(bytes) else {
            return (self.expect != "malformed").then(|| "it is no UTF-8".to_owned());
        };
        let (library, bounds) = (Library::default(), Bounds::default());
        let (faults, of_params) = match source::read_with_warnings(&text, &library, scripting, &bounds) {
            Err(faults) => (faults, false),
            Ok(reading) => match (&self.params, self.expect.strip_prefix("warned ")) {
                (_, Some(place)) => {
                    let is_there = reading.warnings.iter().any(|warning| warning.pointer == place);
                    return (!is_there).then(|| format!("{:?}", reading.warnings));
                }
                (Some(params), _) => {
                    let params: Value = serde_json::from_slice(&params.bytes("")).expect("parameters");
                    (params_faults(&params, &reading.scenario), true)
                }
                (None, _) => (Vec::new(), true),
            },
        };
        let pointers: BTreeSet<&str> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
        let said: Vec<String> =
            faults.iter().take(10).map(|fault| format!("{} {fault}", fault.pointer)).collect();
        let as_demanded = match self.expect.as_str() {
            "ok" => faults.is_empty(),
            "malformed" => false,
            "text" => !faults.is_empty() && !of_params,
            "params" => !faults.is_empty() && of_params,
            places => !of_params && places.split(", ").all(|place| pointers.contains(place)),
        };
        let as_worded = self.says.as_ref().is_none_or(|words| said.iter().any(|one| one.contains(words)));
        (!as_demanded || !as_worded).then(|| format!("{said:.600?}"))
    }
}

#[test]
fn qlt_8_every_scenario_of_the_corpus_is_judged_as_the_language_says_in_no_time() {
    let scripting = Scripting::new(Limits::default());
    let (before, mut wrong, mut count, mut slowest) = (own_peak(), Vec::new(), 0, Duration::ZERO);
    for folder in ["scenarios", "schemas"] {
        for (category, file) in files::<File>(folder) {
            println!("{folder}, {category}: {} inputs", file.items.len());
            for (number, item) in file.items.iter().enumerate() {
                let bytes = item.bytes(&file.base, &format!("s{number}"));
                let begun = Instant::now();
                let fault = item.fault(bytes, &scripting);
                let took = begun.elapsed();
                slowest = slowest.max(took);
                if let Some(fault) = fault {
                    wrong.push(format!("{category}: {}: {fault}, instead of {}", item.name, item.expect));
                }
                if took > PATIENCE {
                    wrong.push(format!("{category}: {} takes {took:?}", item.name));
                }
                count += 1;
            }
        }
    }
    let more = own_peak().saturating_sub(before);
    println!("scenarios: {count} inputs, the slowest {slowest:?}; {} MiB more", more / 1024);
    assert!(more < MEMORY, "{} MiB more than before", more / 1024);
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Sends the texts to the check of a running engine, which must judge alike. Returns their number.
pub(super) async fn run(watch: &mut Watch<'_>, address: &str) -> usize {
    let mut count = 0;
    for folder in ["scenarios", "schemas"] {
        for (category, file) in files::<File>(folder) {
            for (number, item) in file.items.iter().enumerate() {
                let body = item.bytes(&file.base, &format!("s{number}"));
                let statuses: &[u16] = match item.expect.as_str() {
                    "malformed" => &[400],
                    expected if ["ok", "params"].contains(&expected) || expected.starts_with("warned") => {
                        &[200]
                    }
                    _ if body.len() > 1024 * 1024 => &[413],
                    _ => &[422],
                };
                let reply = ask(address, &post("/v1/scenarios/check", "application/yaml", &body)).await;
                if !matches!(&reply, Reply::Answer { status, .. } if statuses.contains(status)) {
                    let name = format!("check of {category}: {}", item.name);
                    watch.wrong.push(format!("{name}: {}, instead of {statuses:?}", reply.shown()));
                }
                watch.canary(&item.name).await;
                count += 1;
            }
        }
    }
    count
}

/// A request with this body.
pub(super) fn post(path: &str, kind: &str, body: &[u8]) -> Sent {
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    Sent { bytes: [head.as_bytes(), body].concat(), ..Sent::default() }
}
