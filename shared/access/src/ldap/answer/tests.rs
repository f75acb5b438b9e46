//! Tests of answers: result codes and entries in, outcomes and groups out.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

fn answer(rc: u32) -> LdapResult {
    LdapResult {
        rc,
        matched: String::new(),
        text: "as\nit is".to_owned(),
        refs: Vec::new(),
        ctrls: Vec::new(),
    }
}

fn entry(dn: &str, attributes: &[(&str, &[&str])]) -> SearchEntry {
    let values = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
    let attrs = attributes.iter().map(|(name, list)| ((*name).to_owned(), values(list))).collect();
    SearchEntry { dn: dn.to_owned(), attrs, bin_attrs: HashMap::new() }
}

fn is_refused<T>(outcome: &Result<T, LoginFailure>) -> bool {
    matches!(outcome, Err(LoginFailure::Refused(_)))
}

fn is_unavailable<T>(outcome: &Result<T, LoginFailure>) -> bool {
    matches!(outcome, Err(LoginFailure::Unavailable(_)))
}

#[test]
fn qlt_9_a_person_is_refused_by_what_concerns_the_person_alone() {
    assert_eq!(of_person(&answer(0)), Ok(()));
    for rc in [19, 32, 34, 48, 49, 50, 53] {
        assert!(is_refused(&of_person(&answer(rc))), "{rc}");
    }
    for rc in [1, 2, 3, 7, 8, 10, 13, 14, 51, 52, 80, 123_456] {
        assert!(is_unavailable(&of_person(&answer(rc))), "{rc}");
    }
    assert_eq!(of_account(&answer(0)), Ok(()));
    for rc in [10, 19, 32, 49, 50, 53, 80] {
        assert!(is_unavailable(&of_account(&answer(rc))), "{rc}");
    }
}

#[test]
fn qlt_9_a_referral_is_a_failure_that_says_so() {
    for outcome in [of_person(&answer(10)), of_account(&answer(10))] {
        assert!(outcome.unwrap_err().to_string().contains("it refers to another directory"));
    }
    let failure = only_entry((vec![], answer(10))).unwrap_err().to_string();
    assert!(failure.contains("refers to another directory") && failure.ends_with("result code 10, as it is"));
    assert!(found_groups((vec![], answer(10))).unwrap_err().to_string().contains("refers to another"));
}

#[test]
fn ui_1_exactly_one_entry_is_the_person() {
    let person = || entry("uid=anna", &[]);
    assert_eq!(only_entry((vec![person()], answer(0))).unwrap().dn, "uid=anna");
    for found in
        [(vec![], answer(0)), (vec![person(), person()], answer(0)), (vec![person(), person()], answer(4))]
    {
        assert!(is_refused(&only_entry(found)));
    }
    assert!(is_refused(&only_entry((vec![entry(" ", &[])], answer(0)))));
    for rc in [1, 3, 4, 10, 32, 50, 52] {
        assert!(is_unavailable(&only_entry((vec![person()], answer(rc)))), "{rc}");
    }
}

#[test]
fn ui_1_groups_are_read_whole_or_not_at_all() {
    let groups: &[&str] = &["cn=a,dc=x", "cn=b,dc=x"];
    let person = entry("uid=anna", &[("MEMBEROF", groups), ("cn", &["Anna"])]);
    assert_eq!(named_groups(&person, "memberOf").unwrap(), groups);
    assert_eq!(named_groups(&person, "isMemberOf").unwrap(), [""; 0]);
    assert!(is_unavailable(&named_groups(&entry("x", &[("memberOf;range=0-1499", groups)]), "memberOf")));
    let mut strange = entry("x", &[]);
    strange.bin_attrs.insert("memberOf".to_owned(), vec![vec![255]]);
    assert!(is_unavailable(&named_groups(&strange, "memberof")));

    let many =
        |count: usize| (0..count).map(|number| entry(&format!("cn=g{number}"), &[])).collect::<Vec<_>>();
    assert_eq!(found_groups((many(MAX_GROUPS), answer(0))).unwrap().len(), MAX_GROUPS);
    assert!(is_unavailable(&found_groups((many(MAX_GROUPS + 1), answer(0)))));
    for rc in [3, 4, 10, 32, 50] {
        assert!(is_unavailable(&found_groups((many(1), answer(rc)))), "{rc}");
    }
    let names = many(MAX_GROUPS + 1).into_iter().map(|entry| entry.dn).collect();
    assert!(is_unavailable(&all_groups(names)));
}

#[test]
fn ui_1_a_group_counts_once() {
    let groups = ["cn=A,dc=x", "CN=a, DC=x", "cn=b,dc=x", r"cn=a\,b", r"cn=a\2Cb"].map(str::to_owned);
    assert_eq!(all_groups(groups.into()).unwrap(), ["cn=A,dc=x", "cn=b,dc=x", r"cn=a\,b"]);
}

#[test]
fn ui_1_a_name_is_the_first_value_with_a_text() {
    let person = entry("uid=anna", &[("CN", &[" ", "Anna", "Ann"]), ("sn", &[])]);
    assert_eq!(text_of(&person, "cn").as_deref(), Some("Anna"));
    assert_eq!(text_of(&person, "sn").or(text_of(&person, "uid")), None);
}

proptest! {
    #[test]
    fn ui_1_groups_of_both_sources_are_all_there_and_none_twice(groups in prop::collection::vec("cn=[abAB ]{1,3}", 0..20)) {
        let once = all_groups(groups.clone()).unwrap();
        let forms: Vec<String> = once.iter().map(|group| canonical_dn(group)).collect();
        for group in groups {
            prop_assert_eq!(forms.iter().filter(|form| **form == canonical_dn(&group)).count(), 1);
        }
    }
}
