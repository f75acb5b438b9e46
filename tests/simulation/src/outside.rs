//! The world around the engine: clients, called systems, operators. What it answers follows from the seed and from what it
//! was asked, and from nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use pagurus_domain::id::{RequestId, Role, ScenarioNo};
use pagurus_domain::invariants::{Invariant, Violation};
use pagurus_domain::order::Mode;
use pagurus_domain::order::dependency::StartMode;
use pagurus_domain::order::registration::{NewOrder, Request};
use pagurus_scenario::stage::{HttpCall, HttpFailure, Publication, Response};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::chance::{Chance, mix};
use crate::constant::ConstantWorld;
use crate::core::{Core, Millis, millis, stamp};
use crate::message::{Durable, Event, Input};
use crate::plan::{CALL_TIMEOUT, Plan};
use crate::scenarios::Library;
use crate::store::Registered;

/// The parameter of an order whose calls kill their worker.
pub const DEADLY: u64 = 66;

/// The clients.
#[derive(Debug, Default)]
pub struct Clients {
    /// Orders that they send, and true for those over HTTP.
    orders: Vec<(Arc<NewOrder>, bool)>,
    done: Vec<bool>,
    /// Contents of each id.
    pub sent: BTreeMap<String, Vec<Vec<u8>>>,
    /// Contents that were confirmed to them, by id.
    pub confirmed: BTreeMap<String, Vec<u8>>,
    accepted: BTreeMap<String, u32>,
    /// True if called systems answer again until they are confirmed.
    insists: bool,
    /// Answers of called systems that were confirmed, by request.
    pub answers: BTreeMap<Uuid, usize>,
}

impl Clients {
    /// Clients of a seed, with what they will send.
    ///
    /// # Errors
    /// An order cannot be read, which is a defect of this file.
    pub fn of(seed: u64, plan: &Plan, scenarios: usize) -> Result<Self, String> {
        let mut chance = Chance::of(seed, 4);
        let salt = chance.number();
        let mut clients = Self::default();
        for index in 0..plan.orders {
            let order = order((&mut chance, salt), plan, index, scenarios, &clients.sent)?;
            let contents = clients.sent.entry(order.request.id.clone()).or_default();
            contents.push(order.request.digest.to_vec());
            clients.orders.push((Arc::new(order), chance.happens(300_000)));
            clients.done.push(false);
        }
        Ok(clients)
    }

    /// Clients that send these orders, and called systems that answer until they are confirmed; the orders are of scenarios whose names end with their numbers.
    ///
    /// # Errors
    /// An order cannot be read.
    pub fn with(seed: u64, orders: Vec<Value>, library: &Library) -> Result<Self, String> {
        let mut chance = Chance::of(seed, 4);
        let mut clients = Self { insists: true, ..Self::default() };
        for order in orders {
            let request = Request::read(order).map_err(|faults| format!("{faults:?}"))?;
            clients.sent.insert(request.id.clone(), vec![request.digest.to_vec()]);
            let order = new_order(request, None, Some(library));
            clients.orders.push((Arc::new(order), chance.happens(300_000)));
            clients.done.push(false);
        }
        Ok(clients)
    }

    /// Orders that they send.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.orders.len()
    }

    /// The id of the order of this index.
    #[must_use]
    pub fn id(&self, index: usize) -> &str {
        &self.orders[index].0.request.id
    }

    /// A client sends its order, again and again until it is confirmed.
    pub fn submit(&mut self, core: &mut Core, index: usize, times: u32) {
        if self.done[index] {
            return;
        }
        let (order, over_http) = self.orders[index].clone();
        let id = order.request.id.clone();
        let again = Event::Submit(index, times + 1);
        if over_http {
            if let Some(process) = core.any_of(Role::Intake)
                && let Some((_, life)) = core.living.get(&process).copied()
            {
                core.schedule(2, Event::To { process, life, input: Input::Post(order) });
            }
            core.schedule(3_000, again);
        } else if core.publish(Durable::Order(order.clone())) {
            self.done[index] = true;
            if self.sent[&id].len() == 1 {
                self.confirmed.insert(id, order.request.digest.to_vec());
            }
        } else {
            core.schedule(1_000, again);
        }
    }

    /// An intake has answered.
    pub fn answered(&mut self, core: &mut Core, order: &Arc<NewOrder>, became: &Registered) {
        let id = &order.request.id;
        for (index, (sent, _)) in self.orders.iter().enumerate() {
            if Arc::ptr_eq(sent, order) {
                self.done[index] = true;
            }
        }
        match became {
            Registered::Conflict(_) => core.tables.witness.saw("a conflict"),
            // Of children only, which no client can send.
            Registered::Behind => {}
            Registered::Duplicate(_) => {
                core.tables.witness.saw("a duplicate order");
                self.confirmed.insert(id.clone(), order.request.digest.to_vec());
            }
            Registered::Accepted { .. } => {
                self.confirmed.insert(id.clone(), order.request.digest.to_vec());
                let count = self.accepted.entry(id.clone()).or_default();
                *count += 1;
                let count = *count;
                let twice = Violation::unless(count == 1, Invariant::OneRegistration, || {
                    format!("`{id}` was accepted {count} times")
                });
                core.tables.witness.violations.extend(twice);
            }
        }
    }

    /// An answer over HTTP was kept.
    pub fn kept(&mut self, request: Uuid) {
        *self.answers.entry(request).or_default() += 1;
    }

    /// A called system answers a request, over one of the two transports.
    pub fn call_back(&mut self, core: &mut Core, request: Uuid, step_status: &'static str) {
        if self.insists && self.answers.contains_key(&request) {
            return;
        }
        if mix(request.as_u128() as u64).is_multiple_of(3) {
            if self.insists {
                core.schedule(2_000, Event::Callback(request, step_status));
            }
            if let Some(process) = core.any_of(Role::Intake)
                && let Some((_, life)) = core.living.get(&process).copied()
            {
                core.schedule(2, Event::To { process, life, input: Input::Answered(request, step_status) });
            }
        } else if core.publish(Durable::Callback { request, content: step_status.into() }) {
            self.kept(request);
        } else {
            core.schedule(1_000, Event::Callback(request, step_status));
        }
    }
}

