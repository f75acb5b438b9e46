//! Flows and called systems: what the active dispatcher knows of them. It alone writes here, and a write under
//! another epoch than the present one changes nothing (DSP-12).

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::flow::{FlowRecord, SystemRecord};
use pagurus_domain::id::{Epoch, OrderNo};
use pagurus_domain::json::json_text;

use crate::columns::columns;
use crate::sql::statements;
use crate::{Client, Connection, Error, Result};

statements! {
    // Reading the epoch waits for a take-over in progress, and makes one wait for this. In the order of the key.
    WRITE_FLOWS = "
        WITH present AS (SELECT epoch FROM epochs WHERE name = 'dispatcher' FOR SHARE)
        INSERT INTO flow_states (flow, state, ready, record, written_at)
        SELECT f.flow, f.state, f.ready, f.record, clock_timestamp()
          FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) AS f (flow, state, ready, record), present p
         WHERE p.epoch = $5
         ORDER BY f.flow
        ON CONFLICT (flow) DO UPDATE
           SET state = excluded.state, ready = excluded.ready, record = excluded.record, written_at = excluded.written_at";
    WRITE_SYSTEMS = "
        WITH present AS (SELECT epoch FROM epochs WHERE name = 'dispatcher' FOR SHARE)
        INSERT INTO system_states (system, state, record, written_at)
        SELECT s.system, s.state, s.record, clock_timestamp()
          FROM unnest($1::text[], $2::text[], $3::text[]) AS s (system, state, record), present p
         WHERE p.epoch = $4
         ORDER BY s.system
        ON CONFLICT (system) DO UPDATE
           SET state = excluded.state, record = excluded.record, written_at = excluded.written_at";
    ALL_FLOWS = "SELECT record FROM flow_states ORDER BY written_at DESC LIMIT $1";
    ALL_SYSTEMS = "SELECT record FROM system_states ORDER BY written_at DESC LIMIT $1";
    FLOWS_PAGE = "
        SELECT record, written_at FROM flow_states
         WHERE flow > $1 AND strpos(flow, $2) > 0 AND ($3::text IS NULL OR state = $3) ORDER BY flow LIMIT $4";
    FLOW = "SELECT record, written_at FROM flow_states WHERE flow = $1";
    RECORDS_OF = "SELECT flow, record FROM flow_states WHERE flow = ANY($1::text[])";
    NAMES_WITH = "
        SELECT flow, (sum(ready) OVER ())::bigint AS ready FROM flow_states WHERE strpos(flow, $1) > 0 ORDER BY flow LIMIT $2";
    SYSTEMS_PAGE = "SELECT record, written_at FROM system_states WHERE system > $1 COLLATE \"C\" ORDER BY system COLLATE \"C\" LIMIT $2";
    SYSTEM = "SELECT record, written_at FROM system_states WHERE system = $1";
    READY_BEFORE = "
        SELECT count(*) AS before FROM (SELECT FROM ready WHERE order_no < $2 AND flow = $1 LIMIT $3) AS earlier";
    BACKLOG = "SELECT flow, ready FROM flow_states WHERE ready >= $1 ORDER BY ready DESC LIMIT $2";
    HELD_BACK = "SELECT record FROM flow_states WHERE state <> 'enabled' ORDER BY ready DESC LIMIT $1";
    STOPPED_FLOWS = "
        SELECT record FROM flow_states WHERE state IN ('stopped', 'probing', 'disabled_manually')
         ORDER BY ready DESC, flow LIMIT $1";
    AWAY_SYSTEMS = "
        SELECT record FROM system_states WHERE state IN ('stopped', 'probing') ORDER BY system LIMIT $1";
    FORGET_FLOWS = "
        DELETE FROM flow_states
         WHERE flow = ANY(ARRAY(SELECT flow FROM flow_states
                WHERE written_at < clock_timestamp() - make_interval(secs => $1) ORDER BY written_at LIMIT $2))";
    FORGET_SYSTEMS = "
        DELETE FROM system_states
         WHERE system = ANY(ARRAY(SELECT system FROM system_states
                WHERE written_at < clock_timestamp() - make_interval(secs => $1) ORDER BY written_at LIMIT $2))";
}

