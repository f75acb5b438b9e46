//! The list of what the programs are made of, in CycloneDX: every library of a build for Linux and every package of the pages,
//! with version, licence, sum and what it needs.

mod pages;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};

use pagurus_dev::build::metadata;

/// Package of the program that is shipped: tests and the tool bring libraries that are not in it.
const SHIPPED: &str = "pagurus-cli";

/// The list as JSON.
pub fn write(root: &Path) -> Result<Vec<u8>> {
    let metadata = metadata(root, &["--filter-platform", "x86_64-unknown-linux-gnu"])?;
    let lock = std::fs::read_to_string(root.join("Cargo.lock"))?;
    let mut document = document(&metadata, &sums(&lock));
    pages::add(&mut document, root)?;
    let mut list = serde_json::to_vec_pretty(&document)?;
    list.push(b'\n');
    Ok(list)
}

fn document(metadata: &Value, sums: &BTreeMap<(String, String), String>) -> Value {
    let nodes = needs(metadata);
    let packages: BTreeMap<&str, &Value> =
        all(&metadata["packages"]).filter_map(|package| Some((package["id"].as_str()?, package))).collect();
    let name_of = |id: &str| packages.get(id).map(|package| text(package, "name"));
    let mut open: Vec<&str> = nodes.keys().copied().filter(|id| name_of(id) == Some(SHIPPED)).collect();
    let mut built_in: BTreeSet<&str> = BTreeSet::new();
    while let Some(id) = open.pop() {
        if built_in.insert(id) {
            open.extend(nodes.get(id).into_iter().flatten());
        }
    }
    let parts = || built_in.iter().filter_map(|id| packages.get(id).copied());
    let of_each = parts().map(|package| component(package, sums));
    let needed = built_in.iter().filter_map(|id| {
        let on: BTreeSet<String> =
            nodes.get(id)?.iter().filter_map(|need| Some(reference(packages.get(need)?))).collect();
        Some(json!({"ref": reference(packages.get(id)?), "dependsOn": on}))
    });
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {
            "type": "application", "name": "pagurus", "version": env!("CARGO_PKG_VERSION"), "bom-ref": "pagurus",
        }},
        "components": of_each.collect::<Vec<_>>(),
        "dependencies": needed.collect::<Vec<_>>(),
    })
}

/// Packages that each package needs to run, without those that only build or test it.
fn needs(metadata: &Value) -> BTreeMap<&str, Vec<&str>> {
    let runs = |dependency: &&Value| all(&dependency["dep_kinds"]).any(|kind| kind["kind"].is_null());
    let nodes = all(&metadata["resolve"]["nodes"]).filter_map(|node| {
        let on = all(&node["deps"]).filter(runs).filter_map(|dependency| dependency["pkg"].as_str());
        Some((node["id"].as_str()?, on.collect()))
    });
    nodes.collect()
}

fn component(package: &Value, sums: &BTreeMap<(String, String), String>) -> Value {
    let (name, version) = (text(package, "name"), text(package, "version"));
    let mut component = json!({
        "type": "library", "name": name, "version": version,
        "bom-ref": reference(package),
        "purl": format!("pkg:cargo/{name}@{version}"),
        // Older manifests write `/` for `OR`.
        "licenses": [{"expression": text(package, "license").replace('/', " OR ")}],
    });
    if let Some(sum) = sums.get(&(name.to_owned(), version.to_owned())) {
        component["hashes"] = json!([{"alg": "SHA-256", "content": sum}]);
    }
    component
}

fn reference(package: &Value) -> String {
    format!("{}@{}", text(package, "name"), text(package, "version"))
}

/// Sums of the registry, by name and version.
fn sums(lock: &str) -> BTreeMap<(String, String), String> {
    let value = |part: &str, key: &str| {
        let line = part.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""));
        line.map(|rest| rest.trim_end_matches('"').to_owned())
    };
    let parts = lock.split("[[package]]").skip(1);
    parts
        .filter_map(|part| Some(((value(part, "name")?, value(part, "version")?), value(part, "checksum")?)))
        .collect()
}

fn all(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn text<'v>(package: &'v Value, key: &str) -> &'v str {
    package[key].as_str().unwrap_or_default()
}
