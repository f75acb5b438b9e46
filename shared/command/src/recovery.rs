//! Recovery of orders: stages are handed out again, and orders are ended. The evidence is the caller's, the
//! remedy is the domain's.

use pagurus_domain::classes::POISON;
use pagurus_domain::id::{OrderNo, Pass};
use pagurus_domain::number::saturated;
use pagurus_domain::order::OrderError;
use pagurus_domain::order::transition::Cause;
use pagurus_domain::recovery::{Finding, Remedy, Suspicion, remedy};
use pagurus_runtime::metrics::{Count, Guard};
use pagurus_runtime::node::chain;
use pagurus_runtime::{Effects, Host, actors};
use pagurus_store::hot::control::{self, Locked, LockedOrders, Place};
use pagurus_store::hot::requests;
use pagurus_store::hot::suspects::{self, SuspectedStage};
use pagurus_store::outside::ends::{self, Ending};
use pagurus_store::recovery::lost::{self, Stuck};
use pagurus_store::{Error, Tx};
use serde_json::json;

/// Stages that were found, by their treatment.
#[derive(Debug)]
pub struct Sorted<'a> {
    /// Stages that were handed out again.
    pub again: Vec<&'a Stuck>,
    /// Stages that were handed out too often and are still where they were: see [`end_poisoned`].
    pub poison: Vec<&'a Stuck>,
}

/// Hands locked stages out again, except poison; notifications and news are added to the effects.
pub async fn hand_out_again<'a>(
    host: &Host,
    tx: &Tx<'_>,
    stuck: impl IntoIterator<Item = &'a Stuck>,
    finding: Finding,
    effects: &mut Effects,
) -> Result<Sorted<'a>, Error> {
    let max = saturated::<u16>(host.settings().recovery.max_restarts);
    let stuck: Vec<&Stuck> = stuck.into_iter().collect();
    let nos: Vec<i64> = stuck.iter().map(|stage| stage.no.0).collect();
    let known = suspects::of_orders(tx, &nos).await?;
    let mut again = Vec::new();
    let mut suspected = Vec::new();
    let mut poison = Vec::new();
    for stage in stuck {
        let suspect = known.iter().find(|suspect| suspect.hand_out == (stage.no, stage.attempt));
        let suspicion = suspect.map_or_else(Suspicion::default, |suspect| suspicion_of(stage, suspect));
        match remedy(finding, saturated::<u16>(stage.restarts), suspicion, max) {
            Remedy::HandOutAgain { restarts, deaths } => {
                again.push((stage, saturated::<i16>(restarts)));
                if finding == Finding::NodeLost || deaths > 0 {
                    suspected.push(next_suspect(stage, suspect, deaths));
                }
            }
            Remedy::Poison => poison.push(stage),
        }
    }
    suspects::keep(tx, &suspected).await?;
    let begun: Vec<_> = again.iter().map(|(stage, _)| (stage.no, stage.started_at)).collect();
    actors::ask_to_stop(host, requests::tasks_of_stages(tx, &begun).await?, finding.as_str()).await;
    effects.may_run(&lost::reissue(tx, &again, &host.name, finding.as_str()).await?);
    effects.over.extend(again.iter().map(|(stage, _)| (stage.no, stage.attempt)));
    Ok(Sorted { again: again.into_iter().map(|(stage, _)| stage).collect(), poison })
}

/// A node by name and life, as logs tell it.
#[must_use]
pub fn node_of(stage: &Stuck) -> String {
    format!("{} (life {})", stage.node_name.as_deref().unwrap_or("a node that is not registered"), stage.node)
}

/// Ends the orders of stages that are poison; how many.
pub async fn end_poisoned(host: &Host, poison: &[&Stuck], finding: Finding) -> usize {
    let ends: Vec<EndWanted> = poison
        .iter()
        .map(|stage| EndWanted {
            no: stage.no,
            pass: Some(stage.pass),
            cause: Cause::Poisoned,
            class: Some(POISON),
            message: poison_of(stage, finding, host.settings().recovery.max_restarts),
        })
        .collect();
    let ended = end_all(host, &ends).await;
    host.metrics.count(Count::Poisoned, "", ended as u64);
    ended
}

fn suspicion_of(stage: &Stuck, suspect: &SuspectedStage) -> Suspicion {
    Suspicion {
        deaths: suspect.deaths,
        is_computed: suspect.is_computed,
        is_elsewhere: suspect.died_on != stage.node_name,
    }
}

/// The suspect under its next hand-out.
fn next_suspect(stage: &Stuck, suspect: Option<&SuspectedStage>, deaths: u16) -> SuspectedStage {
    let before = suspect.map_or(0, |suspect| suspect.deaths);
    let died_on = match suspect {
        _ if deaths > before => stage.node_name.clone(),
        Some(suspect) => suspect.died_on.clone(),
        None => None,
    };
    SuspectedStage { hand_out: (stage.no, stage.attempt.next()), deaths, died_on, is_computed: false }
}

