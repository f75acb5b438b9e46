//! The clock of the database, by which times of different nodes are compared.

use jiff::Timestamp;

use crate::sql::statements;
use crate::{Connection, Result};

statements! {
    NOW = "SELECT clock_timestamp() AS now";
}

/// Reads the clock.
///
/// # Errors
/// The database fails.
pub async fn now(on: &impl Connection) -> Result<Timestamp> {
    Ok(on.query_one(&on.prepare_cached(NOW).await?, &[]).await?.get("now"))
}
