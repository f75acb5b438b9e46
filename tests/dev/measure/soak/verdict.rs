//! The question at the end of a soak: was every promise kept? Waits until all is final, then asks the database, the
//! called system and the listener about every order. Never trusts one of them alone.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, Instant};

use anyhow::Result;
use tokio_postgres::Client;

use super::ground::Ground;
use super::ledger::{Ledger, Notified, Sent};
use super::queues;
use super::system::{Noted, System};

/// A promise that was not kept.
#[derive(Clone, Debug)]
pub struct Violation {
    /// Kind of the violation.
    pub what: &'static str,
    /// Number of violations of this kind.
    pub count: u64,
    /// Some of them, as text.
    pub examples: String,
}

impl Violation {
    /// Violations of one kind; a count of 0 means that the promise was kept.
    pub const fn of(what: &'static str, count: u64, examples: String) -> Self {
        Self { what, count, examples }
    }

    fn among(what: &'static str, found: &[String]) -> Self {
        let shown = found.iter().take(5).cloned().collect::<Vec<_>>().join("; ");
        Self::of(what, found.len() as u64, shown)
    }
}

/// Result of a soak.
#[derive(Debug, Default)]
pub struct Verdict {
    /// Everything that was checked, including what had no violation.
    pub checks: Vec<Violation>,
    /// Seconds from the end of the last fault until all was final.
    pub final_after: f64,
    /// Counts from the history and the tables.
    pub events: BTreeMap<String, u64>,
}

impl Verdict {
    /// Adds what was found elsewhere.
    pub fn extend(&mut self, more: Vec<Violation>) {
        self.checks.extend(more);
    }

    /// Number of violations.
    pub fn count(&self) -> u64 {
        self.checks.iter().map(|check| check.count).sum()
    }
}

/// An order as the database has it.
struct Row {
    status: String,
    life: i32,
    /// Number of hand-outs.
    attempt: i32,
    registered: i64,
}

/// Waits for the end of everything, and judges.
pub async fn judge(ground: &Ground, ledger: &Ledger, system: &System, within: Duration) -> Result<Verdict> {
    let begun = Instant::now();
    let session = ground.session().await?;
    let mut verdict = Verdict::default();
    let left = settle(&session, ledger, begun + within).await?;
    verdict.final_after = begun.elapsed().as_secs_f64();
    verdict.checks.push(Violation::among("not final, or left in a work list", &left));
    check_rounds(&session, 2, begun + 2 * within).await?;
    let rows = rows(&session).await?;
    let (sent, notified) = (ledger.sent(), ledger.notified());
    verdict.extend(ends(&sent, &notified, &rows));
    verdict.extend(called(&session, system, &rows).await?);
    verdict.extend(found(&session).await?);
    verdict.extend(logs(ground)?);
    verdict.events = events(&session).await?;
    Ok(verdict)
}

