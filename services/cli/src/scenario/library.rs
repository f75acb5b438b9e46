//! Operations for scenarios that are read without a server (SCN-19): the files that were named, and those beside a scenario.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use pagurus_scenario::source::operations_of;
use pagurus_scenario::{Library, LibraryEntry};

use super::files::{files_in, is_scenario};
use crate::failure::CliError;
use crate::input;

/// Operations by the folder of the scenario that runs them.
pub(crate) struct Libraries {
    named: Vec<PathBuf>,
    by_folder: HashMap<PathBuf, Library>,
    nothing: Library,
}

impl Libraries {
    /// The operations of a command that was given these files.
    pub(crate) fn of(named: &[PathBuf]) -> Self {
        let named = named.iter().filter(|path| is_scenario(path)).cloned().collect();
        Self { named, by_folder: HashMap::new(), nothing: Library::default() }
    }

    /// The operations for the scenario in this file: those in its folder, and behind them those that the command was given.
    /// Most scenarios run none, and no other file is read for them.
    pub(crate) fn beside(&mut self, path: &Path, text: &str) -> Result<&Library, CliError> {
        if operations_of(text).is_empty() {
            return Ok(&self.nothing);
        }
        let folder = folder_of(path);
        if !self.by_folder.contains_key(&folder) {
            let mut paths = Vec::new();
            if folder.is_dir() {
                paths.extend(entries_of(&folder)?);
            }
            paths.extend(self.named.iter().cloned());
            let mut entries: Vec<LibraryEntry> = Vec::new();
            for path in paths {
                let entry = LibraryEntry::of_text(&input::text_of(&path)?, Some(input::name_of(&path)));
                entries.extend(entry.filter(|one| entries.iter().all(|known| known.name != one.name)));
            }
            self.by_folder.insert(folder.clone(), Library::of_files(entries));
        }
        Ok(self.by_folder.get(&folder).unwrap_or(&self.nothing))
    }
}

/// The files in an order in which each stands behind the operations that it runs; otherwise as they are.
pub(super) fn operations_first(paths: Vec<PathBuf>) -> Result<Vec<PathBuf>, CliError> {
    let mut left = Vec::new();
    for path in paths {
        // Standard input is read once.
        let is_file = path.is_file();
        let text = if is_file { input::text_of(&path)? } else { String::new() };
        let name = LibraryEntry::of_text(&text, None).map(|entry| entry.name);
        let runs: Vec<String> = operations_of(&text).into_iter().map(|(name, _)| name).collect();
        left.push((path, name, runs));
    }
    let mut ordered = Vec::new();
    while !left.is_empty() {
        let waits = |runs: &[String], left: &[(PathBuf, Option<String>, Vec<String>)]| {
            runs.iter().any(|run| left.iter().any(|(_, name, _)| name.as_ref() == Some(run)))
        };
        // Operations that run each other in a circle are the server's to refuse.
        let next = left.iter().position(|(_, _, runs)| !waits(runs, &left)).unwrap_or(0);
        ordered.push(left.remove(next).0);
    }
    Ok(ordered)
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// The scenarios in a folder, but not below.
fn entries_of(folder: &Path) -> Result<Vec<PathBuf>, CliError> {
    let found = files_in(&[folder.to_owned()], is_scenario)?;
    Ok(found.into_iter().filter(|path| folder_of(path) == folder).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn scn_19_operations_stand_before_the_scenarios_that_run_them() {
        let folder = std::env::temp_dir().join(format!("pagurus-operations-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let operation = |name: &str, runs: &str| {
            format!("scenario: {name}\nkind: operation\nactions: [{{do: {{operation: {runs}}}}}]\n")
        };
        for (file, text) in [
            ("a.yaml", operation("outer", "inner")),
            ("b.yaml", operation("inner", "last")),
            ("c.yaml", "scenario: last\nkind: operation\nactions: [log: x]\n".to_owned()),
        ] {
            std::fs::write(folder.join(file), text).unwrap();
        }
        let files = files_in(std::slice::from_ref(&folder), is_scenario).unwrap();
        let ordered = operations_first(files.clone()).unwrap();
        let mut libraries = Libraries::of(&[]);
        let text = input::text_of(&files[0]).unwrap();
        let count = libraries.beside(&files[0], &text).unwrap().texts().len();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(ordered, ["c.yaml", "b.yaml", "a.yaml"].map(|file| folder.join(file)));
        assert_eq!(count, 3);
    }
}