fn order(
    (chance, salt): (&mut Chance, u64),
    plan: &Plan,
    index: usize,
    scenarios: usize,
    sent: &BTreeMap<String, Vec<Vec<u8>>>,
) -> Result<NewOrder, String> {
    // A few have the id of another, with the same content or with other content.
    let twin = index > 0 && chance.happens(30_000);
    let number = if twin { chance.below(index as u64) } else { index as u64 };
    let mut own = Chance::of(salt ^ number, 5);
    let scenario = usize::try_from(own.below(scenarios as u64)).unwrap_or(0);
    let priority = ["high", "normal", "normal", "low"][usize::try_from(own.below(4)).unwrap_or(0)];
    let deadly = own.happens(12_000);
    let n = if deadly {
        DEADLY
    } else if twin && chance.happens(500_000) {
        77
    } else {
        own.below(10)
    };
    let mut body = json!({
        "id": format!("o{number}"), "scenario": format!("s{scenario}"), "params": {"n": n},
        "priority": priority,
    });
    if own.happens(500_000) {
        body["mode"] = "sequential".into();
        body["queue"] = format!("q{}", own.below(plan.queues)).into();
    }
    if own.happens(600_000) {
        body["notify"] = json!({"url": "amqp://?key=k", "on": ["final"]});
    }
    if own.happens(60_000) {
        body["lifecycle"] = json!({"startAt": stamp(own.between(0, plan.arrival_ms + 10_000)).to_string()});
    }
    let (after, start_mode) = conditions((&mut own, number), plan, sent);
    let waits = !after.is_empty();
    if waits {
        body["lifecycle"]["after"] = after.into();
    }
    let request = Request::read(body).map_err(|faults| format!("{faults:?}"))?;
    let (mode, queue) = request.mode_and_queue(None).map_err(|fault| fault.to_string())?;
    Ok(NewOrder {
        mode,
        queue,
        request: Arc::new(request),
        scenario: ScenarioNo(i32::try_from(scenario).unwrap_or(0)),
        flow: format!("s{scenario}"),
        start_deadline: own.happens(40_000).then(|| stamp(own.between(1_000, plan.arrival_ms + 20_000))),
        process_timeout: own
            .happens(if waits { 300_000 } else { 40_000 })
            .then(|| Duration::from_secs(own.between(2, 60).unsigned_abs())),
        start_mode,
        trace: None,
        answers: None,
        attributes: Vec::new(),
    })
}

/// The order of a registration, of the scenario with the number in its name, which gives it its queue if it names one.
#[must_use]
pub fn new_order(request: Request, answers: Option<RequestId>, library: Option<&Library>) -> NewOrder {
    let number: i32 = request.scenario.trim_start_matches('s').parse().unwrap_or(0);
    let scenario = library.map(|library| library.scenario(usize::try_from(number).unwrap_or(0)));
    let template = scenario.as_ref().and_then(|scenario| scenario.queue.as_ref());
    let queue = template.map(|template| template.queue(&request.params));
    let (mode, queue) = request.mode_and_queue(queue).unwrap_or((Mode::Parallel, None));
    NewOrder {
        mode,
        queue,
        flow: request.scenario.clone(),
        request: Arc::new(request),
        scenario: ScenarioNo(number),
        start_deadline: None,
        process_timeout: None,
        start_mode: StartMode::Reactive,
        trace: None,
        answers,
        attributes: Vec::new(),
    }
}

