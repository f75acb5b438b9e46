//! Scope of a person or a program: the flows, queues and scenarios that they see and act on, and whether they see payloads.
//!
//! A tenant owns the names that its patterns fit. A name that no tenant owns is everybody's. A name that tenants own is seen by
//! their members, and by nobody else. An order is seen by those who see its flow, its queue and its scenario.

use std::sync::Arc;

use crate::order::notification::matches;

/// Kind of a name that tenants may own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OwnedKind {
    /// A flow.
    Flow,
    /// A sequential queue.
    Queue,
    /// A scenario, in all its versions.
    Scenario,
}

crate::id::spelled!(OwnedKind { Flow => "flow", Queue => "queue", Scenario => "scenario" });

/// Pattern of names, in which `*` stands for any letters.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NamePattern {
    kind: OwnedKind,
    text: String,
}

impl NamePattern {
    fn fits(&self, kind: OwnedKind, name: &str) -> bool {
        self.kind == kind && matches(&self.text, name)
    }

    /// Pattern of `LIKE` for a name behind its kind: `flow:NAME`.
    fn as_like(&self) -> String {
        let mut like = format!("{}:", self.kind);
        for letter in self.text.chars() {
            match letter {
                '*' => like.push('%'),
                '%' | '_' | '\\' => like.extend(['\\', letter]),
                _ => like.push(letter),
            }
        }
        like
    }
}

/// Tenant: groups of people, and the names that they own together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tenant {
    /// Name.
    pub name: String,
    /// Groups whose members belong to it.
    pub groups: Vec<String>,
    patterns: Vec<NamePattern>,
}

impl Tenant {
    /// A tenant that owns nothing.
    #[must_use]
    pub const fn named(name: String, groups: Vec<String>) -> Self {
        Self { name, groups, patterns: Vec::new() }
    }

    /// Adds a pattern of names that it owns.
    pub fn own(&mut self, kind: OwnedKind, pattern: &str) {
        self.patterns.push(NamePattern { kind, text: pattern.to_owned() });
    }

    /// True if it owns nothing.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }
}

/// Tenants that somebody belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TenantMembership {
    /// All, those of tomorrow among them.
    All,
    /// Tenants of these names.
    Of(Vec<String>),
}

impl TenantMembership {
    /// Word that stands for all tenants.
    pub const ALL: &str = "*";

    /// Reads a list of names; `*` among them stands for all.
    #[must_use]
    pub fn read(names: Vec<String>) -> Self {
        if names.iter().any(|name| name == Self::ALL) { Self::All } else { Self::Of(names) }
    }

    fn has(&self, tenant: &str) -> bool {
        match self {
            Self::All => true,
            Self::Of(names) => names.iter().any(|name| name == tenant),
        }
    }
}

/// Tenants of an installation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tenants(Vec<Tenant>);

impl Tenants {
    /// The tenants of a configuration.
    #[must_use]
    pub const fn of(tenants: Vec<Tenant>) -> Self {
        Self(tenants)
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|tenant| tenant.name.as_str())
    }

    /// Tenants of somebody with these groups. `is_same` says whether two names are of one group.
    #[must_use]
    pub fn of_groups(&self, groups: &[String], is_same: impl Fn(&str, &str) -> bool) -> TenantMembership {
        let belongs = |tenant: &&Tenant| {
            tenant.groups.iter().any(|wanted| {
                wanted == super::EVERY_GROUP || groups.iter().any(|group| is_same(group, wanted))
            })
        };
        TenantMembership::Of(self.0.iter().filter(belongs).map(|tenant| tenant.name.clone()).collect())
    }

    /// Scope of the members of these tenants.
    #[must_use]
    pub fn scope(&self, membership: &TenantMembership) -> AccessScope {
        let patterns = |is_own: bool| {
            let tenants = self.0.iter().filter(move |tenant| membership.has(&tenant.name) == is_own);
            tenants.flat_map(|tenant| tenant.patterns.iter().cloned()).collect::<Vec<_>>()
        };
        let hidden = patterns(false);
        if hidden.is_empty() {
            return AccessScope::WHOLE;
        }
        let tenants = self.names().filter(|name| membership.has(name)).map(str::to_owned).collect();
        let limits = ScopeLimits { tenants, hidden, own: patterns(true) };
        AccessScope { limits: Some(Arc::new(limits)), hides_payloads: false }
    }
}

/// Names and payloads that somebody sees. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessScope {
    /// None where every name is seen.
    limits: Option<Arc<ScopeLimits>>,
    hides_payloads: bool,
}

#[derive(Debug, PartialEq, Eq)]
struct ScopeLimits {
    tenants: Vec<String>,
    hidden: Vec<NamePattern>,
    own: Vec<NamePattern>,
}

impl AccessScope {
    /// Scope of those who see everything.
    pub const WHOLE: Self = Self { limits: None, hides_payloads: false };

    /// The same names, without payloads.
    #[must_use]
    pub const fn without_payloads(mut self) -> Self {
        self.hides_payloads = true;
        self
    }

    /// True if payloads are hidden: parameters, variables, results, callbacks, and texts that are made of them.
    #[must_use]
    pub const fn hides_payloads(&self) -> bool {
        self.hides_payloads
    }

    /// True if no name is hidden.
    #[must_use]
    pub const fn has_every_name(&self) -> bool {
        self.limits.is_none()
    }

