//! Rules of operators that hold a flow or a called system at one time. Never decides anything: the policy does, by the same rules.

use jiff::Timestamp;
use pagurus_domain::flow::SystemOrder;
use pagurus_domain::maintenance::{Occurrence, WindowTarget};
use pagurus_store::upkeep::stops::OperatorRules;

/// A rule that holds something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HoldingRule {
    /// The rule.
    pub name: RuleName,
    /// Keyword of a stop.
    pub keyword: String,
    /// Time since which it holds.
    pub from: Timestamp,
    /// Time at which it ends by itself.
    pub until: Option<Timestamp>,
}

/// Name of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RuleName {
    /// Stop of flows by hand.
    Stop(i64),
    /// Maintenance window.
    Window(i64),
    /// Order about a system.
    Order(SystemOrder),
}

impl HoldingRule {
    /// True for the same rule, and of a window the same occurrence.
    pub fn is(&self, other: &Self) -> bool {
        (self.name, self.from) == (other.name, other.from)
    }
}

/// The rules, with the windows that are open now.
#[derive(Debug)]
pub(crate) struct HoldingRules<'a> {
    /// The time.
    pub now: Timestamp,
    rules: &'a OperatorRules,
    open: Vec<(i64, &'a WindowTarget, Occurrence)>,
}

impl<'a> HoldingRules<'a> {
    /// The rules at this time.
    pub fn at(rules: &'a OperatorRules, now: Timestamp) -> Self {
        let open = rules.windows.iter();
        let open = open.filter_map(|window| Some((window.no, &window.target, window.open_at(now)?)));
        Self { now, rules, open: open.collect() }
    }

    /// Rules that hold a flow.
    pub fn of_flow(&self, flow: &str) -> Vec<HoldingRule> {
        let stops = self.rules.stops.iter().filter(|stop| stop.holds(flow, self.now));
        let stops = stops.map(|stop| HoldingRule {
            name: RuleName::Stop(stop.no),
            keyword: stop.keyword.clone(),
            from: stop.from,
            until: stop.until,
        });
        stops.chain(self.windows(|target| target.has_flow(flow))).collect()
    }

    /// Rules that hold a called system, or force it open.
    pub fn of_system(&self, system: &str) -> Vec<HoldingRule> {
        let holds = |from: Timestamp, until: Option<Timestamp>| {
            from <= self.now && until.is_none_or(|until| self.now < until)
        };
        let orders = self.rules.overrides.iter();
        let orders = orders.filter(|one| one.system == system && holds(one.from, one.until));
        let orders = orders.map(|one| HoldingRule {
            name: RuleName::Order(one.order),
            keyword: String::new(),
            from: one.from,
            until: one.until,
        });
        orders.chain(self.windows(|target| target.has_system(system))).collect()
    }

    fn windows(&self, concerns: impl Fn(&WindowTarget) -> bool) -> impl Iterator<Item = HoldingRule> {
        let open = self.open.iter().filter(move |(_, target, _)| concerns(target));
        open.map(|(no, _, one)| HoldingRule {
            name: RuleName::Window(*no),
            keyword: String::new(),
            from: one.begin,
            until: Some(one.end),
        })
    }
}
