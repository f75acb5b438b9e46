//! The pages of the control centre: their packages from npm, and their bundle in the folder from which they are served.
//! Never needed by anything but the pages: what starts without them says so, and goes on.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use pagurus_harness::packages;

use pagurus_dev::place::root;

/// Folder of the sources, from the root.
const WEB: &str = "services/centre/web";
/// Files and folders that the bundle is made of, from the folder of the sources.
const SOURCES: [&str; 4] = ["src", "build.mjs", "plugins.mjs", "package-lock.json"];

/// `./dev pages`.
///
/// # Errors
/// Node or a package is missing and cannot be had, or the sources have a fault.
pub async fn command() -> Result<()> {
    build(&root()?).await?;
    eprintln!("==> in {WEB}/dist");
    Ok(())
}

/// Bundles the pages where their sources have changed; what is missing for it is installed and fetched.
///
/// # Errors
/// As [`command`].
pub async fn build(root: &Path) -> Result<()> {
    install(root).await?;
    let root = root.to_path_buf();
    tokio::task::spawn_blocking(move || build_now(&root)).await?
}

/// Installs what bundles and checks the pages, where it is missing.
///
/// # Errors
/// Node or npm cannot be installed here.
pub async fn install(root: &Path) -> Result<()> {
    packages::missing_for_pages()?.install(&root.join(".dev/log/packages-of-pages.log")).await
}

/// Bundles the pages, or says why there are none.
pub async fn build_or_say(root: &Path) {
    if let Err(error) = build(root).await {
        eprintln!("    the control centre cannot be built, everything else works: {error:#}");
    }
}

/// Types, lints and text of the pages.
///
/// # Errors
/// A check failed, or could not be made.
pub fn check(root: &Path) -> Result<()> {
    let _turn = with_packages(root)?;
    run(root, "npm", &["run", "--silent", "check"])
}

fn build_now(root: &Path) -> Result<()> {
    let _turn = with_packages(root)?;
    let web = root.join(WEB);
    let bundled = changed_at(&web.join("dist/index.html"));
    let newest = SOURCES.iter().map(|source| newest(&web.join(source))).max().flatten();
    if bundled.is_some() && bundled >= newest {
        return Ok(());
    }
    run(root, "node", &["build.mjs"])
}

/// Fetches what the lock file names where it has changed. Only one command does so at a time, until the answer is dropped.
fn with_packages(root: &Path) -> Result<File> {
    let web = root.join(WEB);
    fs::create_dir_all(root.join(".dev"))?;
    let turn = File::create(root.join(".dev/pages.lock"))?;
    turn.lock()?;
    let (fetched, wanted) = (web.join("node_modules/.fetched"), fs::read(web.join("package-lock.json"))?);
    if fs::read(&fetched).ok().as_ref() != Some(&wanted) {
        // The bundler needs its script no more: what it would check, the lock file has by its checksum.
        let quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--fetch-retries=1"];
        run(root, "npm", &[&["ci"], &quiet[..]].concat())?;
        fs::write(fetched, wanted)?;
    }
    Ok(turn)
}

fn run(root: &Path, program: &str, words: &[&str]) -> Result<()> {
    let line = format!("{program} {}", words.join(" "));
    let mut command = std::process::Command::new(program);
    command.args(words).current_dir(root.join(WEB)).stdin(Stdio::null());
    let output = command.output().with_context(|| format!("cannot run `{line}`"))?;
    if !output.status.success() {
        let said = [&output.stdout[..], &output.stderr].concat();
        bail!("`{line}` in {WEB} ended with {}:\n{}", output.status, String::from_utf8_lossy(&said));
    }
    Ok(())
}

/// Time of the last change of a file, or of anything in a folder.
fn newest(path: &PathBuf) -> Option<SystemTime> {
    let inside = fs::read_dir(path).into_iter().flatten().flatten();
    inside.map(|entry| newest(&entry.path())).chain([changed_at(path)]).max().flatten()
}

fn changed_at(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}
