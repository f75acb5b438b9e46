//! The rules of the deployment, with those that a scenario brings along behind them (ERR-15).
//!
//! The deployment is asked first, for the class of a failure and then for the policy: operations staff can always
//! override. Each layer is whole in itself, so that a mask of a scenario never competes with one of the deployment.

use std::time::Duration;

use super::policy::most_specific;
use super::{
    Asked, Classified, DurationControl, ErrorClass, ErrorPolicy, Interaction, Outcome, Policy, Reply,
    Retries, RetryMode, asynchronous,
};
use crate::classes::ASYNC_TIMEOUT;

/// Most scenarios whose rules are asked one behind the other: the order's, and the operations that it is in (SCN-19).
const MOST_OWN: usize = 4;

/// Rules and policies as an order of one scenario meets them.
#[derive(Clone, Copy, Debug)]
pub struct ErrorRules<'a> {
    deployment: &'a ErrorPolicy,
    /// Rules that scenarios bring along, in the order in which they are asked.
    own: [Option<OwnRules<'a>>; MOST_OWN],
}

/// Rules that a scenario brings along.
#[derive(Clone, Copy, Debug)]
struct OwnRules<'a> {
    policy: &'a ErrorPolicy,
    /// The name of an operation, which its policies may name; `None` for the scenario of the order.
    operation: Option<&'a str>,
}

/// A deployment, and a scenario that brings nothing along.
impl<'a> From<&'a ErrorPolicy> for ErrorRules<'a> {
    fn from(deployment: &'a ErrorPolicy) -> Self {
        Self { deployment, own: [None; MOST_OWN] }
    }
}

impl<'a> ErrorRules<'a> {
    /// The rules of a deployment, with those of a scenario behind them.
    #[must_use]
    pub const fn of(deployment: &'a ErrorPolicy, own: &'a ErrorPolicy) -> Self {
        Self { deployment, own: [Some(OwnRules { policy: own, operation: None }), None, None, None] }
    }

    /// The same for an action of an operation that the scenario runs: the operation is asked before it.
    #[must_use]
    pub fn inside(self, operation: &'a str, policy: &'a ErrorPolicy) -> Self {
        let mut own = self.own;
        own.rotate_right(1);
        own[0] = Some(OwnRules { policy, operation: Some(operation) });
        Self { own, ..self }
    }

    /// The layers in the order in which they are asked.
    pub(super) fn layers(self) -> impl Iterator<Item = &'a ErrorPolicy> {
        let own = self.own.into_iter().flatten().map(|own| own.policy);
        std::iter::once(self.deployment).chain(own)
    }

    /// The class of an outcome by the first layer that has one for it.
    #[must_use]
    pub fn classify(self, interaction: &Interaction<'_>, outcome: &Outcome<'_>) -> Option<Classified> {
        self.layers().find_map(|layer| layer.classify(interaction, outcome))
    }

    /// Returns the class of the outcome of an asynchronous request, likewise. A time-out that no layer takes has the built-in
    /// class.
    #[must_use]
    pub fn classify_async(self, asked: &Asked<'_>, reply: &Reply<'_>) -> Option<Classified> {
        let fitting = self.layers().find_map(|layer| asynchronous::fitting(&layer.async_rules, asked, reply));
        let built_in = || Classified { rule: None, class: ErrorClass::from(ASYNC_TIMEOUT) };
        fitting.or_else(|| (*reply == Reply::TimedOut).then(built_in))
    }

    /// True if the time between due and begun counts against no limit (ERR-10).
    #[must_use]
    pub fn leaves_out_delivery(self) -> bool {
        self.deployment.duration_control == DurationControl::RunAndSuspending
    }

    pub(super) fn half(self, half: Half) -> LayeredRetries<'a> {
        let retries = |layer: &'a ErrorPolicy| match half {
            Half::Sync => &layer.retries,
            Half::Async => &layer.async_retries,
        };
        LayeredRetries {
            deployment: retries(self.deployment),
            own: self.own.map(|own| own.map(|own| (retries(own.policy), own.operation))),
            control: self.deployment.duration_control,
        }
    }
}