/// Waits until no order is unfinished and no work list has a row; returns what is left when the time is over.
async fn settle(session: &Client, ledger: &Ledger, deadline: Instant) -> Result<Vec<String>> {
    let lists = "
        SELECT 'ready' AS list, count(*) FROM ready UNION ALL SELECT 'running', count(*) FROM running
        UNION ALL SELECT 'due', count(*) FROM due UNION ALL SELECT 'queued', count(*) FROM queued
        UNION ALL SELECT 'outbox', count(*) FROM outbox
        UNION ALL SELECT 'unfinished', count(*) FROM orders WHERE finished_at IS NULL
        UNION ALL SELECT 'operations', count(*) FROM operations WHERE state NOT IN ('done', 'aborted')";
    loop {
        let mut left: Vec<String> = session
            .query(lists, &[])
            .await?
            .iter()
            .filter(|row| row.get::<_, i64>(1) > 0)
            .map(|row| format!("{} in {}", row.get::<_, i64>(1), row.get::<_, String>(0)))
            .collect();
        let registered: i64 = session.query_one("SELECT count(*) FROM orders", &[]).await?.get(0);
        let sent = ledger.count() as i64;
        if registered < sent {
            left.push(format!("{} not registered", sent - registered));
        }
        let unreported = sent - ledger.notified().len() as i64;
        if unreported > 0 {
            left.push(format!("{unreported} not reported"));
        }
        if left.is_empty() || Instant::now() > deadline {
            return Ok(left);
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// Waits until the consistency check has been through all orders `more` further times.
async fn check_rounds(session: &Client, more: i64, deadline: Instant) -> Result<()> {
    let rounds = async || -> Result<i64> {
        let query = "SELECT coalesce(max(rounds), 0)::bigint FROM walks WHERE name = 'check'";
        Ok(session.query_one(query, &[]).await?.get(0))
    };
    let before = rounds().await?;
    while rounds().await? < before + more && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    Ok(())
}

async fn rows(session: &Client) -> Result<HashMap<String, Row>> {
    let query =
        "SELECT id, status, life, attempt, (extract(epoch FROM created_at) * 1000000)::bigint FROM orders";
    let rows = session.query(query, &[]).await?;
    let read = rows.iter().map(|row| {
        let order = Row { status: row.get(1), life: row.get(2), attempt: row.get(3), registered: row.get(4) };
        (row.get(0), order)
    });
    Ok(read.collect())
}

/// Checks every order: it is there, final, ended as its kind does, and reported once in each life (INV-1, 3, 7, 26).
fn ends(
    sent: &HashMap<String, Sent>,
    notified: &HashMap<String, Notified>,
    rows: &HashMap<String, Row>,
) -> Vec<Violation> {
    let (mut lost, mut wrong, mut misreported) = (Vec::new(), Vec::new(), Vec::new());
    for (id, sent) in sent {
        let Some(row) = rows.get(id) else {
            if sent.confirmed {
                lost.push(id.clone());
            }
            continue;
        };
        if row.status != sent.kind.ends_as() {
            wrong.push(format!("{id} ({:?}) is {}", sent.kind, row.status));
        }
        let ids = notified.get(id).map_or(0, |one| one.copies.len());
        if ids as i32 != row.life {
            misreported.push(format!("{id}: {ids} ends reported in {} lives", row.life));
        }
    }
    let invented: Vec<String> = rows.keys().filter(|id| !sent.contains_key(*id)).cloned().collect();
    vec![
        Violation::among("confirmed and lost", &lost),
        Violation::among("invented", &invented),
        Violation::among("ended otherwise than the scenario says", &wrong),
        Violation::among("ends not reported under exactly one id", &misreported),
    ]
}

/// Checks what the called system saw: repeats that hand-outs and retries explain, and no disorder in a queue (INV-13, 14,
/// 18, 19).
async fn called(session: &Client, system: &System, rows: &HashMap<String, Row>) -> Result<Vec<Violation>> {
    let query = "SELECT o.id, count(*) FROM history h JOIN orders o ON o.no = h.order_no \
                  WHERE h.kind = 'stage' GROUP BY o.id";
    let stages: HashMap<String, i64> =
        session.query(query, &[]).await?.iter().map(|row| (row.get(0), row.get(1))).collect();
    let retries = "SELECT id, retries::bigint FROM orders WHERE retries > 0";
    let retries: HashMap<String, i64> =
        session.query(retries, &[]).await?.iter().map(|row| (row.get(0), row.get(1))).collect();
    let (mut unexplained, mut uncalled) = (Vec::new(), Vec::new());
    let calls = system.calls();
    for (id, row) in rows {
        let none = Vec::new();
        let calls = calls.get(id).unwrap_or(&none);
        let repeats = repeats(calls);
        let stages = stages.get(id).copied().unwrap_or(0);
        // A hand-out whose stage has no end in the history was given to another worker.
        let again = i64::from(row.attempt) - stages;
        // Restarted orders have their retries of the last life only; their stages tell the rest.
        let known = retries.get(id).copied().unwrap_or(0).max(stages - i64::from(row.life));
        if repeats > again.max(0) + known {
            unexplained.push(format!(
                "{id}: {repeats} repeats, {} hand-outs, {stages} stages, {known} retries",
                row.attempt
            ));
        }
        if calls.is_empty() {
            uncalled.push(id.clone());
        }
    }
    let registered: HashMap<String, i64> =
        rows.iter().map(|(id, row)| (id.clone(), row.registered)).collect();
    let disorder: Vec<String> =
        system.queues().iter().flat_map(|(queue, calls)| queues::faults(queue, calls, &registered)).collect();
    Ok(vec![
        Violation::among("repeated calls that nothing explains", &unexplained),
        Violation::among("ended without a call", &uncalled),
        Violation::among("overlaps and wrong turns in queues", &disorder),
        Violation::of("calls without an idempotency key", system.keyless(), String::new()),
    ])
}

/// Number of calls beyond the first of each key.
pub fn repeats(calls: &[Noted]) -> i64 {
    let keys: HashSet<(u8, u128)> = calls.iter().map(|call| (call.path, call.key)).collect();
    (calls.len() - keys.len()) as i64
}

/// Findings of the engine's own check, and messages put aside.
async fn found(session: &Client) -> Result<Vec<Violation>> {
    let mut violations = Vec::new();
    for (what, query) in [
        ("findings of the consistency check", "SELECT detail FROM history WHERE kind = 'checked'"),
        ("orders marked inconsistent", "SELECT findings::text FROM inconsistencies"),
        ("messages refused", "SELECT reason FROM refused"),
    ] {
        let rows = session.query(query, &[]).await?;
        let found: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        violations.push(Violation::among(what, &found));
    }
    Ok(violations)
}

/// Searches the logs for panics.
fn logs(ground: &Ground) -> Result<Vec<Violation>> {
    let mut found = Vec::new();
    for node in &ground.nodes {
        let text = std::fs::read_to_string(&node.spec.log)?;
        let panics = text.lines().filter(|line| line.contains("panicked at"));
        found.extend(panics.map(|line| format!("{}: {line}", node.spec.name)));
    }
    Ok(vec![Violation::among("panics", &found)])
}

async fn events(session: &Client) -> Result<BTreeMap<String, u64>> {
    let mut events = BTreeMap::new();
    for (name, query) in [
        ("orders handed out again", "SELECT count(*) FROM orders WHERE attempt > stages AND life = 1"),
        ("stages repeated by a retry policy", "SELECT coalesce(sum(retries), 0)::bigint FROM orders"),
        ("lives begun by a bulk operation", "SELECT coalesce(sum(life - 1), 0)::bigint FROM orders"),
        ("take-overs of the lease", "SELECT coalesce(max(epoch) - 1, 0)::bigint FROM epochs"),
        ("lives of nodes that were lost", "SELECT count(*) FROM nodes WHERE status = 'lost'"),
        ("callbacks accepted", "SELECT count(*) FROM callbacks WHERE verdict = 'accepted'"),
        ("callbacks duplicate", "SELECT count(*) FROM callbacks WHERE verdict = 'duplicate'"),
        ("callbacks late", "SELECT count(*) FROM callbacks WHERE verdict = 'late'"),
        ("waits timed out and asked again", "SELECT count(*) FROM requests WHERE status = 'timeout'"),
        (
            "rounds of the consistency check",
            "SELECT coalesce(max(rounds), 0)::bigint FROM walks WHERE name = 'check'",
        ),
    ] {
        let count: i64 = session.query_one(query, &[]).await?.get(0);
        events.insert(name.to_owned(), u64::try_from(count).unwrap_or(0));
    }
    Ok(events)
}

#[cfg(test)]
mod tests {
    use super::super::kinds::Kind;
    use super::*;

    fn counts(violations: &[Violation]) -> Vec<u64> {
        violations.iter().map(|violation| violation.count).collect()
    }

    #[test]
    fn what_is_lost_invented_ended_wrongly_or_reported_twice_is_counted() {
        let at = Instant::now();
        let sent = |kind| Sent { kind, at, confirmed: true };
        let row = |status: &str| Row { status: status.to_owned(), life: 1, attempt: 1, registered: 1 };
        let notified =
            |ids: &[&str]| Notified { at, copies: ids.iter().map(|id| ((*id).to_owned(), 1)).collect() };
        let all: HashMap<String, Sent> =
            [("a".to_owned(), sent(Kind::One)), ("b".to_owned(), sent(Kind::Failing))].into();
        let good: HashMap<String, Row> =
            [("a".to_owned(), row("success")), ("b".to_owned(), row("fail"))].into();
        let once: HashMap<String, Notified> =
            [("a".to_owned(), notified(&["x"])), ("b".to_owned(), notified(&["y"]))].into();
        assert_eq!(counts(&ends(&all, &once, &good)), [0, 0, 0, 0]);
        let bad: HashMap<String, Row> =
            [("b".to_owned(), row("success")), ("c".to_owned(), row("success"))].into();
        assert_eq!(counts(&ends(&all, &once, &bad)), [1, 1, 1, 0], "lost a, invented c, b ended otherwise");
        let twice: HashMap<String, Notified> =
            [("a".to_owned(), notified(&["x", "z"])), ("b".to_owned(), notified(&[]))].into();
        assert_eq!(counts(&ends(&all, &twice, &good)), [0, 0, 0, 2]);
    }

    #[test]
    fn a_repeat_is_a_second_call_of_one_action() {
        let at = Instant::now();
        let call = |path, key| Noted { path, key, from: at, until: at };
        assert_eq!(repeats(&[call(b'a', 1), call(b'c', 2), call(b'd', 1)]), 0);
        assert_eq!(repeats(&[call(b'a', 1), call(b'a', 1), call(b'a', 1)]), 2);
    }
}
