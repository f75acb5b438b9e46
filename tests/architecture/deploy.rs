//! The files of `deploy` fit the programs: metrics that exist, alerts that say what to do, manifests that start what is
//! there. Tools that check more (`promtool`, which `./dev test` installs, and `kubectl kustomize`) are asked where they are installed.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use pagurus_runtime::{config, metrics};
use serde_json::{Value, json};

use crate::tree::{SERVICES, files, none, read, root};

/// Labels that Prometheus adds by itself.
const ADDED: [&str; 3] = ["instance", "job", "le"];

/// Names of metrics with their labels, as queries write them.
fn known() -> BTreeMap<String, BTreeSet<String>> {
    let mut known = BTreeMap::new();
    for line in metrics::reference_table().lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let words = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
        let name = words(cells[1]).remove(0);
        let labels: BTreeSet<String> = words(cells[3]).into_iter().collect();
        if cells[2] == "histogram" {
            for suffix in ["_bucket", "_count", "_sum"] {
                known.insert(format!("{name}{suffix}"), labels.clone());
            }
        } else {
            known.insert(name, labels);
        }
    }
    known
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The metrics of a query, each with the labels that it is narrowed by.
fn asked(query: &str) -> Vec<(String, Vec<String>)> {
    let mut asked = Vec::new();
    for prefix in ["pagurus_", "process_"] {
        for (at, _) in query.match_indices(prefix) {
            if query[..at].ends_with(is_word) {
                continue;
            }
            let rest = &query[at..];
            let (name, rest) = rest.split_at(rest.find(|c| !is_word(c)).unwrap_or(rest.len()));
            let narrowed =
                rest.strip_prefix('{').and_then(|rest| rest.split_once('}')).map_or("", |(inside, _)| inside);
            let labels = narrowed.split(',').filter_map(|part| {
                let label = part.split(['=', '!']).next().unwrap_or_default().trim();
                (!label.is_empty()).then(|| label.to_owned())
            });
            asked.push((name.to_owned(), labels.collect()));
        }
    }
    asked
}

/// All texts under keys of these names.
fn texts_at<'v>(value: &'v Value, keys: &[&str], found: &mut Vec<&'v str>) {
    match value {
        Value::Object(map) => {
            for (key, inside) in map {
                match inside {
                    Value::String(text) if keys.contains(&key.as_str()) => found.push(text),
                    inside => texts_at(inside, keys, found),
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|inside| texts_at(inside, keys, found)),
        _ => {}
    }
}

fn documents(path: &str) -> Vec<Value> {
    let text = read(path);
    let parts = text.split("\n---\n");
    parts.map(|part| serde_saphyr::from_str(part).unwrap_or_else(|error| panic!("{path}: {error}"))).collect()
}

#[test]
fn telemetry_dashboards_alerts_and_scaling_ask_for_metrics_that_exist() {
    let known = known();
    let mut offenders = Vec::new();
    let mut count = 0;
    let sources = files(&[".json", ".yml", ".yaml"]);
    for source in sources.iter().filter(|source| source.path.starts_with("deploy/")) {
        let all: Vec<Value> = documents(&source.path);
        let mut queries = Vec::new();
        all.iter().for_each(|one| texts_at(one, &["expr", "query"], &mut queries));
        for (name, labels) in queries.iter().flat_map(|query| asked(query)) {
            count += 1;
            match known.get(&name) {
                None => offenders.push(format!("{}: `{name}` does not exist", source.path)),
                Some(has) => offenders.extend(
                    labels
                        .iter()
                        .filter(|label| !has.contains(*label) && !ADDED.contains(&label.as_str()))
                        .map(|label| format!("{}: `{name}` has no label `{label}`", source.path)),
                ),
            }
        }
    }
    assert!(count > 80, "only {count} metrics are asked for: are the queries read?");
    none("queries", &offenders);
}

#[test]
fn telemetry_queries_are_read_as_they_are_meant() {
    let labels = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        asked("sum by (a) (rate(pagurus_x_total{b=\"1\",c!~\"2\"}[5m])) / my_pagurus_y + process_z"),
        [("pagurus_x_total".to_owned(), labels(&["b", "c"])), ("process_z".to_owned(), labels(&[]))]
    );
}

