//! Terms of a request: who asks, why, and on what condition.

use pagurus_domain::order::Status;
use pagurus_domain::order::principal::Principal;
use serde_json::Value;

use crate::caused;
use crate::request::RequestKey;

/// Terms of a request: the principal, the reason, and the condition.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// Who.
    pub by: &'a Principal,
    /// Reason, for the history.
    pub reason: Option<&'a str>,
    /// Status in which an order must still be.
    pub if_status: Option<Status>,
    /// RequestKey by which a repeat is known.
    pub key: Option<&'a RequestKey>,
}

impl Terms<'_> {
    /// The detail of an event with who caused it, and with what a repeat of the request is known by.
    pub(crate) fn detail(&self, detail: Value) -> Value {
        let mut detail = caused(detail, self.by);
        if let Some(key) = self.key {
            detail["key"] = key.name.as_str().into();
            detail["request"] = key.digest.as_str().into();
        }
        detail
    }
}
