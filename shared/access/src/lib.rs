//! Who people and programs are: tokens, sessions, and the directories that know people.
//!
//! Never decides what somebody may do: that is the table of roles in `pagurus_domain::access`.

mod directory;
mod explain;
mod identify;
mod ldap;
mod local;
mod login;
pub mod oidc;
mod person;
mod provider;
mod recent;
mod refusals;
mod secret;
mod sessions;
mod tokens;

use std::sync::{Arc, Mutex, PoisonError};

use pagurus_domain::access::scope::TenantMembership;
use pagurus_domain::access::throttle::LoginThrottle;
use pagurus_domain::access::{AccessMode, AccessRole, Identity};
use pagurus_runtime::Host;
use pagurus_runtime::trouble::store_problem;
use pagurus_store::Error;
use pagurus_wire::problem::Problem;

use directory::Directory;
use local::LocalAdministrator;
use recent::RecentOwners;
use refusals::RecentRefusals;

pub use identify::Credential;
pub use ldap::{LdapDirectory, LdapExplanation, canonical_dn, is_same_dn};
pub use local::hash_password;
pub use login::OpenedSession;
pub use person::{LoginFailure, Person};
pub use provider::{LoginAtProvider, PROVIDER_PATH};
pub use refusals::RefusedChange;
pub use secret::{SessionSecret, csrf_token};
pub use sessions::WhichSession;

/// Access to the API of one process. Cheap to clone.
#[derive(Clone)]
pub struct Access(Arc<AccessParts>);

struct AccessParts {
    host: Host,
    owners: Mutex<RecentOwners>,
    throttle: Mutex<LoginThrottle>,
    refusals: Mutex<RecentRefusals>,
    directory: Directory,
    local: LocalAdministrator,
}

impl Access {
    /// Access as the settings of the process have it.
    #[must_use]
    pub fn of(host: Host) -> Self {
        let directory = Directory::of(&host.settings());
        Self(Arc::new(AccessParts {
            owners: Mutex::default(),
            throttle: Mutex::default(),
            refusals: Mutex::default(),
            directory,
            local: LocalAdministrator::default(),
            host,
        }))
    }

    /// Mode of access.
    #[must_use]
    pub fn mode(&self) -> AccessMode {
        self.0.host.settings().access.mode
    }

    /// Identity of those who prove none: everybody's where the API is open, and nobody's elsewhere.
    #[must_use]
    pub fn without_credential(&self) -> Option<Identity> {
        (self.mode() == AccessMode::Public).then(Identity::anybody)
    }

    /// Role that groups of the directory give.
    fn role_of(&self, groups: &[String]) -> Option<AccessRole> {
        let roles = &self.0.host.settings().access.groups;
        match self.0.directory {
            Directory::Ldap(_) => roles.role_of(groups, ldap::is_same_dn),
            Directory::Nobody | Directory::Oidc(_) => roles.role_of(groups, |one, other| one == other),
        }
    }

    /// Tenants that groups of the directory lead to.
    fn tenants_of(&self, groups: &[String]) -> TenantMembership {
        let tenants = &self.0.host.settings().access.tenants;
        match self.0.directory {
            Directory::Ldap(_) => tenants.of_groups(groups, ldap::is_same_dn),
            Directory::Nobody | Directory::Oidc(_) => tenants.of_groups(groups, |one, other| one == other),
        }
    }

    fn failed(&self, error: &Error) -> Problem {
        store_problem(&self.0.host, "access", error)
    }
}

/// Locks what no holder can leave half changed.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
