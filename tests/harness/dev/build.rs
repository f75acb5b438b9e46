//! Builds the programs by cargo.
//! Never guesses where they are: the same rule as cargo's own, the folder of the profile under the target folder.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The packages whose programs make an installation.
const PACKAGES: [&str; 6] = [
    "pagurus-intake",
    "pagurus-dispatcher",
    "pagurus-activator",
    "pagurus-worker",
    "pagurus-notifier",
    "pagurus-cli",
];

/// How to build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Quick to build: for tests.
    Dev,
    /// Quick to run: for people and benchmarks.
    Release,
}

/// The folder of the built programs.
pub fn programs(root: &Path, profile: Profile) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    target.join(match profile {
        Profile::Dev => "debug",
        Profile::Release => "release",
    })
}

/// Builds the five services and the command line; returns the folder of the programs.
pub fn build(root: &Path, profile: Profile) -> Result<PathBuf> {
    // For trials of the tool itself with other programs in place of the services.
    if let Some(folder) = std::env::var_os("PAGURUS_PROGRAMS") {
        return Ok(folder.into());
    }
    let mut words = vec!["build", "--locked"];
    if profile == Profile::Release {
        words.push("--release");
    }
    for package in PACKAGES {
        words.extend(["--package", package]);
    }
    cargo(root, &words)?;
    Ok(programs(root, profile))
}

/// Runs cargo in the root, its output shown.
pub fn cargo(root: &Path, words: &[&str]) -> Result<()> {
    let line = format!("cargo {}", words.join(" "));
    let status = command(root).args(words).status().with_context(|| format!("cannot run `{line}`"))?;
    if !status.success() {
        bail!("`{line}` ended with {status}");
    }
    Ok(())
}

/// A cargo command in the root.
pub fn command(root: &Path) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(root);
    command
}
