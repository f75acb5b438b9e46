//! Settings of the login by a directory.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use pagurus_tls::ClientTls;

use super::kind::Kind::*;
use super::section::section;

section! {
    /// `access.ldap`
    #[derive(Clone)]
    pub struct LdapSettings;

    url: Option<String> = ("access.ldap.url", OptionalText, "~", Restart, "URL of the directory: `ldaps://HOST[:PORT]`, or `ldap://HOST[:PORT]`, which is encrypted by StartTLS.");
    start_tls: bool = ("access.ldap.start_tls", Flag, "true", Restart, "Whether a connection by `ldap://` is encrypted by StartTLS before anything else is sent.");
    plain_confirmed: bool = ("access.ldap.plain_confirmed", Flag, "false", Restart, "Confirms that passwords may be sent unencrypted to a directory on another host.");
    issuers: Option<PathBuf> = path("access.ldap.issuers", OptionalText, "~", Restart, "File with certificates of issuers, in PEM, that are trusted for the directory; default: those that this machine trusts. A changed file is read again within a second.");
    bind_template: Option<String> = ("access.ldap.bind_template", OptionalText, "~", Restart, "Name with which a person binds, with `{name}` for what was typed: `uid={name},ou=people,dc=corp,dc=example` or `{name}@corp.example`. Cannot be combined with `access.ldap.bind_name`.");
    bind_name: Option<String> = ("access.ldap.bind_name", OptionalText, "~", Restart, "Name of the account that searches for people and their groups. Cannot be combined with `access.ldap.bind_template`.");
    bind_password: Option<String> = ("access.ldap.bind_password", OptionalSecret, "~", Restart, "Password of `access.ldap.bind_name`.");
    people_base: Option<String> = ("access.ldap.people.base", OptionalText, "~", Restart, "Distinguished name of the entry below which to search for people.");
    people_filter: Option<String> = ("access.ldap.people.filter", OptionalText, "~", Restart, "Filter that finds a person, with `{name}` for what was typed: `(uid={name})`. Exactly one entry may match.");
    name_attribute: Option<String> = ("access.ldap.people.name_attribute", OptionalText, "~", Restart, "Attribute of a person that is shown and audited as their name, such as `uid`; default: what was typed. Choose one that people cannot change themselves.");
    groups_attribute: Option<String> = ("access.ldap.groups.attribute", OptionalText, "~", Restart, "Attribute of a person that names their groups, such as `memberOf`.");
    groups_base: Option<String> = ("access.ldap.groups.base", OptionalText, "~", Restart, "Distinguished name of the entry below which to search for groups.");
    groups_filter: Option<String> = ("access.ldap.groups.filter", OptionalText, "~", Restart, "Filter that finds the groups of a person, with `{dn}` for the distinguished name of the person and `{name}` for what was typed: `(member={dn})`, `(memberUid={name})`, `(member:1.2.840.113556.1.4.1941:={dn})`. These groups count in addition to those of `access.ldap.groups.attribute`.");
    timeout: Duration = ("access.ldap.timeout", Duration, "10s", Restart, "Longest time for a whole login, including the wait for a place: at most eight logins use the directory at a time.");
    connect_timeout: Duration = ("access.ldap.connect_timeout", Duration, "3s", Restart, "Longest time to open a connection to the directory, including TLS.");
    bind_timeout: Duration = ("access.ldap.bind_timeout", Duration, "5s", Restart, "Longest time for one bind.");
    search_timeout: Duration = ("access.ldap.search_timeout", Duration, "5s", Restart, "Longest time for one search.");
}

fn path(file: Option<String>) -> Option<PathBuf> {
    file.map(Into::into)
}

impl LdapSettings {
    /// The directory; `None` without one, or with a URL that is a fault of the settings.
    #[must_use]
    pub fn server(&self) -> Option<LdapServer> {
        LdapServer::parse(self.url.as_deref()?).ok()
    }

    /// TLS of the connections; `None` if they have none.
    #[must_use]
    pub fn tls(&self) -> Option<ClientTls> {
        let server = self.server()?;
        let tls = || ClientTls { issuers: self.issuers.clone(), ..ClientTls::default() };
        (server.is_ldaps || self.start_tls).then(tls)
    }
}

/// The password of the account that searches must not get into logs by way of a debug line.
impl fmt::Debug for LdapSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("LdapSettings").field("url", &self.url).finish_non_exhaustive()
    }
}

/// Address of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LdapServer {
    /// True if TLS comes before LDAP.
    pub is_ldaps: bool,
    /// Name or IP address, that of IPv6 without brackets.
    pub host: String,
    /// Port of TCP.
    pub port: u16,
}

impl LdapServer {
    /// Reads `ldaps://HOST[:PORT]` or `ldap://HOST[:PORT]`.
    ///
    /// # Errors
    /// The text is none of these. The message does not repeat the URL, which may hold a password.
    pub fn parse(url: &str) -> Result<Self, &'static str> {
        let (is_ldaps, usual_port, rest) = match url.split_once("://") {
            Some(("ldaps", rest)) => (true, 636, rest),
            Some(("ldap", rest)) => (false, 389, rest),
            _ => return Err("must begin with `ldaps://` or `ldap://`"),
        };
        let form = "must be `ldaps://HOST[:PORT]` or `ldap://HOST[:PORT]`, with nothing behind it";
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (host, port) = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((address, "")) => (address, None),
            Some((address, port)) => (address, Some(port.strip_prefix(':').ok_or(form)?)),
            None => rest.split_once(':').map_or((rest, None), |(host, port)| (host, Some(port))),
        };
        let port = port.map_or(Some(usual_port), |port| port.parse().ok()).filter(|port| *port > 0);
        let is_name = |host: &str| {
            let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            !host.is_empty() && host.chars().all(allowed)
        };
        if !is_name(host) && host.parse::<IpAddr>().is_err() {
            return Err(form);
        }
        Ok(Self { is_ldaps, host: host.to_owned(), port: port.ok_or(form)? })
    }

    /// True if it is on this host.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        self.host.eq_ignore_ascii_case("localhost")
            || self.host.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
    }
}

impl fmt::Display for LdapServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_ldaps { "ldaps" } else { "ldap" };
        if self.host.contains(':') {
            write!(f, "{scheme}://[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{scheme}://{}:{}", self.host, self.port)
        }
    }
}
