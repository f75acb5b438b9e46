//! Access over HTTP: login and logout, tokens, sessions.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse as _;
use pagurus_access::{OpenedSession, PROVIDER_PATH, WhichSession, csrf_token};
use pagurus_domain::access::{Identity, LoginMethod};
use pagurus_runtime::Peer;
use pagurus_view::ListQuery;
use pagurus_wire::access::{
    AccessExplanation, IssuedTokenView, LoginRequest, PersonSessionView, SessionView, TokenRequest, TokenView,
};
use pagurus_wire::order::Page;
use pagurus_wire::problem::{Problem, Type};
use schemars::JsonSchema;
use serde::Deserialize;

use super::HttpResult;
use super::body::Sent;
use super::caller::Caller;
use super::document::{Table, admin, anyone};
use super::identity::{COOKIE, cookie_of, session_of};
use super::query::{Path, Query};
use crate::Intake;

/// Header of answers that no cache may keep.
const NOT_KEPT: (header::HeaderName, HeaderValue) =
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
/// Cookie of a login that goes on at the identity provider, and how long it may take.
const PENDING: &str = "__Host-pagurus-login";
const PENDING_SECONDS: u32 = 600;

pub(super) fn routes(table: Table) -> Table {
    table
        .of("Access", "Login and logout, tokens of programs, and sessions of people.")
        .get(
            "/v1/session",
            who,
            anyone("Identity of the sender: name, role and proof.").gives::<SessionView>(200, "Identity of the sender."),
        )
        .post(
            "/v1/session",
            log_in,
            anyone("Logs a person in by name and password.")
                .more("The answer sets the cookie of the session. Every change in the session has to send `csrfToken` in the header `X-Csrf-Token`.")
                .takes::<LoginRequest>()
                .gives::<SessionView>(200, "Logged in."),
        )
        .delete("/v1/session", log_out, anyone("Ends the session of the cookie.").gives_nothing("The session has ended."))
        .get(
            "/v1/session/login",
            start_login,
            anyone("Sends the browser to the identity provider.").leads("To the provider."),
        )
        .get(
            PROVIDER_PATH,
            finish_login,
            anyone("Takes back a browser that comes from the identity provider.")
                .lenient()
                .gives::<SessionView>(200, "Logged in."),
        )
        .post(
            "/v1/session/oidc/logout",
            provider_logout,
            anyone("Ends the sessions that the identity provider names (back-channel logout).")
                .takes_text("application/x-www-form-urlencoded")
                .gives_nothing("They have ended."),
        )
        .get("/v1/access/tokens", tokens, admin("Tokens by id, including revoked ones."))
        .post(
            "/v1/access/tokens",
            make_token,
            admin("Makes a token; it is shown only once.")
                .takes::<TokenRequest>()
                .gives::<IssuedTokenView>(201, "Made."),
        )
        .delete(
            "/v1/access/tokens/{id}",
            revoke_token,
            admin("Revokes a token: every node refuses it within a second.").gives_nothing("Revoked."),
        )
        .get("/v1/access/explain", explain, admin("Why a person has the role that they have, step by step."))
        .get("/v1/access/sessions", sessions, admin("Open sessions, by id."))
        .delete(
            "/v1/access/sessions/{id}",
            end_session,
            admin("Ends the session of a person: every node refuses it within a second.").gives_nothing("Ended."),
        )
}

/// Query of an explanation.
#[derive(Debug, Deserialize, JsonSchema)]
struct ExplainQuery {
    /// Login name of the person.
    name: String,
}

/// `GET /v1/access/explain`
async fn explain(State(intake): State<Intake>, Query(query): Query<ExplainQuery>) -> Json<AccessExplanation> {
    Json(intake.access.explain(&query.name).await)
}

/// `GET /v1/session`
async fn who(State(intake): State<Intake>, parts: Parts) -> Response<Body> {
    let identity = parts.extensions.get::<Identity>();
    let by_session =
        identity.is_some_and(|one| !matches!(one.method, LoginMethod::Public | LoginMethod::Token));
    let csrf = session_of(&parts.headers).filter(|_| by_session).map(|secret| csrf_token(&secret));
    ([NOT_KEPT], Json(view_of(&intake, identity, csrf))).into_response()
}

fn view_of(intake: &Intake, identity: Option<&Identity>, csrf_token: Option<String>) -> SessionView {
    SessionView {
        mode: intake.access.mode().to_string(),
        name: identity.map(|one| one.name.clone()).filter(|name| !name.is_empty()),
        role: identity.map(|one| one.role.to_string()),
        method: identity.map(|one| one.method.to_string()),
        tenants: identity.and_then(|one| one.scope.tenants()).map(<[String]>::to_vec),
        payloads_hidden: identity.is_some_and(|one| one.scope.hides_payloads()),
        csrf_token,
    }
}

/// `POST /v1/session`
async fn log_in(
    State(intake): State<Intake>,
    parts: Parts,
    Sent(login): Sent<LoginRequest>,
) -> HttpResult<Response<Body>> {
    let opened = intake.access.log_in(login, &client_of(&parts)).await?;
    Ok(opened_answer(&intake, &opened))
}

/// Client that logs in, for logs and the throttle of logins.
fn client_of(parts: &Parts) -> String {
    parts.extensions.get::<Peer>().map_or_else(String::new, |peer| peer.client().to_string())
}