/// A class that a scenario gives a failure, and that the deployment overrules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overruled {
    /// Class that the scenario gives.
    pub own: ErrorClass,
    /// Class that the deployment gives.
    pub class: ErrorClass,
    /// The failure in words.
    pub outcome: String,
}

impl ErrorPolicy {
    /// The classes of these rules, for failures of a call that they name by status or by the name of the failure, in whose
    /// place the deployment gives others.
    #[must_use]
    pub fn overruled_by(&self, deployment: &Self, interaction: &Interaction<'_>) -> Vec<Overruled> {
        let classes = self.rules.iter().flat_map(|rule| &rule.classes);
        let spans = classes.clone().flat_map(|class| &class.responses).flat_map(|one| &one.status_codes);
        let names = classes.flat_map(|class| &class.exceptions).filter_map(|one| one.name_keyword.as_deref());
        let mut found = Vec::new();
        let mut compare = |outcome: &Outcome<'_>, words: String| {
            let classes = self.classify(interaction, outcome).zip(deployment.classify(interaction, outcome));
            let differ = classes.filter(|(own, given)| own.class != given.class);
            let Some((own, given)) = differ else { return false };
            found.push(Overruled { own: own.class, class: given.class, outcome: words });
            true
        };
        for span in spans {
            // One status stands for all of its span.
            for status in span.statuses() {
                let outcome = Outcome::Response { status, body: "", fault: None };
                if compare(&outcome, format!("status {status}")) {
                    break;
                }
            }
        }
        for name in names {
            let chain = &[name];
            compare(&Outcome::Exception { chain, message: "" }, format!("`{name}`"));
        }
        found
    }
}

/// Half of the rules: for failures of calls, or for answers that come later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Half {
    Sync,
    Async,
}

/// Retries of one kind of failures, by all layers.
#[derive(Clone, Copy, Debug)]
pub(super) struct LayeredRetries<'a> {
    deployment: &'a Retries,
    /// Retries of scenarios, each with the name of the operation that it is.
    own: [Option<(&'a Retries, Option<&'a str>)>; MOST_OWN],
    pub(super) control: DurationControl,
}

/// A policy with the limits that hold for it beside its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct LayeredPolicy<'a> {
    pub(super) policy: Option<&'a Policy>,
    pub(super) max_cycle: Duration,
    pub(super) max_total: Duration,
    /// True if the scenario brought it along.
    pub(super) is_own: bool,
}

impl<'a> LayeredRetries<'a> {
    /// True if the deployment repeats nothing at all.
    pub(super) fn is_off(self) -> bool {
        self.deployment.mode == RetryMode::None
    }

    /// The policy for a scenario and a class: the deployment's, or else the scenario's own. What a scenario says of
    /// limits holds for its own policies, and never beyond what the deployment allows.
    pub(super) fn find(self, scenario: &str, class: &str) -> LayeredPolicy<'a> {
        let deployment = self.deployment;
        let (max_cycle, max_total) = (deployment.max_cycle(), deployment.max_total());
        let policy = most_specific(&deployment.policies, scenario, class);
        let own = self.own.into_iter().flatten().filter(|(own, _)| own.mode != RetryMode::None);
        let mut found = own.filter_map(|(own, operation)| {
            Some((own, most_specific(&own.policies, operation.unwrap_or(scenario), class)?))
        });
        let of_own = if policy.is_none() { found.next() } else { None };
        match of_own {
            None => LayeredPolicy { policy, max_cycle, max_total, is_own: false },
            Some((own, policy)) => LayeredPolicy {
                policy: Some(policy),
                max_cycle: own.max_cycle_duration.map_or(max_cycle, |most| most.min(max_cycle)),
                max_total: own.max_total_duration.map_or(max_total, |most| most.min(max_total)),
                is_own: true,
            },
        }
    }
}
