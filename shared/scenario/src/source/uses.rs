//! The operations that a text names, before it is read (SCN-19).

use std::collections::{BTreeMap, BTreeSet};

use pagurus_domain::document::{self, DocumentNode};

use crate::library::{Library, OperationUse};

/// The operations that a text names, each with the version that it wants. Of a text that cannot be read, none.
#[must_use]
pub fn operations_of(text: &str) -> BTreeSet<(String, Option<i32>)> {
    let mut found = BTreeSet::new();
    // Most scenarios run none.
    if text.contains("operation")
        && let Ok(tree) = document::parse(text, &document::DocumentLimits::default())
    {
        collect_operations(&tree, &mut found);
    }
    found
}

fn collect_operations(node: &DocumentNode, found: &mut BTreeSet<(String, Option<i32>)>) {
    for (key, value) in node.as_map().unwrap_or_default() {
        if key.name == "do"
            && let Some(name) = value.get("operation").and_then(DocumentNode::as_str)
        {
            let version = value.get("version").and_then(DocumentNode::as_i64);
            found.insert((name.to_owned(), version.and_then(|version| i32::try_from(version).ok())));
        }
        collect_operations(value, found);
    }
    node.as_list().unwrap_or_default().iter().for_each(|item| collect_operations(item, found));
}

/// The texts of the operations that a text runs, with those that they run themselves, by their names.
#[must_use]
pub fn operations_run_by<'l>(text: &str, library: &'l Library) -> BTreeMap<String, &'l str> {
    let mut found = BTreeMap::new();
    let mut open: Vec<_> = operations_of(text).into_iter().map(|named| (library.root(), named)).collect();
    while let Some((user, (name, wanted))) = open.pop() {
        let used = OperationUse { user, name, wanted };
        if let Some((no, entry)) = library.find(&used).filter(|_| !found.contains_key(&used.name)) {
            open.extend(operations_of(&entry.text).into_iter().map(|named| (no, named)));
            found.insert(used.name, entry.text.as_str());
        }
    }
    found
}
