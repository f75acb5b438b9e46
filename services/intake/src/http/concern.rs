//! What a route is about, for those who see the things of their tenants alone.

use pagurus_domain::access::scope::OwnedKind;
use pagurus_view::ScopedKind;

/// Subject of a route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::http) enum Concern {
    /// The whole installation: only those who see everything may. A route that says nothing else is like that.
    #[default]
    Whole,
    /// A thing that the path names: who does not see it is refused before the handler runs.
    Named(ScopedKind),
    /// Whatever is seen: the handler looks to it.
    Scoped,
}

/// Beginnings of paths that name a thing.
const NAMED: [(&str, ScopedKind); 6] = [
    ("/v1/orders/{id}", ScopedKind::Order),
    ("/v1/flows/{flow}", ScopedKind::Owned(OwnedKind::Flow)),
    ("/v1/queues/{name}", ScopedKind::Owned(OwnedKind::Queue)),
    ("/v1/scenarios/{name}", ScopedKind::Owned(OwnedKind::Scenario)),
    ("/v1/schedules/{name}", ScopedKind::Schedule),
    ("/v1/operations/{no}", ScopedKind::Operation),
];

impl Concern {
    /// Concern of a route by its path, unless the route itself says it.
    pub(in crate::http) fn of(path: &str, declared: Option<Self>) -> Self {
        let of_path = || {
            let begins = |(beginning, _): &&(&str, ScopedKind)| {
                path.strip_prefix(beginning).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            NAMED.iter().find(begins).map_or(Self::Whole, |(_, kind)| Self::Named(*kind))
        };
        declared.unwrap_or_else(of_path)
    }

    /// The word of the OpenAPI document, `x-scope`.
    pub(in crate::http) const fn as_str(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Named(_) => "named",
            Self::Scoped => "scoped",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ui_1_a_path_says_what_its_route_is_about() {
        let of = |path: &str| Concern::of(path, None);
        assert_eq!(of("/v1/orders/{id}"), Concern::Named(ScopedKind::Order));
        assert_eq!(of("/v1/orders/{id}/calls/{key}"), Concern::Named(ScopedKind::Order));
        assert_eq!(of("/v1/queues/{name}/release"), Concern::Named(ScopedKind::Owned(OwnedKind::Queue)));
        for whole in ["/v1/orders", "/v1/orders/batch", "/v1/audit", "/v1/flows/stop"] {
            assert_eq!(of(whole), Concern::Whole, "{whole}");
        }
        assert_eq!(Concern::of("/v1/orders", Some(Concern::Scoped)), Concern::Scoped);
    }
}
