//! Consistency check (REC-6): a first look names suspects, a second one under the lock of the order confirms them;
//! what has one right repair is repaired, the rest is marked for a person.

use std::time::Duration;

use pagurus_domain::audit::AuditKind;
use pagurus_domain::consistency::{ConsistencyRepair, Found, Inconsistency, OrderFacts};
use pagurus_domain::id::OrderNo;
use pagurus_domain::invariants::{Invariant, Violation};
use pagurus_domain::order::principal::Principal;
use pagurus_domain::recovery::Finding;
use pagurus_runtime::metrics::Count;
use pagurus_runtime::node::chain;
use pagurus_runtime::trouble::store_problem;
use pagurus_runtime::{Effects, Host};
use pagurus_scenario::consistency::judge;
use pagurus_store::hot::control::{self, Locked};
use pagurus_store::hot::history;
use pagurus_store::hot::outbox::{self, NewNotification};
use pagurus_store::hot::standing;
use pagurus_store::lists::audit::AuditEntry;
use pagurus_store::recovery::consistency::{self, marks, repair};
use pagurus_store::recovery::lost;
use pagurus_store::{Client, Error, Tx};
use pagurus_wire::message::Left;
use pagurus_wire::problem::Problem;
use serde_json::json;

use crate::{Commands, caused, recovery as hand_out};

/// Time between the two looks, where somebody waits for the answer.
const CONFIRM: Duration = Duration::from_secs(1);
/// Repairs of one order at most: one may bring other findings to light, such as answers that came while nothing
/// woke it.
const MOST_REPAIRS: usize = 8;

/// Order in which the first look found something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspect {
    /// The order, or a number that no order has.
    pub no: OrderNo,
    /// The findings.
    pub kinds: Vec<Inconsistency>,
    /// Invariants that the rows break, as the second judgement has it.
    pub broken: Vec<Invariant>,
}

impl Suspect {
    /// True where nothing was found.
    fn is_clear(&self) -> bool {
        self.kinds.is_empty() && self.broken.is_empty()
    }
}

/// Outcome of the check of one order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Findings that were repaired.
    pub repaired: Vec<Inconsistency>,
    /// Findings that are left for a person.
    pub left: Vec<Inconsistency>,
}

impl Checked {
    /// The outcome in words.
    #[must_use]
    pub fn summary(&self) -> String {
        let repaired = format!("repaired: {}", names(&self.repaired).join(", "));
        let left = format!("inconsistent, a person has to look: {}", names(&self.left).join(", "));
        match (self.repaired.is_empty(), self.left.is_empty()) {
            (true, true) => "nothing is wrong with it".to_owned(),
            (false, true) => repaired,
            (true, false) => left,
            (false, false) => format!("{repaired}; {left}"),
        }
    }
}

fn names(kinds: &[Inconsistency]) -> Vec<&'static str> {
    kinds.iter().map(|kind| kind.as_str()).collect()
}

impl Commands {
    /// Checks the orders of these ids, and repairs what has one right repair; the outcome of each, in order.
    /// Takes a moment where something is found: it is looked at twice.
    pub async fn check(
        &self,
        ids: &[&str],
        by: &Principal,
        reason: Option<&str>,
    ) -> Vec<Result<Checked, Problem>> {
        let looked = async {
            let client = self.host.store.operations().await?;
            let numbered = consistency::numbered(&client, ids).await?;
            let nos: Vec<i64> = numbered.iter().map(|(_, no)| no.0).collect();
            Ok((suspects(&client, &nos).await?, numbered))
        };
        let (suspects, numbered) = match looked.await {
            Ok(looked) => looked,
            Err(error) => {
                let problem = store_problem(&self.host, "check", &error);
                return ids.iter().map(|_| Err(problem.clone())).collect();
            }
        };
        if suspects.iter().any(|suspect| !suspect.is_clear()) {
            tokio::time::sleep(CONFIRM).await;
        }
        let mut outcomes = Vec::with_capacity(ids.len());
        for id in ids {
            let no = numbered.iter().find(|(known, _)| known == id).map(|(_, no)| *no);
            outcomes.push(match no.map(|no| (no, suspects.iter().find(|suspect| suspect.no == no))) {
                None => Err(Problem::no_order(id)),
                Some((_, None)) => Ok(Checked::default()),
                Some((_, Some(suspect))) => settle(&self.host, suspect, by, reason)
                    .await
                    .map_err(|error| store_problem(&self.host, "check", &error)),
            });
        }
        outcomes
    }
}

