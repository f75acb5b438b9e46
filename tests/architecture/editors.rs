//! The JSON Schemas that editors use: every file of the project fits the one of its kind, and what their readers refuse
//! for its form, they refuse as well.

use jsonschema::Validator;
use pagurus_domain::document::{DocumentLimits, parse};
use pagurus_runtime::config;
use pagurus_workbench::trial;
use serde_json::Value;

use crate::generated::schemas;
use crate::tree::{files, none, read};

fn validator(name: &str) -> Validator {
    let schema = schemas().into_iter().find(|(known, _)| *known == name);
    jsonschema::draft7::new(&schema.unwrap().1).unwrap()
}

fn tree(text: &str) -> Value {
    parse(text, &DocumentLimits::default()).unwrap().to_json()
}

/// The kind of a file of the project; none for those that are something else.
fn kind(path: &str) -> Option<&'static str> {
    match path {
        "pagurus.yaml" | "examples/errors/rules.yaml" => Some("configuration"),
        _ if path.starts_with("scenarios/lab/") || path.ends_with(".flows.yaml") => None,
        _ if !path.starts_with("scenarios/") && !path.starts_with("examples/scenarios/") => None,
        _ if path.ends_with(".test.yaml") => Some("tests"),
        _ => Some("scenario"),
    }
}

#[test]
fn scn_1_every_shipped_file_fits_its_schema() {
    let schemas = ["scenario", "tests", "configuration"].map(|name| (name, validator(name)));
    let (mut tried, mut wrong) = (0, Vec::new());
    for file in files(&[".yaml"]) {
        let Some(kind) = kind(&file.path) else { continue };
        let (_, schema) = schemas.iter().find(|(name, _)| *name == kind).unwrap();
        tried += 1;
        wrong.extend(schema.iter_errors(&tree(&file.text)).map(|error| {
            let message: String = error.to_string().chars().take(200).collect();
            format!("{}: {}: {message}", file.path, error.instance_path())
        }));
    }
    none("shipped files that their schema refuses", &wrong);
    assert!(tried >= 65, "only {tried} files were found");
}

#[test]
fn scn_13_the_schema_of_tests_takes_and_refuses_what_its_reader_does() {
    let schema = validator("tests");
    for good in [
        "tests: [{test: a, expect: {status: success}}]",
        "tests: [{test: a, now: '2026-03-01T10:00:00Z', order: {id: 7, queue: q}, params: {a: null}, secrets: {k: 5}, expect: {duration: 1d5s}}]",
        "tests: [{test: a, answers: [{http: POST http://b/*, status: 201, body: {id: 1}, times: 2, after: 200ms}], expect: {step: done}}]",
        "tests: [{test: a, answers: [{http: {url: '*', method: GET}, fails: ReadTimeout}, {amqp: {exchange: e}, callback: none}], expect: {error: x}}]",
        "tests: [{test: a, answers: [{actor: clerk, decision: fail}, {order: {scenario: s}, status: canceled}], expect: {path: [a]}}]",
        "tests: [{test: a, calls: [{after: 1h, name: c}], expect: {answers: [{answer: null}, {error: x}], requests: [GET x, {request: y}]}}]",
    ] {
        let refused = trial::read(good).err();
        assert!(refused.is_none() && schema.is_valid(&tree(good)), "{good}: {refused:?}");
    }
    for bad in [
        "tests: {}",
        "test: []",
        "tests: [{expect: {status: success}}]",
        "tests: [{test: a}]",
        "tests: [{test: a, expect: {}}]",
        "tests: [{test: a, expect: {status: new}}]",
        "tests: [{test: a, params: 5, expect: {status: fail}}]",
        "tests: [{test: a, answers: [{status: 200}], expect: {status: fail}}]",
        "tests: [{test: a, answers: [{http: x, amqp: {}}], expect: {status: fail}}]",
        "tests: [{test: a, answers: [{http: x, times: 0}], expect: {status: fail}}]",
        "tests: [{test: a, answers: [{http: x, after: soon}], expect: {status: fail}}]",
        "tests: [{test: a, answers: [{http: x, fails: Never}], expect: {status: fail}}]",
        "tests: [{test: a, answers: [{http: {method: GET}}], expect: {status: fail}}]",
        "tests: [{test: a, calls: [{name: c}], expect: {status: fail}}]",
        "tests: [{test: a, errors: {sink: {}}, expect: {status: fail}}]",
        "tests: [{test: a, expect: {answers: [{answer: 1, error: x}]}}]",
    ] {
        assert!(trial::read(bad).is_err() && !schema.is_valid(&tree(bad)), "{bad}");
    }
}

#[test]
fn architecture_the_schema_of_the_configuration_takes_and_refuses_what_its_reader_does() {
    let schema = validator("configuration");
    let defaults = config::defaults_page();
    for good in [
        defaults.as_str(),
        "database:",
        "node: {name: , listen: '[::1]:80'}",
        "node: {heartbeat: 2s500ms}\nbroker: {prefetch: 7}\nintake: {max_body_bytes: 64 KiB}",
        "failover: {interval: 0}",
        "worker: {http: {allow: ['*.shop.example:8080', 10.0.0.0/8]}}",
        "systems: {named: [{name: hlr, host: hlr.example}, {name: network, exchange: net}]}",
        "notify: {allow: [{exchange: a, key: b}, {queue: q}, {url: 'https://h/*', secret: s}]}",
        "execution: {error_handling: {sync: {retry: {policies: {p: {error_classes: [x]}}}}}}",
        "distribution: {mode: limited_flows, flows: {limits: {policies: {p: {scenarios: [{name: s}], params: {max_limit: 3}}}}}}",
        "config: {billing: 'http://b', limits: {a: 1}}",
    ] {
        let faults = config::check(good, std::iter::empty());
        assert!(faults.is_empty() && schema.is_valid(&tree(good)), "{good}: {faults:?}");
    }
    for bad in [
        "[a]",
        "nods: {}",
        "node: {hartbeat: 3s}",
        "node: {heartbeat: 3}",
        "node: {heartbeat: 0s}",
        "node: {listen: localhost}",
        "database: {migrate: yes}",
        "broker: {prefetch: 0}",
        "broker: {prefix: a b}",
        "intake: {max_body_bytes: many}",
        "distribution: {mode: simpel}",
        "distribution: {flows: {attributes: []}}",
        "distribution: {flows: {limits: {policies: {p: {params: {}}}}}}",
        "systems: {named: [{name: hlr}]}",
        "systems: {named: [{name: hlr, host: a, exchange: b}]}",
        "notify: {allow: [{queue: q, key: k}]}",
        "notify: {allow: [{url: 'https://h/'}]}",
        "reply: {allow: [{url: 'https://h/', secret: s}]}",
        "execution: {error_handling: {sink: {}}}",
        "execution: {error_handling: {sync: {retry: {policies: {p: {}}}}}}",
        "execution: {state_classification: {target: [done]}}",
        "access: {mode: ladp}",
    ] {
        assert!(!config::check(bad, std::iter::empty()).is_empty() && !schema.is_valid(&tree(bad)), "{bad}");
    }
}

#[test]
fn architecture_the_guide_tells_editors_where_the_schemas_are() {
    let guide = read("docs/guides/editors.md");
    for (name, _) in schemas() {
        assert!(guide.contains(&format!("../schemas/{name}.json")), "{name}");
    }
}