/// A record, with the time at which it was written.
#[derive(Clone, Debug)]
pub struct Written<T> {
    /// Known values.
    pub record: T,
    /// When.
    pub at: Timestamp,
}

/// Writes what the dispatcher of this epoch knows of flows; how many were written: none, where another leads by now.
pub async fn write_flows(on: &impl Connection, epoch: Epoch, flows: &[FlowRecord]) -> Result<u64> {
    if flows.is_empty() {
        return Ok(0);
    }
    let columns = columns!(one in flows => {
        flow: &str = one.flow.as_str(),
        state: &str = one.state.as_str(),
        ready: i64 = i64::from(one.ready.sum()),
        record: String = json_text(one),
    });
    columns.execute(on, WRITE_FLOWS, &[&epoch.0]).await
}

/// Writes what the dispatcher of this epoch knows of called systems, as [`write_flows`] does.
pub async fn write_systems(on: &impl Connection, epoch: Epoch, systems: &[SystemRecord]) -> Result<u64> {
    if systems.is_empty() {
        return Ok(0);
    }
    let columns = columns!(one in systems => {
        system: &str = one.system.as_str(),
        state: &str = one.state.as_str(),
        record: String = json_text(one),
    });
    columns.execute(on, WRITE_SYSTEMS, &[&epoch.0]).await
}

fn read<T: serde::de::DeserializeOwned>(row: &tokio_postgres::Row, table: &'static str) -> Result<T> {
    serde_json::from_str(row.get("record")).map_err(|error| Error::broken(table, error))
}

fn read_written<T: serde::de::DeserializeOwned>(
    row: &tokio_postgres::Row,
    table: &'static str,
) -> Result<Written<T>> {
    Ok(Written { record: read(row, table)?, at: row.get("written_at") })
}

/// Stages of these flows that ended in a second recently, by flow. Unknown flows are left out.
pub async fn throughputs(client: &Client, flows: &[&str]) -> Result<BTreeMap<String, f64>> {
    let rows = client.query(&client.prepare_cached(RECORDS_OF).await?, &[&flows]).await?;
    let records = rows.iter().filter_map(|row| {
        let record: FlowRecord = read(row, "flow_states").ok()?;
        Some((row.get("flow"), record.throughput))
    });
    Ok(records.collect())
}

/// Records of flows by the dispatcher before, those written last first. A record that cannot be read is left out: it
/// is learnt again.
pub async fn all(client: &Client, limit: i64) -> Result<(Vec<FlowRecord>, Vec<SystemRecord>)> {
    let flows = client.query(&client.prepare_cached(ALL_FLOWS).await?, &[&limit]).await?;
    let systems = client.query(&client.prepare_cached(ALL_SYSTEMS).await?, &[&limit]).await?;
    Ok((
        flows.iter().filter_map(|row| read(row, "flow_states").ok()).collect(),
        systems.iter().filter_map(|row| read(row, "system_states").ok()).collect(),
    ))
}

/// The flows by name, after this one, whose name contains a text and that are in this state, if one is named.
///
/// # Errors
/// The database fails, or a record cannot be read.
pub async fn page(
    client: &Client,
    after: &str,
    contains: &str,
    state: Option<&str>,
    limit: i64,
) -> Result<Vec<Written<FlowRecord>>> {
    let statement = client.prepare_cached(FLOWS_PAGE).await?;
    let rows = client.query(&statement, &[&after, &contains, &state, &limit]).await?;
    rows.iter().map(|row| read_written(row, "flow_states")).collect()
}

/// A flow by its name.
///
/// # Errors
/// The database fails, or the record cannot be read.
pub async fn one(client: &Client, flow: &str) -> Result<Option<Written<FlowRecord>>> {
    let statement = client.prepare_cached(FLOW).await?;
    client.query_opt(&statement, &[&flow]).await?.map(|row| read_written(&row, "flow_states")).transpose()
}

