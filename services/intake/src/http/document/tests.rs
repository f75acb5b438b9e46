//! Bodies of the document against the readers of the engine: what the one describes the other takes, and nothing else.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeSet;

use pagurus_command::answer::AnswerByHand;
use pagurus_command::call::NewCall;
use pagurus_command::migrate::Migration;
use pagurus_command::request::{ActionRequest, OF_OTHERS, OF_RESTART};
use pagurus_domain::order::amendment::{Repair, Update};
use pagurus_domain::order::registration::Request;
use serde_json::{Map, Value, json};

use super::operation::{names_in, operation_id};

/// Answers true if a reader takes a body.
type Reader = fn(Value) -> bool;

/// A body with every field that its schema has; what no schema could tell is given by hand.
fn whole(name: &str, by_hand: &Value) -> Map<String, Value> {
    let document = crate::openapi();
    let fields = document["components"]["schemas"][name]["properties"].as_object().cloned();
    let fields = fields.unwrap_or_else(|| panic!("no schema {name} with fields"));
    fields
        .keys()
        .map(|field| {
            let value = by_hand
                .get(field)
                .unwrap_or_else(|| panic!("{name} has a new field {field}: give it a value"));
            (field.clone(), value.clone())
        })
        .collect()
}

#[test]
fn http_generators_of_clients_can_read_the_document() {
    fn schemas(value: &Value, place: &str) {
        // Marks of our own are for ourselves.
        for (name, value) in
            value.as_object().into_iter().flatten().filter(|(name, _)| !name.starts_with("x-"))
        {
            let is_schema = matches!(name.as_str(), "schema" | "items") || place.ends_with("/properties");
            assert!(!is_schema || !value.is_boolean(), "{place}/{name}: {value}");
            // They write it as text of their language, which knows texts, numbers and lists.
            let is_default = name == "default" && !place.ends_with("/responses");
            assert!(!is_default || !value.is_object(), "{place}/{name}: {value}");
            schemas(value, &format!("{place}/{name}"));
        }
        for (number, value) in value.as_array().into_iter().flatten().enumerate() {
            schemas(value, &format!("{place}/{number}"));
        }
    }
    let document = crate::openapi();
    schemas(&document["paths"], "");
    schemas(&document["components"]["schemas"], "");
}

#[test]
fn http_the_engine_reads_each_field_of_a_body_that_its_document_describes_and_no_other() {
    let notify = json!({"url": "amqp://?key=k", "correlationId": "c", "timezone": "Europe/Moscow", "on": ["final"], "format": "pagurus", "group": {"max": 500, "within": "50ms"}});
    let lifecycle = json!({"startAt": "2026-01-01T00:00:00Z", "periodToStart": 5, "after": [{"order": "b", "states": ["done"], "otherwise": "wait"}]});
    let order = json!({
        "id": "a", "scenario": "s", "scenarioVersion": 1, "params": {}, "mode": "sequential", "queue": "q", "priority": "low",
        "flow": {"region": "1"}, "transactionId": "t", "labels": {"region": "n"}, "notify": notify, "lifecycle": lifecycle,
    });
    let action = json!({
        "id": "a", "reason": "r", "ifStatus": "fail", "from": "a", "params": {}, "scenarioVersion": 1, "ignoreConditions": true, "keepCallbacks": true,
    });
    let change = json!({"params": {}, "priority": "low", "lifecycle": {"startAt": null}, "notify": notify, "reason": "r"});
    let repair = json!({"action": 1, "failedAction": false, "state": "a", "vars": {}, "scenarioVersion": 1, "reason": "r"});
    let bodies: [(&str, Value, Reader); 7] = [
        ("OrderBody", order, |body| Request::read(body).is_ok()),
        ("RestartBody", action.clone(), |body| ActionRequest::read(&body, OF_RESTART).is_ok()),
        ("ActionBody", action, |body| ActionRequest::read(&body, OF_OTHERS).is_ok()),
        ("UpdateBody", change, |body| Update::read(&body).is_ok()),
        ("RepairBody", repair, |body| Repair::read(&body).is_ok()),
        ("AnswerBody", json!({"body": [], "stepStatus": "k", "reason": "r"}), |body| {
            AnswerByHand::read(&body).is_ok()
        }),
        ("CallBody", json!({"id": "a", "name": "n", "body": 1, "key": "k", "reason": "r"}), |body| {
            NewCall::read(&body, None).is_ok()
        }),
    ];
    for (name, by_hand, reads) in bodies {
        let body = whole(name, &by_hand);
        assert!(reads(Value::Object(body.clone())), "{name}: {body:?}");
        let mut more = body;
        more.insert("elephant".into(), json!(1));
        assert!(!reads(Value::Object(more)), "{name} takes what its document does not know");
    }
    let body = json!({"from": 1, "to": 2, "apply": true, "reason": "r", "after": "7"});
    assert!(Migration::read(&Value::Object(whole("MigrationBody", &body))).is_ok());
    let fields = |name: &str, of: &[&'static str]| {
        let document = crate::openapi();
        let described = document["components"]["schemas"][name]["properties"].as_object().unwrap().clone();
        assert_eq!(
            described.keys().map(String::as_str).collect::<BTreeSet<_>>(),
            of.iter().copied().collect(),
            "{name}"
        );
    };
    fields("RestartBody", OF_RESTART);
    fields("ActionBody", OF_OTHERS);
}

