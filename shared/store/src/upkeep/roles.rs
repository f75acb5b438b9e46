//! Roles of the database: one that owns the schema, one for each service with what its statements need and no more, and one that is
//! all services at once. `migrations/roles.sql` says what each may do; tests make it from the statements.

use crate::sql::statements;
use crate::{Client, Result};

statements! {
    // The role that owns the schema, if this user may act as it.
    OWNER = "
        SELECT pg_get_userbyid(relowner)::text AS owner FROM pg_class
         WHERE oid = to_regclass('orders') AND pg_has_role(relowner, 'MEMBER')";
}

/// The text of the roles, with the usual prefix.
const TEXT: &str = include_str!("../../../../migrations/roles.sql");
/// Beginning of the line behind which there are only grants.
pub const GRANTS: &str = "-- What each service may do.";
/// The prefix in the text.
const USUAL: &str = "pagurus";
/// Longest prefix: names of the server have 63 bytes.
const PREFIX_BYTES_MAX: usize = 40;

/// First part of the names of all roles of an installation: roles belong to a server, not to a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RolePrefix(String);

impl Default for RolePrefix {
    fn default() -> Self {
        Self(USUAL.to_owned())
    }
}

impl std::str::FromStr for RolePrefix {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let begins = text.starts_with(|c: char| c.is_ascii_lowercase()) && !text.starts_with("pg_");
        if begins && text.chars().all(is_word) && text.len() <= PREFIX_BYTES_MAX {
            return Ok(Self(text.to_owned()));
        }
        Err(format!("write a small letter and up to {} small letters, digits and `_`", PREFIX_BYTES_MAX - 1))
    }
}

impl RolePrefix {
    /// Name of the role that owns the schema.
    #[must_use]
    pub fn owner(&self) -> String {
        format!("{}_owner", self.0)
    }

    /// Statements that make the roles and set their rights, for psql or [`apply`].
    #[must_use]
    pub fn text(&self) -> String {
        TEXT.replace(&format!("{USUAL}_"), &format!("{}_", self.0))
    }

    /// The part of them that only adds rights.
    fn grants(&self) -> String {
        let text = self.text();
        let behind = text.split_once(GRANTS).and_then(|(_, behind)| behind.split_once('\n'));
        behind.map_or(String::new(), |(_, grants)| grants.to_owned())
    }
}

/// Makes the roles that are missing, and sets what each may do in an up-to-date schema: what it need not is taken away. Nothing
/// changes unless all of it does.
///
/// # Errors
/// The database fails, or this user may not do it.
pub async fn apply(client: &mut Client, prefix: &RolePrefix) -> Result<()> {
    let tx = client.transaction().await?;
    tx.batch_execute(&prefix.text()).await?;
    Ok(tx.commit().await?)
}

/// Adds what the services of this version need. Nothing is taken away: those of the version before may still run.
pub(crate) async fn permit(client: &mut Client, prefix: &RolePrefix) -> Result<()> {
    let tx = client.transaction().await?;
    tx.batch_execute(&prefix.grants()).await?;
    Ok(tx.commit().await?)
}

/// The prefix of the roles that this database is used by; none where all services share one user, or this one is not the owner.
pub(crate) async fn prefix_of_owner(client: &Client) -> Result<Option<RolePrefix>> {
    let row = client.query_opt(OWNER, &[]).await?;
    Ok(row.and_then(|row| row.get::<_, &str>("owner").strip_suffix("_owner")?.parse().ok()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[test]
    fn qlt_15_roles_have_the_prefix_that_was_asked_for() {
        let other: RolePrefix = "bank2".parse().unwrap();
        assert!(other.text().contains("bank2_worker") && !other.text().contains("pagurus_"));
        assert!(other.grants().contains("TO bank2_worker") && !other.grants().contains("REVOKE"));
        assert!(other.grants().starts_with("DO $$"));
        for refused in ["", "2bank", "Bank", "a-b", "a;b", "pg_a", &"a".repeat(41)] {
            assert!(refused.parse::<RolePrefix>().is_err(), "{refused}");
        }
    }
}
