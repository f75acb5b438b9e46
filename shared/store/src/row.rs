//! Cells of rows, read as types of the domain.

use std::str::FromStr;

use pagurus_domain::id::UnknownWord;
use tokio_postgres::Row;

use crate::{Error, Result};

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