/// Takes the first look at these orders: returns those with findings, and those with a mark.
pub async fn suspects(client: &Client, nos: &[i64]) -> Result<Vec<Suspect>, Error> {
    let marked = marks::marked(client, nos).await?;
    let facts = consistency::facts(client, nos).await?;
    let looked = facts.iter().map(|facts| Suspect {
        no: facts.no,
        kinds: kinds(&judge(facts)),
        broken: facts.violations().iter().map(|one| one.invariant).collect(),
    });
    Ok(looked.filter(|one| !one.is_clear() || marked.contains(&one.no.0)).collect())
}

fn kinds(found: &[Found]) -> Vec<Inconsistency> {
    found.iter().map(|found| found.kind).collect()
}

/// The second look, under the lock of the order: repairs what has one right repair, and marks the rest. An order
/// that is well now loses its mark.
///
/// # Errors
/// The database fails, or somebody has locked the order: nothing was done then.
pub async fn settle(
    host: &Host,
    suspect: &Suspect,
    by: &Principal,
    reason: Option<&str>,
) -> Result<Checked, Error> {
    let mut client = host.store.operations().await?;
    let mut tx = client.transaction().await?;
    let no = suspect.no;
    let locked = control::lock_as_they_are(&tx, &[no.0]).await?;
    let before = look(&tx, no).await?;
    let mut violations = before.violations();
    violations.retain(|one| suspect.broken.contains(&one.invariant));
    let mut effects = Effects::default();
    let has_changed = mend(host, &mut tx, suspect, &mut effects).await?;
    let after = look(&tx, no).await?;
    let is_so = |kind: &Inconsistency| has_changed || suspect.kinds.contains(kind);
    let left: Vec<Inconsistency> = kinds(&judge(&after)).into_iter().filter(is_so).collect();
    let confirmed = kinds(&judge(&before)).into_iter().filter(|kind| suspect.kinds.contains(kind));
    let checked = Checked { repaired: confirmed.filter(|kind| !left.contains(kind)).collect(), left };
    gone(&before, &after, &mut effects);
    let changes_mark = set_mark(&tx, no, &checked).await?;
    if after.order.is_some() && (changes_mark || !checked.repaired.is_empty()) {
        let detail =
            json!({"repaired": names(&checked.repaired), "left": names(&checked.left), "reason": reason});
        let detail = caused(detail, by).to_string();
        history::append(&tx, no, "checked", by.source(), &detail).await?;
        let id = locked.first().map_or("", |order| order.head.id.as_str());
        AuditEntry::new("check", (AuditKind::Order, id), by, reason).record(&tx).await?;
    }
    if changes_mark && !checked.left.is_empty() {
        let notifications = tell(&tx, no, after.order.as_ref().map_or(0, |order| order.events)).await?;
        outbox::put(&tx, &notifications).await?;
        effects.notifications.extend(notifications);
    }
    tx.commit().await?;
    drop(client);
    note(host, no, &checked, changes_mark);
    // What is left for a person is the same in each round.
    if changes_mark || checked.left.is_empty() {
        count(host, &violations);
    }
    effects.send(host).await;
    Ok(checked)
}

async fn look(tx: &Tx<'_>, no: OrderNo) -> Result<OrderFacts, Error> {
    consistency::facts(tx, &[no.0]).await?.pop().ok_or(Error::Contended)
}

/// Repairs what was found before, and whatever that brings to light; true where anything was changed. A repair that
/// the database refuses leaves everything as it was.
async fn mend(host: &Host, tx: &mut Tx<'_>, suspect: &Suspect, effects: &mut Effects) -> Result<bool, Error> {
    let mut tried: Vec<ConsistencyRepair> = Vec::new();
    for _ in 0..MOST_REPAIRS {
        let found = judge(&look(tx, suspect.no).await?);
        let wanted = found.iter().filter(|one| !tried.is_empty() || suspect.kinds.contains(&one.kind));
        let repair = wanted.filter_map(|one| one.repair).find(|repair| !tried.contains(repair));
        let Some(repair) = repair else { break };
        tried.push(repair);
        let step = tx.transaction().await?;
        match apply(host, &step, suspect.no, repair, effects).await {
            Ok(()) => step.commit().await?,
            Err(error) if error.is_transient() => return Err(error),
            Err(error) => {
                tracing::warn!(order = %suspect.no, ?repair, error = chain(&error), "a repair was refused");
                step.rollback().await?;
            }
        }
    }
    Ok(!tried.is_empty())
}

