//! The idle look (REC-4): why does an order stand still for a whole period? Tells the cases apart, gives the command
//! again where it was lost, and says in the log of the order what it found. What waits in a backlog is left alone.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use pagurus_command::check;
use pagurus_domain::activation::Stream;
use pagurus_domain::flow::{Capacity, FlowState};
use pagurus_domain::id::{Epoch, OrderNo, Role, ScenarioNo};
use pagurus_domain::idle::{IdleCause, IdleStage};
use pagurus_domain::low_water::{LowNumber, LowWater};
use pagurus_domain::number::saturated;
use pagurus_domain::order::principal::Principal;
use pagurus_domain::order::{Mode, Priority};
use pagurus_runtime::metrics::Count;
use pagurus_runtime::scenarios::{Catalogue, Known};
use pagurus_runtime::task::{BackgroundTask, NextTurn, TurnPause};
use pagurus_runtime::{Effects, Host};
use pagurus_store::hot::control;
use pagurus_store::hot::history;
use pagurus_store::recovery::idle::{self, StandingOrder, StandingStage};
use pagurus_store::recovery::leases;
use pagurus_store::recovery::presence;
use pagurus_store::upkeep::first::{self, TimedList};
use pagurus_store::upkeep::flows;
use pagurus_store::upkeep::stops;
use pagurus_store::upkeep::walks::{self, Step};
use pagurus_store::{Client, Error};
use serde_json::json;

use crate::recover::note;

/// Names of the walks: over what may run, and over what is suspended.
const READY: &str = "idle-ready";
const TASKS: &str = "idle-tasks";
/// Rows of one page.
const PAGE: i64 = 2000;
/// Looks at what is ready and what waits for actors come so often at most, and at least ten in a period.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// A scenario may have a shorter period than the others, down to this one.
const SHORTEST: Duration = Duration::from_secs(60);
/// Looks at what is due begin where the last one found the first, but for one in this time.
const WHOLE_EVERY: SignedDuration = SignedDuration::from_mins(1);
/// Begin of the names of requests to actors.
const ACTOR: &str = "actor.";
/// Longest time for the broker to say who takes tasks.
const PATIENCE: Duration = Duration::from_secs(2);

/// The idle look. The first one comes a whole period after the process has begun: whatever stood still while all were down
/// has its time to go on.
pub(crate) struct IdleDetector {
    host: Host,
    catalogue: Catalogue,
    /// The epoch of the dispatcher that leads, and when it was first seen.
    leader: Option<(Epoch, Instant)>,
    /// Number at which the first page of what is ready begins.
    ready: LowNumber,
    /// The same of what is due, by stream.
    due: HashMap<i16, LowWater>,
    begun: Instant,
}

/// Facts that hold for all stages of one look.
struct Scene {
    has_leader: bool,
    is_leader_settled: bool,
    has_worker: bool,
    has_room: [bool; 2],
    newest: HashMap<(String, Priority, Mode), Timestamp>,
}

/// An order about which something is to be reported.
type IdleOrder = (OrderNo, IdleCause);

impl BackgroundTask for IdleDetector {
    const PAUSE: TurnPause = |settings| (settings.recovery.idle_timeout / 10).min(LOOK_EVERY);

    async fn turn(&mut self, host: &Host) -> NextTurn {
        let period = host.settings().recovery.idle_timeout;
        note(host, "idle", self.see_leader().await);
        if self.begun.elapsed() >= period {
            note(host, "idle", self.ready(period).await);
            note(host, "idle", self.due(period).await);
            note(host, "idle", self.tasks(period).await);
        }
        NextTurn::AfterPause
    }
}

impl IdleDetector {
    pub fn new(host: &Host) -> Self {
        Self {
            host: host.clone(),
            catalogue: Catalogue::of(&host.live),
            leader: None,
            ready: LowNumber::default(),
            due: HashMap::new(),
            begun: Instant::now(),
        }
    }

    async fn see_leader(&mut self) -> Result<(), Error> {
        let client = self.host.store.operations().await?;
        let leases = leases::all(&client).await?;
        let epoch = leases.iter().find(|lease| lease.name == Role::Dispatcher.as_str());
        let epoch = epoch.map(|lease| Epoch(lease.epoch));
        if self.leader.map(|(known, _)| known) != epoch {
            self.leader = epoch.map(|epoch| (epoch, Instant::now()));
        }
        Ok(())
    }

