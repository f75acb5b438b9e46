//! Requests of operations under a key of their client, and what is no request.

use std::time::Duration;

use pagurus_harness::nodes::Role;
use serde_json::{Value, json};

use crate::installation::Installation;

#[tokio::test]
async fn rec_12_a_repeat_under_a_key_is_known_whatever_the_hour_and_another_request_is_refused() {
    let engine = Installation::only("rec_12_keys", &[Role::Intake], &[]).await;
    let asked =
        json!({"action": "cancel", "search": {"status": ["fail"], "finishedSince": "2h"}, "reason": "r"});
    let send = async |body: &Value| {
        let request = engine.env().http().post(format!("{}/v1/operations", engine.base()));
        let answer = request.header("idempotency-key", "k").json(body).send().await.unwrap();
        (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
    };
    let (status, first) = send(&asked).await;
    assert_eq!(status, 201, "{first}");
    // The bound of the search is another one by now.
    tokio::time::sleep(Duration::from_millis(20)).await;
    let (status, again) = send(&asked).await;
    assert_eq!((status, &again["operation"]["no"]), (201, &first["operation"]["no"]), "{again}");
    for (field, value) in [("reason", json!("another")), ("rate", json!(5)), ("again", json!(1))] {
        let mut other = asked.clone();
        other[field] = value;
        let (status, problem) = send(&other).await;
        assert_eq!(status, 422, "{field}: {problem}");
    }
    let list = json!(["kill", {}, {"ids": ["x"]}, null, null, "why"]);
    assert_eq!(engine.post("/v1/operations", &list).await.unwrap().status, 422);
    for (field, value) in [("reason", json!(7)), ("rate", json!("fast"))] {
        let mut wrong = asked.clone();
        wrong[field] = value;
        let refused = engine.post("/v1/operations", &wrong).await.unwrap();
        assert_eq!(
            (refused.status, refused.body["pointer"].as_str()),
            (422, Some(&*format!("/{field}"))),
            "{refused:?}"
        );
    }
}
