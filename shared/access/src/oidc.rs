//! Login by OpenID Connect: authorization code with PKCE, and back-channel logout. The provider says who a person
//! is; that counts if the provider signed it, for this client, in answer to this login.
//!
//! Everything here but the requests is pure: tokens, keys and `now` go in, a person or a flaw comes out.

mod claims;
mod described;
mod exchange;
mod flaw;
mod http;
mod provider;
mod refetch;
mod repeated;
mod signed;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use openidconnect::{
    AuthorizationCode, ClientId, ClientSecret, CsrfToken, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl,
    Scope,
};
use pagurus_runtime::config::OidcSettings;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;

use self::claims::{ExpectedClaims, LOGOUT_AGE, TokenClaims};
use self::described::{Described, subject};
use self::exchange::{CodeClient, CodeProof, exchange};
use self::flaw::{Flaw, TokenKind, shown};
use self::http::ProviderClient;
use self::provider::{Discovery, KnownProvider, get};
use self::repeated::TakenTokens;
use self::signed::{Algorithms, SignedToken};
use crate::{LoginFailure, Person};

/// Random bytes of a state and of a nonce.
const RANDOM_BYTES: u32 = 32;

/// Settings with which no provider can be asked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OidcFault {
    /// A key has no value.
    #[error("`{0}` is not set; a login by OpenID Connect needs it")]
    NotSet(&'static str),
    /// An algorithm cannot be used.
    #[error("`access.oidc.algorithms` has `{0}`, by which no token is checked")]
    Algorithm(String),
}

/// A login that has begun: the browser goes to the provider.
#[derive(Debug)]
pub struct LoginStart {
    /// Address to send the browser to.
    pub url: String,
    /// Data that the browser keeps until it comes back, where no script can read it.
    pub pending: PendingLogin,
}

/// Part of a login that only the browser has that began it.
#[derive(Clone, Serialize, Deserialize)]
pub struct PendingLogin {
    state: String,
    nonce: String,
    verifier: String,
}

/// All of it is secret.
impl fmt::Debug for PendingLogin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PendingLogin").finish_non_exhaustive()
    }
}

/// A login that has succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OidcLogin {
    /// The person.
    pub person: Person,
    /// Session of the person at the provider (`sid`), by which [`ProviderLogout`] may name it.
    pub provider_session: Option<String>,
}

/// A logout at the provider. At least one of the two is there; with both, only this session of this person has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderLogout {
    /// The person, as [`Person::subject`] has it.
    pub subject: Option<String>,
    /// Session at the provider (`sid`).
    pub provider_session: Option<String>,
}

/// An OpenID Connect provider, and this installation as its client.
///
/// Nothing is asked of it before the first login. Eight requests at most are under way at a time, one of them for its endpoints
/// and keys; each step of a login ends within `access.oidc.timeout`.
pub struct OidcProvider {
    client_id: ClientId,
    client_secret: Option<ClientSecret>,
    scopes: Vec<Scope>,
    algorithms: Algorithms,
    expected: ExpectedClaims,
    described: Described,
    timeout: Duration,
    http: ProviderClient,
    discovery: Discovery,
    taken: Mutex<TakenTokens>,
}

impl OidcProvider {
    /// The provider of these settings. Connects to nothing.
    ///
    /// # Errors
    /// Issuer or client are not set, or an algorithm cannot be used.
    pub fn new(settings: &OidcSettings) -> Result<Self, OidcFault> {
        let issuer = settings.issuer.as_deref().ok_or(OidcFault::NotSet("access.oidc.issuer"))?;
        let client_id = settings.client_id.as_deref().ok_or(OidcFault::NotSet("access.oidc.client_id"))?;
        Ok(Self {
            client_id: ClientId::new(client_id.to_owned()),
            client_secret: settings.client_secret.clone().map(ClientSecret::new),
            scopes: settings.scopes.iter().cloned().map(Scope::new).collect(),
            algorithms: Algorithms::of_names(&settings.algorithms).map_err(OidcFault::Algorithm)?,
            expected: ExpectedClaims {
                issuer: issuer.to_owned(),
                client_id: client_id.to_owned(),
                acr: settings.acr.clone(),
                skew: SignedDuration::try_from(settings.clock_skew).unwrap_or(SignedDuration::MAX),
            },
            described: Described {
                groups_claim: settings.groups_claim.clone(),
                name_claim: settings.name_claim.clone(),
            },
            timeout: settings.timeout,
            http: ProviderClient::new(settings, issuer),
            discovery: Discovery::new(settings, issuer),
            taken: Mutex::default(),
        })
    }

    /// Begins a login that the provider answers at the address `redirect`.
    ///
    /// # Errors
    /// The provider gives no answer, or what it says of itself cannot be used.
    pub async fn start(&self, redirect: &str) -> Result<LoginStart, LoginFailure> {
        let redirect = redirect_url(redirect)?;
        let provider = self.in_time(self.discovery.provider(&self.http)).await?;
        let random = || CsrfToken::new_random_len(RANDOM_BYTES);
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let nonce = random().into_secret();
        let client = CodeClient::new(self.client_id.clone()).set_auth_uri(provider.authorization.clone());
        let mut request = client
            .authorize_url(random)
            .add_scopes(self.scopes.iter().cloned())
            .set_pkce_challenge(challenge)
            .set_redirect_uri(Cow::Owned(redirect))
            .add_extra_param("nonce", nonce.clone());
        if !self.expected.acr.is_empty() {
            request = request.add_extra_param("acr_values", self.expected.acr.join(" "));
        }
        let (url, state) = request.url();
        let (state, verifier) = (state.into_secret(), verifier.into_secret());
        Ok(LoginStart { url: url.into(), pending: PendingLogin { state, nonce, verifier } })
    }

