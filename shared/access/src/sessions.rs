//! Sessions of people: listed, and ended.

use pagurus_domain::access::token::SecretDigest;
use pagurus_domain::audit::AuditKind;
use pagurus_domain::number::saturated;
use pagurus_domain::order::principal::Principal;
use pagurus_store::Error;
use pagurus_store::lists::audit::AuditEntry;
use pagurus_store::outside::access::{self as stored, EndedSession, SessionsToEnd};
use pagurus_wire::access::PersonSessionView;
use pagurus_wire::order::Page;
use pagurus_wire::problem::Problem;

use crate::{Access, lock};

/// Session to end.
#[derive(Clone, Copy)]
pub enum WhichSession<'a> {
    /// The one of this cookie.
    Own(&'a SecretDigest),
    /// The one with this id.
    Id(&'a str),
}

impl Access {
    /// Ends a session, and says whether there was one. Other nodes refuse it within a second.
    ///
    /// # Errors
    /// The problem to answer with: the database does not answer.
    pub async fn end_session(&self, which: WhichSession<'_>, by: &Principal) -> Result<bool, Problem> {
        let (which, action) = match which {
            WhichSession::Own(digest) => (SessionsToEnd::OfCookie(digest), "logout"),
            WhichSession::Id(id) => (SessionsToEnd::OfId(id), "end"),
        };
        let ended = self.end(which, action, by).await.map_err(|error| self.failed(&error))?;
        Ok(!ended.is_empty())
    }

    pub(crate) async fn end(
        &self,
        which: SessionsToEnd<'_>,
        action: &str,
        by: &Principal,
    ) -> Result<Vec<EndedSession>, Error> {
        let mut client = self.0.host.store.api().await?;
        let tx = client.transaction().await?;
        let ended = stored::end_sessions(&tx, which).await?;
        for session in &ended {
            let detail = serde_json::json!({"name": session.name, "method": session.method});
            let entry = AuditEntry::new(action, (AuditKind::Session, &session.id), by, None);
            entry.with(&detail).record(&tx).await?;
        }
        tx.commit().await?;
        // Ids do not lead to digests, and this is rare.
        lock(&self.0.owners).clear();
        Ok(ended)
    }

    /// Ends the session of somebody to whom the directory or the settings give no role any more.
    pub(crate) async fn end_without_role(&self, digest: &SecretDigest, by: &str) -> Result<(), Error> {
        let by = Principal::http(Some(by.to_owned()), None);
        self.end(SessionsToEnd::OfCookie(digest), "end", &by).await?;
        Ok(())
    }

    /// Returns a page of the sessions that last, by id.
    ///
    /// # Errors
    /// The problem to answer with: the database does not answer.
    pub async fn sessions(
        &self,
        limit: usize,
        after: Option<&str>,
    ) -> Result<Page<PersonSessionView>, Problem> {
        let found = async {
            let client = self.0.host.store.api().await?;
            stored::list_sessions(&client, after.unwrap_or_default(), saturated(limit)).await
        };
        let items = found.await.map_err(|error| self.failed(&error))?;
        Ok(page_of(items, limit, |session| &session.id))
    }
}

/// A page of what was read with this limit.
pub(crate) fn page_of<T>(items: Vec<T>, limit: usize, id: impl Fn(&T) -> &String) -> Page<T> {
    let next = items.last().filter(|_| items.len() >= limit).map(|last| id(last).clone());
    Page { items, next }
}
