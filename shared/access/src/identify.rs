//! Identity of a request: whose secret it carries.

use std::time::Instant;

use pagurus_domain::access::scope::TenantMembership;
use pagurus_domain::access::token::SecretDigest;
use pagurus_domain::access::{AccessMode, AccessRole, Identity, LoginMethod};
use pagurus_runtime::config::AccessSettings;
use pagurus_store::Error;
use pagurus_store::outside::access::{self as stored, KnownOwner};
use pagurus_wire::problem::Problem;

use crate::ldap::is_same_dn;
use crate::local::local_subject;
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
    /// Returns whose the secret is, and notes that it is used; `None` if it is nobody's, or counts no more.
    ///
    /// # Errors
    /// The database does not answer: then nobody is let in, and nobody is sent away.
    pub async fn identify(&self, credential: &Credential) -> Result<Option<Identity>, Problem> {
        self.owner(credential, true).await
    }

    /// The same for an answer that lasts: it is no use of the secret, and keeps no session alive.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn still(&self, credential: &Credential) -> Result<Option<Identity>, Problem> {
        self.owner(credential, false).await
    }

    /// True if the secret was somebody's a moment ago, so that nobody need be asked.
    #[must_use]
    pub fn is_known(&self, credential: &Credential) -> bool {
        lock(&self.0.owners).knows(credential.digest(), Instant::now())
    }

    async fn owner(&self, credential: &Credential, is_use: bool) -> Result<Option<Identity>, Problem> {
        let asked = Instant::now();
        if let Some(identity) = lock(&self.0.owners).get(credential.digest(), asked) {
            return Ok(Some(identity));
        }
        let found = self.look_up(credential, is_use).await.map_err(|error| self.failed(&error))?;
        lock(&self.0.owners).put(*credential.digest(), found.clone(), asked);
        Ok(found)
    }

    async fn look_up(&self, credential: &Credential, is_use: bool) -> Result<Option<Identity>, Error> {
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
        let Some(role) = self.present_role(&owner, &settings.access) else {
            if owner.method == LoginMethod::Local {
                // A session that is only refused would count again if the former password came back.
                self.end_without_role(credential.digest(), "settings").await?;
            }
            return Ok(None);
        };
        if owner.is_stale && is_use {
            stored::touch(&client, credential.digest(), owner.method).await?;
        }
        if owner.is_unchecked && owner.method == LoginMethod::Ldap {
            self.recheck(*credential.digest());
        }
        let membership = match owner.method {
            LoginMethod::Token => TenantMembership::read(owner.groups),
            _ => self.tenants_of(&owner.groups),
        };
        let scope = settings.access.scope(role, &membership);
        Ok(Some(Identity { name: owner.name, role, method: owner.method, scope }))
    }

    /// Role that the settings of this moment give: they may have changed since the login. None if they give none.
    fn present_role(&self, owner: &KnownOwner, access: &AccessSettings) -> Option<AccessRole> {
        let is_usual = match owner.method {
            LoginMethod::Public => false,
            LoginMethod::Token => return Some(owner.role),
            LoginMethod::Local => {
                let is_present = local_subject(access).as_ref() == Some(&owner.subject);
                return is_present.then_some(owner.role);
            }
            LoginMethod::Ldap => access.mode == AccessMode::Ldap,
            LoginMethod::Oidc => access.mode == AccessMode::Oidc,
        };
        self.role_of(&owner.groups).filter(|_| is_usual)
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
        let taken = stored::take_check(&client, digest, settings.access.recheck).await?;
        let Some((name, subject)) = taken else { return Ok(()) };
        drop(client);
        // No answer, and a directory that is asked by nobody's account, are no reason to end a session.
        let Some(person) = self.0.directory.find(&name).await else { return Ok(()) };
        // Somebody else may have the name by now.
        let groups =
            person.filter(|person| is_same_dn(&person.subject, &subject)).map(|person| person.groups);
        let groups = groups.unwrap_or_default();
        match self.role_of(&groups) {
            Some(role) => {
                let client = self.0.host.store.api().await?;
                stored::change_session(&client, digest, role, &groups).await?;
            }
            None => self.end_without_role(digest, "directory").await?,
        }
        lock(&self.0.owners).forget(digest);
        Ok(())
    }
}
