//! Secrets, which only the called system learns (SCN-15).

use lapin::BasicProperties;
use lapin::types::{AMQPValue, FieldTable};
use pagurus_harness::client::amqp::Inbox;
use pagurus_harness::world::program::{CallBack, Program, Step};
use serde_json::{Value, json};

use crate::installation::{Installation, PATIENCE, asking, until};

const SECRET: &str = "s3cr3t-t0k3n";

/// Returns all that anybody can learn of an order and of the processes that ran it: each place with its text.
pub async fn everything_shown(engine: &Installation, id: &str, inbox: &Inbox) -> Vec<(String, String)> {
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
    let mut places = Vec::new();
    for page in pages {
        let answer = engine.get(&page).await.unwrap().success().unwrap();
        places.push((page, answer.to_string()));
    }
    let messages = inbox.messages();
    let of_order: Vec<&Value> =
        messages.iter().map(|message| &message.body).filter(|body| body["id"] == json!(id)).collect();
    places.push(("notifications".to_owned(), json!(of_order).to_string()));
    for node in &engine.nodes {
        let metrics = engine.env().http().get(format!("{}/metrics", node.url())).send().await.unwrap();
        places.push((format!("metrics of {}", node.spec.name), metrics.text().await.unwrap()));
        places.push((format!("log of {}", node.spec.name), std::fs::read_to_string(&node.spec.log).unwrap()));
    }
    places
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

/// Repeats, wherever a scenario can say something, what a system answered.
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
    assert_eq!(order["vars"]["told"]["you sent"], "Bearer ***", "what was echoed stays, but unseen");
    assert!(order["error"]["message"].as_str().unwrap().contains("***"), "{order}");
    assert_eq!(order["params"], json!({"card": {"number": "***", "name": "n"}}));
    until("all of it is sent", PATIENCE, async || {
        engine.order("a").await.unwrap()["unsentNotifications"] == json!([])
    })
    .await;
    let end =
        |all: &[pagurus_harness::client::amqp::Message]| all.iter().any(|one| one.body["status"] == "fail");
    inbox.wait(PATIENCE, end).await.unwrap();

    let places = everything_shown(&engine, "a", &inbox).await;
    for (place, text) in &places {
        assert!(!text.contains("s3cr3t") && !text.contains("t0k3n"), "{place}: {text}");
        assert!(!text.contains("4111-"), "{place}: {text}");
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
        let (_, text) = places.iter().find(|(one, _)| one == place).unwrap();
        assert!(text.contains("***"), "{place}: {text}");
    }

    engine.scenario("missing", &TALKATIVE.replace("api-token", "nothing")).await;
    let order = engine.run(json!({"id": "b", "scenario": "missing", "params": params}), "fail").await;
    assert_eq!(order["error"]["class"], "secret.missing", "{order}");
}

