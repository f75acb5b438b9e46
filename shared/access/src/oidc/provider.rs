//! What the provider says of itself: its discovery document and its keys, fetched when they are needed and kept.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use openidconnect::core::{CoreClientAuthMethod, CoreJsonWebKeySet, CoreProviderMetadata};
use openidconnect::http::{Request, StatusCode, header};
use openidconnect::{AccessToken, AuthType, AuthUrl, HttpRequest, TokenUrl, UserInfoUrl};
use pagurus_runtime::config::{OidcSettings, is_on_this_host};
use serde::de::DeserializeOwned;

use super::flaw::shown;
use super::http::{NoAnswer, ProviderClient, place_of};
use super::refetch::Refetch;
use crate::LoginFailure;

/// Place of the discovery document under the issuer.
const DOCUMENT: &str = ".well-known/openid-configuration";

/// The provider as it described itself last.
pub(super) struct KnownProvider {
    pub(super) authorization: AuthUrl,
    pub(super) token: TokenUrl,
    pub(super) userinfo: Option<UserInfoUrl>,
    /// Way in which the secret of the client is sent.
    pub(super) auth_type: AuthType,
    pub(super) keys: CoreJsonWebKeySet,
    keys_at: String,
}

/// Keeps what the provider says of itself.
pub(super) struct Discovery {
    issuer: String,
    /// True where the provider runs on this host, and its endpoints may, too.
    is_local: bool,
    known: Mutex<(Option<Arc<KnownProvider>>, Refetch)>,
    /// Held while something is fetched, so that many logins ask once.
    fetching: tokio::sync::Mutex<()>,
}

impl Discovery {
    pub(super) fn new(settings: &OidcSettings, issuer: &str) -> Self {
        let is_local = settings.is_on_this_host();
        Self { issuer: issuer.to_owned(), is_local, known: Mutex::default(), fetching: Default::default() }
    }

    /// The provider. What is known stays in use while it cannot be fetched again.
    pub(super) async fn provider(&self, http: &ProviderClient) -> Result<Arc<KnownProvider>, LoginFailure> {
        let known = self.known(|known, _| known.clone());
        let _guard = match &known {
            None => self.fetching.lock().await,
            // Somebody else fetches it: what is known will do.
            Some(known) => match self.fetching.try_lock() {
                Ok(guard) => guard,
                Err(_) => return Ok(Arc::clone(known)),
            },
        };
        let (known, turn) = self.known(|known, refetch| (known.clone(), refetch.takes_turn(Instant::now())));
        match (known, turn) {
            (Some(known), false) => Ok(known),
            (known, _) => match (self.fetch(http).await, known) {
                (Ok(fetched), _) => Ok(self.keep(fetched, true)),
                (Err(failure), Some(known)) => {
                    tracing::warn!(%failure, "the OpenID Connect provider could not be asked again for its endpoints and keys; the former ones are used");
                    Ok(known)
                }
                (Err(failure), None) => Err(failure),
            },
        }
    }

    /// The provider with other keys than these, if it has some that may be asked for now.
    pub(super) async fn with_other_keys(
        &self,
        http: &ProviderClient,
        than: &Arc<KnownProvider>,
    ) -> Option<Arc<KnownProvider>> {
        let _guard = self.fetching.lock().await;
        let known = self.known(|known, _| known.clone())?;
        if !Arc::ptr_eq(&known, than) {
            return Some(known);
        }
        if !self.known(|_, refetch| refetch.takes_turn_for_key(Instant::now())) {
            return None;
        }
        match fetch_keys(http, &known.keys_at).await {
            Ok(keys) => {
                let (token, userinfo) = (known.token.clone(), known.userinfo.clone());
                let (auth_type, keys_at) = (known.auth_type.clone(), known.keys_at.clone());
                let authorization = known.authorization.clone();
                let fetched = KnownProvider { authorization, token, userinfo, auth_type, keys, keys_at };
                Some(self.keep(fetched, false))
            }
            Err(failure) => {
                tracing::warn!(%failure, "the keys of the OpenID Connect provider could not be fetched; the former ones are used");
                None
            }
        }
    }

