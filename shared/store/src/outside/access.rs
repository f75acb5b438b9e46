//! Tokens of programs and sessions of people. Both are found by a digest: the secret itself is nowhere.
//!
//! Times are those of the database, so that an end is the same on every node.

use std::time::Duration;

use pagurus_domain::access::token::SecretDigest;
use pagurus_domain::access::{AccessRole, LoginMethod};
use pagurus_wire::access::{PersonSessionView, TokenView};
use tokio_postgres::Row;

use crate::row::{read, word};
use crate::sql::statements;
use crate::{Client, Result, Tx};

statements! {
    ADD_TOKEN = "
        INSERT INTO tokens (id, digest, name, role, made_by, ends_at, tenants) VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT DO NOTHING
        RETURNING id, name, role, coalesce(tenants, '{}') AS tenants, made_by, made_at, ends_at, used_at, revoked_at";
    REVOKE_TOKEN = "UPDATE tokens SET revoked_at = now() WHERE id = $1 AND revoked_at IS NULL RETURNING name, role";
    TOKEN = "
        SELECT id AS subject, name, role, coalesce(tenants, '{}') AS groups, used_at IS NULL OR used_at < now() - interval '1 minute' AS is_stale FROM tokens
         WHERE digest = $1 AND revoked_at IS NULL AND (ends_at IS NULL OR ends_at > now())";
    TOUCH_TOKEN = "
        UPDATE tokens SET used_at = now()
         WHERE digest = $1 AND (used_at IS NULL OR used_at < now() - interval '1 minute')";
    LIST_TOKENS = "
        SELECT id, name, role, coalesce(tenants, '{}') AS tenants, made_by, made_at, ends_at, used_at, revoked_at FROM tokens
         WHERE id > $1 ORDER BY id LIMIT $2";
    ADD_SESSION = "
        INSERT INTO sessions (id, digest, method, subject, name, login, role, groups, provider_session, origin, ends_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, now() + make_interval(secs => $11))";
    // Browsers of one person, the newest first: who logs in again and again must not fill the table.
    END_OLDEST = "
        DELETE FROM sessions WHERE id IN (
            SELECT id FROM sessions WHERE subject = $1 AND method = $2 ORDER BY made_at DESC, id OFFSET $3)";
    SESSION = "
        SELECT subject, name, role, method, groups, used_at < now() - least(interval '1 minute', make_interval(secs => $2::float8 / 4)) AS is_stale,
               checked_at < now() - make_interval(secs => $3) AS is_unchecked
          FROM sessions
         WHERE digest = $1 AND ends_at > now() AND used_at > now() - make_interval(secs => $2)";
    TOUCH_SESSION = "
        UPDATE sessions SET used_at = now() WHERE digest = $1 AND used_at < now()";
    CHECK_SESSION = "
        UPDATE sessions SET checked_at = now()
         WHERE digest = $1 AND checked_at < now() - make_interval(secs => $2)
         RETURNING login, subject";
    CHANGE_SESSION = "UPDATE sessions SET role = $2, groups = $3 WHERE digest = $1";
    END_SESSION = "DELETE FROM sessions WHERE digest = $1 RETURNING id, name, method";
    END_SESSION_OF_ID = "DELETE FROM sessions WHERE id = $1 RETURNING id, name, method";
    END_SESSIONS_OF = "
        DELETE FROM sessions
         WHERE ($1::text IS NULL OR subject = $1)
           AND ($2::text IS NULL OR provider_session = $2 OR (provider_session IS NULL AND $1 IS NOT NULL))
           AND method = 'oidc' AND coalesce($1, $2) IS NOT NULL
         RETURNING id, name, method";
    LIST_SESSIONS = "
        SELECT id, name, role, method, groups, origin, made_at, used_at, ends_at FROM sessions
         WHERE id > $1 AND ends_at > now() ORDER BY id LIMIT $2";
    FORGET_SESSIONS = "
        DELETE FROM sessions WHERE id = ANY(ARRAY(
            SELECT id FROM sessions WHERE ends_at < now() ORDER BY ends_at LIMIT $1))";
}

/// A token, to be stored.
#[derive(Clone, Debug)]
pub struct NewToken<'a> {
    /// Id.
    pub id: &'a str,
    /// Digest of the token.
    pub digest: SecretDigest,
    /// Name of the program.
    pub name: &'a str,
    /// Role.
    pub role: AccessRole,
    /// Principal that makes it, as JSON.
    pub made_by: &'a str,
    /// End; none if it has none.
    pub ends_at: Option<jiff::Timestamp>,
    /// Tenants that it belongs to.
    pub tenants: &'a [String],
}

