//! The chain of the audit log, as it leaves the engine: who has links and entries can compute every hash again.

use jiff::Timestamp;
use pagurus_domain::audit::chain::{ChainEntry, ChainHead, ChainLink, ChainOrder, NoHash};
use pagurus_domain::time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A link of the chain, with its entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditLinkView {
    /// Place in the chain, from 1 on.
    pub position: i64,
    /// Number of the database server, from 0 on: one that was made of a dump is another.
    pub series: i32,
    /// Transaction that wrote the entry, as the link has it.
    pub transaction: i64,
    /// Number of the entry.
    pub no: i64,
    /// SHA-256 over the link before and the entry, in base 16.
    pub hash: String,
    /// The entry; absent if it no longer exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<AuditedEntry>,
}

/// The columns of an entry, as they are hashed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditedEntry {
    /// Transaction that wrote it.
    pub transaction: i64,
    /// Time of the action, to the microsecond; or a number of microseconds since 1970 if no calendar has that time.
    pub at: String,
    /// Name of the action.
    pub action: String,
    /// Kind of what it was done to.
    pub kind: String,
    /// Name of what it was done to.
    pub subject: String,
    /// Door by which the request arrived.
    pub door: String,
    /// Name of the person or program, as it was authenticated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Address of the client, or exchange of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// Reason that was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Details: JSON, as the text that is stored.
    pub detail: String,
}

/// A point of the chain: the end of it, or where retention has cut it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChainPointView {
    /// Position of the link; 0 before the first.
    pub position: i64,
    /// Number of the database server.
    pub series: i32,
    /// Transaction that wrote the entry.
    pub transaction: i64,
    /// Number of the entry.
    pub no: i64,
    /// Hash of the link, in base 16.
    pub hash: String,
}

/// A page of the chain with what is needed to verify it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditChainView {
    /// The last link that retention has removed; position 0 if it has removed none.
    pub anchor: ChainPointView,
    /// Entries that were removed with the links up to the anchor.
    pub forgotten: i64,
    /// When retention last removed some.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "time::serialize")]
    pub forgotten_at: Option<Timestamp>,
    /// The next links, by position.
    pub links: Vec<AuditLinkView>,
    /// Numbers of entries in the range of these links that have no link.
    pub put_in: Vec<i64>,
    /// The last link of all.
    pub head: ChainPointView,
    /// Entries that are to get their links: those of the last second or two, and of transactions beside one that is still open.
    /// Counted up to 10 000.
    pub unsealed: i64,
    /// Age of the oldest of them, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsealed_seconds: Option<f64>,
    /// Position after which the next page starts; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<i64>,
}

impl AuditLinkView {
    /// The link as values to compute with.
    ///
    /// # Errors
    /// The hash is none.
    pub fn link(&self) -> Result<ChainLink, NoHash> {
        let order = ChainOrder { series: self.series, transaction: self.transaction, no: self.no };
        Ok(ChainLink { position: self.position, order, hash: self.hash.parse()? })
    }

    /// The entry as it is hashed.
    #[must_use]
    pub fn chained(&self) -> Option<ChainEntry<'_>> {
        self.entry.as_ref().map(|entry| entry.chained(self.no))
    }

    /// The link of an entry.
    #[must_use]
    pub fn of(link: &ChainLink, entry: Option<AuditedEntry>) -> Self {
        Self {
            position: link.position,
            series: link.order.series,
            transaction: link.order.transaction,
            no: link.order.no,
            hash: link.hash.to_string(),
            entry,
        }
    }
}

impl AuditedEntry {
    /// The entry of this number as it is hashed.
    #[must_use]
    pub fn chained(&self, no: i64) -> ChainEntry<'_> {
        ChainEntry {
            no,
            transaction: self.transaction,
            at: microseconds(&self.at),
            action: &self.action,
            kind: &self.kind,
            subject: &self.subject,
            door: &self.door,
            name: self.name.as_deref(),
            origin: self.origin.as_deref(),
            reason: self.reason.as_deref(),
            detail: &self.detail,
        }
    }
}

impl ChainPointView {
    /// The point as values to compute with.
    ///
    /// # Errors
    /// The hash is none.
    pub fn head(&self) -> Result<ChainHead, NoHash> {
        let order = ChainOrder { series: self.series, transaction: self.transaction, no: self.no };
        Ok(ChainHead { position: self.position, order, hash: self.hash.parse()? })
    }
}

impl From<ChainHead> for ChainPointView {
    fn from(head: ChainHead) -> Self {
        let ChainOrder { series, transaction, no } = head.order;
        Self { position: head.position, series, transaction, no, hash: head.hash.to_string() }
    }
}

/// A time of an entry, given in microseconds since 1970.
#[must_use]
pub fn audited_time(microseconds: i64) -> String {
    Timestamp::from_microsecond(microseconds)
        .map_or_else(|_| microseconds.to_string(), |at| format!("{at:.6}"))
}

/// The reverse. What is no time gives one that no entry has, so that the hash differs.
fn microseconds(at: &str) -> i64 {
    let time = at.parse::<Timestamp>().map(Timestamp::as_microsecond);
    time.ok().or_else(|| at.parse().ok()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qlt_15_a_time_is_read_back_to_the_microsecond() {
        let times =
            [0, 1, -1, 1_700_000_000_000_001, -62_135_596_800_000_000, i64::MIN, 9_223_372_036_854_775_000];
        for time in times {
            assert_eq!(microseconds(&audited_time(time)), time, "{}", audited_time(time));
        }
        assert_eq!(audited_time(1_700_000_000_000_001), "2023-11-14T22:13:20.000001Z");
        assert_eq!(microseconds("noon"), i64::MAX);
    }
}
