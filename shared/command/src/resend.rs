//! Repeat of notifications that have not been confirmed.

use pagurus_domain::audit::AuditKind;
use pagurus_domain::order::principal::Principal;
use pagurus_runtime::trouble::store_problem;
use pagurus_store::Error;
use pagurus_store::hot::control;
use pagurus_store::hot::history;
use pagurus_store::hot::outbox;
use pagurus_store::lists::audit::AuditEntry;
use pagurus_wire::problem::Problem;
use serde_json::json;

use crate::{Commands, caused};

impl Commands {
    /// Sends the unconfirmed notifications of an order again, also those that were parked; their number.
    ///
    /// # Errors
    /// The problem to answer with: not found, or not available.
    pub async fn resend(&self, id: &str, by: &Principal, reason: Option<&str>) -> Result<u64, Problem> {
        match self.try_resend(id, by, reason).await {
            Ok(Some(count)) => Ok(count),
            Ok(None) => Err(Problem::no_order(id)),
            Err(error) => Err(store_problem(&self.host, "resend", &error)),
        }
    }

    async fn try_resend(&self, id: &str, by: &Principal, reason: Option<&str>) -> Result<Option<u64>, Error> {
        let mut client = self.host.store.recovery().await?;
        let tx = client.transaction().await?;
        let Some(order) = control::lock(&tx, id).await? else { return Ok(None) };
        let count = outbox::shown::resend(&tx, order.head.no).await?;
        let detail = caused(json!({"notifications": count, "reason": reason}), by).to_string();
        history::append(&tx, order.head.no, "resent", by.source(), &detail).await?;
        AuditEntry::new("resend", (AuditKind::Order, id), by, reason)
            .with(&json!({"notifications": count}))
            .record(&tx)
            .await?;
        tx.commit().await?;
        Ok(Some(count))
    }
}
