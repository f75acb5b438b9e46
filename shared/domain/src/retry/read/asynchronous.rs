//! Reads the rules for callbacks: `async.classification.rules`.

use super::keys::{ASYNC_CLASS, ASYNC_REQUESTS, ASYNC_RULE, CALLBACK, MESSAGE};
use super::rules::{alternatives, requests};
use super::{RetryReader, may_be_mapping};
use crate::document::{DocumentKey, DocumentNode, Fault};
use crate::retry::ErrorClass;
use crate::retry::asynchronous::{AsyncClass, AsyncRule, CallbackCondition};
use crate::retry::mask::{AmqpMask, NoMask};

pub(super) fn rules(reader: &mut RetryReader, node: &DocumentNode, pointer: &str) -> Vec<AsyncRule> {
    let mut rules: Vec<AsyncRule> = Vec::new();
    for (key, value, at) in reader.named(node, pointer) {
        let mut rule =
            AsyncRule { name: key.name.clone(), http: Vec::new(), amqp: Vec::new(), classes: Vec::new() };
        for (part, value, at) in reader.parts(key, value, &at, &ASYNC_RULE) {
            if part.name == "classes" {
                rule.classes = classes(reader, value, &at);
            } else {
                asked(reader, part, value, &at, &mut rule, &rules);
            }
        }
        rules.push(rule);
    }
    rules
}

/// `requests: {http: [...], amqp: [...]}`, at least one of them.
fn asked(
    reader: &mut RetryReader,
    key: &DocumentKey,
    node: &DocumentNode,
    pointer: &str,
    rule: &mut AsyncRule,
    before: &[AsyncRule],
) {
    if node.as_list().is_some() {
        let message = "expected a mapping, found a list".to_owned();
        reader.fault_with_hint(node, pointer, message, "write `requests: {http: [{path: /a}]}`");
        return;
    }
    let entries = reader.mapping(node, pointer, &ASYNC_REQUESTS);
    if entries.is_empty() && may_be_mapping(node) {
        let fault = Fault::placed(Some(key.at), pointer, "the rule takes neither `http` nor `amqp` requests");
        reader.faults.push(fault.hint("write `http: [{path: /a}]` or `amqp: [{path: \"/a?key=b\"}]`"));
    }
    for (key, value, at) in entries {
        if key.name == "http" {
            let taken = before.iter().map(|other| (other.name.as_str(), other.http.as_slice()));
            rule.http = requests(reader, value, &at, false, taken);
        } else {
            rule.amqp = messages(reader, value, &at, before);
        }
    }
}

fn messages(
    reader: &mut RetryReader,
    node: &DocumentNode,
    pointer: &str,
    before: &[AsyncRule],
) -> Vec<AmqpMask> {
    let mut masks = Vec::new();
    for (item, at) in reader.filled_list(node, pointer) {
        if may_be_mapping(item) && item.get("path").is_none() {
            let message = "the request has no `path`".to_owned();
            reader.fault_with_hint(item, &at, message, "write `{path: \"/vhost?exchange=a&key=b\"}`");
        }
        for (_, value, at) in reader.mapping(item, &at, &MESSAGE) {
            let Some(text) = reader.text(value, &at) else {
                continue;
            };
            match AmqpMask::parse(text) {
                Ok(mask) => {
                    refuse_tie(reader, value, &at, &mask, before);
                    masks.push(mask);
                }
                Err(NoMask { message, hint }) => reader.fault_with_hint(value, &at, message, &hint),
            }
        }
    }
    masks
}

/// Two rules that are equally specific for some message: only chance could choose.
fn refuse_tie(
    reader: &mut RetryReader,
    node: &DocumentNode,
    pointer: &str,
    mask: &AmqpMask,
    before: &[AsyncRule],
) {
    let ties = |other: &AmqpMask| other.specificity() == mask.specificity() && other.overlaps(mask);
    if let Some(other) = before.iter().find(|other| other.amqp.iter().any(ties)) {
        reader.fault_with_hint(
            node,
            pointer,
            format!("the rule `{}` takes some of the same messages and is equally specific", other.name),
            "make one of the two masks more specific",
        );
    }
}

fn classes(reader: &mut RetryReader, node: &DocumentNode, pointer: &str) -> Vec<AsyncClass> {
    let mut classes = Vec::new();
    for (key, value, at) in reader.named(node, pointer) {
        let class = ErrorClass::from(key.name.as_str());
        let mut class = AsyncClass { class, timeout: false, responses: Vec::new() };
        let faults_before = reader.faults.len();
        for (key, value, at) in reader.mapping(value, &at, &ASYNC_CLASS) {
            if key.name == "responses" {
                for (item, at) in reader.filled_list(value, &at) {
                    class.responses.extend(callback(reader, item, &at));
                }
            } else if let Some(timeout) = value.as_bool() {
                class.timeout = timeout;
            } else {
                reader.expected(value, &at, "`true` or `false`");
            }
        }
        // Said once: a misspelt condition is reported as a word and not as a gap.
        if !class.timeout && class.responses.is_empty() && reader.faults.len() == faults_before {
            let fault = Fault::placed(Some(key.at), &at, "the class takes nothing");
            reader.faults.push(fault.hint("give it `timeout: true` or `responses`"));
        }
        classes.push(class);
    }
    classes
}

fn callback(reader: &mut RetryReader, node: &DocumentNode, pointer: &str) -> Option<CallbackCondition> {
    let mut condition = CallbackCondition::default();
    let entries = reader.mapping(node, pointer, &CALLBACK);
    if entries.is_empty() {
        if node.is_null() || node.as_map().is_some_and(<[_]>::is_empty) {
            let message = "the condition has neither `step_status_keywords` nor `body_keywords`";
            let hint = "write `step_status_keywords: [failed]`, or `body_keywords: [[error]]`";
            reader.fault_with_hint(node, pointer, message.to_owned(), hint);
        }
        return None;
    }
    for (key, value, at) in entries {
        if key.name == "body_keywords" {
            condition.body_keywords = alternatives(reader, value, &at);
            continue;
        }
        if key.name == "soap_fault_keywords" {
            condition.soap_fault_keywords = Some(alternatives(reader, value, &at));
            continue;
        }
        for (item, at) in reader.filled_list(value, &at) {
            if item.as_list().is_some() {
                let message = "expected a text, found a list".to_owned();
                reader.fault_with_hint(
                    item,
                    &at,
                    message,
                    "these words are a plain list: `[failed, refused]`",
                );
            } else {
                condition.step_status_keywords.extend(reader.text(item, &at).map(str::to_owned));
            }
        }
    }
    Some(condition)
}
