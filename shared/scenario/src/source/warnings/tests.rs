//! Tests of the warnings: texts in, warnings out; and that none is given for what is right.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::script::{Limits, Scripting};
use crate::source::read_with_warnings;
use crate::source::tests::with_actions;
use crate::{Bounds, Library};

fn warnings(text: &str) -> Vec<String> {
    let read =
        read_with_warnings(text, &Library::default(), &Scripting::new(Limits::default()), &Bounds::default());
    read.unwrap().warnings.iter().map(ToString::to_string).collect()
}

const ASKS: &str = "- http: {url: 'http://h', body: {u: '${request.url}'}, request: activation, name: asked, \
                    save: {reservation: '${response.body.id}'}}\n";

#[test]
fn err_15_a_policy_for_other_scenarios_is_noted() {
    let text = "scenario: s\ninitialState: done\nerrors:\n  sync: {retry: {policies: {p: {error_classes: [c], scenarios: [{name: 'other-*'}]}, q: {error_classes: [d], scenarios: [{name: 's*'}]}}}}\n\
                states: {done: {kind: terminal}}\n";
    let warnings = warnings(text);
    assert_eq!(
        warnings,
        [
            "4:3: the policy `p` never applies: it is for other scenarios than `s`; remove `scenarios`: the rules of a scenario apply only to its own orders"
        ]
    );
}

#[test]
fn scn_1_names_that_nothing_gives_a_value_to_are_warned_of() {
    let cases = [
        (
            "- log: '${callbacks.activaton.body}'",
            "7:15: no request is called `activaton`; did you mean `activation`?",
        ),
        (
            "- log: '${vars.reservaton}'",
            "7:15: nothing sets the variable `reservaton`; did you mean `reservation`?",
        ),
        ("- log: 'of ${responses.aksed.status}'", "7:18: no call is called `aksed`; did you mean `asked`?"),
        (
            "- script: |\n    let a = 1;\n    if callbacks.activaton.body == 1 { success() }",
            "9:12: no request is called `activaton`; did you mean `activation`?",
        ),
        (
            "- log: '{{params.a}}'",
            "7:12: `{{…}}` has no meaning here and stays as it is; write `${…}` for a value",
        ),
    ];
    for (action, expected) in cases {
        assert_eq!(warnings(&with_actions(&format!("{ASKS}{action}"))), [expected], "{action}");
    }
    let right = [
        "- log: '${callbacks.activation.body}'",
        "- log: '${vars.reservation} ${vars.z} ${responses.asked.status}'",
        "- script: 'vars.b = 1; log(vars.b)'",
        "- script: 'let k = \"c\"; vars[k] = 1; log(vars.c)'",
        "- log: '${params.any}'",
    ];
    for action in right {
        assert_eq!(warnings(&with_actions(&format!("{ASKS}{action}"))), [""; 0], "{action}");
    }
}

#[test]
fn err_15_classes_and_paths_of_rules_that_are_misspelled_are_warned_of() {
    let with = |class: &str, path: &str, url: &str| {
        let rules = format!(
            "classification: {{rules: {{stock: {{requests: [{{path: '{path}'}}], classes: {{stock.unavailable: {{responses: [{{status_codes: [503]}}]}}}}}}}}}}"
        );
        let errors = format!(
            "errors: {{sync: {{{rules}, retry: {{policies: {{p: {{error_classes: ['{class}']}}}}}}}}}}"
        );
        let actions = format!("- http: {{url: '{url}'}}");
        warnings(&with_actions(&actions).replace("initialState", &format!("{errors}\ninitialState")))
    };
    let url = "${config.stock}/stock/${params.sku}?a=1";
    assert_eq!(
        with("stock.unavailabel", "/stock/**", url),
        [
            "2:9: the policy `p` is for class `stock.unavailabel`, which no rule here gives; did you mean `stock.unavailable`?"
        ]
    );
    assert_eq!(
        with("stock.unavailable", "/stok/**", url),
        ["2:9: the rule `stock` is for paths with `stok`, which no action calls; did you mean `stock`?"]
    );
    for (class, path, url) in [
        ("stock.unavailable", "/stock/**", url),
        ("system.down", "/api/v1/**", url),
        ("stock.*", "/stok/**", "${params.url}"),
        ("stock.unavailable", "/stok/**", "http://stok.example"),
    ] {
        assert_eq!(with(class, path, url), [""; 0], "{class} {path} {url}");
    }
}