#[test]
fn telemetry_every_alert_says_how_bad_it_is_and_where_it_stands_what_to_do() {
    let alerts = documents("deploy/prometheus/alerts.yml").remove(0);
    let operations = read("docs/operations.md");
    let mut offenders = Vec::new();
    let mut names = BTreeSet::new();
    for rule in
        alerts["groups"].as_array().unwrap().iter().flat_map(|group| group["rules"].as_array().unwrap())
    {
        let name = rule["alert"].as_str().unwrap();
        if !names.insert(name) {
            offenders.push(format!("{name} stands twice"));
        }
        if !["page", "ticket"].contains(&rule["labels"]["severity"].as_str().unwrap_or_default()) {
            offenders.push(format!("{name} has no severity"));
        }
        if rule["annotations"]["runbook"] != format!("docs/operations.md#{}", name.to_lowercase()).as_str() {
            offenders.push(format!("{name} leads to no runbook"));
        }
        if !operations.lines().any(|line| line == format!("### {name}")) {
            offenders.push(format!("docs/operations.md has no chapter {name}"));
        }
    }
    none("alerts", &offenders);
    let tests = read("deploy/prometheus/alerts_test.yml");
    assert!(names.iter().filter(|name| tests.contains(**name)).count() >= 10, "alerts without a test");
    let operator = documents("deploy/kustomize/monitoring/alerts.yaml").remove(0);
    assert_eq!(operator["spec"], alerts, "the copy for the Prometheus Operator is stale");
}

/// Runs a tool where it is installed; nothing where it is not.
fn asks(tool: &str, arguments: &[&str]) {
    let Ok(output) = Command::new(tool).args(arguments).current_dir(root()).output() else {
        eprintln!("{tool} is not installed: not asked");
        return;
    };
    let text = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{tool} {arguments:?}: {}", String::from_utf8_lossy(&text));
}

#[test]
fn telemetry_promtool_accepts_the_alerts_and_their_tests() {
    asks("promtool", &["check", "rules", "deploy/prometheus/alerts.yml"]);
    asks("promtool", &["test", "rules", "deploy/prometheus/alerts_test.yml"]);
}

#[test]
fn run_2_kustomize_builds_every_folder() {
    for folder in ["base", "ingress", "scaling", "monitoring"] {
        asks("kubectl", &["kustomize", &format!("deploy/kustomize/{folder}")]);
        let named = documents(&format!("deploy/kustomize/{folder}/kustomization.yaml")).remove(0);
        for resource in named["resources"].as_array().unwrap() {
            let path = root().join("deploy/kustomize").join(folder).join(resource.as_str().unwrap());
            assert!(path.exists(), "{folder}: {resource} is missing");
        }
    }
}

fn deployment(service: &str) -> (Value, Vec<Value>) {
    let mut all = documents(&format!("deploy/kustomize/base/{service}.yaml"));
    (all.remove(0), all)
}

