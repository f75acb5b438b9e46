//! Actors (SCN-11): tasks go out over AMQP, decisions come back, and every time-out has its consequence.
//! The programs outside are played by a plain AMQP client, so that the protocol itself is what is tested.

mod given_up;
mod program;
mod python;
mod seen;
mod typescript;

use std::time::{Duration, Instant};

use lapin::BasicProperties;
use lapin::options::BasicGetOptions;
use lapin::types::{AMQPValue, FieldTable};
use pagurus_harness::client::amqp::{Amqp, Inbox, Message};
use pagurus_harness::nodes::Role;
use serde_json::{Value, json};
use tokio::sync::mpsc::{self, UnboundedSender};

use crate::installation::{Installation, PATIENCE, at, until};

/// Two classes that are repeated twice, soon.
const REPEATED: &str = "{sync: {mode: retry, classification: {rules: {}}, retry: {policies: {p: \
    {error_classes: [actor.timeout, score.busy], parameters: {initial_interval: 1s, multiplier: 1, \
    max_interval: 1s, jitter: 0, max_attempts: 2, max_duration: 1h}}}}}}";

/// An actor called `scoring`: it sees a copy of every task, so that the queue itself stays as the engine left it.
struct Actor {
    amqp: Amqp,
    inbox: Inbox,
    prefix: String,
}

impl Actor {
    async fn of(engine: &Installation) -> Self {
        let amqp = engine.env().amqp().await.unwrap();
        let prefix = engine.env().prefix().to_owned();
        let inbox = amqp.listen(&format!("{prefix}.actors"), "scoring").await.unwrap();
        Self { amqp, inbox, prefix }
    }

    /// Returns the tasks so far, as soon as there are `count` of them.
    async fn tasks(&self, count: usize) -> Vec<Message> {
        self.inbox.wait(PATIENCE, |tasks| tasks.len() >= count).await.unwrap()
    }

    /// Publishes a decision under the pass of a task.
    async fn answer(&self, task: &Message, body: &Value) {
        let properties = BasicProperties::default().with_correlation_id(pass(task).into());
        let exchange = format!("{}.callbacks", self.prefix);
        let body = body.to_string();
        self.amqp.publish(&exchange, "actor.decision", body.as_bytes(), &properties).await.unwrap();
    }

