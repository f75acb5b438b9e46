//! Builds the programs by cargo.
//! Never guesses where they are: the same rule as cargo's own, the folder of the profile under the target folder.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Profile of a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Quick to build: for tests, and to look at the engine.
    Dev,
    /// Quick to run: for whatever is measured.
    Release,
}

/// Targets of a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Targets {
    /// The program of the engine, and the tools.
    Programs,
    /// The programs, and all tests.
    Tests,
}

/// The program of benchmarks and soaks, which is built where it is asked for. The feature names no library: those are the
/// same with it and without.
pub const MEASURE: [&str; 2] = ["--features", "pagurus-dev/measure"];

/// The folder of the built programs.
pub fn programs(root: &Path, profile: Profile) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    target.join(match profile {
        Profile::Dev => "debug",
        Profile::Release => "release",
    })
}

/// Builds, and returns the folder of the programs. Cargo is ended with the future.
///
/// The features of libraries are chosen by what a call of cargo selects. So every call here, and the one in `./dev` that
/// builds this tool, selects the whole workspace: otherwise libraries would be compiled once for each choice.
pub async fn build(root: &Path, profile: Profile, targets: Targets) -> Result<PathBuf> {
    // For trials of the tool itself with other programs in place of the services.
    if let Some(folder) = std::env::var_os("PAGURUS_PROGRAMS") {
        return Ok(folder.into());
    }
    match targets {
        Targets::Programs => build_chosen(root, profile, &["--bins"]).await,
        Targets::Tests => build_chosen(root, profile, &["--all-targets", MEASURE[0], MEASURE[1]]).await,
    }
}

/// Builds the program of benchmarks and soaks, and returns its path. Cargo is ended with the future.
///
/// # Errors
/// It could not be built.
pub async fn measure(root: &Path, profile: Profile) -> Result<PathBuf> {
    let chosen = ["--bin", "measure", MEASURE[0], MEASURE[1]];
    Ok(build_chosen(root, profile, &chosen).await?.join("measure"))
}

async fn build_chosen(root: &Path, profile: Profile, chosen: &[&str]) -> Result<PathBuf> {
    let mut words = [&["build", "--locked", "--workspace"], chosen].concat();
    if profile == Profile::Release {
        words.push("--release");
    }
    let mut command = command(root);
    command.args(&words);
    let mut child = tokio::process::Command::from(command).kill_on_drop(true).spawn()?;
    let status = child.wait().await?;
    if !status.success() {
        bail!("`cargo {}` ended with {status}", words.join(" "));
    }
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

/// Tells what cargo knows of the packages.
pub fn metadata(root: &Path, words: &[&str]) -> Result<Value> {
    let all = ["metadata", "--locked", "--format-version", "1"];
    let output = command(root).args(all).args(words).output().context("cargo metadata")?;
    if !output.status.success() {
        bail!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// A cargo command in the root.
pub fn command(root: &Path) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(root);
    command
}