#[test]
fn scn_5_an_answer_that_is_read_after_a_rest_is_warned_of() {
    let with = |after: &str| {
        format!(
            "scenario: s\ninitialState: ask\nstates:\n  \
             ask: {{actions: [{{http: {{url: 'http://h', save: {{a: '${{response.body}}'}}}}}}, {{sleep: {{for: 1h}}}}], on: {{sleep: rest, fail: done}}}}\n  \
             rest: {{kind: sleeping, on: {{timeout: after}}}}\n  \
             after: {{actions: [{after}], on: {{success: done, fail: done}}}}\n  \
             done: {{kind: terminal}}\n"
        )
    };
    let found = warnings(&with("{log: 'x ${response.status}'}"));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].contains("no call has left a `response` here: it is lost when the order is suspended; put what is needed later into `vars`"),
        "{found:?}"
    );
    for fine in [
        "{http: {url: 'http://h'}}, {log: '${response.status}'}",
        "{choose: [{when: 'params.a', actions: [{http: {url: 'http://h'}}]}]}, {log: '${response.status}'}",
        "{parallel: [{http: {url: 'http://h', name: a, save: {b: '${response.status}'}}}]}",
        "{log: '${vars.a}'}",
    ] {
        assert_eq!(warnings(&with(fine)), [""; 0], "{fine}");
    }
    let twice = with("{log: '${response.status}'}").replace("fail: done}}\n  rest", "fail: after}}\n  rest");
    assert_eq!(warnings(&twice), [""; 0], "a failed call leads there as well");
}

#[test]
fn scn_17_children_of_an_each_that_nothing_waits_for_are_warned_of() {
    let each = |order: &str| {
        format!(
            "- each: {{in: '${{params.items}}', as: item, actions: [{{order: {{scenario: s, {order}}}}}]}}\n"
        )
    };
    let found = warnings(&with_actions(&each("wait: true, request: r")));
    let [warning] = &found[..] else { panic!("{found:?}") };
    let expected = "`wait: true` has no effect: an order inside `each` is awaited by a `wait` behind it";
    assert!(warning.contains(expected), "{warning}");
    assert_eq!(warnings(&with_actions(&each("params: {}"))), [""; 0], "nobody is to wait");
    let waiting = format!(
        "scenario: w\ninitialState: a\nstates:\n  a:\n    actions:\n      {}      - wait\n    on: {{wait: w, fail: done}}\n  \
         w: {{kind: waiting, on: {{callback: done, timeout: done}}}}\n  done: {{kind: terminal}}\n",
        each("wait: true, request: r")
    );
    assert_eq!(warnings(&waiting), [""; 0]);
}

#[test]
fn scn_1_parameters_that_the_schema_does_not_have_are_warned_of() {
    let with = |schema: &str, use_: &str| {
        warnings(
            &with_actions(&format!("- log: '${{{use_}}}'"))
                .replace("initialState", &format!("params: {schema}\ninitialState")),
        )
    };
    let closed = "{properties: {iccid: {type: string}, card: {properties: {pan: {type: string}}}}, additionalProperties: false}";
    assert_eq!(
        with(closed, "params.icid"),
        ["7:15: the schema of the parameters has no `icid`; did you mean `iccid`?"]
    );
    assert_eq!(with(closed, "params.card.pin").len(), 1);
    for known in ["params.iccid", "params.card.pan", "params.iccid.len"] {
        assert_eq!(with(closed, known), [""; 0], "{known}");
    }
    for open in [
        "{required: [b], properties: {a: {}}}",
        "{properties: {a: {}}, additionalProperties: true}",
        "{properties: {a: {}}, anyOf: [{}]}",
        "{type: object}",
    ] {
        assert_eq!(with(open, "params.b"), [""; 0], "{open}");
    }
    assert_eq!(
        with("{type: object, requird: [b], x-note: 1, properties: {requird: {}}}", "params.requird"),
        ["2:24: JSON Schema has no keyword `requird`: it checks nothing; did you mean `required`?"]
    );
}

