//! The audit log: what people and programs did from outside, written in the transaction of the action.

pub mod chain;
pub mod export;

use pagurus_domain::audit::AuditKind;
use pagurus_domain::order::principal::{Door, Principal};
use pagurus_wire::audit::{AuditView, AuditedPrincipal};
use serde_json::Value;
use tokio_postgres::Row;

use crate::columns::columns;
use crate::row::{read, word};
use crate::sql::statements;
use crate::{Client, Result, Tx};

statements! {
    INSERT = "
        INSERT INTO audit (action, kind, subject, door, name, origin, reason, detail)
        SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[])
               AS t (action, kind, subject, door, name, origin, reason, detail)";
    LIST = "
        SELECT no, at, action, kind, subject, door, name, origin, reason, detail FROM audit
         WHERE no < $1 ORDER BY no DESC LIMIT $2";
    OF_SUBJECT = "
        SELECT no, at, action, kind, subject, door, name, origin, reason, detail FROM audit
         WHERE hashtextextended(subject, 0) = hashtextextended($3, 0) AND subject = $3 AND no < $1
         ORDER BY no DESC LIMIT $2";
}

/// An action, to be written.
#[derive(Clone, Debug)]
pub struct AuditEntry<'a> {
    /// Name of the action.
    pub action: &'a str,
    /// Kind of what it was done to.
    pub kind: AuditKind,
    /// Name of what it was done to.
    pub subject: &'a str,
    /// Principal of the request.
    pub by: &'a Principal,
    /// Reason that was given.
    pub reason: Option<&'a str>,
    /// More, as JSON.
    pub detail: String,
}

impl<'a> AuditEntry<'a> {
    /// An action without more to say of it.
    #[must_use]
    pub fn new(
        action: &'a str,
        (kind, subject): (AuditKind, &'a str),
        by: &'a Principal,
        reason: Option<&'a str>,
    ) -> Self {
        Self { action, kind, subject, by, reason, detail: "{}".to_owned() }
    }

    /// The same with more, as JSON.
    #[must_use]
    pub fn with(self, detail: &Value) -> Self {
        Self { detail: detail.to_string(), ..self }
    }

    /// The same with a value as it was before and is after it, beside more fields. Null: there was, or is, none.
    #[must_use]
    pub fn changed(self, before: Value, after: Value, mut more: Value) -> Self {
        if let Value::Object(fields) = &mut more {
            fields.extend([("before".to_owned(), before), ("after".to_owned(), after)]);
        }
        self.with(&more)
    }

    /// Writes it alone.
    pub async fn record(self, tx: &Tx<'_>) -> Result<()> {
        record(tx, &[self]).await
    }
}

/// Writes actions. Those of the engine itself are left out: they stand in the histories.
pub async fn record(tx: &Tx<'_>, entries: &[AuditEntry<'_>]) -> Result<()> {
    let entries: Vec<&AuditEntry<'_>> = entries.iter().filter(|entry| entry.by.door.is_outside()).collect();
    if entries.is_empty() {
        return Ok(());
    }
    let columns = columns!(entry in &entries => {
        action: &str = entry.action,
        kind: &str = entry.kind.as_str(),
        subject: &str = entry.subject,
        door: &str = entry.by.door.as_str(),
        name: Option<&str> = entry.by.name.as_deref(),
        origin: Option<&str> = entry.by.from.as_deref(),
        reason: Option<&str> = entry.reason,
        detail: &str = entry.detail.as_str(),
    });
    columns.execute(tx, INSERT, &[]).await?;
    Ok(())
}

/// Entries below a number, the newest first; of one subject where it is given.
///
/// # Errors
/// The database fails, or holds a word that is not known.
pub async fn list(client: &Client, subject: Option<&str>, below: i64, limit: i64) -> Result<Vec<AuditView>> {
    let rows = match subject {
        None => client.query(&client.prepare_cached(LIST).await?, &[&below, &limit]).await?,
        Some(subject) => {
            client.query(&client.prepare_cached(OF_SUBJECT).await?, &[&below, &limit, &subject]).await?
        }
    };
    rows.iter().map(read_entry).collect()
}

fn read_entry(row: &Row) -> Result<AuditView> {
    Ok(read!(row => AuditView {
        no, at, action, subject, reason;
        kind: word::<AuditKind>(row, "kind", "audit.kind")?.to_string(),
        by: read!(row => AuditedPrincipal {
            name;
            door: word::<Door>(row, "door", "audit.door")?.to_string(),
            from: row.get("origin")
        }),
        detail: serde_json::from_str(row.get("detail")).unwrap_or_default()
    }))
}
