//! Operations that scenarios run by `do` (SCN-19): their texts, and which one a scenario means. Data only.

use std::collections::BTreeMap;

use pagurus_domain::document::{self, DocumentLimits, DocumentNode};

/// Number of a scenario in a library: that of its stored version, or of its file.
pub type LibraryNo = i32;

/// A scenario that others may run, before it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibraryEntry {
    /// The name.
    pub name: String,
    /// The stored version; `None` for a file, which stands for any.
    pub version: Option<i32>,
    /// The file, where there is one: faults at run time name it.
    pub file: Option<String>,
    /// The text.
    pub text: String,
}

impl LibraryEntry {
    /// The scenario of a text, by the name that it gives itself; `None` if it gives itself none.
    #[must_use]
    pub fn of_text(text: &str, file: Option<String>) -> Option<Self> {
        let tree = document::parse(text, &DocumentLimits::default()).ok()?;
        let name = tree.get("scenario").and_then(DocumentNode::as_str)?.to_owned();
        Some(Self { name, version: None, file, text: text.to_owned() })
    }
}

/// Operation that a scenario names, and what was meant by it when the scenario was registered.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OperationUse {
    /// Number of the scenario that runs the operation.
    pub user: LibraryNo,
    /// The name.
    pub name: String,
    /// The version that the scenario names; `None` means the newest one of that time.
    pub wanted: Option<i32>,
}

/// Scenarios by name, for those that run them.
#[derive(Clone, Debug, Default)]
pub struct Library {
    entries: BTreeMap<LibraryNo, LibraryEntry>,
    /// Decided uses; `None` where each name stands for one text.
    pins: Option<BTreeMap<OperationUse, LibraryNo>>,
    root: LibraryNo,
}

impl Library {
    /// The number of a scenario that is no entry itself: no stored version has it.
    pub const UNSTORED: LibraryNo = 0;

    /// A library of nothing.
    pub(crate) const fn empty() -> Self {
        Self { entries: BTreeMap::new(), pins: None, root: Self::UNSTORED }
    }

    /// A library of files: each name stands for its text, whichever version is wanted.
    #[must_use]
    pub fn of_files(entries: impl IntoIterator<Item = LibraryEntry>) -> Self {
        let entries = (1..).zip(entries).collect();
        Self { entries, pins: None, root: Self::UNSTORED }
    }

    /// A library of stored versions for the scenario with the number `root`: what each of them means by a name was
    /// decided at its registration.
    #[must_use]
    pub fn pinned(
        root: LibraryNo,
        entries: impl IntoIterator<Item = (LibraryNo, LibraryEntry)>,
        pins: impl IntoIterator<Item = (OperationUse, LibraryNo)>,
    ) -> Self {
        Self { entries: entries.into_iter().collect(), pins: Some(pins.into_iter().collect()), root }
    }

    /// The same with another text under the number of an entry, and that number in the place of the newest version of
    /// its name: what would be, if the text were registered now.
    #[must_use]
    pub fn with(mut self, no: LibraryNo, entry: LibraryEntry) -> Self {
        for (used, pinned) in self.pins.iter_mut().flatten() {
            if used.name == entry.name && used.wanted.is_none() {
                *pinned = no;
            }
        }
        self.entries.insert(no, entry);
        self
    }

    /// The number of the scenario whose operations these are.
    pub(crate) const fn root(&self) -> LibraryNo {
        self.root
    }

    /// The scenario that `user` means by a name.
    pub(crate) fn find(&self, used: &OperationUse) -> Option<(LibraryNo, &LibraryEntry)> {
        let no = match &self.pins {
            Some(pins) => *pins.get(used)?,
            None => *self.entries.iter().find(|(_, entry)| entry.name == used.name)?.0,
        };
        self.entries.get(&no).map(|entry| (no, entry))
    }

    /// The names of all entries.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.entries.values().map(|entry| entry.name.as_str())
    }

    /// The texts of all entries.
    #[must_use]
    pub fn texts(&self) -> Vec<&str> {
        self.entries.values().map(|entry| entry.text.as_str()).collect()
    }

    /// Bytes of all texts.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.entries.values().map(|entry| entry.text.len()).sum()
    }

    /// The entry with this number.
    #[must_use]
    pub fn entry(&self, no: LibraryNo) -> Option<&LibraryEntry> {
        self.entries.get(&no)
    }

    /// The decided uses by the scenario itself, each with the number of what it means.
    pub fn uses_of_root(&self) -> impl Iterator<Item = (&OperationUse, LibraryNo)> {
        let pins = self.pins.iter().flatten();
        pins.filter(|(used, _)| used.user == self.root).map(|(used, no)| (used, *no))
    }
}