fn opened_answer(intake: &Intake, opened: &OpenedSession) -> Response<Body> {
    let view = view_of(intake, Some(&opened.identity), Some(csrf_token(&opened.secret)));
    let cookie = cookie(opened.secret.reveal(), None);
    ([(header::SET_COOKIE, cookie), NOT_KEPT], Json(view)).into_response()
}

/// Cookie of a session, which no script reads and no other site sends; with a length of life, one that takes it away.
fn cookie(value: &str, seconds: Option<u32>) -> HeaderValue {
    let life = seconds.map_or_else(String::new, |seconds| format!("; Max-Age={seconds}"));
    let text = format!("{COOKIE}={value}; Path=/; Secure; HttpOnly; SameSite=Strict{life}");
    header_of(&text)
}

/// `GET /v1/session/login`
async fn start_login(State(intake): State<Intake>) -> HttpResult<Response<Body>> {
    let started = intake.access.start_at_provider().await?;
    // The provider sends the browser back from another site: a stricter cookie would stay behind.
    let text = format!(
        "{PENDING}={}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age={PENDING_SECONDS}",
        started.pending
    );
    let headers = [(header::SET_COOKIE, header_of(&text)), (header::LOCATION, header_of(&started.url))];
    Ok((StatusCode::SEE_OTHER, headers).into_response())
}

/// Query with which a browser comes back from the identity provider; other parameters are the provider's own.
#[derive(Debug, Default)]
struct BackFromProvider {
    state: String,
    code: String,
    error: Option<String>,
}

impl BackFromProvider {
    fn read(query: &str) -> Self {
        let mut back = Self::default();
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "state" => back.state = value.into_owned(),
                "code" => back.code = value.into_owned(),
                "error" => back.error = Some(value.into_owned()),
                _ => {}
            }
        }
        back
    }
}

/// `GET /v1/session/oidc`
async fn finish_login(State(intake): State<Intake>, parts: Parts) -> HttpResult<Response<Body>> {
    let back = BackFromProvider::read(parts.uri.query().unwrap_or_default());
    if let Some(error) = back.error {
        let shown: String = error.chars().filter(|one| !one.is_control()).take(100).collect();
        let detail = format!("the identity provider has refused the login: {shown}");
        return Err(Problem::new(Type::Unauthenticated, detail).into());
    }
    let pending = cookie_of(&parts.headers, PENDING).unwrap_or_default();
    let address = client_of(&parts);
    let opened = intake.access.finish_at_provider(pending, (&back.state, &back.code), &address).await?;
    let mut answer = opened_answer(&intake, &opened);
    let used = format!("{PENDING}=; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=0");
    answer.headers_mut().append(header::SET_COOKIE, header_of(&used));
    Ok(answer)
}

/// `POST /v1/session/oidc/logout`
async fn provider_logout(
    State(intake): State<Intake>,
    parts: Parts,
    body: Body,
) -> HttpResult<Response<Body>> {
    let body = super::body::read(&intake, body).await?;
    let mut fields = url::form_urlencoded::parse(&body);
    let token = fields.find_map(|(name, value)| (name == "logout_token").then(|| value.into_owned()));
    let Some(token) = token else {
        return Err(Problem::new(Type::Malformed, "the field `logout_token` is missing").into());
    };
    let address = client_of(&parts);
    intake.access.log_out_at_provider(&token, &address).await?;
    Ok((StatusCode::NO_CONTENT, [NOT_KEPT]).into_response())
}

/// A header value of a text that this program has made.
fn header_of(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static(""))
}

/// `DELETE /v1/session`
async fn log_out(
    State(intake): State<Intake>,
    Caller(by): Caller,
    headers: HeaderMap,
) -> HttpResult<Response<Body>> {
    if let Some(secret) = session_of(&headers) {
        intake.access.end_session(WhichSession::Own(&secret.digest()), &by).await?;
    }
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie("", Some(0)))]).into_response())
}

/// `GET /v1/access/tokens`
async fn tokens(
    State(intake): State<Intake>,
    Query(query): Query<ListQuery>,
) -> HttpResult<Json<Page<TokenView>>> {
    Ok(Json(intake.access.tokens(query.limit()?, query.cursor()).await?))
}

/// `POST /v1/access/tokens`
async fn make_token(
    State(intake): State<Intake>,
    Caller(by): Caller,
    Sent(asked): Sent<TokenRequest>,
) -> HttpResult<Response<Body>> {
    let made = intake.access.make_token(&asked, &by).await?;
    Ok((StatusCode::CREATED, [NOT_KEPT], Json(made)).into_response())
}

/// `DELETE /v1/access/tokens/{id}`
async fn revoke_token(
    State(intake): State<Intake>,
    Path(id): Path<String>,
    Caller(by): Caller,
) -> HttpResult<StatusCode> {
    intake.access.revoke_token(&id, &by).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `GET /v1/access/sessions`
async fn sessions(
    State(intake): State<Intake>,
    Query(query): Query<ListQuery>,
) -> HttpResult<Json<Page<PersonSessionView>>> {
    Ok(Json(intake.access.sessions(query.limit()?, query.cursor()).await?))
}

/// `DELETE /v1/access/sessions/{id}`
async fn end_session(
    State(intake): State<Intake>,
    Path(id): Path<String>,
    Caller(by): Caller,
) -> HttpResult<StatusCode> {
    if intake.access.end_session(WhichSession::Id(&id), &by).await? {
        return Ok(StatusCode::NO_CONTENT);
    }
    let shown = &id[..id.floor_char_boundary(64)];
    Err(Problem::new(Type::NotFound, format!("there is no session `{shown}`")).into())
}
