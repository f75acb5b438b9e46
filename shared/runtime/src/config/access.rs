//! Settings of access: who may use the API, and how they prove who they are.

use std::time::Duration;

use pagurus_domain::access::scope::{AccessScope, TenantMembership, Tenants};
use pagurus_domain::access::{AccessMode, AccessRole, CallbackProof, GroupRoles};
use pagurus_domain::document::Fault;
use pagurus_domain::id::Vocabulary;

use super::Settings;
use super::builder::SettingsBuilder;
use super::kind::Kind::*;
use super::section::{section, without_slash};

section! {
    /// `access`
    #[derive(Clone)]
    pub struct AccessSettings;

    mode: AccessMode = ("access.mode", Choice(AccessMode::WORDS), "public", Restart, "Who may use the API. `public`: everybody who reaches it, which is nobody beyond this host unless `intake.public_confirmed` is set. `token`: programs with a token, and the local administrator. `ldap` and `oidc`: also people whose groups give them a role.");
    url: Option<String> = without_slash("access.url", OptionalText, "~", Live, "Base of the address at which people reach the API, such as `https://pagurus.example`; an identity provider sends them back there.");
    ("access.groups.viewer", TextsOrNone, "[]", Live, "Groups whose members see everything and change nothing; `*` stands for everybody in the directory.");
    ("access.groups.operator", TextsOrNone, "[]", Live, "Groups whose members also act on orders, flows, systems and nodes.");
    ("access.groups.admin", TextsOrNone, "[]", Live, "Groups whose members also change scenarios and give access.");
    payloads: AccessRole = ("access.payloads", Choice(&["viewer", "operator", "admin"]), "viewer", Live, "Lowest role of people that sees payloads: parameters, variables, results, callbacks, and texts that scenarios make of them. Others see `***` instead, and cannot search by them.");
    ("access.tenants", Tree("a list of `name`, `groups`, `flows`, `queues` and `scenarios`"), "[]", Live, "Tenants: groups of people, and the flows, queues and scenarios that they own, by name or with `*` for any letters. Only its members and administrators see and act on what a tenant owns; what no tenant owns is everybody's.");
    callbacks: CallbackProof = ("access.callbacks", Choice(CallbackProof::WORDS), "address", Live, "Proof that an answer to a request needs, unless the mode is `public`. `address`: the address of the request, which only the called system knows, is enough. `token`: a token of the role `system` is needed as well.");
    idle: Duration = ("access.session.idle", Duration, "30m", Live, "How long a session lasts without a request.");
    longest: Duration = ("access.session.longest", Duration, "12h", Live, "Longest duration of a session.");
    recheck: Duration = ("access.session.recheck", Duration, "1m", Live, "How often the groups of a person with a session are read again, if the directory is asked through an account of its own; without a role, the session ends.");
    local_name: Option<String> = ("access.local.name", OptionalText, "~", Live, "Name of the local administrator, for times when the directory is unavailable; default: none.");
    local_password: Option<String> = ("access.local.password_hash", OptionalSecret, "~", Live, "Argon2 hash of the password of the local administrator, from `pagurus access hash-password`.");

    /// Groups that give roles.
    with groups: GroupRoles = SettingsBuilder::group_roles;
    /// Tenants.
    with tenants: Tenants = SettingsBuilder::tenants;
}

impl AccessSettings {
    /// Names and payloads that somebody in this role, and of these tenants, sees. Programs see the payloads that they send.
    #[must_use]
    pub fn scope(&self, role: AccessRole, membership: &TenantMembership) -> AccessScope {
        if role == AccessRole::Admin {
            return AccessScope::WHOLE;
        }
        let scope = self.tenants.scope(membership);
        let is_person = AccessRole::OF_PEOPLE.contains(&role);
        if is_person && !role.admits_to(self.payloads, true) { scope.without_payloads() } else { scope }
    }

    /// The fault of a local administrator of whom one half is set. Each key may be changed alone, so that only a start has it.
    pub(crate) fn unpaired(&self) -> Option<Fault> {
        let message = "needs both `access.local.name` and `access.local.password_hash`";
        let is_half = self.local_name.is_some() != self.local_password.is_some();
        is_half.then(|| Fault::placed(None, "/access/local/name", message))
    }
}

impl SettingsBuilder {
    fn group_roles(&mut self) -> Result<GroupRoles, Fault> {
        let mut roles = GroupRoles::default();
        for role in AccessRole::OF_PEOPLE {
            for group in self.value::<Vec<String>>(&format!("access.groups.{role}"))? {
                roles.add(role, &group);
            }
        }
        Ok(roles)
    }

    /// Checks what no key of access can tell alone.
    pub(super) fn check_access(&mut self, settings: &Settings) {
        let access = &settings.access;
        let missing = match access.mode {
            AccessMode::Public | AccessMode::Token => None,
            AccessMode::Ldap => settings.ldap.url.is_none().then_some("`access.ldap.url`"),
            AccessMode::Oidc => [
                (settings.oidc.issuer.is_none(), "`access.oidc.issuer`"),
                (settings.oidc.client_id.is_none(), "`access.oidc.client_id`"),
                (access.url.is_none(), "`access.url`, to which the provider sends people back"),
            ]
            .into_iter()
            .find_map(|(is_missing, key)| is_missing.then_some(key)),
        };
        if let Some(missing) = missing {
            self.values.fault("access.mode", format!("`{}` needs {missing}", access.mode));
        }
        if access.local_password.as_deref().is_some_and(|hash| !is_hash(hash)) {
            let message =
                "must be a hash that `pagurus access hash-password` makes; it begins with `$argon2id$`";
            self.values.fault("access.local.password_hash", message);
        }
        let of_directory = matches!(access.mode, AccessMode::Ldap | AccessMode::Oidc);
        if of_directory && access.groups.is_empty() && access.local_name.is_none() {
            let message = "nobody could log in: no group gives a role, and there is no local administrator";
            self.values.fault("access.mode", message);
        }
        if access.idle > access.longest {
            self.values.fault("access.session.idle", "must not be more than `access.session.longest`");
        }
    }
}

/// True if it has the form of a hash: `$argon2id$VERSION$PARAMETERS$SALT$HASH`. A shell that took a part of it for a variable
/// leaves less.
fn is_hash(text: &str) -> bool {
    let parts: Vec<&str> = text.split('$').collect();
    parts.len() == 6 && parts[..2] == ["", "argon2id"] && parts[2..].iter().all(|part| !part.is_empty())
}
