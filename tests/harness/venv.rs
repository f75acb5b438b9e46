//! Packages in Python, each installed as its users install it: by pip into a virtual environment of its own under `.dev/`.
//! Never writes into their own folders, and takes of the tools of tests only the versions that their list names.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The oldest Python that the packages know.
const PROBE: &str = "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))";

/// A Python that makes virtual environments: that of the path, or that of the distribution.
#[must_use]
pub fn maker() -> Option<&'static str> {
    ["python3", "/usr/bin/python3"].into_iter().find(|python| {
        let probe = Command::new(python).args(["-c", PROBE]).stderr(Stdio::null()).status();
        probe.is_ok_and(|status| status.success())
    })
}

/// The Python of an environment with the package in `folder` and what `tests/requirements.txt` of it lists. What has not changed
/// since an earlier call is not installed again.
///
/// # Errors
/// There is no Python for it, or the registry cannot be reached.
pub fn with_package(folder: &Path, root: &Path) -> Result<PathBuf> {
    let name = folder.file_name().context("a folder has a name")?;
    let place = root.join(".dev/venv").join(name);
    fs::create_dir_all(&place)?;
    // Tests are processes of their own: the first of them installs.
    let turn = File::create(place.join("turn"))?;
    turn.lock()?;
    let environment = place.join("environment");
    let python = environment.join("bin/python");
    let requirements = folder.join("tests/requirements.txt");
    let (of_tools, of_package) = (place.join("requirements"), place.join("content"));
    let maker = maker().context("no Python makes virtual environments; `./dev test` installs one")?;
    if !python.exists() || has_changed(&of_tools, &fs::read(&requirements)?) {
        fs::write(&of_package, "")?;
        run(Command::new(maker).args(["-m", "venv", "--clear"]).arg(&environment))?;
        pip(&python, &[Path::new("--requirement"), &requirements])?;
        fs::copy(&requirements, &of_tools)?;
    }
    let content = content(folder)?;
    if has_changed(&of_package, &content) {
        pip(&python, &[Path::new("--force-reinstall"), Path::new("--no-deps"), folder])?;
        // The libraries of the package are in the list, too: what is missing there is missing here.
        run(Command::new(&python).args(["-m", "pip", "check"]))?;
        fs::write(&of_package, content)?;
    }
    Ok(python)
}

fn has_changed(known: &Path, content: &[u8]) -> bool {
    fs::read(known).ok().as_deref() != Some(content)
}

/// Everything that is built into the package.
fn content(folder: &Path) -> Result<Vec<u8>> {
    let mut content = fs::read(folder.join("pyproject.toml"))?;
    let (mut folders, mut paths) = (vec![folder.join("src")], vec![folder.join("README.md")]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let is_cache = path.ends_with("__pycache__");
            if !path.is_dir() { &mut paths } else { &mut folders }.extend((!is_cache).then_some(path));
        }
    }
    paths.sort();
    for path in paths {
        content.extend(path.to_string_lossy().bytes().chain(*b"\n").chain(fs::read(&path)?));
    }
    Ok(content)
}

fn pip(python: &Path, arguments: &[&Path]) -> Result<()> {
    let quiet = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"];
    run(Command::new(python).args(quiet).args(arguments))
}

fn run(command: &mut Command) -> Result<()> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("{command:?}"))?;
    if !output.status.success() {
        let printed = [output.stdout, output.stderr].concat();
        bail!("{command:?} failed:\n{}", String::from_utf8_lossy(&printed));
    }
    Ok(())
}
