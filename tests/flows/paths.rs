//! Paths and pages of the API: names that are words of paths, methods that a path does not have, cursors.

use pagurus_harness::nodes::Role;
use serde_json::{Value, json};

use crate::installation::Installation;

#[tokio::test]
async fn scn_1_a_scenario_may_have_the_name_of_a_path_beside_it() {
    let engine = Installation::only("scn_1_names", &[Role::Intake], &[]).await;
    for name in ["check", "complete", "graph", "migration", "test"] {
        let text = format!(
            "scenario: {name}\ninitialState: done\ntargetStates: [done]\nstates: {{done: {{kind: terminal}}}}\n"
        );
        let url = format!("{}/v1/scenarios/{name}", engine.base());
        let put =
            || engine.env().http().put(&url).header("content-type", "application/yaml").body(text.clone());
        assert_eq!(put().send().await.unwrap().status(), 201, "{name}");
        assert_eq!(put().send().await.unwrap().status(), 200, "{name}");
        assert_eq!(put().query(&[("what", "x")]).send().await.unwrap().status(), 422, "{name}");
        let shown = engine.env().http().get(&url).query(&[("version", "1")]).send().await.unwrap();
        assert_eq!((shown.status().as_u16(), shown.text().await.unwrap()), (200, text.clone()));
    }
    let other = engine.env().http().delete(format!("{}/v1/scenarios/test", engine.base()));
    assert_eq!(other.send().await.unwrap().status(), 405);
    for probe in ["healthz", "readyz", "metrics"] {
        let posted = engine.env().http().post(format!("{}/{probe}", engine.base())).send().await.unwrap();
        assert_eq!(posted.status(), 405, "{probe}");
        let problem: Value = posted.json().await.unwrap();
        assert_eq!(problem["type"], "urn:pagurus:problem:method-not-allowed", "{probe}: {problem}");
    }
}

#[tokio::test]
async fn http_a_cursor_of_another_list_is_refused_and_no_page_leaves_a_system_out() {
    let engine = Installation::only("http_pages", &[Role::Intake], &[]).await;
    let save = engine.env().http().put(format!("{}/v1/searches/failed", engine.base()));
    let saved = save.json(&json!({"status": ["fail"]})).send().await.unwrap();
    assert!(saved.status().is_success(), "{}", saved.text().await.unwrap());
    for list in ["/v1/orders?status=fail", "/v1/orders?saved=failed", "/v1/counts?saved=failed"] {
        let strange = engine.get(&format!("{list}&cursor=nonsense")).await.unwrap();
        assert_eq!(
            (strange.status, &strange.body["pointer"]),
            (422, &json!("/cursor")),
            "{list}: {strange:?}"
        );
    }
    let known = "INSERT INTO system_states (system, state, record, written_at)
        SELECT name, 'healthy', jsonb_build_object('system', name)::text, now() FROM unnest(ARRAY['a', 'C', 'e']) AS name";
    engine.database().await.batch_execute(known).await.unwrap();
    for system in ["b", "D", "f"] {
        let stop = format!("/v1/systems/{system}/stop");
        assert_eq!(engine.post(&stop, &json!({"reason": "r"})).await.unwrap().status, 200);
    }
    for limit in 1..8 {
        let (mut names, mut cursor) = (Vec::new(), String::new());
        loop {
            let path = format!("/v1/systems?limit={limit}{cursor}");
            let page = engine.get(&path).await.unwrap().success().unwrap();
            let items = page["items"].as_array().unwrap();
            assert!(items.len() <= limit, "{page}");
            names.extend(items.iter().map(|one| one["system"].as_str().unwrap().to_owned()));
            let Some(next) = page["next"].as_str() else { break };
            cursor = format!("&cursor={next}");
        }
        assert_eq!(names, ["C", "D", "a", "b", "e", "f"], "{limit} a page");
    }
}

#[tokio::test]
async fn qlt_8_what_is_no_flag_and_no_field_changes_nothing() {
    let engine = Installation::only("qlt_8_fields", &[Role::Intake], &[]).await;
    let put = engine.env().http().put(format!("{}/v1/subscriptions/a", engine.base()));
    let refused = put.json(&json!({"url": "amqp://?key=k", "dryRun": "true"})).send().await.unwrap();
    let (status, problem) = (refused.status(), refused.json::<Value>().await.unwrap());
    assert_eq!((status.as_u16(), &problem["pointer"]), (422, &json!("/dryRun")), "{problem}");
    assert_eq!(engine.get("/v1/subscriptions/a").await.unwrap().status, 404);
    for (path, body, field) in [
        ("/v1/refused/1/drop", json!({"reason": "r", "dryRun": true}), "dryRun"),
        ("/v1/scenarios/test", json!({"scenario": "", "tests": "", "operatoins": []}), "operatoins"),
    ] {
        let refused = engine.post(path, &body).await.unwrap();
        assert!(
            refused.status == 422 && refused.body["detail"].to_string().contains(field),
            "{path}: {refused:?}"
        );
    }
}

#[tokio::test]
async fn http_a_thing_may_have_the_name_of_any_path_beside_its_own() {
    let engine = Installation::only("http_beside", &[Role::Intake], &[]).await;
    let document = engine.get("/openapi.json").await.unwrap().success().unwrap();
    let paths = document["paths"].as_object().unwrap();
    let mut beside = 0;
    // Ids of refused messages are made by the engine, and guides are its own.
    for (path, here) in
        paths.iter().filter(|(path, _)| path.starts_with("/v1/") && *path != "/v1/refused/drop")
    {
        let (parent, word) = path.rsplit_once('/').unwrap();
        let of_things = paths.iter().filter(|(other, _)| {
            other.rsplit_once('/').is_some_and(|(of, name)| of == parent && name.starts_with('{'))
        });
        for (_, things) in of_things.filter(|_| !word.starts_with('{')) {
            for method in things.as_object().unwrap().keys().filter(|method| here.get(method).is_none()) {
                let method: reqwest::Method = method.to_uppercase().parse().unwrap();
                let url = format!("{}{path}", engine.base());
                let status = engine.env().http().request(method.clone(), url).send().await.unwrap().status();
                assert_ne!(status, 405, "{method} {path}");
                beside += 1;
            }
        }
    }
    assert!(beside >= 15, "{beside}");
}
