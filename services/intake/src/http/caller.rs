//! Principals of requests over HTTP, and what they see.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use pagurus_domain::access::Identity;
use pagurus_domain::access::scope::AccessScope;
use pagurus_domain::order::principal::Principal;
use pagurus_view::Views;

use super::identity::address_of;
use crate::Intake;

/// Principal of a request.
pub(super) struct Caller(pub Principal);

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let name = parts.extensions.get::<Identity>().and_then(Identity::principal);
        Ok(Self(Principal::http(name, address_of(parts))))
    }
}

/// Scope of the sender of a request.
pub(super) struct Scope(pub AccessScope);

impl<S: Send + Sync> FromRequestParts<S> for Scope {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        // A route that needs a role is reached by nobody without an identity; others show nothing that has a scope.
        let scope = parts.extensions.get::<Identity>().map(|identity| identity.scope.clone());
        Ok(Self(scope.unwrap_or(AccessScope::WHOLE)))
    }
}

/// Views, as the sender of a request sees them.
pub(super) struct ScopedViews(pub Views);

impl FromRequestParts<Intake> for ScopedViews {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, intake: &Intake) -> Result<Self, Infallible> {
        let Scope(scope) = Scope::from_request_parts(parts, intake).await?;
        Ok(Self(intake.whole_views().seen_in(scope)))
    }
}
