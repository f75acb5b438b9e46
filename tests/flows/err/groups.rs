//! Failed and retrying orders in groups, one by one, and actions on a group (ERR-14).

use pagurus_harness::world::program::Program;
use serde_json::{Value, json};

use super::{SOON, pagurus, policy};
use crate::installation::{Installation, call};

/// Orders with an outage, a cut connection and a failure without a class: 2 in retry, 4 failed.
async fn troubled(test: &str) -> Installation {
    let slow = "{initial_interval: 10m, jitter: 0, max_attempts: 3}";
    let rules = policy(slow)
        .replace("error_classes: [all.unavailable, all.connection]", "error_classes: [all.unavailable]");
    let engine = Installation::with(test, &[("PAGURUS__EXECUTION__ERROR_HANDLING", &rules)]).await;
    engine.world().program(Program::at("/down").fail(100, 503));
    engine.world().program(Program::at("/cut").cut(100));
    engine.world().program(Program::at("/odd").fail(100, 500));
    for path in ["/down", "/cut", "/odd"] {
        engine.actions(&path[1..], &call(path)).await;
    }
    for (id, scenario, status) in [
        ("d-1", "down", "retry"),
        ("d-2", "down", "retry"),
        ("c-1", "cut", "fail"),
        ("o-1", "odd", "fail"),
        ("c-2", "cut", "fail"),
        ("c-3", "cut", "fail"),
    ] {
        engine.run(json!({"id": id, "scenario": scenario}), status).await;
    }
    engine
}

/// Host and port of the called systems.
fn host(engine: &Installation) -> String {
    engine.world().url().trim_start_matches("http://").to_owned()
}

#[tokio::test]
async fn err_14_failed_and_retrying_orders_are_put_in_groups() {
    let engine = troubled("err_14_groups").await;
    let groups = |query: &'static str| {
        let engine = &engine;
        async move { engine.get(&format!("/v1/errors{query}")).await.unwrap().success().unwrap() }
    };
    let keys = |view: &Value| -> Vec<Value> {
        let line = |group: &Value| json!([group["key"], group["failed"], group["retrying"]]);
        view["items"].as_array().unwrap().iter().map(line).collect()
    };
    let by_class = groups("").await;
    assert_eq!(
        keys(&by_class),
        [json!(["all.connection", 3, 0]), json!(["all.unavailable", 0, 2]), json!([null, 1, 0])],
        "{by_class}"
    );
    assert_eq!(
        (&by_class["failed"], &by_class["retrying"], &by_class["complete"]),
        (&json!(4), &json!(2), &json!(true))
    );
    assert_eq!(by_class["items"][0]["orders"], json!(["c-3", "c-2", "c-1"]), "the newest first");
    let hours = by_class["items"][0]["hours"].as_array().unwrap();
    assert_eq!(hours.iter().map(|hour| hour["failed"].as_i64().unwrap()).sum::<i64>(), 3);
    let by_scenario = groups("?by=scenario&since=1h").await;
    assert_eq!(keys(&by_scenario), [json!(["cut", 3, 0]), json!(["down", 0, 2]), json!(["odd", 1, 0])]);
    let system = host(&engine);
    let by_system = groups("?by=system").await;
    assert_eq!(keys(&by_system), [json!([system, 4, 2])], "{by_system}");
    let of_class = groups("?by=scenario&class=all.unavailable&system=nobody").await;
    assert_eq!(keys(&of_class), [] as [Value; 0], "{of_class}");
    let of_class = groups("?by=scenario&class=").await;
    assert_eq!(keys(&of_class), [json!(["odd", 1, 0])], "{of_class}");
    let by_state = groups("?by=state&limit=1").await;
    assert_eq!((by_state["items"].as_array().unwrap().len(), &by_state["next"]), (1, &json!("1")));
    // By the state in which the error arose, which is not the one to which it has led; the other is a key of its own.
    let named = |view: &Value| -> Vec<Value> {
        let line = |group: &Value| json!([group["scenario"], group["key"]]);
        view["items"].as_array().unwrap().iter().map(line).collect()
    };
    let arose = [json!(["cut", "work"]), json!(["down", "work"]), json!(["odd", "work"])];
    assert_eq!(named(&groups("?by=state").await), arose);
    let stands = [json!(["cut", "failed"]), json!(["down", "work"]), json!(["odd", "failed"])];
    assert_eq!(named(&groups("?by=step").await), stands);
    assert_eq!(keys(&groups("?by=class&state=work&step=failed").await).len(), 2);

    engine.world().program(Program::at("/cut"));
    assert_eq!(engine.act("c-1", "restart", &json!({"reason": "mended"})).await.status, 200);
    engine.reach("c-1", "success").await;
    assert_eq!(keys(&groups("?by=scenario").await)[0], json!(["cut", 2, 0]), "it is no failure any more");
    for (query, pointer) in
        [("?by=node", "/by"), ("?since=long", "/since"), ("?limit=0", "/limit"), ("?cursor=x", "/cursor")]
    {
        let refused = engine.get(&format!("/v1/errors{query}")).await.unwrap();
        assert_eq!(
            (refused.status, &refused.body["pointer"]),
            (422, &json!(pointer)),
            "{query}: {refused:?}"
        );
    }
}

