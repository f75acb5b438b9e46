//! XML and SOAP: what is sent, what is read, and what is a failure (SCN-20).

use super::*;

/// A SOAP call in state `a`, with `more` keys; `then` is what follows it.
fn soap(more: &str, then: &str) -> String {
    format!(
        "  a:
    actions:
      - http:
          url: 'http://h/prices'
          timeout: 5s
          namespaces: {{p: 'urn:prices'}}
          body: {{xml: '<p:GetPrice sku=\"${{params.n}}\"><p:note>${{params.note}}</p:note></p:GetPrice>'}}
          {more}
{then}
    on: {{success: done, fail: failed}}
  done: {{kind: terminal}}
  failed: {{actions: [{{script: 'result(#{{fault: response?.fault, class: error.class, status: error.status, message: error.message}})'}}], on: {{success: bad, fail: bad}}}}
  bad: {{kind: terminal, outcome: fail}}\n"
    )
}

fn play_of(states: &str) -> Play {
    let mut play = Play::of(states);
    play.params = Arc::new(json!({"n": 7, "note": "a <b> & \"c\""}));
    play
}

const PRICE: &str = "200 <s:Envelope xmlns:s='http://schemas.xmlsoap.org/soap/envelope/'><s:Header><t xmlns='urn:t'>9</t></s:Header><s:Body>\
                     <q:Price xmlns:q='urn:prices' q:currency='EUR'><q:amount>1.10</q:amount></q:Price></s:Body></s:Envelope>";

fn fault(status: u16, code: &str, reason: &str) -> String {
    format!(
        "{status} <s:Envelope xmlns:s='http://schemas.xmlsoap.org/soap/envelope/'><s:Body><s:Fault><faultcode>s:{code}</faultcode>\
         <faultstring>{reason}</faultstring><detail><limit>10</limit></detail></s:Fault></s:Body></s:Envelope>"
    )
}

#[test]
fn scn_20_a_soap_call_sends_an_envelope_and_reads_what_is_in_the_one_that_answers() {
    let read = "      - script: 'result(#{amount: get(response.body, \"p:Price.0.p:amount.#text\", 0), currency: response.body[\"p:Price\"][\"@p:currency\"], id: response.soapHeader.t, fault: response?.fault})'";
    for (more, kind, header) in [
        ("soap: '1.1'", "text/xml; charset=utf-8", Some("\"\"")),
        (
            "soap: 1.1\n          soapAction: 'urn:p#${params.n}'",
            "text/xml; charset=utf-8",
            Some("\"urn:p#7\""),
        ),
        ("soap: '1.2'", "application/soap+xml; charset=utf-8", None),
        (
            "soap: '1.2'\n          soapAction: 'say \"${params.n}\"'",
            "application/soap+xml; charset=utf-8; action=\"say \\\"7\\\"\"",
            None,
        ),
    ] {
        let played = play_of(&soap(more, read)).go(&[PRICE]);
        let call = played.http()[0];
        let body = call.body.as_ref().unwrap();
        assert_eq!((call.method.as_str(), &*body.content_type), ("POST", kind), "{more}");
        let action =
            call.headers.iter().find(|(name, _)| name == "SOAPAction").map(|(_, value)| value.as_str());
        assert_eq!(action, header, "{more}");
        let text = String::from_utf8(body.bytes.clone()).unwrap();
        assert!(
            text.contains("<p:GetPrice sku=\"7\"><p:note>a &lt;b&gt; &amp; \"c\"</p:note></p:GetPrice>"),
            "{text}"
        );
        let sent = crate::xml::read_answer(&text, &crate::xml::Namespaces::default()).unwrap();
        assert_eq!(sent.body, json!({"GetPrice": {"@sku": "7", "note": "a <b> & \"c\""}}));
        let expected = json!({"amount": "1.10", "currency": "EUR", "id": "9", "fault": null});
        assert_eq!(played.last().snapshot.result, Some(expected), "{more}");
    }
}

#[test]
fn scn_20_a_header_of_the_envelope_may_hold_a_secret_and_a_message_may_have_no_body() {
    let states = "  a: {actions: [{http: {url: 'http://h/a', soap: '1.1', soapHeader: '<w:Token xmlns:w=\"urn:w\">${secret.key}</w:Token>'}}], on: {success: done, fail: done}}\n  done: {kind: terminal}\n";
    let played = Play::of(states).secret("key", "s<cr>t").go(&["202"]);
    let text = String::from_utf8(played.http()[0].body.as_ref().unwrap().bytes.clone()).unwrap();
    assert!(
        text.contains("<w:Token xmlns:w=\"urn:w\">s&lt;cr&gt;t</w:Token>") && text.contains("Body></"),
        "{text}"
    );
    assert_eq!(
        (played.http()[0].method.as_str(), &*played.http()[0].secrets),
        ("POST", &["key".to_owned()][..])
    );
    assert_eq!(played.path(), "success done");
}

