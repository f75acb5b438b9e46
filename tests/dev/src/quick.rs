//! `./dev quick`: what the files that were changed may have broken, as far as no server is needed to see it.
//! Selects the whole workspace like every other build; cargo leaves out what the change does not reach.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::Value;

use crate::check;
use pagurus_dev::build::{MEASURE, cargo, metadata};
use pagurus_dev::place::root;

/// Arguments of a quick check.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// Take what was changed since this commit, and not only what is not committed
    #[arg(long, value_name = "REVISION", default_value = "HEAD")]
    since: String,
}

/// `./dev quick`.
pub fn command(options: &Options) -> Result<()> {
    let root = root()?;
    let packages = packages(&root)?;
    let changed = changed(&root, &options.since)?;
    let reached = reached(&packages, &changed);
    let names: Vec<&str> = reached.iter().map(|name| name.trim_start_matches("pagurus-")).collect();
    eprintln!("==> {} changed files reach: {}", changed.len(), names.join(", "));
    timed("format", || check::format(&root))?;
    timed("lints", || check::lints(&root))?;
    timed("unit tests and architecture rules", || {
        let words = ["nextest", "run", "--workspace", "--locked", "--profile", "quick"];
        let kinds = ["--lib", "--bins", "--test", "architecture", "-E"];
        let tests = filter(&reached);
        cargo(&root, &[&words, &MEASURE[..], &kinds, &[tests.as_str()]].concat())
    })?;
    eprintln!("==> all is well; before it is merged: ./dev check and ./dev test");
    Ok(())
}

fn timed(name: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
    eprintln!("==> {name}");
    let started = Instant::now();
    work()?;
    eprintln!("    {} s", started.elapsed().as_secs());
    Ok(())
}

/// A package of the workspace.
struct Package {
    name: String,
    /// Folder of the package, from the root.
    folder: PathBuf,
    /// Names of the packages of the workspace that it needs, for whatever purpose.
    needs: Vec<String>,
}

fn packages(root: &Path) -> Result<Vec<Package>> {
    let metadata = metadata(root, &["--no-deps"])?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let packages = all(&metadata["packages"]).into_iter().map(|package| {
        let manifest = PathBuf::from(text(&package["manifest_path"]));
        let folder = manifest.parent().unwrap_or(root);
        Package {
            name: text(&package["name"]),
            folder: folder.strip_prefix(root).unwrap_or(folder).to_owned(),
            needs: all(&package["dependencies"]).iter().map(|needed| text(&needed["name"])).collect(),
        }
    });
    Ok(packages.collect())
}

/// Paths of the files that differ from a commit, and of those that it does not know, from the root.
fn changed(root: &Path, since: &str) -> Result<BTreeSet<PathBuf>> {
    let mut changed = BTreeSet::new();
    for words in [&["diff", "--name-only", since][..], &["ls-files", "--others", "--exclude-standard"]] {
        let output = Command::new("git").current_dir(root).args(words).output().context("git")?;
        if !output.status.success() {
            bail!("git {}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr).trim());
        }
        changed.extend(String::from_utf8_lossy(&output.stdout).lines().map(PathBuf::from));
    }
    Ok(changed)
}

/// Names of the packages with changed files, and of all that need them. A change outside of all packages, such as one of
/// the workspace, reaches each.
fn reached(packages: &[Package], changed: &BTreeSet<PathBuf>) -> BTreeSet<String> {
    let owner = |path: &PathBuf| {
        let owners = packages.iter().filter(|package| path.starts_with(&package.folder));
        owners.max_by_key(|package| package.folder.components().count())
    };
    let is_workspace = |path: &PathBuf| path.starts_with("Cargo.toml") || path.starts_with("Cargo.lock");
    if changed.iter().any(is_workspace) {
        return packages.iter().map(|package| package.name.clone()).collect();
    }
    let mut reached: BTreeSet<String> =
        changed.iter().filter_map(owner).map(|package| package.name.clone()).collect();
    loop {
        let before = reached.len();
        let more = packages.iter().filter(|package| package.needs.iter().any(|need| reached.contains(need)));
        let more: Vec<String> = more.map(|package| package.name.clone()).collect();
        reached.extend(more);
        if reached.len() == before {
            return reached;
        }
    }
}

/// The filter of the test runner: unit tests of these packages, and the architecture rules always.
fn filter(reached: &BTreeSet<String>) -> String {
    let of_packages = reached.iter().map(|name| format!("(package(={name}) & (kind(lib) + kind(bin)))"));
    of_packages.chain(["binary(architecture)".to_owned()]).collect::<Vec<_>>().join(" + ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, folder: &str, needs: &[&str]) -> Package {
        let needs = needs.iter().map(|need| (*need).to_owned()).collect();
        Package { name: name.to_owned(), folder: folder.into(), needs }
    }

    #[test]
    fn a_change_reaches_its_package_and_those_that_need_it() {
        let packages = [
            package("domain", "shared/domain", &["serde"]),
            package("store", "shared/store", &["domain"]),
            package("worker", "services/worker", &["store"]),
            package("tests", "tests", &["worker"]),
            package("simulation", "tests/simulation", &["domain"]),
        ];
        let reach = |paths: &[&str]| {
            let changed = paths.iter().map(PathBuf::from).collect();
            reached(&packages, &changed).into_iter().collect::<Vec<_>>()
        };
        assert_eq!(reach(&["shared/store/src/lib.rs"]), ["store", "tests", "worker"]);
        assert_eq!(reach(&["tests/simulation/src/lib.rs"]), ["simulation"]);
        assert_eq!(reach(&["shared/domain/src/id.rs"]).len(), packages.len());
        assert_eq!(reach(&["Cargo.lock"]).len(), packages.len());
        assert!(reach(&["README.md"]).is_empty());
    }
}