#[test]
fn http_an_operation_is_named_by_its_method_and_path() {
    assert_eq!(operation_id("post", "/v1/orders/{id}/cancel"), "postOrdersIdCancel");
    assert_eq!(names_in("/v1/orders/{id}/calls/{key}").collect::<Vec<_>>(), ["id", "key"]);
}

#[test]
fn http_every_parameter_says_what_it_is_and_a_number_is_one() {
    let document = crate::openapi();
    let routes = document["paths"].as_object().unwrap();
    for (path, operation) in routes.iter().flat_map(|(path, methods)| {
        methods.as_object().unwrap().values().map(move |operation| (path, operation))
    }) {
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let name = &parameter["name"];
            assert!(parameter["description"].as_str().is_some_and(|text| !text.is_empty()), "{path}: {name}");
            if name == "limit" {
                assert_eq!(parameter["schema"]["type"], "integer", "{path}: {name}");
            }
        }
    }
}

#[test]
fn http_every_reference_of_the_document_leads_somewhere_and_no_operation_has_the_name_of_another() {
    let document = crate::openapi();
    let text = document.to_string();
    for reference in text.split("\"$ref\":\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(document.pointer(reference).is_some(), "{reference}");
    }
    let mut ids: Vec<&str> =
        text.split("\"operationId\":\"").skip(1).map(|id| id.split('"').next().unwrap()).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
    assert!(count > 50, "{count}");
}

/// A page that asks for nothing but itself is read where there is no network, and tells nobody who reads it.
#[test]
fn http_the_page_of_the_document_asks_for_nothing_from_elsewhere() {
    let page = super::page::page(&super::super::openapi());
    let mut links = 0;
    for (name, rest) in ["href=\"", "src=\"", "action=\""]
        .iter()
        .flat_map(|name| page.split(name).skip(1).map(move |rest| (name, rest)))
    {
        let target = rest.split('"').next().unwrap();
        let is_own = target.starts_with('#') || (target.starts_with('/') && !target.starts_with("//"));
        assert!(is_own, "{name}{target}");
        links += 1;
    }
    assert!(links > 100, "only {links} links: are they read?");
    for word in
        ["<script", "<link", "<iframe", "<img", "@import", "url(", "javascript:", " onclick=", "<base"]
    {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn http_every_operation_names_its_credentials_and_its_usual_problems() {
    let document = crate::openapi();
    let schemes = document["components"]["securitySchemes"].as_object().unwrap();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let place = format!("{method} {path}");
            let security = operation["security"].as_array().unwrap_or_else(|| panic!("{place}"));
            let mut names = security.iter().flat_map(|one| one.as_object().unwrap().keys());
            assert!(names.all(|name| schemes.contains_key(name)), "{place}: {security:?}");
            let is_free = operation["x-role"] == "anyone";
            assert_eq!(is_free, security.is_empty(), "{place}");
            let is_optional = security.contains(&json!({}));
            assert_eq!(is_optional, operation["x-role"] == "system", "{place}");
            let answers = &operation["responses"];
            let has = |status: &str| answers[status]["$ref"].is_string();
            assert!(has("default") && has("429") && has("503"), "{place}");
            assert_eq!((has("401"), has("403")), (!is_free, !is_free), "{place}");
            assert_eq!(has("404"), path.contains('{'), "{place}");
            assert!(has("422") || operation["requestBody"].is_null(), "{place}");
        }
    }
}

#[test]
fn http_the_document_has_no_format_and_no_reference_that_only_we_know() {
    let text = crate::openapi().to_string();
    assert!(!text.contains("\"format\":\"uint"), "formats of unsigned numbers");
    assert!(!text.contains("[`"), "a link to an item of the code");
    let is_requirement = |word: &&str| {
        word.split_once('-').is_some_and(|(kind, number)| {
            let is_kind = kind.len() == 3 && kind.bytes().all(|sign| sign.is_ascii_uppercase());
            let is_number = !number.is_empty() && number.bytes().all(|sign| sign.is_ascii_digit());
            is_kind && is_number && !["SHA", "UTF"].contains(&kind)
        })
    };
    let words = text.split(|sign: char| !sign.is_ascii_alphanumeric() && sign != '-');
    let found: Vec<&str> = words.filter(is_requirement).collect();
    assert!(found.is_empty(), "numbers of requirements: {found:?}");
}
