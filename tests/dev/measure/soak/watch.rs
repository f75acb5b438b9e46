//! Observations all the time during a soak: counters of the nodes, their memory, the sizes of the work lists, and
//! whether an order stands in two places. Never holds the engine up: a look reads narrow tables only.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use pagurus_harness::client::http;
use pagurus_harness::nodes::{Node, Role};
use pagurus_harness::process::resident;
use tokio_postgres::Client;

use super::counts::Counts;
use super::ground::{Ground, session};
use super::verdict::Violation;
use super::{Task, task};

const TURN: Duration = Duration::from_secs(2);
/// Time after which the first sizes are taken, when everything has warmed up.
const WARM: Duration = Duration::from_secs(45);

/// Orders in two places at once, by the places alone.
const IN_TWO_PLACES: &str = "
    SELECT order_no FROM (SELECT order_no FROM ready UNION ALL SELECT order_no FROM running
                          UNION ALL SELECT order_no FROM due) AS places
     GROUP BY order_no HAVING count(*) > 1";
/// Two stages of one queue.
const TWO_OF_A_QUEUE: &str =
    "SELECT min(order_no) FROM running WHERE queue IS NOT NULL GROUP BY queue HAVING count(*) > 1";
/// The tables whose rows leave when work is done.
const WORK: &str = "
    SELECT c.relname::text, pg_total_relation_size(c.oid) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = 'public' AND c.relname = ANY('{ready,running,due,queued,outbox,deadlines,suspensions,requests,contexts}')";

/// A watch under way.
pub struct Watch {
    task: Task<Watched>,
}

/// Results of the watch.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    /// Looks at the tables.
    pub samples: u64,
    /// Violations found by them.
    pub violations: Vec<Violation>,
    /// Resident MiB of the biggest process of each role: warm, at its most, at the end.
    pub memory: BTreeMap<Role, [f64; 3]>,
    /// Bytes of each work list: warm, at its most, at the end.
    pub tables: BTreeMap<String, [i64; 3]>,
}

impl Watch {
    /// Looks until the soak is over.
    pub fn start(ground: &Ground, counts: Arc<Counts>, over: Arc<AtomicBool>) -> Result<Self> {
        let (url, env, http) = (ground.database_url(), ground.shared_env(), http()?);
        let task = task(async move {
            let (mut watched, begun) = (Watched::default(), Instant::now());
            while !over.load(Ordering::SeqCst) {
                let nodes = env.nodes();
                for node in &nodes {
                    counts.read(&http, node).await;
                }
                watched.memory_of(&nodes, begun.elapsed() < WARM);
                // The server may be away just now.
                if let Ok(session) = session(&url).await {
                    let _ = watched.look(&session, begun.elapsed() < WARM).await;
                }
                tokio::time::sleep(TURN).await;
            }
            watched
        });
        Ok(Self { task })
    }

    /// Ends the watch and returns its results.
    pub async fn end(self) -> Result<Watched> {
        Ok(self.task.await?)
    }
}

impl Watched {
    fn memory_of(&mut self, nodes: &[Node], warming: bool) {
        for role in Role::ALL {
            let of_role = nodes.iter().filter(|node| node.spec.role == role);
            let most = of_role.filter_map(|node| resident(node.identity.pid)).max().unwrap_or_default();
            note(self.memory.entry(role).or_default(), most as f64 / 1024.0 / 1024.0, warming);
        }
    }

    async fn look(&mut self, session: &Client, warming: bool) -> Result<()> {
        for row in session.query(WORK, &[]).await? {
            note(self.tables.entry(row.get(0)).or_default(), row.get(1), warming);
        }
        for (what, query) in [("in two places", IN_TWO_PLACES), ("two stages of one queue", TWO_OF_A_QUEUE)] {
            let found = session.query(query, &[]).await?;
            if !found.is_empty() {
                let numbers: Vec<i64> = found.iter().map(|row| row.get(0)).collect();
                self.violations.push(Violation::of(
                    what,
                    found.len() as u64,
                    format!("orders no {numbers:?}"),
                ));
            }
        }
        self.samples += 1;
        Ok(())
    }
}

/// Notes a value: the last one while all gets warm, the greatest, the last one of all.
fn note<T: Copy + PartialOrd>(values: &mut [T; 3], now: T, warming: bool) {
    if warming {
        values[0] = now;
    }
    if now > values[1] {
        values[1] = now;
    }
    values[2] = now;
}
