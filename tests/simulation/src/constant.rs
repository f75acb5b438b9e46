//! Called systems that answer a request the same way however often it is made, and the one end that each order has then,
//! whatever breaks on its way. The offline runner, this simulation and the real services must agree on it.

use std::sync::Arc;

use pagurus_domain::order::{OrderError, Status};
use serde_json::{Value, json};

use crate::chance::{Chance, mix};
use crate::core::Core;
use crate::outcome::Outcome;
use crate::outside::{Clients, World};
use crate::plan::Plan;
use crate::run;
use crate::scenarios::{Deployment, Library, SEQUENTIAL, constant_names};
use crate::store::OrderRow;

/// Beginning of the paths of URLs, before the place of the request.
const PREFIX: &str = "/constant/";
/// The place that is polled in vain: whether a poll is over would depend on times elsewhere.
pub const IN_VAIN: &str = "vain";
/// Names of the queues of orders; children stand in others.
const QUEUES: u64 = 3;

/// Called systems of a seed.
#[derive(Clone, Copy, Debug)]
pub struct ConstantWorld(pub u64);

/// Answer to a request, and what comes later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConstantAnswer {
    /// The HTTP status; `None` breaks the connection.
    pub status: Option<u16>,
    /// The number in the body.
    pub number: u64,
    /// Step status of the callback; `None` if none ever comes.
    pub callback: Option<&'static str>,
}

impl ConstantWorld {
    /// Returns the answer to a request over HTTP, by the path of its URL.
    #[must_use]
    pub fn answer(self, url: &str) -> ConstantAnswer {
        let place = url.split_once(PREFIX).map_or(url, |(_, place)| place);
        let asked = place.rsplit_once('/').map_or(place, |(asked, _)| asked);
        if asked.ends_with(IN_VAIN) {
            return ConstantAnswer { status: Some(200), number: 0, callback: None };
        }
        let mut dice = self.dice(place);
        let number = dice.below(100);
        let status = match dice.below(100) {
            0..=87 => Some(200),
            88..=93 => Some(503),
            94..=96 => Some(404),
            _ => None,
        };
        let word =
            ["fine", "fine", "fine", "fine", "refused", "odd"][usize::try_from(dice.below(6)).unwrap_or(0)];
        ConstantAnswer { status, number, callback: (!self.is_silent(asked)).then_some(word) }
    }

    /// True if a place is never called back, as all places of its state.
    #[must_use]
    pub fn is_silent(self, asked: &str) -> bool {
        let state = asked.rsplit_once('/').map_or(asked, |(state, _)| state);
        self.dice(state).happens(150_000)
    }

    fn dice(self, place: &str) -> Chance {
        let mixed = place.bytes().fold(mix(self.0), |so_far, byte| mix(so_far ^ u64::from(byte)));
        Chance::of(mixed, 11)
    }
}

/// The URL of a place, with the number of the order behind it.
#[must_use]
pub fn url_of(place: &str) -> String {
    format!("${{config.demo}}{PREFIX}{place}/${{params.n}}")
}

/// Registrations of a seed: orders of its scenarios but the last, which is that of children.
#[must_use]
pub fn orders(seed: u64, count: usize) -> Vec<Value> {
    let mut chance = Chance::of(seed, 12);
    let scenarios = constant_names(seed);
    let order = |number| {
        let scenario = usize::try_from(chance.below(scenarios.len() as u64 - 1)).unwrap_or(0);
        let mut order = json!({
            "id": format!("c{seed}-{number}"),
            "scenario": scenarios[scenario],
            "params": {"n": chance.below(10)},
        });
        // An order of the scenario that names its queue says nothing of it.
        if chance.happens(500_000) && scenario != SEQUENTIAL {
            order["mode"] = "sequential".into();
            order["queue"] = format!("p{seed}-{}", chance.below(QUEUES)).into();
        }
        order
    };
    (0..count).map(order).collect()
}

/// End of an order.
#[derive(Clone, Debug, PartialEq)]
pub struct ConstantEnd {
    /// Id of the order.
    pub id: String,
    /// Status in which it ended.
    pub status: Status,
    /// States that it stood in, in their order.
    pub path: Vec<String>,
    /// Result of the order.
    pub result: Option<Value>,
    /// Class of its error; `unclassified` if the error has none.
    pub class: Option<String>,
}

/// A child that an order started, by what its parent said to it.
#[derive(Clone, Debug)]
pub struct ConstantChild {
    /// Parameters of the child.
    pub params: Arc<Value>,
    /// End of the child.
    pub end: ConstantEnd,
}

/// Outcome of a run beside these systems.
#[derive(Debug)]
pub struct ConstantOutcome {
    /// Outcome of the run.
    pub run: Outcome,
    /// Ends of the orders that clients registered.
    pub orders: Vec<ConstantEnd>,
    /// Children that they started.
    pub children: Vec<ConstantChild>,
}

/// Runs a seed, with faults and without operators.
///
/// # Errors
/// The run cannot be made, which is a defect of the simulation.
pub fn run(seed: u64, count: usize, deployment: &Deployment) -> Result<ConstantOutcome, String> {
    let library = Library::constant(seed, deployment)?;
    let plan = Plan { actions: 0, operations: 0, stops: 0, ..Plan::of(seed, count) };
    let clients = Clients::with(seed, orders(seed, count), &library)?;
    let core = Core::new(seed, plan, None);
    let (run, core) = run::play(seed, core, clients, World::constant(seed), &library);
    let (children, registered): (Vec<&OrderRow>, Vec<&OrderRow>) =
        core.tables.orders.values().partition(|order| order.parent.is_some());
    let child = |order: &OrderRow| ConstantChild { params: Arc::clone(&order.params), end: end(order) };
    Ok(ConstantOutcome {
        run,
        orders: registered.into_iter().map(end).collect(),
        children: children.into_iter().map(child).collect(),
    })
}

fn end(order: &OrderRow) -> ConstantEnd {
    let begin = order.begin.clone().unwrap_or_else(|| "s0".to_owned());
    let class = |error: &OrderError| error.class_word().to_owned();
    ConstantEnd {
        id: order.id.clone(),
        status: order.status,
        path: std::iter::once(begin).chain(order.moves.iter().map(|(_, to)| to.clone())).collect(),
        result: order.result.as_deref().and_then(|text| serde_json::from_str(text).ok()),
        class: order.error.as_ref().filter(|_| order.status == Status::Fail).map(class),
    }
}
