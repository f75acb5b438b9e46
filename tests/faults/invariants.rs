//! Sentences that must be true of the database and of the called systems after every fault, whatever it was: no finding of the
//! engine's own consistency check, no broken invariant in the rows of any order, nothing left in a work list, no repeat of a
//! call that no hand-out explains, and no panic (INV-1, 6, 7, 11, 13, 14, 18, 22, 33, 35). Never asks the engine whether it is
//! well: it reads.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use pagurus_store::recovery::consistency;
use pagurus_store::{Options, Store};
use tokio_postgres::{Client, NoTls};

use crate::installation::{Installation, PATIENCE};

/// Work lists that are empty when everything has ended.
const LISTS: [&str; 5] = ["ready", "running", "due", "queued", "outbox"];

impl Installation {
    /// A session of the database that the nodes use, by the same way.
    pub async fn session(&self) -> Client {
        let (client, connection) = tokio_postgres::connect(&self.database, NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }

    /// Waits until all has ended, and holds the invariants against what is there.
    pub async fn holds(&self) {
        let session = self.session().await;
        for list in LISTS {
            let query = format!("SELECT count(*) FROM {list}");
            wait(&session, &query, |left| left == 0, &format!("rows are left in {list}")).await;
        }
        self.rows_are_sound().await;
        self.is_consistent(&session).await;
        self.repeats_are_explained(&session).await;
        for node in &self.nodes {
            let log = std::fs::read_to_string(&node.spec.log).unwrap_or_default();
            let panic = log.lines().find(|line| line.contains("panicked at"));
            assert!(panic.is_none(), "{}: {panic:?}", node.spec.name);
        }
    }

    /// The invariants of the engine hold in the rows of every order (QLT-14).
    pub async fn rows_are_sound(&self) {
        let store = Store::new(&Options::of(&self.database, "invariants")).unwrap();
        let client = store.api().await.unwrap();
        let mut after = 0;
        loop {
            let page = consistency::numbers(&client, after, 1000).await.unwrap();
            let Some(last) = page.last() else { return };
            after = *last;
            let facts = consistency::facts(&client, &page).await.unwrap();
            let broken: Vec<_> = facts.iter().flat_map(|facts| facts.violations()).collect();
            assert!(broken.is_empty(), "{broken:?}");
        }
    }

    /// No finding in two further rounds of the check.
    async fn is_consistent(&self, session: &Client) {
        let rounds = "SELECT coalesce(max(rounds), 0)::bigint FROM walks WHERE name = 'check'";
        let before: i64 = session.query_one(rounds, &[]).await.unwrap().get(0);
        wait(session, rounds, |now| now >= before + 2, "the check does not come round").await;
        let found = "SELECT o.id || ': ' || f.what FROM orders o JOIN (
                       SELECT order_no, detail AS what FROM history WHERE kind = 'checked'
                       UNION ALL SELECT order_no, findings::text FROM inconsistencies) AS f ON f.order_no = o.no";
        let found: Vec<String> =
            session.query(found, &[]).await.unwrap().iter().map(|row| row.get(0)).collect();
        assert!(found.is_empty(), "the consistency check found {found:?}");
    }

    /// Checks that each call beyond the first of its key belongs to a hand-out whose stage has no end, or to a retry.
    async fn repeats_are_explained(&self, session: &Client) {
        let mut calls: HashMap<String, Vec<(String, String)>> = HashMap::new();
        for call in self.env.world().calls("/**") {
            let Some(order) = call.body["order"].as_str() else { continue };
            let key = call.headers.get("idempotency-key").cloned().unwrap_or_default();
            calls.entry(order.to_owned()).or_default().push((call.path.clone(), key));
        }
        let rows = "SELECT o.id, (o.attempt - count(h.*) + o.retries)::bigint FROM orders o
                      LEFT JOIN history h ON h.order_no = o.no AND h.kind = 'stage' GROUP BY o.no";
        for row in session.query(rows, &[]).await.unwrap() {
            let (id, explained): (String, i64) = (row.get(0), row.get(1));
            let calls = calls.remove(&id).unwrap_or_default();
            let keys: BTreeSet<_> = calls.iter().collect();
            let repeats = i64::try_from(calls.len() - keys.len()).unwrap();
            assert!(repeats <= explained, "{id}: {repeats} repeats, {explained} explained: {calls:?}");
        }
    }
}

async fn wait(session: &Client, query: &str, holds: impl Fn(i64) -> bool, what: &str) {
    let deadline = Instant::now() + 2 * PATIENCE;
    loop {
        let value: i64 = session.query_one(query, &[]).await.unwrap().get(0);
        if holds(value) {
            return;
        }
        assert!(Instant::now() < deadline, "{what}: {value}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
