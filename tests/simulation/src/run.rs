//! A run: processes, faults, the clock that jumps from event to event, and the end.

mod faults;

use std::collections::VecDeque;
use std::time::Duration;

use pagurus_domain::id::Role;

use crate::activator::Activating;
use crate::chance::Chance;
use crate::core::{Core, Millis, ProcessId};
use crate::dispatcher::Dispatching;
use crate::intake::Intake;
use crate::judge;
use crate::message::{Action, Event, Fault, Input};
use crate::notifier::Notifier;
use crate::outcome::Outcome;
use crate::outside::{Clients, World};
use crate::plan::{LOST_AFTER, Plan};
use crate::planted::Planted;
use crate::scenarios::{Deployment, Library};
use crate::worker::Working;

/// Time from the end of the faults until everything must have ended, and more of it for each order: those of one queue go
/// one at a time.
const BOUND: Millis = 420_000;
const BOUND_OF_ORDER: Millis = 30_000;
/// Events after which a run is held to go round for ever.
const EVENTS: u64 = 6_000_000;
/// Time between two looks at the rows.
const JUDGE: Millis = 700;

/// State of a process, by its role.
#[derive(Debug)]
enum State {
    Intake,
    Notifier,
    Dispatcher(Box<Dispatching>),
    Worker(Working),
    Activator(Activating),
}

/// A process: a name that stays, and lives that come and go.
#[derive(Debug)]
struct Process {
    role: Role,
    name: String,
    life: u32,
    state: Option<State>,
    frozen: bool,
    /// Inputs that came while it was frozen.
    deferred: VecDeque<Input>,
    node: Option<pagurus_domain::id::Incarnation>,
}

struct Run<'a> {
    core: Core,
    processes: Vec<Process>,
    clients: Clients,
    world: World,
    library: &'a Library,
}

/// Runs a seed.
///
/// # Errors
/// The run cannot be made, which is a defect of the simulation.
pub fn run(
    seed: u64,
    orders: usize,
    planted: Option<Planted>,
    deployment: &Deployment,
    verbose: bool,
) -> Result<Outcome, String> {
    let library = Library::of(seed, deployment)?;
    let plan = Plan::of(seed, orders);
    let clients = Clients::of(seed, &plan, library.count())?;
    let mut core = Core::new(seed, plan, planted);
    core.verbose = verbose;
    Ok(play(seed, core, clients, World::of(seed), &library).0)
}

/// Plays a run to its end; returns its outcome, and what is left of it.
pub(crate) fn play(
    seed: u64,
    core: Core,
    clients: Clients,
    world: World,
    library: &Library,
) -> (Outcome, Core) {
    let mut run = Run { core, processes: Vec::new(), clients, world, library };
    run.prepare(seed);
    run.play();
    run.end(seed)
}

