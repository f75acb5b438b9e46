//! Identity of requests, and what it admits to. Two steps: the middleware in front of all routes finds out who asks, and the
//! layer of each route holds that against the role that the route asks for.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequestParts as _, RawPathParams, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};
use axum::middleware::Next;
use axum::response::IntoResponse as _;
use futures_util::StreamExt as _;
use pagurus_access::{Access, Credential, RefusedChange, SessionSecret, csrf_token};
use pagurus_domain::access::scope::AccessScope;
use pagurus_domain::access::token::ProgramToken;
use pagurus_domain::access::{AccessRole, CallbackProof, Identity};
use pagurus_runtime::{Entrance, Peer};
use pagurus_wire::problem::{Problem, Type};

use super::ProblemResponse;
use super::concern::Concern;
use super::payloads::Payloads;
use crate::Intake;

/// Cookie of a session. The prefix has browsers refuse it from anybody but this host, by TLS.
pub(super) const COOKIE: &str = "__Host-pagurus";
/// Header by which a page of ours proves that it is one.
pub(super) const CSRF: &str = "x-csrf-token";
/// Interval at which it is asked whether the reader of a stream, or of an answer that takes its time, still may.
const ASK_AGAIN: Duration = Duration::from_millis(100);

/// Role that a route asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    /// None: everybody may.
    Nothing,
    /// This role, or one that admits to it.
    Role(AccessRole),
}

impl Needs {
    /// The word of the OpenAPI document, `x-role`.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "anyone",
            Self::Role(role) => role.as_str(),
        }
    }
}

/// Rule of a route: who may, and what it is about.
#[derive(Clone, Copy, Debug)]
pub(super) struct RouteRule {
    pub needs: Needs,
    pub concern: Concern,
    /// Path under which the document describes the route.
    pub path: &'static str,
    /// Name of the thing that the route is about, where it is not a value of the path.
    pub name: Option<&'static str>,
}

/// Facts by which a route judges a request.
#[derive(Clone)]
struct RequestFacts {
    intake: Intake,
    sender: Sender,
}

/// Sender of a request, as far as it is known.
#[derive(Clone)]
enum Sender {
    /// Nobody: the request carries no credential.
    Unknown,
    /// Somebody whose credential does not count.
    Refused(Problem),
    /// Somebody who is known, by a credential that may end; without one where the API is open.
    Known(Identity, Option<Credential>),
}

/// Finds out who asks, and leaves it to the routes whether they may.
pub(super) async fn identify(
    State(intake): State<Intake>,
    mut request: Request,
    next: Next,
) -> Response<Body> {
    let sender = match intake.access.without_credential() {
        Some(anybody) => Sender::Known(anybody, None),
        None => match sender_of(&intake.access, request.method(), request.headers()).await {
            Ok(sender) => sender,
            Err(unavailable) => return ProblemResponse(unavailable).into_response(),
        },
    };
    if let Sender::Known(identity, _) = &sender {
        request.extensions_mut().insert(identity.clone());
    }
    request.extensions_mut().insert(RequestFacts { intake, sender });
    next.run(request).await
}

async fn sender_of(access: &Access, method: &Method, headers: &HeaderMap) -> Result<Sender, Problem> {
    let refused = |detail| Ok(Sender::Refused(Problem::new(Type::Unauthenticated, detail)));
    let credential = match headers.get(header::AUTHORIZATION) {
        Some(value) => match token_of(value) {
            Some(token) => Credential::Token(token.digest()),
            None => {
                return refused(
                    "the header `Authorization` must be `Bearer` and a token, which starts with `pgr_`",
                );
            }
        },
        None => match session_of(headers) {
            None => return Ok(Sender::Unknown),
            Some(secret) if !method.is_safe() && !has_csrf_token(headers, &secret) => {
                return refused(
                    "a change in a session needs the header `X-Csrf-Token`, with the `csrfToken` of `/v1/session`",
                );
            }
            Some(secret) => Credential::Session(secret.digest()),
        },
    };
    match (access.identify(&credential).await?, credential) {
        (Some(identity), _) => Ok(Sender::Known(identity, Some(credential))),
        (None, Credential::Token(_)) => refused("the token is unknown, revoked or expired"),
        (None, Credential::Session(_)) => refused("the session has ended; log in again"),
    }
}