fn poison_of(stage: &Stuck, finding: Finding, max_restarts: u32) -> String {
    let times = stage.restarts + 1;
    let why = match u32::try_from(stage.restarts).is_ok_and(|restarts| restarts >= max_restarts) {
        true => format!("the stage was handed out {times} times and never ended"),
        false => "each of its last workers died while it computed the stage".to_owned(),
    };
    format!("{why}; last on node {}, hand-out {}, {finding}", node_of(stage), stage.attempt)
}

/// End of an order that recovery, or a condition, asks for.
#[derive(Clone, Debug)]
pub struct EndWanted {
    /// The order.
    pub no: OrderNo,
    /// Pass of the stage that was found: without it, or under another, the order has gone on meanwhile. None
    /// where the end does not hang on a stage.
    pub pass: Option<Pass>,
    /// Event that it is.
    pub cause: Cause,
    /// Class of its error; without one there is no error.
    pub class: Option<&'static str>,
    /// Reason, for people.
    pub message: String,
}

/// Ends orders, where the law lets them; how many did. All in one transaction, and in halves where somebody
/// has locked one of them: that one is found again, and holds up no other.
pub async fn end_all(host: &Host, ends: &[EndWanted]) -> usize {
    let mut ended = 0;
    let mut open = vec![ends];
    while let Some(part) = open.pop().filter(|part| !part.is_empty()) {
        match end_together(host, part).await {
            Ok(count) => ended += count,
            Err(error) if part.len() > 1 && error.concerns_one_item() => {
                let (first, second) = part.split_at(part.len() / 2);
                open.extend([second, first]);
            }
            Err(error) => {
                host.metrics.count(Count::StoreErrors, part[0].cause.as_str(), 1);
                let orders = part.len();
                tracing::warn!(order = %part[0].no, orders, error = chain(&error), "orders could not be ended yet");
            }
        }
    }
    ended
}

/// Kind of the deadline that an end is about.
const fn deadline_of(cause: Cause) -> Option<&'static str> {
    match cause {
        Cause::StartDeadlinePassed => Some("start"),
        Cause::ProcessTimedOut => Some("process"),
        _ => None,
    }
}

async fn end_together(host: &Host, wanted: &[EndWanted]) -> Result<usize, Error> {
    // Many at once are never in the way of what is woken.
    let store = &host.store;
    let mut client = if wanted.len() > 1 { store.operations().await? } else { store.recovery().await? };
    let tx = client.transaction().await?;
    let mut effects = Effects::default();
    let count = end_in(host, &tx, wanted, &mut effects).await?;
    tx.commit().await?;
    drop(client);
    effects.send(host).await;
    Ok(count)
}

/// Ends orders in a transaction of the caller, where the law lets them; how many did.
///
/// # Errors
/// The database fails, or one of them is locked, or moves.
pub async fn end_in(
    host: &Host,
    tx: &Tx<'_>,
    wanted: &[EndWanted],
    effects: &mut Effects,
) -> Result<usize, Error> {
    let nos: Vec<i64> = wanted.iter().map(|end| end.no.0).collect();
    let LockedOrders { orders, moved } = control::lock_all(tx, &nos).await?;
    if !moved.is_empty() {
        return Err(Error::Contended);
    }
    end_locked(host, tx, &orders, wanted, effects).await
}

/// Ends orders that the caller has locked.
pub async fn end_locked(
    host: &Host,
    tx: &Tx<'_>,
    orders: &[Locked],
    wanted: &[EndWanted],
    effects: &mut Effects,
) -> Result<usize, Error> {
    let mut ends = Vec::with_capacity(wanted.len());
    for order in orders {
        let Some(end) = wanted.iter().find(|end| end.no == order.head.no) else { continue };
        if end.pass.is_some_and(|pass| order.place != (Place::Running { pass })) {
            host.metrics.guard_refused(Guard::Law(end.cause), 1);
            continue;
        }
        let Ok(allowed) = order.may(end.cause) else {
            host.metrics.guard_refused(Guard::Law(end.cause), 1);
            if let Some(kind) = deadline_of(end.cause) {
                // It has begun, or ended: the deadline has nothing more to say.
                lost::drop_deadline(tx, order.head.no, kind).await?;
            }
            continue;
        };
        if end.cause == Cause::StartDeadlinePassed {
            host.metrics.count(Count::StartMissed, &order.scenario, 1);
        }
        let detail = json!({"class": end.class, "message": end.message, "from": order.status.as_str()});
        let error = end.class.map(|class| OrderError::new(class, end.message.as_str()));
        ends.push((allowed, Ending { error, step: None, source: &host.name, detail: detail.to_string() }));
    }
    let ended = ends::end_lives(tx, &ends).await?;
    effects.lives_ended(&ends, ended);
    Ok(ends.len())
}
