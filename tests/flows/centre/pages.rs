//! The pages in a real browser, over real services: each file of `tests/centre` is a program of node's own test runner.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use pagurus_harness::npm::with_packages;
use tokio::process::Command;

use crate::installation::Installation;

/// Far more than any of them takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(500);

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

/// Runs a file of browser tests against an engine of its own.
async fn in_browser(file: &str) {
    let engine = Installation::start(&format!("ui_{}", file.replace('.', "_"))).await;
    let place = tokio::task::spawn_blocking(|| with_packages(&root().join("tests/centre"), &root()).unwrap());
    let place = place.await.unwrap();
    let mut command = Command::new("node");
    command.arg("--test").arg(place.join(file)).env("PAGURUS_SERVER", engine.base());
    command.env("PAGURUS_DEMO", engine.world().url());
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
async fn ui_5_rules_of_accessibility_in_a_browser() {
    in_browser("ui_5_axe.mjs").await;
}

#[tokio::test]
async fn ui_5_keyboard_contents_and_policy_in_a_browser() {
    in_browser("ui_5_use.mjs").await;
}
