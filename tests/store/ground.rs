//! Ground of each of these tests: a migrated database, and the few steps that bring an order anywhere.
//! Never decides what is right: it calls the store as the services do, and returns the result.

use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::activation::{AgeGroups, NEVER_REPEATED, Stream};
use pagurus_domain::id::{Attempt, Epoch, Incarnation, OrderNo, Pass, RequestId, Role, ScenarioNo};
use pagurus_domain::order::dependency::StartMode;
use pagurus_domain::order::registration::{NewOrder, Request};
use pagurus_domain::order::stage::Then;
use pagurus_domain::order::{OrderError, ScenarioStatus, Status};
use pagurus_harness::env::Env;
use pagurus_scenario::Library;
use pagurus_store::hot::due;
use pagurus_store::hot::requests::{self, NewRequest};
use pagurus_store::hot::stages::{self, Claimant, Claimed, Finished, OfferedStage, ReadyStage, Unclaimed};
use pagurus_store::outside::answers::{self, CallbackVerdict, NewCallback};
use pagurus_store::outside::orders::{self, Registered};
use pagurus_store::outside::scenarios;
use pagurus_store::recovery::cluster::{self, NewNode};
use pagurus_store::upkeep::migrate;
use pagurus_store::{Client, Options, Store};
use serde_json::{Value, json};
use uuid::Uuid;

/// The epoch before anybody has led.
pub const FIRST_EPOCH: Epoch = Epoch(0);
/// Long enough that no stage of these tests is overdue by itself.
const WORK: Duration = Duration::from_secs(600);

/// Limit of a report: not that of other statements, so that they can be distinguished.
pub const REPORT_TIMEOUT: Duration = Duration::from_secs(10);

/// A database of one test; it goes when this is dropped.
pub struct Ground {
    pub store: Store,
    pub scenario: ScenarioNo,
    pub node: Incarnation,
    env: Env,
}

impl Ground {
    pub async fn new(test: &str) -> Self {
        let env = Env::new(test).await.unwrap();
        let options = Options {
            work_connections: 12,
            report_timeout: REPORT_TIMEOUT,
            ..Options::of(&env.database_url(), "tests")
        };
        let store = Store::new(&options).unwrap();
        let mut client = store.api().await.unwrap();
        migrate::run(&mut client).await.unwrap();
        let tx = client.transaction().await.unwrap();
        scenarios::apply(&tx, "s", "scenario: s", &Library::default(), &scenarios::Expected::Anything)
            .await
            .unwrap();
        tx.commit().await.unwrap();
        let scenario = scenarios::last(&client).await.unwrap();
        let tx = client.transaction().await.unwrap();
        let node = cluster::register(&tx, &new_node("w-1", Role::Worker)).await.unwrap();
        tx.commit().await.unwrap();
        drop(client);
        Self { store, scenario, node, env }
    }

    pub fn url(&self) -> String {
        self.env.database_url()
    }

    pub async fn work(&self) -> Client {
        self.store.work().await.unwrap()
    }

    /// An order as registration has checked it; `more` is laid over the least body.
    pub fn new_order(&self, id: &str, more: &Value) -> NewOrder {
        let mut body = json!({"id": id, "scenario": "s", "params": {"id": id}});
        let fields = body.as_object_mut().unwrap();
        fields
            .extend(more.as_object().into_iter().flatten().map(|(key, value)| (key.clone(), value.clone())));
        let request = Request::read(body).unwrap();
        let (mode, queue) = request.mode_and_queue(None).unwrap();
        NewOrder {
            mode,
            queue,
            request: request.into(),
            scenario: self.scenario,
            flow: "s".to_owned(),
            start_deadline: None,
            process_timeout: None,
            start_mode: StartMode::Reactive,
            trace: None,
            attributes: Vec::new(),
            answers: None,
        }
    }

    pub async fn register(&self, new: &[NewOrder]) -> Vec<Registered> {
        let mut client = self.work().await;
        let tx = client.transaction().await.unwrap();
        let registered = orders::register(&tx, new).await.unwrap();
        tx.commit().await.unwrap();
        registered
    }

    /// Registers one order, which must be new.
    pub async fn order(&self, id: &str, more: &Value) -> OrderNo {
        match &self.register(&[self.new_order(id, more)]).await[..] {
            [Registered::Accepted { no, .. }] => *no,
            other => panic!("{id}: {other:?}"),
        }
    }

    /// Claims as the worker does.
    pub async fn claim_under(
        &self,
        epoch: Epoch,
        wanted: &[(OrderNo, Attempt)],
    ) -> (Vec<Claimed>, Vec<(OfferedStage, Unclaimed)>) {
        let hand_outs: Vec<OfferedStage> =
            wanted.iter().map(|(no, attempt)| OfferedStage { no: *no, attempt: *attempt, epoch }).collect();
        stages::claim(&self.work().await, &self.claimant(), &hand_outs).await.unwrap()
    }

