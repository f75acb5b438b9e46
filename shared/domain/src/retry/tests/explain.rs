//! Answers of the explaining tool (ERR-14), and that it never says anything else than what
//! a failure really gets.

use proptest::prelude::*;

use super::*;

const BOTH: &str = r#"
async:
  classification:
    rules:
      pay: {requests: {http: [{path: /pay}], amqp: [{path: "%2F?exchange=pay"}]}, classes: {pay.late: {timeout: true}, pay.refused: {responses: [{step_status_keywords: [refused]}]}}}
  retry:
    policies:
      waits: {error_classes: [async.timeout, pay.*], scenarios: [{name: "order-*"}]}
"#;

fn both() -> ErrorPolicy {
    read(&format!("{EXAMPLE}{BOTH}")).unwrap()
}

/// Rule, class and policy; `-` where there is none.
fn summary(errors: &ErrorPolicy, question: &Question<'_>) -> String {
    let explained = explain(errors, question).unwrap();
    let class = explained.class.as_ref().map(ErrorClass::as_str);
    let parts = [explained.rule.as_deref(), class, explained.policy.as_deref()];
    parts.map(|part| part.unwrap_or("-")).join(" ")
}

#[test]
fn err_14_rule_class_and_policy_of_a_failure() {
    let errors = both();
    let ask = Question { scenario: Some("order-1"), ..Question::default() };
    let shop = Question { path: Some("/ps/v1/shop/x"), ..ask };
    let any = Question { path: Some("/any"), ..ask };
    let pay = Question { path: Some("/pay"), ..ask };
    let refused =
        Question { exception: Some("ConnectionRefused"), message: Some("Connection refused"), ..any };
    let message = Question { amqp: Some("%2F?exchange=pay&key=x"), ..ask };
    let cases = [
        (Question { status: Some(503), ..shop }, "shop.rule shop.unavailable shop"),
        (Question { status: Some(503), scenario: None, ..shop }, "shop.rule shop.unavailable -"),
        (Question { status: Some(503), scenario: Some("x"), ..shop }, "shop.rule shop.unavailable -"),
        (Question { status: Some(404), ..shop }, "- - -"),
        (Question { status: Some(200), ..shop }, "- - -"),
        (Question { status: Some(302), ..shop }, "- - -"),
        (
            Question { path: Some("https://h:1/ps/v1/shop/x?a=/b"), status: Some(500), ..ask },
            "shop.rule shop.unavailable shop",
        ),
        (refused, "any.errors.rule all.connection shop"),
        (
            Question { exception: Some("java.net.ConnectException"), ..refused },
            "any.errors.rule all.connection shop",
        ),
        (
            Question { exception: Some("HttpError > ConnectError"), ..refused },
            "any.errors.rule all.connection shop",
        ),
        (Question { exception: Some("ReadTimeout"), ..refused }, "- - -"),
        (Question { exception: Some("Strange"), ..refused }, "- - -"),
        (Question { timeout: true, ..pay }, "pay pay.late waits"),
        (Question { timeout: true, ..any }, "- async.timeout waits"),
        (Question { timeout: true, scenario: None, ..any }, "- async.timeout -"),
        (Question { timeout: true, ..message }, "pay pay.late waits"),
        (Question { step_status: Some("refused"), ..message }, "pay pay.refused waits"),
        (Question { step_status: Some("done"), ..pay }, "- - -"),
        (Question { body: Some("paid"), ..message }, "- - -"),
        (Question { amqp: Some("/a"), timeout: true, ..ask }, "- async.timeout waits"),
    ];
    for (question, expected) in cases {
        assert_eq!(summary(&errors, &question), expected, "{question:?}");
    }
}

#[test]
fn err_14_the_answer_says_what_was_tried() {
    let path = Some("/ps/v1/shop/tasks/1/items/2/state/3");
    let question = Question { path, status: Some(503), scenario: Some("order-1"), ..Question::default() };
    let explained = explain(&both(), &question).unwrap();
    assert_eq!(
        explained.why,
        [
            "rule `shop.items.rule` matches the request by its mask `/ps/v1/shop/tasks/*/items/*/state/*`",
            "rule `shop.rule` is not used: its mask `/ps/v1/shop/**` is less specific",
            "rule `any.errors.rule` is not used: its mask `/**` is less specific",
            "class `shop.others` does not fit",
            "class `shop.unavailable` fits",
            "policy `shop` retries it: 20 attempts, the first after 5s, then after waits that grow by a factor of 2, up to 600s",
        ]
    );
    let nothing = explain(&read("{}").unwrap(), &Question { status: Some(500), ..question }).unwrap();
    assert_eq!(
        nothing.why,
        ["no rule matches such a request", "it has no class and goes to the scenario as a failure"]
    );
    let off = both();
    let off = ErrorPolicy { retries: Retries { mode: RetryMode::None, ..off.retries.clone() }, ..off };
    let explained = explain(&off, &question).unwrap();
    assert_eq!(explained.policy, None);
    assert_eq!(explained.why.last().unwrap(), "but retries are switched off by `sync.mode: none`");
}

