//! `./dev check`: what must hold before a change is shown to anybody; needs no servers.
//! Never stops at the first fault: all checks run, and the end says which failed and which could not be made.

use std::path::Path;
use std::time::Instant;

use anyhow::{Result, bail};

use pagurus_dev::build::{MEASURE, cargo, command as cargo_command};
use pagurus_dev::place::root;

use crate::pages;

/// The advisories of libraries are known only to the network and to this program.
const WITHOUT_DENY: &str =
    "advisories of libraries: cargo-deny is not installed (`cargo install --locked cargo-deny`)";

/// `./dev check`.
pub async fn command() -> Result<()> {
    let root = root()?;
    let installed = pages::install(&root).await;
    let mut failed = Vec::new();
    let mut check = |name: &'static str, work: &dyn Fn(&Path) -> Result<()>| {
        eprintln!("==> {name}");
        let started = Instant::now();
        match work(&root) {
            Ok(()) => eprintln!("    {} s", started.elapsed().as_secs()),
            Err(error) => {
                eprintln!("{name}: {error:#}");
                failed.push(name);
            }
        }
    };
    check("format", &format);
    check("lints", &lints);
    check("documentation", &documentation);
    // Licences, origins and features of libraries, and what the core may reach, are architecture rules too.
    check("architecture rules", &|root| {
        cargo(root, &["test", "--workspace", "--test", "architecture", "--locked"])
    });
    check("pages of the control centre, and the documentation", &|root| match &installed {
        Ok(()) => pages::check(root),
        Err(error) => bail!("{error:#}"),
    });
    let deny = has_deny(&root);
    if deny {
        check("advisories, licences and origins", &|root| cargo(root, &["deny", "check"]));
    }
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    if !deny {
        eprintln!("==> not checked: {WITHOUT_DENY}");
    }
    eprintln!("==> all is well");
    Ok(())
}

/// Compares the format of all sources with the rules.
pub fn format(root: &Path) -> Result<()> {
    cargo(root, &["fmt", "--all", "--check"])
}

/// Looks for what the compiler and its lints warn of.
pub fn lints(root: &Path) -> Result<()> {
    let words = ["clippy", "--workspace", "--all-targets", "--locked"];
    cargo(root, &[&words, &MEASURE[..], &["--", "-D", "warnings"]].concat())
}

fn documentation(root: &Path) -> Result<()> {
    let mut command = cargo_command(root);
    command.args(["doc", "--workspace", "--no-deps", "--document-private-items", "--locked"]).args(MEASURE);
    let status = command.env("RUSTDOCFLAGS", "-D warnings").status()?;
    if !status.success() {
        bail!("`cargo doc` ended with {status}");
    }
    Ok(())
}

fn has_deny(root: &Path) -> bool {
    let probe = cargo_command(root).args(["deny", "--version"]).output();
    probe.is_ok_and(|output| output.status.success())
}
