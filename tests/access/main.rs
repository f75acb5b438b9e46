//! Logins against real directories and identity providers.

mod ldap;
