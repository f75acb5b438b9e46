//! Identity of a request: whose secret it carries.

use std::time::Instant;

use pagurus_domain::access::token::SecretDigest;
use pagurus_domain::access::{Identity, LoginMethod};
use pagurus_store::Error;
use pagurus_store::outside::access::{self as stored, KnownOwner};
use pagurus_wire::problem::Problem;

use crate::{Access, lock};

/// Secret that a request carries, by its digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Credential {
    /// A token.
    Token(SecretDigest),
    /// The cookie of a session.
    Session(SecretDigest),
}

impl Credential {
    pub(crate) const fn digest(&self) -> &SecretDigest {
        match self {
            Self::Token(digest) | Self::Session(digest) => digest,
        }
    }
}

impl Access {
    /// Returns whose the secret is; `None` if it is nobody's, or counts no more.
    ///
    /// # Errors
    /// The database does not answer: then nobody is let in, and nobody is sent away.
    pub async fn identify(&self, credential: &Credential) -> Result<Option<Identity>, Problem> {
        let asked = Instant::now();
        if let Some(identity) = lock(&self.0.owners).get(credential.digest(), asked) {
            return Ok(Some(identity));
        }
        let owner = self.look_up(credential).await.map_err(|error| self.failed(&error))?;
        let identity =
            owner.map(|owner| Identity { name: owner.name, role: owner.role, method: owner.method });
        lock(&self.0.owners).put(*credential.digest(), identity.clone(), asked);
        Ok(identity)
    }

    async fn look_up(&self, credential: &Credential) -> Result<Option<KnownOwner>, Error> {
        let client = self.0.host.store.api().await?;
        let settings = self.0.host.settings();
        let found = match credential {
            Credential::Token(digest) => stored::token(&client, digest).await?,
            Credential::Session(digest) => {
                let access = &settings.access;
                stored::session(&client, digest, access.idle, access.recheck).await?
            }
        };
        let Some(owner) = found else { return Ok(None) };
        if owner.is_stale {
            stored::touch(&client, credential.digest(), owner.method).await?;
        }
        if owner.is_unchecked && owner.method == LoginMethod::Ldap {
            self.recheck(*credential.digest());
        }
        Ok(Some(owner))
    }

    /// Reads the groups of a session's person again, beside the request. While the directory is away, the session goes on.
    fn recheck(&self, digest: SecretDigest) {
        let access = self.clone();
        tokio::spawn(async move {
            if let Err(error) = access.check_groups(&digest).await {
                tracing::warn!(error = error.to_string(), "the groups of a session could not be read again");
            }
        });
    }

    async fn check_groups(&self, digest: &SecretDigest) -> Result<(), Error> {
        let settings = self.0.host.settings();
        let client = self.0.host.store.api().await?;
        let Some(name) = stored::take_check(&client, digest, settings.access.recheck).await? else {
            return Ok(());
        };
        drop(client);
        // No answer, and a directory that is asked by nobody's account, are no reason to end a session.
        let Some(groups) = self.0.directory.groups_of(&name).await else { return Ok(()) };
        match groups.as_deref().and_then(|groups| self.role_of(groups)) {
            Some(role) => {
                let client = self.0.host.store.api().await?;
                stored::change_session(&client, digest, role, &groups.unwrap_or_default()).await?;
            }
            None => self.end_without_role(digest).await?,
        }
        lock(&self.0.owners).forget(digest);
        Ok(())
    }
}
