//! Nodes taken out of service and put back (REC-8). The mark is what counts; a node reads its own each second, and the
//! dispatcher is notified of that of a worker at once.

use pagurus_domain::audit::AuditKind;
use pagurus_domain::id::Role;
use pagurus_domain::order::principal::Principal;
use pagurus_runtime::Effects;
use pagurus_store::lists::audit::AuditEntry;
use pagurus_store::recovery::marks;
use pagurus_store::{Error, Tx};
use pagurus_wire::nodes::{NodeOrderOutcome, NodeOrderRequest};
use pagurus_wire::problem::{Problem, Type};
use serde_json::json;

use crate::Commands;
use crate::texts::{MAX_TEXT, checked};
use crate::tries::Tries;

/// Nodes that a refusal names at most.
const MAX_NAMES: i64 = 50;

impl Commands {
    /// Takes a node out of service, or puts it back.
    ///
    /// # Errors
    /// The problem to answer with.
    pub async fn order_node(
        &self,
        (role, name): (&str, &str),
        offline: bool,
        asked: &NodeOrderRequest,
        by: &Principal,
    ) -> Result<NodeOrderOutcome, Problem> {
        checked("reason", &asked.reason, MAX_TEXT)?;
        checked("name", name, MAX_TEXT)?;
        let role: Role = role
            .parse()
            .map_err(|unknown| Problem::new(Type::NotFound, format!("no such role: {unknown}")))?;
        let mut tries = Tries::default();
        let outcome = loop {
            let done = self.try_order_node(role, name, offline, asked, by).await;
            if let Some(done) = tries.judge(&self.host, "node", done).await {
                break done?;
            }
        };
        let (action, message) = if offline {
            ("node_offline", "an operator took a node out of service")
        } else {
            ("node_online", "an operator put a node back to service")
        };
        if outcome.changed {
            self.note(action, by.door, 1);
            tracing::warn!(role = role.as_str(), name, reason = asked.reason, "{message}");
        }
        if role == Role::Worker {
            Effects { workers_changed: true, ..Effects::default() }.send(&self.host).await;
        }
        Ok(outcome)
    }

    async fn try_order_node(
        &self,
        role: Role,
        name: &str,
        offline: bool,
        asked: &NodeOrderRequest,
        by: &Principal,
    ) -> Result<Result<NodeOrderOutcome, Problem>, Error> {
        let mut client = self.host.store.operations().await?;
        let tx = client.transaction().await?;
        if !marks::is_known(&tx, role, name).await? {
            return Ok(Err(unknown(&tx, role, name).await?));
        }
        let changed = if offline {
            marks::mark(&tx, role, name, &asked.reason, &by.to_value().to_string()).await?
        } else {
            marks::unmark(&tx, role, name).await?
        };
        if changed {
            let (action, subject) = (if offline { "offline" } else { "online" }, format!("{role}/{name}"));
            let mark = |offline: bool| json!({"offline": offline});
            AuditEntry::new(action, (AuditKind::Node, &subject), by, Some(&asked.reason))
                .changed(mark(!offline), mark(offline), json!({}))
                .record(&tx)
                .await?;
        }
        let others = marks::others(&tx, role, name).await?;
        tx.commit().await?;
        let role = role.as_str().to_owned();
        Ok(Ok(NodeOrderOutcome { role, name: name.to_owned(), offline, changed, others }))
    }
}

async fn unknown(tx: &Tx<'_>, role: Role, name: &str) -> Result<Problem, Error> {
    let living = marks::living(tx, role, MAX_NAMES).await?;
    let there = if living.is_empty() { "none lives".to_owned() } else { living.join(", ") };
    Ok(Problem::new(Type::NotFound, format!("there was never a {role} `{name}`; those that live: {there}")))
}
