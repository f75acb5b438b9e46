//! The chain of the audit log: links are added by one sealer at a time, read in pages, and removed from the oldest end only.

use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::audit::chain::{ChainHash, ChainHead, ChainLink, ChainOrder};
use pagurus_wire::audit::chain::{AuditChainView, AuditLinkView, AuditedEntry, audited_time};
use tokio_postgres::{IsolationLevel, Row};

use crate::columns::columns;
use crate::row::read;
use crate::sql::statements;
use crate::{Client, Connection, Error, Result, Tx};

/// Entries without a link that one page names, at most.
const MOST_PUT_IN: i64 = 100;
/// Plans that are right for a log of any length: one that was made while the tables were nearly empty would read all of them.
const BY_KEYS: &str =
    "SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off;
    SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off";
/// Entries that are to get their links are counted up to this number.
const MOST_UNSEALED: i64 = 10_000;

/// Columns of an entry, beside its number. A time that is none and a number of a transaction that is too great, which only
/// another hand can have written, must not stop the reader.
macro_rules! entry {
    () => {
        "least(a.xid::text::numeric, 9223372036854775807)::bigint AS transaction,
         CASE WHEN isfinite(a.at) THEN (extract(epoch FROM a.at) * 1000000)::bigint
              ELSE '-9223372036854775808'::bigint END AS at_microseconds,
         a.action, a.kind, a.subject, a.door, a.name, a.origin, a.reason, a.detail"
    };
}

/// Columns of a point of the chain.
macro_rules! point {
    () => {
        "position, no, series, xid::text::bigint AS xid, hash"
    };
}

