//! `./dev check`: what must hold before a change is shown to anybody; needs no servers.
//! Never stops at the first fault: all checks run, and the end says which failed.

use std::path::Path;

use anyhow::{Result, bail};

use crate::build::{cargo, command as cargo_command};
use crate::place::root;

/// Features that change how every number or every map of the program is read, because features unify.
const FORBIDDEN_JSON_FEATURES: [&str; 2] = ["arbitrary_precision", "preserve_order"];

/// `./dev check`.
pub fn command() -> Result<()> {
    let root = root()?;
    let mut failed = Vec::new();
    let mut check = |name: &'static str, outcome: Result<()>| {
        if let Err(error) = outcome {
            eprintln!("{name}: {error:#}");
            failed.push(name);
        }
    };
    eprintln!("==> format");
    check("format", cargo(&root, &["fmt", "--all", "--check"]));
    eprintln!("==> lints");
    let lints = ["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"];
    check("lints", cargo(&root, &lints));
    eprintln!("==> documentation");
    check("documentation", documentation(&root));
    eprintln!("==> house rules");
    check("house rules", house(&root));
    eprintln!("==> dependencies");
    check("features of serde_json", json_features(&root));
    check("licences and advisories", deny(&root));
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    eprintln!("==> all is well");
    Ok(())
}

fn documentation(root: &Path) -> Result<()> {
    let mut command = cargo_command(root);
    command.args(["doc", "--workspace", "--no-deps", "--document-private-items", "--locked"]);
    let status = command.env("RUSTDOCFLAGS", "-D warnings").status()?;
    if !status.success() {
        bail!("`cargo doc` ended with {status}");
    }
    Ok(())
}

fn house(root: &Path) -> Result<()> {
    if !root.join("tests/house/main.rs").exists() {
        eprintln!("    there are none yet (tests/house/main.rs)");
        return Ok(());
    }
    cargo(root, &["test", "--package", "pagurus-tests", "--test", "house", "--locked"])
}

fn json_features(root: &Path) -> Result<()> {
    let mut command = cargo_command(root);
    let output =
        command.args(["tree", "--workspace", "--locked", "-e", "features", "-i", "serde_json"]).output()?;
    if !output.status.success() {
        bail!("`cargo tree` failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    let tree = String::from_utf8_lossy(&output.stdout);
    for feature in FORBIDDEN_JSON_FEATURES {
        if tree.contains(feature) {
            bail!("`{feature}` is on: `cargo tree -e features -i serde_json` shows who asks for it");
        }
    }
    Ok(())
}

fn deny(root: &Path) -> Result<()> {
    let probe = cargo_command(root).args(["deny", "--version"]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        eprintln!("    cargo-deny is not installed: licences and advisories are not checked");
        return Ok(());
    }
    cargo(root, &["deny", "check"])
}
