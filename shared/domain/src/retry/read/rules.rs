//! Reads the rules of classification: `sync.classification.rules`.

use super::keys::{CLASS, EXCEPTION, REQUEST, RESPONSE, RULE};
use super::{RetryReader, may_be_mapping};
use crate::document::{DocumentNode, Fault};
use crate::retry::ErrorClass;
use crate::retry::classify::{
    Alternatives, Class, ClassificationRule, ExceptionCondition, RequestMask, ResponseCondition, StatusSpan,
};
use crate::retry::mask::{Glob, PathMask};

/// A word of older engines for "whatever went wrong without an answer".
const ANY_HTTP_EXCEPTION: &str = "ANY_HTTP_EXCEPTION";

pub(super) fn rules(reader: &mut RetryReader, node: &DocumentNode, pointer: &str) -> Vec<ClassificationRule> {
    let mut rules: Vec<ClassificationRule> = Vec::new();
    for (key, value, at) in reader.named(node, pointer) {
        let mut rule =
            ClassificationRule { name: key.name.clone(), requests: Vec::new(), classes: Vec::new() };
        // Classes first: they tell whether the masks may have `**`.
        for (part, value, at) in reader.parts(key, value, &at, &RULE) {
            if part.name == "classes" {
                rule.classes = classes(reader, value, &at);
            } else if value.as_map().is_some() {
                let message = "expected a list, found a mapping".to_owned();
                reader.fault_with_hint(value, &at, message, "write `requests: [{path: /a}]`");
            } else {
                let taken = rules.iter().map(|other| (other.name.as_str(), other.requests.as_slice()));
                rule.requests = requests(reader, value, &at, rule.takes_success(), taken);
            }
        }
        rules.push(rule);
    }
    rules
}

/// Masks of HTTP requests. `taken` are the rules before, each with its masks.
pub(super) fn requests<'r>(
    reader: &mut RetryReader,
    node: &DocumentNode,
    pointer: &str,
    takes_success: bool,
    taken: impl Iterator<Item = (&'r str, &'r [RequestMask])> + Clone,
) -> Vec<RequestMask> {
    let mut requests = Vec::new();
    for (item, at) in reader.filled_list(node, pointer) {
        let Some(request) = request(reader, item, &at) else {
            continue;
        };
        if takes_success && request.path.has_double_star() {
            reader.fault_with_hint(
                item,
                &at,
                format!("a rule that classifies 2xx answers may not use `**`: `{}`", request.path.as_str()),
                "name the path, with `*` for single segments",
            );
        }
        if let Some((other, _)) = taken.clone().find(|(_, others)| others.contains(&request)) {
            reader.fault_with_hint(
                item,
                &at,
                format!("the rule `{other}` takes the same requests"),
                "make one of the two masks more specific",
            );
        }
        requests.push(request);
    }
    requests
}

fn request(reader: &mut RetryReader, node: &DocumentNode, pointer: &str) -> Option<RequestMask> {
    if node.as_str().is_some() {
        let message = "expected a mapping, found a text".to_owned();
        reader.fault_with_hint(
            node,
            pointer,
            message,
            "write `{path: /a}`, with `host` and `method` if they matter",
        );
        return None;
    }
    let (mut path, mut host, mut method) = (None, None, None);
    for (key, value, at) in reader.mapping(node, pointer, &REQUEST) {
        let Some(text) = reader.text(value, &at) else {
            continue;
        };
        match key.name.as_str() {
            "path" if text.starts_with('/') => path = Some(PathMask::new(text)),
            "path" => {
                let message = format!("the mask `{text}` must begin with `/`");
                reader.fault_with_hint(value, &at, message, "the host has a key of its own, `host`");
                // Read on as if it did, so that nothing follows from this fault.
                path = Some(PathMask::new(text));
            }
            "host" => host = Some(Glob::new(&text.to_ascii_lowercase())),
            _ => method = Some(text.to_ascii_uppercase()),
        }
    }
    if path.is_none() && may_be_mapping(node) && node.get("path").is_none() {
        let message = "the request has no `path`".to_owned();
        reader.fault_with_hint(node, pointer, message, "write `path: \"/**\"` for every path");
    }
    Some(RequestMask { path: path?, host, method })
}

fn classes(reader: &mut RetryReader, node: &DocumentNode, pointer: &str) -> Vec<Class> {
    let mut classes = Vec::new();
    for (key, value, at) in reader.named(node, pointer) {
        let class = ErrorClass::from(key.name.as_str());
        let mut class = Class { class, responses: Vec::new(), exceptions: Vec::new() };
        let entries = reader.mapping(value, &at, &CLASS);
        if entries.is_empty() {
            let fault =
                Fault::placed(Some(key.at), &at, "the class has neither `responses` nor `exceptions`");
            reader.faults.push(fault.hint("say what belongs to it: `responses: [{status_codes: [503]}]`"));
        }
        for (key, value, at) in entries {
            if key.name == "responses" {
                for (item, at) in reader.filled_list(value, &at) {
                    class.responses.extend(response(reader, item, &at));
                }
            } else if refuse_any_exception(reader, value, &at).is_none() {
                for (item, at) in reader.filled_list(value, &at) {
                    class.exceptions.extend(exception(reader, item, &at));
                }
            }
        }
        classes.push(class);
    }
    classes
}