/// Everything that the database holds, as text.
pub async fn dump(engine: &Installation) -> String {
    let program = pagurus_harness::postgres::binaries().unwrap().join("pg_dump");
    let output =
        tokio::process::Command::new(program).arg(engine.env().database_url()).output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn qlt_8_a_secret_that_a_system_sends_back_is_stored_nowhere_however_it_is_spelled() {
    const SECRET: &str = "s3cr3t/Väl ue+%41&x-98765";
    let engine = Installation::with("qlt_8_echo", &[("PAGURUS_SECRET_KEY", SECRET)]).await;
    let spellings = [
        SECRET.to_owned(),
        SECRET.replace('ä', "\\u00e4").replace('/', "\\/"),
        "s3cr3t%2fV%c3%a4l+ue%2b%2541%26x-98765".to_owned(),
        "s3cr3t%2FV%C3%A4l%20ue%2B%2541%26x-98765".to_owned(),
        SECRET.bytes().map(char::from).collect(),
        "s3cr3t&#x2F;V&auml;l ue&#43;%41&amp;x&#45;98765".to_owned(),
        "s3cr3t%252FV%25C3%25A4l%2520ue%252B%252541%2526x-98765".to_owned(),
        SECRET.bytes().map(|byte| format!("{byte:02x}")).collect(),
        SECRET.bytes().map(|byte| format!("{byte:02X}")).collect(),
        "czNjcjN0L1bDpGwgdWUrJTQxJngtOTg3NjU=".to_owned(),
    ];
    let body = json!({ "spellings": spellings, "text": spellings.join(" and ") });
    engine.world().program(Program::at("/kept").then_answer(200, body.clone()));
    for (path, text) in
        [("/json", json!({"error": body.to_string()})), ("/text", json!(spellings.join(" or ")))]
    {
        engine.world().program(Program::at(path).then_answer(500, text));
    }
    let auth = "headers: {X-Key: \"${secret.key}\"}";
    for path in ["json", "text"] {
        let actions = format!(
            "- http: {{url: \"${{config.demo}}/kept\", {auth}, save: {{kept: \"${{response.body}}\"}}}}\n\
             - script: 'vars.more = `got ${{vars.kept.text}}`; result(vars.kept)'\n\
             - http: {{url: \"${{config.demo}}/{path}\", {auth}}}"
        );
        engine.actions(path, &actions).await;
        let order = engine.run(json!({"id": path, "scenario": path}), "fail").await;
        assert!(order["error"]["message"].as_str().unwrap().contains("***"), "{order}");
    }
    let rest = "initialState: a\nstates:\n  a:\n    actions:\n      - http: {url: \"${config.demo}/kept\", AUTH, save: {kept: \"${response.body}\"}}\n      - sleep: {for: 1h}\n    on: {sleep: s, fail: d}\n  s: {kind: sleeping, on: {timeout: d}}\n  d: {kind: terminal}\n";
    engine.scenario("sleeping", &rest.replace("AUTH", auth)).await;
    engine.run(json!({"id": "sleeping", "scenario": "sleeping"}), "sleep").await;
    engine.actions("canary", "- script: 'log(\"fine\")'").await;
    engine.run(json!({"id": "canary", "scenario": "canary"}), "success").await;
    tell_back_later(&engine, &body, auth, spellings.last().unwrap()).await;
    let stored = dump(&engine).await;
    assert!(stored.contains("***") && stored.contains("sleeping"));
    let hexadecimal = ["7333637233742f", "7333637233742F"];
    for part in ["s3cr3t", "x-98765", "45;98765", "czNjcjN0"].into_iter().chain(hexadecimal) {
        let line = stored.lines().find(|line| line.contains(part));
        assert!(line.is_none(), "`{part}` in {line:?}");
    }
    let line = stored.lines().find(|line| has_number(line, "98765"));
    assert!(line.is_none(), "the end of the secret in {line:?}");
}

/// True if a line has this number, and not only as a part of a longer one: times, hashes and ids have any digits.
fn has_number(line: &str, number: &str) -> bool {
    let is_digit = |sign: char| sign.is_ascii_hexdigit() || ".-".contains(sign);
    line.match_indices(number)
        .any(|(at, _)| !line[..at].ends_with(is_digit) && !line[at + number.len()..].starts_with(is_digit))
}

/// Tells it in answers that come later, over both transports, in time and not, to somebody and to nobody; in a
/// call; and to the children of an order that makes them of an echo.
async fn tell_back_later(engine: &Installation, body: &Value, auth: &str, base64: &str) {
    let callback = CallBack { step_status: Some(base64.to_owned()), ..CallBack::with(body.clone()).times(2) };
    engine.world().program(Program::at("/ask").calling_back(callback));
    let asks = r#"initialState: a
calls: {say: {answer: fine}}
states:
  a:
    actions:
      - http: {url: "${config.demo}/kept", AUTH, save: {kept: "${response.body}"}}
      - order: {scenario: canary, transactionId: "${vars.kept.text}", params: {kept: "${vars.kept}"}}
      - http:
          url: "${config.demo}/ask"
          headers: {X-Callback-Url: "${request.url}"}
          request: back
      - wait: {timeout: 1m}
    on: {wait: w, fail: failed}
  w: {kind: waiting, on: {callback: b, timeout: failed}}
  b:
    actions:
      - order: {scenario: canary, params: {back: "${callbacks.back.body}"}, wait: true}
      - script: 'result(callbacks.back); vars.kept = callbacks.back.body'
      - sleep: {for: 1h}
    on: {sleep: s, fail: failed}
  s: {kind: sleeping, on: {timeout: done}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
"#;
    engine.scenario("asks", &asks.replace("AUTH", auth)).await;
    engine.run(json!({"id": "asks", "scenario": "asks"}), "sleep").await;
    let said =
        engine.act("asks", "calls?timeout=10s", &json!({"name": "say", "key": "k", "body": body})).await;
    assert_eq!(said.body["answer"], "fine", "{said:?}");
    let url = engine.world().calls("/ask")[0].headers["x-callback-url"].clone();
    let request = url.rsplit('/').next().unwrap().to_owned();
    let stranger = uuid::Uuid::new_v4().to_string();
    // Of one for nobody 16 KiB are kept, and the first secret begins before their end.
    let long = format!("{}{body}", "x".repeat(16 * 1024 - 24));
    let amqp = engine.env().amqp().await.unwrap();
    for named in [request.as_str(), stranger.as_str(), base64] {
        for text in
            [body.to_string(), format!("got {}", body["text"]), body["text"].to_string(), long.clone()]
        {
            let path = named.replace('=', "%3D");
            let post = engine.env().http().post(format!("{}/v1/callbacks/{path}", engine.base()));
            let post = post.header("X-Echo", base64).header("step-status", base64);
            assert_eq!(post.body(text.clone()).send().await.unwrap().status().as_u16(), 200);
            let mut headers = FieldTable::default();
            headers.insert("x-echo".into(), AMQPValue::LongString(base64.into()));
            let marked = BasicProperties::default().with_correlation_id(named.into()).with_headers(headers);
            let exchange = format!("{}.callbacks", engine.env().prefix());
            amqp.publish(&exchange, "any", text.as_bytes(), &marked).await.unwrap();
        }
    }
    let session = engine.database().await;
    let masked = "SELECT count(*) FROM callbacks
                   WHERE headers LIKE '%***%' AND convert_from(body, 'UTF8') LIKE '%***%'";
    until("all of them are stored, with masks", PATIENCE, async || {
        // Two of the called system, and eight to each name.
        session.query_one(masked, &[]).await.unwrap().get::<_, i64>(0) == 2 + 3 * 8
    })
    .await;
    // The last characters in Base64 hold bits of what would follow.
    let spellings = ["***", "***", "***", "***", "***", "***", "***", "***", "***", "***U="];
    let expected = json!({"spellings": spellings, "text": spellings.join(" and ")});
    let back = engine.order("asks").await.unwrap();
    assert_eq!(back["result"]["body"], expected, "the stage that reads it sees what is stored: {back}");
    for child in back["children"].as_array().unwrap() {
        let params = engine.part(child["id"].as_str().unwrap(), "params").await;
        assert!(params.to_string().contains(&expected.to_string()), "{params}");
    }
}

#[tokio::test]
async fn scn_15_an_answer_is_stored_without_the_secrets_of_its_own_scenario_and_of_no_other() {
    let engine = Installation::with("scn_15_own", &[("PAGURUS_SECRET_PIN", "2024")]).await;
    let asks = asking("/ask", "1m");
    let key = asks.replace("headers: {", "headers: {X-Key: \"${secret.pin}\", ");
    assert_ne!(asks, key);
    engine.scenario("plain", &asks).await;
    engine.scenario("keyed", &key).await;
    let body = r#"{"year" : 2024,  "id": "79112024567", "price": 1.50}"#;
    for (scenario, year, stored) in [
        ("plain", json!(2024), body),
        ("keyed", json!("***"), r#"{"id":"79112024567","price":1.5,"year":"***"}"#),
    ] {
        engine.run(json!({"id": scenario, "scenario": scenario}), "wait").await;
        let calls = engine.world().calls("/ask");
        let post = engine.env().http().post(&calls.last().unwrap().headers["x-callback-url"]);
        assert_eq!(post.body(body).send().await.unwrap().status().as_u16(), 200);
        engine.reach(scenario, "success").await;
        let after = engine.world().calls("/after").last().unwrap().body.clone();
        assert_eq!(after["answer"], json!({"year": year, "id": "79112024567", "price": 1.5}), "{scenario}");
        let session = engine.database().await;
        let last = "SELECT convert_from(body, 'UTF8') FROM callbacks ORDER BY no DESC LIMIT 1";
        assert_eq!(session.query_one(last, &[]).await.unwrap().get::<_, String>(0), stored);
    }
}
