//! Logins against real directories and identity providers.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod ldap;
mod oidc;
