//! Principals of requests over HTTP.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use pagurus_domain::access::Identity;
use pagurus_domain::order::principal::Principal;

use super::identity::address_of;

/// Principal of a request.
pub(super) struct Caller(pub Principal);

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let name = parts.extensions.get::<Identity>().and_then(Identity::principal);
        Ok(Self(Principal::http(name, address_of(parts))))
    }
}
