//! Called systems: the names that the configuration gives them by masks (DSP-16), and samples of calls of them.

mod sample;

use std::collections::BTreeSet;
use std::time::Duration;

use crate::retry::mask::{Glob, PathMask};

pub use sample::{
    BuiltInClass, CallFailure, CallKind, CallOutcome, CallSamples, Latencies, duration_of, step_of,
};

/// Longest time for which a called system is believed that says when it is to be called again; the default of
/// `systems.max_retry_after`, which a test of the settings holds against it.
pub const MAX_RETRY_AFTER: Duration = Duration::from_secs(15 * 60);

/// The masks of one entry of the configuration, as text. An entry is for calls over HTTP or for an exchange.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SystemMask {
    /// The name that it gives.
    pub name: String,
    /// Hosts, with or without a port: `billing.*`, `10.0.0.7:8080`.
    pub host: Option<String>,
    /// Paths: `/v2/**`.
    pub path: Option<String>,
    /// Exchanges: `crm.*`.
    pub exchange: Option<String>,
}

#[derive(Clone, Debug)]
enum Fits {
    Http { host: Option<Glob>, path: Option<PathMask> },
    Exchange(Glob),
}

/// Names of called systems. The first mask that fits counts.
#[derive(Clone, Debug, Default)]
pub struct SystemNames {
    masks: Vec<(String, Fits)>,
}

impl SystemNames {
    /// Creates it from these masks, in their order.
    #[must_use]
    pub fn new(masks: impl IntoIterator<Item = SystemMask>) -> Self {
        let masks = masks.into_iter().map(|mask| {
            let fits = match &mask.exchange {
                Some(exchange) => Fits::Exchange(Glob::new(exchange)),
                None => Fits::Http {
                    host: mask.host.map(|host| Glob::new(&host.to_ascii_lowercase())),
                    path: mask.path.as_deref().map(PathMask::new),
                },
            };
            (mask.name, fits)
        });
        Self { masks: masks.collect() }
    }

    /// The system at a host, with its port where the URL has one, behind a path; none if it has no name.
    #[must_use]
    pub fn of_http(&self, host: &str, path: &str) -> Option<&str> {
        if self.masks.is_empty() {
            return None;
        }
        let authority = host.to_ascii_lowercase();
        let host_only = authority.rsplit_once(':').filter(|(_, port)| is_port(port)).map(|(host, _)| host);
        self.first(|fits| match fits {
            Fits::Http { host, path: mask } => {
                let host_fits = host.as_ref().is_none_or(|host| {
                    host.matches(&authority) || host_only.is_some_and(|only| host.matches(only))
                });
                host_fits && mask.as_ref().is_none_or(|mask| mask.matches(path))
            }
            Fits::Exchange(_) => false,
        })
    }

    /// The system behind an exchange; none if it has no name.
    #[must_use]
    pub fn of_exchange(&self, exchange: &str) -> Option<&str> {
        self.first(|fits| match fits {
            Fits::Exchange(mask) => mask.matches(exchange),
            Fits::Http { .. } => false,
        })
    }

    /// All names.
    #[must_use]
    pub fn names(&self) -> BTreeSet<&str> {
        self.masks.iter().map(|(name, _)| name.as_str()).collect()
    }

    fn first(&self, fits: impl Fn(&Fits) -> bool) -> Option<&str> {
        self.masks.iter().find(|(_, mask)| fits(mask)).map(|(name, _)| name.as_str())
    }
}

/// Host with port, and path, of an absolute URL; without the query, and without the name and
/// password that some URLs carry.
#[must_use]
pub fn host_and_path(url: &str) -> (&str, &str) {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.split(['?', '#']).next().unwrap_or(rest);
    let (authority, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
    (authority.rsplit_once('@').map_or(authority, |(_, host)| host), path)
}

fn is_port(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn err_1_the_path_of_a_url_is_found_without_its_query() {
        assert_eq!(host_and_path("http://h:1/a/b?c=/d"), ("h:1", "/a/b"));
        assert_eq!(host_and_path("http://h"), ("h", "/"));
        assert_eq!(host_and_path("http://me:secret@h:1/a@b"), ("h:1", "/a@b"));
    }

    #[test]
    fn dsp_16_a_system_is_named_by_masks_of_host_and_path_or_exchange() {
        let mask = |name: &str, host: Option<&str>, path: Option<&str>, exchange: Option<&str>| SystemMask {
            name: name.to_owned(),
            host: host.map(str::to_owned),
            path: path.map(str::to_owned),
            exchange: exchange.map(str::to_owned),
        };
        let names = SystemNames::new([
            mask("billing-v2", Some("Billing.*"), Some("/v2/**"), None),
            mask("billing", Some("billing.*"), None, None),
            mask("local", Some("127.0.0.1:8080"), None, None),
            mask("health", None, Some("/health"), None),
            mask("crm", None, None, Some("crm.*")),
        ]);
        let cases = [
            ("http://billing.example/v2/pay?x=1", Some("billing-v2")),
            ("https://user@BILLING.example:8443/v1/pay", Some("billing")),
            ("http://127.0.0.1:8080/x", Some("local")),
            ("http://127.0.0.1:8081/x", None),
            ("http://other/health", Some("health")),
            ("http://other", None),
            ("nonsense", None),
            ("", None),
        ];
        for (url, expected) in cases {
            let (host, path) = host_and_path(url);
            assert_eq!(names.of_http(host, path), expected, "{url}");
        }
        assert_eq!(names.of_exchange("crm.events"), Some("crm"));
        assert_eq!(names.of_exchange("billing.events"), None, "masks of hosts are for HTTP");
    }
}