#[test]
fn scn_20_a_fault_is_a_failure_whatever_its_status() {
    for status in [200, 400, 500] {
        let answer = fault(status, "Server", "out of order");
        let played = play_of(&soap("soap: '1.1'", "")).errors("{}").go(&[&answer]);
        let result = played.last().snapshot.result.clone().unwrap();
        assert_eq!(result["class"], "soap.fault", "{result}");
        assert_eq!(result["status"], status, "{result}");
        let message = format!("POST h/prices answered {status} with the SOAP fault Server: out of order");
        assert_eq!(result["message"], message, "{result}");
        assert_eq!(
            result["fault"],
            json!({"code": "Server", "subcodes": [], "reason": "out of order", "role": null, "detail": {"limit": "10"}})
        );
    }
    // What the scenario expects is none, and can be read.
    let read = "      - script: 'result(response.fault.code)'";
    let played = play_of(&soap("soap: '1.1'\n          expect: 500", read)).go(&[&fault(500, "Client", "x")]);
    assert_eq!(played.last().snapshot.result, Some(json!("Client")));
}

#[test]
fn scn_20_rules_give_faults_a_class_by_their_words_and_by_their_status() {
    let rules = r#"
sync:
  classification:
    rules:
      any:
        requests: [{path: "/**"}]
        classes:
          locked: {responses: [{soap_fault_keywords: [[Server, locked]]}]}
          limit: {responses: [{status_codes: [200], soap_fault_keywords: [["\"limit\":\"10\""]]}]}
          broken: {responses: [{status_codes: [500]}]}
  retry:
    policies:
      locked: {error_classes: [locked], parameters: {initial_interval: 10s, jitter: 0}}
      invalid: {error_classes: [soap.invalid], parameters: {initial_interval: 5s, jitter: 0, max_attempts: 1}}
"#;
    let played = |answers: &[&str]| play_of(&soap("soap: '1.1'", "")).errors(rules).go(answers);
    let locked = fault(200, "Server", "the account is locked");
    let ended = played(&[&locked, PRICE]);
    assert_eq!((ended.path().as_str(), ended.delays()), ("success done", vec![10]));
    assert_eq!(played(&[&fault(500, "Server", "locked"), PRICE]).delays(), vec![10]);
    for (answer, class) in [
        (fault(200, "Client", "no"), "limit"),
        (fault(500, "Client", "no"), "broken"),
        ("500 <html>locked Server</html>".to_owned(), "broken"),
        (fault(400, "Client", "no"), "soap.fault"),
    ] {
        let ended = played(&[&answer]);
        assert_eq!(ended.last().snapshot.result.as_ref().unwrap()["class"], class, "{answer}");
    }
    // A success that cannot be read is none.
    let ended = played(&["200 <html>welcome</html>", "200 {\"ok\": true}"]);
    assert_eq!(ended.delays(), vec![5]);
    let result = ended.last().snapshot.result.clone().unwrap();
    assert_eq!(result["class"], "soap.invalid", "{result}");
    let message = result["message"].as_str().unwrap();
    assert!(message.starts_with("POST h/prices answered 200 without a SOAP envelope"), "{message}");
}

