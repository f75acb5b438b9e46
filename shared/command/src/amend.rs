//! Changes of one order by hand: an update before it goes on, and the way that a repair shares with it. Each asks the law,
//! then writes under a lock.

use jiff::Timestamp;
use pagurus_domain::activation::{AgeGroups, Stream};
use pagurus_domain::audit::AuditKind;
use pagurus_domain::document::Fault;
use pagurus_domain::order::Status;
use pagurus_domain::order::amendment::{Repair, Update};
use pagurus_domain::order::notification;
use pagurus_domain::order::principal::Principal;
use pagurus_domain::order::transition::{Cause, Refused};
use pagurus_domain::time;
use pagurus_runtime::Effects;
use pagurus_runtime::costly;
use pagurus_scenario::admission::check_update;
use pagurus_scenario::params::is_costly;
use pagurus_store::hot::control::{self, Allowed, Locked, Place};
use pagurus_store::hot::dependencies;
use pagurus_store::hot::history;
use pagurus_store::lists::audit::AuditEntry;
use pagurus_store::outside::amend::{self, Starts, Updated, Updating};
use pagurus_store::{Client, Error, Tx};
use pagurus_wire::message::Left;
use pagurus_wire::problem::{Problem, Type};
use serde_json::{Value, json};

use crate::request::{KEYED, RequestKey, fault};
use crate::tries::Tries;
use crate::{Commands, caused, changed_params, refused, stored_snapshot};

/// A change of one order by hand.
#[derive(Clone, Copy)]
enum Amendment<'a> {
    Repair(&'a Repair),
    Update(&'a Update),
}

impl Commands {
    /// Lets a stuck order go on from another state, and returns the status that follows; all of it is taken back in a dry
    /// run. Under a key, a repeat that was carried out before does nothing.
    ///
    /// # Errors
    /// The problem to answer with: not found, refused by the law, or invalid.
    pub async fn repair(
        &self,
        id: &str,
        repair: &Repair,
        by: &Principal,
        key: Option<&RequestKey>,
        dry_run: bool,
    ) -> Result<Status, Problem> {
        let author = AmendmentAuthor { dry_run, ..AmendmentAuthor::new(by, key) };
        self.amend(id, Amendment::Repair(repair), author).await
    }

    /// Changes an order that does not run. Under a key, a repeat that was carried out before does nothing.
    ///
    /// # Errors
    /// The problem to answer with: not found, refused by the law, or invalid.
    pub async fn update(
        &self,
        id: &str,
        update: &Update,
        by: &Principal,
        key: Option<&RequestKey>,
    ) -> Result<(), Problem> {
        self.amend(id, Amendment::Update(update), AmendmentAuthor::new(by, key)).await.map(drop)
    }

    async fn amend(
        &self,
        id: &str,
        amendment: Amendment<'_>,
        mut by: AmendmentAuthor<'_>,
    ) -> Result<Status, Problem> {
        let mut tries = Tries::default();
        let (status, effects) = loop {
            let (operation, cause, outcome) = match amendment {
                Amendment::Repair(repair) => {
                    ("repair", Cause::Repaired, self.try_repair(id, repair, &by).await)
                }
                Amendment::Update(update) => {
                    ("update", Cause::Updated, self.try_update(id, update, &by).await)
                }
            };
            by.may_be_done = true;
            if let Some(done) = tries.judge(&self.host, operation, outcome).await {
                let done = done?;
                if by.dry_run {
                    return Ok(done.0);
                }
                self.note(cause.as_str(), by.principal.door, 1);
                break done;
            }
        };
        effects.send(&self.host).await;
        Ok(status)
    }

    /// Locks an order that is to be changed by hand. The answer stands at once where there is none, or where the change was
    /// made before, by one of these causes.
    pub(crate) async fn locked_for<'c>(
        &self,
        client: &'c mut Client,
        id: &str,
        causes: &[Cause],
        by: &AmendmentAuthor<'_>,
    ) -> Result<Result<(Tx<'c>, Locked), Amended>, Error> {
        self.catalogue.refresh(client).await?;
        let tx = client.transaction().await?;
        let Some(order) = control::lock(&tx, id).await? else {
            return Ok(Err(Err(Problem::no_order(id))));
        };
        if let Some(done) = by.done_before(&tx, &order, causes).await? {
            return Ok(Err(done.map(|()| (order.status, Effects::default()))));
        }
        Ok(Ok((tx, order)))
    }

    async fn try_update(&self, id: &str, asked: &Update, by: &AmendmentAuthor<'_>) -> Result<Amended, Error> {
        let mut client = self.host.store.recovery().await?;
        // With a start in the future, the event is that the order was deferred.
        let (tx, order) =
            match self.locked_for(&mut client, id, &[Cause::Updated, Cause::Deferred], by).await? {
                Ok(locked) => locked,
                Err(answer) => return Ok(answer),
            };
        let asked = match asked.completed(order.head.notify.as_deref()) {
            Ok(asked) => asked,
            Err(faults) => return Ok(Err(invalid(&faults))),
        };
        let scenario = self.scenario_of(&tx, &order).await?;
        let settings = self.host.settings();
        let mut changed = None;
        let checked = order.may(Cause::Updated).map_err(refused).and_then(|allowed| {
            let scenario = scenario?;
            changed = asked.params.as_ref().map(|params| changed_params(params, &scenario));
            let is_costly = asked.params.as_ref().is_some_and(|params| is_costly(params, &scenario));
            let check = || check_update(&asked, &scenario, &settings.notify.allow);
            costly::run(is_costly, check).map_err(|faults| invalid(&faults))?;
            Ok(allowed)
        });
        let waits = dependencies::is_waiting(&tx, order.head.no).await?;
        let groups = &settings.activation.groups;
        let start_at = match asked.start_at {
            Some(None) => Some(planned_end(&tx, &order).await?),
            given => given,
        };
        let (allowed, starts) = match checked.and_then(|allowed| planned(allowed, start_at, waits, groups)) {
            Ok(planned) => planned,
            Err(problem) => {
                self.note_refused(Cause::Updated, &problem);
                return Ok(Err(problem));
            }
        };
        let former_params = match &asked.params {
            Some(_) => control::params(&tx, &[order.head.no.0]).await?.remove(&order.head.no),
            None => None,
        };
        let kept = || order.head.notify.clone();
        let notify =
            asked.notify.as_ref().map_or_else(kept, |new| new.as_ref().map(|new| new.to_value().to_string()));
        let updating = Updating {
            params: changed,
            snapshot: resting_until(&tx, &order, starts, asked.start_at.is_some_and(|at| at.is_some()))
                .await?,
            priority: asked.priority.unwrap_or(order.priority),
            start_at: asked.start_at.unwrap_or(order.start_at),
            notify,
            starts,
            source: by.principal.source(),
            detail: caused(changes(&order, &asked, former_params.as_deref(), &by.key), by.principal)
                .to_string(),
        };
        let Updated { ready, gone, due } = amend::update(&tx, allowed, &updating).await?;
        AuditEntry::new("update", (AuditKind::Order, id), by.principal, asked.reason.as_deref())
            .record(&tx)
            .await?;
        tx.commit().await?;
        let queue = order.queue.clone().filter(|_| due.is_some() && gone.is_some());
        let left = gone.map(|attempt| Left { no: order.head.no.0, attempt: Some(attempt.0), queue });
        let changed = vec![order.head.no];
        let mut effects = Effects { left: left.into_iter().collect(), changed, ..Effects::of_ready(&ready) };
        if let Some((stream, at)) = due {
            effects.timer(stream, at);
        }
        Ok(Ok((order.status, effects)))
    }
}