fn response(reader: &mut RetryReader, node: &DocumentNode, pointer: &str) -> Option<ResponseCondition> {
    let mut condition = ResponseCondition::default();
    for (key, value, at) in reader.mapping(node, pointer, &RESPONSE) {
        match key.name.as_str() {
            "body_keywords" => condition.body_keywords = alternatives(reader, value, &at),
            "soap_fault_keywords" => {
                condition.soap_fault_keywords = Some(alternatives(reader, value, &at));
            }
            _ => {
                for (item, at) in reader.filled_list(value, &at) {
                    condition.status_codes.extend(status_span(reader, item, &at));
                }
            }
        }
    }
    let says_which = ["status_codes", "soap_fault_keywords"].iter().any(|key| node.get(key).is_some());
    if may_be_mapping(node) && !says_which {
        let message = "the condition has no `status_codes`".to_owned();
        reader.fault_with_hint(node, pointer, message, "write `status_codes: [500, 503]`");
        return None;
    }
    Some(condition)
}

/// A status, or a class of statuses: `503`, `5xx`.
fn status_span(reader: &mut RetryReader, node: &DocumentNode, pointer: &str) -> Option<StatusSpan> {
    let code = node.as_i64().and_then(|code| u16::try_from(code).ok());
    let hundreds = node.as_str().and_then(|text| match text {
        "1xx" => Some(100),
        "2xx" => Some(200),
        "3xx" => Some(300),
        "4xx" => Some(400),
        "5xx" => Some(500),
        _ => None,
    });
    match code.or(hundreds) {
        Some(first @ (200..300 | 400..600)) => {
            Some(StatusSpan { first, last: hundreds.map_or(first, |first| first + 99) })
        }
        Some(100..200 | 300..400) => {
            let found =
                code.map_or_else(|| node.as_str().unwrap_or_default().to_owned(), |code| code.to_string());
            let message = format!("{found} always counts as success (1xx and 3xx do)");
            reader.fault_with_hint(node, pointer, message, "leave it out");
            None
        }
        _ => {
            let found = code.map_or_else(|| node.kind().to_owned(), |code| code.to_string());
            let message = format!("expected an HTTP status from 200 to 599, found {found}");
            reader.fault_with_hint(
                node,
                pointer,
                message,
                "write it like `503`, or `5xx` for all of a class",
            );
            None
        }
    }
}

fn exception(reader: &mut RetryReader, node: &DocumentNode, pointer: &str) -> Option<ExceptionCondition> {
    if refuse_any_exception(reader, node, pointer).is_some() {
        return None;
    }
    let mut condition = ExceptionCondition { name_keyword: None, message_keywords: Alternatives::default() };
    let entries = reader.mapping(node, pointer, &EXCEPTION);
    if entries.is_empty() && may_be_mapping(node) {
        let message = "the condition has neither `name_keyword` nor `message_keywords`".to_owned();
        let hint = "write `name_keyword: Exception` for every failure without an answer";
        reader.fault_with_hint(node, pointer, message, hint);
        return None;
    }
    for (key, value, at) in entries {
        if key.name == "message_keywords" {
            condition.message_keywords = alternatives(reader, value, &at);
        } else if refuse_any_exception(reader, value, &at).is_none() {
            condition.name_keyword = reader.text(value, &at).map(str::to_owned);
        }
    }
    Some(condition)
}

/// Reports the word of older engines wherever it stands.
fn refuse_any_exception(reader: &mut RetryReader, node: &DocumentNode, pointer: &str) -> Option<()> {
    if node.as_str()? != ANY_HTTP_EXCEPTION {
        return None;
    }
    let message = format!("`{ANY_HTTP_EXCEPTION}` is not known here");
    let hint = "write `exceptions: [{name_keyword: Exception}]` for every failure without an answer";
    reader.fault_with_hint(node, pointer, message, hint);
    Some(())
}

/// Lists of substrings: one list must hold, and of it every substring.
pub(super) fn alternatives(reader: &mut RetryReader, node: &DocumentNode, pointer: &str) -> Alternatives {
    let mut alternatives = Vec::new();
    for (item, at) in reader.filled_list(node, pointer) {
        if item.as_str().is_some() {
            let message = "expected a list of substrings, found a text".to_owned();
            reader.fault_with_hint(item, &at, message, "put it in brackets: `[[\"text\"]]`");
            continue;
        }
        let mut keywords = Vec::new();
        for (keyword, at) in reader.filled_list(item, &at) {
            keywords.extend(reader.text(keyword, &at).map(str::to_owned));
        }
        alternatives.push(keywords);
    }
    Alternatives(alternatives)
}
