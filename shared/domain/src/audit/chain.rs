//! The chain of the audit log (QLT-15): a hash for each entry, over the hash before, its position and all of the entry, so that
//! an entry which is changed, removed, put in or moved is found.
//!
//! The hash of a link is SHA-256 over, one behind the other:
//!
//! | part | bytes |
//! |---|---|
//! | `pagurus audit 1` and a line feed | 16 |
//! | hash of the link before; 32 bytes of 0 before the first | 32 |
//! | position, series, transaction, number, time in microseconds since 1970 | 8 each: signed, the highest byte first |
//! | action, kind, subject, door, name, origin, reason, detail | each 1 byte, 1 for a text and 0 for none; a text then has its length in bytes (8 bytes, as above) and its UTF-8 |
//!
//! Lengths stand before texts, so no two entries have the same bytes.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

/// Begin of what is hashed: the version of the encoding.
const VERSION: &[u8] = b"pagurus audit 1\n";
/// Bytes of a hash.
const BYTES: usize = 32;

/// The hash of a link.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ChainHash(pub [u8; BYTES]);

impl ChainHash {
    /// Stands before the first link.
    pub const BEFORE_ALL: Self = Self([0; BYTES]);

    /// The hash of these bytes; `None` if there are not 32.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

impl fmt::Display for ChainHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ChainHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is no hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a hash has 64 digits of base 16")]
pub struct NoHash;

impl FromStr for ChainHash {
    type Err = NoHash;

    fn from_str(text: &str) -> Result<Self, NoHash> {
        let digits = text.as_bytes();
        if digits.len() != 2 * BYTES || !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(NoHash);
        }
        let mut hash = [0; BYTES];
        for (byte, two) in hash.iter_mut().zip(text.as_bytes().chunks(2)) {
            let two = std::str::from_utf8(two).map_err(|_| NoHash)?;
            *byte = u8::from_str_radix(two, 16).map_err(|_| NoHash)?;
        }
        Ok(Self(hash))
    }
}

/// Order of the entries of the chain: series of the database server, transaction, number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChainOrder {
    /// Number of the database server, from 0 on: one that was made of a dump counts its transactions from the beginning.
    pub series: i32,
    /// Transaction that wrote the entry; 0 for those from before the chain.
    pub transaction: i64,
    /// Number of the entry.
    pub no: i64,
}

/// An entry of the log, with everything that is hashed of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainEntry<'a> {
    /// Number of the entry.
    pub no: i64,
    /// Transaction that wrote it.
    pub transaction: i64,
    /// Time of the action, in microseconds since 1970.
    pub at: i64,
    /// Name of the action.
    pub action: &'a str,
    /// Kind of what it was done to.
    pub kind: &'a str,
    /// Name of what it was done to.
    pub subject: &'a str,
    /// Door by which the request arrived.
    pub door: &'a str,
    /// Name of the principal.
    pub name: Option<&'a str>,
    /// Address of the client, or exchange of the message.
    pub origin: Option<&'a str>,
    /// Reason that was given.
    pub reason: Option<&'a str>,
    /// More, as the JSON that is stored.
    pub detail: &'a str,
}

impl ChainEntry<'_> {
    /// The hash of the link of this entry.
    #[must_use]
    pub fn hash(&self, before: ChainHash, position: i64, series: i32) -> ChainHash {
        let mut digest = Sha256::new();
        digest.update(VERSION);
        digest.update(before.0);
        for number in [position, i64::from(series), self.transaction, self.no, self.at] {
            digest.update(number.to_be_bytes());
        }
        let texts = [Some(self.action), Some(self.kind), Some(self.subject), Some(self.door)];
        for text in texts.into_iter().chain([self.name, self.origin, self.reason, Some(self.detail)]) {
            digest.update([u8::from(text.is_some())]);
            if let Some(text) = text {
                digest.update((text.len() as u64).to_be_bytes());
                digest.update(text);
            }
        }
        ChainHash(digest.finalize().into())
    }
}

