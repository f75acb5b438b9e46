//! Settings of the login by OpenID Connect, and what can be wrong with them whatever the provider says.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use axum::http::Uri;
use pagurus_domain::document::Fault;
use pagurus_tls::ClientTls;

use super::builder::SettingsBuilder;
use super::kind::Kind::*;
use super::section::{section, words};

/// Algorithms by which tokens may be signed. Those with a shared secret (`HS256` and its like) and `none` are not among them: a public
/// key could be passed off as such a secret.
const ALGORITHMS: &[&str] =
    &["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"];
/// Longest difference between the clocks that may be set: a token that expired is as good as a valid one for this time.
const MAX_SKEW: Duration = Duration::from_secs(600);
/// Scope without which a provider returns no ID token.
const OPENID: &str = "openid";

section! {
    /// `access.oidc`
    #[derive(Clone)]
    pub struct OidcSettings;

    issuer: Option<String> = ("access.oidc.issuer", OptionalText, "~", Restart, "Address of the OpenID Connect provider, exactly as `issuer` in its discovery document, such as `https://id.example/realms/shop`. It must be `https`, except on this host.");
    client_id: Option<String> = ("access.oidc.client_id", OptionalText, "~", Restart, "Client ID of this installation at the provider.");
    client_secret: Option<String> = ("access.oidc.client_secret", OptionalSecret, "~", Restart, "Client secret of this installation at the provider; none if it is registered as a public client.");
    scopes: Vec<String> = ("access.oidc.scopes", Texts, "[openid, profile]", Restart, "Scopes that a login asks for; `openid` is one of them.");
    groups_claim: String = ("access.oidc.groups_claim", Text, "groups", Restart, "Claim with the groups of a person, in the ID token or else in the answer of the userinfo endpoint: a list of texts, or one text. Dots lead into objects, as in `realm_access.roles`.");
    name_claim: String = ("access.oidc.name_claim", Text, "preferred_username", Restart, "Claim with the name that is shown and audited; if a person has none, `name`, then `sub`. Dots lead into objects.");
    algorithms: Vec<String> = ("access.oidc.algorithms", Words(ALGORITHMS), "[RS256, ES256]", Restart, "Algorithms by which tokens may be signed.");
    acr: Vec<String> = words("access.oidc.acr", OptionalText, "~", Restart, "Authentication classes (`acr`), separated by spaces, one of which a login must have; default: any.");
    clock_skew: Duration = ("access.oidc.clock_skew", DurationOrZero, "60s", Restart, "Tolerated difference between the clocks of the provider and of this host, at most 10 minutes.");
    timeout: Duration = ("access.oidc.timeout", Duration, "10s", Restart, "Longest time for one step of a login, including all requests to the provider.");
    ("access.oidc.issuers", OptionalText, "~", Restart, "File with certificates of issuers, in PEM, that are trusted for the provider; default: those that this machine trusts.");

    /// Issuers of certificates that are trusted at the provider; `None` for those of the machine.
    with issuers: Option<PathBuf> = issuers;
}

fn issuers(builder: &mut SettingsBuilder) -> Result<Option<PathBuf>, Fault> {
    Ok(builder.value::<Option<String>>("access.oidc.issuers")?.map(Into::into))
}

impl OidcSettings {
    /// TLS of connections to the provider.
    #[must_use]
    pub fn tls(&self) -> ClientTls {
        ClientTls { issuers: self.issuers.clone(), ..ClientTls::default() }
    }

    /// True if the provider runs on this host, where it may be asked without TLS.
    #[must_use]
    pub fn is_on_this_host(&self) -> bool {
        self.issuer.as_deref().is_some_and(is_on_this_host)
    }

    /// A provider without a client, or a client without a provider.
    pub(crate) fn unpaired(&self) -> Option<Fault> {
        let place = match (&self.issuer, &self.client_id) {
            (Some(_), None) => "/access/oidc/issuer",
            (None, Some(_)) => "/access/oidc/client_id",
            _ => return None,
        };
        let message =
            "`access.oidc.issuer` and `access.oidc.client_id` belong together: set both, or neither";
        Some(Fault::placed(None, place, message))
    }

    /// Keys with values that no provider can be asked by, and what is wrong with each.
    pub(super) fn faults(&self) -> Vec<(&'static str, String)> {
        let mut faults = Vec::new();
        let mut found = |key, message: &str| faults.push((key, message.to_owned()));
        if let Some(message) = self.issuer.as_deref().and_then(issuer_fault) {
            found("access.oidc.issuer", message);
        }
        if !self.scopes.iter().any(|scope| scope == OPENID) {
            found("access.oidc.scopes", "must have `openid`, without which no provider returns an ID token");
        }
        if self.algorithms.is_empty() {
            found("access.oidc.algorithms", "the list is empty");
        }
        if self.clock_skew > MAX_SKEW {
            found(
                "access.oidc.clock_skew",
                "must be at most `10m`: for this time, a token that expired counts",
            );
        }
        faults
    }
}

/// The secret must not get into logs by way of a debug line.
impl std::fmt::Debug for OidcSettings {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (issuer, client) = (&self.issuer, &self.client_id);
        let mut shown = formatter.debug_struct("OidcSettings");
        shown.field("issuer", issuer).field("client_id", client).finish_non_exhaustive()
    }
}

/// Fault of the address of a provider.
fn issuer_fault(issuer: &str) -> Option<&'static str> {
    if host_of(issuer).is_none() {
        return Some("must begin with `https://`, and name a host");
    }
    // OpenID Connect Discovery 1.0, section 3. `#` parts issuer and subject in what identifies a person.
    if issuer.contains(['?', '#', '@']) || issuer.contains(char::is_whitespace) {
        return Some("must have no name, no query and no fragment");
    }
    let is_safe = issuer.starts_with("https://") || is_on_this_host(issuer);
    (!is_safe)
        .then_some("must begin with `https://`: without TLS, anybody on the way could sign in as anybody")
}

/// Host of an address of `http` or `https`.
fn host_of(url: &str) -> Option<String> {
    let uri: Uri = url.parse().ok()?;
    let is_web = matches!(uri.scheme_str(), Some("http" | "https"));
    uri.host().filter(|host| is_web && !host.is_empty()).map(str::to_owned)
}

/// True for an address of `http` or `https` that leads to this host.
#[must_use]
pub fn is_on_this_host(url: &str) -> bool {
    host_of(url).is_some_and(|host| {
        let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.to_canonical().is_loopback())
    })
}
