//! Actions that end lives or begin them: cancel, interrupt, kill, restart. Of one order, or of many in one
//! transaction.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use pagurus_domain::activation::Stream;
use pagurus_domain::audit::AuditKind;
use pagurus_domain::order::Status;
use pagurus_domain::order::principal::Principal;
use pagurus_domain::order::transition::{self, Cause};
use pagurus_runtime::Effects;
use pagurus_runtime::trouble::store_problem;
use pagurus_store::hot::control::{self, Allowed, Locked, LockedOrders};
use pagurus_store::hot::dependencies::cycles::{self, WaitGraph};
use pagurus_store::hot::history::{self, HistoryEvent};
use pagurus_store::lists::audit::{self, AuditEntry};
use pagurus_store::outside::amend::{self, Postponement, Reopening};
use pagurus_store::outside::ends::{self, Ending};
use pagurus_store::{Client, Error, Tx};
use pagurus_wire::problem::{Problem, Type};
use serde_json::{Value, json};

use crate::request::{ActionRequest, KEYED, RequestKey};
use crate::restart::{self, Restart};
use crate::terms::Terms;
use crate::tries::Tries;
use crate::{Commands, refused};

/// An action on orders.
#[derive(Clone, Debug)]
pub enum LifeAction {
    /// Give the order up.
    Cancel,
    /// Stop it before it begins.
    Interrupt,
    /// Stop it while it runs or waits.
    Kill,
    /// Begin a new life.
    Restart(Restart),
}

impl LifeAction {
    /// Adds the fields of the request body to the action.
    #[must_use]
    pub fn with(self, request: &ActionRequest) -> Self {
        match self {
            Self::Restart(restart) => Self::Restart(Restart {
                from: request.from.clone(),
                params: request.params.clone(),
                scenario_version: request.scenario_version,
                ignore_conditions: request.ignore_conditions,
                keep_callbacks: request.keep_callbacks,
                ..restart
            }),
            other => other,
        }
    }

    const fn restart(&self) -> Option<&Restart> {
        match self {
            Self::Restart(restart) => Some(restart),
            _ => None,
        }
    }

    /// Word of the API.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Interrupt => "interrupt",
            Self::Kill => "kill",
            Self::Restart(_) => "restart",
        }
    }

    const fn cause(&self) -> Cause {
        match self {
            Self::Cancel => Cause::Canceled,
            Self::Interrupt => Cause::Interrupted,
            Self::Kill => Cause::Killed,
            Self::Restart(_) => Cause::Restarted,
        }
    }

    /// All that the action may have been before the law, for one who looks for it in the history.
    const fn causes(&self) -> &'static [Cause] {
        match self {
            Self::Cancel => &[Cause::Canceled],
            Self::Interrupt => &[Cause::Interrupted],
            Self::Kill => &[Cause::Killed],
            Self::Restart(_) => &[Cause::Restarted, Cause::RestartPostponed, Cause::Rerun],
        }
    }

    /// The event that the action is for an order as it stands.
    fn cause_for(&self, order: &Locked, stored: &restart::RestartState) -> Cause {
        match self {
            Self::Restart(restart) => {
                let waits = stored.postponement(order, restart).is_some();
                transition::restart_of(order.status, order.error_class.as_deref(), waits)
            }
            other => other.cause(),
        }
    }
}

/// The answer to the client about an action that was carried out, now or when it was asked for first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acted {
    /// The status that followed.
    pub status: Status,
    /// The life that was ended or begun.
    pub life: i32,
    /// Note about what was not done quite as asked for.
    pub note: Option<String>,
}

/// The outcome for one order.
type ActOutcome = Result<Acted, Problem>;

impl Commands {
    /// Carries an action out. The same request again, by its key, is answered as it was the first time, and
    /// nothing is done.
    ///
    /// # Errors
    /// The problem to answer with: not found, refused by the law, invalid, or not available.
    pub async fn act(&self, id: &str, action: &LifeAction, terms: Terms<'_>) -> ActOutcome {
        let mut tries = Tries::default();
        let own = RequestKey::of_our_own();
        let keyed = Terms { key: terms.key.or(Some(&own)), ..terms };
        loop {
            let may_be_done = terms.key.is_some() || tries.is_again();
            let outcome = self.act_at_once(id, action, keyed, may_be_done).await;
            if let Some(outcome) = tries.judge(&self.host, "act", outcome).await {
                return outcome;
            }
        }
    }

    /// Acts with a single try, for an intake with other requests waiting behind this one. An earlier try may have carried the
    /// request out already.
    ///
    /// # Errors
    /// The database failed, or the order is locked: nothing was done, or it is not known.
    pub async fn act_at_once(
        &self,
        id: &str,
        action: &LifeAction,
        terms: Terms<'_>,
        may_be_done: bool,
    ) -> Result<ActOutcome, Error> {
        let client = self.host.store.recovery().await?;
        let outcomes = self.act_together(client, &[id], action, terms, may_be_done).await?;
        Ok(outcomes.into_iter().next().unwrap_or_else(|| Err(Problem::no_order(id))))
    }