async fn apply(
    host: &Host,
    tx: &Tx<'_>,
    no: OrderNo,
    repair: ConsistencyRepair,
    effects: &mut Effects,
) -> Result<(), Error> {
    if repair == ConsistencyRepair::HandOutAgain {
        let stuck = lost::of_orders(tx, &[no.0]).await?;
        hand_out::hand_out_again(host, tx, &stuck, Finding::NodeLost, effects).await?;
        return Ok(());
    }
    let mended = repair::repair(tx, no, repair).await?;
    effects.may_run(&mended.ready);
    if let Some((stream, at)) = mended.timer {
        effects.timer(stream, at);
    }
    Ok(())
}

/// Tells who knew of what is gone: the worker of a stage, and the dispatcher of a place and of a member.
fn gone(before: &OrderFacts, after: &OrderFacts, effects: &mut Effects) {
    if let Some(running) = before.running.as_ref().filter(|_| after.running.is_none()) {
        effects.over.push((before.no, running.attempt));
    }
    let ready = before.ready.as_ref().map(|row| row.attempt);
    let left = ready.filter(|attempt| after.ready.as_ref().is_none_or(|row| row.attempt != *attempt));
    let queue = before.queued.as_ref().filter(|_| after.queued.is_none()).map(|(queue, _, _)| queue.clone());
    if left.is_some() || queue.is_some() {
        effects.left.push(Left { no: before.no.0, attempt: left.map(|attempt| attempt.0), queue });
    }
}

/// Marks an order with what is left, or removes its mark; true where that says something new.
async fn set_mark(tx: &Tx<'_>, no: OrderNo, checked: &Checked) -> Result<bool, Error> {
    if checked.left.is_empty() {
        Ok(marks::unmark(tx, &[no.0]).await? > 0)
    } else {
        marks::mark(tx, no, &names(&checked.left)).await
    }
}

/// The notification that an order needs a person, where its client wants it; `number` is that of the last event.
async fn tell(tx: &Tx<'_>, no: OrderNo, number: i64) -> Result<Vec<NewNotification>, Error> {
    let locked = control::lock_as_they_are(tx, &[no.0]).await?;
    let (_, standing) = standing::standing(tx).await?;
    let of = |order: &Locked| NewNotification::of_inconsistency(&order.content(), number, &standing);
    Ok(locked.iter().flat_map(of).collect())
}

fn note(host: &Host, no: OrderNo, checked: &Checked, changes_mark: bool) {
    for kind in &checked.repaired {
        host.metrics.count_by(Count::Inconsistencies, &[kind.as_str(), "repaired"], 1);
    }
    for kind in checked.left.iter().filter(|_| changes_mark) {
        host.metrics.count_by(Count::Inconsistencies, &[kind.as_str(), "left"], 1);
    }
    if changes_mark || !checked.repaired.is_empty() {
        tracing::warn!(order = %no, outcome = checked.summary(), "the consistency check has looked at an order");
    }
}

/// Counts what the engine itself must never bring about.
fn count(host: &Host, violations: &[Violation]) {
    for violation in violations {
        host.metrics.count(Count::InvariantViolations, violation.invariant.as_str(), 1);
        tracing::error!(violation = %violation, "an invariant is broken");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rec_6_the_outcome_of_a_check_is_reported_in_words() {
        let of = |repaired: &[Inconsistency], left: &[Inconsistency]| {
            Checked { repaired: repaired.to_vec(), left: left.to_vec() }.summary()
        };
        use Inconsistency::{HistoryGap, NoPlace};
        assert_eq!(of(&[], &[]), "nothing is wrong with it");
        assert_eq!(of(&[NoPlace], &[]), "repaired: no_place");
        assert_eq!(of(&[], &[HistoryGap]), "inconsistent, a person has to look: history_gap");
        assert_eq!(
            of(&[NoPlace], &[HistoryGap]),
            "repaired: no_place; inconsistent, a person has to look: history_gap"
        );
    }
}
