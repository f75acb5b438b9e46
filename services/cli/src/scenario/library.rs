//! Operations for scenarios that are read without a server (SCN-19): the files that were named, and those beside a scenario.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use pagurus_scenario::source::operations_of;
use pagurus_scenario::{Library, LibraryEntry, MOST_NESTED};

use super::files::is_scenario;
use crate::failure::CliError;
use crate::input;

/// Operations by the folder of the scenario that runs them.
pub(crate) struct Libraries {
    named: Vec<PathBuf>,
    by_folder: HashMap<PathBuf, Library>,
    runs: HashMap<PathBuf, Vec<FileRuns>>,
    nothing: Library,
}

/// A file of a scenario, with the operations that it runs.
struct FileRuns {
    path: PathBuf,
    name: String,
    operations: BTreeSet<String>,
}

/// A file whose scenario runs an operation.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FileUser {
    /// The file.
    pub path: PathBuf,
    /// Name of the scenario.
    pub scenario: String,
    /// The operation that it runs: the one in question, or one that runs that.
    pub operation: String,
}

impl Libraries {
    /// The operations of a command that was given these files.
    pub(crate) fn of(named: &[PathBuf]) -> Self {
        let named = named.iter().filter(|path| is_scenario(path)).cloned().collect();
        Self { named, by_folder: HashMap::new(), runs: HashMap::new(), nothing: Library::default() }
    }

    /// The operations for the scenario in this file: those in its folder, and behind them those that the command was given.
    /// Most scenarios run none, and no other file is read for them.
    pub(crate) fn beside(&mut self, path: &Path, text: &str) -> Result<&Library, CliError> {
        if operations_of(text).is_empty() {
            return Ok(&self.nothing);
        }
        let folder = folder_of(path);
        if !self.by_folder.contains_key(&folder) {
            let mut entries: Vec<LibraryEntry> = Vec::new();
            for path in self.files_for(&folder)? {
                let entry = LibraryEntry::of_text(&input::text_of(&path)?, Some(input::name_of(&path)));
                entries.extend(entry.filter(|one| entries.iter().all(|known| known.name != one.name)));
            }
            self.by_folder.insert(folder.clone(), Library::of_files(entries));
        }
        Ok(self.by_folder.get(&folder).unwrap_or(&self.nothing))
    }

    /// The scenarios that run the newest version of the operation in this file, and those that run one of them: those in its
    /// folder, and those that the command was given. Standard input has no folder, so it has no users.
    pub(super) fn users_of(&mut self, path: &Path, operation: &str) -> Result<Vec<FileUser>, CliError> {
        if !path.is_file() {
            return Ok(Vec::new());
        }
        let folder = folder_of(path);
        if !self.runs.contains_key(&folder) {
            let mut runs: Vec<FileRuns> = Vec::new();
            for path in self.files_for(&folder)? {
                // What cannot be read is no user of an operation; it is for a check of its own.
                let Ok(text) = input::text_of(&path) else { continue };
                let newest = operations_of(&text).into_iter().filter(|(_, version)| version.is_none());
                let operations = newest.map(|(name, _)| name).collect();
                let name = LibraryEntry::of_text(&text, None).map(|entry| entry.name);
                let is_other = |name: &String| runs.iter().all(|known| known.name != *name);
                runs.extend(name.filter(is_other).map(|name| FileRuns { path, name, operations }));
            }
            self.runs.insert(folder.clone(), runs);
        }
        Ok(users_among(self.runs.get(&folder).map_or(&[], Vec::as_slice), operation))
    }

    /// The scenarios in a folder, and behind them those that the command was given.
    fn files_for(&self, folder: &Path) -> Result<Vec<PathBuf>, CliError> {
        let mut paths = if folder.is_dir() { entries_of(folder)? } else { Vec::new() };
        paths.extend(self.named.iter().cloned());
        Ok(paths)
    }
}

fn users_among(files: &[FileRuns], operation: &str) -> Vec<FileUser> {
    let mut found: Vec<FileUser> = Vec::new();
    let mut operations = vec![operation.to_owned()];
    for _ in 0..MOST_NESTED {
        let mut next = Vec::new();
        for operation in operations {
            for file in files.iter().filter(|file| file.operations.contains(&operation)) {
                if found.iter().all(|user| user.path != file.path) {
                    next.push(file.name.clone());
                    let (path, scenario) = (file.path.clone(), file.name.clone());
                    found.push(FileUser { path, scenario, operation: operation.clone() });
                }
            }
        }
        operations = next;
    }
    found
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
    let cannot = || format!("cannot read folder `{}`", folder.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(cannot)? {
        let path = entry.with_context(cannot)?.path();
        found.extend(Some(path).filter(|path| is_scenario(path) && path.is_file()));
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::super::files::files_in;
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
        let users = libraries.users_of(&folder.join("c.yaml"), "last").unwrap();
        let users: Vec<(&str, &str)> =
            users.iter().map(|user| (user.scenario.as_str(), user.operation.as_str())).collect();
        assert_eq!(users, [("inner", "last"), ("outer", "inner")]);
        assert_eq!(libraries.users_of(Path::new("-"), "last").unwrap(), []);
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(ordered, ["c.yaml", "b.yaml", "a.yaml"].map(|file| folder.join(file)));
        assert_eq!(count, 3);
    }
}