    /// The node of these tests, whose stages may all take the same time.
    pub fn claimant(&self) -> Claimant<'static> {
        Claimant {
            node: self.node,
            work_seconds: WORK.as_secs_f64(),
            work_seconds_of: &[],
            least_of_sequential: 0.0,
        }
    }

    /// Claims one stage, which must be there.
    pub async fn claim(&self, no: OrderNo) -> Claimed {
        let attempt = self.ready_attempt(no).await.expect("it is ready");
        let (mut claimed, unclaimed) = self.claim_under(FIRST_EPOCH, &[(no, attempt)]).await;
        claimed.pop().unwrap_or_else(|| panic!("{no}: {unclaimed:?}"))
    }

    /// Number that the hand-out of an order would have, if it is ready.
    pub async fn ready_attempt(&self, no: OrderNo) -> Option<Attempt> {
        let client = self.work().await;
        let ready = stages::still_ready(&client, &[no.0]).await.unwrap();
        ready.first().map(|(_, attempt)| *attempt)
    }

    /// Writes the end of a stage under this pass; `None` where the pass does not hold.
    pub async fn finish_under(&self, no: OrderNo, pass: Pass, end: &Finished) -> Option<Vec<ReadyStage>> {
        let mut client = self.work().await;
        let tx = client.transaction().await.unwrap();
        let ours = stages::take_ends(&tx, &[(no, pass)]).await.unwrap().times;
        if !ours.contains_key(&no) {
            return None;
        }
        let followed = stages::finish(&tx, "w-1", &[end], &AgeGroups::default()).await.unwrap();
        tx.commit().await.unwrap();
        Some(followed.ready)
    }

    /// Ends a stage that was claimed.
    pub async fn finish(&self, claimed: &Claimed, then: Then) -> Vec<ReadyStage> {
        let end = finished(claimed, then);
        self.finish_under(claimed.head.no, claimed.pass, &end).await.expect("the pass holds")
    }

    /// Stores a request of a claimed stage.
    pub async fn request(&self, claimed: &Claimed, action: u32) -> Option<RequestId> {
        self.request_named(claimed, action, &format!("r{action}")).await
    }

    /// The same under this name.
    pub async fn request_named(&self, claimed: &Claimed, action: u32, name: &str) -> Option<RequestId> {
        let new = NewRequest {
            no: claimed.head.no,
            pass: claimed.pass,
            life: claimed.head.life,
            visit: 1,
            action,
            hand_out: 0,
            name: name.to_owned(),
            task: None,
            cancel: pagurus_scenario::stage::Cancel::Never,
        };
        let mut client = self.work().await;
        let tx = client.transaction().await.unwrap();
        let ids = requests::register(&tx, &[new]).await.unwrap();
        tx.commit().await.unwrap();
        ids[0]
    }

    /// Answers requests, as intake does with a batch of callbacks.
    pub async fn answer(&self, requests: &[RequestId]) -> (Vec<CallbackVerdict>, Vec<ReadyStage>) {
        let callbacks: Vec<NewCallback> = requests.iter().map(|id| callback(*id)).collect();
        let mut client = self.work().await;
        let tx = client.transaction().await.unwrap();
        let answered = answers::answer(&tx, &callbacks, 10_000).await.unwrap();
        tx.commit().await.unwrap();
        (answered.verdicts, answered.woken)
    }

    /// Wakes what is due in one stream.
    pub async fn wake(&self, stream: Stream) -> Vec<OrderNo> {
        let mut client = self.work().await;
        let tx = client.transaction().await.unwrap();
        let woken = due::wake(&tx, stream, Timestamp::UNIX_EPOCH, 100, NEVER_REPEATED).await.unwrap();
        tx.commit().await.unwrap();
        woken.iter().map(|woken| woken.stage.no).collect()
    }

    /// Changes rows behind the back of the store, where waiting for the clock would take too long.
    pub async fn sql(&self, statement: &str) -> u64 {
        self.work().await.execute(statement, &[]).await.unwrap()
    }

    pub async fn count(&self, query: &str) -> i64 {
        self.work().await.query_one(query, &[]).await.unwrap().get(0)
    }
}

pub fn new_node(name: &str, role: Role) -> NewNode {
    NewNode {
        name: name.to_owned(),
        role,
        address: "127.0.0.1:1".to_owned(),
        version: "0".to_owned(),
        concurrency: 10,
        transport: None,
    }
}

/// The end of a claimed stage with nothing in it but what follows.
pub fn finished(claimed: &Claimed, then: Then) -> Finished {
    Finished {
        step: Some("a".to_owned()),
        visited: 1,
        distance: Some(1),
        snapshot: Some("{}".to_owned()),
        ..Finished::of(claimed, then, ScenarioStatus::OnTarget)
    }
}

/// Starts this number of round trips later: with another number in each round, two that race cross each other at every step.
pub async fn later<T>(ground: &Ground, round_trips: u32, what: impl Future<Output = T>) -> T {
    for _ in 0..round_trips {
        ground.count("SELECT 1::bigint").await;
    }
    what.await
}

pub fn in_an_hour() -> Timestamp {
    Timestamp::now() + Duration::from_secs(3600)
}

pub fn sleep() -> Then {
    Then::Sleep { until: in_an_hour() }
}

pub fn wait_for(requests: &[RequestId]) -> Then {
    Then::Wait { until: in_an_hour(), requests: requests.to_vec() }
}

pub fn retry() -> Then {
    Then::Retry { at: in_an_hour(), error: error() }
}

pub fn poll() -> Then {
    Then::Poll { at: in_an_hour() }
}

pub fn success() -> Then {
    Then::End { status: Status::Success, scenario_status: ScenarioStatus::Target, error: None }
}

pub fn fail() -> Then {
    Then::End { status: Status::Fail, scenario_status: ScenarioStatus::Failed, error: Some(error()) }
}

fn error() -> OrderError {
    OrderError::new("test", "as the test wants").about(Some("crm.internal".to_owned()))
}

pub fn callback(request: RequestId) -> NewCallback {
    NewCallback {
        named: request.to_string(),
        request: Some(request),
        step_status: None,
        headers: None,
        body: b"{\"code\":0}".to_vec(),
    }
}

/// A pass that nobody was given.
pub fn no_pass() -> Pass {
    Pass(Uuid::new_v4())
}
