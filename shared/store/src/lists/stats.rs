//! Counts of each minute, for charts. Each node adds what it counted; nothing here is read to decide anything.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::id::Incarnation;

use crate::sql::statements;
use crate::{Connection, Result};

statements! {
    // In the order of the key: nodes that add to the same minute never wait for each other in a circle. A
    // turn that was added before adds nothing.
    ADD = "
        WITH fresh AS (
            INSERT INTO stats_turns AS t (node, turn, at) VALUES ($1, $2, clock_timestamp())
            ON CONFLICT (node) DO UPDATE SET turn = excluded.turn, at = excluded.at WHERE t.turn < excluded.turn
            RETURNING node),
        added AS (
            INSERT INTO stats AS s (what, minute, key, count, sum, buckets)
            SELECT d.what, date_trunc('minute', now()) - make_interval(mins => d.minutes_ago), d.key, d.count, d.sum, d.buckets::bigint[]
              FROM fresh, unnest($3::text[], $4::text[], $5::integer[], $6::bigint[], $7::double precision[], $8::text[])
                   AS d (what, key, minutes_ago, count, sum, buckets)
             ORDER BY 1, 2, 3
            ON CONFLICT (what, minute, key) DO UPDATE
               SET count = s.count + excluded.count, sum = s.sum + excluded.sum,
                   buckets = ARRAY(SELECT coalesce(one, 0) + coalesce(other, 0)
                                     FROM unnest(s.buckets, excluded.buckets) WITH ORDINALITY AS b (one, other, place)
                                    ORDER BY place))
        SELECT EXISTS (SELECT FROM fresh) AS is_new";
    SERIES = "
        SELECT minute, key, count AS times, sum AS total, buckets FROM stats
         WHERE what = $1 AND minute >= $2 AND minute < $3 ORDER BY minute, key LIMIT $4";
    KEYS = "SELECT DISTINCT key FROM stats WHERE what = ANY($1) AND minute >= $2 ORDER BY key LIMIT $3";
    OF_KEYS = "
        SELECT what, minute, key, count AS times, sum AS total FROM stats
         WHERE what = ANY($1) AND minute >= $2 AND minute < $3 AND key = ANY($4) ORDER BY minute, key, what LIMIT $5";
    // The newest minutes of each series, a bounded number of rows: grouped by step, and by key.
    TOTALS = "
        SELECT wanted.what, looked.at, looked.key, sum(looked.count)::bigint AS times, sum(looked.sum)::float8 AS total,
               min(looked.minute) AS oldest, count(*) AS looked_at
          FROM unnest($1::text[]) AS wanted (what)
         CROSS JOIN LATERAL (
               SELECT date_bin(make_interval(secs => $3), s.minute, $2) AS at, s.minute, s.key, s.count, s.sum FROM stats s
                WHERE s.what = wanted.what AND s.minute >= $2 ORDER BY s.minute DESC LIMIT $4) AS looked
         GROUP BY GROUPING SETS ((wanted.what, looked.at), (wanted.what, looked.key))
         ORDER BY 1, 2, 4 DESC, 3";
    FORGET = "
        DELETE FROM stats
         WHERE ctid = ANY(ARRAY(
               SELECT ctid FROM stats WHERE minute < now() - make_interval(secs => $1) ORDER BY minute LIMIT $2))";
    FORGET_TURNS = "DELETE FROM stats_turns WHERE at < now() - make_interval(secs => $1)";
}

/// Upper bounds of the buckets, in seconds; what took longer is in one more.
pub const BOUNDS: [f64; 9] = [0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0];

/// Counts of the buckets, the last of them beyond all bounds.
pub type Buckets = [i64; BOUNDS.len() + 1];

/// Counts that a node adds to one series of one minute.
#[derive(Clone, Debug, PartialEq)]
pub struct Delta {
    /// Series: a word of a closed set.
    pub what: &'static str,
    /// Key by which it is counted.
    pub key: String,
    /// Minutes that have passed since. Of one key no two deltas of a turn have the same.
    pub minutes_ago: i32,
    /// Number of them.
    pub count: i64,
    /// Seconds that they took in all.
    pub sum: f64,
    /// Numbers of them by the time that each took; none where that is not counted.
    pub buckets: Option<Buckets>,
}

/// A minute of a series.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Begin of the minute.
    pub minute: Timestamp,
    /// Key by which it is counted.
    pub key: String,
    /// Number of them.
    pub count: i64,
    /// Seconds that they took in all.
    pub sum: f64,
    /// Numbers of them by the time that each took; empty where times are not counted.
    pub buckets: Vec<i64>,
}

/// Adds what a node counted since its last turn, in one statement; false where this turn, or a later one, was
/// added before. Turns of a node grow.
///
/// # Errors
/// The database fails: whether the turn was added is not known where the connection did.
pub async fn add(client: &impl Connection, node: Incarnation, turn: i64, deltas: &[Delta]) -> Result<bool> {
    if deltas.is_empty() {
        return Ok(false);
    }
    let what: Vec<&str> = deltas.iter().map(|delta| delta.what).collect();
    let key: Vec<&str> = deltas.iter().map(|delta| delta.key.as_str()).collect();
    let ago: Vec<i32> = deltas.iter().map(|delta| delta.minutes_ago).collect();
    let count: Vec<i64> = deltas.iter().map(|delta| delta.count).collect();
    let sum: Vec<f64> = deltas.iter().map(|delta| delta.sum).collect();
    let buckets: Vec<String> = deltas.iter().map(|delta| spelled(delta.buckets.as_ref())).collect();
    let statement = client.prepare_cached(ADD).await?;
    let row =
        client.query_one(&statement, &[&node.0, &turn, &what, &key, &ago, &count, &sum, &buckets]).await?;
    Ok(row.get("is_new"))
}

