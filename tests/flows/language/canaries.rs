//! Forty secrets that are planted wherever an installation has some, and then looked for wherever anybody can look (SCN-15, QLT-9).

use lapin::BasicProperties;
use lapin::types::{AMQPValue, FieldTable};
use pagurus_harness::client::Api;
use pagurus_harness::env::with_user;
use pagurus_harness::rabbit::parts::BrokerApi;
use pagurus_harness::world::program::{CallBack, Program, Step};
use serde_json::{Value, json};

use super::secrets::{dump, everything_shown};
use crate::installation::{Installation, PATIENCE, until};
use crate::telemetry::collector::Collector;

/// A secret of its own for each place, all of which have this beginning.
const MARK: &str = "c4n4ry";

fn canary(no: usize) -> String {
    format!("{MARK}{no:02}-{:x}", 0x5eed_0000_u64 + no as u64)
}

/// Says again, wherever a scenario can, what it was sent; and sends each secret by each way out.
const SCENARIO: &str = r#"initialState: a
states:
  a:
    actions:
      - http:
          name: echo
          method: POST
          url: "${config.demo}/echo?q=${secret.k6}&r=${secret.k7}"
          auth: {bearer: "${secret.k0}"}
          headers: {X-Key: "${secret.k1}", X-File: "${secret.f0}", X-Constant: "${config.partner_token}", X-Api: "${config.billing_api_key}"}
          body: {a: ["${secret.k2}", "${secret.k8}", "${secret.k9}"], b: ["${secret.f1}", "${secret.f5}", "${secret.f6}", "${secret.f7}", "${secret.f8}"], c: "${config.shop_password} ${config.legacy_secret}"}
          save: {said: "${response.body}"}
      - http: {url: "${config.demo}/form", method: POST, form: {a: "${secret.k3}", b: "${secret.f2}"}, expect: ["4xx"]}
      - http: {url: "${config.demo}/basic", auth: {username: u, password: "${secret.k4}"}}
      - amqp: {exchange: "${params.exchange}", key: said, headers: {x-key: "${secret.f3}"}, body: {a: "${secret.f4}"}}
      - script: 'log(`${vars.said}`); message(`${vars.said}`); result(#{said: vars.said, constant: config.mail_passphrase})'
      - http: {url: "${config.demo}/ask", method: POST, headers: {X-Callback-Url: "${request.url}", X-Key: "${secret.k5}"}, request: back}
      - wait: {timeout: 1m}
    on: {wait: w, fail: failed}
  w: {kind: waiting, on: {callback: c, timeout: failed}}
  c:
    actions:
      - script: 'fail(`${vars.said} ${config.crm_credential} ${callbacks.back.body}`, "shop.closed")'
    on: {success: done, fail: failed}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
"#;

/// Places of secrets that are settings, by the numbers of their canaries.
fn settings(folder: &str, collector: &str) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> =
        (0..10).map(|n| (format!("PAGURUS_SECRET_K{n}"), canary(n))).collect();
    let constants = [
        "partner_token",
        "billing_api_key",
        "shop_password",
        "mail_passphrase",
        "crm_credential",
        "legacy_secret",
    ];
    for (n, name) in constants.iter().enumerate() {
        all.push((format!("PAGURUS__CONFIG__{}", name.to_uppercase()), canary(20 + n)));
    }
    let others = [
        ("PAGURUS__SECRETS__FOLDER", folder.to_owned()),
        ("PAGURUS__TELEMETRY__OTLP__ENDPOINT", collector.to_owned()),
        ("PAGURUS__ACCESS__LDAP__URL", "ldaps://127.0.0.1:9".to_owned()),
        ("PAGURUS__ACCESS__LDAP__BIND_NAME", "cn=search,dc=x".to_owned()),
        ("PAGURUS__ACCESS__LDAP__BIND_PASSWORD", canary(30)),
        ("PAGURUS__ACCESS__LDAP__PEOPLE__BASE", "dc=x".to_owned()),
        ("PAGURUS__ACCESS__LDAP__PEOPLE__FILTER", "(uid={name})".to_owned()),
        ("PAGURUS__ACCESS__LDAP__GROUPS__ATTRIBUTE", "memberOf".to_owned()),
        ("PAGURUS__ACCESS__OIDC__CLIENT_SECRET", canary(31)),
    ];
    all.extend(others.map(|(name, value)| (name.to_owned(), value)));
    all
}

