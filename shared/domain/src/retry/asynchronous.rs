//! Gives the outcome of an asynchronous request its class by the rules of the deployment. Must
//! never decide what follows from a class.

use super::classify::{Alternatives, RequestMask, holds_fault, most_specific};
use super::mask::AmqpMask;
use super::{Asked, Classified, ErrorClass, Reply};

/// Entry under `rules` of the asynchronous half.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AsyncRule {
    pub(super) name: String,
    pub(super) http: Vec<RequestMask>,
    pub(super) amqp: Vec<AmqpMask>,
    /// In the order of the file, which is the order in which they are tried.
    pub(super) classes: Vec<AsyncClass>,
}

/// Class of a rule: any of its conditions suffices.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AsyncClass {
    pub(super) class: ErrorClass,
    /// True if it takes answers that never came.
    pub(super) timeout: bool,
    pub(super) responses: Vec<CallbackCondition>,
}

/// An answer with one of these words in its step status and one of these alternatives in its
/// body and in its SOAP fault; what is not given holds for every answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct CallbackCondition {
    pub(super) step_status_keywords: Vec<String>,
    pub(super) body_keywords: Alternatives,
    pub(super) soap_fault_keywords: Option<Alternatives>,
}

/// The class that these rules give, without the built-in one.
pub(super) fn fitting(rules: &[AsyncRule], asked: &Asked<'_>, reply: &Reply<'_>) -> Option<Classified> {
    let rule = taken_by(rules, asked)?;
    let class = rule.classes.iter().find(|class| class.fits(reply))?;
    Some(Classified { rule: Some(rule.name.clone()), class: class.class.clone() })
}

/// The rule with the most specific mask for where the request went.
pub(super) fn taken_by<'a>(rules: &'a [AsyncRule], asked: &Asked<'_>) -> Option<&'a AsyncRule> {
    match asked {
        Asked::Http(interaction) => most_specific(
            rules.iter().flat_map(|rule| rule.http.iter().map(move |request| (request, rule))),
            interaction,
        ),
        Asked::Amqp { vhost, exchange, key } => rules
            .iter()
            .flat_map(|rule| rule.amqp.iter().map(move |mask| (mask, rule)))
            .filter(|(mask, _)| mask.matches(vhost, exchange, key))
            .max_by_key(|(mask, _)| mask.specificity())
            .map(|(_, rule)| rule),
    }
}

impl AsyncClass {
    pub(super) fn fits(&self, reply: &Reply<'_>) -> bool {
        match reply {
            Reply::TimedOut => self.timeout,
            Reply::Callback { step_status, body, fault } => self.responses.iter().any(|condition| {
                let words = &condition.step_status_keywords;
                let status = step_status.unwrap_or_default();
                (words.is_empty() || words.iter().any(|word| status.contains(word.as_str())))
                    && condition.body_keywords.hold(body)
                    && holds_fault(condition.soap_fault_keywords.as_ref(), *fault)
            }),
        }
    }
}