/// Answer to a change by hand: the status that the order has then, with what follows elsewhere; or why it was not made.
pub(crate) type Amended = Result<(Status, Effects), Problem>;

/// Author of a change, and the key by which a try is known that was carried out though its answer was lost.
pub(crate) struct AmendmentAuthor<'a> {
    pub principal: &'a Principal,
    pub key: RequestKey,
    may_be_done: bool,
    pub dry_run: bool,
}

impl<'a> AmendmentAuthor<'a> {
    fn new(principal: &'a Principal, key: Option<&RequestKey>) -> Self {
        let own = || RequestKey::of_our_own();
        Self { principal, key: key.cloned().unwrap_or_else(own), may_be_done: key.is_some(), dry_run: false }
    }

    /// The answer to a request that was carried out before; none where it was not.
    pub async fn done_before(
        &self,
        tx: &Tx<'_>,
        order: &Locked,
        causes: &[Cause],
    ) -> Result<Option<Result<(), Problem>>, Error> {
        if !self.may_be_done {
            return Ok(None);
        }
        let kinds = KEYED.map(Cause::as_str);
        let done = history::of_key(tx, &[order.head.no.0], &kinds, &self.key.name).await?;
        Ok(done.get(&order.head.no).map(|before| self.key.check_for(causes, before)))
    }
}

pub(crate) fn invalid(faults: &[Fault]) -> Problem {
    Problem::of_faults(Type::Invalid, faults)
}

/// The end of the sleep that the scenario has set, of a sleeping order whose time was moved.
async fn planned_end(tx: &Tx<'_>, order: &Locked) -> Result<Option<Timestamp>, Error> {
    if order.status != Status::Sleep {
        return Ok(None);
    }
    Ok(stored_snapshot(tx, order).await?.main.rest.and_then(|rest| rest.planned))
}

