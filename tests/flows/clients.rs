//! The packages of `clients/`, installed as their users install them: the tests that stand beside them, against a running engine.

mod between;
pub(crate) mod python;
mod rust;
mod shop;
mod tokens;
pub(crate) mod typescript;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use crate::installation::{Installation, LOG};

/// Far more than any of them takes.
const PATIENCE: Duration = Duration::from_secs(600);

/// Secret of the webhooks of the engine.
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// Receivers: the shops, and queues.
const ALLOWED: &str =
    "[{url: 'http://127.0.0.1:*/pagurus', secret: hooks}, {exchange: '*.notifications', key: '*'}]";

/// Asks somebody who never answers by himself, and answers a call.
const ASK: &str = r#"initialState: ask
targetStates: [done]
calls:
  where: {answer: {place: here}}
states:
  ask:
    entryPoint: true
    actions:
      - http: {method: POST, url: "${config.demo}/silent", headers: {X-Callback-Url: "${request.url}"}, body: {order: "${order.id}"}, timeout: 5s, request: answer}
      - wait: {timeout: 10m}
    on: {wait: asked, fail: failed}
  asked: {kind: waiting, on: {callback: done, timeout: failed}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
"#;

/// Trace context of the orders that ask somebody.
const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// An engine with the scenarios of the tests and of the READMEs, which notifies queues, and signs the webhooks of the shops.
async fn engine(name: &str) -> Installation {
    let settings = [("PAGURUS__NOTIFY__ALLOW", ALLOWED), ("PAGURUS_SECRET_HOOKS", SECRET)];
    let engine = Installation::with(name, &settings).await;
    engine.actions("greet", "- script: 'result(`hello ${params.name}`)'").await;
    engine.actions("change-tariff", LOG).await;
    engine.scenario("ask", ASK).await;
    engine
}

/// Asserts that what these orders asked was asked in the trace in which they were sent.
async fn check_traces(engine: &Installation, orders: &[&str]) {
    let calls = engine.calls("/silent", 1).await;
    for order in orders {
        let asked = calls.iter().find(|call| call.body["order"] == *order);
        let headers = &asked.unwrap_or_else(|| panic!("{order} asked nothing: {calls:?}")).headers;
        assert_eq!(headers["traceparent"].split('-').nth(1), TRACE.split('-').nth(1), "{headers:?}");
    }
}

/// Runs a program to its end, which must be a good one.
async fn run(command: &mut Command) {
    command.stdin(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(PATIENCE, command.output()).await.expect("it ends").unwrap();
    let printed =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {printed}");
}
