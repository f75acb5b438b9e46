//! Files of configuration with mistakes, and variables: each mistake is found before a start, at its place (QLT-9). Asked is what
//! the start and `pagurus config check` ask.

use std::collections::BTreeMap;

use pagurus_domain::id::Role;
use pagurus_runtime::start::{self, HostFacts};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::data::{Change, Piece, files, words};

/// A file of configurations.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    items: Vec<Item>,
    /// Each value for each key of a kind.
    #[serde(default)]
    kinds: BTreeMap<String, Kind>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Item {
    #[serde(deserialize_with = "words")]
    name: String,
    #[serde(default)]
    text: Option<Piece>,
    /// Values by their places, in place of a text.
    #[serde(default)]
    set: Map<String, Value>,
    #[serde(default)]
    environment: BTreeMap<String, Piece>,
    /// `ok`, or the JSON pointer of a fault; `text` for one of the text as a whole.
    expect: String,
    /// Words of that fault.
    #[serde(default)]
    says: Option<String>,
}

/// Keys of a kind, with values that none of them takes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kind {
    keys: Vec<String>,
    values: Vec<Value>,
}

impl Kind {
    fn items(&self) -> impl Iterator<Item = Item> {
        self.keys.iter().flat_map(|key| {
            self.values.iter().map(move |value| Item {
                name: format!("{key}: {value}"),
                set: Map::from_iter([(key.clone(), value.clone())]),
                expect: key.clone(),
                ..Item::default()
            })
        })
    }
}

impl Item {
    fn fault(&self) -> Option<String> {
        let change = Change { set: self.set.clone(), without: Vec::new() };
        let text = self.text.as_ref().map_or_else(
            || if self.set.is_empty() { String::new() } else { change.of(&Value::Null, "").to_string() },
            |text| text.text(""),
        );
        let environment = self.environment.iter().map(|(name, value)| (name.clone(), value.text("")));
        let host = HostFacts { variable: |_| None };
        let faults = start::check(&text, environment, Role::ALL, Some(host));
        let said: Vec<(String, String)> =
            faults.iter().map(|fault| (fault.pointer.clone(), fault.to_string())).collect();
        let is_here = |(pointer, fault): &(String, String)| {
            let place = self.expect == "text" || *pointer == self.expect;
            place && self.says.as_ref().is_none_or(|words| fault.contains(words.as_str()))
        };
        let as_demanded = if self.expect == "ok" { faults.is_empty() } else { said.iter().any(is_here) };
        (!as_demanded).then(|| format!("{said:.500?}"))
    }
}

#[tokio::test]
async fn qlt_9_every_mistake_of_the_corpus_in_a_configuration_is_found_before_a_start() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (category, file) in files::<File>("configuration") {
        let crossed: Vec<Item> = file.kinds.values().flat_map(Kind::items).collect();
        println!("configuration, {category}: {} inputs", file.items.len() + crossed.len());
        for item in file.items.iter().chain(&crossed) {
            if let Some(fault) = item.fault() {
                wrong.push(format!("{category}: {}: {fault}, instead of {}", item.name, item.expect));
            }
            count += 1;
        }
    }
    println!("configuration: {count} inputs");
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}
