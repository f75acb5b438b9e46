//! Worker: takes hand-outs, runs stages, writes their ends.
//!
//! The hand-out is a hint; the row that the claim deletes is the right to run. A result is written
//! only under the pass of its claim, so that a worker that was given up for lost changes nothing.

mod brought;
mod child;
mod claim;
mod drain;
mod drive;
mod finish;
mod held;
mod http;
mod outbound;
mod publish;
mod reconcile;
mod room;
mod take;
mod trouble;

use std::sync::Arc;
use std::time::Duration;

use pagurus_broker::{ConsumeSpec, QueueSource};
use pagurus_domain::activation::AgeGroups;
use pagurus_domain::id::RequestId;
use pagurus_domain::scenario::script::Scripting;
use pagurus_domain::scenario::stage::StageSettings;
use pagurus_runtime::address::base_of;
use pagurus_runtime::batch::Shape;
use pagurus_runtime::node::chain;
use pagurus_runtime::scenarios::Catalogue;
use pagurus_runtime::secrets::DeploymentSecrets;
use pagurus_runtime::{Batcher, Effects, Host};
use pagurus_store::requests::NewRequest;
use pagurus_store::{Error, cluster, requests};
use pagurus_wire::message::work;
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use child::Children;
use claim::WorkTimes;
use finish::End;
use held::Held;
use outbound::Outbound;
use room::Room;

/// What every stage of this worker shares. Cheap to clone.
#[derive(Clone)]
struct Worker {
    host: Host,
    catalogue: Catalogue,
    settings: Arc<StageSettings>,
    outbound: Arc<Outbound>,
    children: Children,
    /// One for each stage this node may run.
    permits: Arc<Semaphore>,
    stages: TaskTracker,
    held: Held,
    work_times: WorkTimes,
    /// For what stages hold while they run.
    room: Room,
    registrations: Batcher<NewRequest, Option<RequestId>, Error>,
    ends: Batcher<Arc<End>, bool, Error>,
    /// Ends of stages whose orders somebody has locked, one at a time.
    locked_ends: Batcher<Arc<End>, bool, Error>,
}

/// How ends are gathered: two lanes, so that one batch is written while the other commits.
const ALONE: Shape = Shape { max: 1, lanes: 1, linger: Duration::ZERO };
const ENDS: Shape = Shape { max: 500, lanes: 2, linger: Duration::from_millis(2) };
/// How requests are gathered.
const REQUESTS: Shape = Shape { max: 500, lanes: 1, linger: Duration::from_millis(1) };
/// Hand-outs kept by the broker for a worker that is busy claiming; the dispatcher sends no more
/// than there is room for.
const MAX_WAITING_MESSAGES: u32 = 10_000;

/// Between two looks for an intake.
const INTAKE_PAUSE: Duration = Duration::from_millis(200);