    fn known<R>(&self, look: impl FnOnce(&Option<Arc<KnownProvider>>, &mut Refetch) -> R) -> R {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (known, refetch) = &mut *known;
        look(known, refetch)
    }

    fn keep(&self, fetched: KnownProvider, is_whole: bool) -> Arc<KnownProvider> {
        let fetched = Arc::new(fetched);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.0 = Some(Arc::clone(&fetched));
        if is_whole {
            known.1.fetched(Instant::now());
        }
        fetched
    }

    async fn fetch(&self, http: &ProviderClient) -> Result<KnownProvider, LoginFailure> {
        let place = format!("{}/{DOCUMENT}", self.issuer.trim_end_matches('/'));
        let document: CoreProviderMetadata = get(http, &place, None).await?;
        let issuer = document.issuer().as_str();
        if issuer != self.issuer {
            return Err(LoginFailure::Refused(format!(
                "the discovery document is of the issuer {}, not of {}",
                shown(issuer),
                shown(&self.issuer)
            )));
        }
        let Some(token) = document.token_endpoint() else {
            return Err(self.unusable("token_endpoint", "is missing"));
        };
        let keys_at = document.jwks_uri().as_str();
        let userinfo = document.userinfo_endpoint();
        for (name, endpoint) in [
            ("authorization_endpoint", Some(document.authorization_endpoint().as_str())),
            ("token_endpoint", Some(token.as_str())),
            ("userinfo_endpoint", userinfo.map(|endpoint| endpoint.as_str())),
            ("jwks_uri", Some(keys_at)),
        ] {
            if endpoint.is_some_and(|endpoint| !self.is_safe(endpoint)) {
                return Err(self.unusable(name, "does not begin with `https://`"));
            }
        }
        Ok(KnownProvider {
            authorization: document.authorization_endpoint().clone(),
            token: token.clone(),
            userinfo: userinfo.cloned(),
            auth_type: auth_type(document.token_endpoint_auth_methods_supported()),
            keys: fetch_keys(http, keys_at).await?,
            keys_at: keys_at.to_owned(),
        })
    }

    fn is_safe(&self, endpoint: &str) -> bool {
        endpoint.starts_with("https://") || (self.is_local && is_on_this_host(endpoint))
    }

    fn unusable(&self, name: &str, why: &str) -> LoginFailure {
        LoginFailure::Unavailable(format!(
            "the discovery document of {} cannot be used: `{name}` {why}",
            shown(&self.issuer)
        ))
    }
}

async fn fetch_keys(http: &ProviderClient, place: &str) -> Result<CoreJsonWebKeySet, NoAnswer> {
    get(http, place, None).await
}

/// Asks for a document in JSON.
pub(super) async fn get<T: DeserializeOwned>(
    http: &ProviderClient,
    url: &str,
    with: Option<&AccessToken>,
) -> Result<T, NoAnswer> {
    let mut request = Request::get(url).header(header::ACCEPT, "application/json");
    if let Some(token) = with {
        request = request.header(header::AUTHORIZATION, format!("Bearer {}", token.secret()));
    }
    let request: HttpRequest =
        request.body(Vec::new()).map_err(|error| NoAnswer::Unasked(error.to_string()))?;
    let place = place_of(&request);
    let answer = http.send(request, &[StatusCode::OK]).await?;
    serde_json::from_slice(answer.body()).map_err(|error| {
        // The error of the library repeats values; the place is enough to look the answer up.
        let why = format!("unusable JSON at line {}, column {}", error.line(), error.column());
        NoAnswer::Nonsense { place, why }
    })
}

/// In the header, as every provider must take it, unless this one says that it takes the secret in the body alone.
fn auth_type(offered: Option<&Vec<CoreClientAuthMethod>>) -> AuthType {
    let offers = |method| offered.is_some_and(|offered| offered.contains(&method));
    let basic = CoreClientAuthMethod::ClientSecretBasic;
    if offers(CoreClientAuthMethod::ClientSecretPost) && !offers(basic) {
        AuthType::RequestBody
    } else {
        AuthType::BasicAuth
    }
}
