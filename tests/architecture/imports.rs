//! Imports that are allowed, against what Cargo says. Never builds anything.

use std::process::Command;

use serde_json::{Value, json};

use crate::tree::{CORE, SERVICES, none, read, root, rust};

const BELOW_SERVICES: [&str; 9] =
    ["domain", "scenario", "wire", "store", "broker", "runtime", "http", "command", "view"];

/// All that the pure core may use. Values, readers and arithmetic; nothing that reaches out.
const OF_CORE: [&str; 17] = [
    "base64",
    "encoding_rs",
    "hmac",
    "jiff",
    "jsonschema",
    "percent-encoding",
    "proptest",
    "quick-xml",
    "rhai",
    "schemars",
    "serde",
    "serde-saphyr",
    "serde_json",
    "sha2",
    "thiserror",
    "url",
    "uuid",
];

/// Libraries that reach files, the network, threads or the clock, or log; the core has none even at second hand.
const REACHING_OUT: [&str; 16] = [
    "async-io",
    "chrono",
    "hyper",
    "iana-time-zone",
    "log",
    "mio",
    "num_cpus",
    "rayon",
    "reqwest",
    "rustix",
    "socket2",
    "tempfile",
    "tokio",
    "tracing",
    "ureq",
    "walkdir",
];

/// Features with which a library of the core would reach out, and those without which it would.
const CORE_FEATURES: [(&str, &[&str], &[&str]); 3] = [
    (
        "jiff",
        &["tz-system", "tzdb-zoneinfo", "tzdb-concatenated", "tzdb-bundle-platform"],
        &["tzdb-bundle-always"],
    ),
    ("jsonschema", &["resolve-http", "resolve-file", "resolve-async"], &[]),
    ("rhai", &["metadata", "debugging"], &["no_time", "no_module"]),
];

/// Libraries that only some crates may use.
const RESERVED: [(&str, &[&str]); 18] = [
    ("rust-embed", &["centre"]),
    ("tokio-postgres", &["store", "harness", "dev", "tests"]),
    ("deadpool-postgres", &["store"]),
    ("refinery", &["store"]),
    ("lapin", &["broker", "client", "sender", "harness", "dev", "tests"]),
    ("axum", &["runtime", "intake", "client", "harness", "tests"]),
    ("reqwest", &["access", "cli", "client", "runtime", "harness", "dev", "tests"]),
    ("oauth2", &["access"]),
    ("openidconnect", &["access"]),
    ("opentelemetry", &["runtime"]),
    ("opentelemetry_sdk", &["runtime"]),
    ("opentelemetry-otlp", &["runtime"]),
    ("opentelemetry-http", &["runtime"]),
    ("rustls-platform-verifier", &["tls"]),
    ("ldap3", &["access"]),
    ("tokio-rustls", &["access", "http", "runtime", "harness"]),
    ("backoff", &["broker"]),
    ("prometheus-client", &["runtime"]),
];

/// The crates of ours that a crate may import; nobody imports `tests`, which may import all.
fn allowed(krate: &str) -> Vec<&'static str> {
    match krate {
        "domain" | "tls" | "centre" => vec![],
        // For programs outside: they know the engine only by its messages.
        "client" | "sender" => vec![],
        // They know the engine only as any outsider does, so that a change of a service rebuilds neither.
        "harness" => vec![],
        "dev" => vec!["harness"],
        "scenario" | "dispatch" | "wire" => vec!["domain"],
        "workbench" | "simulation" => vec!["domain", "scenario", "dispatch"],
        "broker" => vec!["domain", "wire", "tls"],
        "store" => vec!["domain", "scenario", "wire", "tls"],
        "runtime" => vec!["domain", "scenario", "wire", "store", "broker", "tls"],
        "http" => vec!["domain", "scenario", "runtime", "tls"],
        "command" | "view" => vec!["domain", "scenario", "wire", "store", "runtime"],
        "access" => vec!["domain", "wire", "store", "runtime", "tls"],
        // The policy has one user, and the workbench only those who show it to people.
        "dispatcher" => BELOW_SERVICES.into_iter().chain(["dispatch"]).collect(),
        "intake" => BELOW_SERVICES.into_iter().chain(["workbench", "access", "centre"]).collect(),
        "cli" | "tests" => {
            let others = ["dispatch", "workbench", "access", "tls", "client", "simulation", "harness"];
            BELOW_SERVICES.into_iter().chain(SERVICES).chain(others).collect()
        }
        service if SERVICES.contains(&service) => BELOW_SERVICES.to_vec(),
        other => panic!("a package that the rules do not know: {other}"),
    }
}

fn cargo(arguments: &[&str]) -> String {
    let program = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(program).args(arguments).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "cargo {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn metadata() -> Value {
    serde_json::from_str(&cargo(&["metadata", "--no-deps", "--format-version", "1", "--locked"])).unwrap()
}

/// Each crate with the names of all that it depends on, for whatever purpose.
fn crates() -> Vec<(String, Vec<String>)> {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    let name = |value: &Value| value["name"].as_str().unwrap().to_owned();
    let krate = |package: &Value| {
        name(package).strip_prefix("pagurus-").expect("every package is pagurus-…").to_owned()
    };
    packages
        .iter()
        .map(|package| {
            (krate(package), package["dependencies"].as_array().unwrap().iter().map(name).collect())
        })
        .collect()
}

#[test]
fn architecture_packages_are_named_after_their_folders() {
    let metadata = metadata();
    for package in metadata["packages"].as_array().unwrap() {
        let (name, manifest) =
            (package["name"].as_str().unwrap(), package["manifest_path"].as_str().unwrap());
        if manifest.ends_with("/rust/Cargo.toml") {
            continue; // It stands beside the same thing in another language.
        }
        let folder = manifest.trim_end_matches("/Cargo.toml").rsplit('/').next().unwrap();
        assert_eq!(name, format!("pagurus-{folder}"));
    }
}