    /// Carries an action out on many orders: all in one transaction, and where somebody has locked one of
    /// them, in halves, until that one stands alone. One outcome for each, in order; none waits for another.
    pub async fn act_all(&self, ids: &[&str], action: &LifeAction, terms: Terms<'_>) -> Vec<ActOutcome> {
        let own = RequestKey::of_our_own();
        let keyed = Terms { key: terms.key.or(Some(&own)), ..terms };
        let mut outcomes = Vec::with_capacity(ids.len());
        // The last is the next: each is in order, and nothing of two is done twice.
        let mut open = vec![ids];
        while let Some(part) = open.pop() {
            if let [id] = part {
                outcomes.push(self.act(id, action, keyed).await);
                continue;
            }
            match self.act_on_many(part, action, keyed).await {
                Ok(done) => outcomes.extend(done),
                Err(error) if error.concerns_one_item() => {
                    let (first, second) = part.split_at(part.len() / 2);
                    open.extend([second, first].into_iter().filter(|half| !half.is_empty()));
                }
                // The absence of the database concerns all of them: nobody waits for it order by order.
                Err(error) => {
                    let problem = store_problem(&self.host, "act", &error);
                    outcomes.extend(part.iter().map(|_| Err(problem.clone())));
                }
            }
        }
        outcomes
    }

    /// Acts on many orders, on a connection that recovery does not need.
    async fn act_on_many(
        &self,
        ids: &[&str],
        action: &LifeAction,
        terms: Terms<'_>,
    ) -> Result<Vec<ActOutcome>, Error> {
        let client = self.host.store.operations().await?;
        self.act_together(client, ids, action, terms, true).await
    }

    /// Acts on all of these orders in one transaction and sends its effects.
    async fn act_together(
        &self,
        mut client: Client,
        ids: &[&str],
        action: &LifeAction,
        terms: Terms<'_>,
        may_be_done: bool,
    ) -> Result<Vec<ActOutcome>, Error> {
        self.catalogue.refresh(&client).await?;
        let tx = client.transaction().await?;
        let may_wait = match action.restart() {
            Some(restart) if !restart.ignore_conditions => cycles::may_wait_again(&tx, ids).await?,
            _ => false,
        };
        if may_wait {
            cycles::take_turn_briefly(&tx).await?;
        }
        let LockedOrders { orders, moved } = control::lock_named(&tx, ids).await?;
        if !moved.is_empty() {
            return Err(Error::Contended);
        }
        let nos: Vec<i64> = orders.iter().map(|order| order.head.no.0).collect();
        let kinds = KEYED.map(Cause::as_str);
        let done = match terms.key.filter(|_| may_be_done) {
            Some(key) => history::of_key(&tx, &nos, &kinds, &key.name).await?,
            None => HashMap::new(),
        };
        let stored = restart::RestartState::read(&tx, action.restart(), &orders).await?;
        // One that has ended since the look before took no turn.
        if stored.has_unmet() && !may_wait {
            return Err(Error::Contended);
        }
        let waits = stored.wait_graph(&tx, &orders).await?;
        let mut plan = ActPlan { waits, ..ActPlan::default() };
        for order in &orders {
            let outcome = match (done.get(&order.head.no), terms.key) {
                (Some(before), Some(key)) => repeated(before, key, action),
                _ => self.plan(&tx, order, action, terms, &stored, &mut plan).await?,
            };
            plan.outcomes.insert(&order.head.id, outcome);
        }
        let ActPlan { ending, reopening, outcomes, .. } = plan;
        let mut effects = Effects::default();
        let ended = ends::end_lives(&tx, &ending).await?;
        effects.lives_ended(&ending, ended);
        effects.may_run(&amend::reopen_all(&tx, &reopening).await?);
        for postponed in reopening.iter().filter_map(|(_, new)| new.postponed) {
            match postponed {
                Postponement::ForOthers => effects.timer(Stream::Dependent, Timestamp::now()),
                Postponement::Until(at) => effects.timer(Stream::Postponed, at),
            }
        }
        let acted: Vec<&Locked> = ending
            .iter()
            .map(|(allowed, _)| allowed.order())
            .chain(reopening.iter().map(|(allowed, _)| allowed.order()))
            .collect();
        audited(&tx, action.word(), &acted, terms).await?;
        if terms.dry_run {
            tx.rollback().await?;
        } else {
            tx.commit().await?;
            drop(client);
            self.tell(action, terms.by, ending.len() + reopening.len(), effects).await;
        }
        Ok(ids
            .iter()
            .map(|id| outcomes.get(id).cloned().unwrap_or_else(|| Err(Problem::no_order(id))))
            .collect())
    }

