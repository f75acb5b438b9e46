//! Unique names for the public types of the shared crates, so that a search by name finds what is meant.

use std::collections::BTreeMap;

use crate::tree::{none, rust};

/// Names that stand for several types, with the reason. The list may only shrink.
const TWICE: [(&str, &str); 1] =
    [("Error", "each crate that talks to a server has its own, named with its crate")];

/// Public types of the shared crates: name and files.
fn public_types() -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in rust().iter().filter(|source| source.path.starts_with("shared/")) {
        for line in source.code().lines().map(str::trim_start) {
            let mut words = line.split(|sign: char| !sign.is_alphanumeric() && sign != '_');
            let (first, second, third) = (words.next(), words.next(), words.next());
            if first == Some("pub")
                && matches!(second, Some("struct" | "enum" | "trait" | "type"))
                && let Some(name) = third.filter(|name| !name.is_empty())
            {
                found.entry(name.to_owned()).or_default().push(source.path.clone());
            }
        }
    }
    found
}

#[test]
fn architecture_a_public_type_of_the_shared_crates_has_a_name_of_its_own() {
    let types = public_types();
    assert!(types.len() > 200, "only {} types were found", types.len());
    let excepted = |name: &str| TWICE.iter().any(|(twice, _)| *twice == name);
    let offenders: Vec<String> = types
        .iter()
        .filter(|(name, files)| files.len() > 1 && !excepted(name))
        .map(|(name, files)| format!("{name}: {}", files.join(", ")))
        .collect();
    none("names that stand for several things", &offenders);
    let needless: Vec<String> = TWICE
        .iter()
        .filter(|(name, _)| types.get(*name).is_none_or(|files| files.len() < 2))
        .map(|(name, _)| (*name).to_owned())
        .collect();
    none("exceptions that are none any more", &needless);
}
