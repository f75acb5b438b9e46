//! The pages in a real browser, over real services: each file of `tests/centre` is a program of node's own test runner.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use pagurus_harness::nodes::Role;
use pagurus_harness::npm::with_packages;
use tokio::process::Command;

use crate::access::{ROOT, guarded};
use crate::flows::what_if::recorded;
use crate::installation::Installation;
use crate::refused::{listed, send};

/// Far more than any of them takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(1_200);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Runs a program of tests to its end, which must be good.
async fn demand(mut command: Command) {
    command.stdin(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(PATIENCE, command.output()).await.expect("it ends").unwrap();
    let printed = [output.stdout, output.stderr].concat();
    println!("{}", String::from_utf8_lossy(&printed));
    assert!(output.status.success(), "ended with {}", output.status);
}

/// A name that leads to this machine and is no secure context for a browser, like a name in a plain network.
const PLAIN: &str = "[centre.test]";

/// Runs a file of browser tests against an engine of its own.
async fn in_browser(file: &str) {
    let hosts = [("PAGURUS__INTAKE__HOSTS", PLAIN)];
    let engine = Installation::with(&file.replace('.', "_"), &hosts).await;
    drive(&engine, file, &[]).await;
}

/// Runs a file of browser tests against an engine.
async fn drive(engine: &Installation, file: &str, environment: &[(&str, &str)]) {
    let place = tokio::task::spawn_blocking(|| with_packages(&root().join("tests/centre"), &root()).unwrap());
    let place = place.await.unwrap();
    let mut command = Command::new("node");
    command.arg("--test").arg(place.join(file)).env("PAGURUS_SERVER", engine.base());
    command.envs(environment.iter().copied());
    demand(command).await;
}

/// Tests of the pages' own code, without a browser.
#[tokio::test]
async fn ui_5_units_of_the_pages() {
    let mut command = Command::new("node");
    command.arg("test.mjs").current_dir(root().join("services/centre/web"));
    demand(command).await;
}

#[tokio::test]
async fn ui_1_login_in_a_browser() {
    let engine = guarded("ui_1_login", &[Role::Intake], &[]).await;
    drive(&engine, "ui_1_login.mjs", &[("CENTRE_NAME", ROOT.0), ("CENTRE_PASSWORD", ROOT.1)]).await;
}

#[tokio::test]
async fn ui_2_times_and_changes_in_a_browser() {
    in_browser("ui_2_times.mjs").await;
}

#[tokio::test]
async fn ui_3_budgets_of_pages_in_a_browser() {
    in_browser("ui_3_budget.mjs").await;
}

#[tokio::test]
async fn ui_4_addresses_in_a_browser() {
    in_browser("ui_4_address.mjs").await;
}

#[tokio::test]
async fn ui_4_states_of_panels_in_a_browser() {
    in_browser("ui_4_states.mjs").await;
}

#[tokio::test]
async fn ui_5_accessibility_width_and_policy_in_a_browser() {
    in_browser("ui_5_pages.mjs").await;
}

#[tokio::test]
async fn ui_5_keyboard_and_contents_in_a_browser() {
    in_browser("ui_5_use.mjs").await;
}

#[tokio::test]
async fn ui_5_the_documentation_in_a_browser() {
    let engine = Installation::only("ui_5_documentation", &[Role::Intake], &[]).await;
    drive(&engine, "ui_5_guide.mjs", &[]).await;
}

#[tokio::test]
async fn ui_4_the_day_of_an_operator_in_a_browser() {
    in_browser("day_of_an_operator.mjs").await;
}

#[tokio::test]
async fn ui_5_thirty_tasks_of_an_operator_in_a_browser() {
    let engine = Installation::with("operator_tasks", &[]).await;
    // A refused message: no order over HTTP makes one.
    send(&engine, br#"{"id": "late", "scenario": "unheard-of"}"#).await;
    let message = listed(&engine, 1).await[0]["id"].as_str().unwrap().to_owned();
    drive(&engine, "operator_tasks.mjs", &[("CENTRE_MESSAGE", &message)]).await;
}

#[tokio::test]
async fn ui_6_the_day_of_a_writer_in_a_browser() {
    in_browser("day_of_a_writer.mjs").await;
}

#[tokio::test]
async fn ord_38_the_form_of_an_order_in_a_browser() {
    in_browser("form_of_an_order.mjs").await;
}

#[tokio::test]
async fn scn_19_the_page_of_an_order_in_a_browser() {
    in_browser("page_of_an_order.mjs").await;
}

#[tokio::test]
async fn dsp_15_what_if_in_a_browser() {
    let engine = Installation::with("what_if_page", &[]).await;
    recorded(&engine).await;
    drive(&engine, "what_if.mjs", &[("CENTRE_FLOW", "tariff")]).await;
}

#[tokio::test]
async fn ord_39_the_page_of_schedules_in_a_browser() {
    in_browser("page_of_schedules.mjs").await;
}
