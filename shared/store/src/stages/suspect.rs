//! The stage that a worker computes alone, because a worker died with it before.

use pagurus_domain::id::{OrderNo, Pass};

use crate::sql::statements;
use crate::{Connection, Result};

statements! {
    COMPUTED = "UPDATE running SET is_computed = $3 WHERE order_no = $1 AND pass = $2";
}

/// Notes that a stage is being computed, or no longer; false where it is not ours any more.
///
/// # Errors
/// The database fails.
pub async fn note_computed(
    client: &impl Connection,
    no: OrderNo,
    pass: Pass,
    is_computed: bool,
) -> Result<bool> {
    let statement = client.prepare_cached(COMPUTED).await?;
    Ok(client.execute(&statement, &[&no.0, &pass.0, &is_computed]).await? > 0)
}