#[tokio::test]
async fn scn_15_qlt_9_forty_planted_secrets_are_found_nowhere() {
    let folder = crate::encrypted::Folder::new("canaries");
    for n in 0..9 {
        folder.file(&format!("f{n}"), &canary(10 + n));
    }
    let collector = Collector::start().await;
    let settings = settings(folder.path().to_str().unwrap(), collector.url());
    let settings: Vec<(&str, &str)> = settings.iter().map(|(name, value)| (&**name, &**value)).collect();
    let mut engine = Installation::with("canaries", &settings).await;
    // A further intake whose servers know it by passwords of its own.
    let broker = BrokerApi::of_run().unwrap();
    let user = format!("{}-canary", engine.env().prefix());
    let rights = json!({"configure": ".*", "write": ".*", "read": ".*"});
    broker.put(&format!("users/{user}"), &json!({"password": canary(32), "tags": ""})).await.unwrap();
    broker.put(&format!("permissions/%2F/{user}"), &rights).await.unwrap();
    let (_, place) = engine.env().amqp_url().split_once('@').unwrap();
    let amqp_url = format!("amqp://{user}:{}@{place}", canary(32));
    let database_url = with_user(&engine.env().database_url(), &format!("pagurus:{}", canary(33)));
    // Written so, it is not taken for the address that every node of the test has, and keeps its password.
    let database_url = database_url.replace('_', "%5F");
    let own =
        [("PAGURUS__BROKER__URL", amqp_url.as_str()), ("PAGURUS__DATABASE__URL", database_url.as_str())];
    let second = engine.add_with(pagurus_harness::nodes::Role::Intake, "intake-2", &own).await;

    let world = engine.world();
    for (path, status) in [("/echo", 200), ("/form", 404), ("/basic", 200), ("/ask", 200)] {
        world.program(Program::at(path).decided_by(move |call| {
            let body =
                json!({"headers": call.headers, "body": call.text, "query": call.query, "path": call.path});
            let callback = (path == "/ask").then(|| CallBack::with(body.clone()));
            Step { callback, ..Step::answer(status, body) }
        }));
    }
    engine.scenario("canaries", SCENARIO).await;
    let amqp = engine.env().amqp().await.unwrap();
    let exchange = format!("{}.notifications", engine.env().prefix());
    let inbox = amqp.listen(&exchange, "#").await.unwrap();
    let notify = json!({"url": "amqp://?key=ended", "correlationId": "c"});
    let order =
        json!({"id": "a", "scenario": "canaries", "notify": notify, "params": {"exchange": exchange}});
    let order = engine.run(order, "fail").await;
    assert_eq!(order["error"]["class"], "shop.closed", "{order}");
    strangers(&engine, &amqp).await;
    let asked = json!({"name": "shop", "role": "client"});
    let made = engine.post("/v1/access/tokens", &asked).await.unwrap().success().unwrap();
    // The beginning of a token is its id, which is shown.
    let token = made["token"].as_str().unwrap()[10..].to_owned();
    until("its end is notified", PATIENCE, async || {
        inbox.messages().iter().any(|message| message.body["status"] == "fail")
    })
    .await;

    let mut places = everything_shown(&engine, "a", &inbox).await;
    for api in
        [engine.env().api(engine.node(pagurus_harness::nodes::Role::Intake)), engine.env().api(&second)]
    {
        places.extend(reading(&api).await);
    }
    places.push(("dump".to_owned(), dump(&engine).await));
    places.push(("spans".to_owned(), format!("{:?}", collector.spans())));
    let leaks: Vec<String> = places
        .iter()
        .filter_map(|(place, text)| {
            let at = text.find(MARK).or_else(|| text.find(&token))?;
            Some(format!("{place}: {}", text[at..].chars().take(120).collect::<String>()))
        })
        .collect();
    assert!(leaks.is_empty(), "{leaks:#?}");
    assert!(places.iter().any(|(place, text)| place == "dump" && text.contains("***")));
    // What was looked for was there: the called system has got it.
    let called = format!("{:?}", ["/echo", "/form", "/basic", "/ask"].map(|path| engine.world().calls(path)));
    let by_http = (0..10).filter(|no| *no != 4).chain(10..13).chain(15..19).chain(20..23).chain(25..26);
    for no in by_http {
        assert!(called.contains(&canary(no)), "{no} was never sent");
    }
    broker.delete(&format!("users/{user}")).await.unwrap();
}

/// Secrets that outsiders send: in logins, in credentials that are none, in fields of callbacks over both transports.
async fn strangers(engine: &Installation, amqp: &pagurus_harness::client::amqp::Amqp) {
    for name in ["root", "nobody"] {
        let login = json!({"name": name, "password": canary(34)});
        engine.post("/v1/session", &login).await.unwrap();
    }
    let (http, base) = (engine.env().http(), engine.base());
    let cookie = format!("__Host-pagurus={}", canary(36));
    for (field, value) in [("authorization", format!("Bearer {}", canary(35))), ("cookie", cookie)] {
        http.get(format!("{base}/v1/orders")).header(field, value).send().await.unwrap();
    }
    let names = [
        "Authorization",
        "Cookie",
        "X-Api-Key",
        "X-Hub-Signature-256",
        "Client-Secret",
        "X-Session",
        "X-Token",
    ];
    let post = http.post(format!("{base}/v1/callbacks/nobody"));
    let post = names.iter().enumerate().fold(post, |post, (n, name)| post.header(*name, canary(37 + n)));
    post.body("{}").send().await.unwrap();
    let mut headers = FieldTable::default();
    for (n, name) in names.iter().enumerate() {
        headers.insert((*name).into(), AMQPValue::LongString(canary(37 + n).into()));
    }
    let marked = BasicProperties::default().with_correlation_id("nobody".into()).with_headers(headers);
    let callbacks = format!("{}.callbacks", engine.env().prefix());
    amqp.publish(&callbacks, "any", b"{}", &marked).await.unwrap();
    until("both are kept", PATIENCE, async || {
        let page = engine.get("/v1/callbacks?verdict=orphan").await.unwrap().success().unwrap();
        page["items"].as_array().unwrap().len() >= 2
    })
    .await;
}

/// Every operation of the document that reads, and the pages.
async fn reading(api: &Api) -> Vec<(String, String)> {
    let document = api.get("/openapi.json").await.unwrap().success().unwrap();
    let reads = document["paths"].as_object().unwrap().iter();
    let reads = reads.filter(|(path, methods)| !methods["get"].is_null() && *path != "/v1/stream");
    let filled = |path: &String| {
        let parts = path.split('/').map(|part| match part {
            "{id}" => "a",
            "{name}" | "{flow}" => "canaries",
            part if part.starts_with('{') => "1",
            part => part,
        });
        parts.collect::<Vec<_>>().join("/")
    };
    let mut places = Vec::new();
    for path in reads.map(|(path, _)| filled(path)).chain(["/".to_owned(), "/docs".to_owned()]) {
        let answer: Value = api.get(&path).await.unwrap().body;
        places.push((format!("{} {path}", api.base()), answer.to_string()));
    }
    places
}
