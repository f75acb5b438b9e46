//! The operations around the part of a scenario that is read, and those that were read before it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::library::{Library, LibraryNo};
use crate::operation::CalledOperation;
use crate::{Bounds, Mask};

static NOTHING: Library = Library::empty();

/// The operations that a scenario may run, and those around what is read.
#[derive(Debug)]
pub(super) struct Inlining<'a> {
    pub(super) library: &'a Library,
    pub(super) bounds: &'a Bounds,
    /// The number of the scenario that is read.
    pub(super) user: LibraryNo,
    /// The names of the scenario as a whole and of the operations around what is read.
    pub(super) stack: Vec<String>,
    /// Operations that are read already.
    pub(super) known: BTreeMap<LibraryNo, Arc<CalledOperation>>,
    /// Number of actions that were laid out so far.
    pub(super) actions: usize,
    /// Masks of all operations.
    pub(super) mask: Mask,
}

impl<'a> Inlining<'a> {
    /// The state of a reader that begins with a scenario, by these bounds.
    pub(super) fn of(library: Option<&'a Library>, bounds: &'a Bounds) -> Self {
        let library = library.unwrap_or(&NOTHING);
        Self {
            library,
            bounds,
            user: library.root(),
            stack: Vec::new(),
            known: BTreeMap::new(),
            actions: 0,
            mask: Mask::default(),
        }
    }

    /// Notes the name of the scenario, which none of its operations may run.
    pub(super) fn begin(&mut self, name: &str) {
        if self.stack.is_empty() {
            self.stack.push(name.to_owned());
        }
    }

    /// The same for what is read inside: an operation of the scenario.
    pub(super) fn inside(&mut self, no: LibraryNo, name: &str) -> Self {
        let stack = self.stack.iter().cloned().chain([name.to_owned()]).collect();
        let known = std::mem::take(&mut self.known);
        let (library, bounds) = (self.library, self.bounds);
        Self { library, bounds, user: no, stack, known, actions: self.actions, mask: Mask::default() }
    }
}