#[test]
fn run_2_each_service_is_probed_bounded_and_without_rights() {
    let grace = documents("deploy/kustomize/base/settings.yaml").remove(0);
    assert_eq!(grace["data"]["PAGURUS__SHUTDOWN__GRACE"], "30s");
    for service in SERVICES {
        let (deployment, others) = deployment(service);
        let pod = &deployment["spec"]["template"]["spec"];
        let container = &pod["containers"][0];
        let arguments = ["pagurus", "--config", "/etc/pagurus/pagurus.yaml", "serve", "--roles", service];
        assert_eq!(container["args"], json!(arguments));
        let mounted = |name: &str| {
            let mounts = container["volumeMounts"].as_array().unwrap();
            mounts.iter().find(|mount| mount["name"] == name).map(|mount| mount["mountPath"].clone())
        };
        assert_eq!(mounted("configuration"), Some(json!("/etc/pagurus")), "{service}");
        assert_eq!(mounted("secrets"), Some(json!("/run/secrets/pagurus")), "{service}");
        for (probe, path) in [("startup", "/healthz"), ("liveness", "/healthz"), ("readiness", "/readyz")] {
            assert_eq!(container[format!("{probe}Probe")]["httpGet"]["path"], path, "{service}: {probe}");
        }
        assert!(
            pod["terminationGracePeriodSeconds"].as_u64().unwrap() > 30,
            "{service}: longer than the grace"
        );
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true, "{service}");
        assert_eq!(pod["automountServiceAccountToken"], false, "{service}");
        let context = &container["securityContext"];
        assert_eq!(context["readOnlyRootFilesystem"], true, "{service}");
        assert_eq!(context["allowPrivilegeEscalation"], false, "{service}");
        assert_eq!(context["capabilities"]["drop"][0], "ALL", "{service}");
        assert!(container["resources"]["limits"]["memory"].is_string(), "{service}: no bound of memory");
        let budget = others.iter().find(|other| other["kind"] == "PodDisruptionBudget").expect(service);
        assert_eq!(budget["spec"]["maxUnavailable"], 1, "{service}");
        assert_eq!(budget["spec"]["selector"], deployment["spec"]["selector"], "{service}");
        let labels = &deployment["spec"]["template"]["metadata"]["labels"];
        assert_eq!(labels["app.kubernetes.io/component"], service);
    }
    // The scaler says how many workers there are; a number here would undo it with each rollout.
    assert!(deployment("worker").0["spec"]["replicas"].is_null());
    assert!(
        deployment("dispatcher").0["spec"]["replicas"].as_u64().unwrap() >= 2,
        "one leads, one stands by"
    );
}

#[test]
fn run_2_manifests_tell_the_services_what_they_understand() {
    let shared = documents("deploy/kustomize/base/settings.yaml").remove(0);
    let readme = read("deploy/README.md");
    for service in SERVICES {
        let (deployment, _) = deployment(service);
        let mut variables: BTreeMap<String, String> = shared["data"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(key, value)| (key.clone(), value.as_str().unwrap().to_owned()))
            .collect();
        for variable in deployment["spec"]["template"]["spec"]["containers"][0]["env"].as_array().unwrap() {
            let name = variable["name"].as_str().unwrap();
            let secret = variable["valueFrom"]["secretKeyRef"]["key"].as_str();
            if let Some(key) = secret {
                assert!(readme.contains(&format!("--from-literal={key}=")), "{key} is not explained");
            }
            let value = match secret {
                Some(key) if key == format!("database-url-{service}") => {
                    "postgres://pagurus@postgres:5432/pagurus"
                }
                Some(_) => "amqp://pagurus@rabbitmq:5672/%2f",
                None => variable["value"].as_str().unwrap_or("pagurus-0"),
            };
            if name.starts_with("PAGURUS__") {
                variables.insert(name.to_owned(), value.replace("$(POD_IP)", "10.0.0.1"));
            }
        }
        let file = root().join("deploy/kustomize/base/pagurus.yaml");
        let settings = config::load(Some(&file), variables.into_iter());
        let settings = settings.unwrap_or_else(|faults| panic!("{service}: {faults:?}"));
        assert_eq!(settings.node.listen.port(), 8080, "{service}");
        assert_eq!(settings.secrets_folder.as_deref(), Some(Path::new("/run/secrets/pagurus")), "{service}");
        if service == "intake" {
            assert!(settings.check_public_access().is_ok());
            let ports = deployment["spec"]["template"]["spec"]["containers"][0]["ports"].as_array().unwrap();
            let port = |name: &str| {
                ports.iter().find(|port| port["name"] == name).unwrap()["containerPort"].as_u64()
            };
            let of = |address: Option<SocketAddr>| address.map(|address| u64::from(address.port()));
            assert_eq!(port("clients"), of(settings.intake.listen_clients));
            assert_eq!(port("systems"), of(settings.intake.listen_systems));
        }
    }
}

