//! The clients of `examples/clients`, as they are shipped: the tests that stand beside them, against a running engine.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use pagurus_client::{After, Client, Error, Lifecycle, Notify, Order};
use pagurus_harness::packages::python;
use serde_json::{Map, Value, json};
use tokio::process::Command;

use crate::installation::Installation;

/// Far more than any of them takes.
const PATIENCE: Duration = Duration::from_secs(120);

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

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

async fn engine(name: &str) -> Installation {
    let engine = Installation::start(name).await;
    engine.actions("greet", "- script: 'result(`hello ${params.name}`)'").await;
    engine.scenario("ask", ASK).await;
    engine
}

/// Runs a program to its end, which must be a good one.
async fn run(mut command: Command) {
    command.stdin(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(PATIENCE, command.output()).await.expect("it ends").unwrap();
    let printed =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{printed}");
}

#[tokio::test]
async fn ord_3_the_client_in_python_follows_its_orders() {
    let engine = engine("client_python").await;
    let mut command = Command::new(python().expect("`./dev test` installs it"));
    command.args(["-B", "-m", "unittest", "test_client"]).current_dir(root().join("examples/clients/python"));
    command.env("PAGURUS_SERVER", engine.base());
    run(command).await;
}

#[tokio::test]
async fn ord_3_the_client_in_typescript_follows_its_orders() {
    let engine = engine("client_typescript").await;
    let folder = root().join("examples/clients/typescript");
    let compiled = engine.env().logs().join("typescript");
    std::fs::create_dir_all(&compiled).unwrap();
    std::fs::write(compiled.join("package.json"), r#"{"type": "module"}"#).unwrap();
    let mut compiler = Command::new("tsc");
    compiler.arg("-p").arg(&folder).arg("--outDir").arg(&compiled);
    run(compiler).await;
    let mut command = Command::new("node");
    command.arg("--test").arg(folder.join("client.test.mjs"));
    command.env("PAGURUS_SERVER", engine.base()).env("COMPILED", compiled.join("pagurus-client.js"));
    run(command).await;
}

fn kind(error: &Error) -> &str {
    error.problem().map_or("", |problem| problem.kind())
}

#[tokio::test]
async fn ord_3_the_client_in_rust_follows_its_orders() {
    let engine = engine("client_rust").await;
    let client = Client::new(engine.base()).unwrap();
    let order = Order::new("rs/1", "greet").params(json!({"name": "a"}));
    assert_eq!(client.register(&order).await.unwrap().status, "accepted");
    assert!(client.wait("rs/1", Some(Duration::from_secs(30))).await.unwrap().is_final);
    let again = client.register(&order).await.unwrap();
    assert_eq!((again.status.as_str(), again.order_status.as_deref()), ("duplicate", Some("success")));
    assert_eq!(client.get("rs/1").await.unwrap()["result"], "hello a");
    let (found, next) = client.find(&[("ids", "rs/1")]).await.unwrap();
    assert_eq!((found.len(), next), (1, None));
    let other = client.register(&order.clone().params(json!({"name": "b"}))).await.unwrap_err();
    assert_eq!(kind(&other), "conflict");
    let urgent = Order { priority: Some("urgent".to_owned()), ..Order::new("rs-2", "greet") };
    let wrong = client.register(&urgent).await.unwrap_err();
    assert_eq!(wrong.problem().unwrap().errors[0].pointer, "/priority", "{wrong}");
    assert_eq!(kind(&client.get("rs-2").await.unwrap_err()), "not-found");

    client.register(&Order::new("rs-3", "ask").in_queue("q")).await.unwrap();
    assert!(!client.wait("rs-3", Some(Duration::from_secs(1))).await.unwrap().is_final);
    let asked = client.call("rs-3", "where", Value::Null, Duration::from_secs(30)).await.unwrap();
    assert_eq!(asked.answer, Some(json!({"place": "here"})));
    let refused = client.act("rs-3", "restart", "too early", Map::new()).await.unwrap_err();
    assert_eq!(refused.problem().unwrap().order_status.as_deref(), Some("wait"), "{refused}");
    assert!(!client.explain("rs-3").await.unwrap().is_empty());
    let url = engine.calls("/silent", 1).await[0].headers["x-callback-url"].clone();
    assert_eq!(client.answer(&url, &json!({"yes": true}), Some("done")).await.unwrap(), "accepted");
    assert_eq!(client.wait("rs-3", None).await.unwrap().status, "success");
    assert_eq!(client.answer(&url, &json!({"yes": true}), None).await.unwrap(), "duplicate");
    assert_eq!(client.answer("nobody's", &json!({}), None).await.unwrap(), "orphan");
    client.register(&Order::new("rs-4", "ask")).await.unwrap();
    client.wait("rs-4", Some(Duration::from_secs(1))).await.unwrap();
    assert!(client.act("rs-4", "kill", "nobody waits for it", Map::new()).await.unwrap().is_final);
}

#[tokio::test]
async fn ord_3_a_client_tells_of_an_engine_that_is_away() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let client = Client::new(&format!("http://{address}")).unwrap().with_patience(Duration::from_millis(500));
    let away = client.register(&Order::new("a", "s")).await.unwrap_err();
    assert!(matches!(away, Error::Unreachable(_)), "{away}");
}

#[test]
fn ord_3_the_fields_of_the_client_in_rust_are_those_of_the_document() {
    let text = |text: &str| Some(text.to_owned());
    let after = After { order: "b".into(), states: vec!["done".into()], otherwise: text("fail") };
    let lifecycle =
        Lifecycle { start_at: text("t"), period_to_start: Some(1), after: Some(vec![after.clone()]) };
    let notify = Notify {
        url: "u".into(),
        correlation_id: text("c"),
        timezone: text("UTC"),
        on: Some(Vec::new()),
        format: text("pagurus"),
    };
    let order = Order {
        scenario_version: Some(1),
        priority: text("high"),
        flow: Some(json!({})),
        transaction_id: text("t"),
        notify: Some(notify.clone()),
        lifecycle: Some(lifecycle.clone()),
        ..Order::new("a", "s").params(json!({})).in_queue("q")
    };
    let document: Value =
        serde_json::from_str(&std::fs::read_to_string(root().join("docs/openapi.json")).unwrap()).unwrap();
    for (name, sent) in [
        ("OrderBody", json!(order)),
        ("LifecycleBody", json!(lifecycle)),
        ("AfterBody", json!(after)),
        ("NotifyBody", json!(notify)),
    ] {
        let known = document["components"]["schemas"][name]["properties"].as_object().unwrap();
        let known: BTreeSet<&String> = known.keys().collect();
        let unknown: Vec<&String> =
            sent.as_object().unwrap().keys().filter(|key| !known.contains(key)).collect();
        assert!(unknown.is_empty(), "{name} has no {unknown:?}");
    }
}
