//! Logins by OpenID Connect: at a certified provider, and at one that lies.

mod api;
mod certified;
mod liar;
mod lies;
mod logout;
mod trouble;

use std::collections::HashMap;

use pagurus_access::LoginFailure;
use pagurus_access::oidc::{LoginStart, OidcLogin, OidcProvider};
use pagurus_runtime::config::{self, OidcSettings};
use url::Url;

use liar::Liar;

/// Address that the provider answers at. Nobody listens there: the tests read what the browser would bring.
const REDIRECT: &str = "http://127.0.0.1:9/v1/session/oidc";
const CLIENT: &str = "pagurus";
const SECRET: &str = "secret-of-the-client";

/// Settings for the provider at this address; `more` are keys under `access.oidc` and their values.
fn settings(issuer: &str, more: &[(&str, &str)]) -> OidcSettings {
    let usual = [("ISSUER", issuer), ("CLIENT_ID", CLIENT), ("CLIENT_SECRET", SECRET), ("TIMEOUT", "60s")];
    let values: HashMap<&str, &str> = usual.iter().chain(more).copied().collect();
    let variables =
        values.iter().map(|(key, value)| (format!("PAGURUS__ACCESS__OIDC__{key}"), (*value).to_owned()));
    config::load(None, variables).unwrap().oidc
}

fn provider(issuer: &str, more: &[(&str, &str)]) -> OidcProvider {
    OidcProvider::new(&settings(issuer, more)).unwrap()
}

/// A value in the address to which a browser is sent.
fn asked(start: &LoginStart, name: &str) -> String {
    let url = Url::parse(&start.url).unwrap();
    url.query_pairs().find(|(key, _)| key == name).unwrap_or_else(|| panic!("no {name}")).1.into_owned()
}

/// Signs in at the liar, who makes the nonce of the token out of the code.
async fn login(provider: &OidcProvider) -> Result<OidcLogin, LoginFailure> {
    let start = provider.start(REDIRECT).await?;
    let code = Liar::code(&asked(&start, "nonce"));
    provider.finish(&start.pending, &asked(&start, "state"), &code, REDIRECT).await
}
