//! `./dev package`: a tarball, a Debian package, the content of the image, and the list of what is built in.
//! Never signs or uploads anything.

mod sbom;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;

use pagurus_dev::build::{self, Profile, Targets};
use pagurus_dev::place::root;

use crate::pages;

/// The program that is shipped; the image has the same.
const PROGRAM: &str = "pagurus";
/// Documents that go along.
const DOCUMENTS: [&str; 5] = ["README.md", "LICENSE", "CHANGELOG.md", "SECURITY.md", "docs/operations.md"];
const VERSION: &str = env!("CARGO_PKG_VERSION");

#[derive(Debug, Args)]
pub struct Options {
    /// Take these programs in place of building them
    #[arg(long, value_name = "FOLDER")]
    programs: Option<PathBuf>,
    /// Folder for the results
    #[arg(long, value_name = "FOLDER", default_value = "target/package")]
    into: PathBuf,
}

/// `./dev package`.
pub async fn command(options: Options) -> Result<()> {
    let root = root()?;
    let programs = match options.programs {
        Some(folder) => folder,
        None => {
            pages::build(&root).await?;
            build::build(&root, Profile::Release, Targets::Programs).await?
        }
    };
    let into = if options.into.is_absolute() { options.into } else { root.join(options.into) };
    if into.exists() {
        fs::remove_dir_all(&into).with_context(|| into.display().to_string())?;
    }
    let list = sbom::write(&root)?;
    write(&into.join("pagurus.cdx.json"), &list)?;
    image(&root, &programs, &into.join("image"))?;
    let installed = into.join("installed");
    install(&root, &programs, &installed)?;
    write(&installed.join("usr/share/doc/pagurus/pagurus.cdx.json"), &list)?;
    tarball(&installed, &into)?;
    debian(&root, &installed, &into)?;
    sums(&into)?;
    eprintln!("==> in {}", into.display());
    Ok(())
}

/// The files of the last stage of the Dockerfile, at their places.
fn image(root: &Path, programs: &Path, into: &Path) -> Result<()> {
    strip(&programs.join(PROGRAM), &into.join("usr/local/bin").join(PROGRAM))?;
    copy(&root.join("pagurus.yaml"), &into.join("etc/pagurus/pagurus.yaml"), 0o644)
}

fn install(root: &Path, programs: &Path, into: &Path) -> Result<()> {
    strip(&programs.join(PROGRAM), &into.join("usr/bin").join(PROGRAM))?;
    copy(&root.join("pagurus.yaml"), &into.join("etc/pagurus/pagurus.yaml"), 0o644)?;
    for unit in ["pagurus@.service", "pagurus.target"] {
        copy(&root.join("deploy/package").join(unit), &into.join("lib/systemd/system").join(unit), 0o644)?;
    }
    let shared = into.join("usr/share");
    for document in DOCUMENTS {
        let name = document.rsplit('/').next().unwrap_or(document);
        copy(&root.join(document), &shared.join("doc/pagurus").join(name), 0o644)?;
    }
    for (folder, ending) in
        [("deploy/prometheus", "yml"), ("deploy/grafana/dashboards", "json"), ("rabbitmq", "json")]
    {
        copy_all(
            &root.join(folder),
            ending,
            &shared.join("pagurus").join(folder.trim_start_matches("deploy/")),
        )?;
    }
    let completion = run(Command::new(into.join("usr/bin/pagurus")).args(["completions", "bash"]))?;
    write(&shared.join("bash-completion/completions/pagurus"), &completion)?;
    let manual = shared.join("man");
    run(Command::new(into.join("usr/bin/pagurus")).arg("manual").arg(&manual))?;
    // Without name and time, so that the same pages are the same bytes.
    run(Command::new("gzip").args(["-9", "-n", "-r"]).arg(&manual))?;
    for schema in ["scenario", "tests", "configuration"] {
        let text = run(Command::new(into.join("usr/bin/pagurus")).args(["schema", schema]))?;
        write(&shared.join("pagurus/schemas").join(format!("{schema}.json")), &text)?;
    }
    Ok(())
}

