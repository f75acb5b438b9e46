//! Why orders of bulk operations were passed over or refused.

use crate::sql::statements;
use crate::{Connection, Result};

statements! {
    REASONS = "
        SELECT r.outcome, r.reason, r.orders, o.id FROM operation_reasons r
          LEFT JOIN orders o ON o.no = ANY(ARRAY[r.example])
         WHERE r.operation = $1 ORDER BY r.orders DESC, r.reason LIMIT 100";
}

/// Why orders were passed over or refused.
#[derive(Clone, Debug)]
pub struct StoredReason {
    /// Word of the outcome.
    pub outcome: String,
    /// Reason.
    pub reason: String,
    /// Number of orders.
    pub orders: i64,
    /// Id of the newest.
    pub example: Option<String>,
}

/// The reasons of an operation, those of most orders first.
///
/// # Errors
/// The database fails.
pub async fn reasons(client: &impl Connection, no: i64) -> Result<Vec<StoredReason>> {
    let rows = client.query(&client.prepare_cached(REASONS).await?, &[&no]).await?;
    let reasons = rows.iter().map(|row| StoredReason {
        outcome: row.get("outcome"),
        reason: row.get("reason"),
        orders: row.get("orders"),
        example: row.get("id"),
    });
    Ok(reasons.collect())
}
