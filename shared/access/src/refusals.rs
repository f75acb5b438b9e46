//! Changes that were refused to somebody who is known, for want of the right to them.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use pagurus_domain::access::Identity;
use pagurus_domain::audit::AuditKind;
use pagurus_domain::order::principal::Principal;
use pagurus_store::Error;
use pagurus_store::lists::audit::AuditEntry;
use serde_json::json;

use crate::{Access, lock};

/// Time within which one refusal stands for all that are like it.
const ONCE_WITHIN: Duration = Duration::from_secs(60);
/// Refusals that are remembered for that time. Nothing more is written meanwhile.
const MOST: usize = 1000;
/// Bytes of a request that an entry shows.
const MAX_REQUEST: usize = 500;

/// A change that was refused.
pub struct RefusedChange<'a> {
    /// Somebody who asked for it.
    pub identity: &'a Identity,
    /// Address of the sender.
    pub from: Option<String>,
    /// Method and path of the operation, as the API's document has them.
    pub operation: String,
    /// Method and path of the request.
    pub request: String,
}

/// Refusals of the last minute, by principal and operation: a program that asks in a loop must not fill the audit log.
#[derive(Default)]
pub(crate) struct RecentRefusals(HashMap<(String, String), Instant>);

impl RecentRefusals {
    /// Remembers a refusal; false if it is like one of the last minute, or there were too many.
    fn is_new(&mut self, principal: &str, operation: &str, now: Instant) -> bool {
        self.0.retain(|_, at| now.duration_since(*at) < ONCE_WITHIN);
        let key = (principal.to_owned(), operation.to_owned());
        if self.0.len() >= MOST || self.0.contains_key(&key) {
            return false;
        }
        self.0.insert(key, now);
        true
    }
}

impl Access {
    /// Writes a refused change into the audit log, once a minute for each principal and operation. Where the database fails, the log has it
    /// alone.
    pub async fn note_refusal(&self, refused: RefusedChange<'_>) {
        let RefusedChange { identity, from, operation, request } = refused;
        let by = Principal::http(identity.principal(), from);
        let name = by.name.as_deref().unwrap_or_default();
        if !lock(&self.0.refusals).is_new(name, &operation, Instant::now()) {
            return;
        }
        let request = &request[..request.floor_char_boundary(MAX_REQUEST)];
        tracing::warn!(name, request, role = identity.role.as_str(), "a change was refused");
        let written = async {
            let mut client = self.0.host.store.api().await?;
            let tx = client.transaction().await?;
            let entry = AuditEntry::new("refused", (AuditKind::Request, request), &by, None);
            entry.with(&json!({"role": identity.role.as_str()})).record(&tx).await?;
            Ok::<_, Error>(tx.commit().await?)
        };
        if let Err(error) = written.await {
            self.failed(&error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ord_24_a_refusal_is_written_once_a_minute_for_each_principal_and_operation_and_in_bounds() {
        let (mut recent, start) = (RecentRefusals::default(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        assert!(recent.is_new("token:shop", "POST /v1/flows/stop", start));
        assert!(!recent.is_new("token:shop", "POST /v1/flows/stop", after(59)));
        assert!(recent.is_new("token:shop", "POST /v1/flows/resume", after(59)));
        assert!(recent.is_new("token:bank", "POST /v1/flows/stop", after(59)));
        assert!(recent.is_new("token:shop", "POST /v1/flows/stop", after(60)));
        let new = (0..2 * MOST).filter(|number| recent.is_new(&number.to_string(), "", after(60))).count();
        assert_eq!(recent.0.len(), MOST);
        assert_eq!(new, MOST - 3);
        assert!(recent.is_new("token:late", "", after(120)));
    }
}
