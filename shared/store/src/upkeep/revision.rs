//! The revision of the rules of operators: stops, orders about called systems, and maintenance windows. The active
//! dispatcher tells which one it goes by.

use crate::sql::statements;
use crate::{Connection, Result, Tx};

statements! {
    // The row's lock makes revisions follow each other as their transactions do.
    REVISE = "UPDATE flow_rules SET revision = revision + 1 RETURNING revision";
    REVISION = "SELECT revision FROM flow_rules";
}

/// Gives the rules the next revision: for callers that change one of them.
pub(crate) async fn revise(tx: &Tx<'_>) -> Result<i64> {
    Ok(tx.query_one(&tx.prepare_cached(REVISE).await?, &[]).await?.get("revision"))
}

/// The revision that the rules have by now.
pub async fn revision(on: &impl Connection) -> Result<i64> {
    Ok(on.query_one(&on.prepare_cached(REVISION).await?, &[]).await?.get("revision"))
}
