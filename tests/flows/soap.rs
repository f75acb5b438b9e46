//! SOAP calls of a server that others wrote, with a WSDL (SCN-20): the engine knows nothing of it but what its scenario says.

use std::path::Path;
use std::process::Stdio;

use pagurus_harness::npm::with_packages;
use pagurus_harness::world::program::Program;
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::installation::Installation;

/// The server, which ends with this value.
struct SoapServer {
    url: String,
    _process: Child,
    /// Output of the process, which ends where nobody could read it.
    _output: Lines<BufReader<ChildStdout>>,
}

impl SoapServer {
    async fn start() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let place = tokio::task::spawn_blocking(move || {
            with_packages(&root.join("tests/flows/soap/soap-server"), root).unwrap()
        });
        let mut process = Command::new("node")
            .arg(place.await.unwrap().join("soap-server.mjs"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("`./dev test` installs node");
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let url = lines.next_line().await.unwrap().expect("the server says where it listens");
        Self { url, _process: process, _output: lines }
    }
}

/// A scenario that asks for the prices of its parameter `skus`.
fn asking(url: &str, version: &str) -> String {
    let path = version.replace("1.", "v1");
    format!(
        r#"initialState: ask
targetStates: [done]
errors:
  sync:
    classification:
      rules:
        prices:
          requests: [{{path: "/**"}}]
          classes:
            prices.locked: {{responses: [{{soap_fault_keywords: [[locked]]}}]}}
            prices.unknown: {{responses: [{{soap_fault_keywords: [[Article]]}}]}}
    retry:
      policies: {{locked: {{error_classes: [prices.locked], parameters: {{initial_interval: 100ms, jitter: 0, max_attempts: 3}}}}}}
states:
  ask:
    entryPoint: true
    actions:
      - http:
          url: "{url}/{path}"
          soap: "{version}"
          soapAction: "http://prices.example/GetPrice"
          namespaces: {{p: "http://prices.example/types", w: "urn:security"}}
          soapHeader: <w:Security><w:Username>${{params.user}}</w:Username></w:Security>
          body:
            xml: |
              <p:GetPrice>
                ${{params.skus.map(|sku| #{{"p:sku": sku}})}}
                <p:note>${{params.note}}</p:note>
              </p:GetPrice>
          timeout: 5s
      - script: |
          let price = response.body["p:Price"];
          let lines = list(price["p:line"]);
          result(#{{
            amounts: lines.map(|line| line["p:amount"]),
            first: get(price, "p:line.0.@currency", ()),
            note: price["p:note"],
            user: price["p:user"],
            action: price["p:action"],
          }});
    on: {{success: done, fail: refused}}
  refused:
    actions: [{{script: 'result(#{{code: response.fault.code, subcodes: response.fault.subcodes, reason: response.fault.reason, class: error.class}})'}}]
    on: {{success: failed, fail: failed}}
  done: {{kind: terminal}}
  failed: {{kind: terminal, outcome: fail}}
"#
    )
}

#[tokio::test]
async fn scn_20_a_soap_server_understands_what_is_sent_and_is_understood() {
    let server = SoapServer::start().await;
    let engine = Installation::start("scn_20_soap").await;
    for version in ["1.1", "1.2"] {
        let name = version.replace('.', "-");
        engine.scenario(&format!("soap-{name}"), &asking(&server.url, version)).await;
        let order = |id: &str, skus: &[&str], note: &str| json!({"id": format!("{id}-{name}"), "scenario": format!("soap-{name}"), "params": {"skus": skus, "note": note, "user": "bo<b"}});
        // Several lines, and one: the same paths.
        let note = "a </p:note> & \"b\" ä ]]>";
        let asked = engine.run(order("two", &["a", "b"], note), "success").await;
        let quoted = if version == "1.1" {
            "\"http://prices.example/GetPrice\""
        } else {
            "http://prices.example/GetPrice"
        };
        assert_eq!(
            asked["result"],
            json!({"amounts": ["1.10", "2.10"], "first": "EUR", "note": note, "user": "bo<b", "action": quoted}),
            "{asked}"
        );
        let asked = engine.run(order("one", &["a"], ""), "success").await;
        assert_eq!(asked["result"]["amounts"], json!(["1.10"]), "{asked}");
        assert_eq!(
            (&asked["result"]["first"], &asked["result"]["note"]),
            (&json!("EUR"), &json!("")),
            "{asked}"
        );
        // A fault of the caller, whatever its status, is for the scenario.
        let refused = engine.run(order("none", &["none"], "x"), "fail").await;
        let (code, subcodes) =
            if version == "1.1" { ("Client.Article", json!([])) } else { ("Sender", json!(["Article"])) };
        assert_eq!(
            refused["result"],
            json!({"code": code, "subcodes": subcodes, "reason": "there is no article none", "class": "prices.unknown"}),
            "{refused}"
        );
        // One of the server has a policy.
        let repeated = engine.run(order("later", &["later"], "x"), "success").await;
        assert_eq!(repeated["result"]["amounts"], json!(["1.10"]), "{repeated}");
        let steps = engine.part(&format!("later-{name}"), "steps").await;
        let outcomes: Vec<_> = steps.as_array().unwrap().iter().map(|step| &step["outcome"]).collect();
        assert_eq!(outcomes, [&json!("failed"), &json!("answered")], "{steps}");
    }
}

#[tokio::test]
async fn scn_20_an_answer_that_comes_later_may_be_xml_in_an_encoding_of_its_own() {
    let engine = Installation::start("scn_20_later").await;
    engine.world().program(Program::at("/ask").then_answer(404, json!({})));
    let scenario = r#"initialState: ask
mask: [body.Envelope.Body.ok.pin, "body.o:ok.o:pin"]
states:
  ask:
    entryPoint: true
    actions:
      - http:
          method: POST
          url: "${config.demo}/ask"
          namespaces: {o: "urn:o"}
          soap: "1.1"
          body: {xml: "<o:ask><o:to>${request.url}</o:to></o:ask>"}
          timeout: 5s
          expect: ["4xx"]
          request: answer
      - wait: {timeout: 1m}
    on: {wait: asked, fail: failed}
  asked: {kind: waiting, on: {callback: after, timeout: failed}}
  after:
    actions: [{script: 'result(#{text: callbacks.answer.body["o:ok"]["o:text"], id: callbacks.answer.soapHeader.id})'}]
    on: {success: done, fail: failed}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
"#;
    // The world answers in JSON, by a status that the scenario expects.
    engine.scenario("later", scenario).await;
    engine.accepted(json!({"id": "a", "scenario": "later"})).await;
    let call = &engine.calls("/ask", 1).await[0];
    let sent = call.body.as_str().unwrap();
    let url = sent.split("<o:to>").nth(1).unwrap().split("</o:to>").next().unwrap();
    engine.reach("a", "wait").await;
    let answer = "<?xml version=\"1.0\" encoding=\"windows-1251\"?><e:Envelope xmlns:e=\"http://schemas.xmlsoap.org/soap/envelope/\"><e:Header><id>7</id></e:Header>\
                  <e:Body><ok xmlns=\"urn:o\"><text>\u{1}</text><pin>1234</pin></ok></e:Body></e:Envelope>";
    let bytes: Vec<u8> = answer
        .bytes()
        .flat_map(|byte| if byte == 1 { b"\xF5\xEB\xE5\xE1".to_vec() } else { vec![byte] })
        .collect();
    let request = engine.env().http().post(url).header("content-type", "text/xml").body(bytes);
    assert_eq!(request.send().await.unwrap().status().as_u16(), 200);
    let order = engine.reach("a", "success").await;
    assert_eq!(order["result"], json!({"text": "хлеб", "id": "7"}), "{order}");
    let shown = engine.part("a", "callbacks").await;
    assert!(!shown.to_string().contains("1234") && shown.to_string().contains("хлеб"), "{shown}");
    let listed = engine.get("/v1/callbacks").await.unwrap().body;
    assert!(!listed.to_string().contains("1234"), "{listed}");
}