impl Run<'_> {
    /// Processes, and all that is to happen by itself.
    fn prepare(&mut self, seed: u64) {
        let workers = self.core.plan.workers;
        let roles = [
            (Role::Intake, 2),
            (Role::Dispatcher, 2),
            (Role::Activator, 2),
            (Role::Notifier, 2),
            (Role::Worker, workers),
        ];
        for (role, count) in roles {
            for number in 0..count {
                let name = format!("{}-{number}", role.as_str());
                let process = Process {
                    role,
                    name,
                    life: 0,
                    state: None,
                    frozen: false,
                    deferred: VecDeque::new(),
                    node: None,
                };
                self.core.schedule(0, Event::Start(self.processes.len()));
                self.processes.push(process);
            }
        }
        let mut chance = Chance::of(seed, 8);
        let (arrival, faults_ms) = (self.core.plan.arrival_ms, self.core.plan.faults_ms);
        for index in 0..self.clients.count() {
            self.core.schedule(50 + chance.between(0, arrival), Event::Submit(index, 0));
        }
        for _ in 0..self.core.plan.actions {
            let action = [
                Action::Cancel,
                Action::Interrupt,
                Action::Kill,
                Action::Restart,
                Action::RestartFromStart,
                Action::Restart,
            ][usize::try_from(chance.below(6)).unwrap_or(0)];
            let index = usize::try_from(chance.below(self.clients.count() as u64)).unwrap_or(0);
            self.core.schedule(chance.between(200, faults_ms), Event::Act(action, index));
        }
        for key in 0..self.core.plan.operations {
            let action =
                [Action::Restart, Action::RestartFromStart, Action::Cancel, Action::Kill, Action::Interrupt]
                    [usize::try_from(chance.below(5)).unwrap_or(0)];
            self.core.schedule(chance.between(3_000, faults_ms), Event::Operate(key, action));
        }
        for _ in 0..self.core.plan.stops {
            let stop = Event::StopFlow(chance.below(4), chance.between(4_000, 20_000));
            self.core.schedule(chance.between(500, faults_ms), stop);
        }
        for _ in 0..self.core.plan.faults {
            let process = usize::try_from(chance.below(self.processes.len() as u64)).unwrap_or(0);
            let fault = match chance.below(14) {
                // The leader, longer than its lease lasts.
                12 | 13 => {
                    Fault::Freeze(2 + usize::from(chance.happens(500_000)), chance.between(3_500, 9_000))
                }
                0..=3 => Fault::Kill(process, chance.between(100, 14_000)),
                4 | 5 => Fault::Stop(process, chance.between(4_000, 9_000)),
                6..=8 => Fault::Freeze(process, chance.between(500, 22_000)),
                9 => Fault::Cut(process, chance.between(500, 15_000)),
                10 => Fault::Database(chance.between(300, 4_000)),
                _ => Fault::Broker(chance.between(300, 4_000)),
            };
            self.core.schedule(chance.between(500, faults_ms), Event::Fault(fault));
        }
        self.core.schedule(faults_ms, Event::Heal);
        self.core.schedule(JUDGE, Event::Judge);
    }

    fn play(&mut self) {
        let mut events = 0;
        while let Some(event) = self.core.next_event() {
            events += 1;
            self.core.turn = (usize::MAX, 0);
            self.happen(event);
            if !self.core.tables.witness.violations.is_empty() || events > EVENTS {
                return;
            }
            let bound = BOUND + BOUND_OF_ORDER * Millis::try_from(self.clients.count()).unwrap_or(0);
            let over = self.core.healed_at > 0 && self.core.now > self.core.healed_at + bound;
            if over || (events % 256 == 0 && self.is_quiet()) {
                return;
            }
        }
    }

    /// All has been sent, and all has ended.
    fn is_quiet(&self) -> bool {
        self.core.healed_at > 0
            && self.core.now > self.core.healed_at + 45_000
            && judge::is_at_rest(&self.core)
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::To { process, life, input } => self.give(process, life, input),
            Event::Submit(index, times) => self.clients.submit(&mut self.core, index, times),
            Event::Act(action, index) => {
                let no = self.core.tables.no_of(self.clients.id(index));
                if let Some(no) = no
                    && let Some(process) = self.core.any_of(Role::Intake)
                {
                    self.give(process, self.processes[process].life, Input::Act(action, no));
                }
            }
            Event::Operate(key, action) => self.ask_intake(Input::Operate(key, action)),
            Event::StopFlow(flow, length) => {
                if self.core.faulty {
                    let length = Duration::from_millis(length.unsigned_abs());
                    self.ask_intake(Input::StopFlow(flow, length));
                }
            }
            Event::Callback(request, status) => self.clients.call_back(&mut self.core, request, status),
            Event::Fault(fault) => self.break_something(fault),
            Event::Start(process) => self.start(process),
            Event::Thaw(process, life) => self.thaw(process, life),
            Event::Heal => self.heal(),
            Event::Judge => {
                self.core.schedule(JUDGE, Event::Judge);
                judge::look(&mut self.core);
            }
        }
    }

    /// An operator asks one of the intakes, if one lives; otherwise again, later.
    fn ask_intake(&mut self, input: Input) {
        match (self.core.any_of(Role::Intake), &input) {
            (Some(process), _) => self.give(process, self.processes[process].life, input),
            (None, Input::Operate(key, action)) => self.core.schedule(1_000, Event::Operate(*key, *action)),
            (None, _) => {}
        }
    }

    fn give(&mut self, index: ProcessId, life: u32, input: Input) {
        let process = &mut self.processes[index];
        if process.life != life || process.state.is_none() {
            return;
        }
        if process.frozen {
            process.deferred.push_back(input);
            return;
        }
        self.core.turn = (index, life);
        self.core.died = false;
        let Some(mut state) = process.state.take() else { return };
        if matches!(input, Input::Beat) {
            self.beat(index, &mut state);
        } else {
            match &mut state {
                State::Intake => Intake::take(&mut self.core, &mut self.clients, input),
                State::Notifier => Notifier::take(&mut self.core, input),
                State::Dispatcher(dispatcher) => dispatcher.take(&mut self.core, input),
                State::Worker(worker) => worker.take(&mut self.core, &mut self.world, self.library, input),
                State::Activator(activator) => activator.take(&mut self.core, self.library, input),
            }
        }
        self.processes[index].state = Some(state);
        if self.core.died {
            self.die(index);
            let after = self.core.chance.between(100, 12_000);
            self.core.schedule(after, Event::Start(index));
        }
    }

    /// Gives a sign of life; a process that was declared over registers again, unless another one has its name.
    fn beat(&mut self, index: ProcessId, state: &mut State) {
        let every = self.core.chance.between(900, 1_100);
        self.core.later(every, Input::Beat);
        let process = &self.processes[index];
        let (Some(node), name, role) = (process.node, process.name.clone(), process.role) else { return };
        if self.core.call("beat", |tables| tables.beat(node, LOST_AFTER)) != Ok(false) {
            return;
        }
        let places = if role == Role::Worker { self.core.plan.concurrency } else { 0 };
        let Ok(node) = self.core.call("register node", |tables| tables.register_node(&name, role, places))
        else {
            return;
        };
        self.core.note(format_args!("{name} was declared lost, and is node {node} now"));
        self.core.tables.witness.saw("a node that was declared lost came back");
        self.processes[index].node = Some(node);
        match state {
            State::Worker(worker) => worker.reborn(node),
            State::Dispatcher(dispatcher) => {
                self.core.listeners.remove(&index);
                **dispatcher = Dispatching::new(node);
            }
            State::Activator(activator) => *activator = Activating::new(node),
            State::Intake | State::Notifier => {}
        }
        self.core.nodes.insert(node, index);
    }

    fn start(&mut self, index: ProcessId) {
        if self.processes[index].state.is_some() {
            return;
        }
        self.processes[index].life += 1;
        let process = &self.processes[index];
        let (role, life, name) = (process.role, process.life, process.name.clone());
        self.core.turn = (index, life);
        self.core.died = false;
        let places = if role == Role::Worker { self.core.plan.concurrency } else { 0 };
        let registered = self.core.call("register node", |tables| tables.register_node(&name, role, places));
        let Ok(node) = registered else {
            self.core.schedule(1_500, Event::Start(index));
            return;
        };
        self.core.note(format_args!("{name} begins as node {node}"));
        let state = match role {
            Role::Intake => State::Intake,
            Role::Notifier => State::Notifier,
            Role::Dispatcher => State::Dispatcher(Box::new(Dispatching::new(node))),
            Role::Worker => State::Worker(Working::new(node, places)),
            Role::Activator => State::Activator(Activating::new(node)),
        };
        let process = &mut self.processes[index];
        (process.state, process.node, process.frozen) = (Some(state), Some(node), false);
        self.core.living.insert(index, (role, life));
        self.core.nodes.insert(node, index);
        self.core.later(1, Input::Begin);
        self.core.later(1_000, Input::Beat);
    }

    fn end(mut self, seed: u64) -> (Outcome, Core) {
        if self.core.tables.witness.violations.is_empty() {
            judge::at_the_end(&mut self.core, &self.clients);
        }
        (Outcome::of(seed, &mut self.core), self.core)
    }
}
