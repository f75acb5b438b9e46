//! Generated files are what their generators make today. Writes them only with `UPDATE_GENERATED`.

use std::collections::BTreeMap;

use pagurus_broker::topology;
use pagurus_runtime::config;

use crate::tree::{fresh, read, root};

#[test]
fn amqp_5_house_definitions_of_the_broker_are_fresh() {
    let definitions = topology::definitions("pagurus", &BTreeMap::new());
    fresh("rabbitmq/definitions.json", &(serde_json::to_string_pretty(&definitions).unwrap() + "\n"));
}

#[test]
fn house_the_reference_of_the_configuration_is_fresh() {
    fresh("docs/configuration.md", &config::reference_page());
}

#[test]
fn house_the_shipped_configuration_is_the_default() {
    fresh("pagurus.yaml", &config::defaults_page());
    assert!(config::check(&read("pagurus.yaml")).is_empty(), "{:?}", config::check(&read("pagurus.yaml")));
    let shipped = config::load(Some(&root().join("pagurus.yaml")), std::iter::empty()).unwrap();
    let silent = config::load(None, std::iter::empty()).unwrap();
    assert_eq!(shipped.database.url, silent.database.url);
    assert_eq!(shipped.broker.url, silent.broker.url);
}
