//! Failures of the database, and whether the same call may succeed later.

use tokio_postgres::error::SqlState;

/// A call that the database did not carry out, or whose outcome is unknown.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No connection could be had.
    #[error("no connection to the database")]
    Pool(#[from] deadpool_postgres::PoolError),
    /// The database refused, or went away.
    #[error("the database failed")]
    Database(#[from] tokio_postgres::Error),
    /// A row holds what no version of this program writes.
    #[error("the stored value of {what} is broken: {found}")]
    Broken {
        /// Which value.
        what: &'static str,
        /// What stands there.
        found: String,
    },
    /// The schema is not the one this program was made for.
    #[error("the schema of the database does not fit: {0}")]
    Schema(String),
    /// The order moved while it was looked at, several times over.
    #[error("the order changes too fast to be acted on; try again")]
    Contended,
}

/// What most functions here return.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A stored value that cannot be read.
    pub(crate) fn broken(what: &'static str, found: impl ToString) -> Self {
        Self::Broken { what, found: found.to_string() }
    }

    /// Whether the cause lies with the connection, a lock or the server's state, so that the same
    /// guarded call may be repeated. The outcome of the first may be unknown: guards decide.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Pool(_) | Self::Contended => true,
            Self::Broken { .. } | Self::Schema(_) => false,
            Self::Database(error) => error.code().is_none_or(|code| {
                let class = &code.code()[..2];
                matches!(class, "08" | "40" | "53" | "57" | "58" | "XX")
                    || *code == SqlState::LOCK_NOT_AVAILABLE
                    // After a migration under our feet: the statement is prepared anew.
                    || *code == SqlState::FEATURE_NOT_SUPPORTED
            }),
        }
    }
}
