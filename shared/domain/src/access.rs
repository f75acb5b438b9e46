//! Who may do what: roles, the operations that each admits to, and the roles that groups of a directory give.

pub mod scope;
pub mod throttle;
pub mod token;

use crate::id::spelled;
use scope::AccessScope;

/// Role of a person or a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessRole {
    /// A person who sees everything and changes nothing.
    Viewer,
    /// A person who acts on orders, flows, systems and nodes.
    Operator,
    /// A person who also changes scenarios and gives access.
    Admin,
    /// A program that sends orders and follows them.
    Client,
    /// A called system or an actor: a program that answers.
    System,
}

spelled!(AccessRole {
    Viewer => "viewer",
    Operator => "operator",
    Admin => "admin",
    Client => "client",
    System => "system",
});

impl AccessRole {
    /// Roles that groups may give, the most powerful first.
    pub const OF_PEOPLE: [Self; 3] = [Self::Admin, Self::Operator, Self::Viewer];

    /// True if this role admits to an operation that asks for `needed`; `reads` is true for an operation that changes nothing.
    /// This is the whole table of rights.
    #[must_use]
    pub const fn admits_to(self, needed: Self, reads: bool) -> bool {
        match needed {
            Self::Viewer => matches!(self, Self::Viewer | Self::Operator | Self::Admin),
            Self::Operator => matches!(self, Self::Operator | Self::Admin),
            Self::Admin => matches!(self, Self::Admin),
            // Who sees every order also sees what its sender may see.
            Self::Client => {
                matches!(self, Self::Client | Self::Operator | Self::Admin)
                    || reads && matches!(self, Self::Viewer)
            }
            Self::System => matches!(self, Self::System | Self::Operator | Self::Admin),
        }
    }
}

/// Proof that the API asks of those who use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessMode {
    /// None: who reaches the API may do everything.
    Public,
    /// Tokens, and the local administrator.
    Token,
    /// The same, and people of a directory.
    Ldap,
    /// The same, and people of an identity provider.
    Oidc,
}

spelled!(AccessMode { Public => "public", Token => "token", Ldap => "ldap", Oidc => "oidc" });

/// Proof that an answer of a called system needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallbackProof {
    /// The unguessable address to which it is sent.
    Address,
    /// A token besides.
    Token,
}

spelled!(CallbackProof { Address => "address", Token => "token" });

/// Way in which somebody proved who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoginMethod {
    /// Not at all: the API is open to all who reach it.
    Public,
    /// A token of a program.
    Token,
    /// The local administrator of the configuration.
    Local,
    /// A directory.
    Ldap,
    /// An identity provider.
    Oidc,
}

spelled!(LoginMethod {
    Public => "public",
    Token => "token",
    Local => "local",
    Ldap => "ldap",
    Oidc => "oidc",
});

/// A person or a program whose role is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Name, as it was proved; empty where nobody asked for one.
    pub name: String,
    /// Role.
    pub role: AccessRole,
    /// Proof of the name.
    pub method: LoginMethod,
    /// Names and payloads that they see.
    pub scope: AccessScope,
}

impl Identity {
    /// Everybody, where the API is open: nothing is asked, and nothing is refused.
    #[must_use]
    pub const fn anybody() -> Self {
        Self::unlimited(String::new(), AccessRole::Admin, LoginMethod::Public)
    }

    /// Somebody who sees everything.
    #[must_use]
    pub const fn unlimited(name: String, role: AccessRole, method: LoginMethod) -> Self {
        Self { name, role, method, scope: AccessScope::WHOLE }
    }

    /// Name of the principal of what is done: method and name, such as `ldap:anna`. None for everybody.
    #[must_use]
    pub fn principal(&self) -> Option<String> {
        (self.method != LoginMethod::Public).then(|| format!("{}:{}", self.method, self.name))
    }
}

/// Group that stands for everybody whom the directory knows.
pub const EVERY_GROUP: &str = "*";

/// Groups that give each role of people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupRoles(Vec<(AccessRole, String)>);

impl GroupRoles {
    /// Adds a group that gives a role.
    pub fn add(&mut self, role: AccessRole, group: &str) {
        self.0.push((role, group.to_owned()));
    }

    /// True if no group gives a role.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Role of somebody with these groups: the most powerful that one of them gives. `is_same` says whether two names are
    /// of one group: directories write one distinguished name in several ways.
    #[must_use]
    pub fn role_of(&self, groups: &[String], is_same: impl Fn(&str, &str) -> bool) -> Option<AccessRole> {
        let gives = |role: AccessRole| {
            self.0.iter().any(|(given, group)| {
                *given == role && (group == EVERY_GROUP || groups.iter().any(|one| is_same(one, group)))
            })
        };
        AccessRole::OF_PEOPLE.into_iter().find(|role| gives(*role))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ui_1_the_table_of_rights() {
        use AccessRole::*;
        // Role; what it admits to when it reads, and when it changes.
        let table: [(AccessRole, &[AccessRole], &[AccessRole]); 5] = [
            (Viewer, &[Viewer, Client], &[Viewer]),
            (Operator, &[Viewer, Operator, Client, System], &[Viewer, Operator, Client, System]),
            (Admin, AccessRole::ALL, AccessRole::ALL),
            (Client, &[Client], &[Client]),
            (System, &[System], &[System]),
        ];
        for (role, reads, changes) in table {
            for needed in AccessRole::ALL {
                assert_eq!(role.admits_to(*needed, true), reads.contains(needed), "{role} reads {needed}");
                assert_eq!(role.admits_to(*needed, false), changes.contains(needed), "{role} does {needed}");
            }
        }
    }

    #[test]
    fn ui_1_the_most_powerful_group_gives_the_role() {
        let mut roles = GroupRoles::default();
        roles.add(AccessRole::Operator, "ops");
        roles.add(AccessRole::Admin, "admins");
        let role = |groups: &[&str]| {
            let groups: Vec<String> = groups.iter().map(|group| (*group).to_owned()).collect();
            roles.role_of(&groups, str::eq_ignore_ascii_case)
        };
        assert_eq!(role(&["OPS", "others"]), Some(AccessRole::Operator));
        assert_eq!(role(&["ops", "Admins"]), Some(AccessRole::Admin));
        assert_eq!(role(&["ops2", "admin", ""]), None);
        assert_eq!(role(&[]), None);
        let mut open = roles.clone();
        open.add(AccessRole::Viewer, EVERY_GROUP);
        assert_eq!(open.role_of(&[], |_, _| false), Some(AccessRole::Viewer));
    }

    #[test]
    fn ord_24_a_principal_says_how_its_name_was_proved() {
        assert_eq!(Identity::anybody().principal(), None);
        let anna = Identity::unlimited("anna".into(), AccessRole::Viewer, LoginMethod::Ldap);
        assert_eq!(anna.principal().as_deref(), Some("ldap:anna"));
    }
}