/// Stores a token; none if another one has the id, which chance makes rare.
pub async fn add_token(tx: &Tx<'_>, token: &NewToken<'_>) -> Result<Option<TokenView>> {
    let NewToken { id, digest, name, role, made_by, ends_at, tenants } = token;
    let statement = tx.prepare_cached(ADD_TOKEN).await?;
    let role = role.as_str();
    let row = tx.query_opt(&statement, &[id, &&digest[..], name, &role, made_by, ends_at, tenants]).await?;
    Ok(row.as_ref().map(token_view))
}

/// Revokes a token; its name and role, or none if no valid one has the id.
pub async fn revoke_token(tx: &Tx<'_>, id: &str) -> Result<Option<(String, String)>> {
    let row = tx.query_opt(&tx.prepare_cached(REVOKE_TOKEN).await?, &[&id]).await?;
    Ok(row.map(|row| (row.get("name"), row.get("role"))))
}

/// Owner of a secret that counts.
#[derive(Clone, Debug)]
pub struct KnownOwner {
    /// Text that identifies the person for ever; of the local administrator the name, with a digest of the hash of the password; of a token
    /// its id.
    pub subject: String,
    /// Name.
    pub name: String,
    /// Role.
    pub role: AccessRole,
    /// Proof of the name.
    pub method: LoginMethod,
    /// Groups of a person, as they were read last; of a token the tenants that it belongs to.
    pub groups: Vec<String>,
    /// True if the time of its use is older than a minute.
    pub is_stale: bool,
    /// True if the groups of its person are to be read again.
    pub is_unchecked: bool,
}

/// Owner of a token; none if it is unknown, revoked or expired.
///
/// # Errors
/// The database fails, or holds a word that is not known.
pub async fn token(client: &Client, digest: &SecretDigest) -> Result<Option<KnownOwner>> {
    let row = client.query_opt(&client.prepare_cached(TOKEN).await?, &[&&digest[..]]).await?;
    let read = |row: &Row| {
        Ok(read!(row => KnownOwner {
            subject, name, groups, is_stale;
            role: word(row, "role", "tokens.role")?,
            method: LoginMethod::Token,
            is_unchecked: false
        }))
    };
    row.as_ref().map(read).transpose()
}

/// Owner of a session; none if it has ended, or nothing was asked in it for longer than `idle`. The groups are to be read
/// again where that was longer ago than `recheck`.
///
/// # Errors
/// The database fails, or holds a word that is not known.
pub async fn session(
    client: &Client,
    digest: &SecretDigest,
    idle: Duration,
    recheck: Duration,
) -> Result<Option<KnownOwner>> {
    let statement = client.prepare_cached(SESSION).await?;
    let times = (idle.as_secs_f64(), recheck.as_secs_f64());
    let row = client.query_opt(&statement, &[&&digest[..], &times.0, &times.1]).await?;
    let read = |row: &Row| {
        Ok(read!(row => KnownOwner {
            subject, name, groups, is_stale, is_unchecked;
            role: word(row, "role", "sessions.role")?,
            method: word(row, "method", "sessions.method")?
        }))
    };
    row.as_ref().map(read).transpose()
}

/// Notes that a token or a session is used, once a minute.
pub async fn touch(client: &Client, digest: &SecretDigest, method: LoginMethod) -> Result<()> {
    let sql = if method == LoginMethod::Token { TOUCH_TOKEN } else { TOUCH_SESSION };
    client.execute(&client.prepare_cached(sql).await?, &[&&digest[..]]).await?;
    Ok(())
}

/// Takes on to read the groups of a session's person again; the name of the login and the subject, or none if another node has done so meanwhile.
pub async fn take_check(
    client: &Client,
    digest: &SecretDigest,
    recheck: Duration,
) -> Result<Option<(String, String)>> {
    let statement = client.prepare_cached(CHECK_SESSION).await?;
    let row = client.query_opt(&statement, &[&&digest[..], &recheck.as_secs_f64()]).await?;
    Ok(row.map(|row| (row.get("login"), row.get("subject"))))
}

/// Gives a session the role and the groups that its person has now.
pub async fn change_session(
    client: &Client,
    digest: &SecretDigest,
    role: AccessRole,
    groups: &[String],
) -> Result<()> {
    let statement = client.prepare_cached(CHANGE_SESSION).await?;
    client.execute(&statement, &[&&digest[..], &role.as_str(), &groups]).await?;
    Ok(())
}

