//! Cells of rows, read as types of the domain.

use std::str::FromStr;

use pagurus_domain::activation::Stream;
use pagurus_domain::id::{Life, OrderNo, RequestId, ScenarioNo, UnknownWord};
use pagurus_domain::order::OrderHead;
use pagurus_domain::order::labels::Labels;
use pagurus_domain::order::notification::apart;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{Error, Result};

/// Reads a type from a row: fields that are called like their columns, and behind `;` those that are made otherwise.
///
/// ```ignore
/// read!(row => ReasonView { outcome, reason, orders; example: row.get("id") })
/// ```
macro_rules! read {
    ($row:ident => $kind:ident { $($column:ident),+ $(; $($field:ident: $value:expr),+)? $(,)? }) => {
        $kind {
            $($column: $row.get(stringify!($column)),)+
            $($($field: $value,)+)?
        }
    };
}
pub(crate) use read;

/// Word of a vocabulary, as it stands in a column.
///
/// # Errors
/// The word is not in the vocabulary; `what` says which column it is.
pub(crate) fn word<T>(row: &Row, column: &str, what: &'static str) -> Result<T>
where
    T: FromStr<Err = UnknownWord>,
{
    let text: &str = row.get(column);
    text.parse().map_err(|_| Error::broken(what, text))
}

/// Notification wish of the client, and the request of the parent, from the columns `notify` and `answers`.
pub(crate) fn wishes(row: &Row) -> (Option<String>, Option<RequestId>) {
    let (notify, known) = apart(row.get("notify"));
    (notify, row.get::<_, Option<Uuid>>("answers").map(RequestId).or(known))
}

/// Head of an order, from a row that has its fourteen columns of `orders`.
pub(crate) fn head(row: &Row) -> Result<OrderHead> {
    let (notify, answers) = wishes(row);
    Ok(OrderHead {
        no: OrderNo(row.get("no")),
        id: row.get("id"),
        scenario: ScenarioNo(row.get("scenario")),
        mode: word(row, "mode", "orders.mode")?,
        transaction_id: row.get("transaction_id"),
        notify,
        answers,
        labels: Labels::of_stored(row.get("labels")),
        trace: row.get("trace"),
        life: Life(row.get("life")),
        created_at: row.get("created_at"),
        started_at: row.get("started_at"),
        stages: row.get("stages"),
        retries: row.get("retries"),
    })
}

/// Stream that woke a stage, from the column `stream`: none where no time did, nor where a version that is
/// yet to come has one that this one does not know.
pub(crate) fn stream(row: &Row) -> Option<Stream> {
    row.get::<_, Option<i16>>("stream").and_then(Stream::of_number)
}
