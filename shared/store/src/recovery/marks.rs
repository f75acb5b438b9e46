//! Nodes that an operator took out of service: by role and name, over all lives of the process; and the notifiers that are in service.

use jiff::Timestamp;
use pagurus_domain::id::{Incarnation, Role};

use crate::sql::statements;
use crate::{Client, Result, Tx};

statements! {
    // A mark that is there stays as it is: who made it first, and why.
    MARK = "
        INSERT INTO node_marks (role, name, reason, made_by) VALUES ($1, $2, $3, $4) ON CONFLICT (role, name) DO NOTHING";
    UNMARK = "DELETE FROM node_marks WHERE role = $1 AND name = $2";
    IS_MARKED = "SELECT EXISTS (SELECT FROM node_marks WHERE role = $1 AND name = $2) AS is_marked";
    IS_KNOWN = "
        SELECT EXISTS (SELECT FROM nodes WHERE role = $1 AND name = $2)
            OR EXISTS (SELECT FROM node_marks WHERE role = $1 AND name = $2) AS is_known";
    LIVING = "SELECT name FROM nodes WHERE role = $1 AND ended_at IS NULL ORDER BY name LIMIT $2";
    NOTIFIERS = "
        SELECT n.incarnation FROM nodes n
         WHERE n.role = 'notifier' AND n.ended_at IS NULL AND n.status = 'active'
           AND NOT EXISTS (SELECT FROM node_marks m WHERE m.role = n.role AND m.name = n.name)
         ORDER BY n.incarnation";
    OTHERS = "
        SELECT count(*) AS others FROM nodes n
         WHERE n.role = $1 AND n.name <> $2 AND n.status IN ('active', 'standby')
           AND NOT EXISTS (SELECT FROM node_marks m WHERE m.role = n.role AND m.name = n.name)";
}

/// The notifiers that are at work.
pub async fn notifiers(client: &Client) -> Result<Vec<Incarnation>> {
    let statement = client.prepare_cached(NOTIFIERS).await?;
    let rows = client.query(&statement, &[]).await?;
    Ok(rows.iter().map(|row| Incarnation(row.get("incarnation"))).collect())
}

/// A mark, as people see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfflineMark {
    /// Why.
    pub reason: String,
    /// Principal that asked, as JSON.
    pub by: String,
    /// Time of the mark.
    pub at: Timestamp,
}

/// Marks a node offline; false where it was already.
pub async fn mark(tx: &Tx<'_>, role: Role, name: &str, reason: &str, by: &str) -> Result<bool> {
    let statement = tx.prepare_cached(MARK).await?;
    Ok(tx.execute(&statement, &[&role.as_str(), &name, &reason, &by]).await? == 1)
}

/// Takes the mark of a node back; false where there was none.
pub async fn unmark(tx: &Tx<'_>, role: Role, name: &str) -> Result<bool> {
    let statement = tx.prepare_cached(UNMARK).await?;
    Ok(tx.execute(&statement, &[&role.as_str(), &name]).await? == 1)
}

/// True if a node is marked offline.
pub async fn is_marked(client: &Client, role: Role, name: &str) -> Result<bool> {
    let statement = client.prepare_cached(IS_MARKED).await?;
    Ok(client.query_one(&statement, &[&role.as_str(), &name]).await?.get("is_marked"))
}

/// True if a node of this role and name was ever registered, or is marked.
pub async fn is_known(tx: &Tx<'_>, role: Role, name: &str) -> Result<bool> {
    let statement = tx.prepare_cached(IS_KNOWN).await?;
    Ok(tx.query_one(&statement, &[&role.as_str(), &name]).await?.get("is_known"))
}

/// Names of the living nodes of a role.
pub async fn living(tx: &Tx<'_>, role: Role, limit: i64) -> Result<Vec<String>> {
    let rows = tx.query(&tx.prepare_cached(LIVING).await?, &[&role.as_str(), &limit]).await?;
    Ok(rows.iter().map(|row| row.get("name")).collect())
}

/// Number of the other nodes of a role that are at work, or stand by, and are not marked.
pub async fn others(tx: &Tx<'_>, role: Role, name: &str) -> Result<i64> {
    let statement = tx.prepare_cached(OTHERS).await?;
    Ok(tx.query_one(&statement, &[&role.as_str(), &name]).await?.get("others"))
}
