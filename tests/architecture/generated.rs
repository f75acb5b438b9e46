//! Generated files are what their generators make today. Writes them only with `UPDATE_GENERATED`.

use std::collections::BTreeMap;

use pagurus_broker::topology;
use pagurus_domain::classes;
use pagurus_domain::order::Status;
use pagurus_domain::order::transition::{self, Cause};
use pagurus_runtime::{config, metrics};
use pagurus_scenario::source;
use pagurus_workbench::trial;

use crate::tree::{fresh, none, read, root};

#[test]
fn amqp_5_definitions_of_the_broker_are_fresh() {
    let definitions = topology::definitions("pagurus", &BTreeMap::new());
    fresh("rabbitmq/definitions.json", &(serde_json::to_string_pretty(&definitions).unwrap() + "\n"));
}

#[test]
fn architecture_the_reference_of_the_configuration_is_fresh() {
    fresh("docs/configuration.md", &config::reference_page());
}

/// The table behind this mark of a page is what its generator makes now.
fn fresh_table(page: &str, made_from: &str, table: &str) {
    let mark = format!("<!-- {made_from}: run the tests with UPDATE_GENERATED=1 to write it again. -->\n\n");
    let text = read(page);
    let (before, rest) = text.split_once(&mark).expect("the place of the table is marked");
    let (_, after) = rest.split_once("\n\n").expect("text after the table");
    fresh(page, &format!("{before}{mark}{table}\n{after}"));
}

#[test]
fn architecture_the_list_of_metrics_is_fresh() {
    fresh_table("docs/guides/metrics.md", "The table is made from the code", &metrics::reference_table());
}

#[test]
fn architecture_every_class_of_the_engine_is_listed() {
    let mut table = "| class | when |\n|---|---|\n".to_owned();
    table.extend(classes::ALL.iter().map(|(class, when)| format!("| `{class}` | {when} |\n")));
    fresh_table("docs/scenarios.md", "The table is made from the code", &table);
}

#[test]
fn ord_21_the_table_of_statuses_and_actions_is_fresh() {
    let page = "docs/guides/sending-orders.md";
    fresh_table(page, "This table is made from the law", &statuses_and_actions());
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
fn qlt_6_every_kind_of_refused_guard_is_explained() {
    let page = read("docs/guides/metrics.md");
    let kinds = metrics::Guard::APART.iter().map(|guard| guard.as_str());
    let missing: Vec<String> =
        kinds.map(|kind| format!("kind=\"{kind}\"")).filter(|kind| !page.contains(kind.as_str())).collect();
    none("kinds of refused guards that docs/guides/metrics.md does not explain", &missing);
}

#[test]
fn architecture_the_shipped_configuration_is_the_default() {
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
fn scn_1_the_schemas_for_editors_are_fresh() {
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
fn http_the_document_of_the_api_is_fresh() {
    let document = pagurus_intake::openapi();
    fresh("docs/openapi.json", &(serde_json::to_string_pretty(&document).unwrap() + "\n"));
}

#[test]
fn amqp_4_the_document_of_the_messages_is_fresh() {
    let document = pagurus_intake::asyncapi(&topology::Names::new("pagurus"));
    fresh("docs/asyncapi.json", &(serde_json::to_string_pretty(&document).unwrap() + "\n"));
}
