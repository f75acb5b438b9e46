//! What nobody but the called system is told (SCN-15).

use pagurus_harness::client::amqp::Inbox;
use pagurus_harness::world::program::{CallBack, Program, Step};
use serde_json::{Value, json};

use crate::installation::{Installation, PATIENCE, until};

const SECRET: &str = "s3cr3t-t0k3n";

/// All that anybody can learn of an order and of the processes that ran it: each place with its text.
async fn everything_told(engine: &Installation, id: &str, inbox: &Inbox) -> Vec<(String, String)> {
    let mut pages = vec![format!("/v1/orders/{id}")];
    for part in [
        "params",
        "progress",
        "requests",
        "callbacks",
        "explain",
        "transitions",
        "events",
        "log",
        "calls",
        "dependencies",
    ] {
        pages.push(format!("/v1/orders/{id}/{part}"));
    }
    for list in
        ["orders", "callbacks", "errors?by=class", "errors?by=system", "errors/orders", "nodes", "queues"]
    {
        pages.push(format!("/v1/{list}"));
    }
    let mut told = Vec::new();
    for page in pages {
        let answer = engine.get(&page).await.unwrap().success().unwrap();
        told.push((page, answer.to_string()));
    }
    let messages = inbox.messages();
    let of_order: Vec<&Value> =
        messages.iter().map(|message| &message.body).filter(|body| body["id"] == json!(id)).collect();
    told.push(("notifications".to_owned(), json!(of_order).to_string()));
    for node in &engine.nodes {
        let metrics = engine.env().http().get(format!("{}/metrics", node.url())).send().await.unwrap();
        told.push((format!("metrics of {}", node.spec.name), metrics.text().await.unwrap()));
        told.push((format!("log of {}", node.spec.name), std::fs::read_to_string(&node.spec.log).unwrap()));
    }
    told
}

/// Tells the secret back in an answer, in a callback and in an error.
fn echoes(engine: &Installation) {
    for (path, status) in [("/deny", 400), ("/echo", 200), ("/ask", 200)] {
        engine.world().program(Program::at(path).decided_by(move |call| {
            let body = json!({"you sent": call.headers["authorization"]});
            let callback = (path == "/ask").then(|| CallBack::with(body.clone()));
            Step { callback, ..Step::answer(status, body) }
        }));
    }
}

/// Says wherever a scenario can say something what it was told.
const TALKATIVE: &str = r#"initialState: a
mask: [params.card.number]
calls:
  say:
    actions: [{http: {name: again, url: "${config.demo}/echo", auth: {bearer: "${secret.api-token}"}}}]
    answer: "${responses.again.body}"
states:
  a:
    actions:
      - http: {url: "${config.demo}/echo", auth: {bearer: "${secret.api-token}"}, save: {told: "${response.body}"}}
      - script: 'let said = vars.told["you sent"]; log(said); message(said); result(#{ said: said })'
      - sleep: {for: 1h}
    on: {sleep: resting, fail: failed}
  resting: {kind: sleeping, on: {timeout: b, call:go: b}}
  b:
    actions:
      - http:
          method: POST
          url: "${config.demo}/ask"
          headers: {X-Callback-Url: "${request.url}"}
          auth: {bearer: "${secret.api-token}"}
          request: back
      - wait: {timeout: 1m}
    on: {wait: asked, fail: failed}
  asked: {kind: waiting, on: {callback: c, timeout: failed}}
  c:
    actions:
      - http: {url: "${config.demo}/deny?q=${secret.api-token}", auth: {bearer: "${secret.api-token}"}}
    on: {success: done, fail: failed}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
"#;

#[tokio::test]
async fn scn_15_secrets_reach_the_called_system_and_nobody_else() {
    let engine = Installation::with("scn_15", &[("PAGURUS_SECRET_API_TOKEN", SECRET)]).await;
    echoes(&engine);
    engine.scenario("secret", TALKATIVE).await;
    let amqp = engine.env().amqp().await.unwrap();
    let inbox = amqp.listen(&format!("{}.notifications", engine.env().prefix()), "#").await.unwrap();
    let params = json!({"card": {"number": "4111-1111", "name": "n"}});
    let notify = json!({"url": "amqp://?key=ps.x", "correlationId": "c"});
    let order = json!({"id": "a", "scenario": "secret", "params": params, "notify": notify});
    engine.run(order, "sleep").await;
    let said = engine.act("a", "calls?timeout=30s", &json!({"name": "say", "key": "k"})).await;
    assert_eq!(said.body["answer"], json!({"you sent": "Bearer ***"}), "{said:?}");
    engine.act("a", "calls?timeout=0s", &json!({"name": "go"})).await.success().unwrap();
    let order = engine.reach("a", "fail").await;
    assert_eq!(engine.world().calls("/deny")[0].headers["authorization"], format!("Bearer {SECRET}"));
    assert_eq!(order["vars"]["told"]["you sent"], "Bearer ***", "what it was told back stays, but unseen");
    assert!(order["error"]["message"].as_str().unwrap().contains("***"), "{order}");
    assert_eq!(order["params"], json!({"card": {"number": "***", "name": "n"}}));
    until("all of it is sent", PATIENCE, async || {
        engine.order("a").await.unwrap()["unsentNotifications"] == json!([])
    })
    .await;
    let end =
        |all: &[pagurus_harness::client::amqp::Message]| all.iter().any(|one| one.body["status"] == "fail");
    inbox.wait(PATIENCE, end).await.unwrap();

    let told = everything_told(&engine, "a", &inbox).await;
    for (place, text) in &told {
        assert!(!text.contains("s3cr3t") && !text.contains("t0k3n"), "{place}: {text}");
        assert!(!text.contains("4111"), "{place}: {text}");
        assert!(!text.is_empty(), "{place}");
    }
    // Where it was said, there is a mask in its place: these pages show what they are asked for.
    for place in [
        "/v1/orders/a",
        "/v1/orders/a/log",
        "/v1/orders/a/events",
        "/v1/orders/a/callbacks",
        "/v1/orders/a/calls",
        "notifications",
    ] {
        let (_, text) = told.iter().find(|(one, _)| one == place).unwrap();
        assert!(text.contains("***"), "{place}: {text}");
    }

    engine.scenario("missing", &TALKATIVE.replace("api-token", "nothing")).await;
    let order = engine.run(json!({"id": "b", "scenario": "missing", "params": params}), "fail").await;
    assert_eq!(order["error"]["class"], "secret.missing", "{order}");
}
