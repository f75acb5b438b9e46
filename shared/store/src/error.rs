//! Failures of the database, and whether the same call may succeed later.

use deadpool_postgres::{HookError, PoolError, TimeoutType};
use tokio_postgres::error::{DbError, SqlState};

/// Why no connection can be had, without the words of libraries that do not say it.
type ConnectionFailure = Box<dyn std::error::Error + Send + Sync>;

/// A call that the database did not carry out, or whose outcome is unknown.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No connection could be had.
    #[error("no connection to the database")]
    Connection(#[source] ConnectionFailure),
    /// A pooler between does not keep the settings of sessions.
    #[error("{}", crate::pool::POOLED)]
    Pooled,
    /// The database refused, or went away.
    #[error("the database failed")]
    Database(#[from] tokio_postgres::Error),
    /// A row holds what no version of this program writes.
    #[error("the stored value of {what} is broken: {found}")]
    Broken {
        /// Name of the value.
        what: &'static str,
        /// Value that stands there.
        found: String,
    },
    /// The schema is not the one this program was made for.
    #[error("the schema of the database does not fit: {0}")]
    Schema(String),
    /// The database answers, and takes no writes: it was demoted, or its disk is full.
    #[error("the database takes no writes at present")]
    ReadOnly,
    /// The order moved while it was looked at, several times over.
    #[error("the order changes too fast to be acted on; try again")]
    Contended,
}

/// Result of most functions here.
pub type Result<T> = std::result::Result<T, Error>;

impl From<PoolError> for Error {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Backend(cause) if cause.as_db_error().is_some_and(is_of_pooler) => Self::Pooled,
            PoolError::Backend(cause) | PoolError::PostCreateHook(HookError::Backend(cause)) => {
                Self::Connection(without_library(cause))
            }
            PoolError::PostCreateHook(HookError::Message(text)) => Self::Connection(text.into()),
            PoolError::Timeout(TimeoutType::Wait) => Self::Connection(
                "none became free in time: all are in use, or the server does not answer".into(),
            ),
            PoolError::Timeout(_) => Self::Connection("the server does not answer in time".into()),
            PoolError::Closed | PoolError::NoRuntimeSpecified => Self::Connection(Box::new(error)),
        }
    }
}

fn is_of_pooler(error: &DbError) -> bool {
    *error.code() == SqlState::PROTOCOL_VIOLATION && error.message().contains("startup parameter")
}

/// Returns what the server answered, or the error of the library where it answered nothing.
fn without_library(error: tokio_postgres::Error) -> ConnectionFailure {
    match error.as_db_error().cloned() {
        Some(answer) => Box::new(answer),
        None => Box::new(error),
    }
}

impl Error {
    /// A stored value that cannot be read.
    pub(crate) fn broken(what: &'static str, found: impl ToString) -> Self {
        Self::Broken { what, found: found.to_string() }
    }

    /// True if the same guarded call may be repeated as it is: the cause lies with the connection, a
    /// lock or the server's state, and not with a value. The outcome of the first may be unknown:
    /// guards decide.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Connection(_) | Self::Pooled | Self::ReadOnly | Self::Contended => true,
            Self::Broken { .. } | Self::Schema(_) => false,
            Self::Database(error) => match error.code() {
                Some(code) => !concerns_a_value(code),
                None => !was_never_sent(error),
            },
        }
    }

    /// True if the server itself answered so, and not the connection.
    #[must_use]
    pub fn is_of_server(&self) -> bool {
        matches!(self, Self::Database(error) if error.as_db_error().is_some())
    }

    /// True where a batch failed for a reason about one item: a lock, or a complaint about a value. The
    /// absence of the database concerns all of it.
    #[must_use]
    pub fn concerns_one_item(&self) -> bool {
        self.is_contention() || !self.is_transient()
    }

    /// True if somebody else holds a lock, or held one across ours: it passes by itself, and concerns
    /// no more than the rows that are locked.
    #[must_use]
    pub fn is_contention(&self) -> bool {
        match self {
            Self::Contended => true,
            // What takes longer than a statement may is too much, or stands behind something else.
            Self::Database(error) => error.code().is_some_and(|code| {
                code.code().starts_with("40")
                    || matches!(*code, SqlState::LOCK_NOT_AVAILABLE | SqlState::QUERY_CANCELED)
            }),
            _ => false,
        }
    }
}

/// Longest wait for the cause of an abort, which is on its way already.
const CAUSE: std::time::Duration = std::time::Duration::from_secs(1);

/// A statement that is sent beside others of its transaction. When one of them fails, the server
/// answers the others that the transaction is aborted (25P02): those leave the word to the one that
/// tells the cause, because what is done about it depends on that.
///
/// # Errors
/// Errors of the statement.
pub async fn beside<T>(statement: impl Future<Output = Result<T>>) -> Result<T> {
    let outcome = statement.await;
    if let Err(Error::Database(error)) = &outcome
        && error.code() == Some(&SqlState::IN_FAILED_SQL_TRANSACTION)
    {
        tokio::time::sleep(CAUSE).await;
    }
    outcome
}

/// The classes of SQLSTATE that complain of what a statement was given: a value that a type cannot
/// hold, one row or two where the statement needs the other, a constraint, a limit of the server such
/// as the length of an index row, and what a function of ours raises. All others tell of a state of
/// the server that passes, be it that a primary became read-only (25006), that a statement before
/// failed in this transaction (25P02), or that a right or a table is missing (42).
fn concerns_a_value(code: &SqlState) -> bool {
    matches!(&code.code()[..2], "21" | "22" | "23" | "54" | "P0")
}

/// True if the client library refused a value by itself. It gives no code, and only the cause tells
/// such an error from one of the connection.
fn was_never_sent(error: &tokio_postgres::Error) -> bool {
    use std::error::Error as _;
    error.source().is_some_and(|cause| !cause.is::<std::io::Error>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qlt_8_only_errors_about_values_are_final() {
        for (code, value) in [
            ("22008", true),  // a time out of range
            ("22021", true),  // a character that the encoding lacks
            ("23505", true),  // a key that exists
            ("54000", true),  // an index row that is too long
            ("25006", false), // a primary that became read-only
            ("25P02", false), // a statement before it failed
            ("26000", false), // a prepared statement that is gone
            ("40P01", false), // a deadlock
            ("42501", false), // a right that was taken away
            ("42P01", false), // a table that is not there yet
            ("53100", false), // a full disk
            ("55P03", false), // a lock
            ("57P01", false), // a server that stops
            ("XX000", false),
        ] {
            assert_eq!(concerns_a_value(&SqlState::from_code(code)), value, "{code}");
        }
    }
}
