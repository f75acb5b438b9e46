//! Searches that somebody gave a name.

use jiff::Timestamp;

use crate::sql::statements;
use crate::{Connection, Result, Tx};

statements! {
    PUT = "
        INSERT INTO searches (name, search, made_by) VALUES ($1, $2, $3)
        ON CONFLICT (name) DO UPDATE SET search = excluded.search, made_by = excluded.made_by, made_at = now()";
    REMOVE = "DELETE FROM searches WHERE name = $1";
    FIND = "SELECT name, search, made_by, made_at FROM searches WHERE name = $1";
    LOCK = "SELECT search FROM searches WHERE name = $1 FOR UPDATE";
    LIST = "SELECT name, search, made_by, made_at FROM searches WHERE name > $1 ORDER BY name LIMIT $2";
}

/// A search with its name.
#[derive(Clone, Debug)]
pub struct NamedSearch {
    /// Name.
    pub name: String,
    /// Conditions, as JSON.
    pub search: String,
    /// Principal that saved it last, as JSON.
    pub made_by: String,
    /// When.
    pub made_at: Timestamp,
}

/// Saves a search, in place of the one that had the name.
pub async fn put(tx: &Tx<'_>, name: &str, search: &str, by: &str) -> Result<()> {
    tx.execute(&tx.prepare_cached(PUT).await?, &[&name, &search, &by]).await?;
    Ok(())
}

/// Removes a search; false where there was none.
pub async fn remove(tx: &Tx<'_>, name: &str) -> Result<bool> {
    Ok(tx.execute(&tx.prepare_cached(REMOVE).await?, &[&name]).await? == 1)
}

/// The conditions of the search of this name, as JSON, which nobody else changes until the end of the transaction.
pub async fn lock(tx: &Tx<'_>, name: &str) -> Result<Option<String>> {
    Ok(tx.query_opt(&tx.prepare_cached(LOCK).await?, &[&name]).await?.map(|row| row.get("search")))
}

/// The search of this name.
pub async fn find(client: &impl Connection, name: &str) -> Result<Option<NamedSearch>> {
    Ok(client.query_opt(&client.prepare_cached(FIND).await?, &[&name]).await?.as_ref().map(read))
}

/// Searches behind a name, by name.
pub async fn list(client: &impl Connection, after: &str, limit: i64) -> Result<Vec<NamedSearch>> {
    let rows = client.query(&client.prepare_cached(LIST).await?, &[&after, &limit]).await?;
    Ok(rows.iter().map(read).collect())
}

fn read(row: &tokio_postgres::Row) -> NamedSearch {
    NamedSearch {
        name: row.get("name"),
        search: row.get("search"),
        made_by: row.get("made_by"),
        made_at: row.get("made_at"),
    }
}