#[test]
fn architecture_crates_import_only_what_they_may() {
    let crates = crates();
    assert_eq!(crates.len(), 26);
    let mut offenders = Vec::new();
    for (krate, dependencies) in &crates {
        let ours = dependencies.iter().filter_map(|name| name.strip_prefix("pagurus-"));
        let allowed = allowed(krate);
        offenders
            .extend(ours.filter(|one| !allowed.contains(one)).map(|one| format!("{krate} imports {one}")));
        for (library, users) in RESERVED {
            if dependencies.iter().any(|name| name == library) && !users.contains(&krate.as_str()) {
                offenders.push(format!("{krate} uses {library}, which is for {users:?}"));
            }
        }
        if CORE.contains(&krate.as_str()) {
            let others = dependencies.iter().filter(|name| !name.starts_with("pagurus-"));
            let foreign = others.filter(|name| !OF_CORE.contains(&name.as_str()));
            offenders
                .extend(foreign.map(|name| format!("{krate} uses {name}, which nobody checked for purity")));
        }
    }
    none("imports against the table", &offenders);
}

/// Proof that a build for a machine without system calls would give; no such target is to be had everywhere.
#[test]
fn architecture_the_core_is_made_of_what_cannot_reach_out() {
    let tree = cargo(&[
        "tree",
        "--package",
        "pagurus-workbench", // It needs the others.
        "--locked",
        "--edges",
        "normal",
        "--prefix",
        "none",
        "--format",
        "{p}|{f}",
    ]);
    let crates: Vec<(&str, Vec<&str>)> = tree
        .lines()
        .filter_map(|line| line.split_once('|'))
        .map(|(package, features)| {
            let name = package.split(' ').next().unwrap();
            (name, features.trim_end_matches(" (*)").split(',').collect())
        })
        .collect();
    let mut offenders: Vec<String> = Vec::new();
    for (name, features) in &crates {
        if REACHING_OUT.contains(name) {
            offenders.push((*name).to_owned());
        }
        let rule = CORE_FEATURES.iter().find(|(library, ..)| library == name);
        let Some((_, without, with)) = rule else { continue };
        offenders.extend(
            without.iter().filter(|one| features.contains(one)).map(|one| format!("{name} with {one}")),
        );
        offenders.extend(
            with.iter().filter(|one| !features.contains(one)).map(|one| format!("{name} without {one}")),
        );
    }
    for (library, ..) in CORE_FEATURES {
        assert!(crates.iter().any(|(name, _)| *name == library), "{library} has gone: so should its rule");
    }
    offenders.dedup();
    none("libraries of the core that reach out", &offenders);
}

/// The command line goes by the API: it starts services, and migrates.
#[test]
fn architecture_the_command_line_reaches_the_services_in_one_place() {
    let mut offenders = Vec::new();
    for source in rust().iter().filter(|source| source.path.starts_with("services/cli/")) {
        let file = source.path.trim_start_matches("services/cli/src/");
        let starts = SERVICES.iter().any(|service| source.text.contains(&format!("pagurus_{service}")));
        if starts && !file.starts_with("serve") {
            offenders.push(format!("{}: names a service", source.path));
        }
        if source.text.contains("pagurus_store")
            && !["migrate", "recover"].iter().any(|own| file.starts_with(own))
        {
            offenders.push(format!("{}: goes to the database", source.path));
        }
    }
    none("only serve.rs starts services, only migrate.rs and recover.rs open the store", &offenders);
}

/// The crate is not maintained any more: it stays behind one file, so that another can take its place.
#[test]
fn architecture_backoff_stays_in_one_file() {
    let users: Vec<String> = rust()
        .iter()
        .filter(|source| source.text.contains("use backoff::") || source.text.contains(" backoff::"))
        .map(|source| source.path.clone())
        .filter(|path| !path.starts_with("tests/architecture/"))
        .collect();
    assert_eq!(users, ["shared/broker/src/reconnect.rs"]);
}

/// Features unify: one crate that asks for these changes how every number, or every map, is read.
#[test]
fn architecture_json_keeps_its_numbers_and_its_order() {
    let tree = cargo(&["tree", "--workspace", "--locked", "--edges", "features", "--invert", "serde_json"]);
    for feature in ["arbitrary_precision", "preserve_order"] {
        assert!(
            !tree.contains(feature),
            "`{feature}` is on: `cargo tree -e features -i serde_json` shows by whom"
        );
    }
}

/// Features of libraries are chosen by what a call of cargo selects. A library that a call wants with one feature more is
/// built again, and so are all that stand on it: minutes of a first start. So each call selects the whole workspace.
#[test]
fn qlt_13_every_call_of_cargo_selects_the_whole_workspace() {
    let callers = ["dev", "tests/dev/src/build.rs", "tests/dev/src/check.rs", "tests/dev/src/test.rs"];
    let narrow = |path: &&str| read(path).contains("--package") || !read(path).contains("--workspace");
    let offenders: Vec<String> =
        callers.iter().filter(|path| narrow(path)).map(|path| (*path).to_owned()).collect();
    none("calls of cargo for a part of the workspace", &offenders);
}

/// Code that is built on demand chooses no other libraries than the rest: they would be compiled twice.
#[test]
fn qlt_13_no_feature_of_ours_chooses_a_library() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    let features = packages.iter().flat_map(|package| package["features"].as_object().unwrap());
    let offenders: Vec<String> = features
        .filter(|(_, chosen)| **chosen != json!([]))
        .map(|(name, chosen)| format!("{name}: {chosen}"))
        .collect();
    none("features that choose more than code of their own", &offenders);
}
