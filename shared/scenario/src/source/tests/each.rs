//! `each`, one bad example for each rule (SCN-17).

use super::{check_actions, outcome, with_actions};
use crate::Action;

#[test]
fn scn_17_each_is_checked() {
    let each = |rest: &str| format!("- each: {{in: '${{params.list}}', {rest}}}");
    let get = "{http: {url: 'http://h/${item.sku}/${index}'}}";
    let table: Vec<(String, &str)> = vec![
        (
            "- each: {actions: [{script: 'item = 1;'}]}".into(),
            "6:13: `in` is missing; write `in: \"${params.items}\"`",
        ),
        ("- each".into(), "6:7: the action `each` does not say what to do; write it like `each: {in: "),
        (
            format!("- each: {{in: 'x ${{params.n}}', actions: [{get}]}}"),
            "6:18: `in` can never be a list; write an expression",
        ),
        (format!("- each: {{in: {{a: 1}}, actions: [{get}]}}"), "6:18: `in` can never be a list"),
        (each("as: a b, actions: [{http: {url: 'http://h'}}]"), "6:40: `a b` is not a name for an element"),
        (
            each("as: vars, actions: [{http: {url: 'http://h'}}]"),
            "6:40: `vars` means something else already; give the element another",
        ),
        (
            each("as: index, actions: [{http: {url: 'http://h'}}]"),
            "6:40: `index` means something else already",
        ),
        (
            each(&format!("atOnce: 21, actions: [{get}]")),
            "6:44: `atOnce` must be a whole number from 1 to 20; write how many",
        ),
        (
            each(&format!("onError: colect, actions: [{get}]")),
            "6:45: `colect` does not say what happens on a failure; did you mean `collect`?",
        ),
        (each("actions: []"), "6:45: an `each` has 1 to 8 actions, not 0; write what is done"),
        (each("actions: {}"), "6:45: `actions` must be a list of actions, not a mapping"),
        (
            each("actions: [{sleep: {for: 1m}}]"),
            "6:46: `sleep` has no place inside `each`; there are: http, amqp, script, order",
        ),
        (each("actions: [wait]"), "6:46: `wait` has no place inside `each`"),
        (
            each("actions: [{http: {url: 'http://h', name: a}}]"),
            "6:46: an answer inside `each` is kept for its element alone; remove",
        ),
        (
            each("actions: [{http: {url: 'http://h', save: {a: 1}}}]"),
            "6:46: an answer inside `each` is kept for its element",
        ),
        (
            each("actions: [{script: 'vars.a = item;'}]"),
            "6:46: a script inside `each` sets no variables; change the element",
        ),
        (
            each("actions: [{script: 'event(\"x\")'}]"),
            "6:46: a script inside `each` does not move the order; write a script",
        ),
        (each("actions: [{script: 'poll()'}]"), "6:46: a script inside `each` does not move the order"),
        (
            each("actions: [{order: {scenario: c, wait: true, timeout: 1m}}]"),
            "6:46: an order inside `each` is awaited by a `wait` behind it; move `timeout`",
        ),
        (
            each(
                "actions: [{http: {url: 'http://h/${request.id}', request: a}}, {http: {url: 'http://h/${request.id}', request: b}}]",
            ),
            "6:147: an `each` registers one request for each element; write another `each`",
        ),
        (each("actions: [{http: {url: 'http://h/${itme.sku}'}}]"), "6:71: nothing is called `itme` here"),
        ("- http: {url: 'http://h/${item}'}".into(), "6:31: Undefined variable: item"),
    ];
    let table: Vec<(&str, &str)> = table.iter().map(|(text, fault)| (text.as_str(), *fault)).collect();
    check_actions(&table);
}

#[test]
fn scn_17_each_is_read_with_all_that_it_says() {
    let each = |rest: &str| format!("- each: {{in: '${{params.list}}', {rest}}}");
    let get = "{http: {url: 'http://h/${item.sku}/${index}'}}";
    let scenario = outcome(&with_actions(&each(&format!(
        "atOnce: 3, as: line, onError: collect, actions: [{}], save: {{a: '${{line}}'}}",
        get.replace("item", "line")
    ))))
    .unwrap();
    let Action::Each(read) = &scenario.states[0].actions[0] else { panic!() };
    assert_eq!((&*read.name, read.at_once, read.collects, read.actions.len()), ("line", 3, true, 1));
    let asks = with_actions(&each("actions: [{http: {url: 'http://h/${request.id}', request: r}}]"));
    assert!(outcome(&asks).unwrap().asks());
}