// The host that may face the world leads to the listener of called systems, and the other one does not.
#[test]
fn run_2_the_ways_in_for_answers_and_for_people_are_apart() {
    let services = deployment("intake").1;
    let target = |service: &Value| {
        let named =
            services.iter().find(|one| one["kind"] == "Service" && one["metadata"]["name"] == *service);
        named.unwrap_or_else(|| panic!("no service {service}"))["spec"]["ports"][0]["targetPort"].clone()
    };
    let ways = documents("deploy/kustomize/ingress/ingress.yaml");
    let ways = ways.iter().map(|way| {
        let path = &way["spec"]["rules"][0]["http"]["paths"][0];
        (path["path"].clone(), target(&path["backend"]["service"]["name"]))
    });
    assert_eq!(
        ways.collect::<Vec<_>>(),
        [(json!("/v1/callbacks"), json!("systems")), (json!("/"), json!("http"))]
    );
}

#[test]
fn run_2_workers_are_scaled_by_the_age_of_what_is_ready() {
    let scaler = documents("deploy/kustomize/scaling/workers.yaml").remove(0);
    let target = deployment("worker").0["metadata"]["name"].clone();
    assert_eq!(scaler["spec"]["scaleTargetRef"]["name"], target);
    assert!(scaler["spec"]["maxReplicaCount"].as_u64() > scaler["spec"]["minReplicaCount"].as_u64());
    let query = scaler["spec"]["triggers"][0]["metadata"]["query"].as_str().unwrap();
    assert!(query.contains("pagurus_ready_age_seconds"), "{query}");
}

#[test]
fn run_2_packages_and_the_image_hold_the_same_program() {
    let dockerfile = read("Dockerfile");
    assert!(read("tests/dev/src/package.rs").contains("const PROGRAM: &str = \"pagurus\";"));
    let (_, moved) = dockerfile.split_once("install -D --strip").unwrap();
    let moved: Vec<&str> =
        moved.split_whitespace().filter_map(|word| word.strip_prefix("target/release/")).collect();
    assert_eq!(moved, ["pagurus"]);
    let unit = read("deploy/package/pagurus@.service");
    assert!(
        unit.contains("ExecStart=/usr/bin/pagurus serve --roles %i ") && unit.contains("DynamicUser=yes")
    );
}

/// The files that the build of the image reads must get into it: `.dockerignore` names them.
#[test]
fn run_2_the_image_is_built_from_what_gets_into_it() {
    let ignored = read(".dockerignore");
    let let_in: Vec<&str> = ignored.lines().filter_map(|line| line.strip_prefix('!')).collect();
    let mut offenders = Vec::new();
    for source in files(&[".rs"])
        .iter()
        .filter(|source| source.path.starts_with("services/") || source.path.starts_with("shared/"))
    {
        let folder = source.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for part in
            ["include_str!(\"", "include_bytes!(\""].iter().flat_map(|word| source.code().split(word).skip(1))
        {
            let named = part.split('"').next().unwrap_or_default();
            let mut steps: Vec<&str> = folder.split('/').collect();
            for step in named.split('/') {
                match step {
                    ".." => _ = steps.pop(),
                    step => steps.push(step),
                }
            }
            let path = steps.join("/");
            if !let_in.iter().any(|one| path == *one || path.starts_with(&format!("{one}/"))) {
                offenders.push(format!("{}: {path}", source.path));
            }
        }
    }
    none("files that the build of the image would miss", &offenders);
}

#[test]
fn run_2_a_service_of_systemd_has_no_rights_to_lose() {
    let unit = read("deploy/package/pagurus@.service");
    for line in [
        "DynamicUser=yes",
        "NoNewPrivileges=yes",
        "ProtectSystem=strict",
        "ProtectHome=yes",
        "PrivateTmp=yes",
        "PrivateDevices=yes",
        "RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX",
        "CapabilityBoundingSet=",
        "MemoryDenyWriteExecute=yes",
    ] {
        assert!(unit.lines().any(|one| one == line), "`{line}` is missing");
    }
}