    /// Sends the effects, below the commit.
    async fn tell(&self, action: &LifeAction, by: &Principal, count: usize, mut effects: Effects) {
        if count == 0 {
            return;
        }
        self.note(action.cause().as_str(), by.door, count);
        if !matches!(action, LifeAction::Restart(_)) {
            // Conditions of orders that wait for these are to be looked at.
            effects.timer(Stream::Dependent, Timestamp::now());
        }
        effects.send(&self.host).await;
    }

    /// Plans the change of one locked order; the answer to the client, if it is carried out.
    async fn plan<'a>(
        &self,
        tx: &Tx<'_>,
        order: &'a Locked,
        action: &LifeAction,
        terms: Terms<'a>,
        stored: &restart::RestartState,
        plan: &mut ActPlan<'a>,
    ) -> Result<ActOutcome, Error> {
        if let Some(wanted) = terms.if_status.filter(|wanted| *wanted != order.status) {
            let message = format!("the order is `{}` and not `{wanted}` any more", order.status);
            return Ok(Err(Problem::new(Type::Refused, message).with_status(order.status)));
        }
        let cause = action.cause_for(order, stored);
        let allowed = match order.may(cause) {
            Ok(allowed) => allowed,
            Err(refusal) => {
                let problem = refused(refusal);
                self.note_refused(cause, &problem);
                return Ok(Err(problem));
            }
        };
        let status = allowed.change().to;
        let LifeAction::Restart(restart) = action else {
            let detail = terms.detail(json!({"reason": terms.reason, "from": order.status.as_str()}));
            let step = self.begun_at(tx, order).await?;
            let ending = Ending { error: None, step, source: terms.by.source(), detail: detail.to_string() };
            plan.ending.push((allowed, ending));
            return Ok(Ok(Acted { status, life: order.head.life.0, note: None }));
        };
        let (mut reopening, note) = match self.reopening(tx, allowed.order(), restart, terms, stored).await? {
            Ok(planned) => planned,
            Err(problem) => return Ok(Err(problem)),
        };
        // A life that a node gave up had begun: nothing holds it back.
        reopening.postponed = reopening.postponed.filter(|_| status == Status::Postponed);
        if reopening.postponed == Some(Postponement::ForOthers)
            && let Err(problem) = stored.check_cycle(order, &mut plan.waits)
        {
            return Ok(Err(problem));
        }
        plan.reopening.push((allowed, reopening));
        Ok(Ok(Acted { status, life: order.head.life.next().0, note }))
    }
}

impl Commands {
    /// The state at which the first stage of a life was begun that is with a worker: of that nothing was written.
    async fn begun_at(&self, tx: &Tx<'_>, order: &Locked) -> Result<Option<String>, Error> {
        if order.step.is_some() || order.running_since.is_none() {
            return Ok(None);
        }
        let scenario = self.scenario_of(tx, order).await?.ok();
        let initial = scenario.map(|scenario| scenario.state(scenario.initial).name.clone());
        Ok(order.entry_point.clone().or(initial))
    }
}

/// Writes down who acted on these orders.
async fn audited(tx: &Tx<'_>, action: &str, orders: &[&Locked], terms: Terms<'_>) -> Result<(), Error> {
    let entries: Vec<AuditEntry<'_>> = orders
        .iter()
        .map(|order| {
            AuditEntry::new(action, (AuditKind::Order, &order.head.id), terms.by, terms.reason)
                .with(&json!({"from": order.status.as_str()}))
        })
        .collect();
    audit::record(tx, &entries).await
}

/// Changes that are to be written together, with the answer for each order.
#[derive(Default)]
struct ActPlan<'a> {
    ending: Vec<(Allowed<'a>, Ending<'a>)>,
    reopening: Vec<(Allowed<'a>, Reopening<'a>)>,
    outcomes: BTreeMap<&'a str, ActOutcome>,
    /// Graph of what the orders wait for then.
    waits: WaitGraph,
}

/// The answer of the first time, read from the event of the action.
fn repeated(before: &HistoryEvent, key: &RequestKey, action: &LifeAction) -> ActOutcome {
    key.check_for(action.causes(), before)?;
    let detail: Value = serde_json::from_str(&before.detail).unwrap_or_default();
    // Each of these causes leads to one status, whatever was before.
    let mut lines = transition::TABLE.iter();
    let status = lines.find(|(known, _, _)| known.as_str() == before.kind).map(|(_, _, to)| *to);
    let note = detail["note"].as_str().map(str::to_owned);
    Ok(Acted { status: status.unwrap_or(Status::Reopen), life: before.life.0, note })
}