    /// True if this name is seen.
    #[must_use]
    pub fn has(&self, kind: OwnedKind, name: &str) -> bool {
        let Some(limits) = &self.limits else { return true };
        let fit = |patterns: &[NamePattern]| patterns.iter().any(|pattern| pattern.fits(kind, name));
        !fit(&limits.hidden) || fit(&limits.own)
    }

    /// True if an order of this flow, queue and scenario is seen.
    #[must_use]
    pub fn has_order(&self, flow: &str, queue: Option<&str>, scenario: &str) -> bool {
        self.has(OwnedKind::Scenario, scenario)
            && self.has(OwnedKind::Flow, flow)
            && queue.is_none_or(|queue| self.has(OwnedKind::Queue, queue))
    }

    /// Tenants of those whose names are limited.
    #[must_use]
    pub fn tenants(&self) -> Option<&[String]> {
        self.limits.as_ref().map(|limits| limits.tenants.as_slice())
    }

    /// True if everything is seen that members of these tenants see; of those without tenants it is everything.
    #[must_use]
    pub fn has_work_of(&self, tenants: Option<&[String]>) -> bool {
        match (self.tenants(), tenants) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(own), Some(tenants)) => tenants.iter().all(|tenant| own.contains(tenant)),
        }
    }

    /// Patterns of `LIKE` for `KIND:NAME`, of names that are hidden, and of those that are seen although they fit one of the
    /// former; none where no name is hidden.
    #[must_use]
    pub fn as_likes(&self) -> [Option<Vec<String>>; 2] {
        let likes = |patterns: &[NamePattern]| Some(patterns.iter().map(NamePattern::as_like).collect());
        self.limits.as_ref().map_or([None, None], |limits| [likes(&limits.hidden), likes(&limits.own)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenants() -> Tenants {
        let tenant = |name: &str, owned: &[(OwnedKind, &str)]| {
            let mut tenant = Tenant::named(name.to_owned(), vec![format!("{name}-people")]);
            owned.iter().for_each(|(kind, pattern)| tenant.own(*kind, pattern));
            tenant
        };
        Tenants::of(vec![
            tenant("bank", &[(OwnedKind::Scenario, "bank-*"), (OwnedKind::Queue, "account-*")]),
            tenant("shop", &[(OwnedKind::Scenario, "bank-shop-*"), (OwnedKind::Flow, "shop")]),
        ])
    }

    fn scope(names: &[&str]) -> AccessScope {
        tenants().scope(&TenantMembership::read(names.iter().map(|name| (*name).to_owned()).collect()))
    }

    #[test]
    fn ui_1_a_name_is_seen_by_the_members_of_the_tenants_that_own_it() {
        let (bank, shop, nobody) = (scope(&["bank"]), scope(&["shop"]), scope(&[]));
        for (kind, name, of_bank, of_shop, of_nobody) in [
            (OwnedKind::Scenario, "open", true, true, true),
            (OwnedKind::Scenario, "bank-loan", true, false, false),
            // Two tenants own it, so both see it.
            (OwnedKind::Scenario, "bank-shop-gift", true, true, false),
            (OwnedKind::Flow, "shop", false, true, false),
            (OwnedKind::Flow, "shops", true, true, true),
            (OwnedKind::Queue, "account-7", true, false, false),
            // A pattern is about names of its kind.
            (OwnedKind::Flow, "account-7", true, true, true),
        ] {
            let seen = [&bank, &shop, &nobody].map(|scope| scope.has(kind, name));
            assert_eq!(seen, [of_bank, of_shop, of_nobody], "{kind} {name}");
        }
        assert!(bank.has_order("open", Some("account-7"), "bank-loan"));
        assert!(!bank.has_order("shop", None, "bank-loan"), "each of the three must be seen");
        assert!(!shop.has_order("shop", Some("account-7"), "bank-shop-gift"));
        assert_eq!(shop.tenants(), Some(&["shop".to_owned()][..]));
    }

    #[test]
    fn ui_1_members_of_all_tenants_see_everything() {
        for whole in
            [scope(&["*"]), scope(&["shop", "bank"]), Tenants::default().scope(&TenantMembership::Of(vec![]))]
        {
            assert_eq!(whole, AccessScope::WHOLE);
        }
        assert!(AccessScope::WHOLE.without_payloads().hides_payloads());
    }

    #[test]
    fn ui_1_groups_lead_to_tenants() {
        let groups = |groups: &[&str]| {
            let groups: Vec<String> = groups.iter().map(|group| (*group).to_owned()).collect();
            tenants().of_groups(&groups, str::eq_ignore_ascii_case)
        };
        assert_eq!(groups(&["SHOP-people", "other"]), TenantMembership::Of(vec!["shop".into()]));
        assert_eq!(groups(&[]), TenantMembership::Of(vec![]));
    }

    #[test]
    fn ui_1_a_pattern_is_taken_by_its_letters_in_the_database() {
        let mut tenant = Tenant::named("t".into(), vec![]);
        tenant.own(OwnedKind::Queue, r"50%_\*");
        let scope = Tenants::of(vec![tenant]).scope(&TenantMembership::Of(vec![]));
        assert_eq!(scope.as_likes(), [Some(vec![r"queue:50\%\_\\%".to_owned()]), Some(vec![])]);
        assert_eq!(AccessScope::WHOLE.as_likes(), [None, None]);
    }
}