statements! {
    // One sealer at a time: two would give the same positions, and the second would fail.
    LOCK = "SELECT pg_try_advisory_xact_lock(hashtextextended('audit_chain', 0)) AS is_ours";
    LAST = concat!("SELECT ", point!(), " FROM audit_chain ORDER BY position DESC LIMIT 1");
    ANCHOR = concat!("SELECT ", point!(), ", entries, forgotten_at FROM audit_anchor");
    BEHIND = concat!("SELECT ", point!(), " FROM audit_chain WHERE position <= $1 ORDER BY position DESC LIMIT 1");
    // Transactions that began from now on have at least this number; a greater one is of another server.
    NEXT_TRANSACTION = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next";
    // Of a transaction below `xmin` everything is seen that ever will be, so nothing comes to stand before what is sealed.
    UNSEALED = concat!("
        SELECT a.no, ", entry!(), " FROM audit a
         WHERE (a.xid, a.no) > ($1::bigint::text::xid8, $2)
           AND (a.xid < (SELECT pg_snapshot_xmin(pg_current_snapshot()))
                OR a.xid >= (SELECT pg_snapshot_xmax(pg_current_snapshot())))
           AND NOT EXISTS (SELECT FROM audit_chain c WHERE c.no = a.no)
         ORDER BY a.xid, a.no LIMIT $3");
    APPEND = "
        INSERT INTO audit_chain (position, no, series, xid, hash)
        SELECT t.position, t.no, t.series, t.xid::text::xid8, t.hash
          FROM unnest($1::bigint[], $2::bigint[], $3::integer[], $4::bigint[], $5::bytea[])
               AS t (position, no, series, xid, hash)";
    LINKS = concat!("
        SELECT c.position, c.no, c.series, c.xid::text::bigint AS xid, c.hash, a.no IS NOT NULL AS is_there, ", entry!(), "
          FROM audit_chain c LEFT JOIN audit a ON a.no = c.no
         WHERE c.position > $1 ORDER BY c.position LIMIT $2");
    PUT_IN = "
        SELECT a.no FROM audit a
         WHERE (a.xid, a.no) > ($1::bigint::text::xid8, $2) AND (a.xid, a.no) < ($3::bigint::text::xid8, $4)
           AND NOT EXISTS (SELECT FROM audit_chain c WHERE c.no = a.no)
         ORDER BY a.xid, a.no LIMIT $5";
    WAITING = "
        SELECT count(*) AS entries,
               extract(epoch FROM clock_timestamp() - min(first.at) FILTER (WHERE isfinite(first.at)))::float8 AS seconds
          FROM (SELECT a.at FROM audit a
                 WHERE (a.xid, a.no) > ($1::bigint::text::xid8, $2)
                   AND NOT EXISTS (SELECT FROM audit_chain c WHERE c.no = a.no)
                 ORDER BY a.xid, a.no LIMIT $3) AS first";
    FORGET = "SELECT audit_forget(make_interval(secs => $1), $2) AS links";
    // What a receiver is to get stays until it has it.
    FORGET_EXPORTED = "
        SELECT audit_forget(make_interval(secs => $1), least($2, greatest(e.position - a.position, 0))) AS links
          FROM audit_export e, audit_anchor a";
}

/// Result of a turn of the sealer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SealOutcome {
    /// The last link.
    pub head: ChainHead,
    /// Entries that got their links.
    pub sealed: usize,
    /// Age of the oldest entry without a link, in seconds.
    pub waits: Option<f64>,
}

/// Gives the next entries their links, at most `limit`; `None` while another sealer is at it. Nobody has to wait for it:
/// entries of a transaction that is open, and of later ones, get theirs after its end.
///
/// # Errors
/// The database fails, or a link is none.
pub async fn seal(client: &mut Client, limit: i64) -> Result<Option<SealOutcome>> {
    let tx = client.transaction().await?;
    if !tx.query_one(&tx.prepare_cached(LOCK).await?, &[]).await?.get::<_, bool>("is_ours") {
        return Ok(None);
    }
    tx.batch_execute(BY_KEYS).await?;
    let mut head = head(&tx).await?;
    let (series, from) = series(&tx, &head).await?;
    let rows = tx.query(&tx.prepare_cached(UNSEALED).await?, &[&from.0, &from.1, &limit]).await?;
    let mut links: Vec<ChainLink> = Vec::with_capacity(rows.len());
    for row in &rows {
        let entry = read_entry(row);
        let link = head.next(series, &entry.chained(row.get("no")));
        head = link.into();
        links.push(link);
    }
    append(&tx, &links).await?;
    let (waiting, _) = unsealed(&tx, &head).await?;
    tx.commit().await?;
    Ok(Some(SealOutcome { head, sealed: links.len(), waits: waiting }))
}

/// The series of the next entries, and the order behind which they stand. A server that counts transactions from the beginning
/// again was made of a dump.
async fn series(tx: &Tx<'_>, head: &ChainHead) -> Result<(i32, (i64, i64))> {
    let next: i64 = tx.query_one(&tx.prepare_cached(NEXT_TRANSACTION).await?, &[]).await?.get("next");
    let order = head.order;
    let is_same = order.transaction < next;
    Ok(if is_same { (order.series, (order.transaction, order.no)) } else { (order.series + 1, (0, 0)) })
}

async fn append(tx: &Tx<'_>, links: &[ChainLink]) -> Result<()> {
    if links.is_empty() {
        return Ok(());
    }
    let columns = columns!(link in links => {
        position: i64 = link.position,
        no: i64 = link.order.no,
        series: i32 = link.order.series,
        xid: i64 = link.order.transaction,
        hash: &[u8] = &link.hash.0[..],
    });
    columns.execute(tx, APPEND, &[]).await?;
    Ok(())
}

/// The last link; where retention has removed all, the last of those.
///
/// # Errors
/// The database fails, or the link is none.
pub async fn head(client: &impl Connection) -> Result<ChainHead> {
    match client.query_opt(&client.prepare_cached(LAST).await?, &[]).await? {
        Some(row) => read_point(&row),
        None => Ok(anchor(client).await?.0),
    }
}

/// The last link that retention has removed, the number of entries that it has removed in all, and when it last did.
async fn anchor(client: &impl Connection) -> Result<(ChainHead, i64, Option<Timestamp>)> {
    let row = client.query_one(&client.prepare_cached(ANCHOR).await?, &[]).await?;
    Ok((read_point(&row)?, row.get("entries"), row.get("forgotten_at")))
}

/// Age in seconds of the oldest entry without a link, and the number of those.
async fn unsealed(client: &impl Connection, head: &ChainHead) -> Result<(Option<f64>, i64)> {
    let statement = client.prepare_cached(WAITING).await?;
    let order = head.order;
    let row = client.query_one(&statement, &[&order.transaction, &order.no, &MOST_UNSEALED]).await?;
    Ok((row.get("seconds"), row.get("entries")))
}

/// Links behind a position, by position, with their entries.
///
/// # Errors
/// The database fails, or a link is none.
pub async fn links(client: &impl Connection, after: i64, limit: i64) -> Result<Vec<AuditLinkView>> {
    let rows = client.query(&client.prepare_cached(LINKS).await?, &[&after, &limit]).await?;
    rows.iter()
        .map(|row| {
            let head = read_point(row)?;
            let link = ChainLink { position: head.position, order: head.order, hash: head.hash };
            let entry = row.get::<_, bool>("is_there").then(|| read_entry(row));
            Ok(AuditLinkView::of(&link, entry))
        })
        .collect()
}

/// A page of the chain, as it was at one moment: behind a position, or from the oldest link on.
///
/// # Errors
/// The database fails, or a link is none.
pub async fn page(client: &mut Client, after: Option<i64>, limit: i64) -> Result<AuditChainView> {
    let begin = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead).read_only(true);
    let tx = begin.start().await?;
    tx.batch_execute(BY_KEYS).await?;
    let (anchor, forgotten, forgotten_at) = anchor(&tx).await?;
    let after = after.unwrap_or(anchor.position);
    let mut links = links(&tx, after, limit).await?;
    // A page is of one series: only within one is what stands between two links known by its order.
    let series = links.first().map_or(0, |link| link.series);
    let is_full = i64::try_from(links.len()).is_ok_and(|count| count == limit);
    let of_series = links.iter().take_while(|link| link.series == series).count();
    let is_cut = of_series < links.len();
    links.truncate(of_series);
    let put_in = match links.last() {
        Some(last) => put_in(&tx, after.max(anchor.position), last).await?,
        None => Vec::new(),
    };
    let head = head(&tx).await?;
    let (unsealed_seconds, unsealed) = unsealed(&tx, &head).await?;
    let next = links.last().filter(|_| is_full || is_cut).map(|link| link.position);
    tx.commit().await?;
    Ok(AuditChainView {
        anchor: anchor.into(),
        forgotten,
        forgotten_at,
        links,
        put_in,
        head: head.into(),
        unsealed,
        unsealed_seconds,
        next,
    })
}

