//! Stages that may end their worker: a death is put down to the stage that the worker computed.

use std::time::Duration;

use pagurus_domain::id::{Attempt, OrderNo};
use pagurus_domain::number::saturated;

use crate::columns::columns;
use crate::sql::statements;
use crate::{Client, Connection, Result, Tx};

statements! {
    OF_ORDERS = "SELECT order_no, attempt, deaths, died_on, is_computed FROM suspects WHERE order_no = ANY($1::bigint[]) ORDER BY order_no";
    KEEP = "
        INSERT INTO suspects (order_no, attempt, deaths, died_on, is_computed)
        SELECT no, attempt, deaths, died_on, false
          FROM unnest($1::bigint[], $2::integer[], $3::smallint[], $4::text[]) AS t (no, attempt, deaths, died_on)
         ORDER BY no
        ON CONFLICT (order_no) DO UPDATE
           SET attempt = excluded.attempt, deaths = excluded.deaths, died_on = excluded.died_on, is_computed = false, since = now()";
    // A worker that was given up for lost changes nothing.
    BEGIN = "
        INSERT INTO suspects AS s (order_no, attempt, is_computed) VALUES ($1, $2, true)
        ON CONFLICT (order_no) DO UPDATE
           SET deaths = CASE WHEN s.attempt = excluded.attempt THEN s.deaths ELSE 0 END,
               died_on = CASE WHEN s.attempt = excluded.attempt THEN s.died_on END,
               attempt = excluded.attempt, is_computed = true, since = now()
         WHERE s.attempt <= excluded.attempt";
    END = "UPDATE suspects SET is_computed = false WHERE order_no = $1 AND attempt = $2";
    CLEAR = "DELETE FROM suspects WHERE order_no = $1 AND attempt = $2";
    FORGET = "
        DELETE FROM suspects s
         WHERE since < now() - make_interval(secs => $1)
           AND NOT EXISTS (SELECT FROM running r WHERE r.order_no = ANY(ARRAY[s.order_no]) AND r.attempt = s.attempt)
           AND NOT EXISTS (SELECT FROM ready r WHERE r.order_no = ANY(ARRAY[s.order_no]) AND r.attempt = s.attempt)";
}

/// A hand-out of a stage: the order, and the number.
pub type StageHandOut = (OrderNo, Attempt);

/// Suspected stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuspectedStage {
    /// Hand-out of the stage.
    pub hand_out: StageHandOut,
    /// Workers that died while they computed it.
    pub deaths: u16,
    /// Name of the last of them.
    pub died_on: Option<String>,
    /// True while its worker computes it.
    pub is_computed: bool,
}

/// Reads the suspects among the stages of these orders.
pub async fn of_orders(client: &impl Connection, nos: &[i64]) -> Result<Vec<SuspectedStage>> {
    let rows = client.query(&client.prepare_cached(OF_ORDERS).await?, &[&nos]).await?;
    let read = |row: &tokio_postgres::Row| SuspectedStage {
        hand_out: (OrderNo(row.get("order_no")), Attempt(row.get("attempt"))),
        deaths: saturated::<u16>(row.get::<_, i16>("deaths")),
        died_on: row.get("died_on"),
        is_computed: row.get("is_computed"),
    };
    Ok(rows.iter().map(read).collect())
}

/// Keeps suspects for their next hand-outs; none of them is computed yet.
pub async fn keep(tx: &Tx<'_>, suspects: &[SuspectedStage]) -> Result<()> {
    if suspects.is_empty() {
        return Ok(());
    }
    let columns = columns!(suspect in suspects => {
        no: i64 = suspect.hand_out.0.0,
        attempt: i32 = suspect.hand_out.1.0,
        deaths: i16 = saturated::<i16>(suspect.deaths),
        died_on: Option<&str> = suspect.died_on.as_deref(),
    });
    columns.execute(tx, KEEP, &[]).await?;
    Ok(())
}

/// Notes that the stage is being computed.
pub async fn begin(client: &Client, (no, attempt): StageHandOut) -> Result<()> {
    client.execute(&client.prepare_cached(BEGIN).await?, &[&no.0, &attempt.0]).await?;
    Ok(())
}

/// Notes that the stage is no longer being computed; its worker died before, and may have died of it.
pub async fn end(client: &Client, (no, attempt): StageHandOut) -> Result<()> {
    client.execute(&client.prepare_cached(END).await?, &[&no.0, &attempt.0]).await?;
    Ok(())
}

/// Clears a stage of all suspicion.
pub async fn clear(client: &Client, (no, attempt): StageHandOut) -> Result<()> {
    client.execute(&client.prepare_cached(CLEAR).await?, &[&no.0, &attempt.0]).await?;
    Ok(())
}

/// Forgets stages that are over, of those noted this long ago.
pub async fn forget(client: &Client, older_than: Duration) -> Result<u64> {
    let statement = client.prepare_cached(FORGET).await?;
    Ok(client.execute(&statement, &[&older_than.as_secs_f64()]).await?)
}
