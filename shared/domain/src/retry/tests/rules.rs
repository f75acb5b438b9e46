//! Classification by rules: ERR-1 to ERR-4.

use proptest::prelude::*;

use super::*;

/// Rules in short: a line `name = mask` each, every one with the class of its name for 500.
fn rules(lines: &[(&str, &str)]) -> String {
    let mut text = String::from("sync:\n  classification:\n    rules:\n");
    for (name, request) in lines {
        text.push_str(&format!(
            "      {name}: {{requests: [{request}], classes: {{{name}: {{responses: [{{status_codes: [500]}}]}}}}}}\n"
        ));
    }
    text
}

fn answer<'a>(status: u16, body: &'a str) -> Outcome<'a> {
    Outcome::Response { status, body, fault: None }
}

fn class_of(errors: &ErrorPolicy, path: &str, outcome: &Outcome<'_>) -> Option<String> {
    let interaction = Interaction { method: "GET", host: "shop.example:8080", path };
    errors.classify(&interaction, outcome).map(|classified| classified.class.to_string())
}

#[test]
fn err_1_most_specific_mask_wins() {
    let lines = [
        ("all", "{path: /**}"),
        ("shop", "{path: /shop/**}"),
        ("items", "{path: /shop/*/items}"),
        ("named", "{path: /shop/7/items}"),
        ("deep", "{path: /shop/**/state}"),
        ("part", "{path: /shop/*/item*}"),
        ("host", "{path: /shop/**, host: shop.example}"),
        ("method", "{path: /cart/*, method: post}"),
        ("cart", "{path: /cart/*}"),
    ];
    let cases = [
        ("/", "all"),
        ("/other/x", "all"),
        ("/shop", "host"),
        ("/shop/", "host"),
        ("/shop/7", "host"),
        ("/shop/8/items", "items"),
        ("/shop/7/items", "named"),
        ("/shop/8/items/", "items"),
        ("/shop/8/itemized", "part"),
        ("/shop/a/b/c/state", "deep"),
        ("/shop/state", "deep"),
        ("/cart/1", "cart"),
        ("/cart", "all"),
        ("/cart/1/2", "all"),
    ];
    let mut reversed = lines;
    reversed.reverse();
    for order in [lines, reversed] {
        let errors = read(&rules(&order)).unwrap();
        for (path, expected) in cases {
            let found = class_of(&errors, path, &answer(500, ""));
            assert_eq!(found.as_deref(), Some(expected), "{path}");
        }
        let post = Interaction { method: "POST", host: "else.example", path: "/cart/1" };
        assert_eq!(errors.classify(&post, &answer(500, "")).unwrap().rule.as_deref(), Some("method"));
        let elsewhere = Interaction { method: "GET", host: "else.example", path: "/shop/7" };
        assert_eq!(errors.classify(&elsewhere, &answer(500, "")).unwrap().rule.as_deref(), Some("shop"));
    }
}

#[test]
fn err_1_double_star_may_not_take_successes() {
    let text = rules(&[("a", "{path: /a/**}, {path: /b/*}")]).replace("[500]", "[200]");
    let found = faults(&text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("a rule that classifies 2xx answers may not use `**`: `/a/**`"));
    assert!(read(&rules(&[("a", "{path: /b/*}")]).replace("[500]", "[200]")).is_ok());
}

#[test]
fn err_1_two_rules_for_the_same_requests_are_refused() {
    let found = faults(&rules(&[("a", "{path: /x/*}"), ("b", "{path: /x/*/}")]));
    assert!(found[0].contains("the rule `a` takes the same requests"), "{found:?}");
}

#[test]
fn err_2_status_and_body_must_both_hold() {
    let errors = example();
    let path = "/ps/v1/shop/tasks/1/items/2/state/3";
    let cases = [
        (500, "Service unavailable: SSO is down", Some("shop.others")),
        (500, "Service unavailable", Some("shop.unavailable")),
        (500, "Connection reset by peer", Some("shop.others")),
        (502, "Connection reset by peer", Some("shop.unavailable")),
        (404, "Connection reset by peer", None),
        (200, "Connection reset by peer", None),
        (304, "Connection reset by peer", None),
    ];
    for (status, body, expected) in cases {
        assert_eq!(class_of(&errors, path, &answer(status, body)).as_deref(), expected, "{status}");
    }
    // The more general rule is not asked when the specific one has no class that fits.
    assert_eq!(class_of(&errors, "/ps/v1/shop/x", &answer(504, "")), None);
    assert_eq!(class_of(&errors, "/other", &answer(503, "")).as_deref(), Some("all.unavailable"));
}

