//! Callbacks as people look at them: whatever came, for somebody or for nobody, the newest first
//! (SCN-7). Never changes one; they are stored in [`crate::outside::answers`].

use jiff::Timestamp;
use pagurus_domain::id::{OrderNo, RequestId, ScenarioNo};
use tokio_postgres::Row;

use crate::outside::answers::CallbackVerdict;
use crate::row::read;
use crate::sql::statements;
use crate::{Client, Result};

statements! {
    PLACES = "
        SELECT no, order_no, verdict, received_at FROM callbacks WHERE no < $1 ORDER BY no DESC LIMIT $2";
    // The index is one of what was not accepted, and is only taken where the statement says so.
    PLACES_IN_VAIN = "
        SELECT no, order_no, verdict, received_at FROM callbacks
         WHERE verdict = $1 AND verdict <> 'accepted' AND no < $2 ORDER BY no DESC LIMIT $3";
    SHOW = "
        SELECT c.no, c.order_no, c.request_id, c.named, o.id AS order_id, o.scenario, c.verdict, c.step_status, c.received_at,
               substring(c.body FROM 1 FOR $2) AS body, octet_length(c.body) AS body_bytes
          FROM callbacks c
          LEFT JOIN orders o ON o.no = ANY(ARRAY[c.order_no])
         WHERE c.no = ANY($1::bigint[]) ORDER BY c.no DESC";
}

/// Every verdict.
pub const VERDICTS: [CallbackVerdict; 4] =
    [CallbackVerdict::Accepted, CallbackVerdict::Duplicate, CallbackVerdict::Late, CallbackVerdict::Orphan];

/// Place of a callback in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallbackPosition {
    /// Number; a later one has a larger.
    pub no: i64,
    /// The order that it is for, where there is one.
    pub order: Option<OrderNo>,
    /// Verdict on it.
    pub verdict: CallbackVerdict,
    /// Time at which the transaction that stored it began.
    pub received_at: Timestamp,
}

/// A callback with all that is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Place in the list.
    pub place: CallbackPosition,
    /// The request that it answers, where there is one.
    pub request: Option<RequestId>,
    /// The name by which it called its request.
    pub named: String,
    /// The client's id of the order, where there is one still.
    pub order: Option<String>,
    /// The scenario of that order.
    pub scenario: Option<ScenarioNo>,
    /// Status of the called system's step.
    pub step_status: Option<String>,
    /// The beginning of the body.
    pub body: Vec<u8>,
    /// Length of the whole body.
    pub body_bytes: i32,
}

/// Callbacks below a number, the newest first: all of them, or those of one verdict. Accepted ones
/// are not found by their verdict: nearly all are.
pub async fn places(
    client: &Client,
    verdict: Option<CallbackVerdict>,
    below: i64,
    limit: i64,
) -> Result<Vec<CallbackPosition>> {
    let rows = match verdict.filter(|verdict| *verdict != CallbackVerdict::Accepted) {
        Some(verdict) => {
            let statement = client.prepare_cached(PLACES_IN_VAIN).await?;
            client.query(&statement, &[&verdict.as_str(), &below, &limit]).await?
        }
        None => {
            let statement = client.prepare_cached(PLACES).await?;
            client.query(&statement, &[&below, &limit]).await?
        }
    };
    Ok(rows.iter().map(place).collect())
}

/// These callbacks, the newest first, each with at most `most_bytes` bytes of its body.
pub async fn show(client: &Client, nos: &[i64], most_bytes: i32) -> Result<Vec<Stored>> {
    let statement = client.prepare_cached(SHOW).await?;
    let rows = client.query(&statement, &[&nos, &most_bytes]).await?;
    let stored = rows.iter().map(|row| Stored {
        place: place(row),
        request: row.get::<_, Option<uuid::Uuid>>("request_id").map(RequestId),
        named: row.get("named"),
        order: row.get("order_id"),
        scenario: row.get::<_, Option<i32>>("scenario").map(ScenarioNo),
        step_status: row.get("step_status"),
        body: row.get("body"),
        body_bytes: row.get("body_bytes"),
    });
    Ok(stored.collect())
}

/// The verdict of this spelling.
#[must_use]
pub fn verdict(word: &str) -> Option<CallbackVerdict> {
    VERDICTS.into_iter().find(|verdict| verdict.as_str() == word)
}

fn place(row: &Row) -> CallbackPosition {
    read!(row => CallbackPosition {
        no, received_at;
        order: row.get::<_, Option<i64>>("order_no").map(OrderNo),
        // The table takes no other word.
        verdict: verdict(row.get("verdict")).unwrap_or(CallbackVerdict::Orphan)
    })
}