/// The same bytes for the same programs: names in order, no owner, one time.
fn tarball(installed: &Path, into: &Path) -> Result<()> {
    let (name, architecture) = (format!("pagurus-{VERSION}"), architecture()?);
    let file = into.join(format!("{name}-linux-{architecture}.tar.gz"));
    run(Command::new("tar")
        .args(["--create", "--gzip", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"])
        .arg(format!("--mtime=@{}", moment()))
        .arg(format!("--transform=s,^[.],{name},"))
        .arg("--file")
        .arg(&file)
        .arg("--directory")
        .arg(installed)
        .arg("."))?;
    Ok(())
}

fn debian(root: &Path, installed: &Path, into: &Path) -> Result<()> {
    let architecture = architecture()?;
    let control = fs::read_to_string(root.join("deploy/package/control"))?
        .replace("@VERSION@", VERSION)
        .replace("@ARCHITECTURE@", &architecture)
        .replace("@SIZE@", &(bytes(installed)? / 1024).to_string());
    let folder = installed.join("DEBIAN");
    write(&folder.join("control"), control.as_bytes())?;
    // What an administrator has changed stays over an upgrade.
    write(&folder.join("conffiles"), b"/etc/pagurus/pagurus.yaml\n")?;
    for script in ["postinst", "prerm", "postrm"] {
        copy(&root.join("deploy/package").join(script), &folder.join(script), 0o755)?;
    }
    let file = into.join(format!("pagurus_{VERSION}_{architecture}.deb"));
    run(Command::new("dpkg-deb")
        .env("SOURCE_DATE_EPOCH", moment())
        // Other compressions make it a little shorter, and take minutes of programs that are built for tests.
        .args(["-Zgzip", "--root-owner-group", "--build"])
        .arg(installed)
        .arg(file))?;
    Ok(fs::remove_dir_all(folder)?)
}

/// Sums of all that is handed on.
fn sums(into: &Path) -> Result<()> {
    let mut names: Vec<String> = Vec::new();
    for entry in fs::read_dir(into)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    let list = run(Command::new("sha256sum").args(names).current_dir(into))?;
    write(&into.join("SHA256SUMS"), &list)
}

/// Time stamp of all files: that of the commit, by the convention of reproducible builds.
fn moment() -> String {
    std::env::var("SOURCE_DATE_EPOCH").unwrap_or_else(|_| {
        let seconds = run(Command::new("git").args(["log", "-1", "--format=%ct"])).unwrap_or_default();
        let seconds = String::from_utf8_lossy(&seconds).trim().to_owned();
        if seconds.is_empty() { "0".to_owned() } else { seconds }
    })
}

/// The architecture, by Debian's word.
fn architecture() -> Result<String> {
    let output = run(Command::new("dpkg").arg("--print-architecture"))?;
    Ok(String::from_utf8_lossy(&output).trim().to_owned())
}

fn bytes(folder: &Path) -> Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        sum += if entry.file_type()?.is_dir() { bytes(&entry.path())? } else { entry.metadata()?.len() };
    }
    Ok(sum)
}

fn strip(from: &Path, to: &Path) -> Result<()> {
    if !from.exists() {
        bail!("{} is not built", from.display());
    }
    copy(from, to, 0o755)?;
    run(Command::new("strip").arg(to)).map(drop)
}

fn copy_all(from: &Path, ending: &str, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let path = entry?.path();
        if path.extension().is_some_and(|known| known == ending)
            && let Some(name) = path.file_name()
        {
            copy(&path, &to.join(name), 0o644)?;
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path, mode: u32) -> Result<()> {
    let content = fs::read(from).with_context(|| from.display().to_string())?;
    write(to, &content)?;
    Ok(fs::set_permissions(to, fs::Permissions::from_mode(mode))?)
}

fn write(path: &Path, content: &[u8]) -> Result<()> {
    let folder = path.parent().context("a file stands in a folder")?;
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    fs::write(path, content).with_context(|| path.display().to_string())
}

fn run(command: &mut Command) -> Result<Vec<u8>> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(output.stdout)
}