/// Numbers of entries between a position and a link that have no link of their own.
async fn put_in(tx: &Tx<'_>, after: i64, last: &AuditLinkView) -> Result<Vec<i64>> {
    let before = tx.query_opt(&tx.prepare_cached(BEHIND).await?, &[&after]).await?;
    let before = before.as_ref().map(read_point).transpose()?;
    // The first page of a series looks from its beginning on.
    let from = before.map(|head| head.order).filter(|order| order.series == last.series).unwrap_or_default();
    let statement = tx.prepare_cached(PUT_IN).await?;
    let range: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
        [&from.transaction, &from.no, &last.transaction, &last.no, &MOST_PUT_IN];
    Ok(tx.query(&statement, &range).await?.iter().map(|row| row.get("no")).collect())
}

/// Removes the oldest entries with their links, at most `limit`, of those older than this; returns their number. Where a receiver
/// outside is to get them all, those stay that it does not have.
///
/// # Errors
/// The database fails, or the time is below the 30 days that it keeps them at least.
pub async fn forget(client: &Client, older_than: Duration, limit: i64, is_exported: bool) -> Result<u64> {
    let statement = client.prepare_cached(if is_exported { FORGET_EXPORTED } else { FORGET }).await?;
    let row = client.query_one(&statement, &[&older_than.as_secs_f64(), &limit]).await?;
    Ok(u64::try_from(row.get::<_, i64>("links")).unwrap_or_default())
}

fn read_point(row: &Row) -> Result<ChainHead> {
    let bytes: &[u8] = row.get("hash");
    let hash = ChainHash::of_bytes(bytes)
        .ok_or_else(|| Error::broken("audit_chain.hash", format!("{} bytes", bytes.len())))?;
    let order = ChainOrder { series: row.get("series"), transaction: row.get("xid"), no: row.get("no") };
    Ok(ChainHead { position: row.get("position"), order, hash })
}

fn read_entry(row: &Row) -> AuditedEntry {
    read!(row => AuditedEntry {
        transaction, action, kind, subject, door, name, origin, reason, detail;
        at: audited_time(row.get("at_microseconds"))
    })
}
