//! Intake: registration, answers and actions, over both transports. Nothing is acknowledged above the commit of what it caused.

use std::sync::Arc;

use pagurus_domain::id::OrderNo;
use pagurus_domain::order::registration::NewOrder;

use crate::core::{Core, Trouble};
use crate::effects::Effects;
use crate::message::{Action, Durable, Event, Input};
use crate::outside::Clients;
use crate::planted::Planted;
use crate::store::{Acted, NewCallback, Registered};

/// Deliveries taken at once.
const BATCH: usize = 8;
/// Time between two looks at the queues.
const EVERY: i64 = 400;

/// The process.
#[derive(Debug, Default)]
pub struct Intake;

impl Intake {
    /// Takes what comes.
    pub fn take(core: &mut Core, clients: &mut Clients, input: Input) {
        match input {
            Input::Begin => core.later(EVERY, Input::Tick),
            Input::Tick => {
                core.later(EVERY, Input::Tick);
                consume(core, clients);
            }
            Input::Consume => consume(core, clients),
            Input::Post(order) => {
                if let Ok(registered) = register(core, std::slice::from_ref(&*order)) {
                    clients.answered(core, &order, &registered[0]);
                }
            }
            Input::Answered(request, step_status) => {
                let kept = answer(core, vec![NewCallback { request, content: step_status.into() }]);
                kept.map_or_else(drop, |()| clients.kept(request));
            }
            Input::Act(action, no) => act(core, action, no),
            Input::Operate(key, action) => operate(core, key, action),
            Input::StopFlow(flow, length) => {
                let keyword = format!("s{flow}");
                if core.call("stop", |tables| tables.stop_flows(&keyword, length)).is_ok() {
                    core.note(format_args!("flow {keyword} is stopped for {length:?}"));
                    core.tables.witness.saw("a flow was stopped");
                }
            }
            _ => {}
        }
    }
}

fn consume(core: &mut Core, clients: &mut Clients) {
    let orders = core.consume(false, BATCH);
    if !orders.is_empty() && !consume_orders(core, clients, &orders) {
        return;
    }
    let callbacks = core.consume(true, BATCH);
    if !callbacks.is_empty() {
        consume_callbacks(core, &callbacks);
    }
}

/// False where the process has died.
fn consume_orders(core: &mut Core, clients: &mut Clients, deliveries: &[Durable]) -> bool {
    let order = |one: &Durable| match one {
        Durable::Order(order) => Some(order.clone()),
        Durable::Callback { .. } => None,
    };
    let orders: Vec<Arc<NewOrder>> = deliveries.iter().filter_map(order).collect();
    let new: Vec<NewOrder> = orders.iter().map(|order| (**order).clone()).collect();
    if core.has(Planted::AcknowledgedEarly) {
        core.acknowledge(false);
    }
    match register(core, &new) {
        Ok(registered) => {
            core.acknowledge(false);
            for (order, became) in orders.iter().zip(&registered) {
                clients.answered(core, order, became);
            }
            true
        }
        Err(Trouble::Died) => false,
        // What is not acknowledged comes again.
        Err(_) => {
            let (process, life) = core.turn;
            core.give_back(process, life);
            true
        }
    }
}

fn consume_callbacks(core: &mut Core, deliveries: &[Durable]) {
    let callback = |one: &Durable| match one {
        Durable::Callback { request, content } => {
            Some(NewCallback { request: *request, content: content.clone() })
        }
        Durable::Order(_) => None,
    };
    let callbacks: Vec<NewCallback> = deliveries.iter().filter_map(callback).collect();
    match answer(core, callbacks) {
        Ok(()) => {
            core.acknowledge(true);
        }
        Err(Trouble::Died) => {}
        Err(_) => {
            let (process, life) = core.turn;
            core.give_back(process, life);
        }
    }
}

fn register(core: &mut Core, orders: &[NewOrder]) -> Result<Vec<Registered>, Trouble> {
    let registered = core.call("register", |tables| tables.register(orders))?;
    for (order, became) in orders.iter().zip(&registered) {
        core.note(format_args!("registers {}: {became:?}", order.request.id));
    }
    let ready = |one: &Registered| match one {
        Registered::Accepted { ready, .. } => ready.clone(),
        _ => None,
    };
    Effects::of_ready(registered.iter().filter_map(ready).collect()).send(core);
    Ok(registered)
}

fn answer(core: &mut Core, callbacks: Vec<NewCallback>) -> Result<(), Trouble> {
    let (verdicts, woken) = core.call("answer", |tables| tables.answer(&callbacks))?;
    for (callback, verdict) in callbacks.iter().zip(verdicts) {
        core.note(format_args!("{}: {verdict}", callback.request));
        core.tables.witness.saw(match verdict {
            "accepted" => "a callback was accepted",
            "duplicate" => "a callback came twice",
            _ => "a callback came too late",
        });
    }
    let mut effects = Effects::of_ready(woken);
    effects.news.requests = std::mem::take(&mut core.tables.moves);
    effects.send(core);
    Ok(())
}

fn act(core: &mut Core, action: Action, no: OrderNo) {
    match core.call("act", |tables| tables.act(action, no)) {
        Ok(Some(Ok(acted))) => tell_of_action(core, action, acted),
        Ok(Some(Err(refused))) => core.note(format_args!("{refused}")),
        Ok(None) | Err(_) => {}
    }
}

/// Informs everybody of an action, no matter who asked for it.
pub fn tell_of_action(core: &mut Core, action: Action, acted: Acted) {
    match acted {
        Acted::Ended(was, woken) => {
            core.note(format_args!("{action:?} of order {}, which was `{}`", was.no, was.status));
            core.tables.witness.saw(match (action, was.running.is_some()) {
                (Action::Interrupt, _) => "an order was interrupted",
                (Action::Kill, true) => "a stage was killed while it ran",
                _ => "an order was ended by hand",
            });
            let mut effects = Effects::of_ready(woken);
            effects.life_ended(&was);
            effects.send(core);
        }
        Acted::Begun(no, ready) => {
            core.note(format_args!("{action:?} of order {no}"));
            core.tables.witness.saw(match ready {
                Some(_) => "an order was restarted",
                None => "an order was restarted, and waits for others",
            });
            Effects::of_ready(ready.into_iter().collect()).send(core);
        }
    }
}

/// An operator begins an operation on all orders that the action fits, and asks again where there is no answer.
fn operate(core: &mut Core, key: usize, action: Action) {
    let begun = core.call("operate", |tables| {
        let selection = tables.selection(action);
        tables.operate_on(key, action, &selection);
        selection.len()
    });
    match begun {
        Ok(count) => core.note(format_args!("operation {key}: {action:?} of {count} orders")),
        Err(_) => core.schedule(2_000, Event::Operate(key, action)),
    }
}
