//! Views of an order on its calls: steps, tasks, and lines of its log (REC-15).

use pagurus_harness::world::program::Program;
use serde_json::{Value, json};

use crate::err::policy;
use crate::installation::{Installation, asking, call};

#[tokio::test]
async fn rec_15_each_call_of_an_order_is_a_step_and_a_line_of_its_log() {
    let soon = policy(
        "{initial_interval: 100ms, multiplier: 1, max_interval: 1s, jitter: 0, max_attempts: 3, max_duration: 1h}",
    );
    let engine = Installation::with("rec_15_steps", &[("PAGURUS__EXECUTION__ERROR_HANDLING", &soon)]).await;
    engine.world().program(Program::at("/stock").fail(1, 503));
    engine.actions("reserves", &call("/stock")).await;
    engine.run(json!({"id": "a", "scenario": "reserves"}), "success").await;
    let steps = engine.part("a", "steps").await;
    let attempts: Vec<(&Value, &Value, &Value, &Value)> = steps
        .as_array()
        .unwrap()
        .iter()
        .map(|step| (&step["status"], &step["attempt"], &step["outcome"], &step["class"]))
        .collect();
    assert_eq!(
        attempts,
        [
            (&json!(503), &json!(1), &json!("failed"), &json!("all.unavailable")),
            (&json!(200), &json!(2), &json!("answered"), &json!(null)),
        ],
        "{steps}"
    );
    let (first, second) = (&steps[0], &steps[1]);
    assert_eq!(
        (&first["state"], &first["kind"], &first["action"]),
        (&json!("work"), &json!("http"), &json!(0))
    );
    assert!(first["target"].as_str().unwrap().ends_with("/stock"), "{first}");
    assert_eq!(first["key"], second["key"], "a repeat has the key of the first attempt");
    let keys: Vec<String> =
        engine.world().calls("/stock").iter().map(|call| call.headers["idempotency-key"].clone()).collect();
    assert_eq!(first["key"], keys[0].trim_matches('"'), "{keys:?}");
    let log = engine.part("a", "log").await;
    let lines: Vec<&str> = log.as_array().unwrap().iter().filter_map(|line| line["text"].as_str()).collect();
    let lines_about = |status: &str| {
        let is_about = |line: &&&str| line.contains("/stock") && line.contains(status);
        lines.iter().filter(is_about).count()
    };
    assert_eq!((lines_about("503"), lines_about("200 in ")), (1, 1), "one line for each attempt: {lines:?}");
    assert!(!steps.to_string().contains("\"order\":"), "no body is kept: {steps}");
}

#[tokio::test]
async fn rec_15_what_brought_no_answer_is_said_as_what_it_is_in_one_line() {
    let engine = Installation::start("rec_15_no_answer").await;
    // Nothing listens at the port of a listener that is gone.
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    engine.actions("calls", &format!("- http: {{method: POST, url: 'http://{gone}/x', body: {{}}}}")).await;
    engine.actions("sends", "- amqp: {exchange: nobody.made.this, key: k, body: {}}").await;
    for (scenario, expected) in [("calls", "Connection refused"), ("sends", "nobody.made.this")] {
        engine.run(json!({"id": scenario, "scenario": scenario}), "fail").await;
        let steps = engine.part(scenario, "steps").await;
        assert!(steps[0]["error"].as_str().is_some_and(|error| error.contains(expected)), "{steps}");
        let log = engine.part(scenario, "log").await;
        let lines: Vec<&str> =
            log.as_array().unwrap().iter().filter_map(|line| line["text"].as_str()).collect();
        assert_eq!(lines.iter().filter(|line| line.contains(expected)).count(), 1, "{lines:?}");
        assert!(!log.to_string().contains("no answer"), "{lines:?}");
        let place = |part: &str| lines.iter().position(|line| line.contains(part));
        assert!(place(expected) < place("--fail-->"), "{lines:?}");
    }
}

#[tokio::test]
async fn rec_15_tasks_are_the_work_for_an_order_done_and_to_be_done() {
    let engine = Installation::start("rec_15_tasks").await;
    engine.scenario("asks", &asking("/ask", "20s")).await;
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let order = json!({"id": "a", "scenario": "asks"});
    let sent = engine.env().http().post(format!("{}/v1/orders", engine.base())).header("traceparent", trace);
    assert_eq!(sent.json(&order).send().await.unwrap().status().as_u16(), 201);
    engine.reach("a", "wait").await;
    let tasks = engine.part("a", "tasks").await;
    let listed: Vec<(&str, &str, &str)> = tasks
        .as_array()
        .unwrap()
        .iter()
        .map(|task| {
            let text = |key: &str| task[key].as_str().unwrap_or_default();
            (text("kind"), text("name"), text("status"))
        })
        .collect();
    for expected in
        [("stage", "start", "finished"), ("request", "answer", "waiting"), ("stage", "next", "waiting")]
    {
        assert!(listed.contains(&expected), "{tasks}");
    }
    assert!(tasks.as_array().unwrap().iter().all(|task| task["trace"] == trace), "{tasks}");
    let key = engine.world().calls("/ask")[0].headers["idempotency-key"].trim_matches('"').to_owned();
    let request = tasks.as_array().unwrap().iter().find(|task| task["kind"] == "request").unwrap();
    assert_eq!(request["idempotencyKey"], key, "{request}");
    // Where the request went is known, and how long a life took.
    let asked = engine.part("a", "requests").await;
    assert!(asked[0]["system"].as_str().unwrap().starts_with("127.0.0.1:"), "{asked}");
    assert_eq!(engine.order("a").await.unwrap()["durationMs"], Value::Null);
    assert_eq!(engine.act("a", "kill", &json!({"reason": "test"})).await.status, 200);
    let killed = engine.reach("a", "canceled").await;
    assert!(killed["durationMs"].as_i64().unwrap() > 0, "{killed}");
    let log =
        engine.env().http().get(format!("{}/v1/orders/a/log", engine.base())).header("accept", "text/plain");
    let log = log.send().await.unwrap();
    assert_eq!(log.headers()["content-type"], "text/plain; charset=utf-8");
    let text = log.text().await.unwrap();
    assert!(text.lines().count() > 2 && text.lines().all(|line| line.starts_with("20")), "{text}");
}