/// The position of a sleeping order whose time was moved, or moved back: what interrupts its sleep lets it sleep on
/// to the time that it has now.
async fn resting_until(
    tx: &Tx<'_>,
    order: &Locked,
    starts: Starts,
    is_moved: bool,
) -> Result<Option<String>, Error> {
    let Starts::At(at, _) = starts else { return Ok(None) };
    if order.status != Status::Sleep {
        return Ok(None);
    }
    let mut snapshot = stored_snapshot(tx, order).await?;
    if let Some(rest) = &mut snapshot.main.rest {
        rest.planned = is_moved.then(|| rest.planned.unwrap_or(rest.until));
        rest.until = at;
    }
    Ok(Some(snapshot.to_value().to_string()))
}

/// The effect of another start time, unless the order has slept out, or could only miss its start deadline (ORD-17).
fn planned<'a>(
    updated: Allowed<'a>,
    asked: Option<Option<Timestamp>>,
    waits: bool,
    groups: &AgeGroups,
) -> Result<(Allowed<'a>, Starts), Problem> {
    let order = updated.order();
    let is_asleep = order.status == Status::Sleep;
    let start_at = asked.flatten();
    if is_asleep && order.place != Place::Due && start_at.is_some() {
        let message = "the order has slept out and waits for its turn: its time cannot be moved any more";
        return Err(Problem::new(Type::Refused, message).with_status(order.status));
    }
    // The deadline stays written when the order has started.
    let is_bound = !is_asleep && order.head.started_at.is_none();
    let deadline =
        order.start_deadline.filter(|deadline| is_bound && start_at.is_some_and(|at| at > *deadline));
    let planned = starts(updated, asked, waits, groups).map_err(refused)?;
    let Some(deadline) = deadline else { return Ok(planned) };
    let message = format!("lies behind the start deadline, {deadline}: the order could only miss it");
    let hint = "choose a time before the deadline, or cancel the order and register another one";
    Err(invalid(&[fault("/lifecycle/startAt", message).hint(hint)]))
}

/// The effect of another start time: a later one postpones, one in the past starts what waits for its
/// time. An order that waits for others goes on waiting for them, and one that sleeps goes on then.
fn starts<'a>(
    updated: Allowed<'a>,
    asked: Option<Option<Timestamp>>,
    waits: bool,
    groups: &AgeGroups,
) -> Result<(Allowed<'a>, Starts), Refused> {
    let order = updated.order();
    let Some(start_at) = asked else { return Ok((updated, Starts::AsBefore)) };
    if order.status == Status::Sleep {
        // Without a time nobody has moved it: the sleep lasts as the scenario said.
        let moved = start_at.map_or(Starts::AsBefore, |at| {
            let at = at.max(order.now);
            let length = at.duration_since(order.now).unsigned_abs();
            Starts::At(at, Status::Sleep.stream(length, groups))
        });
        return Ok((updated, moved));
    }
    let deferred = order.may(Cause::Deferred)?;
    Ok(match start_at.filter(|at| *at > order.now) {
        _ if waits => (updated, Starts::AsBefore),
        Some(at) => (deferred, Starts::At(at, Stream::Postponed)),
        None if order.place == Place::Due => (updated, Starts::At(order.now, Stream::Postponed)),
        None => (updated, Starts::AsBefore),
    })
}

/// The detail of an update in the history: everything that changed, as it was and as it is.
fn changes(order: &Locked, asked: &Update, former_params: Option<&str>, key: &RequestKey) -> Value {
    let parsed = |text: Option<&str>| {
        text.and_then(|text| serde_json::from_str::<Value>(text).ok()).unwrap_or(Value::Null)
    };
    let time = |at: Option<Timestamp>| at.map(time::shown);
    let mut changed = serde_json::Map::new();
    if let Some(params) = &asked.params {
        changed.insert("params".into(), json!({"was": parsed(former_params), "is": params}));
    }
    if let Some(priority) = asked.priority {
        changed.insert("priority".into(), json!({"was": order.priority.as_str(), "is": priority.as_str()}));
    }
    if let Some(start_at) = asked.start_at {
        changed.insert("startAt".into(), json!({"was": time(order.start_at), "is": time(start_at)}));
    }
    if let Some(notify) = &asked.notify {
        let was = order.head.notify.as_deref().map(notification::shown);
        let is = notify.as_ref().map(|notify| notification::shown(&notify.to_value().to_string()));
        changed.insert("notify".into(), json!({"was": was, "is": is}));
    }
    json!({"reason": asked.reason, "status": order.status.as_str(), "changed": changed, "key": key.name, "request": key.digest})
}