#[test]
fn err_2_a_class_of_statuses_takes_each_of_them_in_the_order_of_the_file() {
    let text = "sync: {classification: {rules: {r: {requests: [{path: /**}], classes: {
      busy: {responses: [{status_codes: [503]}]},
      away: {responses: [{status_codes: [5xx]}]},
      wrong: {responses: [{status_codes: [404, '4xx']}]}}}}}}";
    let errors = read(text).unwrap();
    for (status, expected) in [
        (399, None),
        (400, Some("wrong")),
        (404, Some("wrong")),
        (499, Some("wrong")),
        (500, Some("away")),
        (503, Some("busy")),
        (599, Some("away")),
        (200, None),
    ] {
        assert_eq!(class_of(&errors, "/a", &answer(status, "")).as_deref(), expected, "{status}");
    }
}

#[test]
fn err_1_double_star_may_not_take_the_class_of_successes() {
    let text = rules(&[("a", "{path: /a/**}")]).replace("[500]", "[2xx]");
    assert!(faults(&text)[0].contains("a rule that classifies 2xx answers may not use `**`"));
    let errors = read(&rules(&[("a", "{path: /a/*}")]).replace("[500]", "[2xx]")).unwrap();
    assert_eq!(class_of(&errors, "/a/b", &answer(204, "")).as_deref(), Some("a"));
}

#[test]
fn err_2_a_rule_may_find_a_fault_inside_a_200() {
    let text = rules(&[("business", "{path: /pay}")])
        .replace("status_codes: [500]", "status_codes: [200], body_keywords: [[declined]]");
    let errors = read(&text).unwrap();
    assert_eq!(class_of(&errors, "/pay", &answer(200, "declined")).as_deref(), Some("business"));
    assert_eq!(class_of(&errors, "/pay", &answer(200, "paid")), None);
}

fn with_keyword(keyword: &str) -> ErrorPolicy {
    read(&format!(
        "sync: {{classification: {{rules: {{r: {{requests: [{{path: /**}}], classes: {{c: {{exceptions: [{{name_keyword: {keyword}}}]}}}}}}}}}}}}"
    ))
    .unwrap()
}

#[test]
#[allow(clippy::too_many_lines, reason = "one table of cases")]
fn err_3_names_of_the_chain_and_their_java_aliases() {
    let refused: &[&str] = &["HttpError", "ConnectError", "ConnectionRefused"];
    let unknown_host: &[&str] = &["HttpError", "ConnectError", "DnsError"];
    let tls: &[&str] = &["HttpError", "ConnectError", "TlsError"];
    let connect_timeout: &[&str] = &["HttpError", "ConnectError", "ConnectTimeout"];
    let read_timeout: &[&str] = &["HttpError", "ReadTimeout"];
    let reset: &[&str] = &["HttpError", "ConnectionReset"];
    let cases: &[(&str, &[&[&str]])] = &[
        ("ConnectError", &[refused, unknown_host, tls, connect_timeout]),
        ("Refused", &[refused]),
        ("Timeout", &[connect_timeout, read_timeout]),
        ("java.net.ConnectException", &[refused, connect_timeout]),
        ("ConnectException", &[refused, connect_timeout]),
        ("java.net.SocketTimeoutException", &[connect_timeout, read_timeout]),
        ("java.net.UnknownHostException", &[unknown_host]),
        ("javax.net.ssl.SSLException", &[tls]),
        ("java.net.SocketException", &[reset]),
        ("java.io.IOException", &[refused, unknown_host, tls, connect_timeout, read_timeout, reset]),
        ("java.lang.Exception", &[refused, unknown_host, tls, connect_timeout, read_timeout, reset]),
        ("Exception", &[refused, unknown_host, tls, connect_timeout, read_timeout, reset]),
        ("SqlError", &[]),
    ];
    for (keyword, matching) in cases {
        let errors = with_keyword(keyword);
        for chain in [refused, unknown_host, tls, connect_timeout, read_timeout, reset] {
            let found = class_of(&errors, "/x", &Outcome::Exception { chain, message: "" });
            assert_eq!(found.is_some(), matching.contains(&chain), "{keyword} {chain:?}");
        }
        // A name without an answer is never the class of an answer.
        assert_eq!(class_of(&errors, "/x", &answer(500, "Exception")), None);
    }
}

#[test]
fn err_3_message_keywords_are_alternatives() {
    let errors = example();
    let chain: &[&str] = &["HttpError", "ConnectError", "ConnectionRefused"];
    for (message, expected) in [
        ("tcp: Connection refused (os error 111)", Some("all.connection")),
        ("Connection failed", Some("all.connection")),
        ("no route", None),
    ] {
        let outcome = Outcome::Exception { chain, message };
        assert_eq!(class_of(&errors, "/any", &outcome).as_deref(), expected, "{message}");
    }
}

