//! The engine as a whole, as operators see it: its figures, lists page by page, a verdict, and the command line that shows them.

use std::time::Duration;

use pagurus_harness::nodes::Role;
use serde_json::{Value, json};

use crate::err::pagurus;
use crate::installation::{Installation, LOG, PATIENCE, asking, call, until};
use crate::refused::{listed, send};

async fn get(engine: &Installation, path: &str) -> Value {
    engine.get(path).await.unwrap().success().unwrap()
}

/// Returns the output of the command line and its exit code.
pub(crate) async fn cli(engine: &Installation, arguments: &[&str]) -> (String, i32) {
    let mut all = vec!["--server", engine.base()];
    all.extend(arguments);
    let output = pagurus(&all).await;
    (String::from_utf8(output.stdout).unwrap(), output.status.code().unwrap())
}

fn sum(steps: &Value, of: &str) -> i64 {
    steps.as_array().unwrap().iter().map(|step| step[of].as_i64().unwrap()).sum()
}

fn named<'v>(list: &'v Value, key: &str, name: &str) -> &'v Value {
    list.as_array().unwrap().iter().find(|one| one[key] == name).unwrap_or(&Value::Null)
}

#[tokio::test]
async fn act_6_http_figures_tell_what_is_and_what_was() {
    let engine = Installation::start("sight_stats").await;
    engine.actions("good", &call("/do")).await;
    engine.actions("bad", "- script: fail(\"no\", \"shop.closed\")").await;
    engine.scenario("asks", &asking("/silent", "1h")).await;
    for id in ["a", "b", "c"] {
        engine.run(json!({"id": id, "scenario": "good"}), "success").await;
    }
    engine.run(json!({"id": "d", "scenario": "bad"}), "fail").await;
    engine.run(json!({"id": "e", "scenario": "asks"}), "wait").await;
    let later = json!({"id": "f", "scenario": "good", "lifecycle": {"startAt": "2100-01-01T00:00:00Z"}});
    engine.accepted(later).await;
    let mut stats = Value::Null;
    until("all is counted", PATIENCE, async || {
        stats = get(&engine, "/v1/stats?since=10m&step=1m").await;
        let steps = &stats["steps"];
        let ends = (sum(steps, "success"), sum(steps, "fail"), sum(steps, "stages"), sum(steps, "calls"));
        let statuses = &stats["now"]["statuses"];
        (sum(steps, "registered"), ends) == (6, (3, 1, 5, 4)) && named(statuses, "name", "wait")["count"] == 1
    })
    .await;
    let now = &stats["now"];
    for (status, count) in [("success", 3), ("fail", 1), ("postponed", 1)] {
        assert_eq!(named(&now["statuses"], "name", status)["count"], count, "{status}: {stats}");
    }
    for (reason, count) in [("wait", 1), ("postponed", 1), ("retry", 0)] {
        assert_eq!(named(&now["waiting"], "name", reason)["count"], count, "{reason}: {stats}");
    }
    assert_eq!(now["openRequests"], json!({"count": 1}), "{stats}");
    assert_eq!(named(&now["activation"], "group", "retry")["currentProcessingLagMs"], 0, "{stats}");
    let good = named(&stats["scenarios"], "scenario", "good");
    assert_eq!((&good["registered"], &good["success"]), (&json!(4), &json!(3)), "{stats}");
    assert_eq!(named(&stats["errors"], "class", "shop.closed")["count"], 1, "{stats}");
    let calls: i64 =
        stats["systems"].as_array().unwrap().iter().map(|one| one["calls"].as_i64().unwrap()).sum();
    assert_eq!(calls, 4, "{stats}");
    assert_eq!(sum(&stats["steps"], "stages"), 5, "{stats}");
    for wrong in ["since=8d", "since=soon", "step=90s", "since=7d&step=1m", "sinc=1h"] {
        let answer = engine.get(&format!("/v1/stats?{wrong}")).await.unwrap();
        assert_eq!(answer.status, 422, "{wrong}: {answer:?}");
    }
    let (page, code) = cli(&engine, &["top", "--once"]).await;
    assert!(code == 0 && page.contains("dispatcher-1 leads") && page.contains("worker/worker-1"), "{page}");
    assert!(page.contains("success 3") && page.contains("shop.closed 1"), "{page}");
    let (page, _) = cli(&engine, &["top", "--once", "--output", "json"]).await;
    let page: Value = serde_json::from_str(&page).unwrap();
    assert_eq!(page["nodes"].as_array().unwrap().len(), 5, "{page}");
}

