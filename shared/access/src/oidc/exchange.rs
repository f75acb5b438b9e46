//! Exchange of the code of a login for tokens.

use std::borrow::Cow;
use std::pin::Pin;

use oauth2::basic::{
    BasicErrorResponse, BasicRevocationErrorResponse, BasicTokenIntrospectionResponse, BasicTokenType,
};
use oauth2::{ExtraTokenFields, StandardRevocableToken, StandardTokenResponse, TokenResponse as _};
use openidconnect::http::StatusCode;
use openidconnect::{
    AccessToken, AsyncHttpClient, AuthorizationCode, ClientId, ClientSecret, HttpRequest, HttpResponse,
    PkceCodeVerifier, RedirectUrl, RequestTokenError,
};
use serde::{Deserialize, Serialize};

use super::flaw::shown;
use super::http::{NoAnswer, ProviderClient};
use super::provider::KnownProvider;
use crate::LoginFailure;

/// Statuses of answers to a code; refusals are 400 and 401 (RFC 6749, section 5.2).
const ANSWERS: [StatusCode; 3] = [StatusCode::OK, StatusCode::BAD_REQUEST, StatusCode::UNAUTHORIZED];

/// The part of the answer that OpenID Connect adds to OAuth. The token stays a text: what it claims is judged by us.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct WithIdToken {
    id_token: Option<String>,
}

impl ExtraTokenFields for WithIdToken {}

/// Client of OAuth whose answers have an ID token.
pub(super) type CodeClient = oauth2::Client<
    BasicErrorResponse,
    StandardTokenResponse<WithIdToken, BasicTokenType>,
    BasicTokenIntrospectionResponse,
    StandardRevocableToken,
    BasicRevocationErrorResponse,
>;

/// Tokens of a login. Has no `Debug`: both are secrets.
pub(super) struct ExchangedTokens {
    pub(super) id: String,
    pub(super) access: AccessToken,
}

/// The code of a login, and what proves that it is ours.
pub(super) struct CodeProof {
    pub(super) code: AuthorizationCode,
    pub(super) verifier: PkceCodeVerifier,
    pub(super) redirect: RedirectUrl,
}

/// Not a closure: the futures of one are bound to a thread.
impl<'c> AsyncHttpClient<'c> for ProviderClient {
    type Error = NoAnswer;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, NoAnswer>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(self.send(request, &ANSWERS))
    }
}

/// Exchanges a code.
///
/// # Errors
/// The provider refuses it, or gives no answer that could be used.
pub(super) async fn exchange(
    http: &ProviderClient,
    provider: &KnownProvider,
    client_id: &ClientId,
    secret: Option<&ClientSecret>,
    proof: CodeProof,
) -> Result<ExchangedTokens, LoginFailure> {
    let mut client = CodeClient::new(client_id.clone()).set_auth_type(provider.auth_type.clone());
    if let Some(secret) = secret {
        client = client.set_client_secret(secret.clone());
    }
    let client = client.set_token_uri(provider.token.clone());
    let answer = client
        .exchange_code(proof.code)
        .set_pkce_verifier(proof.verifier)
        .set_redirect_uri(Cow::Owned(proof.redirect))
        .request_async(http)
        .await
        .map_err(failure)?;
    let Some(id) = answer.extra_fields().id_token.clone() else {
        return Err(LoginFailure::Refused("the provider returned no ID token".to_owned()));
    };
    Ok(ExchangedTokens { id, access: answer.access_token().clone() })
}

/// Why there are no tokens. Never repeats what the provider wrote but for the name of its error: descriptions may hold the code.
fn failure(error: RequestTokenError<NoAnswer, BasicErrorResponse>) -> LoginFailure {
    match error {
        RequestTokenError::ServerResponse(refusal) => {
            let name = shown(refusal.error().as_ref());
            let of_client = ["`invalid_client`", "`unauthorized_client`"].contains(&name.as_str());
            let hint = if of_client { "; check `access.oidc.client_id` and `client_secret`" } else { "" };
            LoginFailure::Refused(format!("the provider refuses the code of the login: {name}{hint}"))
        }
        RequestTokenError::Request(no_answer) => no_answer.into(),
        RequestTokenError::Parse(error, _) => {
            let place = error.path().to_string();
            let text =
                format!("the provider's answer to the code is no token response (at {})", shown(&place));
            LoginFailure::Unavailable(text)
        }
        RequestTokenError::Other(_) => {
            let text = "the provider's answer to the code is empty, or not in JSON";
            LoginFailure::Unavailable(text.to_owned())
        }
    }
}

impl From<NoAnswer> for LoginFailure {
    fn from(no_answer: NoAnswer) -> Self {
        Self::Unavailable(no_answer.to_string())
    }
}
