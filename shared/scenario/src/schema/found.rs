//! Faults of a value that were found so far, and the places that they are at.

use std::fmt::{self, Display, Write};

/// Longest message, in bytes: it may quote the value.
pub(super) const LONGEST_MESSAGE: usize = 500;

/// A fault of a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SchemaFault {
    /// JSON pointer to the faulty part.
    pub pointer: String,
    /// The reason.
    pub message: String,
}

/// The text of something, cut where it is too long, and not written any further.
pub fn message(text: &dyn Display) -> String {
    let mut message = Cut(String::new());
    // Fails where it is cut.
    let _ = write!(message, "{text}");
    message.0
}

struct Cut(String);

impl Write for Cut {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = LONGEST_MESSAGE - self.0.len();
        self.0.push_str(&text[..text.floor_char_boundary(room)]);
        if text.len() > room { Err(fmt::Error) } else { Ok(()) }
    }
}

/// A place in the value. Written as a pointer only where there is a fault.
pub(super) enum At<'a> {
    /// The value itself.
    Root,
    /// A member of an object.
    Member(&'a At<'a>, &'a str),
    /// An element of a list.
    Item(&'a At<'a>, usize),
}

impl At<'_> {
    /// JSON pointer to the place.
    pub(super) fn pointer(&self) -> String {
        match self {
            At::Root => String::new(),
            At::Member(above, name) => {
                format!("{}/{}", above.pointer(), name.replace('~', "~0").replace('/', "~1"))
            }
            At::Item(above, index) => format!("{}/{index}", above.pointer()),
        }
    }
}

/// Result of a search.
pub(super) struct FoundFaults {
    pub(super) faults: Vec<SchemaFault>,
    /// Number of faults.
    pub(super) count: usize,
    /// Number that is enough.
    pub(super) most: usize,
    /// True if the search only asks if there is a fault.
    pub(super) is_probe: bool,
}

impl FoundFaults {
    /// True if there are enough.
    pub(super) const fn is_full(&self) -> bool {
        self.count >= self.most
    }

    /// Adds a fault at a place, if there are not enough yet.
    pub(super) fn add(&mut self, at: &At<'_>, text: &dyn Display) {
        if self.is_full() {
            return;
        }
        self.count += 1;
        if !self.is_probe {
            self.faults.push(SchemaFault { pointer: at.pointer(), message: message(text) });
        }
    }
}
