//! Gives an outcome its class by the rules of the deployment. Must never decide what follows from
//! a class.

use std::cmp::Ordering;

use super::mask::{Glob, PathMask};
use super::{Classified, ErrorClass, Interaction, Outcome};

/// One entry under `rules`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rule {
    pub(super) name: String,
    pub(super) requests: Vec<Request>,
    /// In the order of the file, which is the order in which they are tried.
    pub(super) classes: Vec<Class>,
}

/// Which requests a rule takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) path: PathMask,
    pub(super) host: Option<Glob>,
    /// In capitals.
    pub(super) method: Option<String>,
}

/// One class of a rule: any of its conditions suffices.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Class {
    pub(super) class: ErrorClass,
    pub(super) responses: Vec<ResponseCondition>,
    pub(super) exceptions: Vec<ExceptionCondition>,
}

/// An answer with one of these statuses and, where given, one of these alternatives in its body.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ResponseCondition {
    pub(super) status_codes: Vec<u16>,
    pub(super) body_keywords: Alternatives,
}

/// A failure without an answer; what is given must hold.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ExceptionCondition {
    pub(super) name_keyword: Option<String>,
    pub(super) message_keywords: Alternatives,
}

/// Alternatives of substrings that must all occur; none at all holds for every text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Alternatives(pub(super) Vec<Vec<String>>);

/// See [`super::ErrorPolicy::classify`].
pub(super) fn classify(
    rules: &[Rule],
    interaction: &Interaction<'_>,
    outcome: &Outcome<'_>,
) -> Option<Classified> {
    // What counts as success by its nature is not even looked up (ERR-2).
    if let Outcome::Response { status, .. } = outcome
        && !(200..300).contains(status)
        && *status < 400
    {
        return None;
    }
    let rule = taken_by(rules, interaction)?;
    let class = rule.classes.iter().find(|class| class.fits(outcome))?;
    Some(Classified { rule: Some(rule.name.clone()), class: class.class.clone() })
}

/// The rule with the most specific mask for a request.
pub(super) fn taken_by<'a>(rules: &'a [Rule], interaction: &Interaction<'_>) -> Option<&'a Rule> {
    most_specific(
        rules.iter().flat_map(|rule| rule.requests.iter().map(move |request| (request, rule))),
        interaction,
    )
}

/// Of all masks that match, what belongs to the most specific one.
pub(super) fn most_specific<'a, R>(
    masks: impl Iterator<Item = (&'a Request, R)>,
    interaction: &Interaction<'_>,
) -> Option<R> {
    masks
        .filter(|(request, _)| request.matches(interaction))
        .max_by(|(left, _), (right, _)| left.compare(right))
        .map(|(_, rule)| rule)
}

impl Rule {
    /// Whether it finds faults inside answers that count as success by their status.
    pub(super) fn takes_success(&self) -> bool {
        let mut codes =
            self.classes.iter().flat_map(|class| &class.responses).flat_map(|answer| &answer.status_codes);
        codes.any(|code| (200..300).contains(code))
    }
}

impl Request {
    pub(super) fn matches(&self, interaction: &Interaction<'_>) -> bool {
        let method =
            self.method.as_ref().is_none_or(|method| method.eq_ignore_ascii_case(interaction.method));
        method
            && self.path.matches(interaction.path)
            && self.host.as_ref().is_none_or(|host| host_matches(host, interaction.host))
    }

    /// Greater is more specific. The last word has the alphabet, so that the order in the file
    /// never matters.
    fn compare(&self, other: &Self) -> Ordering {
        self.path
            .compare(&other.path)
            .then_with(|| self.narrowing().cmp(&other.narrowing()))
            .then_with(|| self.host_text().cmp(&other.host_text()))
            .then_with(|| self.method.cmp(&other.method))
    }

    fn host_text(&self) -> Option<&str> {
        self.host.as_ref().map(Glob::as_str)
    }

    /// Greater is narrower, among requests with the same mask of paths.
    fn narrowing(&self) -> (usize, bool) {
        // A mask of `*` alone narrows nothing, but whoever wrote it meant it to come first.
        let host = self.host.as_ref().map_or(0, |host| host.specificity().saturating_add(1));
        (host, self.method.is_some())
    }
}

/// A mask without a port holds for every port.
fn host_matches(mask: &Glob, host: &str) -> bool {
    let lower = host.to_ascii_lowercase();
    mask.matches(&lower) || mask.matches(without_port(&lower))
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

impl Class {
    pub(super) fn fits(&self, outcome: &Outcome<'_>) -> bool {
        match outcome {
            Outcome::Response { status, body } => self.responses.iter().any(|condition| {
                condition.status_codes.contains(status) && condition.body_keywords.hold(body)
            }),
            Outcome::Exception { chain, message } => self.exceptions.iter().any(|condition| {
                condition.name_keyword.as_ref().is_none_or(|keyword| names(chain, keyword))
                    && condition.message_keywords.hold(message)
            }),
        }
    }
}

impl Alternatives {
    pub(super) fn hold(&self, text: &str) -> bool {
        self.0.is_empty()
            || self.0.iter().any(|all| all.iter().all(|keyword| text.contains(keyword.as_str())))
    }
}

/// Whether a keyword is part of a name in the chain, or of a Java name of the same failure.
fn names(chain: &[&str], keyword: &str) -> bool {
    let cause = chain.iter().rev().find_map(|name| java_names(name));
    chain.iter().copied().chain(GENERAL_JAVA_NAMES).any(|name| name.contains(keyword))
        || cause.is_some_and(|names| names.iter().any(|name| name.contains(keyword)))
}

/// Java names that every failure without an answer goes by.
const GENERAL_JAVA_NAMES: [&str; 3] = ["java.io.IOException", "java.lang.Exception", "java.lang.Throwable"];

/// The Java names of a failure by its innermost cause. The outer names have none of their own:
/// an unknown host is also a `ConnectError` here, but never a `ConnectException` there.
fn java_names(cause: &str) -> Option<&'static [&'static str]> {
    Some(match cause {
        "ConnectError" => &["java.net.ConnectException", "java.net.NoRouteToHostException"],
        "ConnectionRefused" => {
            &["java.net.ConnectException", "org.apache.http.conn.HttpHostConnectException"]
        }
        "ConnectTimeout" => &[
            "java.net.ConnectException",
            "java.net.SocketTimeoutException",
            "java.net.http.HttpConnectTimeoutException",
            "org.apache.http.conn.ConnectTimeoutException",
            "java.util.concurrent.TimeoutException",
        ],
        "ReadTimeout" => &[
            "java.net.SocketTimeoutException",
            "java.net.http.HttpTimeoutException",
            "java.util.concurrent.TimeoutException",
        ],
        "ConnectionReset" => &["java.net.SocketException"],
        "ConnectionClosed" => &[
            "java.net.SocketException",
            "java.io.EOFException",
            "java.nio.channels.ClosedChannelException",
            "org.apache.http.NoHttpResponseException",
        ],
        "DnsError" => &["java.net.UnknownHostException"],
        "TlsError" => &["javax.net.ssl.SSLException", "javax.net.ssl.SSLHandshakeException"],
        "BodyError" => &["java.io.EOFException"],
        "ProtocolError" => &["java.net.ProtocolException", "org.apache.http.ProtocolException"],
        _ => return None,
    })
}
