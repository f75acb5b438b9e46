//! Orders that have outlived their process time-out, and whose scenarios say what follows (REC-5): the event
//! `timeout:process`, where the present state handles it. One that runs gets it when its stage ends.

use std::time::Duration;

use pagurus_command::recovery::{EndWanted, end_locked};
use pagurus_domain::classes::{DEADLINE_EXCEEDED, PROCESS_TIMEOUT};
use pagurus_domain::id::OrderNo;
use pagurus_domain::order::Status;
use pagurus_domain::order::transition::Cause;
use pagurus_runtime::metrics::Count;
use pagurus_runtime::node::chain;
use pagurus_runtime::scenarios::{Catalogue, Known};
use pagurus_runtime::{Effects, Host};
use pagurus_scenario::{Event, Scenario};
use pagurus_store::hot::control::{self, Locked, Place};
use pagurus_store::recovery::lost::{self, PassedDeadline};
use pagurus_store::{Client, Error};

/// Time after which a stage that runs is looked at again.
const AGAIN: Duration = Duration::from_secs(1);

/// Splits orders into those whose scenarios handle the event in some state, and the others.
pub(crate) async fn split(
    client: &Client,
    catalogue: &Catalogue,
    passed: Vec<PassedDeadline>,
) -> Result<(Vec<PassedDeadline>, Vec<PassedDeadline>), Error> {
    let (mut handled, mut silent) = (Vec::new(), Vec::new());
    for one in passed {
        let known = match one.scenario.filter(|_| one.kind == "process") {
            Some(scenario) => catalogue.get(client, scenario).await?.and_then(Known::readable),
            None => None,
        };
        let handles = known.is_some_and(|scenario| scenario.handles_process_timeout());
        if handles { handled.push(one) } else { silent.push(one) }
    }
    Ok((handled, silent))
}

/// Lets each order go on by the event, or ends it. One that fails keeps no other from its turn.
pub(crate) async fn tell(host: &Host, catalogue: &Catalogue, passed: &[PassedDeadline]) {
    for one in passed {
        if let Err(error) = tell_one(host, catalogue, one.no).await {
            host.metrics.count(Count::StoreErrors, "process_timeout", 1);
            tracing::warn!(order = %one.no, error = chain(&error), "a process time-out could not be delivered yet");
        }
    }
}

async fn tell_one(host: &Host, catalogue: &Catalogue, no: OrderNo) -> Result<(), Error> {
    let mut client = host.store.recovery().await?;
    let tx = client.transaction().await?;
    let orders = control::lock_all(&tx, &[no.0]).await?.orders;
    let Some(order) = orders.first() else { return Ok(()) };
    let scenario = catalogue.get(&tx, order.head.scenario).await?.and_then(Known::readable);
    let mut effects = Effects::default();
    match order.place {
        Place::Due if handles(order, scenario.as_deref()) => {
            effects.may_run(&lost::wake_outlived(&tx, no, order.status).await?);
        }
        Place::Running { .. } => lost::put_off(&tx, no, "process", AGAIN).await?,
        Place::Ready { .. } if order.step.is_some() => {
            lost::put_off(&tx, no, "process", AGAIN).await?;
        }
        Place::Due | Place::Ready { .. } | Place::None => {
            end_locked(host, &tx, &orders, &[end_by_deadline(no, "process")], &mut effects).await?;
        }
    }
    tx.commit().await?;
    drop(client);
    effects.send(host).await;
    Ok(())
}

/// True if the state in which the order rests says what follows.
fn handles(order: &Locked, scenario: Option<&Scenario>) -> bool {
    let state = scenario.zip(order.step.as_deref()).filter(|_| order.status != Status::Postponed);
    state.is_some_and(|(scenario, step)| {
        let state = scenario.state_named(step).map(|state| scenario.state(state));
        state.is_some_and(|state| state.target_of(Event::ProcessTimeout).is_some())
    })
}

/// Returns the end of an order by a deadline of this kind.
pub(crate) fn end_by_deadline(no: OrderNo, kind: &str) -> EndWanted {
    let (cause, class, message) = if kind == "start" {
        let message = "the deadline to start passed before anything was executed";
        (Cause::StartDeadlinePassed, DEADLINE_EXCEEDED, message)
    } else {
        (Cause::ProcessTimedOut, PROCESS_TIMEOUT, "the order outlived its process time-out")
    };
    EndWanted { no, pass: None, cause, class: Some(class), message: message.to_owned() }
}