/// Runs until the process is to stop and its stages have ended, or their grace is over.
///
/// # Errors
/// What keeps the service from working at all.
pub async fn run(host: Host) -> anyhow::Result<()> {
    let settings = host.settings.clone();
    let catalogue = Catalogue::new(
        Arc::new(Scripting::new(settings.scenario.script.clone())),
        settings.scenario.clone(),
        settings.max_cached_scenarios,
    );
    let groups = settings.activation.groups;
    let Some(callback_base) = callback_base(&host).await else { return Ok(()) };
    let worker = Worker {
        settings: Arc::new(stage_settings(&host, &callback_base)),
        outbound: Arc::new(Outbound::new(&host)),
        children: Children::new(&host, catalogue.clone()),
        permits: Arc::new(Semaphore::new(settings.worker.concurrency)),
        stages: TaskTracker::new(),
        held: Held::default(),
        work_times: WorkTimes::default(),
        room: Room::new(settings.worker.max_held_bytes, settings.worker.max_response_bytes),
        registrations: registrations(&host),
        ends: ends(&host, groups, ENDS),
        locked_ends: ends(&host, groups, ALONE),
        catalogue,
        host: host.clone(),
    };
    let names = host.broker.names();
    let consumer = Arc::new(host.broker.consume(ConsumeSpec {
        queue: QueueSource::Exclusive {
            name_hint: format!("worker.{}", host.node),
            bindings: vec![
                (names.work.clone(), host.node.to_string()),
                (names.work.clone(), work::BREAK_OFF.to_owned()),
            ],
            max_length: MAX_WAITING_MESSAGES,
        },
        prefetch: 200,
        ack_on_take: true,
        own_connection: false,
    })?);
    for _ in 0..take::LANES {
        host.spawn("hand-outs", take::take(worker.clone(), consumer.clone()));
    }
    host.spawn("idle connections", {
        let outbound = worker.outbound.clone();
        async move {
            outbound.close_idle().await;
            Ok(())
        }
    });
    host.spawn("reconcile", reconcile::watch(worker.clone()));
    // Hand-outs that are sent before the queue is there would be lost, and found again late.
    while !consumer.is_consuming() {
        if host.rest(Duration::from_millis(20)).await {
            return Ok(());
        }
    }
    host.at_work(false).await;
    tell_workers_changed(&host).await;
    host.draining.cancelled().await;
    drain::drain(&worker).await;
    Ok(())
}

/// Where called systems are told to answer. Without a setting it is an intake of the registry; a
/// first start waits until there is one. None if the process is to stop before.
async fn callback_base(host: &Host) -> Option<String> {
    if let Some(url) = &host.settings.intake.public_url {
        return Some(url.clone());
    }
    loop {
        let found = async {
            let client = host.store.api().await?;
            cluster::intake_address(&client).await
        };
        match found.await {
            Ok(Some(address)) => {
                let there = base_of(&address);
                tracing::warn!(
                    callbacks = there,
                    "intake.public_url is not set: called systems will be told to answer there"
                );
                return Some(there);
            }
            Ok(None) => {}
            Err(error) => tracing::warn!(error = chain(&error), "no intake could be looked for"),
        }
        if host.rest(INTAKE_PAUSE).await {
            return None;
        }
    }
}

fn stage_settings(host: &Host, callback_base: &str) -> StageSettings {
    let settings = &host.settings;
    StageSettings {
        scripting: Scripting::new(settings.scenario.script.clone()),
        bounds: settings.scenario.clone(),
        errors: settings.errors.clone(),
        constants: settings.constants.clone(),
        secrets: Arc::new(DeploymentSecrets::new(settings.secrets_folder.clone())),
        vhost: host.broker.vhost().to_owned(),
        callback_base: callback_base.trim_end_matches('/').to_owned(),
        max_sync_duration: settings.resource_control.max_sync_duration,
        max_acquisition_duration: settings.resource_control.max_acquisition_duration,
        max_wait_sequential: settings.resource_control.max_wait_sequential,
        max_wait_parallel: settings.resource_control.max_wait_parallel,
    }
}

fn registrations(host: &Host) -> Batcher<NewRequest, Option<RequestId>, Error> {
    let host = host.clone();
    Batcher::start(REQUESTS, Error::concerns_one_item, move |batch: Arc<[NewRequest]>| {
        let host = host.clone();
        async move {
            let mut client = host.store.work().await?;
            let tx = client.transaction().await?;
            let ids = requests::register(&tx, &batch).await?;
            tx.commit().await?;
            Ok(ids)
        }
    })
}

fn ends(host: &Host, groups: AgeGroups, shape: Shape) -> Batcher<Arc<End>, bool, Error> {
    let host = host.clone();
    Batcher::start(shape, Error::concerns_one_item, move |batch: Arc<[Arc<End>]>| {
        let host = host.clone();
        async move { finish::write(&host, &batch, &groups).await }
    })
}

async fn tell_workers_changed(host: &Host) {
    Effects { workers_changed: true, ..Effects::default() }.send(host).await;
}
