//! History of decisions about flows and called systems (DSP-14). The active dispatcher writes it, many rows at a time and
//! under its epoch; a row that is there already stays as it is, so that what may not have been written is written again.

use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::flow::{DecisionNumbers, DecisionSubject};
use pagurus_domain::id::Epoch;
use pagurus_domain::json::json_text;
use pagurus_wire::decisions::DecisionView;
use tokio_postgres::Row;

use crate::columns::columns;
use crate::row::read;
use crate::sql::statements;
use crate::{Client, Connection, Error, Result};

statements! {
    // Who decided, when and why stands beside the rule: in its own row, or in the audit log where that is gone or silent.
    WRITE = "
        WITH present AS (SELECT epoch FROM epochs WHERE name = 'dispatcher' FOR SHARE)
        INSERT INTO decisions (kind, name, at, key, state, bound, why, made_by, numbers, left_out)
        SELECT d.kind, d.name, coalesce(CASE d.origin WHEN 'lift' THEN s.lifted_at ELSE a.at END, d.at), d.key, d.state,
               d.bound,
               d.why || coalesce(': ' || nullif(
                   CASE d.origin WHEN 'stop' THEN s.reason WHEN 'lift' THEN s.lift_reason WHEN 'window' THEN w.reason
                                 ELSE a.reason END, ''), ''),
               CASE d.origin WHEN 'stop' THEN s.made_by WHEN 'lift' THEN s.lifted_by WHEN 'window' THEN w.made_by
                             ELSE a.made_by END,
               d.numbers, d.left_out
          FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::text[], $5::text[], $6::bigint[], $7::text[],
                      $8::text[], $9::bigint[], $10::text[], $11::bigint[])
               AS d (kind, name, at, key, state, bound, why, numbers, left_out, origin, rule)
         CROSS JOIN present p
          LEFT JOIN flow_stops s ON s.no = d.rule AND d.origin IN ('stop', 'lift')
          LEFT JOIN maintenance_windows w ON w.no = d.rule AND d.origin = 'window'
          LEFT JOIN LATERAL (
               SELECT e.reason, CASE WHEN d.origin IN ('window over', 'order over') THEN e.at END AS at,
                      json_build_object('door', e.door, 'name', e.name, 'from', e.origin)::text AS made_by
                 FROM audit e
                WHERE hashtextextended(e.subject, 0) = hashtextextended(coalesce(d.rule::text, d.name), 0)
                  AND e.subject = coalesce(d.rule::text, d.name)
                  AND e.kind = CASE d.origin WHEN 'window over' THEN 'window' ELSE 'system' END
                ORDER BY e.no DESC LIMIT 1) a ON d.origin IN ('window over', 'order', 'order over')
         WHERE p.epoch = $12
         ORDER BY d.kind, d.name, d.at, d.key
        ON CONFLICT DO NOTHING";
    PAGE = "
        SELECT at, key, state, bound, why, made_by, numbers, left_out FROM decisions
         WHERE kind = $1 AND name = $2 AND (at, key) < ($3, $4) AND at >= $5
         ORDER BY at DESC, key DESC LIMIT $6";
    FORGET = "
        DELETE FROM decisions
         WHERE (kind, name, at, key) IN (
               SELECT kind, name, at, key FROM decisions
                WHERE at < clock_timestamp() - make_interval(secs => $1) ORDER BY at LIMIT $2)";
}

/// Origin of a decision: the engine, or a rule of an operator that came into force or is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecisionOrigin {
    /// The engine, or the time at which a rule ends.
    Engine,
    /// The stop of this number holds.
    Stop(i64),
    /// The stop of this number was lifted.
    StopLifted(i64),
    /// The maintenance window of this number is open.
    Window(i64),
    /// The maintenance window of this number was ended by hand.
    WindowOver(i64),
    /// An order about the system holds.
    Order,
    /// An order about the system was taken back.
    OrderOver,
}

