//! Mode and queue that a scenario gives its orders (SCN-21).

use lapin::BasicProperties;
use serde_json::{Value, json};

use crate::installation::{Installation, PATIENCE, asking, call, callers, most_at_once, with_actions};

fn sequential(rest: &str) -> String {
    format!("sequential: \"sim-${{params.msisdn}}\"\n{rest}")
}

fn order(id: &str, msisdn: Value) -> Value {
    json!({"id": id, "scenario": "one-by-one", "params": {"msisdn": msisdn}})
}

#[tokio::test]
async fn scn_21_orders_of_one_parameter_run_one_at_a_time_whichever_way_they_came() {
    let engine = Installation::start("scn_21").await;
    engine.scenario("one-by-one", &sequential(&with_actions(&call("/do")))).await;
    engine.scenario("holds", &sequential(&asking("/silent", "10m"))).await;
    // One holds the queue, so that all others are in it before the first of them runs.
    let holder = json!({"id": "holder", "scenario": "holds", "params": {"msisdn": 79}});
    let held = engine.run(holder, "wait").await;
    assert_eq!((&held["mode"], &held["queue"]), (&json!("sequential"), &json!("sim-79")));
    let amqp = engine.env().amqp().await.unwrap();
    let receipts = amqp.listen_directly().await.unwrap();
    let properties = BasicProperties::default().with_reply_to(receipts.queue().into());
    let mut expected = Vec::new();
    for round in 0..5 {
        let (over_http, over_amqp) = (format!("http-{round}"), format!("amqp-{round}"));
        engine.accepted(order(&over_http, json!("79"))).await;
        amqp.publish_orders("order.create", &[order(&over_amqp, json!(79))], &properties).await.unwrap();
        let taken = receipts.wait(PATIENCE, |all| all.len() == round + 1).await.unwrap();
        assert_eq!(taken[round].body["status"], "accepted");
        expected.extend([over_http, over_amqp]);
    }
    engine.run(order("other", json!("80")), "success").await;
    engine.act("holder", "kill", &json!({"reason": "enough"})).await.success().unwrap();
    engine.reach(expected.last().unwrap(), "success").await;
    let calls = engine.calls("/do", 11).await;
    let mut order_of_calls = callers(&calls);
    order_of_calls.retain(|id| *id != "other");
    assert_eq!(order_of_calls, expected);
    assert_eq!(most_at_once(&calls[1..]), 1);
}

#[tokio::test]
async fn scn_21_an_order_that_says_otherwise_is_refused_and_a_queue_stays_that_of_the_registration() {
    let engine = Installation::start("scn_21_refused").await;
    engine.scenario("one-by-one", &sequential(&with_actions("- script: 'fail(\"no\", \"own\")'"))).await;
    let refused = async |fields: Value| {
        let mut order = order("refused", json!("79"));
        order.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let answer = engine.submit(&order).await;
        assert_eq!(answer.status, 422, "{}", answer.body);
        answer.body["errors"][0]["pointer"].as_str().unwrap().to_owned()
    };
    assert_eq!(refused(json!({"mode": "parallel"})).await, "/mode");
    assert_eq!(refused(json!({"mode": "sequential", "queue": "mine"})).await, "/queue");
    for params in
        [json!({}), json!({"msisdn": ""}), json!({"msisdn": {}}), json!({"msisdn": "x".repeat(255)})]
    {
        assert_eq!(refused(json!({"params": params})).await, "/params/msisdn");
    }
    for (number, same) in [json!({"mode": "sequential"}), json!({"queue": "sim-79"})].into_iter().enumerate()
    {
        let mut taken = order(&format!("same-{number}"), json!("79"));
        taken.as_object_mut().unwrap().extend(same.as_object().unwrap().clone());
        engine.run(taken, "fail").await;
    }
    // Other parameters move an order to no other queue, and a clone gets the queue of its own.
    engine.run(order("first", json!("79")), "fail").await;
    let again = json!({"reason": "again", "params": {"msisdn": "80"}});
    engine.act("first", "restart", &again).await.success().unwrap();
    assert_eq!(engine.reach("first", "fail").await["queue"], "sim-79");
    let clone = engine
        .act("first", "clone", &json!({"id": "second", "reason": "more", "params": {"msisdn": "81"}}))
        .await;
    assert_eq!(clone.status, 201, "{}", clone.body);
    assert_eq!(engine.reach("second", "fail").await["queue"], "sim-81");

    // What cannot be a queue is refused with the scenario.
    for (line, says) in [
        ("\"${vars.x}\"", "uses more than parameters"),
        ("\"${params.a + 1}\"", "uses more than parameters"),
        ("\"${params.pin}\"\nmask: [params.pin]", "is masked"),
    ] {
        let text = format!("scenario: wrong\nsequential: {line}\n{}", with_actions("- log: x"));
        let refused = format!("{:#}", engine.put_scenario("wrong", &text).await.unwrap_err());
        assert!(refused.contains(says), "{line}: {refused}");
    }
}