/// Credential that a request carries, whether it counts or not.
pub(super) fn credential_of(headers: &HeaderMap) -> Option<Credential> {
    match headers.get(header::AUTHORIZATION) {
        Some(value) => token_of(value).map(|token| Credential::Token(token.digest())),
        None => session_of(headers).map(|secret| Credential::Session(secret.digest())),
    }
}

fn token_of(header: &HeaderValue) -> Option<ProgramToken> {
    let (scheme, token) = header.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| ProgramToken::read(token.trim()))?
}

/// Secret of the session whose cookie a request carries.
pub(super) fn session_of(headers: &HeaderMap) -> Option<SessionSecret> {
    cookie_of(headers, COOKIE).and_then(SessionSecret::read)
}

/// Value of a cookie.
pub(super) fn cookie_of<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(known, _)| *known == name).map(|(_, value)| value)
}

/// True if the header is there and right. Both are digests of what only the browser has: how long it takes tells nothing.
fn has_csrf_token(headers: &HeaderMap, secret: &SessionSecret) -> bool {
    headers.get(CSRF).is_some_and(|sent| sent.as_bytes() == csrf_token(secret).as_bytes())
}

/// Lets through who may, and ends what lasts when they may no more. The audit log has the changes that were refused.
pub(super) async fn authorize(rule: RouteRule, request: Request, next: Next) -> Response<Body> {
    let Some(facts) = request.extensions().get::<RequestFacts>().cloned() else {
        // A router without `identify` in front of it: a defect, which must not open the API.
        return ProblemResponse(Problem::new(Type::Internal, "the sender was not identified"))
            .into_response();
    };
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let peer = request.extensions().get::<Peer>().copied();
    let answer = answer(rule, &facts, request, next).await;
    if let (StatusCode::FORBIDDEN, false, Sender::Known(identity, _)) =
        (answer.status(), method.is_safe(), &facts.sender)
    {
        let refused = RefusedChange {
            identity,
            from: peer.map(|peer| peer.0.to_string()),
            operation: format!("{method} {}", rule.path),
            request: format!("{method} {}", uri.path()),
        };
        facts.intake.access.note_refusal(refused).await;
    }
    answer
}

async fn answer(rule: RouteRule, facts: &RequestFacts, request: Request, next: Next) -> Response<Body> {
    let (needs, RequestFacts { intake, sender }) = (rule.needs, facts);
    let reads = request.method().is_safe();
    let entrance = request.extensions().get::<Entrance>().copied().unwrap_or_default();
    let judged = judge(needs, reads, entrance, sender, intake.host.settings().access.callbacks);
    if let Err(problem) = judged {
        let challenge = (problem.kind() == Some(Type::Unauthenticated))
            .then_some((header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"pagurus\"")));
        let mut answer = ProblemResponse(problem).into_response();
        answer.headers_mut().extend(challenge);
        return answer;
    }
    let (Sender::Known(identity, credential), Needs::Role(role)) = (sender, needs) else {
        return next.run(request).await;
    };
    let (request, admitted) = admit(intake, rule, &identity.scope, request).await;
    if let Err(problem) = admitted {
        return ProblemResponse(problem).into_response();
    }
    let (method, payloads) = (request.method().clone(), payloads_of(&request));
    let answer = match credential.filter(|_| reads) {
        Some(credential) => {
            let right = Right { role, scope: identity.scope.clone() };
            while_admitted(intake.access.clone(), credential, right, next.run(request)).await
        }
        None => next.run(request).await,
    };
    if !identity.scope.hides_payloads() {
        return answer;
    }
    match payloads {
        Some(payloads) => payloads.hide(&method, rule.path, answer).await,
        None => ProblemResponse(Problem::new(Type::Internal, "the payloads of answers are not known"))
            .into_response(),
    }
}

fn payloads_of(request: &Request) -> Option<Arc<Payloads>> {
    request.extensions().get::<Arc<Payloads>>().map(Arc::clone)
}

