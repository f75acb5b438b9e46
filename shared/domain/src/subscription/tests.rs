//! Rules of subscriptions: which requests are read, and which orders they take.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use serde_json::json;

use super::*;

fn labels(pairs: &[(&str, &str)]) -> Labels {
    let map: std::collections::BTreeMap<&str, &str> = pairs.iter().copied().collect();
    Labels::of_stored(Some(&serde_json::to_string(&map).unwrap()))
}

fn selection(body: &Value) -> Selection {
    let mut whole = json!({"url": "amqp://?key=k"});
    whole.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
    SubscriptionRule::read(&whole, None).unwrap().selection
}

#[test]
fn ord_38_a_subscription_takes_orders_by_scenario_label_and_outcome_all_together() {
    let order = labels(&[("region", "north"), ("tier", "gold")]);
    for (body, scenario, status, expected) in [
        (json!({}), "any", Status::Fail, true),
        (json!({"scenarios": ["shop-*", "tariff"]}), "shop-checkout", Status::Success, true),
        (json!({"scenarios": ["shop-*", "tariff"]}), "tariff", Status::Success, true),
        (json!({"scenarios": ["shop-*", "tariff"]}), "tariffs", Status::Success, false),
        (json!({"labels": {"region": "north"}}), "s", Status::Success, true),
        (json!({"labels": {"region": "north", "tier": "silver"}}), "s", Status::Success, false),
        (json!({"labels": {"country": "x"}}), "s", Status::Success, false),
        (json!({"outcomes": ["fail", "canceled"]}), "s", Status::Canceled, true),
        (json!({"outcomes": ["fail", "canceled"]}), "s", Status::Success, false),
        (json!({"outcomes": ["fail"]}), "s", Status::Wait, true),
        (
            json!({"scenarios": ["s"], "labels": {"tier": "gold"}, "outcomes": ["fail"]}),
            "s",
            Status::Fail,
            true,
        ),
    ] {
        assert_eq!(
            selection(&body).takes(scenario, &order, status),
            expected,
            "{body} {scenario} {status:?}"
        );
    }
    assert!(!selection(&json!({"labels": {"region": "north"}})).takes("s", &Labels::default(), Status::Fail));
}

#[test]
fn ord_38_all_faults_of_a_subscription_are_reported_with_their_places() {
    let pointers = |body: Value| -> Vec<String> {
        let read = SubscriptionRule::read(&body, Some("https://h/a?token=t"));
        read.err().into_iter().flatten().map(|found| found.pointer).collect()
    };
    assert_eq!(pointers(json!([])), [""]);
    assert_eq!(pointers(json!({})), ["/url"]);
    let url = "https://h/a?***";
    assert_eq!(
        SubscriptionRule::read(&json!({"url": url}), Some("https://h/a?token=t")).unwrap().url,
        "https://h/a?token=t"
    );
    assert_eq!(pointers(json!({"url": "https://h/b?***"})), ["/url"]);
    assert_eq!(
        pointers(json!({
            "url": url, "format": "xml", "secret": 7, "on": ["final", "transitions", "end"], "scenarios": ["", 5],
            "labels": {"a/b": 1}, "outcomes": ["fail", "wait"], "filter": 1,
        })),
        [
            "/filter",
            "/format",
            "/secret",
            "/on/1",
            "/on/2",
            "/scenarios/0",
            "/scenarios/1",
            "/labels/a~1b",
            "/outcomes/1"
        ]
    );
    let many: Vec<String> = (0..17).map(|n| n.to_string()).collect();
    assert_eq!(pointers(json!({"url": url, "scenarios": many, "labels": []})), ["/scenarios", "/labels"]);
    assert_eq!(pointers(json!({"url": "amqp://?key=k", "secret": "s"})), ["/secret"]);
}

#[test]
fn ord_38_only_those_that_ask_for_an_occasion_are_notified_of_it() {
    let rule = |on: Value| SubscriptionRule::read(&json!({"url": "amqp://?key=k", "on": on}), None).unwrap();
    let standing = ActiveSubscriptions(vec![
        ActiveSubscription { no: 3, rule: rule(json!(null)) },
        ActiveSubscription { no: 4, rule: rule(json!(["parked", "jeopardy"])) },
    ]);
    let of = |occasion| -> Vec<Option<i64>> {
        let none = Labels::default();
        standing.wanting(occasion, "s", &none, Status::Fail).map(|one| one.recipient.subscription()).collect()
    };
    assert_eq!(of(Occasion::Final), [Some(3)]);
    assert_eq!(of(Occasion::Parked), [Some(4)]);
    assert_eq!(of(Occasion::Transitions), []);
}

#[test]
fn ord_38_a_name_is_one_that_stands_in_a_path_as_it_is() {
    for good in ["audit", "shop.failed-2", "A_b"] {
        checked_name(good).unwrap();
    }
    for bad in ["", "a b", "a/b", "имя", &"x".repeat(65)] {
        assert_eq!(checked_name(bad).unwrap_err().pointer, "/name", "{bad}");
    }
}

proptest::proptest! {
    #[test]
    fn ord_38_qlt_8_no_body_of_a_subscription_breaks_its_reader(
        body in crate::any::changed(json!({
            "url": "amqp://?key=k", "scenarios": ["s"], "labels": {"a": "b"}, "outcomes": ["fail"], "on": ["final"], "format": "pagurus",
        })),
    ) {
        proptest::prop_assert!(SubscriptionRule::read(&body, None).err().is_none_or(|faults| !faults.is_empty()));
    }
}
