//! An engine of a test's own, with the few words in which the tests speak to it.
//! Never hides an answer: what was not expected ends the test with the whole answer in the message.

use std::ops::Deref;
use std::time::{Duration, Instant};

use pagurus_harness::client::{Answer, Api, pause_since};
use pagurus_harness::env::Env;
use pagurus_harness::nodes::{Node, Role};
use pagurus_harness::world::{Call, World};
use serde_json::{Value, json};

/// Far more than anything here takes, on a machine that is five times slower, too.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Settings that make waiting short, for every test.
const QUICK: &[(&str, &str)] = &[
    ("PAGURUS__SCENARIO__MIN_SLEEP", "100ms"),
    ("PAGURUS__NODE__HEARTBEAT", "300ms"),
    ("PAGURUS__RECOVERY__INTERVAL", "200ms"),
];

/// A running engine.
#[derive(Debug)]
pub struct Installation {
    env: Env,
    pub nodes: Vec<Node>,
    api: Api,
}

impl Deref for Installation {
    type Target = Api;

    fn deref(&self) -> &Api {
        &self.api
    }
}

impl Installation {
    /// Starts one node of every role.
    pub async fn start(test: &str) -> Self {
        Self::with(test, &[]).await
    }

    /// Starts the services of all roles in one process.
    pub async fn in_one_process(test: &str) -> Self {
        let env = Self::ground(test, &[]).await;
        let node = env.start_in_one_process("all").await.unwrap();
        Self::of(env, vec![node])
    }

    /// Starts one node of every role, with settings.
    pub async fn with(test: &str, settings: &[(&str, &str)]) -> Self {
        let env = Self::ground(test, settings).await;
        let nodes = env.start_all().await.unwrap();
        Self::of(env, nodes)
    }

    /// Starts one node of every role, with this configuration file.
    pub async fn configured(test: &str, file: &str) -> Self {
        Self::configured_with(test, file, &[]).await
    }

    /// The same with settings, which go before the file.
    pub async fn configured_with(test: &str, file: &str, settings: &[(&str, &str)]) -> Self {
        let env = Self::ground(test, settings).await;
        env.configure(file).unwrap();
        let nodes = env.start_all().await.unwrap();
        Self::of(env, nodes)
    }

    /// Starts one node of each of these roles, with settings; intake must be one of them.
    pub async fn only(test: &str, roles: &[Role], settings: &[(&str, &str)]) -> Self {
        let env = Self::ground(test, settings).await;
        let nodes = env.start_each(roles.iter().map(|role| (*role, Vec::new()))).await.unwrap();
        Self::of(env, nodes)
    }

    async fn ground(test: &str, settings: &[(&str, &str)]) -> Env {
        let env = Env::new(test).await.unwrap();
        for (name, value) in QUICK.iter().chain(settings) {
            env.set(name, *value);
        }
        env
    }

    fn of(env: Env, nodes: Vec<Node>) -> Self {
        let intake = nodes.iter().find(|node| node.spec.role == Role::Intake).expect("an intake");
        let api = env.api(intake);
        Self { env, nodes, api }
    }

    pub const fn env(&self) -> &Env {
        &self.env
    }

    pub const fn world(&self) -> &World {
        self.env.world()
    }

    /// The first node of a role.
    pub fn node(&self, role: Role) -> &Node {
        self.nodes.iter().find(|node| node.spec.role == role).expect("a node of this role")
    }