    /// Ends a login: exchanges the code that the browser brought, checks the ID token, and returns the person. `redirect` is
    /// the address with which the login began.
    ///
    /// # Errors
    /// The login is refused, with the reason; or the provider gives no answer.
    pub async fn finish(
        &self,
        pending: &PendingLogin,
        state: &str,
        code: &str,
        redirect: &str,
    ) -> Result<OidcLogin, LoginFailure> {
        if state != pending.state {
            let text = "the `state` that the browser brought is not the one of the login that it began";
            return Err(LoginFailure::Refused(text.to_owned()));
        }
        let proof = CodeProof {
            code: AuthorizationCode::new(code.to_owned()),
            verifier: PkceCodeVerifier::new(pending.verifier.clone()),
            redirect: redirect_url(redirect)?,
        };
        self.in_time(async {
            let provider = self.discovery.provider(&self.http).await?;
            let secret = self.client_secret.as_ref();
            let tokens = exchange(&self.http, &provider, &self.client_id, secret, proof).await?;
            let claims = self.claims(TokenKind::Id, &tokens.id).await?;
            let refused = |flaw| refused(TokenKind::Id, &flaw);
            claims.judge_id(&self.expected, &pending.nonce, Timestamp::now()).map_err(refused)?;
            let userinfo = self.userinfo(&provider, &claims, &tokens.access).await?;
            let sub = claims.subject().map_err(refused)?;
            let sources = [&claims.0, &userinfo];
            let person = self.described.person(&self.expected.issuer, sub, &sources).map_err(refused)?;
            let provider_session = claims.id("sid").map_err(refused)?.map(str::to_owned);
            Ok(OidcLogin { person, provider_session })
        })
        .await
    }

    /// Checks the token by which the provider says that a person, or a session, has ended there. A token counts once in this
    /// process.
    ///
    /// # Errors
    /// The token is refused, with the reason; or keys are needed, and the provider gives no answer.
    pub async fn logged_out(&self, logout_token: &str) -> Result<ProviderLogout, LoginFailure> {
        let kind = TokenKind::Logout;
        let claims = self.in_time(self.claims(kind, logout_token)).await?;
        let now = Timestamp::now();
        let judged = claims.judge_logout(&self.expected, now).map_err(|flaw| refused(kind, &flaw))?;
        // As long as another judgement could find it young enough.
        let lasts = LOGOUT_AGE + self.expected.skew + self.expected.skew;
        let is_new = {
            let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
            taken.takes(&judged.jti, lasts, now)
        };
        if !is_new {
            return Err(refused(kind, &Flaw::Repeated));
        }
        let subject = judged.sub.map(|sub| subject(&self.expected.issuer, &sub));
        Ok(ProviderLogout { subject, provider_session: judged.sid })
    }

    /// The claims of a token that the provider has signed. Its keys are fetched again where the token names one that is not known.
    async fn claims(&self, kind: TokenKind, text: &str) -> Result<TokenClaims, LoginFailure> {
        let token = SignedToken::read(text, kind).map_err(|flaw| refused(kind, &flaw))?;
        let provider = self.discovery.provider(&self.http).await?;
        let mut claims = token.claims(&provider.keys, &self.algorithms);
        if claims.as_ref().is_err_and(Flaw::is_of_keys)
            && let Some(other) = self.discovery.with_other_keys(&self.http, &provider).await
        {
            claims = token.claims(&other.keys, &self.algorithms);
        }
        claims.map_err(|flaw| refused(kind, &flaw))
    }

    /// TokenClaims about the person at the userinfo endpoint; none where the ID token has the groups, or there is no such endpoint.
    async fn userinfo(
        &self,
        provider: &Arc<KnownProvider>,
        claims: &TokenClaims,
        access: &openidconnect::AccessToken,
    ) -> Result<Map<String, Value>, LoginFailure> {
        let endpoint = provider.userinfo.as_ref().filter(|_| !self.described.has_groups(&claims.0));
        let Some(endpoint) = endpoint else { return Ok(Map::new()) };
        let userinfo: Map<String, Value> = get(&self.http, endpoint.as_str(), Some(access)).await?;
        let why = match userinfo.get("sub").and_then(Value::as_str) {
            Some(sub) if claims.subject() == Ok(sub) => return Ok(userinfo),
            Some(sub) => format!("is about the subject {}, not about the one of the ID token", shown(sub)),
            None => "lacks the claim `sub`".to_owned(),
        };
        Err(LoginFailure::Refused(format!("the answer of the userinfo endpoint {why}")))
    }

    async fn in_time<T>(
        &self,
        step: impl Future<Output = Result<T, LoginFailure>>,
    ) -> Result<T, LoginFailure> {
        match tokio::time::timeout(self.timeout, step).await {
            Ok(done) => done,
            Err(_) => {
                let text = format!("the provider gave no answer within {:?}", self.timeout);
                Err(LoginFailure::Unavailable(text))
            }
        }
    }
}

fn refused(kind: TokenKind, flaw: &Flaw) -> LoginFailure {
    LoginFailure::Refused(format!("the {kind} {flaw}"))
}

fn redirect_url(address: &str) -> Result<RedirectUrl, LoginFailure> {
    RedirectUrl::new(address.to_owned()).map_err(|_| {
        LoginFailure::Refused("the address at which the provider should answer is not a URL".to_owned())
    })
}