#[test]
fn scn_20_an_answer_of_a_type_of_xml_is_read_by_paths() {
    let states = "  a:
    actions:
      - http: {url: 'http://h/a', timeout: 5s, namespaces: {o: 'urn:o'}, name: one, save: {id: '${response.body[\"o:order\"][\"@id\"]}'}}
      - script: |
          let sum = 0;
          for line in list(get(response.body, \"o:order.o:line\", ())) { sum += parse_int(line); }
          result(#{sum: sum, id: vars.id, kind: type_of(responses.one.body)});
    on: {success: done, fail: bad}
  done: {kind: terminal}
  bad: {kind: terminal, outcome: fail}\n";
    for (answer, result) in [
        (
            "xml 200 <order xmlns='urn:o' id='7'><line>1</line><line>2</line></order>",
            json!({"sum": 3, "id": "7", "kind": "map"}),
        ),
        (
            "xml 200 <order xmlns='urn:o' id='7'><line>1</line></order>",
            json!({"sum": 1, "id": "7", "kind": "map"}),
        ),
        ("xml 200 <order xmlns='urn:o' id='7'/>", json!({"sum": 0, "id": "7", "kind": "map"})),
    ] {
        assert_eq!(play(states, &[answer]).last().snapshot.result, Some(result), "{answer}");
    }
    // What is no XML after all, and what nobody declared as XML, is a text.
    let states = "  a: {actions: [{http: {url: 'http://h/a', timeout: 5s}}, {script: 'result(response.body)'}], on: {success: done, fail: done}}\n  done: {kind: terminal}\n";
    for answer in ["xml 200 <a>", "xml 200 <!DOCTYPE a><a/>", "200 <a/>"] {
        let text = answer.split_once("200 ").unwrap().1;
        assert_eq!(play(states, &[answer]).last().snapshot.result, Some(json!(text)), "{answer}");
    }
    assert_eq!(play(states, &["xml 200 <a><b/></a>"]).last().snapshot.result, Some(json!({"a": {"b": ""}})));
}

#[test]
fn scn_20_steps_of_a_parallel_and_elements_of_an_each_are_soap_calls_as_well() {
    let call = "soap: '1.1', url: 'http://h/x', timeout: 5s, body: {xml: '<a/>'}";
    let states = format!(
        "  a:
    actions:
      - parallel: [{{http: {{name: one, {call}}}}}]
      - each: {{in: [1, 2], as: n, actions: [{{http: {{{call}}}}}], onError: collect, save: {{all: '${{response.body}}'}}}}
      - script: 'result([responses.one.body, vars.all.map(|one| one?.error?.class ?? one)])'
    on: {{success: done, fail: bad}}
  done: {{kind: terminal}}
  bad: {{kind: terminal, outcome: fail}}\n"
    );
    let envelope = "200 <E:Envelope xmlns:E='http://www.w3.org/2003/05/soap-envelope'><E:Body><ok/></E:Body></E:Envelope>";
    let both = format!("{envelope} | {}", fault(400, "Client", "no"));
    let played = play(&states, &[envelope, &both]);
    assert_eq!(played.last().snapshot.result, Some(json!([{"ok": ""}, [{"ok": ""}, "soap.fault"]])));
}

#[test]
fn scn_20_a_later_answer_is_read_as_the_action_reads_one_at_once() {
    let states = |more: &str, read: &str| {
        format!(
            "  a: {{entryPoint: true, actions: [{{http: {{url: 'http://h/a', request: r, body: {{xml: '<a>${{request.url}}</a>'}}, namespaces: {{o: 'urn:o'}}{more}}}}}, {{wait: {{timeout: 5m}}}}], on: {{wait: w, fail: bad}}}}
  w: {{kind: waiting, on: {{callback: look, timeout: bad, fail: bad}}}}
  look: {{actions: [{{script: 'result({read})'}}], on: {{success: done, fail: bad}}}}
  done: {{kind: terminal}}
  bad: {{kind: terminal, outcome: fail}}\n"
        )
    };
    let callback = |body: &str| {
        let value = json!({"r": {"body": body, "headers": {"content-type": "text/xml"}}});
        format!("callback {value}")
    };
    let plain = Play::of(&states("", "callbacks.r.body[\"o:ok\"]"));
    let played = plain.go(&["200", &callback("<x:ok xmlns:x='urn:o'>1</x:ok>")]);
    assert_eq!(played.last().snapshot.result, Some(json!("1")));
    let envelope = "<E:Envelope xmlns:E='http://www.w3.org/2003/05/soap-envelope'><E:Body><ok xmlns='urn:o'>1</ok></E:Body></E:Envelope>";
    let soap = Play::of(&states(", soap: '1.2'", "callbacks.r.body[\"o:ok\"]"));
    assert_eq!(soap.go(&["202", &callback(envelope)]).last().snapshot.result, Some(json!("1")));
    // A fault is a failure where a rule says so.
    let fault = fault(0, "Server", "later");
    let fault = fault.strip_prefix("0 ").unwrap();
    let rules = "async: {classification: {rules: {any: {requests: {http: [{path: '/**'}]}, classes: {late: {responses: [{soap_fault_keywords: [[later]]}]}}}}}}";
    let soap = || Play::of(&states(", soap: '1.2'", "callbacks.r.fault.code"));
    assert_eq!(
        soap().errors("{}").go(&["202", &callback(fault)]).last().snapshot.result,
        Some(json!("Server"))
    );
    assert_eq!(soap().errors(rules).go(&["202", &callback(fault)]).class(), "late");
}

#[test]
fn scn_20_what_is_masked_in_bodies_stays_masked_where_a_fault_is_quoted() {
    let text = format!(
        "scenario: s\ninitialState: a\nmask: [body.Fault.detail.limit, 'body.x:Fault.faultstring']\nstates:\n{}",
        soap("soap: '1.1'", "")
    );
    let mut play = Play::whole(&text).errors("{}");
    play.params = Arc::new(json!({"n": 7, "note": ""}));
    let played = play.go(&[&fault(500, "Server", "pin 1234")]);
    let message = played.last().snapshot.result.clone().unwrap()["message"].to_string();
    assert!(
        !message.contains("1234") && !message.contains("\\\"10\\\"") && message.contains("***"),
        "{message}"
    );
}