    /// Publishes a heartbeat of a task every 300 ms, for this time.
    async fn heartbeat(&self, task: &Message, during: Duration) {
        let properties =
            BasicProperties::default().with_correlation_id(pass(task).into()).with_type("heartbeat".into());
        let exchange = format!("{}.callbacks", self.prefix);
        let end = Instant::now() + during;
        while Instant::now() < end {
            self.amqp.publish(&exchange, "actor.heartbeat", b"{}", &properties).await.unwrap();
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    }

    async fn decide(&self, task: &Message, result: Value) {
        self.answer(task, &json!({"decision": "success", "result": result})).await;
    }

    async fn fail(&self, task: &Message, class: &str) {
        let error = json!({"class": class, "message": "the actor says so"});
        self.answer(task, &json!({"decision": "fail", "error": error})).await;
    }

    /// Takes the next task out of the queue of the actor, if there is one.
    async fn take(&self) -> Option<lapin::message::BasicGetMessage> {
        let queue = format!("{}.actors.scoring", self.prefix);
        let options = BasicGetOptions { no_ack: true };
        self.amqp.channel().basic_get(queue.as_str().into(), options).await.unwrap()
    }
}

fn pass(task: &Message) -> String {
    task.body["pass"].as_str().unwrap().to_owned()
}

/// An engine with a scenario `score` that hands a task out on these terms and ends with its result.
async fn scoring(test: &str, terms: &str) -> (Installation, Actor) {
    let engine = Installation::with(test, &[("PAGURUS__EXECUTION__ERROR_HANDLING", REPEATED)]).await;
    let actions = format!(
        "- actor: {{name: scoring, body: {{who: \"${{params.who}}\"}}, {terms}}}\n- script: 'result(response.body)'"
    );
    engine.actions("score", &actions).await;
    let actor = Actor::of(&engine).await;
    engine
        .accepted(json!({"id": "a", "scenario": "score", "params": {"who": 7}, "transactionId": "t-1"}))
        .await;
    (engine, actor)
}

async fn verdicts(engine: &Installation) -> Vec<String> {
    let callbacks = engine.part("a", "callbacks").await;
    callbacks.as_array().unwrap().iter().map(|one| one["verdict"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn scn_11_a_task_goes_out_and_its_decision_comes_back() {
    let (engine, actor) = scoring("scn_11", "workTimeout: 1m").await;
    let task = actor.tasks(1).await.remove(0);
    for (key, value) in [
        ("actor", json!("scoring")),
        ("order", json!("a")),
        ("transactionId", json!("t-1")),
        ("handOut", json!(1)),
        ("workTimeoutMs", json!(60_000)),
        ("body", json!({"who": 7})),
    ] {
        assert_eq!(task.body[key], value, "{key}: {}", task.body);
    }
    assert_eq!((task.key.as_str(), task.correlation_id.clone()), ("scoring", Some(pass(&task))));
    engine.reach("a", "wait").await;
    let queued = actor.take().await.expect("the task waits in the queue of the actor").delivery;
    assert_eq!(queued.properties.kind().as_ref().unwrap().as_str(), "task");
    assert_eq!(queued.properties.message_id().as_ref().map(ToString::to_string), task.message_id);
    let reply_to = queued.properties.reply_to().clone().unwrap().to_string();
    let properties = BasicProperties::default().with_correlation_id(pass(&task).into());
    let decision = json!({"decision": "success", "result": {"score": 0.5}}).to_string();
    actor.amqp.publish("", &reply_to, decision.as_bytes(), &properties).await.unwrap();
    let order = engine.reach("a", "success").await;
    assert_eq!(order["result"], json!({"score": 0.5}));
    assert_eq!(actor.tasks(1).await.len(), 1, "one task, handed out once");
}

#[tokio::test]
async fn dsp_16_a_decision_closes_its_actor_for_all_and_a_failed_task_comes_back_no_sooner() {
    let (engine, actor) = scoring("dsp_16_actor", "workTimeout: 2s, restartAfterWorkTimeout: false").await;
    let task = actor.tasks(1).await.remove(0);
    let begun = Instant::now();
    let mut headers = FieldTable::default();
    headers.insert("retry-after".into(), AMQPValue::LongInt(3));
    let properties = BasicProperties::default().with_correlation_id(pass(&task).into()).with_headers(headers);
    let busy = json!({"decision": "fail", "error": {"class": "score.busy"}}).to_string();
    let exchange = format!("{}.callbacks", actor.prefix);
    actor.amqp.publish(&exchange, "actor.decision", busy.as_bytes(), &properties).await.unwrap();
    engine.reach("a", "retry").await;
    // Of another flow, which is not known to have anything to do with this actor: it comes to it in its stage.
    engine
        .actions("other", "- actor: {name: scoring, workTimeout: 2s, restartAfterWorkTimeout: false}")
        .await;
    engine.accepted(json!({"id": "b", "scenario": "other"})).await;
    engine.reach("b", "wait").await;
    let explained = engine.get("/v1/orders/b/explain").await.unwrap().success().unwrap();
    assert!(explained["explanation"].as_str().unwrap().contains("the system `actor:scoring`"), "{explained}");
    let tasks = actor.tasks(3).await;
    assert!(begun.elapsed() > Duration::from_millis(2500), "{:?}", begun.elapsed());
    for task in &tasks[1..] {
        actor.decide(task, json!(1)).await;
    }
    for id in ["a", "b"] {
        engine.reach(id, "success").await;
    }
    assert_eq!(actor.tasks(3).await.len(), 3, "no hand-out was lost to the wait");
    let system = engine.get("/v1/systems/actor:scoring").await.unwrap().success().unwrap();
    let why = system["decisions"][0]["why"].as_str().unwrap();
    assert!(why.contains("it asked to be called again after"), "{system}");
}

#[tokio::test]
async fn scn_11_a_work_time_out_puts_the_task_back_with_a_new_pass() {
    let (engine, actor) = scoring("scn_11_back", "workTimeout: 500ms").await;
    let tasks = actor.tasks(2).await;
    assert_eq!(tasks[0].body["task"], tasks[1].body["task"], "one task");
    assert_ne!(pass(&tasks[0]), pass(&tasks[1]));
    assert_ne!(tasks[0].message_id, tasks[1].message_id);
    assert_eq!([&tasks[0].body["handOut"], &tasks[1].body["handOut"]], [&json!(1), &json!(2)]);
    let waiting = actor.take().await.expect("the newer hand-out").delivery;
    let waiting: Value = serde_json::from_slice(&waiting.data).unwrap();
    assert_ne!(waiting["pass"], json!(pass(&tasks[0])), "nobody is to work on what was put back");
    actor.decide(actor.tasks(2).await.last().unwrap(), json!(2)).await;
    assert_eq!(engine.reach("a", "success").await["result"], json!(2));
    // REC-3: by scenario and actor.
    let counted = "pagurus_work_timeout_total{scenario=\"score\",actor=\"scoring\"}";
    engine.until_metric(engine.node(Role::Activator), counted, |count| count >= 1.0).await;
}

#[tokio::test]
async fn scn_11_accept_first_takes_the_first_of_two() {
    let (engine, actor) = scoring("scn_11_first", "workTimeout: 1s").await;
    let tasks = actor.tasks(2).await;
    engine.reach("a", "wait").await;
    actor.decide(&tasks[0], json!("first")).await;
    assert_eq!(engine.reach("a", "success").await["result"], json!("first"));
    actor.decide(&tasks[1], json!("second")).await;
    until("the second decision is stored", PATIENCE, async || verdicts(&engine).await.len() == 2).await;
    assert_eq!(verdicts(&engine).await, ["accepted", "late"]);
}

#[tokio::test]
async fn scn_11_a_decision_between_the_time_out_and_the_next_hand_out_counts() {
    let (mut engine, actor) = scoring("scn_11_between", "workTimeout: 1500ms").await;
    let task = actor.tasks(1).await.remove(0);
    engine.reach("a", "wait").await;
    engine.node(Role::Worker).kill().await.unwrap();
    until("the work time-out has passed", PATIENCE, async || {
        engine.order("a").await.unwrap()["readySince"].is_string()
    })
    .await;
    actor.decide(&task, json!("in between")).await;
    until("the decision is stored", PATIENCE, async || !verdicts(&engine).await.is_empty()).await;
    engine.add(Role::Worker, "worker-2").await;
    assert_eq!(engine.reach("a", "success").await["result"], json!("in between"));
    assert_eq!((actor.tasks(1).await.len(), verdicts(&engine).await), (1, vec!["accepted".to_owned()]));
}

#[tokio::test]
async fn scn_11_accept_first_false_takes_only_the_newest_pass() {
    let (engine, actor) = scoring("scn_11_newest", "workTimeout: 2s, acceptFirst: false").await;
    let tasks = actor.tasks(2).await;
    engine.reach("a", "wait").await;
    actor.decide(&tasks[0], json!("old")).await;
    until("the old decision is stored", PATIENCE, async || !verdicts(&engine).await.is_empty()).await;
    assert_eq!(verdicts(&engine).await, ["late"]);
    assert_eq!(engine.reach("a", "wait").await["status"], "wait");
    actor.decide(&tasks[1], json!("new")).await;
    assert_eq!(engine.reach("a", "success").await["result"], json!("new"));
}

#[tokio::test]
async fn scn_11_without_restart_the_scenario_and_the_policies_see_the_time_out() {
    let (engine, actor) = scoring("scn_11_class", "workTimeout: 2s, restartAfterWorkTimeout: false").await;
    let order = engine.reach("a", "fail").await;
    assert_eq!(
        (&order["error"]["class"], &order["step"]),
        (&json!("actor.timeout"), &json!("failed")),
        "{order}"
    );
    let tasks = actor.tasks(3).await;
    assert_eq!(tasks.len(), 3, "two repeats by the policy");
    assert_ne!(pass(&tasks[0]), pass(&tasks[1]));
    actor.decide(&tasks[0], json!("too late")).await;
    until("the late decision is stored", PATIENCE, async || verdicts(&engine).await == ["late"]).await;
    let order = engine.run(json!({"id": "b", "scenario": "score", "params": {"who": 8}}), "retry").await;
    assert_eq!(
        (&order["retry"]["class"], &order["retry"]["attempt"]),
        (&json!("actor.timeout"), &json!(1)),
        "{order}"
    );
    let again = actor.tasks(5).await;
    actor.decide(&again[4], json!("in time")).await;
    assert_eq!(engine.reach("b", "success").await["result"], json!("in time"));
}

#[tokio::test]
async fn scn_11_the_task_time_out_ends_what_is_handed_out_again_and_again() {
    // Far apart, so that a machine under load still hands out twice before the end.
    let terms = "workTimeout: 600ms, taskTimeout: 4s";
    let (engine, actor) = scoring("scn_11_bound", terms).await;
    let order = engine.reach("a", "retry").await;
    assert_eq!(order["retry"]["class"], "actor.timeout", "{order}");
    let tasks = actor.tasks(2).await;
    assert!((2..=7).contains(&tasks.len()), "every 0.6 s at most: {tasks:?}");
    actor.decide(&tasks[0], json!("too late")).await;
    until("the decision is stored", PATIENCE, async || !verdicts(&engine).await.is_empty()).await;
    assert_eq!(verdicts(&engine).await, ["late"]);
}

#[tokio::test]
async fn scn_11_a_task_that_is_still_queued_at_its_time_out_is_not_handed_out_any_more() {
    let terms = "workTimeout: 3s, taskTimeout: 700ms, restartAfterWorkTimeout: false";
    let (engine, actor) = scoring("scn_11_queued", terms).await;
    actor.tasks(1).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(actor.take().await.is_none(), "its time is over");
    assert_eq!(engine.reach("a", "wait").await["status"], "wait", "for a task at work the bound has moved");
    actor.decide(&actor.tasks(1).await[0], json!("at work")).await;
    assert_eq!(engine.reach("a", "success").await["result"], json!("at work"));
}

#[tokio::test]
async fn scn_11_force_ends_a_task_at_work() {
    let terms = "workTimeout: 10s, taskTimeout: 700ms, forceFinishAfterTaskTimeout: true";
    let (engine, actor) = scoring("scn_11_force", terms).await;
    let order = engine.reach("a", "retry").await;
    let took = at(&order, "updatedAt").duration_since(at(&order, "createdAt"));
    assert!(took.as_millis() < 5_000, "long before the work time-out: {order}");
    assert_eq!(order["retry"]["class"], "actor.timeout", "{order}");
    actor.decide(&actor.tasks(1).await[0], json!("too late")).await;
    until("the decision is stored", PATIENCE, async || !verdicts(&engine).await.is_empty()).await;
    assert_eq!(verdicts(&engine).await, ["late"]);
}

#[tokio::test]
async fn scn_11_a_decision_to_fail_goes_through_the_policies() {
    let (engine, actor) = scoring("scn_11_fail", "workTimeout: 1m").await;
    actor.fail(&actor.tasks(1).await[0], "score.busy").await;
    let again = actor.tasks(2).await;
    assert_ne!(pass(&again[0]), pass(&again[1]));
    actor.fail(&again[1], "score.refused").await;
    let order = engine.reach("a", "fail").await;
    let expected = json!({"class": "score.refused", "message": "the actor says so"});
    for key in ["class", "message"] {
        assert_eq!(order["error"][key], expected[key], "{order}");
    }
    let nonsense = engine.accepted(json!({"id": "b", "scenario": "score", "params": {"who": 8}})).await;
    actor.answer(&actor.tasks(3).await[2], &json!({"decision": "perhaps"})).await;
    assert_eq!(engine.reach(&nonsense, "fail").await["error"]["class"], "actor.invalid");
    assert_eq!(actor.tasks(3).await.len(), 3, "what no policy names is not repeated");
}

#[tokio::test]
async fn scn_11_a_heartbeat_prolongs_the_hand_out() {
    let (engine, actor) = scoring("scn_11_heart", "workTimeout: 1500ms, acceptFirst: false").await;
    let first = actor.tasks(1).await.remove(0);
    actor.heartbeat(&first, Duration::from_secs(4)).await;
    assert_eq!(actor.tasks(1).await.len(), 1, "at work for more than two work time-outs");
    let tasks = actor.tasks(2).await;
    let decisions = async {
        actor.heartbeat(&first, Duration::from_millis(500)).await;
        actor.decide(&first, json!("fell silent")).await;
        // Both in one batch would be stored in an order of their own.
        until("the decision is stored", PATIENCE, async || !verdicts(&engine).await.is_empty()).await;
        actor.decide(&tasks[1], json!("alive")).await;
    };
    // The second hand-out stays at work meanwhile.
    tokio::select! {
        () = actor.heartbeat(&tasks[1], 2 * PATIENCE) => unreachable!("it beats for longer than anything takes"),
        () = decisions => {}
    }
    assert_eq!(engine.reach("a", "success").await["result"], json!("alive"));
    assert_eq!(verdicts(&engine).await, ["late", "accepted"]);
}

#[tokio::test]
async fn scn_11_no_heartbeat_prolongs_a_task_beyond_its_forced_end() {
    let terms = "workTimeout: 1500ms, taskTimeout: 2500ms, forceFinishAfterTaskTimeout: true";
    let (engine, actor) = scoring("scn_11_heart_force", terms).await;
    let first = actor.tasks(1).await.remove(0);
    // The task ends after 2.5 s, and is repeated by the policy.
    tokio::select! {
        () = actor.heartbeat(&first, PATIENCE) => panic!("the heartbeats have kept it"),
        tasks = actor.tasks(2) => assert_eq!(tasks.len(), 2),
    }
    actor.decide(&first, json!("too late")).await;
    until("the decision is stored", PATIENCE, async || !verdicts(&engine).await.is_empty()).await;
    assert_eq!(verdicts(&engine).await, ["late"]);
}

#[tokio::test]
async fn scn_11_the_client_in_rust_serves_an_engine() {
    let (engine, _) = scoring("scn_11_client", "workTimeout: 3s").await;
    let client = pagurus_client::actor::Actor {
        name: "scoring".into(),
        url: engine.env().amqp_url().into(),
        prefix: engine.env().prefix().into(),
        prefetch: 4,
    };
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let (begun, mut at_work) = mpsc::unbounded_channel();
    let work =
        async |task: pagurus_client::actor::Task, begun: UnboundedSender<String>| match task.order.as_str() {
            "fails" => Err(pagurus_client::actor::Fail {
                class: "score.refused".into(),
                message: "the handler says so".into(),
            }),
            "panics" => panic!("as asked"),
            _ => {
                // Longer than two work time-outs: heartbeats keep the hand-out.
                begun.send(task.order).unwrap();
                tokio::time::sleep(Duration::from_secs(7)).await;
                Ok(json!({"who": task.body["who"], "handOut": task.hand_out}))
            }
        };
    let handler = move |task| work(task, begun.clone());
    let serving = tokio::spawn(async move {
        client.run(handler, async move { stopped.await.unwrap_or_default() }).await;
    });
    let submit = async |id: &str| {
        engine.accepted(json!({"id": id, "scenario": "score", "params": {"who": 7}})).await;
    };
    for id in ["fails", "panics"] {
        submit(id).await;
    }
    // Its first hand-out may have passed before the client was there.
    assert_eq!(engine.reach("a", "success").await["result"]["who"], json!(7));
    assert_eq!(engine.reach("fails", "fail").await["error"]["class"], "score.refused");
    assert_eq!(engine.reach("panics", "fail").await["error"]["class"], "actor.panic");
    submit("last").await;
    while at_work.recv().await.unwrap() != "last" {}
    stop.send(()).unwrap();
    serving.await.unwrap();
    let order = engine.reach("last", "success").await;
    assert_eq!(order["result"]["handOut"], json!(1), "what runs is finished before the client ends: {order}");
}
