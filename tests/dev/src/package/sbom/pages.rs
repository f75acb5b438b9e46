//! Packages of the pages of the control centre, which the program carries: those of their lock file that are not for building alone.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::text;

/// Lock file of the pages, from the root.
const LOCK: &str = "services/centre/web/package-lock.json";
/// Crate that carries the pages.
const CARRIER: &str = "pagurus-centre";

/// Adds the packages to a list, as what the crate of the pages needs.
pub(super) fn add(document: &mut Value, root: &Path) -> Result<()> {
    let lock: Value = serde_json::from_str(&fs::read_to_string(root.join(LOCK))?).context(LOCK)?;
    let packages = lock["packages"].as_object().context("a lock file lists packages")?;
    let carried = packages.iter().filter(|(path, package)| !path.is_empty() && package["dev"] != true);
    let parts: Vec<Value> = carried.map(|(path, package)| component(path, package)).collect::<Result<_>>()?;
    let references: Vec<Value> = parts.iter().map(|part| part["bom-ref"].clone()).collect();
    let needs = document["dependencies"].as_array_mut().into_iter().flatten();
    for need in needs.filter(|need| text(need, "ref").starts_with(&format!("{CARRIER}@"))) {
        need["dependsOn"].as_array_mut().context("needs are a list")?.extend(references.clone());
    }
    let needed = references.into_iter().map(|reference| json!({"ref": reference, "dependsOn": []}));
    document["dependencies"].as_array_mut().context("needs are a list")?.extend(needed);
    document["components"].as_array_mut().context("components are a list")?.extend(parts);
    Ok(())
}

fn component(path: &str, package: &Value) -> Result<Value> {
    // A package that another has for itself alone stands below it.
    let name = path.rsplit("node_modules/").next().unwrap_or(path);
    let version = text(package, "version");
    let sum =
        text(package, "integrity").strip_prefix("sha512-").with_context(|| format!("{name} has no sum"))?;
    let sum = STANDARD.decode(sum).with_context(|| format!("the sum of {name}"))?;
    let digits = sum.iter().fold(String::new(), |mut digits, byte| {
        // Writing into a String cannot fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    });
    Ok(json!({
        "type": "library", "name": name, "version": version,
        "bom-ref": format!("npm:{name}@{version}"),
        "purl": format!("pkg:npm/{}@{version}", name.replace('@', "%40")),
        "licenses": [{"expression": text(package, "license")}],
        "hashes": [{"alg": "SHA-512", "content": digits}],
    }))
}
