//! The directory of the installation, if it has one, or its identity provider.

use pagurus_domain::access::AccessMode;
use pagurus_runtime::config::Settings;
use pagurus_wire::access::AccessStep;

use crate::ldap::LdapDirectory;
use crate::oidc::OidcProvider;
use crate::{LoginFailure, Person};

/// Source of people.
pub(crate) enum Directory {
    /// Nothing: people have no login, but for the local administrator.
    Nobody,
    /// A directory.
    Ldap(LdapDirectory),
    /// An identity provider.
    Oidc(Box<OidcProvider>),
}

impl Directory {
    /// The source that the settings name. Nothing is connected yet.
    pub fn of(settings: &Settings) -> Self {
        match settings.access.mode {
            AccessMode::Public | AccessMode::Token => Self::Nobody,
            AccessMode::Ldap => Self::Ldap(LdapDirectory::new(&settings.ldap)),
            AccessMode::Oidc => match OidcProvider::new(&settings.oidc) {
                Ok(provider) => Self::Oidc(Box::new(provider)),
                // The check of the configuration finds it before; nobody logs in by settings that cannot be used.
                Err(fault) => {
                    tracing::error!(error = fault.to_string(), "no identity provider can be asked");
                    Self::Nobody
                }
            },
        }
    }

    /// The identity provider.
    pub const fn provider(&self) -> Option<&OidcProvider> {
        match self {
            Self::Oidc(provider) => Some(provider),
            Self::Nobody | Self::Ldap(_) => None,
        }
    }

    /// Proves a name by its password.
    pub async fn log_in(&self, name: &str, password: &str) -> Result<Person, LoginFailure> {
        match self {
            Self::Ldap(directory) => directory.login(name, password).await,
            Self::Nobody => Err(LoginFailure::Refused("no directory is asked for passwords".into())),
            Self::Oidc(_) => {
                Err(LoginFailure::Refused("people log in at the identity provider, not by a password".into()))
            }
        }
    }

    /// Steps of a look-up of a person without their password, and the person if they are found.
    pub async fn look_up(&self, name: &str) -> (Vec<AccessStep>, Option<Person>) {
        let only = |result: &str| {
            (vec![AccessStep { step: "directory".to_owned(), result: result.to_owned() }], None)
        };
        match self {
            Self::Nobody => only("there is none (`access.mode`)"),
            Self::Oidc(_) => only(
                "the identity provider names the groups of a person at the login only; \
                 `pagurus access sessions list` shows those of present sessions",
            ),
            Self::Ldap(directory) => {
                let found = directory.look_up(name).await;
                let steps = found.steps.into_iter();
                (steps.map(|(step, result)| AccessStep { step, result }).collect(), found.outcome.ok())
            }
        }
    }

    /// A person, without their password: the inner none if the directory does not know them any more, the outer if it cannot be
    /// asked.
    pub async fn find(&self, name: &str) -> Option<Option<Person>> {
        match self {
            Self::Ldap(directory) => match directory.look_up(name).await.outcome {
                Ok(person) => Some(Some(person)),
                Err(LoginFailure::Refused(_)) => Some(None),
                Err(LoginFailure::Unavailable(_)) => None,
            },
            Self::Nobody | Self::Oidc(_) => None,
        }
    }
}
