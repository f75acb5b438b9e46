//! Takes the value of a key in the type of its kind.
//!
//! Asking for another type, or for a key that is not in the table, is a slip of the code; it is
//! reported like a fault, and the test that builds the defaults finds it.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use pagurus_domain::document::{DocumentNode, Fault};

use super::super::calls::AllowedDestination;
use super::super::kind::Typed;
use super::Builder;

impl Builder {
    fn slip(&mut self, path: &str) {
        self.values.faults.push(Fault::placed(None, "", format!("`{path}` is read wrongly")));
    }

    fn take<T>(&mut self, path: &str, of: impl Fn(&Typed) -> Option<T>) -> Option<T> {
        let value = self.values.typed(path).and_then(of);
        if value.is_none() {
            self.slip(path);
        }
        value
    }

    pub(super) fn text(&mut self, path: &str) -> String {
        self.optional_text(path).unwrap_or_else(|| {
            self.slip(path);
            String::new()
        })
    }

    pub(super) fn optional_text(&mut self, path: &str) -> Option<String> {
        self.take(path, |typed| match typed {
            Typed::Text(text) => Some(Some(text.clone())),
            Typed::Absent => Some(None),
            _ => None,
        })?
    }

    pub(super) fn flag(&mut self, path: &str) -> bool {
        let of = |typed: &Typed| {
            if let Typed::Flag(flag) = typed { Some(*flag) } else { None }
        };
        self.take(path, of).unwrap_or_default()
    }

    pub(super) fn count(&mut self, path: &str) -> u64 {
        let of = |typed: &Typed| {
            if let Typed::Count(count) = typed { Some(*count) } else { None }
        };
        self.take(path, of).unwrap_or_default()
    }

    /// Kinds hold counts below 2^32, so nothing is cut here or below.
    pub(super) fn size(&mut self, path: &str) -> usize {
        usize::try_from(self.count(path)).unwrap_or(usize::MAX)
    }

    pub(super) fn number(&mut self, path: &str) -> u32 {
        u32::try_from(self.count(path)).unwrap_or(u32::MAX)
    }

    pub(super) fn duration(&mut self, path: &str) -> Duration {
        self.optional_duration(path).unwrap_or_else(|| {
            self.slip(path);
            Duration::ZERO
        })
    }

    pub(super) fn optional_duration(&mut self, path: &str) -> Option<Duration> {
        self.take(path, |typed| match typed {
            Typed::Duration(duration) => Some(Some(*duration)),
            Typed::Absent => Some(None),
            _ => None,
        })?
    }

    pub(super) fn address(&mut self, path: &str) -> SocketAddr {
        let of = |typed: &Typed| {
            if let Typed::Address(address) = typed { Some(*address) } else { None }
        };
        self.take(path, of).unwrap_or_else(|| (Ipv4Addr::LOCALHOST, 0).into())
    }

    pub(super) fn texts(&mut self, path: &str) -> Vec<String> {
        let of = |typed: &Typed| {
            if let Typed::Texts(texts) = typed { Some(texts.clone()) } else { None }
        };
        self.take(path, of).unwrap_or_default()
    }

    pub(super) fn calls(&mut self, path: &str) -> Vec<AllowedDestination> {
        let of = |typed: &Typed| {
            if let Typed::Calls(calls) = typed { Some(calls.clone()) } else { None }
        };
        self.take(path, of).unwrap_or_default()
    }

    pub(super) fn tree(&mut self, path: &str) -> Option<DocumentNode> {
        let of = |typed: &Typed| {
            if let Typed::Tree(tree) = typed { Some(tree.clone()) } else { None }
        };
        self.take(path, of)
    }
}