/// Tokens behind an id, by id.
pub async fn list_tokens(client: &Client, after: &str, limit: i64) -> Result<Vec<TokenView>> {
    let rows = client.query(&client.prepare_cached(LIST_TOKENS).await?, &[&after, &limit]).await?;
    Ok(rows.iter().map(token_view).collect())
}

/// A session, to be stored.
#[derive(Clone, Debug)]
pub struct NewSession<'a> {
    /// Id.
    pub id: &'a str,
    /// Digest of the cookie.
    pub digest: SecretDigest,
    /// Proof of the name.
    pub method: LoginMethod,
    /// Text that identifies the person for ever.
    pub subject: &'a str,
    /// Name of the person.
    pub name: &'a str,
    /// Name with which the person has logged in.
    pub login: &'a str,
    /// Role.
    pub role: AccessRole,
    /// Groups of the person.
    pub groups: &'a [String],
    /// Session at the identity provider.
    pub provider_session: Option<&'a str>,
    /// Address of the browser.
    pub origin: Option<&'a str>,
    /// Longest time that it lasts.
    pub longest: Duration,
}

/// Sessions of one person at a time; of more the oldest end.
const MOST_OF_PERSON: i64 = 20;

/// Stores a session.
pub async fn add_session(tx: &Tx<'_>, session: &NewSession<'_>) -> Result<()> {
    let NewSession { id, digest, subject, name, login, groups, provider_session, origin, .. } = session;
    let (method, role) = (session.method.as_str(), session.role.as_str());
    let longest = session.longest.as_secs_f64();
    let statement = tx.prepare_cached(ADD_SESSION).await?;
    tx.execute(
        &statement,
        &[id, &&digest[..], &method, subject, name, login, &role, groups, provider_session, origin, &longest],
    )
    .await?;
    let oldest = tx.prepare_cached(END_OLDEST).await?;
    tx.execute(&oldest, &[subject, &method, &MOST_OF_PERSON]).await?;
    Ok(())
}

/// A session that has ended.
#[derive(Clone, Debug)]
pub struct EndedSession {
    /// Id.
    pub id: String,
    /// Name of the person.
    pub name: String,
    /// Proof of the name.
    pub method: String,
}

/// Sessions to end.
#[derive(Clone, Copy, Debug)]
pub enum SessionsToEnd<'a> {
    /// The one with this cookie.
    OfCookie(&'a SecretDigest),
    /// The one with this id.
    OfId(&'a str),
    /// All of a person at the identity provider, or of one session there.
    AtProvider {
        /// The person.
        subject: Option<&'a str>,
        /// The session.
        session: Option<&'a str>,
    },
}

/// Ends sessions, and says which.
pub async fn end_sessions(tx: &Tx<'_>, which: SessionsToEnd<'_>) -> Result<Vec<EndedSession>> {
    let rows = match which {
        SessionsToEnd::OfCookie(digest) => {
            tx.query(&tx.prepare_cached(END_SESSION).await?, &[&&digest[..]]).await?
        }
        SessionsToEnd::OfId(id) => tx.query(&tx.prepare_cached(END_SESSION_OF_ID).await?, &[&id]).await?,
        SessionsToEnd::AtProvider { subject, session } => {
            tx.query(&tx.prepare_cached(END_SESSIONS_OF).await?, &[&subject, &session]).await?
        }
    };
    Ok(rows.iter().map(|row| read!(row => EndedSession { id, name, method })).collect())
}

/// Sessions behind an id, by id.
pub async fn list_sessions(client: &Client, after: &str, limit: i64) -> Result<Vec<PersonSessionView>> {
    let rows = client.query(&client.prepare_cached(LIST_SESSIONS).await?, &[&after, &limit]).await?;
    let view = |row: &Row| {
        read!(row => PersonSessionView {
            id, name, role, method, groups, made_at, used_at, ends_at;
            from: row.get("origin")
        })
    };
    Ok(rows.iter().map(view).collect())
}

/// Removes sessions that are over, `limit` at most.
pub async fn forget_sessions(client: &Client, limit: i64) -> Result<()> {
    client.execute(&client.prepare_cached(FORGET_SESSIONS).await?, &[&limit]).await?;
    Ok(())
}

fn token_view(row: &Row) -> TokenView {
    read!(row => TokenView {
        id, name, role, tenants, made_at, ends_at, used_at, revoked_at;
        made_by: serde_json::from_str(row.get("made_by")).unwrap_or_default()
    })
}