/// An array as the server reads it: arrays of arrays of unequal length it does not know.
fn spelled(buckets: Option<&Buckets>) -> String {
    let counts: Vec<String> = buckets.into_iter().flatten().map(ToString::to_string).collect();
    format!("{{{}}}", counts.join(","))
}

/// The minutes of a series from one time to another, at most `limit`, the oldest first.
pub async fn series(
    client: &impl Connection,
    what: &str,
    from: Timestamp,
    to: Timestamp,
    limit: i64,
) -> Result<Vec<Point>> {
    let statement = client.prepare_cached(SERIES).await?;
    let rows = client.query(&statement, &[&what, &from, &to, &limit]).await?;
    Ok(rows
        .iter()
        .map(|row| Point {
            minute: row.get("minute"),
            key: row.get("key"),
            count: row.get("times"),
            sum: row.get("total"),
            buckets: row.get("buckets"),
        })
        .collect())
}

/// Keys of these series since a time, at most `limit`.
pub async fn keys(
    client: &impl Connection,
    what: &[&str],
    since: Timestamp,
    limit: i64,
) -> Result<Vec<String>> {
    let rows = client.query(&client.prepare_cached(KEYS).await?, &[&what, &since, &limit]).await?;
    Ok(rows.iter().map(|row| row.get("key")).collect())
}

/// A minute of one of several series.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyPoint {
    /// Word of the series.
    pub what: String,
    /// Start of the minute.
    pub minute: Timestamp,
    /// Key by which it is counted.
    pub key: String,
    /// Number of them.
    pub count: i64,
    /// Seconds that they took in all.
    pub sum: f64,
}

/// The minutes of some keys of these series from one time to another, at most `limit`, the oldest first.
pub async fn of_keys(
    client: &impl Connection,
    what: &[&str],
    (from, to): (Timestamp, Timestamp),
    keys: &[String],
    limit: i64,
) -> Result<Vec<KeyPoint>> {
    let statement = client.prepare_cached(OF_KEYS).await?;
    let rows = client.query(&statement, &[&what, &from, &to, &keys, &limit]).await?;
    let point = |row: &tokio_postgres::Row| KeyPoint {
        what: row.get("what"),
        minute: row.get("minute"),
        key: row.get("key"),
        count: row.get("times"),
        sum: row.get("total"),
    };
    Ok(rows.iter().map(point).collect())
}

/// Sums of a series since a time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// Sums of each step, the oldest first; steps in which nothing was counted are left out.
    pub steps: Vec<(Timestamp, i64, f64)>,
    /// Sums of each key, the largest first.
    pub keys: Vec<(String, i64, f64)>,
    /// The minute at which the look ended, where there were more rows than it reads.
    pub cut_at: Option<Timestamp>,
}

/// Sums of these series since a time, in steps of some minutes that begin with it, at most `limit` rows of a series, the
/// newest. A series of which nothing was counted is left out.
pub async fn totals(
    client: &impl Connection,
    what: &[&str],
    since: Timestamp,
    step: Duration,
    limit: i64,
) -> Result<BTreeMap<String, Totals>> {
    let statement = client.prepare_cached(TOTALS).await?;
    let rows = client.query(&statement, &[&what, &since, &step.as_secs_f64(), &limit]).await?;
    let mut totals: BTreeMap<String, Totals> = BTreeMap::new();
    let mut looked: BTreeMap<String, i64> = BTreeMap::new();
    let mut oldest: BTreeMap<String, Timestamp> = BTreeMap::new();
    for row in &rows {
        let what: String = row.get("what");
        let (times, total) = (row.get("times"), row.get("total"));
        let of_series = totals.entry(what.clone()).or_default();
        if let Some(at) = row.get::<_, Option<Timestamp>>("at") {
            of_series.steps.push((at, times, total));
            *looked.entry(what.clone()).or_default() += row.get::<_, i64>("looked_at");
            let minute: Timestamp = row.get("oldest");
            let first = oldest.entry(what).or_insert(minute);
            *first = minute.min(*first);
        } else {
            of_series.keys.push((row.get::<_, Option<String>>("key").unwrap_or_default(), times, total));
        }
    }
    for (what, of_series) in &mut totals {
        let is_cut = looked.get(what).is_some_and(|rows| *rows >= limit);
        of_series.cut_at = oldest.get(what).filter(|_| is_cut).copied();
    }
    Ok(totals)
}

/// Deletes minutes that are older than this, at most `limit` rows, and turns of nodes that have added nothing
/// for as long; returns the number of rows.
pub async fn forget(client: &impl Connection, older_than: Duration, limit: i64) -> Result<u64> {
    let age = older_than.as_secs_f64();
    client.execute(&client.prepare_cached(FORGET_TURNS).await?, &[&age]).await?;
    Ok(client.execute(&client.prepare_cached(FORGET).await?, &[&age, &limit]).await?)
}
