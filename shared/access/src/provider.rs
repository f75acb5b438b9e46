//! Logins and logouts at the identity provider.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pagurus_domain::access::LoginMethod;
use pagurus_domain::order::principal::Principal;
use pagurus_store::outside::access::SessionsToEnd;
use pagurus_wire::problem::{Problem, Type};

use crate::login::Proved;
use crate::oidc::{OidcProvider, PendingLogin};
use crate::{Access, LoginFailure, OpenedSession, lock};

/// Path at which the provider sends people back.
pub const PROVIDER_PATH: &str = "/v1/session/oidc";

/// A login that goes on at the identity provider.
pub struct LoginAtProvider {
    /// Address to send the browser to.
    pub url: String,
    /// Text that the browser keeps in a cookie until it comes back.
    pub pending: String,
}

impl Access {
    /// Begins a login at the identity provider.
    ///
    /// # Errors
    /// The problem to answer with: there is no provider, or it does not answer.
    pub async fn start_at_provider(&self) -> Result<LoginAtProvider, Problem> {
        let (provider, redirect) = self.provider()?;
        let started = provider.start(&redirect).await.map_err(|failure| unavailable(&failure))?;
        let pending = serde_json::to_vec(&started.pending).unwrap_or_default();
        Ok(LoginAtProvider { url: started.url, pending: URL_SAFE_NO_PAD.encode(pending) })
    }

    /// Opens a session for somebody who comes back from the identity provider with a code.
    ///
    /// # Errors
    /// The problem to answer with: the login was not begun in this browser, or does not hold, or gives no role.
    pub async fn finish_at_provider(
        &self,
        pending: &str,
        (state, code): (&str, &str),
        address: &str,
    ) -> Result<OpenedSession, Problem> {
        let (provider, redirect) = self.provider()?;
        let pending = URL_SAFE_NO_PAD.decode(pending).ok();
        let pending: Option<PendingLogin> = pending.and_then(|text| serde_json::from_slice(&text).ok());
        let Some(pending) = pending else {
            let detail = "this browser has started no login, or too long ago; start at `/v1/session/login`";
            return Err(Problem::new(Type::Unauthenticated, detail));
        };
        // The name is not known yet; behind one gateway nobody is counted, because strangers would lock everybody out.
        if self.counted(address).is_some() {
            self.count_login("", address)?;
        }
        match provider.finish(&pending, state, code, &redirect).await {
            Ok(login) => {
                lock(&self.0.throttle).succeeded("", self.counted(address));
                let role = self.role_of(&login.person.groups);
                let provider_session = login.provider_session;
                let proved = Proved {
                    person: login.person,
                    role,
                    method: LoginMethod::Oidc,
                    login: None,
                    provider_session,
                };
                self.open(proved, address).await
            }
            // In the log alone: strangers could fill the audit log, and the provider keeps one of its own.
            Err(failure) => {
                tracing::warn!(
                    reason = failure.to_string(),
                    address,
                    "a login at the identity provider failed"
                );
                Err(unavailable(&failure))
            }
        }
    }

    /// Ends the sessions that the identity provider names in a logout token, and returns their number.
    ///
    /// # Errors
    /// The problem to answer with: the token does not hold, or the database does not answer.
    pub async fn log_out_at_provider(&self, logout_token: &str, address: &str) -> Result<usize, Problem> {
        let (provider, _) = self.provider()?;
        let logout = match provider.logged_out(logout_token).await {
            Ok(logout) => logout,
            Err(failure) => {
                tracing::warn!(reason = failure.to_string(), address, "a logout token was refused");
                return Err(match failure {
                    LoginFailure::Refused(_) => {
                        Problem::new(Type::Malformed, "the logout token is not valid; the log says why")
                    }
                    LoginFailure::Unavailable(_) => unavailable(&failure),
                });
            }
        };
        let which = SessionsToEnd::AtProvider {
            subject: logout.subject.as_deref(),
            session: logout.provider_session.as_deref(),
        };
        let by = Principal::http(Some("oidc:provider".to_owned()), Some(address.to_owned()));
        let ended = self.end(which, "logout", &by).await.map_err(|error| self.failed(&error))?;
        Ok(ended.len())
    }

    fn provider(&self) -> Result<(&OidcProvider, String), Problem> {
        let url = self.0.host.settings().access.url.clone().unwrap_or_default();
        match self.0.directory.provider() {
            Some(provider) => Ok((provider, format!("{url}{PROVIDER_PATH}"))),
            None => Err(Problem::new(Type::NotFound, "no identity provider is configured (`access.mode`)")),
        }
    }
}

fn unavailable(failure: &LoginFailure) -> Problem {
    match failure {
        LoginFailure::Refused(_) => {
            Problem::new(Type::Unauthenticated, "the login is not valid; the log of the engine says why")
        }
        LoginFailure::Unavailable(_) => {
            Problem::new(Type::Unavailable, "the identity provider does not answer")
        }
    }
}
