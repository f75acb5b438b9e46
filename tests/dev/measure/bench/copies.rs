//! Many orders at once, made in the database: copies of one that the engine itself has left there.
//! Never invents a row: whatever the schema becomes, the copies are what the engine would have written.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio_postgres::Client;

/// Tables that may hold rows of an order that nobody runs.
const PARTS: [&str; 8] =
    ["payloads", "contexts", "due", "deadlines", "history", "ready", "failures", "search_values"];
/// Copies of one statement, so that no transaction grows without bound.
const CHUNK: i64 = 250_000;
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until the order of this id has this status; its number.
pub async fn template(client: &Client, id: &str, status: &str) -> Result<i64> {
    let deadline = std::time::Instant::now() + PATIENCE;
    loop {
        let row = client
            .query_opt(
                "SELECT no FROM orders WHERE id = $1 AND status = $2
                    AND NOT EXISTS (SELECT FROM outbox WHERE order_no = no)",
                &[&id, &status],
            )
            .await?;
        if let Some(row) = row {
            return Ok(row.get(0));
        }
        if std::time::Instant::now() > deadline {
            bail!("order {id} has not become `{status}` in {PATIENCE:?}");
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Makes copies of an order; nothing else may register orders meanwhile. The lowest number of the copies.
pub async fn make(client: &Client, template: i64, count: i64) -> Result<i64> {
    let mut lowest = None;
    let mut made = 0;
    while made < count {
        let chunk = CHUNK.min(count - made);
        let (first, last) = copy_orders(client, template, chunk).await?;
        for table in PARTS {
            copy_part(client, table, template, first, last).await?;
        }
        lowest = lowest.or(Some(first));
        made += chunk;
        eprintln!("    {made} of {count} copies");
    }
    // The state that it would have after the days that this number of orders takes.
    client.batch_execute("VACUUM ANALYZE").await?;
    lowest.context("no copies were asked for")
}

async fn copy_orders(client: &Client, template: i64, count: i64) -> Result<(i64, i64)> {
    let columns = columns(client, "orders", &["no", "id"]).await?;
    let statement = format!(
        "WITH made AS (
            INSERT INTO orders (id, {columns})
            SELECT o.id || '-' || c, {columns} FROM orders o, generate_series($2::bigint, $2 + $3 - 1) AS c
             WHERE o.no = $1 RETURNING no)
         SELECT min(no), max(no), count(*) FROM made"
    );
    let from: i64 = client.query_one("SELECT max(no) FROM orders", &[]).await?.get(0);
    let row = client.query_one(&statement, &[&template, &from, &count]).await?;
    let (first, last, made): (i64, i64, i64) = (row.get(0), row.get(1), row.get(2));
    if made != count || last - first + 1 != count {
        bail!("somebody else registered orders meanwhile");
    }
    Ok((first, last))
}

async fn copy_part(client: &Client, table: &str, template: i64, first: i64, last: i64) -> Result<()> {
    let columns = columns(client, table, &["order_no"]).await?;
    let statement = format!(
        "INSERT INTO {table} (order_no, {columns})
         SELECT c, {columns} FROM {table} p, generate_series($2::bigint, $3::bigint) AS c WHERE p.order_no = $1"
    );
    client.execute(&statement, &[&template, &first, &last]).await?;
    Ok(())
}

async fn columns(client: &Client, table: &str, except: &[&str]) -> Result<String> {
    let rows = client
        .query(
            "SELECT column_name::text FROM information_schema.columns
              WHERE table_schema = 'public' AND table_name::text = $1 AND column_name::text <> ALL($2) ORDER BY ordinal_position",
            &[&table, &except],
        )
        .await?;
    let names: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    Ok(names.join(", "))
}
