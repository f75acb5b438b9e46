//! Requests at whose place a stage asks something else: it was run again, and has taken another way.

use uuid::Uuid;

use crate::sql::statements;
use crate::{Result, Tx};

statements! {
    // What the first run asked leaves the place, and is given up.
    LEAVE = "
        WITH gone AS (
        UPDATE requests r
           SET hand_out = (SELECT least(min(o.hand_out), 0) - 1 FROM requests o
                            WHERE o.order_no = ANY(ARRAY[r.order_no]) AND o.life = r.life AND o.visit = r.visit AND o.action = r.action),
               status = CASE WHEN r.status = 'answered' THEN 'answered' ELSE 'canceled' END,
               closed_at = coalesce(r.closed_at, now()), awaited = false
         WHERE r.id = ANY($1::uuid[])
        RETURNING id, order_no, life, name, cancel, status)
        INSERT INTO cancellations (id, request, order_no, life, name, call, next_at)
        SELECT gen_random_uuid(), id, order_no, life, name, cancel, now() FROM gone
         WHERE cancel IS NOT NULL AND status = 'canceled'";
}

/// Makes the places of these requests free.
pub(super) async fn leave(tx: &Tx<'_>, requests: &[Uuid]) -> Result<()> {
    tx.execute(&tx.prepare_cached(LEAVE).await?, &[&requests]).await?;
    Ok(())
}