#[test]
fn err_14_a_question_says_where_and_how_once() {
    let path = Question { path: Some("/a"), ..Question::default() };
    let amqp = Question { amqp: Some("/a"), ..Question::default() };
    let cases = [
        (Question { status: Some(500), ..Question::default() }, "path: where the request went is missing; "),
        (path, "how the request ended is missing; "),
        (amqp, "how the request ended is missing; "),
        (Question { status: Some(500), exception: Some("x"), ..path }, "a request ends in one way; "),
        (Question { status: Some(500), timeout: true, ..path }, "a request ends in one way; "),
        (Question { body: Some(""), timeout: true, ..amqp }, "a request ends in one way; "),
        (Question { status: Some(500), ..amqp }, "amqp: messages have neither a status nor an exception; "),
        (Question { path: Some("/a"), timeout: true, ..amqp }, "amqp: a request goes by HTTP or by AMQP; "),
        (Question { path: Some("a"), status: Some(500), ..path }, "path: the path `a` must begin with `/`; "),
        (
            Question { amqp: Some("/a?kye=b"), timeout: true, ..amqp },
            "amqp: unknown part `kye`; did you mean `key`?",
        ),
    ];
    for (question, expected) in cases {
        let fault = explain(&both(), &question).unwrap_err().to_string();
        assert!(fault.starts_with(expected), "{fault}\n{question:?}");
    }
}

/// The worked example of the guide does what the guide says.
#[test]
fn err_14_the_example_of_the_guide() {
    let text = include_str!("../../../../../examples/errors/rules.yaml");
    let tree = parse(text, &DocumentLimits::default()).unwrap();
    let rules = tree.get("execution").and_then(|node| node.get("error_handling")).unwrap();
    let errors = ErrorPolicy::read(rules).unwrap();
    let ask = Question { scenario: Some("order-1"), ..Question::default() };
    let pay = Question { amqp: Some("%2F?exchange=pay&key=new"), ..ask };
    let busy = Question {
        path: Some("/shop/reserve"),
        status: Some(200),
        body: Some(r#"{"result": "BUSY"}"#),
        ..ask
    };
    for (question, expected) in [
        (
            Question { path: Some("/any"), exception: Some("ConnectionRefused"), ..ask },
            "any.rule all.connection patient",
        ),
        (
            Question { path: Some("/any"), exception: Some("ConnectionReset"), ..ask },
            "any.rule all.connection patient",
        ),
        (Question { path: Some("/shop/x"), status: Some(500), ..ask }, "shop.rule shop.unavailable shop"),
        (
            Question { path: Some("/shop/x"), status: Some(500), scenario: Some("report"), ..ask },
            "shop.rule shop.unavailable -",
        ),
        (busy, "shop.reserve.rule shop.busy shop"),
        (Question { body: Some("{}"), ..busy }, "- - -"),
        (Question { timeout: true, ..pay }, "pay.rule pay.silent again"),
        (Question { step_status: Some("declined"), ..pay }, "pay.rule pay.refused -"),
        (Question { path: Some("/x"), timeout: true, ..ask }, "- async.timeout again"),
    ] {
        assert_eq!(summary(&errors, &question), expected, "{question:?}");
    }
}

#[test]
fn err_3_one_name_stands_for_its_chain() {
    for (name, expected) in [
        ("ConnectionRefused", "HttpError ConnectError ConnectionRefused"),
        ("ReadTimeout", "HttpError ReadTimeout"),
        ("java.net.UnknownHostException", "HttpError ConnectError DnsError"),
        ("SSLException", "HttpError ConnectError TlsError"),
        ("java.net.SocketTimeoutException", "HttpError ReadTimeout"),
        ("java.io.IOException", "HttpError"),
        ("A > B>C", "A B C"),
        ("Strange", "Strange"),
    ] {
        assert_eq!(super::super::names::chain_of(name).join(" "), expected, "{name}");
    }
}

proptest! {
    /// The tool and the engine never disagree.
    #[test]
    fn err_14_the_tool_says_what_the_engine_does(
        path in prop::sample::select(vec!["/", "/pay", "/ps/v1/shop/x", "/ps/v1/shop/tasks/1/items/2/state/3"]),
        status in 100_u16..600,
        body in prop::sample::select(vec!["", "Service unavailable SSO", "Connection reset"]),
        scenario in prop::sample::select(vec!["order-1", "change-tariff", "other"]),
    ) {
        let errors = both();
        let question = Question { scenario: Some(scenario), path: Some(path), status: Some(status), body: Some(body), ..Question::default() };
        let explained = explain(&errors, &question).unwrap();
        let interaction = Interaction { method: "GET", host: "", path };
        let classified = errors.classify(&interaction, &Outcome::Response { status, body, fault: None });
        prop_assert_eq!(&explained.class, &classified.as_ref().map(|found| found.class.clone()));
        prop_assert_eq!(&explained.rule, &classified.as_ref().and_then(|found| found.rule.clone()));
        let policy = classified.and_then(|found| errors.policy_for(scenario, found.class.as_str()).map(|policy| policy.name.clone()));
        prop_assert_eq!(explained.policy, policy);
    }
}