    /// A session of the database, to seed what no way of the engine leads to.
    pub async fn database(&self) -> tokio_postgres::Client {
        let (database, connection) =
            tokio_postgres::connect(&self.env.database_url(), tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        database
    }

    /// The sum of a metric of a node over all its labels; 0 while it has none.
    pub async fn metric(&self, node: &Node, name: &str) -> f64 {
        let page = self.env.http().get(format!("{}/metrics", node.url())).send().await.unwrap();
        let page = page.text().await.unwrap();
        let lines = page.lines().filter(|line| line.starts_with(name));
        lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
    }

    /// Waits until a metric of a node satisfies a condition. A service counts after it has done what a test
    /// sees, so that a metric that is read once may lag behind it.
    pub async fn until_metric(&self, node: &Node, name: &str, satisfied: impl Fn(f64) -> bool) {
        until(name, PATIENCE, async || satisfied(self.metric(node, name).await)).await;
    }

    /// Starts one more node, with settings of its own.
    pub async fn add_with(&mut self, role: Role, name: &str, settings: &[(&str, &str)]) -> Node {
        let node = self.env.start_with(role, name, settings).await.unwrap();
        self.nodes.push(node.clone());
        node
    }

    /// Starts one more node.
    pub async fn add(&mut self, role: Role, name: &str) -> Node {
        let node = self.env.start(role, name).await.unwrap();
        self.nodes.push(node.clone());
        node
    }

    /// Starts the first node of a role again, which has ended.
    pub async fn restart(&mut self, role: Role) {
        let again = self.env.restart(self.node(role)).await.unwrap();
        if let Some(node) = self.nodes.iter_mut().find(|node| node.spec.role == role) {
            *node = again;
        }
    }

    /// Applies a scenario, given by all that follows its name and kind.
    pub async fn scenario(&self, name: &str, rest: &str) {
        let text = format!("scenario: {name}\nkind: workflow\n{rest}");
        self.put_scenario(name, &text).await.unwrap();
    }

    /// Applies a scenario that does these actions and ends in `done`, or in `failed` on an error.
    pub async fn actions(&self, name: &str, actions: &str) {
        self.scenario(name, &with_actions(actions)).await;
    }

    /// Registers an order that must be accepted.
    pub async fn accepted(&self, order: Value) -> String {
        let answer = self.submit(&order).await;
        assert_eq!((answer.status, &answer.body["status"]), (201, &json!("accepted")), "{order}: {answer:?}");
        order["id"].as_str().unwrap().to_owned()
    }

    pub async fn submit(&self, order: &Value) -> Answer {
        self.post("/v1/orders", order).await.unwrap()
    }

    /// Returns the order as soon as it has this status.
    pub async fn reach(&self, id: &str, status: &str) -> Value {
        self.wait_status(id, status, PATIENCE).await.unwrap()
    }

    /// Registers an order and follows it to this status.
    pub async fn run(&self, order: Value, status: &str) -> Value {
        let id = self.accepted(order).await;
        self.reach(&id, status).await
    }

    /// A part of an order.
    pub async fn part(&self, id: &str, part: &str) -> Value {
        self.get(&format!("/v1/orders/{id}/{part}")).await.unwrap().success().unwrap()
    }

    /// Acts on an order.
    pub async fn act(&self, id: &str, action: &str, body: &Value) -> Answer {
        self.post(&format!("/v1/orders/{id}/{action}"), body).await.unwrap()
    }

    /// Returns the first calls of a path, as soon as there are `count` of them.
    pub async fn calls(&self, path: &str, count: usize) -> Vec<Call> {
        self.world().wait_calls(path, count, PATIENCE).await.unwrap()
    }
}

/// An action that does nothing that could be seen from outside.
pub const LOG: &str = "- log: \"${order.id}\"";

/// Returns a scenario without its name and kind: these actions, then `done`, or `failed` on an error.
pub fn with_actions(actions: &str) -> String {
    let actions: String = actions.trim_end().lines().map(|line| format!("      {line}\n")).collect();
    format!(
        "initialState: work\nstates:\n  work:\n    entryPoint: true\n    actions:\n{actions}    \
         on: {{success: done, fail: failed}}\n  done: {{kind: terminal}}\n  \
         failed: {{kind: terminal, outcome: fail}}\n"
    )
}

/// An action that calls a path of the world and says which order it is.
pub fn call(path: &str) -> String {
    format!(
        "- http: {{method: POST, url: \"${{config.demo}}{path}\", body: {{order: \"${{order.id}}\"}}, timeout: 5s}}"
    )
}

/// A scenario that asks, waits for the callback, and then calls `/after`.
pub fn asking(path: &str, timeout: &str) -> String {
    format!(
        r#"initialState: ask
targetStates: [done]
states:
  ask:
    entryPoint: true
    actions:
      - http:
          method: POST
          url: "${{config.demo}}{path}"
          headers: {{X-Callback-Url: "${{request.url}}"}}
          body: {{order: "${{order.id}}"}}
          timeout: 5s
          request: answer
      - wait: {{timeout: {timeout}}}
    on: {{wait: asked, fail: failed}}
  asked:
    kind: waiting
    on: {{callback: after, timeout: failed}}
  after:
    actions:
      - http: {{method: POST, url: "${{config.demo}}/after", body: {{order: "${{order.id}}", answer: "${{callbacks.answer.body}}"}}, timeout: 5s}}
    on: {{success: done, fail: failed}}
  done: {{kind: terminal}}
  failed: {{kind: terminal, outcome: fail}}
"#
    )
}

/// Returns the orders that called, in the order of their calls.
pub fn callers(calls: &[Call]) -> Vec<&str> {
    calls.iter().map(|call| call.body["order"].as_str().unwrap_or_default()).collect()
}

/// The largest number of calls that were at work at one moment.
pub fn most_at_once(calls: &[Call]) -> usize {
    let now = Instant::now();
    let mut moments: Vec<(Instant, i32)> = Vec::new();
    for call in calls {
        moments.push((call.started, 1));
        moments.push((call.ended.unwrap_or(now), -1));
    }
    // An end at the moment of a beginning comes first: they did not overlap.
    moments.sort();
    let mut present = 0;
    let most = moments.into_iter().map(|(_, change)| {
        present += change;
        present
    });
    usize::try_from(most.max().unwrap_or(0)).unwrap()
}

/// A moment of an order.
pub fn at(order: &Value, key: &str) -> jiff::Timestamp {
    order[key].as_str().unwrap_or_else(|| panic!("no `{key}` in {order}")).parse().unwrap()
}

/// Waits until a condition holds, asked again and again.
pub async fn until(what: &str, within: Duration, mut holds: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !holds().await {
        assert!(begun.elapsed() < within, "not within {within:?}: {what}");
        pause_since(begun).await;
    }
}