#[test]
fn err_3_time_outs_go_by_the_words_of_the_jvm_too() {
    let text = "sync: {classification: {rules: {all: {requests: [{path: '/**'}],
        classes: {read: {exceptions: [{name_keyword: java.net.SocketTimeoutException, message_keywords: [['Read timed out']]}]},
                  connect: {exceptions: [{message_keywords: [['connect timed out']]}]}}}}}}";
    let errors = ErrorPolicy::read(&parse(text, &DocumentLimits::default()).unwrap()).unwrap();
    let class = |chain: &[&str], message: &str| {
        class_of(&errors, "/x", &Outcome::Exception { chain, message }).map(|class| class.to_string())
    };
    let (read, connect) = (["HttpError", "ReadTimeout"], ["HttpError", "ConnectError", "ConnectTimeout"]);
    assert_eq!(class(&read, "no answer within 500ms").as_deref(), Some("read"));
    assert_eq!(class(&connect, "no connection within 5s").as_deref(), Some("connect"));
    assert_eq!(class(&["HttpError", "ConnectionReset"], "Connection reset by peer"), None);
}

#[test]
fn err_3_any_http_exception_is_refused_with_its_replacement() {
    let text = |exceptions: &str| {
        format!(
            "sync: {{classification: {{rules: {{r: {{requests: [{{path: /a}}], classes: {{c: {{exceptions: {exceptions}}}}}}}}}}}}}"
        )
    };
    for exceptions in ["ANY_HTTP_EXCEPTION", "[ANY_HTTP_EXCEPTION]", "[{name_keyword: ANY_HTTP_EXCEPTION}]"] {
        let found = faults(&text(exceptions));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("name_keyword: Exception"), "{found:?}");
    }
}

#[test]
fn err_4_classes_are_tried_in_the_order_of_the_file() {
    let text = "sync: {classification: {rules: {r: {requests: [{path: /a}], classes: {
        z: {responses: [{status_codes: [500, 501]}]}, a: {responses: [{status_codes: [501, 502]}]}}}}}}";
    let errors = read(text).unwrap();
    for (status, expected) in [(501, Some("z")), (502, Some("a")), (503, None)] {
        assert_eq!(class_of(&errors, "/a", &answer(status, "")).as_deref(), expected);
    }
}

proptest! {
    #[test]
    fn err_1_masks_match_what_they_were_made_from(
        parts in prop::collection::vec("[a-c]{1,3}", 0..6),
        stars in prop::collection::vec(0_u8..3, 6),
    ) {
        let path = format!("/{}", parts.join("/"));
        let masked: Vec<&str> = parts
            .iter()
            .zip(&stars)
            .map(|(part, star)| match star { 0 => part.as_str(), 1 => "*", _ => "**" })
            .collect();
        let text = format!("/{}", masked.join("/"));
        let mask = mask::PathMask::new(&text);
        prop_assert!(mask.matches(&path));
        prop_assert!(mask::Glob::new(&text).matches(&path));
        prop_assert!(mask::Glob::new(&text).overlaps(&mask::Glob::new(&path)));
        let exact = masked.iter().all(|part| !part.starts_with('*'));
        let longer = format!("{path}/z");
        prop_assert!(!exact || !mask.matches(&longer));
    }
}

#[test]
fn scn_20_words_of_a_fault_are_looked_for_in_faults_alone() {
    let errors = read(
        r#"
sync:
  classification:
    rules:
      any:
        requests: [{path: "/**"}]
        classes:
          locked: {responses: [{soap_fault_keywords: [[Server, locked], [busy]]}]}
          both: {responses: [{status_codes: [200], body_keywords: [[x]], soap_fault_keywords: [[y]]}]}
          any: {responses: [{status_codes: [500]}]}
async:
  classification:
    rules:
      any:
        requests: {http: [{path: "/**"}]}
        classes: {late: {responses: [{soap_fault_keywords: [[later]]}]}}
"#,
    )
    .unwrap();
    for (status, body, fault, expected) in [
        (500, "", Some("Server\nlocked"), Some("locked")),
        (200, "", Some("busy"), Some("locked")),
        (500, "Server locked", None, Some("any")),
        (200, "busy", None, None),
        (200, "x", Some("y"), Some("both")),
        (200, "x", Some("z"), None),
        (200, "", Some("y"), None),
        (302, "", Some("busy"), None),
    ] {
        let outcome = Outcome::Response { status, body, fault };
        assert_eq!(class_of(&errors, "/a", &outcome).as_deref(), expected, "{outcome:?}");
    }
    let asked = Asked::Http(Interaction { method: "GET", host: "h", path: "/a" });
    for (body, fault, expected) in
        [("later", None, None), ("", Some("later"), Some("late")), ("", Some("x"), None)]
    {
        let reply = Reply::Callback { step_status: None, body, fault };
        let class = errors.classify_async(&asked, &reply).map(|classified| classified.class.to_string());
        assert_eq!(class.as_deref(), expected, "{reply:?}");
    }
}
