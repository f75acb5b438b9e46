//! Masks and keywords against the plainest thing that could be right: ERR-1, ERR-2.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::retry::classify::Alternatives;
use crate::retry::mask::{AmqpMask, Glob, PathMask};

/// True if a name is meant, by trying every length for every star.
fn naive_glob(mask: &[char], name: &[char]) -> bool {
    match mask.split_first() {
        None => name.is_empty(),
        Some(('*', rest)) => (0..=name.len()).any(|length| naive_glob(rest, &name[length..])),
        Some((letter, rest)) => name.first() == Some(letter) && naive_glob(rest, &name[1..]),
    }
}

fn glob(mask: &str, name: &str) -> bool {
    naive_glob(&mask.chars().collect::<Vec<_>>(), &name.chars().collect::<Vec<_>>())
}

/// True if a path is meant, by trying every number of segments for every `**`.
fn naive_path(mask: &[&str], path: &[&str]) -> bool {
    match mask.split_first() {
        None => path.is_empty(),
        Some((&"**", rest)) => (0..=path.len()).any(|count| naive_path(rest, &path[count..])),
        Some((part, rest)) => {
            path.split_first().is_some_and(|(first, after)| glob(part, first) && naive_path(rest, after))
        }
    }
}

fn parts() -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(select(vec!["a", "b", "ab", "ba"]), 0..6)
}

fn mask_parts() -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(select(vec!["a", "b", "ab", "*", "**", "a*", "*b", "*a*"]), 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn err_1_masks_of_paths_match_what_the_naive_matcher_matches(mask in mask_parts(), path in parts()) {
        let text = format!("/{}", mask.join("/"));
        let found = PathMask::new(&text).matches(&format!("/{}", path.join("/")));
        prop_assert_eq!(found, naive_path(&mask, &path), "{} of {:?}", text, path);
    }

    #[test]
    fn err_1_masks_of_names_match_what_the_naive_matcher_matches(mask in "[ab*]{0,7}", name in "[ab]{0,7}") {
        prop_assert_eq!(Glob::new(&mask).matches(&name), glob(&mask, &name));
    }

    /// A tie that is overlooked would let chance choose; one that is not there would refuse a good file.
    #[test]
    fn err_8_masks_overlap_exactly_where_a_name_is_meant_by_both(left in "[ab*]{0,4}", right in "[ab*]{0,4}") {
        // No mask of four letters needs a longer witness than its own letters and the other's.
        let names = (0..=8_u32).flat_map(|length| (0..1_u32 << length).map(move |bits| {
            (0..length).map(|at| if bits >> at & 1 == 1 { 'a' } else { 'b' }).collect::<String>()
        }));
        let witness = names.into_iter().any(|name| glob(&left, &name) && glob(&right, &name));
        prop_assert_eq!(Glob::new(&left).overlaps(&Glob::new(&right)), witness, "{} {}", left, right);
    }

    #[test]
    fn err_1_of_two_masks_that_both_match_one_is_more_specific(left in mask_parts(), right in mask_parts()) {
        let mask = |parts: &[&str]| PathMask::new(&format!("/{}", parts.join("/")));
        let (left, right) = (mask(&left), mask(&right));
        prop_assert_eq!(left.compare(&right), right.compare(&left).reverse());
        prop_assert_eq!(left.compare(&right).is_eq(), left == right);
    }

    #[test]
    fn err_2_one_alternative_must_hold_with_every_substring(
        keywords in prop::collection::vec(prop::collection::vec("[ab]{1,2}", 1..3), 1..4),
        text in "[ab]{0,6}",
    ) {
        let mut expected = false;
        for all in &keywords {
            let mut holds = true;
            for keyword in all {
                holds &= text.contains(keyword.as_str());
            }
            expected |= holds;
        }
        prop_assert_eq!(Alternatives(keywords).hold(&text), expected);
    }

    /// Whatever is escaped is found again under its own name and under no other.
    #[test]
    fn err_6_masks_of_messages_read_escapes(vhost in "[a/%& ]{1,4}", exchange in "[a?=.]{0,3}", key in "[a.é]{0,3}") {
        let escaped = |name: &str| utf8_percent_encode(name, NON_ALPHANUMERIC).to_string();
        let text = format!("{}?exchange={}&key={}", escaped(&vhost), escaped(&exchange), escaped(&key));
        let mask = AmqpMask::parse(&text).unwrap();
        prop_assert!(mask.matches(&vhost, &exchange, &key));
        let other = [&vhost, &exchange, &key].map(|name| format!("{name}x"));
        prop_assert!(!mask.matches(&other[0], &exchange, &key));
        prop_assert!(!mask.matches(&vhost, &other[1], &key));
        prop_assert!(!mask.matches(&vhost, &exchange, &other[2]));
        prop_assert_eq!(mask.specificity(), (3, 0));
    }

    #[test]
    fn err_1_hostile_paths_and_bodies_are_only_text(path in ".{0,40}", body in ".{0,40}", status in 0_u16..1000) {
        let errors = example();
        let interaction = Interaction { method: &body, host: &path, path: &path };
        let classified = errors.classify(&interaction, &Outcome::Response { status, body: &body, fault: None });
        prop_assert!(classified.is_none() || status >= 400);
        let asked = Asked::Amqp { vhost: &path, exchange: &body, key: &path };
        let reply = Reply::Callback { step_status: Some(&path), body: &body, fault: None };
        prop_assert_eq!(errors.classify_async(&asked, &reply), None);
    }
}

#[test]
fn err_1_hosts_that_are_equally_specific_do_not_depend_on_the_order_in_the_file() {
    let rule = |name: &str, host: &str| {
        format!(
            "{name}: {{requests: [{{path: /a, host: '{host}'}}], classes: {{{name}: {{responses: [{{status_codes: [500]}}]}}}}}}"
        )
    };
    let (one, two) = (rule("one", "shop.*"), rule("two", "*.test"));
    let mut found = Vec::new();
    for rules in [format!("{one}, {two}"), format!("{two}, {one}")] {
        let errors = read(&format!("sync: {{classification: {{rules: {{{rules}}}}}}}")).unwrap();
        let interaction = Interaction { method: "GET", host: "shop.test", path: "/a" };
        found.push(errors.classify(&interaction, &Outcome::Response { status: 500, body: "", fault: None }));
    }
    assert!(found[0].is_some());
    assert_eq!(found[0], found[1]);
}
