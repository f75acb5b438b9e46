//! The files of the checkout, as the other rules look at them. Never changes one, but for generated
//! files, and only when asked to.

use std::fs;
use std::path::{Path, PathBuf};

use pagurus_domain::id::Role;

/// Folders that hold nothing of ours.
const FOREIGN: [&str; 5] = ["target", ".git", ".dev", "node_modules", "dist"];

/// The five services, by the words of their roles.
pub const SERVICES: [&str; Role::ALL.len()] = {
    let mut words = [""; Role::ALL.len()];
    let mut at = 0;
    while at < words.len() {
        words[at] = Role::ALL[at].as_str();
        at += 1;
    }
    words
};

/// The crates of the core: pure code, without clock, chance and I/O.
pub const CORE: [&str; 4] = ["domain", "scenario", "dispatch", "workbench"];

/// A text file.
pub struct Source {
    /// Path from the root, with `/`.
    pub path: String,
    /// Text of the file.
    pub text: String,
}

impl Source {
    /// True if it is a part of the core.
    pub fn is_core(&self) -> bool {
        CORE.iter().any(|name| {
            self.path
                .strip_prefix("shared/")
                .is_some_and(|path| path.strip_prefix(name).is_some_and(|path| path.starts_with("/src/")))
        })
    }

    /// Lines before the unit tests of the file; none if the whole file is made of tests.
    pub fn code(&self) -> &str {
        if self.path.starts_with("tests/")
            || self.path.contains("/tests/")
            || self.path.ends_with("/tests.rs")
        {
            return "";
        }
        self.text.split_once("\n#[cfg(test)]\n").map_or(self.text.as_str(), |(code, _)| code)
    }
}

/// The root of the checkout.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// All files with one of these endings, in order of their paths.
pub fn files(endings: &[&str]) -> Vec<Source> {
    let root = root();
    let (mut found, mut folders) = (Vec::new(), vec![root.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
            if entry.file_type().unwrap().is_dir() {
                if !FOREIGN.contains(&name.as_str()) {
                    folders.push(path);
                }
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                let text = fs::read_to_string(&path).unwrap();
                let path = path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
                found.push(Source { path, text });
            }
        }
    }
    found.sort_by(|one, two| one.path.cmp(&two.path));
    assert!(!found.is_empty(), "nothing found under {}", root.display());
    found
}

/// Our Rust files.
pub fn rust() -> Vec<Source> {
    files(&[".rs"])
}

/// Reads one file; a missing one is reported by its name.
pub fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Shows everything that breaks a rule at once.
pub fn none(rule: &str, offenders: &[String]) {
    assert!(offenders.is_empty(), "{rule}:\n  {}", offenders.join("\n  "));
}

/// A generated file must be what its generator makes now. `UPDATE_GENERATED=1` writes it.
pub fn fresh(path: &str, expected: &str) {
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        fs::write(root().join(path), expected).unwrap();
    }
    let shipped = read(path);
    let differs = shipped.lines().zip(expected.lines()).position(|(one, two)| one != two);
    let place = differs.map_or_else(|| "at its end".to_owned(), |line| format!("from line {}", line + 1));
    assert!(shipped == expected, "{path} is stale {place}: run `UPDATE_GENERATED=1 ./dev test architecture`");
}