#[test]
fn scn_1_a_request_that_nobody_learns_of_is_warned_of() {
    let asks = |body: &str| {
        warnings(&with_actions(&format!("- http: {{url: 'http://h', request: answer, {body}}}")))
    };
    let found = asks("body: {a: 1}");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("nothing that is sent says where to answer the request `answer`"), "{found:?}");
    for body in [
        "body: {a: '${request.id}'}",
        "headers: {X-Reply: '${request[\"url\"]}'}",
        "body: {a: '${\"x\" + request.url}'}",
    ] {
        assert_eq!(asks(body), [""; 0], "{body}");
    }
}

#[test]
fn scn_1_what_a_scenario_takes_from_outside_is_known() {
    let actions = "- http: {url: '${config.crm}/a', body: {b: '${config.crm}'}}\n- script: 'log(config.limits.most)'\n\
                   - order: {scenario: other}\n- order: {scenario: '${params.which}'}";
    let scripting = Scripting::new(Limits::default());
    let reading =
        read_with_warnings(&with_actions(actions), &Library::default(), &scripting, &Bounds::default())
            .unwrap();
    let constants: Vec<String> = reading.constants.iter().map(|(name, at)| format!("{name} {at}")).collect();
    assert_eq!(constants, ["crm 6:22", "limits 7:20"]);
    assert_eq!(reading.children().into_iter().collect::<Vec<_>>(), ["other"]);
}

#[test]
fn ord_13_14_a_child_that_would_wait_for_the_order_that_awaits_it_is_warned_of() {
    let starts = |fields: &str| warnings(&with_actions(&format!("- order: {{scenario: other, {fields}}}")));
    let queue = "mode: sequential, queue: '${order.queue}'";
    let found = starts(&format!("{queue}, wait: true"));
    assert_eq!(
        found,
        [
            "6:57: the child would wait in the queue behind this order, which waits for the child: it will be refused; start it `parallel`, `release` the queue first, or do not wait for it"
        ]
    );
    let after = "lifecycle: {after: [{order: x, states: [done]}, {order: '${order.id}', states: [done]}]}";
    let found = starts(&format!("{after}, wait: true"));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].contains("the child and this order would wait for each other: the child will be refused"),
        "{found:?}"
    );
    for fine in [
        queue.to_owned(),
        after.to_owned(),
        "mode: sequential, queue: 'x${order.queue}', wait: true".to_owned(),
        "lifecycle: {after: [{order: 'x${order.id}', states: [done]}]}, wait: true".to_owned(),
    ] {
        assert_eq!(starts(&fine), [""; 0], "{fine}");
    }
    let released = format!("- release\n- order: {{scenario: other, {queue}, wait: true}}");
    assert_eq!(warnings(&with_actions(&released)), [""; 0]);
}

#[test]
fn scn_1_a_constant_place_that_no_call_can_reach_is_warned_of() {
    let said = |url: &str| {
        warnings(&format!(
            "scenario: s\ninitialState: a\nstates:\n  a: {{actions: [{{http: {{url: '{url}'}}}}], on: {{success: d, fail: d}}}}\n  \
             d: {{kind: terminal}}\n"
        ))
    };
    for url in ["http://h:70000/x", "http://[::1/x", "http://h:0/"] {
        let found = said(url);
        assert!(found.iter().any(|one| one.contains("no system can be called at")), "{url}: {found:?}");
    }
    for url in ["http://h:8080/x", "http://[::1]:80/", "http://${config.h}:${config.p}/"] {
        assert!(!said(url).iter().any(|found| found.contains("no system")), "{url}");
    }
}