/// A link of the chain: the place of an entry, and its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainLink {
    /// Place in the chain, from 1 on.
    pub position: i64,
    /// Order, with the number of the entry.
    pub order: ChainOrder,
    /// Hash.
    pub hash: ChainHash,
}

/// The last link of a chain so far, or that before the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainHead {
    /// Position of the link; 0 before the first.
    pub position: i64,
    /// Order of its entry.
    pub order: ChainOrder,
    /// Hash.
    pub hash: ChainHash,
}

impl Default for ChainHead {
    fn default() -> Self {
        Self { position: 0, order: ChainOrder::default(), hash: ChainHash::BEFORE_ALL }
    }
}

impl ChainHead {
    /// The link of the next entry.
    #[must_use]
    pub fn next(&self, series: i32, entry: &ChainEntry<'_>) -> ChainLink {
        let position = self.position + 1;
        let order = ChainOrder { series, transaction: entry.transaction, no: entry.no };
        ChainLink { position, order, hash: entry.hash(self.hash, position, series) }
    }

    /// Follows a chain by one link, with the entry that it is about.
    ///
    /// # Errors
    /// The fault that is there.
    pub fn follow(&mut self, link: &ChainLink, entry: Option<&ChainEntry<'_>>) -> Result<(), ChainFault> {
        let (position, no) = (link.position, link.order.no);
        if position != self.position + 1 {
            return Err(ChainFault::LinksMissing { from: self.position + 1, until: position - 1 });
        }
        let Some(entry) = entry else { return Err(ChainFault::Removed { no, position }) };
        if link.order <= self.order {
            return Err(ChainFault::Moved { no, position });
        }
        if *link != self.next(link.order.series, entry) {
            return Err(ChainFault::Changed { no, position });
        }
        *self = Self { position, order: link.order, hash: link.hash };
        Ok(())
    }
}

impl From<ChainLink> for ChainHead {
    fn from(link: ChainLink) -> Self {
        Self { position: link.position, order: link.order, hash: link.hash }
    }
}

/// Fault of a chain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChainFault {
    /// Links are not there.
    #[error("the links {from} to {until} of the chain were removed, or moved")]
    LinksMissing {
        /// Position of the first.
        from: i64,
        /// Position of the last.
        until: i64,
    },
    /// An entry is not there.
    #[error("entry {no}, at position {position}, was removed")]
    Removed {
        /// Number of the entry.
        no: i64,
        /// Position of its link.
        position: i64,
    },
    /// An entry or its link is another than it was.
    #[error("entry {no}, at position {position}, or its link was changed, or one before it was exchanged")]
    Changed {
        /// Number of the entry.
        no: i64,
        /// Position of its link.
        position: i64,
    },
    /// A link is not in the order of the chain.
    #[error("entry {no}, at position {position}, was moved there")]
    Moved {
        /// Number of the entry.
        no: i64,
        /// Position of its link.
        position: i64,
    },
    /// An entry has no link, though it is older than others that have one.
    #[error("entry {no} was put in behind: it is older than entries of the chain, and has no link")]
    PutIn {
        /// Number of the entry.
        no: i64,
    },
    /// Retention removed fewer entries than links.
    #[error("{missing} entries had been removed by another hand before their time was over")]
    MissingBefore {
        /// Number of those.
        missing: i64,
    },
    /// The chain has no link with the head that was noted.
    #[error("the chain has no link with the noted hash: its end was cut off, or it was made again")]
    HeadMissing,
    /// The noted head stands before what is kept.
    #[error("the noted head, at position {position}, is older than what is kept: compare a newer one")]
    HeadForgotten {
        /// Noted position.
        position: i64,
    },
    /// The link at the noted position has another hash.
    #[error("the link at the noted position {position} has another hash: the chain was made again")]
    HeadChanged {
        /// Noted position.
        position: i64,
    },
}

#[cfg(test)]
mod tests;
