//! Calls to an order, and the answers that it gave.

use pagurus_domain::number::saturated;
use pagurus_store::hot::calls::{self, StoredCall};
use pagurus_wire::message::{CallError, CallView};
use pagurus_wire::order::Page;
use pagurus_wire::problem::{Problem, Type};

use crate::Views;
use crate::part::PartQuery;
use crate::query::page;

impl Views {
    /// Calls to an order, in the sequence in which they arrived.
    pub async fn calls(&self, id: &str, query: &PartQuery) -> Result<Page<CallView>, Problem> {
        let (after, size) = query.above()?;
        let (client, row) = self.found(id).await?;
        let most = saturated::<i64>(size);
        let calls = calls::of_order(&client, row.no, after, most).await.map_err(self.failed("read"))?;
        Ok(page(calls, size, |call| call.no.to_string(), call_view))
    }

    /// Returns a call to an order by the caller's key, as it is stored.
    pub async fn call(&self, id: &str, key: &str) -> Result<StoredCall, Problem> {
        let found = async { calls::by_key(&self.host.store.api().await?, id, key).await };
        let found = found.await.map_err(self.failed("call"))?;
        found
            .ok_or_else(|| Problem::new(Type::NotFound, format!("order `{id}` had no call with key `{key}`")))
    }
}

/// A call as it is shown.
#[must_use]
pub fn call_view(call: StoredCall) -> CallView {
    CallView {
        key: call.key,
        name: call.name,
        status: call.status,
        answer: call.answer,
        error: call.error.map(|error| CallError { class: error.class, message: error.message }),
        received_at: call.received_at,
        answered_at: call.answered_at,
    }
}
