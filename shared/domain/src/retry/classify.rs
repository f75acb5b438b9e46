//! Gives an outcome its class by the rules of the deployment. Must never decide what follows from
//! a class.

use std::cmp::Ordering;
use std::ops::RangeInclusive;

use super::mask::{Glob, PathMask};
use super::names;
use super::{Classified, ErrorClass, Interaction, Outcome};

/// Entry under `rules`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ClassificationRule {
    pub(super) name: String,
    pub(super) requests: Vec<RequestMask>,
    /// In the order of the file, which is the order in which they are tried.
    pub(super) classes: Vec<Class>,
}

/// Mask of the requests that a rule takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RequestMask {
    pub(super) path: PathMask,
    pub(super) host: Option<Glob>,
    /// In capitals.
    pub(super) method: Option<String>,
}

/// Class of a rule: any of its conditions suffices.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Class {
    pub(super) class: ErrorClass,
    pub(super) responses: Vec<ResponseCondition>,
    pub(super) exceptions: Vec<ExceptionCondition>,
}

/// An answer with one of these statuses and, where given, one of these alternatives in its body and in its SOAP fault.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ResponseCondition {
    /// None at all are any, which only a condition of faults has.
    pub(super) status_codes: Vec<StatusSpan>,
    pub(super) body_keywords: Alternatives,
    /// An answer that is no fault does not hold them.
    pub(super) soap_fault_keywords: Option<Alternatives>,
}

/// Neighbouring HTTP statuses: one, or a whole class such as `5xx`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StatusSpan {
    pub(super) first: u16,
    pub(super) last: u16,
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
    rules: &[ClassificationRule],
    interaction: &Interaction<'_>,
    outcome: &Outcome<'_>,
) -> Option<Classified> {
    if let Outcome::Response { status, .. } = outcome
        && always_success(*status)
    {
        return None;
    }
    let rule = taken_by(rules, interaction)?;
    let class = rule.classes.iter().find(|class| class.fits(outcome))?;
    Some(Classified { rule: Some(rule.name.clone()), class: class.class.clone() })
}

/// True for an outcome that is a success by its nature, whatever the rules say (ERR-2).
pub(super) fn always_success(status: u16) -> bool {
    status < 400 && !(200..300).contains(&status)
}

/// The rule with the most specific mask for a request.
pub(super) fn taken_by<'a>(
    rules: &'a [ClassificationRule],
    interaction: &Interaction<'_>,
) -> Option<&'a ClassificationRule> {
    most_specific(
        rules.iter().flat_map(|rule| rule.requests.iter().map(move |request| (request, rule))),
        interaction,
    )
}

/// Returns what belongs to the most specific of all masks that match.
pub(super) fn most_specific<'a, R>(
    masks: impl Iterator<Item = (&'a RequestMask, R)>,
    interaction: &Interaction<'_>,
) -> Option<R> {
    masks
        .filter(|(request, _)| request.matches(interaction))
        .max_by(|(left, _), (right, _)| left.compare(right))
        .map(|(_, rule)| rule)
}

impl ClassificationRule {
    /// True if it finds faults inside answers that count as success by their status.
    pub(super) fn takes_success(&self) -> bool {
        // A fault is a failure whatever its status.
        let by_words = self.classes.iter().flat_map(|class| &class.responses);
        let mut codes = by_words
            .filter(|answer| answer.soap_fault_keywords.is_none())
            .flat_map(|answer| &answer.status_codes);
        codes.any(|span| (200..300).contains(&span.first))
    }
}

impl StatusSpan {
    /// All its statuses.
    pub(super) const fn statuses(self) -> RangeInclusive<u16> {
        self.first..=self.last
    }
}

impl RequestMask {
    pub(super) fn matches(&self, interaction: &Interaction<'_>) -> bool {
        let method =
            self.method.as_ref().is_none_or(|method| method.eq_ignore_ascii_case(interaction.method));
        method
            && self.path.matches(interaction.path)
            && self.host.as_ref().is_none_or(|host| host_matches(host, interaction.host))
    }

    /// Greater is more specific. The last word has the alphabet, so that the order in the file
    /// never matters.
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        self.path
            .compare(&other.path)
            .then_with(|| self.narrowing().cmp(&other.narrowing()))
            .then_with(|| self.host_text().cmp(&other.host_text()))
            .then_with(|| self.method.cmp(&other.method))
    }

    /// Returns the mask as text.
    pub(super) fn text(&self) -> String {
        let method = self.method.as_ref().map_or_else(String::new, |method| format!("{method} "));
        format!("{method}{}{}", self.host_text().unwrap_or_default(), self.path.as_str())
    }

    fn host_text(&self) -> Option<&str> {
        self.host.as_ref().map(Glob::as_str)
    }

    /// Greater is narrower, among requests with the same mask of paths.
    fn narrowing(&self) -> (usize, bool) {
        // A mask of `*` alone narrows nothing, but its author meant it to come first.
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
            Outcome::Response { status, body, fault } => self.responses.iter().any(|condition| {
                (condition.status_codes.is_empty()
                    || condition.status_codes.iter().any(|span| span.statuses().contains(status)))
                    && condition.body_keywords.hold(body)
                    && holds_fault(condition.soap_fault_keywords.as_ref(), *fault)
            }),
            Outcome::Exception { chain, message } => self.exceptions.iter().any(|condition| {
                condition.name_keyword.as_ref().is_none_or(|keyword| names::hold(chain, keyword))
                    && names::messages(chain, message).any(|text| condition.message_keywords.hold(text))
            }),
        }
    }
}

/// True if the fault holds what a condition asks of one; whatever asks nothing holds for every answer.
pub(super) fn holds_fault(wanted: Option<&Alternatives>, fault: Option<&str>) -> bool {
    wanted.is_none_or(|wanted| fault.is_some_and(|fault| wanted.hold(fault)))
}

impl Alternatives {
    pub(super) fn hold(&self, text: &str) -> bool {
        self.0.is_empty()
            || self.0.iter().any(|all| all.iter().all(|keyword| text.contains(keyword.as_str())))
    }
}
