//! The audit log on its way to a receiver outside: how far it has come, and which activator sends.

use std::time::Duration;

use pagurus_domain::id::Incarnation;

use crate::sql::statements;
use crate::{Client, Result};

statements! {
    HOLD = "
        UPDATE audit_export e SET holder = $1, held_until = clock_timestamp() + make_interval(secs => $2)
         WHERE holder = $1 OR held_until < clock_timestamp()
            OR NOT EXISTS (SELECT FROM nodes n WHERE n.incarnation = e.holder AND n.ended_at IS NULL)
        RETURNING greatest(e.position, (SELECT a.position FROM audit_anchor a)) AS position";
    COME_TO = "
        UPDATE audit_export SET position = $2, held_until = clock_timestamp() + make_interval(secs => $3)
         WHERE holder = $1 AND held_until > clock_timestamp() AND position < $2";
}

/// Makes this node the one that sends, for so long; the position behind which it goes on. `None` while another one sends that is
/// not over.
pub async fn hold(client: &Client, node: Incarnation, time: Duration) -> Result<Option<i64>> {
    let statement = client.prepare_cached(HOLD).await?;
    let row = client.query_opt(&statement, &[&node.0, &time.as_secs_f64()]).await?;
    Ok(row.map(|row| row.get("position")))
}

/// Notes that the receiver has taken everything up to a position; false where another node sends by now.
pub async fn come_to(client: &Client, node: Incarnation, position: i64, time: Duration) -> Result<bool> {
    let statement = client.prepare_cached(COME_TO).await?;
    Ok(client.execute(&statement, &[&node.0, &position, &time.as_secs_f64()]).await? == 1)
}