/// The names of the flows that contain a keyword, and how many stages of all of them were ready to run when they were last written.
pub async fn names(client: &Client, keyword: &str, limit: i64) -> Result<(Vec<String>, i64)> {
    let statement = client.prepare_cached(NAMES_WITH).await?;
    let rows = client.query(&statement, &[&keyword, &limit]).await?;
    let ready = rows.first().map_or(0, |row| row.get("ready"));
    Ok((rows.iter().map(|row| row.get("flow")).collect(), ready))
}

/// The called systems by name, after this one.
///
/// # Errors
/// The database fails, or a record cannot be read.
pub async fn systems(client: &Client, after: &str, limit: i64) -> Result<Vec<Written<SystemRecord>>> {
    let statement = client.prepare_cached(SYSTEMS_PAGE).await?;
    let rows = client.query(&statement, &[&after, &limit]).await?;
    rows.iter().map(|row| read_written(row, "system_states")).collect()
}

/// A called system by its name.
///
/// # Errors
/// The database fails, or the record cannot be read.
pub async fn system(client: &Client, system: &str) -> Result<Option<Written<SystemRecord>>> {
    let statement = client.prepare_cached(SYSTEM).await?;
    let row = client.query_opt(&statement, &[&system]).await?;
    row.map(|row| read_written(&row, "system_states")).transpose()
}

/// The flows of which at least `least` stages may run, those with the most first.
pub async fn backlog(client: &Client, least: i64, limit: i64) -> Result<Vec<(String, i64)>> {
    let statement = client.prepare_cached(BACKLOG).await?;
    let rows = client.query(&statement, &[&least, &limit]).await?;
    Ok(rows.iter().map(|row| (row.get("flow"), row.get("ready"))).collect())
}

/// The flows that are held back: by a limit, because their system is away, or by an operator. A record that cannot be read
/// is left out.
pub async fn held_back(client: &Client, limit: i64) -> Result<Vec<FlowRecord>> {
    let rows = client.query(&client.prepare_cached(HELD_BACK).await?, &[&limit]).await?;
    Ok(rows.iter().filter_map(|row| read(row, "flow_states").ok()).collect())
}

/// Flows that do not work, those with the most ready stages first, and systems that are left alone; at most `limit` of each. A
/// record that cannot be read is left out.
pub async fn standing(client: &Client, limit: i64) -> Result<(Vec<FlowRecord>, Vec<SystemRecord>)> {
    let flows = client.query(&client.prepare_cached(STOPPED_FLOWS).await?, &[&limit]).await?;
    let systems = client.query(&client.prepare_cached(AWAY_SYSTEMS).await?, &[&limit]).await?;
    Ok((
        flows.iter().filter_map(|row| read(row, "flow_states").ok()).collect(),
        systems.iter().filter_map(|row| read(row, "system_states").ok()).collect(),
    ))
}

/// Number of stages of a flow that may run and belong to orders registered before this one; counts at most `most`.
pub async fn ready_before(client: &Client, flow: &str, no: OrderNo, most: i64) -> Result<u32> {
    let statement = client.prepare_cached(READY_BEFORE).await?;
    let before: i64 = client.query_one(&statement, &[&flow, &no.0, &most]).await?.get("before");
    Ok(u32::try_from(before).unwrap_or(u32::MAX))
}

/// Removes flows and systems of which nothing was written for `age`, at most `limit` of each; returns their number.
pub async fn forget(client: &Client, age: Duration, limit: i64) -> Result<u64> {
    let mut gone = 0;
    for sql in [FORGET_FLOWS, FORGET_SYSTEMS] {
        let statement = client.prepare_cached(sql).await?;
        gone += client.execute(&statement, &[&age.as_secs_f64(), &limit]).await?;
    }
    Ok(gone)
}