    /// Longest standstill of an order of this version.
    async fn period_of(
        &self,
        client: &Client,
        scenario: ScenarioNo,
        usual: Duration,
    ) -> Result<Duration, Error> {
        let known = self.catalogue.get(client, scenario).await?.and_then(Known::readable);
        Ok(known.and_then(|scenario| scenario.timeouts.idle).unwrap_or(usual))
    }

    /// Returns those that stand still for their whole period, and were not reported in it.
    async fn idle<T>(
        &self,
        client: &Client,
        all: Vec<StandingOrder<T>>,
        usual: Duration,
    ) -> Result<Vec<StandingOrder<T>>, Error> {
        let mut idle = Vec::new();
        for one in all.into_iter().filter(|one| !one.is_known && one.waited >= SHORTEST.min(usual)) {
            if one.waited >= self.period_of(client, one.scenario, usual).await? {
                idle.push(one);
            }
        }
        Ok(idle)
    }

    /// Takes the next page of a walk; none while another process takes it.
    async fn page(&self, walk: &str, period: Duration) -> Result<Option<i64>, Error> {
        let mut client = self.host.store.operations().await?;
        let Some((tx, step)) = walks::take(&mut client, walk).await? else { return Ok(None) };
        // Nobody else looks for a while; how far this look has come is noted at its end.
        walks::come_to(&tx, walk, Some(&step), (period / 20).min(LOOK_EVERY / 2)).await?;
        tx.commit().await?;
        Ok(Some(step.after_no))
    }

    async fn come_to(&self, walk: &str, last: Option<i64>) -> Result<(), Error> {
        let mut client = self.host.store.operations().await?;
        let tx = client.transaction().await?;
        let step = last.map(|after_no| Step { after_no, ..Step::default() });
        walks::come_to(&tx, walk, step.as_ref(), Duration::ZERO).await?;
        tx.commit().await?;
        Ok(())
    }

    /// Stages that may run, and do not.
    async fn ready(&mut self, period: Duration) -> Result<(), Error> {
        let Some(after) = self.page(READY, period).await? else { return Ok(()) };
        let client = self.host.store.operations().await?;
        let whole = (after == 0).then(|| self.ready.begin(Timestamp::now()));
        let after = whole.map_or(after, |look| look.after);
        let all = idle::ready(&client, after, PAGE, period).await?;
        if let Some(look) = whole {
            self.ready.end(look, Timestamp::now(), all.first().map(|one| one.no.0));
        }
        let is_full = i64::try_from(all.len()).is_ok_and(|count| count == PAGE);
        let last = all.last().map(|one| one.no.0).filter(|_| is_full);
        let idle = self.idle(&client, all, period).await?;
        if !idle.is_empty() {
            let scene = self.scene(&client, period).await?;
            let mut effects = Effects::default();
            let mut found = Vec::new();
            for one in &idle {
                let cause = stage(&client, &scene, one).await?.cause();
                if cause.acts() {
                    effects.may_run([&one.more.stage]);
                }
                found.push((one.no, cause));
            }
            drop(client);
            self.tell(&found).await?;
            effects.send(&self.host).await;
        }
        self.come_to(READY, last).await
    }

    async fn scene(&self, client: &Client, period: Duration) -> Result<Scene, Error> {
        let settings = self.host.settings();
        let count = |setting: usize| saturated::<u32>(setting);
        let distribution = &settings.distribution;
        let capacity = Capacity {
            parallel: count(distribution.parallel_count),
            sequential: count(distribution.sequential_count),
        };
        let leader = leases::leader(client).await?;
        let workers = presence::workers_seen(client, settings.node.lost_after).await?;
        let load = presence::load(client).await?;
        let takers: Vec<_> = workers.iter().filter(|worker| worker.is_alive && worker.takes).collect();
        let live = saturated::<u32>(takers.len());
        let has_place = takers.iter().any(|worker| {
            let taken = load.iter().find(|load| load.node == worker.node).map_or(0, |load| load.total());
            taken < capacity.allowance(live, worker.concurrency)
        });
        let in_progress = |mode: Mode| load.iter().map(|load| load.stages[mode as usize]).sum::<u32>();
        let room = |mode: Mode| has_place && capacity.admits(mode, in_progress(mode));
        Ok(Scene {
            has_leader: leader.is_some_and(|leader| leader.is_held),
            is_leader_settled: self.leader.is_some_and(|(_, seen)| seen.elapsed() >= period),
            has_worker: !takers.is_empty(),
            has_room: [room(Mode::Parallel), room(Mode::Sequential)],
            newest: idle::newest_taken(client).await?,
        })
    }

