//! Programs of examples and tests that need packages from npm: each with its packages in a folder of its own under `.dev/`.
//! Never writes into their own folders, and takes only what their lock file names, by its checksum.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// A copy of the program in `folder` beside its packages, which are fetched where the lock file has changed.
///
/// # Errors
/// npm is missing, or the registry cannot be reached.
pub fn with_packages(folder: &Path, root: &Path) -> Result<PathBuf> {
    let name = folder.file_name().context("a folder has a name")?;
    let place = root.join(".dev/npm").join(name);
    let fetched = place.join("node_modules/.package-lock.json");
    fs::create_dir_all(&place)?;
    // Tests are processes of their own: the first of them fetches the packages.
    let turn = fs::File::create(place.join("turn"))?;
    turn.lock()?;
    let lock = fs::read(folder.join("package-lock.json"))?;
    let is_new = !fetched.exists() || fs::read(place.join("package-lock.json")).ok() != Some(lock);
    copy(folder, &place)?;
    if is_new {
        let command = Command::new("npm")
            .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
            .current_dir(&place)
            .stdin(Stdio::null())
            .output();
        let output = command.context("npm cannot be run; `./dev test` installs it")?;
        if !output.status.success() {
            bail!("npm ci in {} failed:\n{}", place.display(), String::from_utf8_lossy(&output.stderr));
        }
    }
    Ok(place)
}

/// Copies a program, without what is fetched or built.
fn copy(folder: &Path, place: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (name, kind) = (entry.file_name(), entry.file_type()?);
        if kind.is_file() {
            refresh(&entry.path(), &place.join(name))?;
        } else if kind.is_dir() && name != "node_modules" && name != "dist" {
            fs::create_dir_all(place.join(&name))?;
            copy(&entry.path(), &place.join(name))?;
        }
    }
    Ok(())
}

/// Copies a file that has changed; another test may be reading one that has not.
fn refresh(from: &Path, to: &Path) -> Result<()> {
    let is_same = fs::read(to).is_ok_and(|known| fs::read(from).is_ok_and(|content| content == known));
    if !is_same {
        fs::copy(from, to)?;
    }
    Ok(())
}
