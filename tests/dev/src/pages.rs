//! The pages of the control centre and the documentation: their packages from npm, and both in the folders from which they are
//! served. Never needed by anything but the pages: what starts without them says so, and goes on.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use pagurus_harness::packages;

use pagurus_dev::place::root;

/// Folder of the sources, from the root.
const WEB: &str = "services/centre/web";

/// A folder of files that the engine serves, with what it is made of.
struct Part {
    /// Name for those who read that it cannot be built.
    name: &'static str,
    /// Program that makes it, from the folder of the sources.
    program: &'static str,
    /// File that is there when it was made, from the same folder.
    made: &'static str,
    /// Files and folders that it is made of, from the same folder.
    sources: &'static [&'static str],
}

const CENTRE: Part = Part {
    name: "the control centre",
    program: "build.mjs",
    made: "dist/index.html",
    sources: &["src", "build.mjs", "plugins.mjs", "package-lock.json"],
};

/// Pages link to files of these folders, which are shown, too.
const GUIDE: Part = Part {
    name: "the documentation",
    program: "site/build.mjs",
    made: "site/dist/index.html",
    sources: &[
        "site/src",
        "site/build.mjs",
        "src/style/tokens.css",
        "package-lock.json",
        "../../../clients",
        "../../../docs",
        "../../../deploy",
        "../../../examples",
        "../../../migrations",
        "../../../rabbitmq",
        "../../../scenarios",
        "../../../ARCHITECTURE.md",
        "../../../CHANGELOG.md",
        "../../../CONTRIBUTING.md",
        "../../../README.md",
        "../../../SECURITY.md",
        "../../../compose.yaml",
        "../../../pagurus.yaml",
    ],
};

/// `./dev pages`.
///
/// # Errors
/// Node or a package is missing and cannot be had, or the sources have a fault.
pub async fn command() -> Result<()> {
    make(&root()?, &[CENTRE]).await?;
    eprintln!("==> in {WEB}/dist");
    Ok(())
}

/// `./dev docs`.
///
/// # Errors
/// Node or a package is missing and cannot be had, or a page, a link or an anchor is not there.
pub async fn docs() -> Result<()> {
    let root = root()?;
    install(&root).await?;
    let _turn = with_packages(&root)?;
    eprint!("{}", run(&root, "node", &[GUIDE.program])?);
    eprintln!("==> in {WEB}/site/dist: open index.html, or /docs/guide/ of a running engine");
    Ok(())
}

/// Makes the pages and the documentation where their sources have changed; what is missing for it is installed and fetched.
///
/// # Errors
/// As [`command`] and [`docs`].
pub async fn build(root: &Path) -> Result<()> {
    make(root, &[CENTRE, GUIDE]).await
}

async fn make(root: &Path, parts: &'static [Part]) -> Result<()> {
    install(root).await?;
    let root = root.to_path_buf();
    tokio::task::spawn_blocking(move || build_now(&root, parts)).await?
}

/// Installs what bundles and checks the pages, where it is missing.
///
/// # Errors
/// Node or npm cannot be installed here.
pub async fn install(root: &Path) -> Result<()> {
    packages::missing_for_pages()?.install(&root.join(".dev/log/packages-of-pages.log")).await
}

/// Makes the pages and the documentation, or says why there are none.
pub async fn build_or_say(root: &Path) {
    for parts in [&[CENTRE], &[GUIDE]] {
        if let Err(error) = make(root, parts).await {
            eprintln!("    {} cannot be built, everything else works: {error:#}", parts[0].name);
        }
    }
}

/// Types, lints and text of the pages, and every link of the documentation.
///
/// # Errors
/// A check failed, or could not be made.
pub fn check(root: &Path) -> Result<()> {
    let _turn = with_packages(root)?;
    run(root, "npm", &["run", "--silent", "check"])?;
    run(root, "node", &[GUIDE.program])?;
    Ok(())
}

fn build_now(root: &Path, parts: &[Part]) -> Result<()> {
    let _turn = with_packages(root)?;
    let web = root.join(WEB);
    for part in parts {
        let made = changed_at(&web.join(part.made));
        let newest = part.sources.iter().map(|source| newest(&web.join(source))).max().flatten();
        if made.is_none() || made < newest {
            run(root, "node", &[part.program])?;
        }
    }
    Ok(())
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

/// Runs a program in the folder of the sources, and returns what it printed.
fn run(root: &Path, program: &str, words: &[&str]) -> Result<String> {
    let line = format!("{program} {}", words.join(" "));
    let mut command = std::process::Command::new(program);
    command.args(words).current_dir(root.join(WEB)).stdin(Stdio::null());
    let output = command.output().with_context(|| format!("cannot run `{line}`"))?;
    if !output.status.success() {
        let said = [&output.stdout[..], &output.stderr].concat();
        bail!("`{line}` in {WEB} ended with {}:\n{}", output.status, String::from_utf8_lossy(&said));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Time of the last change of a file, or of anything in a folder.
fn newest(path: &PathBuf) -> Option<SystemTime> {
    let inside = fs::read_dir(path).into_iter().flatten().flatten();
    inside.map(|entry| newest(&entry.path())).chain([changed_at(path)]).max().flatten()
}

fn changed_at(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}
