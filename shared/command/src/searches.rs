//! Saved searches: put and removed.

use jiff::Timestamp;
use pagurus_domain::audit::AuditKind;
use pagurus_domain::order::principal::Principal;
use pagurus_domain::search::Search;
use pagurus_store::Error;
use pagurus_store::lists::audit::AuditEntry;
use pagurus_store::lists::searches;
use pagurus_wire::problem::{Problem, Type};
use serde_json::{Value, json};

use crate::Commands;
use crate::texts::checked;

/// Longest name, in bytes.
const MAX_NAME: usize = 255;

impl Commands {
    /// Saves a search under a name, in place of the one that had it.
    ///
    /// # Errors
    /// The problem to answer with.
    pub async fn save_search(&self, name: &str, search: &Value, by: &Principal) -> Result<(), Problem> {
        checked("name", name, MAX_NAME)?;
        let read = Search::read(search, Timestamp::now());
        let read = read.map_err(|faults| Problem::of_faults(Type::Invalid, &faults))?;
        if read.is_empty() {
            return Err(Problem::new(
                Type::Invalid,
                "a search without conditions finds every order: name one",
            ));
        }
        let saved = async {
            let mut client = self.host.store.operations().await?;
            let tx = client.transaction().await?;
            let before = searches::lock(&tx, name).await?.map_or(Value::Null, conditions);
            searches::put(&tx, name, &search.to_string(), &by.to_value().to_string()).await?;
            AuditEntry::new("save", (AuditKind::Search, name), by, None)
                .changed(before, search.clone(), json!({}))
                .record(&tx)
                .await?;
            Ok::<_, Error>(tx.commit().await?)
        };
        saved.await.map_err(self.failed("searches"))
    }

    /// Removes a saved search.
    ///
    /// # Errors
    /// The problem to answer with: not found, or not available.
    pub async fn forget_search(&self, name: &str, by: &Principal) -> Result<(), Problem> {
        let removed = async {
            let mut client = self.host.store.operations().await?;
            let tx = client.transaction().await?;
            let before = searches::lock(&tx, name).await?.map_or(Value::Null, conditions);
            let removed = searches::remove(&tx, name).await?;
            if removed {
                AuditEntry::new("remove", (AuditKind::Search, name), by, None)
                    .changed(before, Value::Null, json!({}))
                    .record(&tx)
                    .await?;
            }
            tx.commit().await?;
            Ok(removed)
        };
        let removed = removed.await.map_err(self.failed("searches"))?;
        if removed { Ok(()) } else { Err(Problem::no_search(name)) }
    }
}

/// Conditions that this program has written, as JSON.
fn conditions(text: String) -> Value {
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}
