//! An engine whose nodes a test can break: quick to notice, its scenarios in place, its notifications heard.
//! Never mends what a test broke: that is the engine's business.

use std::time::{Duration, Instant};

use pagurus_harness::client::amqp::{Amqp, Inbox};
use pagurus_harness::client::{Api, items, pause_since};
use pagurus_harness::env::Env;
use pagurus_harness::nodes::{Node, Role};
use pagurus_harness::proxy::{Proxy, host_of};
use pagurus_harness::world::World;
use pagurus_harness::world::program::{CallBack, Program, Step};
use serde_json::{Value, json};

/// Far more than anything here takes, on a machine that is five times slower, too.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// Time that a system of the world takes for one call.
pub const CALL: Duration = Duration::from_millis(100);

/// Settings under which the loss of a node is noticed within a second or two.
const QUICK: &[(&str, &str)] = &[
    ("PAGURUS__NODE__HEARTBEAT", "200ms"),
    ("PAGURUS__NODE__LOST_AFTER", "1s"),
    ("PAGURUS__RECOVERY__INTERVAL", "200ms"),
    ("PAGURUS__DISPATCHER__LEASE__TTL", "1s"),
    ("PAGURUS__DISPATCHER__REREAD", "500ms"),
    ("PAGURUS__NOTIFY__RETRY__INITIAL", "200ms"),
    ("PAGURUS__SCENARIO__MIN_SLEEP", "100ms"),
    // So that the invariants are soon held against all orders.
    ("PAGURUS__RECOVERY__CHECK__RATE", "20000"),
    ("PAGURUS__RECOVERY__CHECK__CONFIRM_AFTER", "200ms"),
    // So few at a time that a fault always finds work under way.
    ("PAGURUS__WORKER__CONCURRENCY", "20"),
];

/// Scenarios: a call; a question whose answer comes later, asked again when none comes; a sleep and a call.
const SCENARIOS: [(&str, &str); 3] = [
    (
        "call",
        r#"
scenario: call
initialState: call
targetStates: [done]
states:
  call:
    entryPoint: true
    actions:
      - http: {method: POST, url: "${config.demo}/do", body: {order: "${order.id}", queue: "${params.queue}"}, timeout: 10s}
    on: {success: done, fail: failed}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
"#,
    ),
    (
        "ask",
        r#"
scenario: ask
initialState: ask
targetStates: [done]
states:
  ask:
    entryPoint: true
    actions:
      - http:
          method: POST
          url: "${config.demo}/ask"
          headers: {X-Callback-Url: "${request.url}"}
          body: {order: "${order.id}"}
          timeout: 10s
          request: answer
      - wait: {timeout: 4s}
    on: {wait: asked, fail: failed}
  asked:
    kind: waiting
    on: {callback: done, timeout: ask}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
"#,
    ),
    (
        "nap",
        r#"
scenario: nap
initialState: nap
targetStates: [done]
states:
  nap:
    entryPoint: true
    actions: [{sleep: {for: 300ms}}]
    on: {sleep: napping}
  napping: {kind: sleeping, on: {timeout: call}}
  call:
    actions:
      - http: {method: POST, url: "${config.demo}/do", body: {order: "${order.id}", queue: ""}, timeout: 10s}
    on: {success: done, fail: failed}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
"#,
    ),
];

/// A running engine.
pub struct Installation {
    pub env: Env,
    pub nodes: Vec<Node>,
    pub api: Api,
    /// The URL by which the nodes reach their database, or one that leads there.
    pub database: String,
}

impl Installation {
    /// Starts a node of every role, with these settings for all of them.
    pub async fn start(test: &str, settings: &[(&str, &str)]) -> Self {
        let env = Env::new(test).await.unwrap();
        Self::on(env, settings).await
    }

