//! The programs of `docs/guides/sending-orders.md`, as they are shipped: each sends an order and learns its end.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use pagurus_harness::npm::with_packages;
use pagurus_harness::packages::python;
use tokio::process::Command;

use crate::installation::Installation;

/// Far more than any of them takes.
const PATIENCE: Duration = Duration::from_secs(60);

fn senders() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("examples/senders")
}

/// Runs a program that sends the order `id`; returns whether it succeeded, and all that it printed.
async fn run(engine: &Installation, mut command: Command, id: &str, scenario: &str) -> (bool, String) {
    command
        .args([id, scenario])
        .env("AMQP_URL", engine.env().amqp_url())
        .env("PAGURUS_PREFIX", engine.env().prefix())
        .env("NOTIFY_KEY", format!("{}.sender", engine.env().prefix()))
        .env("PAGURUS_SERVER", engine.base())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = tokio::time::timeout(PATIENCE, command.output()).await.expect("it ends").unwrap();
    let printed =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.success(), printed)
}

/// Asserts that a sender learns that its order was taken and how it ended, or that it was refused.
async fn demand(name: &str, program: impl Fn() -> Command) {
    let engine = Installation::start(name).await;
    engine.actions("greet", "- script: 'result(`hello ${params.msisdn}`)'").await;
    let (sent, printed) = run(&engine, program(), "a", "greet").await;
    assert!(sent, "{printed}");
    assert!(printed.contains("accepted") && printed.contains("success"), "{printed}");
    let order = engine.reach("a", "success").await;
    assert_eq!(order["result"], "hello 79110000001", "{order}");
    // Sent again, it waits for nothing: the end was reported then.
    let begun = Instant::now();
    let (sent, printed) = run(&engine, program(), "a", "greet").await;
    assert!(sent && printed.contains("duplicate"), "{printed}");
    assert!(begun.elapsed() < PATIENCE / 3, "{:?}", begun.elapsed());
    let (sent, printed) = run(&engine, program(), "b", "unknown").await;
    assert!(!sent && printed.contains("there is no scenario `unknown`"), "{printed}");
    let (sent, printed) = run(&engine, program(), "c", "gret").await;
    assert!(!sent && printed.contains("did you mean `greet`?"), "{printed}");
}

#[tokio::test]
async fn ord_3_the_sender_over_http_learns_the_end_of_its_order() {
    demand("sender_http", || Command::new(senders().join("send-order.sh"))).await;
}

#[tokio::test]
async fn ord_18_the_sender_in_python_has_its_receipt_and_its_notification() {
    demand("sender_python", || {
        let mut command = Command::new(python().expect("`./dev test` installs it"));
        command.arg(senders().join("python/send_order.py"));
        command
    })
    .await;
}

#[tokio::test]
async fn ord_18_the_sender_in_javascript_has_its_receipt_and_its_notification() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let place = with_packages(&senders().join("node"), root).unwrap();
    demand("sender_node", || {
        let mut command = Command::new("node");
        command.arg(place.join("send-order.mjs"));
        command
    })
    .await;
}

#[tokio::test]
async fn ord_18_the_sender_in_rust_has_its_receipt_and_its_notification() {
    let programs = PathBuf::from(std::env::var_os("PAGURUS_TEST_BIN").expect("`./dev test` sets it"));
    demand("sender_rust", || Command::new(programs.join("send-order"))).await;
}
