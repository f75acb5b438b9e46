//! A person, as a directory or an identity provider describes them.

use thiserror::Error;

/// A person who has proved who they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// Text that identifies the person for ever: the distinguished name, or issuer and subject; of the local administrator the name, with
    /// a digest of the hash of the password.
    pub subject: String,
    /// Name that is shown and audited.
    pub name: String,
    /// Groups of the person, as the directory names them.
    pub groups: Vec<String>,
}

/// A login that gives no session. The text is for the log and the audit: the person who logs in never learns
/// which of the reasons it was.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LoginFailure {
    /// Name or password is wrong, or what the provider says does not hold.
    #[error("{0}")]
    Refused(String),
    /// The directory or the provider gave no answer that could be used.
    #[error("{0}")]
    Unavailable(String),
}
