//! Attempts at messages that the broker had handed out before: a message with which processes die is known by those
//! that never ended.

use std::time::Duration;

use pagurus_domain::number::saturated;

use crate::sql::statements;
use crate::{Client, Result};

statements! {
    BEGIN = "
        INSERT INTO message_attempts AS a (message) VALUES ($1)
        ON CONFLICT (message) DO UPDATE SET attempts = a.attempts + 1, at = now()
        RETURNING attempts";
    DONE = "DELETE FROM message_attempts WHERE message = $1";
    // The two see the same rows, and never the same one.
    TAKE_BACK = "
        WITH ended AS (DELETE FROM message_attempts WHERE message = $1 AND attempts <= 1)
        UPDATE message_attempts SET attempts = attempts - 1 WHERE message = $1 AND attempts > 1";
    FORGET = "DELETE FROM message_attempts WHERE at < now() - make_interval(secs => $1)";
}

/// The end of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptEnd {
    /// The message is handled: nothing is remembered of it.
    Done,
    /// The message is to be handled later; what other attempts left stays.
    TakenBack,
}

/// Begins an attempt; how many began before it and never ended.
pub async fn begin(client: &Client, message: &[u8]) -> Result<u32> {
    let row = client.query_one(&client.prepare_cached(BEGIN).await?, &[&message]).await?;
    let attempts: i32 = row.get("attempts");
    Ok(saturated::<u32>(attempts - 1))
}

/// Ends an attempt.
pub async fn end(client: &Client, message: &[u8], end: AttemptEnd) -> Result<()> {
    let sql = match end {
        AttemptEnd::Done => DONE,
        AttemptEnd::TakenBack => TAKE_BACK,
    };
    client.execute(&client.prepare_cached(sql).await?, &[&message]).await?;
    Ok(())
}

/// Forgets attempts that never ended, and that nobody has repeated for so long. There is one for each death of a process.
pub async fn forget(client: &Client, older_than: Duration) -> Result<u64> {
    let statement = client.prepare_cached(FORGET).await?;
    Ok(client.execute(&statement, &[&older_than.as_secs_f64()]).await?)
}