/// The items of a list, a page of one at a time.
async fn one_by_one(engine: &Installation, path: &str) -> Vec<Value> {
    let (mut items, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = get(engine, &format!("{path}?limit=1{cursor}")).await;
        let found = page["items"].as_array().unwrap();
        assert!(found.len() <= 1, "{path}: {page}");
        items.extend(found.iter().cloned());
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={}", next.replace('@', "%40")),
            None => return items,
        }
        assert!(items.len() < 100, "{path} never ends");
    }
}

#[tokio::test]
async fn http_every_list_has_pages_that_fit_together() {
    let mut engine = Installation::start("sight_lists").await;
    engine.add(Role::Worker, "w.2").await;
    engine.scenario("asks", &asking("/silent", "1h")).await;
    for version in 0..3 {
        engine.actions("versions", &format!("- log: \"${{order.id}} {version}\"")).await;
    }
    for (id, queue) in [("a", "long"), ("b", "long"), ("c", "short"), ("d", "other")] {
        engine.accepted(json!({"id": id, "scenario": "asks", "mode": "sequential", "queue": queue})).await;
    }
    for keyword in ["one", "two", "three"] {
        let stop = json!({"keyword": keyword, "reason": "a test"});
        assert_eq!(engine.post("/v1/flows/stop", &stop).await.unwrap().status, 200);
    }
    until("the first of each queue waits", PATIENCE, async || {
        let running = get(&engine, "/v1/orders?status=wait").await;
        running["items"].as_array().unwrap().len() == 3
    })
    .await;
    until("the dispatcher tells of the flow", PATIENCE, async || {
        engine.get("/v1/flows/asks").await.unwrap().status == 200
    })
    .await;
    let names = |items: &[Value], key: &str| -> Vec<String> {
        items.iter().map(|item| item[key].to_string()).collect()
    };
    for (path, key, least) in [
        ("/v1/nodes", "name", 6),
        ("/v1/leases", "name", 1),
        ("/v1/queues", "queue", 3),
        ("/v1/stops", "stop", 3),
        ("/v1/scenarios", "scenario", 2),
        ("/v1/scenarios/versions/versions", "version", 3),
        ("/v1/flows", "flow", 1),
    ] {
        let whole = get(&engine, path).await;
        let whole = whole["items"].as_array().unwrap();
        assert!(whole.len() >= least, "{path}: {whole:?}");
        assert_eq!(names(&one_by_one(&engine, path).await, key), names(whole, key), "{path}");
        let wrong = engine.get(&format!("{path}?limit=0")).await.unwrap();
        assert_eq!((wrong.status, &wrong.body["pointer"]), (422, &json!("/limit")), "{path}: {wrong:?}");
    }
    for strange in ["/v1/nodes?cursor=x", "/v1/queues?cursor=x.y", "/v1/stops?cursor=x"] {
        let answer = engine.get(strange).await.unwrap();
        assert_eq!(
            (answer.status, &answer.body["pointer"]),
            (422, &json!("/cursor")),
            "{strange}: {answer:?}"
        );
    }

    // The command line reads all pages, and shows the same in each form.
    let (json_text, _) = cli(&engine, &["nodes", "list", "--json"]).await;
    let (yaml, code) = cli(&engine, &["nodes", "list", "-o", "yaml"]).await;
    let (as_json, as_yaml): (Value, Value) =
        (serde_json::from_str(&json_text).unwrap(), serde_saphyr::from_str(&yaml).unwrap());
    assert_eq!(
        (names(as_json["items"].as_array().unwrap(), "name"), code),
        (names(as_yaml["items"].as_array().unwrap(), "name"), 0)
    );
    let (table, _) = cli(&engine, &["nodes", "list", "--output", "table"]).await;
    assert!(table.contains("w.2") && table.starts_with("NAME"), "{table}");
}

