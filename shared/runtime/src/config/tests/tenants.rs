//! Tenants: what is read, and what is wrong with them.

use pagurus_domain::access::AccessRole;
use pagurus_domain::access::scope::{AccessScope, OwnedKind, TenantMembership};

use super::*;

const TENANTS: &str = "
access:
  payloads: operator
  tenants:
    - {name: bank, groups: [cn=bank], scenarios: ['bank-*'], queues: ['account-*']}
    - {name: shop, groups: [cn=shop], flows: [shop]}
";

#[test]
fn ui_1_tenants_are_read_and_give_scopes() {
    let settings = with(TENANTS, &[]).unwrap();
    let access = &settings.access;
    let of_shop = TenantMembership::Of(vec!["shop".into()]);
    let operator = access.scope(AccessRole::Operator, &of_shop);
    assert!(operator.has(OwnedKind::Flow, "shop") && !operator.has(OwnedKind::Scenario, "bank-loan"));
    assert!(!operator.hides_payloads());
    let viewer = access.scope(AccessRole::Viewer, &of_shop);
    assert!(viewer.hides_payloads() && viewer.has(OwnedKind::Flow, "shop"));
    // Programs see what they send; administrators see all.
    let client = access.scope(AccessRole::Client, &of_shop);
    assert!(!client.hides_payloads() && !client.has(OwnedKind::Queue, "account-7"));
    assert_eq!(access.scope(AccessRole::Admin, &TenantMembership::Of(vec![])), AccessScope::WHOLE);
    assert_eq!(access.scope(AccessRole::Client, &TenantMembership::All), AccessScope::WHOLE);
    let usual = with("", &[]).unwrap();
    assert_eq!(usual.access.scope(AccessRole::Viewer, &TenantMembership::Of(vec![])), AccessScope::WHOLE);
}

#[test]
fn qlt_9_mistakes_of_tenants_have_their_place() {
    for (tenants, pointer, words) in [
        ("bank", "/access/tenants", "expected a list"),
        ("[bank]", "/access/tenants/0", "expected a mapping"),
        ("[{groups: [a], flows: [b]}]", "/access/tenants/0", "has no `name`"),
        ("[{name: 'a b', flows: [b]}]", "/access/tenants/0/name", "is not a name"),
        ("[{name: '*', flows: [b]}]", "/access/tenants/0/name", "is not a name"),
        ("[{name: '', flows: [b]}]", "/access/tenants/0/name", "the text is empty"),
        ("[{name: a, groups: [b]}]", "/access/tenants/0", "owns nothing"),
        ("[{name: a, flow: [b]}]", "/access/tenants/0/flow", "did you mean `flows`?"),
        ("[{name: a, flows: b}]", "/access/tenants/0/flows", "expected a list of texts"),
        ("[{name: a, flows: [[b]]}]", "/access/tenants/0/flows/0", "expected a text"),
        ("[{name: a, flows: [b]}, {name: a, flows: [c]}]", "/access/tenants/1/name", "already"),
    ] {
        let file = format!("access: {{tenants: {tenants}}}");
        let faults = check(&file, std::iter::empty());
        let said: Vec<String> = faults.iter().map(|fault| format!("{} {fault}", fault.pointer)).collect();
        let is_said = |one: &String| one.starts_with(&format!("{pointer} ")) && one.contains(words);
        assert!(said.iter().any(is_said), "{tenants}: {said:?}");
    }
}