/// Draws the conditions of an order: one or two orders that were sent before it, so that no wait is endless.
fn conditions(
    (own, number): (&mut Chance, u64),
    plan: &Plan,
    sent: &BTreeMap<String, Vec<Vec<u8>>>,
) -> (Vec<Value>, StartMode) {
    if number < 2 || !own.happens(plan.dependent) {
        return (Vec::new(), StartMode::Reactive);
    }
    let mut named = BTreeSet::new();
    for _ in 0..own.between(1, 2) {
        named.insert(format!("o{}", own.below(number)));
    }
    let condition = |before: String, own: &mut Chance| {
        let states = [json!(["done"]), json!(["done"]), json!(["done", "failed"])]
            [usize::try_from(own.below(3)).unwrap_or(0)]
        .clone();
        let otherwise = if own.happens(500_000) { "fail" } else { "cancel" };
        json!({"order": before, "states": states, "otherwise": otherwise})
    };
    // An order with the id of another leaves its own id unused.
    let after = named.into_iter().map(|before| condition(before, own));
    let after = after.filter(|one| one["order"].as_str().is_some_and(|id| sent.contains_key(id))).collect();
    (after, if own.happens(700_000) { StartMode::Reactive } else { StartMode::Polling })
}

/// The called systems.
#[derive(Debug)]
pub struct World {
    seed: u64,
    /// Set where a request is answered the same way however often it is made.
    constant: Option<ConstantWorld>,
    /// Number of times that each key was asked.
    asked: BTreeMap<Uuid, u32>,
}

impl World {
    /// Creates the world of a seed.
    #[must_use]
    pub const fn of(seed: u64) -> Self {
        Self { seed, constant: None, asked: BTreeMap::new() }
    }

    /// Creates the world of a seed in which a request is answered the same way however often it is made.
    #[must_use]
    pub const fn constant(seed: u64) -> Self {
        Self { seed, constant: Some(ConstantWorld(seed)), asked: BTreeMap::new() }
    }

    /// Makes a call; returns the outcome, and the time that it takes. It follows from the key and from how often the order was
    /// retried, so that a repeat after a crash is answered as the first was.
    pub fn http(
        &mut self,
        core: &mut Core,
        (retries, poll): (i32, u32),
        call: &HttpCall,
    ) -> (Result<Response, HttpFailure>, Millis) {
        let key = call.idempotency_key;
        *self.asked.entry(key).or_default() += 1;
        let name = u64::from(retries.unsigned_abs()) << 32 | u64::from(poll);
        let (high, low) = key.as_u64_pair();
        let mut dice = Chance::of(self.seed ^ mix(high) ^ low, name);
        let constant = self.constant.map(|world| world.answer(&call.url));
        match (call.request, constant) {
            (None, _) => {}
            (Some(request), None) => self.asked(core, request.0, key),
            (Some(request), Some(answer)) => call_back_soon(core, request.0, answer.callback),
        }
        let after = if dice.happens(core.plan.slow) {
            dice.between(200, core.plan.slow_ms)
        } else {
            dice.between(1, 30)
        };
        let failed = |name: &'static str| Err(HttpFailure { chain: vec![name], message: name.to_owned() });
        if let Some(answer) = constant {
            let outcome = answer.status.map(|status| response(status, answer.number));
            return (outcome.map_or_else(|| failed("ConnectionClosed"), Ok), after);
        }
        let number = dice.below(100);
        match dice.below(100) {
            0..=84 => (Ok(response(200, number)), after),
            85..=90 => (Ok(response(503, number)), after),
            91..=93 => (Ok(response(404, number)), after),
            94..=97 => (failed("ConnectError"), after),
            _ => (failed("TimedOut"), millis(CALL_TIMEOUT)),
        }
    }

    /// A system got a message that it answers later.
    pub fn published(&self, core: &mut Core, request: Uuid, message: &Publication) {
        match self.constant {
            None => self.asked(core, request, message.message_id),
            Some(world) => {
                call_back_soon(core, request, (!world.is_silent(&message.key)).then_some("fine"));
            }
        }
    }

    /// A system was asked something that it answers later: early, in time, late, twice, or never.
    fn asked(&self, core: &mut Core, request: Uuid, key: Uuid) {
        let (high, low) = key.as_u64_pair();
        let mut dice = Chance::of(self.seed ^ mix(low) ^ high, 6);
        let status =
            ["fine", "fine", "fine", "fine", "refused", "odd"][usize::try_from(dice.below(6)).unwrap_or(0)];
        let after = match dice.below(10) {
            0 => return,
            1..=3 => dice.between(0, 2),
            4..=8 => dice.between(20, 6_000),
            _ => dice.between(6_000, 40_000),
        };
        core.schedule(after, Event::Callback(request, status));
        if dice.happens(150_000) {
            core.schedule(after + dice.between(0, 3_000), Event::Callback(request, "fine"));
        }
    }
}

/// Answers a request early or a little later, if at all.
fn call_back_soon(core: &mut Core, request: Uuid, status: Option<&'static str>) {
    let after = core.chance.between(0, 500);
    if let Some(status) = status {
        core.schedule(after, Event::Callback(request, status));
    }
}

fn response(status: u16, number: u64) -> Response {
    Response {
        status,
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: format!("{{\"n\": {number}}}"),
        duration: Duration::from_millis(1),
    }
}