/// `PATCH` or `POST` under a key.
async fn keyed(engine: &Installation, method: &str, path: &str, key: &str, body: &Value) -> (u16, Value) {
    let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
    let request = engine.env().http().request(method, format!("{}{path}", engine.base()));
    let answer = request.header("idempotency-key", key).json(body).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

async fn count_of(engine: &Installation, id: &str, kind: &str) -> usize {
    let events = engine.part(id, "events").await;
    events.as_array().unwrap().iter().filter(|event| event["kind"] == kind).count()
}

#[tokio::test]
async fn ord_23_27_a_repeat_of_a_repair_or_an_update_is_known_by_its_key() {
    let engine = Installation::start("sight_keys").await;
    engine.scenario("asks", &asking("/silent", "1h")).await;
    engine.actions("one", LOG).await;
    engine.run(json!({"id": "stuck", "scenario": "asks"}), "wait").await;
    let repair = json!({"state": "ask", "reason": "asked too early"});
    for key in ["r-1", "\"r-1\""] {
        let (status, answer) = keyed(&engine, "POST", "/v1/orders/stuck/repair", key, &repair).await;
        assert_eq!(status, 200, "{answer}");
    }
    assert_eq!(count_of(&engine, "stuck", "repaired").await, 1, "quoted or plain, it is one key");
    let other = json!({"state": "after", "reason": "asked too early"});
    let (status, answer) = keyed(&engine, "POST", "/v1/orders/stuck/repair", "r-1", &other).await;
    assert_eq!(status, 422, "another request under the same key: {answer}");
    assert!(answer["detail"].as_str().unwrap().contains("r-1"), "{answer}");

    let later = json!({"id": "later", "scenario": "one", "lifecycle": {"startAt": "2100-01-01T00:00:00Z"}});
    engine.accepted(later).await;
    let deferred = json!({"lifecycle": {"startAt": "2101-01-01T00:00:00Z"}, "reason": "not yet"});
    let urgent = json!({"priority": "high", "reason": "urgent"});
    for (key, body, kind) in [("u-1", &urgent, "updated"), ("u-2", &deferred, "deferred")] {
        for _ in 0..2 {
            let (status, answer) = keyed(&engine, "PATCH", "/v1/orders/later", key, body).await;
            assert_eq!(status, 200, "{answer}");
        }
        let events = engine.part("later", "events").await;
        let count = events.as_array().unwrap().iter().filter(|event| event["payload"]["key"] == key).count();
        assert_eq!(count, 1, "{kind}: {events}");
    }
    let (status, answer) = keyed(&engine, "PATCH", "/v1/orders/later", "u-1", &deferred).await;
    assert_eq!(status, 422, "{answer}");
}

#[tokio::test]
async fn http_a_scenario_is_changed_on_top_of_what_was_read() {
    let engine = Installation::start("sight_if_match").await;
    let text = |log: &str| {
        format!(
            "scenario: s\nkind: workflow\n{}",
            crate::installation::with_actions(&format!("- log: \"${{order.id}} {log}\""))
        )
    };
    let put = async |text: String, header: Option<(&str, &str)>| {
        let request = engine.env().http().put(format!("{}/v1/scenarios/s", engine.base()));
        let mut request = request.header("content-type", "application/yaml").body(text);
        if let Some((name, value)) = header {
            request = request.header(name, value);
        }
        let answer = request.send().await.unwrap();
        let tag = answer.headers().get("etag").map(|tag| tag.to_str().unwrap().to_owned());
        (answer.status().as_u16(), tag, answer.json::<Value>().await.unwrap())
    };
    assert_eq!(put(text("one"), Some(("if-match", "*"))).await.0, 412, "there is none");
    let (status, first, _) = put(text("one"), Some(("if-none-match", "*"))).await;
    let first = first.unwrap();
    assert_eq!(status, 201);
    let read = engine.env().http().get(format!("{}/v1/scenarios/s", engine.base())).send().await.unwrap();
    assert_eq!(read.headers()["etag"].to_str().unwrap(), first);
    let (status, second, answer) = put(text("two"), Some(("if-match", &first))).await;
    assert_eq!((status, answer["tag"].as_str()), (201, second.as_deref().map(|tag| tag.trim_matches('"'))));
    let (status, _, answer) = put(text("three"), Some(("if-match", &first))).await;
    assert_eq!((status, &answer["type"]), (412, &json!("urn:pagurus:problem:precondition-failed")));
    assert!(answer["detail"].as_str().unwrap().contains(second.as_deref().unwrap()), "{answer}");
    assert_eq!(put(text("two"), Some(("if-match", &first))).await.0, 200, "a repeat is answered");
    assert_eq!(put(text("x"), Some(("if-match", "\"a b\""))).await.0, 422);
    assert_eq!(put(text("three"), None).await.0, 201, "without the header nothing is asked");

    let file = std::env::temp_dir().join(format!("pagurus-if-match-{}.yaml", std::process::id()));
    std::fs::write(&file, text("four").replace("initialState", "initalState")).unwrap();
    let path = file.to_str().unwrap();
    let tag = first.trim_matches('"');
    let cli = async |arguments: &[&str]| cli(&engine, arguments).await;
    assert_eq!(cli(&["scenario", "apply", path, "--dry-run"]).await.1, 1, "a fault is reported");
    std::fs::write(&file, text("four")).unwrap();
    let (tried, code) = cli(&["scenario", "apply", path, "--dry-run"]).await;
    assert!(code == 0 && tried.contains("valid; nothing was stored"), "{code}: {tried}");
    let (_, code) = cli(&["scenario", "apply", path, "--if-match", tag]).await;
    assert_eq!(code, 3, "refused");
    let (shown, _) = cli(&["scenario", "show", "s", "--json"]).await;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let (_, code) = cli(&["scenario", "apply", path, "--if-match", shown["tag"].as_str().unwrap()]).await;
    std::fs::remove_file(&file).unwrap();
    assert_eq!(code, 0);
}

#[tokio::test]
async fn amqp_1_a_refused_message_that_nobody_decides_about_goes_after_its_time() {
    let engine = Installation::with("sight_refused", &[("PAGURUS__REFUSED__RETENTION", "1s")]).await;
    send(&engine, b"no JSON").await;
    listed(&engine, 1).await;
    until("it is gone", 2 * PATIENCE, async || {
        get(&engine, "/v1/refused").await["items"].as_array().unwrap().is_empty()
    })
    .await;
    let activator = engine.node(Role::Activator);
    engine.until_metric(activator, "pagurus_refused_forgotten_total", |count| count >= 1.0).await;
}

/// Checks that found something.
async fn checks(engine: &Installation) -> Vec<(String, String)> {
    let verdict = get(engine, "/v1/doctor").await;
    let findings = verdict["findings"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    findings.map(|one| (text(&one["check"]), text(&one["message"]))).collect()
}

#[tokio::test]
async fn run_a_verdict_names_what_is_wrong_and_ends_with_it() {
    let mut engine = Installation::start("sight_doctor").await;
    let found = async |engine: &Installation, check: &str, words: &str| {
        checks(engine).await.iter().any(|(name, message)| name == check && message.contains(words))
    };
    // Private servers of tests give up safety for speed, and say so.
    let own =
        |(check, text): &(String, String)| check != "database.settings" && !text.contains("replication");
    until("nothing is wrong with a fresh installation", PATIENCE, async || {
        !checks(&engine).await.iter().any(own)
    })
    .await;
    let verdict = get(&engine, "/v1/doctor").await;
    assert!(verdict["checks"].as_array().unwrap().len() > 10, "{verdict}");

    let stop = json!({"keyword": "tariff", "reason": "works"});
    assert_eq!(engine.post("/v1/flows/stop", &stop).await.unwrap().status, 200);
    send(&engine, b"no JSON").await;
    until("a stop and a refused message are reported", PATIENCE, async || {
        found(&engine, "stops", "tariff").await && found(&engine, "refused", "1 refused").await
    })
    .await;

    // A schema of a later version of the program.
    let database = engine.database().await;
    let later = "INSERT INTO refinery_schema_history (version, name, applied_on, checksum) VALUES (9999, 'later', now()::text, '0')";
    database.execute(later, &[]).await.unwrap();
    assert!(found(&engine, "database.schema", "9999").await);
    database.execute("DELETE FROM refinery_schema_history WHERE version = 9999", &[]).await.unwrap();

    // Somebody waits for a lock that a session holds.
    let mut holder = engine.database().await;
    let lock = holder.transaction().await.unwrap();
    lock.execute("LOCK TABLE walks IN ACCESS EXCLUSIVE MODE", &[]).await.unwrap();
    let waiting = engine.database().await;
    let waits = tokio::spawn(async move { waiting.execute("SELECT FROM walks", &[]).await.map(drop) });
    until("the wait is seen", PATIENCE, async || found(&engine, "database.locks", "waited for a lock").await)
        .await;
    lock.rollback().await.unwrap();
    waits.await.unwrap().unwrap();

    engine.node(Role::Worker).stop(PATIENCE).await.unwrap();
    until("no worker is seen", PATIENCE, async || found(&engine, "nodes", "no worker is alive").await).await;
    let (text, code) = cli(&engine, &["doctor"]).await;
    assert!(code == 1 && text.contains("start one: `pagurus serve --roles worker`"), "{text}");
    engine.restart(Role::Worker).await;
    until("the worker is back", PATIENCE, async || !found(&engine, "nodes", "no worker").await).await;

    engine.node(Role::Intake).stop(PATIENCE).await.unwrap();
    let (_, code) = cli(&engine, &["doctor"]).await;
    assert_eq!(code, 5, "nobody answers");
}

#[tokio::test]
async fn ui_a_list_is_shown_again_and_again_while_it_is_watched() {
    let engine = Installation::start("sight_watch").await;
    engine.actions("one", LOG).await;
    engine.run(json!({"id": "first", "scenario": "one"}), "success").await;
    let program = std::path::PathBuf::from(std::env::var_os("PAGURUS_TEST_BIN").unwrap()).join("pagurus");
    let mut command = tokio::process::Command::new(program);
    command.args(["--server", engine.base(), "order", "list", "--json", "--watch", "0.2"]);
    let mut child = command.stdout(std::process::Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let output = child.stdout.take().unwrap();
    let mut lines = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(output));
    let mut next = async || {
        let line = tokio::time::timeout(PATIENCE, lines.next_line()).await.unwrap().unwrap().unwrap();
        serde_json::from_str::<Value>(&line).unwrap()["items"].as_array().unwrap().len()
    };
    assert_eq!((next().await, next().await), (1, 1));
    engine.run(json!({"id": "second", "scenario": "one"}), "success").await;
    let mut shown = 1;
    for _ in 0..100 {
        shown = next().await;
        if shown == 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(shown, 2);
    child.kill().await.unwrap();
    let (_, code) = cli(&engine, &["order", "cancel", "first", "--watch", "1"]).await;
    assert_eq!(code, 2, "what changes something is not repeated");
}

#[tokio::test]
async fn ord_28_a_running_stage_shows_what_it_waits_for() {
    let engine = Installation::start("sight_asking").await;
    let slow = pagurus_harness::world::program::Program::at("/slow").delayed(Duration::from_secs(12));
    engine.world().program(slow);
    let action =
        "- http: {name: reserve, method: POST, url: \"${config.demo}/slow\", body: {}, timeout: 30s}";
    engine.actions("slow", action).await;
    engine.accepted(json!({"id": "a", "scenario": "slow"})).await;
    let mut order = Value::Null;
    until("the order shows it", PATIENCE, async || {
        order = engine.order("a").await.unwrap();
        !order["asking"].is_null()
    })
    .await;
    let asking = &order["asking"];
    assert_eq!(
        (&asking["state"], &asking["kind"], &asking["name"]),
        (&json!("work"), &json!("http"), &json!("reserve")),
        "{order}"
    );
    let target = asking["target"].as_str().unwrap();
    assert!(target.starts_with("POST ") && target.ends_with("/slow"), "{asking}");
    let explanation = engine.part("a", "explain").await["explanation"].as_str().unwrap().to_owned();
    assert!(explanation.contains("in state `work`, it has waited for the answer of POST "), "{explanation}");
    let order = engine.reach("a", "success").await;
    assert!(order["asking"].is_null(), "{order}");
    until("nothing of it is left", PATIENCE, async || {
        let rows = engine.database().await.query_one("SELECT count(*) FROM asking", &[]).await.unwrap();
        rows.get::<_, i64>(0) == 0
    })
    .await;
}
