//! Secrets that are tied to where they may be sent, at each way out (SCN-15).

use lapin::options::ExchangeDeclareOptions;
use lapin::types::FieldTable;
use pagurus_harness::world::program::Program;
use serde_json::json;

use crate::installation::{Installation, PATIENCE, until, with_actions};

const SECRET: &str = "t0k3n-of-billing";

/// A rule that gives every failed call a class, and a policy that repeats every class.
const REPEATS_ALL: &str = "{sync: {classification: {rules: {all: {requests: [{path: '/**'}], classes: \
    {down: {exceptions: [{name_keyword: HttpError}]}}}}}, retry: {policies: {all: {error_classes: ['*'], \
    parameters: {initial_interval: 100ms, multiplier: 1, max_interval: 1s, jitter: 0, max_attempts: 3}}}}}}";

async fn engine(test: &str, targets: &str) -> Installation {
    let settings = [
        ("PAGURUS__SECRETS__FOR", targets),
        ("PAGURUS__EXECUTION__ERROR_HANDLING", REPEATS_ALL),
        ("PAGURUS__NOTIFY__ALLOW", "[{url: 'http://127.0.0.1:*', secret: hooks}]"),
        ("PAGURUS_SECRET_TOKEN", SECRET),
        ("PAGURUS_SECRET_FREE", "fr33-for-all"),
        ("PAGURUS_SECRET_HOOKS", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
    ];
    Installation::with(test, &settings).await
}

#[tokio::test]
async fn scn_15_a_scenario_sends_a_secret_to_its_hosts_and_nowhere_else() {
    let engine = engine("scn_15_hosts", "{token: [localhost], hooks: [hooks.example]}").await;
    for path in ["/paid", "/stolen", "/free", "/hook"] {
        engine.world().program(Program::at(path).then_answer(200, json!({})));
    }
    // Both names lead to the same system: what counts is how it is called.
    let by_name = engine.world().url().replace("127.0.0.1", "localhost");
    engine
        .actions("pays", &format!("- http: {{url: '{by_name}/paid', auth: {{bearer: '${{secret.token}}'}}}}"))
        .await;
    engine.run(json!({"id": "pays", "scenario": "pays"}), "success").await;
    assert_eq!(engine.world().calls("/paid")[0].headers["authorization"], format!("Bearer {SECRET}"));

    let url = "url: '${config.demo}/stolen'";
    let ways = [
        format!("- http: {{{url}, auth: {{bearer: '${{secret.token}}'}}}}"),
        format!("- http: {{{url}, auth: {{username: u, password: '${{secret.token}}'}}}}"),
        format!("- http: {{{url}, headers: {{X-Key: 'k ${{secret.token}}'}}}}"),
        format!("- http: {{{url}, body: {{k: ['${{secret.token}}']}}}}"),
        format!("- http: {{{url}, form: {{k: '${{secret.token}}'}}}}"),
        format!("- http: {{{url}, query: {{k: '${{secret.token}}'}}}}"),
        "- http: {url: '${config.demo}/stolen/${secret.token}'}".to_owned(),
        format!("- http: {{{url}, headers: {{X-Both: '${{secret.free}} ${{secret.token}}'}}}}"),
        format!("- parallel: [{{http: {{name: a, {url}, auth: {{bearer: '${{secret.token}}'}}}}}}]"),
        format!("- each: {{in: [1], actions: [{{http: {{{url}, auth: {{bearer: '${{secret.token}}'}}}}}}]}}"),
    ];
    for (way, actions) in ways.iter().enumerate() {
        let name = format!("steals-{way}");
        engine.actions(&name, actions).await;
        let order = engine.run(json!({"id": name, "scenario": name}), "fail").await;
        assert_eq!(order["error"]["class"], "secret.forbidden", "{actions}: {order}");
        let message = order["error"]["message"].as_str().unwrap();
        let sentence =
            "the secret `token` may not be sent to host `127.0.0.1`; `secrets.for` permits: localhost";
        assert!(message.ends_with(sentence), "{actions}: {message}");
        assert_eq!(order["retries"], 0, "{actions}: {order}");
    }
    assert!(engine.world().calls("/stolen").is_empty());

    // The check says it before any order does.
    let text = format!("scenario: steals\nkind: workflow\n{}", with_actions(&ways[0]));
    let check = engine.env().http().post(format!("{}/v1/scenarios/check", engine.base())).body(text);
    let answer = check.header("content-type", "application/yaml").send().await.unwrap().text().await.unwrap();
    assert!(answer.contains("may not be sent to host `127.0.0.1`"), "{answer}");

    engine.actions("frees", "- http: {url: '${config.demo}/free', auth: {bearer: '${secret.free}'}}").await;
    let notify = json!({"url": format!("{}/hook", engine.world().url()), "correlationId": "c"});
    engine.run(json!({"id": "frees", "scenario": "frees", "notify": notify}), "success").await;
    until("its notification is parked", PATIENCE, async || {
        engine.order("frees").await.unwrap()["unsentNotifications"][0]["parkedBecause"] == "not_allowed"
    })
    .await;
    assert!(engine.world().calls("/hook").is_empty());
}

#[tokio::test]
async fn scn_15_a_message_takes_a_secret_to_its_exchanges_and_nowhere_else() {
    let engine = engine("scn_15_exchanges", "{token: ['amqp:billing-*', localhost]}").await;
    let amqp = engine.env().amqp().await.unwrap();
    let exchanges = ["billing", "other"].map(|name| format!("{name}-{}", engine.env().prefix()));
    let mut inboxes = Vec::new();
    for exchange in &exchanges {
        let kind = lapin::ExchangeKind::Topic;
        let auto = ExchangeDeclareOptions { auto_delete: true, ..ExchangeDeclareOptions::default() };
        amqp.channel()
            .exchange_declare(exchange.as_str().into(), kind, auto, FieldTable::default())
            .await
            .unwrap();
        inboxes.push(amqp.listen(exchange, "#").await.unwrap());
    }
    for (name, what) in
        [("body", "body: {k: '${secret.token}'}"), ("field", "headers: {k: '${secret.token}'}, body: {}")]
    {
        for (exchange, status) in exchanges.iter().zip(["success", "fail"]) {
            let id = format!("{name}-{status}");
            engine.actions(&id, &format!("- amqp: {{exchange: {exchange}, key: k, {what}}}")).await;
            let order = engine.run(json!({"id": id, "scenario": id}), status).await;
            if status == "fail" {
                assert_eq!(order["error"]["class"], "secret.forbidden", "{order}");
                let sentence = format!(
                    "the secret `token` may not be sent to exchange `{exchange}`; `secrets.for` permits: \
                     amqp:billing-*, localhost"
                );
                assert_eq!(order["error"]["message"], sentence, "{order}");
            }
        }
    }
    // A canary behind them: what had been sent before it would be there.
    engine
        .actions("canary", &format!("- amqp: {{exchange: {}, key: canary, body: {{}}}}", exchanges[1]))
        .await;
    engine.run(json!({"id": "canary", "scenario": "canary"}), "success").await;
    inboxes[1].wait(PATIENCE, |all| all.iter().any(|one| one.key == "canary")).await.unwrap();
    assert_eq!(inboxes[1].messages().len(), 1);
    inboxes[0].wait(PATIENCE, |all| all.len() == 2).await.unwrap();
}
