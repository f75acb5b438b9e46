//! Generated files are what their generators make today. Writes them only with `UPDATE_GENERATED`.

use std::collections::BTreeMap;

use pagurus_broker::topology;
use pagurus_domain::order::Status;
use pagurus_domain::order::transition::{self, Cause};
use pagurus_domain::scenario::{source, trial};
use pagurus_runtime::{config, metrics};

use crate::tree::{fresh, none, read, root};

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
fn house_the_list_of_metrics_is_fresh() {
    const PAGE: &str = "docs/guides/metrics.md";
    const BEGIN: &str = "<!-- The table is made from the code: run the tests with UPDATE_GENERATED=1 to write it anew. -->\n\n";
    let page = read(PAGE);
    let (before, rest) = page.split_once(BEGIN).expect("the place of the table is marked");
    let (_, after) = rest.split_once("\n\n").expect("text after the table");
    fresh(PAGE, &format!("{before}{BEGIN}{}\n{after}", metrics::reference_table()));
}

#[test]
fn ord_21_house_the_table_of_statuses_and_actions_is_fresh() {
    const PAGE: &str = "docs/guides/sending-orders.md";
    const BEGIN: &str = "<!-- This table is made from the law: run the tests with UPDATE_GENERATED=1 to write it anew. -->\n\n";
    let page = read(PAGE);
    let (before, rest) = page.split_once(BEGIN).expect("the place of the table is marked");
    let (_, after) = rest.split_once("\n\n").expect("text after the table");
    fresh(PAGE, &format!("{before}{BEGIN}{}\n{after}", statuses_and_actions()));
}

/// Result of each action on an order in each status.
fn statuses_and_actions() -> String {
    let actions = [
        ("cancel", Cause::Canceled),
        ("interrupt", Cause::Interrupted),
        ("kill", Cause::Killed),
        ("restart", Cause::Restarted),
        ("repair", Cause::Repaired),
        ("`PATCH`", Cause::Updated),
    ];
    let names: Vec<&str> = actions.iter().map(|(name, _)| *name).collect();
    let mut table = format!("| status | {} |\n|---|{}\n", names.join(" | "), "---|".repeat(actions.len()));
    for status in Status::ALL {
        let cell = |cause| match transition::next(*status, cause) {
            Ok(to) if to == *status => "stays".to_owned(),
            Ok(to) => format!("`{to}`"),
            Err(_) => "–".to_owned(),
        };
        let cells: Vec<String> = actions.iter().map(|(_, cause)| cell(*cause)).collect();
        table.push_str(&format!("| `{status}` | {} |\n", cells.join(" | ")));
    }
    table
}

#[test]
fn qlt_6_house_every_kind_of_refused_guard_is_explained() {
    let page = read("docs/guides/metrics.md");
    let kinds = metrics::Guard::APART.iter().map(|guard| guard.as_str());
    let missing: Vec<String> =
        kinds.map(|kind| format!("kind=\"{kind}\"")).filter(|kind| !page.contains(kind.as_str())).collect();
    none("kinds of refused guards that docs/guides/metrics.md does not explain", &missing);
}

#[test]
fn house_the_shipped_configuration_is_the_default() {
    fresh("pagurus.yaml", &config::defaults_page());
    assert!(
        config::check(&read("pagurus.yaml"), std::iter::empty()).is_empty(),
        "{:?}",
        config::check(&read("pagurus.yaml"), std::iter::empty())
    );
    let shipped = config::load(Some(&root().join("pagurus.yaml")), std::iter::empty()).unwrap();
    let silent = config::load(None, std::iter::empty()).unwrap();
    assert_eq!(shipped.database.url, silent.database.url);
    assert_eq!(shipped.broker.url, silent.broker.url);
}

#[test]
fn scn_1_house_the_schemas_for_editors_are_fresh() {
    for (name, schema) in schemas() {
        fresh(&format!("docs/schemas/{name}.json"), &(serde_json::to_string_pretty(&schema).unwrap() + "\n"));
    }
}

/// The schemas of the files that people write, by their names.
pub(crate) fn schemas() -> [(&'static str, serde_json::Value); 3] {
    [
        ("scenario", source::editor_schema()),
        ("tests", trial::editor_schema()),
        ("configuration", config::editor_schema()),
    ]
}

#[test]
fn http_house_the_document_of_the_api_is_fresh() {
    let document = pagurus_intake::openapi();
    fresh("docs/openapi.json", &(serde_json::to_string_pretty(&document).unwrap() + "\n"));
}

#[test]
fn amqp_4_house_the_document_of_the_messages_is_fresh() {
    let document = pagurus_intake::asyncapi(&topology::Names::new("pagurus"));
    fresh("docs/asyncapi.json", &(serde_json::to_string_pretty(&document).unwrap() + "\n"));
}
