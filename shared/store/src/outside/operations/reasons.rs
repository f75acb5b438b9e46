//! Why orders of bulk operations were passed over or refused.

use pagurus_wire::operations::ReasonView;

use crate::row::read;
use crate::sql::statements;
use crate::{Connection, Result};

statements! {
    REASONS = "
        SELECT r.outcome, r.reason, r.orders, o.id FROM operation_reasons r
          LEFT JOIN orders o ON o.no = ANY(ARRAY[r.example])
         WHERE r.operation = $1 ORDER BY r.orders DESC, r.reason LIMIT 100";
}

/// The reasons of an operation, those of most orders first.
pub async fn reasons(client: &impl Connection, no: i64) -> Result<Vec<ReasonView>> {
    let rows = client.query(&client.prepare_cached(REASONS).await?, &[&no]).await?;
    let reasons =
        rows.iter().map(|row| read!(row => ReasonView { outcome, reason, orders; example: row.get("id") }));
    Ok(reasons.collect())
}