/// Lets pass who sees what the route is about.
async fn admit(
    intake: &Intake,
    rule: RouteRule,
    scope: &AccessScope,
    request: Request,
) -> (Request, Result<(), Problem>) {
    if scope.has_every_name() || rule.concern == Concern::Scoped {
        return (request, Ok(()));
    }
    let Concern::Named(kind) = rule.concern else {
        let detail = "this concerns the whole installation, but you see only the part of your tenants (`access.tenants`)";
        return (request, Err(Problem::new(Type::Forbidden, detail)));
    };
    let (mut parts, body) = request.into_parts();
    let admitted = match rule.name {
        Some(name) => intake.whole_views().seen_in(scope.clone()).admit(kind, name).await,
        None => match RawPathParams::from_request_parts(&mut parts, intake).await {
            Ok(params) => {
                let name = params.iter().next().map_or("", |(_, name)| name);
                intake.whole_views().seen_in(scope.clone()).admit(kind, name).await
            }
            // The handler reads the path likewise, and says what is wrong with it.
            Err(_) => Ok(()),
        },
    };
    (Request::from_parts(parts, body), admitted)
}

/// The rules, without the world.
fn judge(
    needs: Needs,
    reads: bool,
    entrance: Entrance,
    sender: &Sender,
    callbacks: CallbackProof,
) -> Result<(), Problem> {
    let admitted = match entrance {
        Entrance::All => true,
        Entrance::Clients => needs == Needs::Role(AccessRole::Client),
        Entrance::Systems => needs == Needs::Role(AccessRole::System),
    };
    if !admitted {
        return Err(Problem::new(Type::NotFound, "this address does not serve this part of the API"));
    }
    let Needs::Role(needed) = needs else { return Ok(()) };
    match sender {
        Sender::Known(identity, _) if identity.role.admits_to(needed, reads) => Ok(()),
        // The address of a request is its own proof: it is unguessable, and only the called system has it.
        _ if needed == AccessRole::System && callbacks == CallbackProof::Address => Ok(()),
        Sender::Known(identity, _) => {
            let detail = format!("the role `{}` does not permit this; it needs `{needed}`", identity.role);
            Err(Problem::new(Type::Forbidden, detail))
        }
        Sender::Refused(problem) => Err(problem.clone()),
        Sender::Unknown => Err(Problem::new(
            Type::Unauthenticated,
            "log in at `/v1/session`, or send a token: `Authorization: Bearer pgr_…`",
        )),
    }
}

/// Right by which an answer is given: it ends with either of them.
#[derive(Clone)]
struct Right {
    role: AccessRole,
    scope: AccessScope,
}

/// Answers while the credential admits to it. An answer that takes its time, and a stream, end with the right to them.
async fn while_admitted(
    access: Access,
    credential: Credential,
    right: Right,
    answer: impl Future<Output = Response<Body>>,
) -> Response<Body> {
    tokio::select! {
        answer = answer => answer.map(|body| {
            if body_is_short(&body) {
                return body;
            }
            let end = Box::pin(admission_ends(access.clone(), credential, right.clone()));
            Body::from_stream(body.into_data_stream().take_until(end))
        }),
        () = admission_ends(access.clone(), credential, right.clone()) => {
            let detail = "the token or the session ended before the answer was ready";
            ProblemResponse(Problem::new(Type::Unauthenticated, detail)).into_response()
        }
    }
}

/// Waits until the credential does not admit any more. A database that is away admits nobody, and sends nobody away.
async fn admission_ends(access: Access, credential: Credential, right: Right) {
    let Right { role, scope } = right;
    let admits = |found: Option<Identity>| {
        found.is_some_and(|one| one.role.admits_to(role, true) && one.scope == scope)
    };
    loop {
        tokio::time::sleep(ASK_AGAIN).await;
        if access.still(&credential).await.is_ok_and(|found| !admits(found)) {
            return;
        }
    }
}

/// True for a body whose length is known: it is there already.
fn body_is_short(body: &Body) -> bool {
    axum::body::HttpBody::size_hint(body).exact().is_some()
}

/// Address of the sender of a request, for logs and the audit.
pub(super) fn address_of(parts: &Parts) -> Option<String> {
    parts.extensions.get::<Peer>().map(|peer| peer.0.to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests;
