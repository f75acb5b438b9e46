//! Questions of running stages to the world, as far as they have waited for it for a while: for people, never to decide anything.

use jiff::Timestamp;
use pagurus_domain::id::{Attempt, Incarnation, OrderNo};
use pagurus_domain::number::saturated;
use pagurus_scenario::stage::Asking;
use pagurus_wire::parts::AskingView;
use tokio_postgres::Row;

use crate::columns::columns;
use crate::row::read;
use crate::sql::statements;
use crate::{Client, Result, Tx};

statements! {
    FORGET_ANSWERED = "DELETE FROM asking WHERE node = $1 AND NOT (order_no = ANY($2::bigint[]))";
    // A stage that was given to another node meanwhile has a greater number there.
    WRITE = "
        INSERT INTO asking AS a (order_no, attempt, state, action, kind, name, target, tries, since, node)
        SELECT t.order_no, t.attempt, t.state, t.action, t.kind, t.name, t.target, t.tries, t.since, $10
          FROM unnest($1::bigint[], $2::integer[], $3::text[], $4::integer[], $5::text[], $6::text[], $7::text[], $8::integer[],
                      $9::timestamptz[]) AS t (order_no, attempt, state, action, kind, name, target, tries, since)
         ORDER BY t.order_no
        ON CONFLICT (order_no) DO UPDATE
           SET attempt = excluded.attempt, state = excluded.state, action = excluded.action, kind = excluded.kind,
               name = excluded.name, target = excluded.target, tries = excluded.tries, since = excluded.since, node = excluded.node
         WHERE a.attempt <= excluded.attempt AND (a.attempt, a.since, a.node) <> (excluded.attempt, excluded.since, excluded.node)";
    ASKED_BY = "SELECT state, action, kind, name, target, tries, since FROM asking WHERE order_no = $1 AND attempt = $2";
    FORGET_ENDED = "
        DELETE FROM asking a
         WHERE NOT EXISTS (SELECT FROM running w WHERE w.order_no = ANY(ARRAY[a.order_no]) AND w.attempt >= a.attempt)";
}

/// Writes what the stages of a node ask of the world, in place of what it wrote before.
pub async fn write(tx: &Tx<'_>, node: Incarnation, asking: &[(OrderNo, Attempt, Asking)]) -> Result<()> {
    let nos: Vec<i64> = asking.iter().map(|(no, ..)| no.0).collect();
    tx.execute(&tx.prepare_cached(FORGET_ANSWERED).await?, &[&node.0, &nos]).await?;
    if asking.is_empty() {
        return Ok(());
    }
    let columns = columns!((no, attempt, asking) in asking => {
        order_no: i64 = no.0,
        attempt: i32 = attempt.0,
        state: &str = asking.state.as_str(),
        action: i32 = saturated::<i32>(asking.action),
        kind: &str = asking.kind,
        name: Option<&str> = asking.name.as_deref(),
        target: &str = asking.target.as_str(),
        tries: i32 = saturated::<i32>(asking.attempt),
        since: Timestamp = asking.at,
    });
    columns.execute(tx, WRITE, &[&node.0]).await?;
    Ok(())
}

/// The question of the stage of an order with this hand-out, where it has waited for a while.
pub async fn of_order(client: &Client, no: OrderNo, attempt: Attempt) -> Result<Option<AskingView>> {
    let row = client.query_opt(&client.prepare_cached(ASKED_BY).await?, &[&no.0, &attempt.0]).await?;
    let count = |row: &Row, column: &str| saturated::<u32>(row.get::<_, i32>(column));
    Ok(row.as_ref().map(|row| {
        read!(row => AskingView {
            state, kind, name, target, since;
            action: count(row, "action"),
            attempt: count(row, "tries")
        })
    }))
}

/// Removes what nodes left behind that are gone; how many rows it were.
pub async fn forget_ended(client: &Client) -> Result<u64> {
    Ok(client.execute(&client.prepare_cached(FORGET_ENDED).await?, &[]).await?)
}
