//! The files that arguments name. Never looks into them.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::failure::CliError;

/// Message where no file is found.
pub(super) const NONE: &str = "no scenarios found: names of their files end in `.yaml`, `.yml` or `.json`";

/// End of the names of files of tests.
const ENDINGS: [&str; 3] = [".test.yaml", ".test.yml", ".test.json"];

/// A file is taken as it is; of a folder, all files in it and below that are `wanted`, by name.
pub(super) fn files_in(paths: &[PathBuf], wanted: fn(&Path) -> bool) -> Result<Vec<PathBuf>, CliError> {
    let mut found = Vec::new();
    for path in paths {
        find(path, wanted, &mut found)?;
    }
    Ok(found)
}

fn find(path: &Path, wanted: fn(&Path) -> bool, found: &mut Vec<PathBuf>) -> Result<(), CliError> {
    if !path.is_dir() {
        found.push(path.to_owned());
        return Ok(());
    }
    let cannot = || format!("cannot read folder `{}`", path.display());
    let mut inside = Vec::new();
    for entry in std::fs::read_dir(path).with_context(cannot)? {
        inside.push(entry.with_context(cannot)?.path());
    }
    inside.sort();
    for path in inside {
        let is_folder = path.is_dir() && !path.is_symlink();
        if is_folder || wanted(&path) {
            find(&path, wanted, found)?;
        }
    }
    Ok(())
}

/// True if a file may hold a scenario or tests of one, by its name.
pub(super) fn is_scenario_or_tests(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    [".yaml", ".yml", ".json"].iter().any(|ending| name.ends_with(ending))
}

/// True if a file holds tests, by its name.
pub(super) fn holds_tests(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// True if a file may hold a scenario, by its name: one that holds tests does not.
pub(super) fn is_scenario(path: &Path) -> bool {
    is_scenario_or_tests(path) && !holds_tests(path)
}