    /// The same, with one setting that depends on the ground of the test, such as the address of a proxy.
    pub async fn behind(test: &str, setting: impl FnOnce(&Env) -> (&'static str, String)) -> Self {
        let env = Env::new(test).await.unwrap();
        let (name, value) = setting(&env);
        Self::on(env, &[(name, &value)]).await
    }

    async fn on(env: Env, settings: &[(&str, &str)]) -> Self {
        Self::prepare(&env);
        let settings_of_each: Vec<_> =
            settings.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        let nodes = env.start_each(Role::ALL.map(|role| (role, settings_of_each.clone()))).await.unwrap();
        let mut engine = Self::of(env, nodes).await;
        let own = settings.iter().find(|(name, _)| *name == "PAGURUS__DATABASE__URL");
        if let Some((_, url)) = own {
            engine.database = (*url).to_owned();
        }
        engine
    }

    /// Starts a node of every role, each behind proxies of its own; returns the engine, and those to PostgreSQL and to
    /// RabbitMQ, in the order of the nodes.
    pub async fn behind_proxies(test: &str, settings: &[(&str, &str)]) -> (Self, Vec<Proxy>, Vec<Proxy>) {
        let env = Env::new(test).await.unwrap();
        Self::prepare(&env);
        settings.iter().for_each(|(name, value)| env.set(name, *value));
        let (mut wanted, mut databases, mut brokers) = (Vec::new(), Vec::new(), Vec::new());
        for role in Role::ALL {
            let database = Proxy::start(&host_of(&env.database_url())).await.unwrap();
            let broker = Proxy::start(&host_of(env.amqp_url())).await.unwrap();
            let settings = vec![
                ("PAGURUS__DATABASE__URL", database.url(&env.database_url())),
                ("PAGURUS__BROKER__URL", format!("{}?heartbeat=1", broker.url(env.amqp_url()))),
            ];
            wanted.push((role, settings));
            databases.push(database);
            brokers.push(broker);
        }
        let nodes = env.start_each(wanted).await.unwrap();
        (Self::of(env, nodes).await, databases, brokers)
    }

    /// The settings and the world of every test here.
    pub fn prepare(env: &Env) {
        for (name, value) in QUICK {
            env.set(name, *value);
        }
        program(env.world());
    }

    /// An engine of these nodes, an intake first, with the scenarios of every test here.
    pub async fn of(env: Env, nodes: Vec<Node>) -> Self {
        let api = env.api(&nodes[0]);
        for (name, yaml) in SCENARIOS {
            api.put_scenario(name, yaml).await.unwrap();
        }
        let database = env.database_url();
        Self { env, nodes, api, database }
    }

    /// The sum of all series of a metric of a node.
    pub async fn metric(&self, node: &Node, name: &str) -> f64 {
        let asked = self.env.http().get(format!("{}/metrics", node.url())).send().await.unwrap();
        let page = asked.text().await.unwrap();
        let series = page.lines().filter_map(|line| line.rsplit_once(' '));
        let of_name = series.filter(|(series, _)| series.split('{').next() == Some(name));
        of_name.filter_map(|(_, value)| value.parse::<f64>().ok()).sum()
    }

    pub fn node(&self, role: Role) -> &Node {
        self.nodes.iter().find(|node| node.spec.role == role).unwrap()
    }

    /// All notifications from now on.
    pub async fn listen(&self, amqp: &Amqp) -> Inbox {
        amqp.listen(&format!("{}.notifications", self.env.prefix()), "#").await.unwrap()
    }

    /// Waits until an item of a list of the API satisfies a condition.
    pub async fn wait_item(&self, path: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let list = items(self.api.get(path).await.unwrap().success().unwrap());
            if let Some(found) = list.iter().find(|item| wanted(item)) {
                return found.clone();
            }
            assert!(begun.elapsed() < PATIENCE, "{path}: {list:#?}");
            pause_since(begun).await;
        }
    }

    /// Waits until `/readyz` of a node says so; how long it took. A node with a door that is shut is not
    /// ready here, whatever the other transport does.
    pub async fn wait_readiness(&self, node: &Node, ready: bool, within: Duration) -> Duration {
        const PAUSE: Duration = Duration::from_millis(50);
        let begun = Instant::now();
        // While the machine stands still, the services notice nothing, either.
        let mut stood_still = Duration::ZERO;
        let url = format!("{}/readyz", node.url());
        loop {
            let asked = self.env.http().get(&url).timeout(Duration::from_secs(4)).send().await;
            let (good, state) = match asked {
                Ok(answer) => {
                    let status = answer.status().as_u16();
                    let state: Value = answer.json().await.unwrap_or_default();
                    // Not the queues: a RabbitMQ 3.10 that was killed can leave one of them without a leader
                    // for a minute, and nobody but it can help that.
                    let links = ["publish", "consume"].iter().all(|link| state["broker"][link] == "up");
                    (status == 200 && links, state.to_string())
                }
                Err(error) => (false, error.to_string()),
            };
            if good == ready {
                return begun.elapsed();
            }
            assert!(
                begun.elapsed() < within + stood_still,
                "{}: ready is not {ready} after {within:?}: {state}",
                node.spec.name
            );
            let paused = Instant::now();
            tokio::time::sleep(PAUSE).await;
            stood_still += paused.elapsed().saturating_sub(2 * PAUSE);
        }
    }
}

fn program(world: &World) {
    world.program(Program::at("/do").delayed(CALL));
    let mut ask = Step::answer(202, json!({}));
    ask.callback = Some(CallBack::with(json!({"code": 0})).after(CALL));
    world.program(Program::at("/ask").then(ask));
}
