//! Intake: takes orders and callbacks over AMQP and HTTP, and serves the API.
//!
//! A message of a client is acknowledged after the commit of what it caused, never before. Everything
//! that leaves the process stands below the commit.

mod amqp;
mod answer;
mod backlog;
mod calls;
mod doctor;
mod headers;
mod http;
mod order_log;
mod refused;
mod register;
mod stream;
mod traced;
mod waiters;

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use pagurus_access::Access;
use pagurus_command::Commands;
use pagurus_domain::id::IntakeTransport;
use pagurus_runtime::batch::{Linger, Shape};
use pagurus_runtime::scenarios::Catalogue;
use pagurus_runtime::{Batcher, Host};
use pagurus_store::outside::answers::CallbackVerdict;
use pagurus_view::Views;

use answer::{AnswerRecorder, NewAnswer};
use backlog::Backlog;
use refused::RefusedMessages;
use register::{RegistrationOutcome, Submission};
use stream::Streams;
use waiters::Waiters;

/// Everything thover both transports share. Cheap to clone: every request has one.
#[derive(Clone)]
struct Intake(Arc<IntakeParts>);

impl Deref for Intake {
    type Target = IntakeParts;

    fn deref(&self) -> &IntakeParts {
        &self.0
    }
}

impl Intake {
    /// Views as those have them who see everything: for what was admitted already, and for what is shown to nobody.
    fn whole_views(&self) -> &Views {
        &self.all_views
    }
}

/// The parts of an [`Intake`].
struct IntakeParts {
    host: Host,
    catalogue: Catalogue,
    commands: Commands,
    /// Views of those who see everything; handlers have their own.
    all_views: Views,
    access: Access,
    waiters: Waiters,
    streams: Streams,
    backlog: Backlog,
    refused: RefusedMessages,
    recorder: AnswerRecorder,
    registrations: Batcher<Submission, Option<RegistrationOutcome>, pagurus_store::Error>,
    /// Orders whose parameters take long to check, one at a time.
    costly: Batcher<Submission, RegistrationOutcome, pagurus_store::Error>,
    answers: Batcher<Arc<NewAnswer>, CallbackVerdict, pagurus_store::Error>,
    /// Answers whose order was locked.
    locked_answers: Batcher<Arc<NewAnswer>, CallbackVerdict, pagurus_store::Error>,
    /// Turn of the dry runs of registrations.
    dry_runs: tokio::sync::Mutex<()>,
    /// The room for the bodies of requests.
    bodies: http::Bodies,
    /// The turns of exports.
    exports: http::Exports,
    /// Account of what clients have used of their limits.
    quotas: http::ClientQuotas,
}

/// Gathering of what comes over HTTP: in two lanes, so that a slow commit does not hold up all that comes meanwhile.
const GATHER: Shape = Shape { max: 500, lanes: 2, linger: Linger::UnderLoad(Duration::from_millis(2)) };

/// Gathering of callbacks: longer than of orders, because a callback costs little beside its batch. Two lanes, so that a locked
/// order does not hold up all others.
const ANSWERS: Shape = Shape { max: 500, lanes: 2, linger: Linger::UnderLoad(Duration::from_millis(15)) };

/// Gathering of answers whose order is locked: each waits for itself.
const LOCKED: Shape = Shape { max: 1, lanes: 2, linger: Linger::Never };

/// Gathering of costly registrations: they wait for one another, and nobody else for them.
const ALONE: Shape = Shape { max: 1, lanes: 1, linger: Linger::Never };

/// Time for requests that are being answered when the process is to stop.
const LAST_REQUESTS: Duration = Duration::from_secs(5);

/// Returns the OpenAPI document of the API, made from its routes.
#[must_use]
pub fn openapi() -> serde_json::Value {
    http::openapi()
}

/// Returns the AsyncAPI document of an installation with these names.
#[must_use]
pub fn asyncapi(names: &pagurus_broker::topology::Names) -> serde_json::Value {
    http::asyncapi(names)
}

/// Runs until the process is to stop.
///
/// # Errors
/// Reasons for which the service cannot work at all.
pub async fn run(host: Host) -> anyhow::Result<()> {
    let settings = host.settings();
    let commands = Commands::of(host.clone());
    let Commands { catalogue, secrets, .. } = commands.clone();
    let registering = register::Registrar { host: host.clone(), catalogue: catalogue.clone() };
    let costly = registering.clone();
    let views = Views::of(host.clone(), catalogue.clone(), secrets.clone());
    let recorder = AnswerRecorder { host: host.clone(), catalogue: catalogue.clone(), secrets };
    let (answering, waiting) = (recorder.clone(), recorder.clone());
    let waiters = Waiters::default();
    let streams = Streams::default();
    let intake = Intake(Arc::new(IntakeParts {
        costly: Batcher::start(
            ALONE,
            |_| false,
            move |batch: Arc<[Submission]>| {
                let registering = costly.clone();
                async move { Ok(vec![registering.register_alone(&batch[0]).await?]) }
            },
        ),
        registrations: Batcher::start(
            GATHER,
            pagurus_store::Error::concerns_one_item,
            move |batch: Arc<[Submission]>| {
                let registering = registering.clone();
                async move { registering.register(&batch).await }
            },
        ),
        answers: Batcher::start(
            ANSWERS,
            pagurus_store::Error::concerns_one_item,
            move |batch: Arc<[Arc<NewAnswer>]>| {
                let recorder = answering.clone();
                async move { recorder.record(&batch).await }
            },
        ),
        locked_answers: Batcher::start(
            LOCKED,
            |_| false,
            move |batch: Arc<[Arc<NewAnswer>]>| {
                let recorder = waiting.clone();
                async move { recorder.record_locked(&batch[0]).await }
            },
        ),
        recorder,
        dry_runs: tokio::sync::Mutex::default(),
        bodies: http::Bodies::new(settings.intake.max_bodies_bytes),
        exports: http::Exports::default(),
        quotas: http::ClientQuotas::default(),
        host: host.clone(),
        catalogue,
        commands,
        all_views: views,
        access: Access::of(host.clone()),
        waiters: waiters.clone(),
        streams: streams.clone(),
        backlog: Backlog::default(),
        refused: RefusedMessages::of(host.clone()),
    }));
    host.start("backlog", intake.backlog.clone());
    host.spawn("waiters", waiters.watch(host.clone()));
    host.spawn("stream", streams.run(host.clone(), intake.whole_views().clone()));
    open(intake, settings.intake.transport)?;
    host.at_work(false).await;
    host.draining.cancelled().await;
    host.readiness.not_ready("draining");
    // The consumers end by themselves; requests that are being answered get a moment.
    tokio::join!(host.join(), host.http.unmount_and_wait(LAST_REQUESTS));
    Ok(())
}

/// Begins to take what comes by these transports.
fn open(intake: Intake, transport: IntakeTransport) -> anyhow::Result<()> {
    if transport.takes_amqp() {
        amqp::start(&intake)?;
    }
    if transport.serves_http() {
        let server = intake.host.http.clone();
        server.mount(http::router(intake));
    }
    Ok(())
}
