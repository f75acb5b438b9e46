//! Principals of requests over HTTP.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use pagurus_domain::order::principal::Principal;
use pagurus_runtime::Peer;

/// Principal of a request.
pub(super) struct Caller(pub Principal);

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let peer = parts.extensions.get::<Peer>();
        Ok(Self(Principal::http(peer.map(|peer| peer.0.to_string()))))
    }
}
