//! Marks of orders whose rows contradict each other in a way that only a person can put right.

use jiff::Timestamp;
use pagurus_domain::id::OrderNo;

use crate::sql::statements;
use crate::{Client, Result, Tx};

statements! {
    // A mark that says the same stays as it is, with its time.
    MARK = "
        INSERT INTO inconsistencies AS i (order_no, findings) VALUES ($1, $2)
        ON CONFLICT (order_no) DO UPDATE SET findings = excluded.findings, found_at = excluded.found_at
         WHERE i.findings <> excluded.findings
        RETURNING order_no";
    UNMARK = "DELETE FROM inconsistencies WHERE order_no = ANY($1::bigint[])";
    MARKED = "SELECT order_no FROM inconsistencies WHERE order_no = ANY($1::bigint[])";
    OF_ORDER = "SELECT findings, found_at FROM inconsistencies WHERE order_no = $1";
    COUNT_MARKS = "SELECT count(*) AS marks FROM inconsistencies";
}

/// Content of a mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InconsistencyMark {
    /// The names of what was found.
    pub findings: Vec<String>,
    /// Time at which it was found.
    pub found_at: Timestamp,
}

/// Marks an order; false where it says the same already.
pub async fn mark(tx: &Tx<'_>, no: OrderNo, findings: &[&str]) -> Result<bool> {
    Ok(tx.query_opt(&tx.prepare_cached(MARK).await?, &[&no.0, &findings]).await?.is_some())
}

/// Removes the marks of orders; how many had one.
pub async fn unmark(tx: &Tx<'_>, nos: &[i64]) -> Result<u64> {
    Ok(tx.execute(&tx.prepare_cached(UNMARK).await?, &[&nos]).await?)
}

/// Orders among these that have a mark.
pub async fn marked(client: &Client, nos: &[i64]) -> Result<Vec<i64>> {
    let rows = client.query(&client.prepare_cached(MARKED).await?, &[&nos]).await?;
    Ok(rows.iter().map(|row| row.get("order_no")).collect())
}

/// The mark of an order, if it has one.
pub async fn of_order(client: &Client, no: OrderNo) -> Result<Option<InconsistencyMark>> {
    let row = client.query_opt(&client.prepare_cached(OF_ORDER).await?, &[&no.0]).await?;
    Ok(row.map(|row| InconsistencyMark { findings: row.get("findings"), found_at: row.get("found_at") }))
}

/// Number of orders that have a mark.
pub async fn count(client: &Client) -> Result<i64> {
    Ok(client.query_one(&client.prepare_cached(COUNT_MARKS).await?, &[]).await?.get("marks"))
}