#[tokio::test]
async fn err_14_the_orders_of_a_group_are_listed_page_by_page() {
    let engine = troubled("err_14_orders").await;
    let read = |query: String| {
        let engine = &engine;
        async move { engine.get(&format!("/v1/errors/orders{query}")).await.unwrap() }
    };
    let ids = |view: &Value| -> Vec<Value> {
        view["items"].as_array().unwrap().iter().map(|order| order["id"].clone()).collect()
    };
    let mut found = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = read(format!("?class=all.connection&limit=1{cursor}")).await.success().unwrap();
        found.extend(ids(&page));
        let Some(next) = page["next"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(found, ["c-3", "c-2", "c-1"], "the newest first");
    let retrying = read("?status=retry".to_owned()).await.success().unwrap();
    let items = retrying["items"].as_array().unwrap().iter();
    let mut due: Vec<(&str, &str)> =
        items.map(|order| (order["at"].as_str().unwrap(), order["id"].as_str().unwrap())).collect();
    assert!(due.is_sorted(), "the one that is due first: {due:?}");
    due.sort_by_key(|(_, id)| *id);
    assert_eq!(due.iter().map(|(_, id)| *id).collect::<Vec<_>>(), ["d-1", "d-2"]);
    let first = &retrying["items"][0];
    assert_eq!(
        (&first["status"], &first["scenario"], &first["state"], &first["class"], &first["system"]),
        (&json!("retry"), &json!("down"), &json!("work"), &json!("all.unavailable"), &json!(host(&engine)),),
        "{first}"
    );
    for (query, pointer) in [
        ("?status=new", "/status"),
        ("?limit=1001", "/limit"),
        ("?cursor=1", "/cursor"),
        ("?since=x", "/since"),
    ] {
        let refused = read(query.to_owned()).await;
        assert_eq!((refused.status, &refused.body["pointer"]), (422, &json!(pointer)), "{query}");
    }
}

#[tokio::test]
async fn err_14_an_action_on_a_group_reaches_its_orders_and_no_others() {
    let engine = troubled("err_14_bulk").await;
    let base = engine.base().to_owned();
    let errors = async |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let output = pagurus(&[&["--json", "--server", &base, "errors"], &words[..]].concat()).await;
        (output.status.code(), serde_json::from_slice::<Value>(&output.stdout).unwrap_or_default())
    };
    engine.world().program(Program::at("/cut"));
    let (code, summary) = errors("restart --class all.connection --reason mended").await;
    assert_eq!(code, Some(2), "nobody is there to be asked: {summary}");
    let (code, summary) = errors("restart --class all.connection --reason mended --dry-run").await;
    assert_eq!(
        (code, &summary["orders"], &summary["complete"]),
        (Some(0), &json!(3), &json!(true)),
        "{summary}"
    );
    let (code, summary) = errors("restart --class all.connection --reason mended --yes").await;
    assert_eq!((code, &summary["total"], &summary["done"]), (Some(0), &json!(3), &json!(3)), "{summary}");
    for id in ["c-1", "c-2", "c-3"] {
        engine.reach(id, "success").await;
    }
    let (_, summary) = errors("kill --class all.unavailable --reason wrong --yes").await;
    assert_eq!((&summary["done"], &summary["failed"]), (&json!(2), &json!(0)), "{summary}");
    engine.reach("d-1", "canceled").await;
    let (code, summary) = errors("restart --scenario odd --from nowhere --reason try --yes").await;
    assert_eq!((code, &summary["failed"]), (Some(1), &json!(1)), "{summary}");
    let reason = &summary["reasons"][0];
    assert!(reason["reason"].as_str().unwrap().contains("nowhere"), "{summary}");
    assert_eq!((&reason["orders"], &reason["example"]), (&json!(1), &json!("o-1")), "{summary}");
    let (_, summary) = errors("cancel --class  --reason over --yes").await;
    assert_eq!(summary["done"], 1, "{summary}");
    engine.reach("o-1", "canceled").await;
    let (_, left) = errors("orders").await;
    assert_eq!(left["items"], json!([]), "{left}");
}

#[tokio::test]
async fn err_14_who_acts_on_a_list_does_not_restart_what_has_moved_on() {
    let engine = troubled("err_14_moved").await;
    engine.world().program(Program::at("/cut"));
    let mended = json!({"reason": "mended", "ifStatus": "fail"});
    assert_eq!(engine.act("c-1", "restart", &mended).await.status, 200);
    engine.reach("c-1", "success").await;
    let refused = engine.act("c-1", "restart", &mended).await;
    assert_eq!((refused.status, &refused.body["orderStatus"]), (409, &json!("success")), "{refused:?}");
    let odd = engine.act("c-2", "restart", &json!({"ifStatus": "gone"})).await;
    assert_eq!((odd.status, &odd.body["pointer"]), (422, &json!("/ifStatus")), "{odd:?}");
}

#[tokio::test]
async fn err_14_failures_name_the_system_that_was_called() {
    let engine =
        Installation::with("err_14_systems", &[("PAGURUS__EXECUTION__ERROR_HANDLING", &policy(SOON))]).await;
    let here = host(&engine);
    for (name, actions, system) in [
        ("odd", format!("- http: {{method: GET, url: \"http://{here}/odd\"}}"), json!(here)),
        ("away", "- http: {method: GET, url: \"http://127.0.0.1:9/x\"}".to_owned(), json!("127.0.0.1:9")),
        ("lost", "- amqp: {exchange: nowhere, key: k, body: {}}".to_owned(), json!("amqp:nowhere")),
        (
            "said",
            format!("- http: {{method: GET, url: \"http://{here}/fine\"}}\n- script: fail(\"no\")"),
            json!(here),
        ),
        ("own", "- script: fail(\"no\")".to_owned(), Value::Null),
    ] {
        engine.world().program(Program::at("/odd").fail(100, 500));
        engine.actions(name, &actions).await;
        let order = engine.run(json!({"id": name, "scenario": name}), "fail").await;
        assert_eq!(order["error"]["system"], system, "{order}");
    }
}