impl DecisionOrigin {
    const fn word(self) -> &'static str {
        match self {
            Self::Engine => "engine",
            Self::Stop(_) => "stop",
            Self::StopLifted(_) => "lift",
            Self::Window(_) => "window",
            Self::WindowOver(_) => "window over",
            Self::Order => "order",
            Self::OrderOver => "order over",
        }
    }

    const fn rule(self) -> Option<i64> {
        match self {
            Self::Stop(no) | Self::StopLifted(no) | Self::Window(no) | Self::WindowOver(no) => Some(no),
            Self::Engine | Self::Order | Self::OrderOver => None,
        }
    }
}

/// A decision, to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct NewDecision {
    /// Kind of what it is about.
    pub subject: DecisionSubject,
    /// Name of it.
    pub name: String,
    /// Time. Where somebody lifted or ended something, the time of that goes before it.
    pub at: Timestamp,
    /// Name of it among the decisions of that moment.
    pub key: String,
    /// The state after it.
    pub state: String,
    /// The limit after it.
    pub limit: Option<u32>,
    /// The reason. That of an operator is added to it.
    pub why: String,
    /// The figures of that time.
    pub numbers: DecisionNumbers,
    /// Decisions like it since the last one that was written, which are not.
    pub left_out: u32,
    /// Origin.
    pub origin: DecisionOrigin,
}

/// Writes decisions of the dispatcher of this epoch; how many are new. Another one than the present writes none.
pub async fn write(on: &impl Connection, epoch: Epoch, decisions: &[NewDecision]) -> Result<u64> {
    if decisions.is_empty() {
        return Ok(0);
    }
    let columns = columns!(one in decisions => {
        kind: &str = one.subject.as_str(),
        name: &str = one.name.as_str(),
        at: Timestamp = one.at,
        key: &str = one.key.as_str(),
        state: &str = one.state.as_str(),
        bound: Option<i64> = one.limit.map(i64::from),
        why: &str = one.why.as_str(),
        numbers: String = json_text(&one.numbers),
        left_out: i64 = i64::from(one.left_out),
        origin: &str = one.origin.word(),
        rule: Option<i64> = one.origin.rule(),
    });
    columns.execute(on, WRITE, &[&epoch.0]).await
}

/// Part of a history.
#[derive(Clone, Debug)]
pub struct DecisionsWanted<'a> {
    /// Kind of what they are about.
    pub subject: DecisionSubject,
    /// Name of it.
    pub name: &'a str,
    /// Only decisions then or later.
    pub since: Timestamp,
    /// Only decisions before this time, and of this moment those before this key.
    pub before: (Timestamp, &'a str),
}

/// A decision with its key.
#[derive(Clone, Debug)]
pub struct StoredDecision {
    /// Name of it among the decisions of its moment.
    pub key: String,
    /// The decision.
    pub view: DecisionView,
}

/// Decisions about a flow or a system, the newest first, at most `limit`.
///
/// # Errors
/// The database fails, or a row cannot be read.
pub async fn page(client: &Client, wanted: &DecisionsWanted<'_>, limit: i64) -> Result<Vec<StoredDecision>> {
    let DecisionsWanted { subject, name, since, before: (before, key) } = wanted;
    let statement = client.prepare_cached(PAGE).await?;
    let rows = client.query(&statement, &[&subject.as_str(), name, before, key, since, &limit]).await?;
    rows.iter().map(read_decision).collect()
}

fn read_decision(row: &Row) -> Result<StoredDecision> {
    let limit: Option<i64> = row.get("bound");
    let by: Option<&str> = row.get("made_by");
    let numbers = serde_json::from_str(row.get("numbers"));
    let view = read!(row => DecisionView {
        at, state, why;
        limit: limit.and_then(|limit| u32::try_from(limit).ok()),
        by: by.map(|by| serde_json::from_str(by).unwrap_or_default()),
        numbers: numbers.map_err(|error| Error::broken("decisions.numbers", error))?,
        left_out: u64::try_from(row.get::<_, i64>("left_out")).unwrap_or_default()
    });
    Ok(StoredDecision { key: row.get("key"), view })
}

/// Removes at most `limit` decisions older than this; returns their number.
pub async fn forget(client: &Client, older_than: Duration, limit: i64) -> Result<u64> {
    let statement = client.prepare_cached(FORGET).await?;
    Ok(client.execute(&statement, &[&older_than.as_secs_f64(), &limit]).await?)
}
