//! Terms of a request: principal, reason, and condition.

use pagurus_domain::order::Status;
use pagurus_domain::order::principal::Principal;
use serde_json::Value;

use crate::caused;
use crate::request::RequestKey;

/// Terms of a request: the principal, the reason, and the condition.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// Principal who asks.
    pub by: &'a Principal,
    /// Reason, for the history.
    pub reason: Option<&'a str>,
    /// Status in which an order must still be.
    pub if_status: Option<Status>,
    /// Key by which a repeat is known.
    pub key: Option<&'a RequestKey>,
    /// True where all is taken back in the end: only the outcome is wanted.
    pub dry_run: bool,
}

impl Terms<'_> {
    /// Adds to the detail of an event who caused it, and the key by which a repeat of the request is known.
    pub(crate) fn detail(&self, detail: Value) -> Value {
        let mut detail = caused(detail, self.by);
        if let Some(key) = self.key {
            detail["key"] = key.name.as_str().into();
            detail["request"] = key.digest.as_str().into();
        }
        detail
    }
}