    /// Orders that are due, and were not woken. A row that others hold for so long is none of theirs any more.
    async fn due(&mut self, period: Duration) -> Result<(), Error> {
        for stream in Stream::ALL.iter().filter(|stream| **stream != Stream::Dependent) {
            let client = self.host.store.operations().await?;
            let low_water = self.due.entry(stream.number()).or_insert(LowWater::seldom(WHOLE_EVERY));
            let first = first::look(&client, TimedList::Due(*stream), low_water).await?;
            let Some(first) = first.come() else { continue };
            let all = idle::due(&client, stream.number(), first, PAGE, period.min(SHORTEST)).await?;
            let idle = self.idle(&client, all, period).await?;
            drop(client);
            if idle.is_empty() {
                continue;
            }
            let found: Vec<IdleOrder> = idle.iter().map(|one| (one.no, IdleCause::NotWoken)).collect();
            self.tell(&found).await?;
            let mut effects = Effects::default();
            effects.timer(*stream, Timestamp::now());
            effects.send(&self.host).await;
        }
        Ok(())
    }

    /// Tasks of actors that nobody decides.
    async fn tasks(&self, period: Duration) -> Result<(), Error> {
        let Some(after) = self.page(TASKS, period).await? else { return Ok(()) };
        let client = self.host.store.operations().await?;
        let (all, last) = idle::tasks(&client, after, PAGE, period).await?;
        let idle = self.idle(&client, all, period).await?;
        drop(client);
        let mut consumers: HashMap<&str, bool> = HashMap::new();
        let mut found = Vec::new();
        for one in &idle {
            let Some(actor) = one.more.strip_prefix(ACTOR) else { continue };
            if !consumers.contains_key(actor) {
                let asked = self.host.broker.consumers_of_actor(actor, PATIENCE).await;
                // A broker that does not answer says nothing about the actor.
                let Ok(count) = asked else { return Ok(()) };
                consumers.insert(actor, count.unwrap_or(0) > 0);
            }
            let is_served = consumers.get(actor).copied().unwrap_or_default();
            found.push((one.no, if is_served { IdleCause::ActorBusy } else { IdleCause::NoConsumer }));
        }
        self.tell(&found).await?;
        self.come_to(TASKS, last).await
    }

    /// Says in the log of each order what was found, where it still stands, and has its rows checked, too: one that
    /// stands still may do so because they contradict each other.
    async fn tell(&self, found: &[IdleOrder]) -> Result<(), Error> {
        if found.is_empty() {
            return Ok(());
        }
        let nos: Vec<i64> = found.iter().map(|(no, _)| no.0).collect();
        let mut client = self.host.store.operations().await?;
        let suspects = check::suspects(&client, &nos).await?;
        let tx = client.transaction().await?;
        let locked = control::lock_all(&tx, &nos).await?.orders;
        for (no, cause) in found.iter().filter(|(no, _)| locked.iter().any(|order| order.head.no == *no)) {
            let detail = json!({"cause": cause.text(), "name": cause.as_str()}).to_string();
            history::append(&tx, *no, "idle", &self.host.name, &detail).await?;
            self.host.metrics.count(Count::Idle, cause.as_str(), 1);
        }
        tx.commit().await?;
        drop(client);
        let by = Principal::node(&self.host.name);
        for suspect in &suspects {
            check::settle(&self.host, suspect, &by, None).await?;
        }
        Ok(())
    }
}

async fn stage(
    client: &Client,
    scene: &Scene,
    one: &StandingOrder<StandingStage>,
) -> Result<IdleStage, Error> {
    let StandingStage { stage, since, is_behind } = &one.more;
    let mode = if stage.place.is_some() { Mode::Sequential } else { Mode::Parallel };
    let is_stopped = !stops::of_flow(client, &stage.flow).await?.is_empty();
    let known = flows::one(client, &stage.flow).await?;
    let is_held = known.is_some_and(|known| known.record.state != FlowState::Enabled);
    let newest = scene.newest.get(&(stage.flow.clone(), stage.priority, mode));
    Ok(IdleStage {
        has_leader: scene.has_leader,
        is_leader_settled: scene.is_leader_settled,
        has_worker: scene.has_worker,
        is_behind: *is_behind,
        is_flow_held: is_stopped || is_held,
        was_passed_over: newest.is_some_and(|newest| newest > since),
        has_room: scene.has_room[mode as usize],
    })
}
