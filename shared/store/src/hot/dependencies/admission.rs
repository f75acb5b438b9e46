//! The registration of orders that wait for others: which would close a cycle, which have to wait.
//!
//! Pre-conditions are locked before anything else is, as the end of a stage has them locked before it
//! looks here.

use std::collections::{BTreeSet, HashMap};

use pagurus_domain::activation::Stream;
use pagurus_domain::id::ScenarioNo;
use pagurus_domain::order::Status;
use pagurus_domain::order::dependency::{self, Otherwise, Stand, StartDecision};
use pagurus_domain::order::registration::NewOrder;

use super::awaiting;
use super::cycles::{WaitGraph, take_turn};
use crate::columns::columns;
use crate::row::word;
use crate::sql::statements;
use crate::{Client, Result, Tx};

statements! {
    AWAITED = "
        SELECT DISTINCT before_id FROM dependencies WHERE before_id = ANY($1::text[]) AND stand NOT IN ('met', 'closed')";
    PRESENT = "SELECT id FROM orders WHERE id = ANY($1::text[])";
    LOCK_BEFORE = "
        SELECT no, id, status, step FROM orders
         WHERE no = ANY (ARRAY(SELECT no FROM orders WHERE id = ANY($1::text[])))
         ORDER BY no FOR NO KEY UPDATE";
    INSERT = "
        INSERT INTO dependencies (order_no, before_id, states, otherwise, reactive, stand, settled_at)
        SELECT no, before_id, states, otherwise, reactive, stand, CASE WHEN stand IN ('met', 'missed') THEN now() END
          FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::boolean[], $6::text[])
               AS t (no, before_id, states, otherwise, reactive, stand)";
    INSERT_PLACES = "INSERT INTO due (order_no, stream, due_at) SELECT no, $2, NULL FROM unnest($1::bigint[]) AS t (no)";
    MARK_AWAITED = "UPDATE orders SET awaited = true WHERE no = ANY($1::bigint[]) AND NOT awaited";
    SCENARIOS = "SELECT id, scenario FROM orders WHERE id = ANY($1::text[])";
    // Said so that no plan reads the list of all live conditions for it.
    NOTICE = "
        UPDATE dependencies SET stand = 'found'
         WHERE before_id = ANY($1::text[]) AND stand NOT IN ('found', 'open', 'met', 'missed', 'closed')";
}

/// Findings before anything is written.
#[derive(Debug, Default)]
pub(crate) struct Admission {
    /// For each refused order, by id: the way by which it would wait for itself.
    pub refused: HashMap<String, Vec<String>>,
    /// The pre-conditions that are registered, by id: number, status, state.
    before: HashMap<String, (i64, Status, Option<String>)>,
}

impl Admission {
    /// Takes the turn, locks the pre-conditions, and looks for cycles. Costs nothing for orders
    /// without pre-conditions.
    pub async fn of(tx: &Tx<'_>, orders: &[NewOrder]) -> Result<Self> {
        let waiting: Vec<&NewOrder> = orders.iter().filter(|order| !order.request.after.is_empty()).collect();
        if waiting.is_empty() {
            return Ok(Self::default());
        }
        take_turn(tx).await?;
        let refused = refused(tx, &waiting).await?;
        let ids: Vec<&str> = named(&waiting).into_iter().collect();
        let rows = tx.query(&tx.prepare_cached(LOCK_BEFORE).await?, &[&ids]).await?;
        let before = rows
            .iter()
            .map(|row| {
                Ok((row.get("id"), (row.get("no"), word(row, "status", "orders.status")?, row.get("step"))))
            })
            .collect::<Result<_>>()?;
        Ok(Self { refused, before })
    }

    /// True if an order must wait for others.
    pub fn waits(&self, order: &NewOrder) -> bool {
        let stands: Vec<(Stand, Otherwise)> = self
            .stands(order, &HashMap::new())
            .into_iter()
            .map(|(_, stand, otherwise)| (stand, otherwise))
            .collect();
        dependency::verdict(&stands) != StartDecision::Start
    }

    /// Each pre-condition's index, how it stands, and what happens when it is missed. `beside` are
    /// orders that were registered in the same transaction.
    fn stands(&self, order: &NewOrder, beside: &HashMap<&str, i64>) -> Vec<(usize, Stand, Otherwise)> {
        let default = order.start_mode.otherwise();
        order
            .request
            .after
            .iter()
            .enumerate()
            .map(|(index, one)| {
                let known = match self.before.get(&one.order) {
                    Some((_, status, step)) => Some((*status, step.as_deref())),
                    None => beside.get(one.order.as_str()).map(|_| (Status::New, None)),
                };
                let stand = dependency::judge(Stand::Unknown, &one.states, known);
                (index, stand, one.otherwise.unwrap_or(default))
            })
            .collect()
    }

    /// Writes the conditions of the orders that were registered, by id and number, and the places
    /// of those that wait; tells the pre-conditions that somebody waits.
    pub async fn write(&self, tx: &Tx<'_>, orders: &[NewOrder], inserted: &HashMap<&str, i64>) -> Result<()> {
        let mut conditions = Vec::new();
        let mut places = Vec::new();
        let mut awaited = BTreeSet::new();
        for order in orders.iter().filter(|order| !order.request.after.is_empty()) {
            let Some(no) = inserted.get(order.request.id.as_str()) else { continue };
            if self.waits(order) {
                places.push(*no);
            }
            for (index, stand, otherwise) in self.stands(order, inserted) {
                let one = &order.request.after[index];
                conditions.push((*no, one, order.start_mode, stand, otherwise));
                awaited.extend(self.before.get(&one.order).map(|(no, _, _)| *no));
                awaited.extend(inserted.get(one.order.as_str()).copied());
            }
        }
        if conditions.is_empty() {
            return Ok(());
        }
        let awaited: Vec<i64> = awaited.into_iter().collect();
        tx.execute(&tx.prepare_cached(MARK_AWAITED).await?, &[&awaited]).await?;
        tx.execute(&tx.prepare_cached(INSERT_PLACES).await?, &[&places, &Stream::Dependent.number()]).await?;
        let columns = columns!((no, one, mode, stand, otherwise) in &conditions => {
            no: i64 = *no,
            before_id: &str = one.order.as_str(),
            states: String = serde_json::json!(one.states).to_string(),
            otherwise: &str = otherwise.as_str(),
            reactive: bool = *mode == dependency::StartMode::Reactive,
            stand: &str = stand.as_str(),
        });
        columns.execute(tx, INSERT, &[]).await?;
        Ok(())
    }
}

/// Orders among these that are registered, with the version that each runs.
pub async fn registered(client: &Client, ids: &[&str]) -> Result<HashMap<String, ScenarioNo>> {
    let rows = client.query(&client.prepare_cached(SCENARIOS).await?, &[&ids]).await?;
    Ok(rows.iter().map(|row| (row.get("id"), ScenarioNo(row.get("scenario")))).collect())
}

/// Marks these orders, which are registered only now, as found in the conditions that wait for them.
pub(crate) async fn notice(tx: &Tx<'_>, ids: &[&str]) -> Result<()> {
    if !ids.is_empty() {
        tx.execute(&tx.prepare_cached(NOTICE).await?, &[&ids]).await?;
    }
    Ok(())
}

fn named<'a>(waiting: &[&'a NewOrder]) -> BTreeSet<&'a str> {
    waiting.iter().flat_map(|order| order.request.after.iter().map(|one| one.order.as_str())).collect()
}

/// The orders that would wait for themselves. Only one that somebody waits for already can, as a parent does for its child: for
/// all others nothing is followed.
async fn refused(tx: &Tx<'_>, waiting: &[&NewOrder]) -> Result<HashMap<String, Vec<String>>> {
    let ids: Vec<&str> = waiting.iter().map(|order| order.request.id.as_str()).collect();
    let rows = tx.query(&tx.prepare_cached(AWAITED).await?, &[&ids]).await?;
    let mut awaited: BTreeSet<String> = rows.iter().map(|row| row.get("before_id")).collect();
    awaited.extend(named(waiting).into_iter().map(str::to_owned));
    let awaiting = awaiting::awaiting(tx, waiting).await?;
    awaited.extend(awaiting.iter().map(|(child, _)| (*child).to_owned()));
    if !ids.iter().any(|id| awaited.contains(*id)) {
        return Ok(HashMap::new());
    }
    let rows = tx.query(&tx.prepare_cached(PRESENT).await?, &[&ids]).await?;
    let present: BTreeSet<String> = rows.iter().map(|row| row.get("id")).collect();
    let before: Vec<&str> = named(waiting).into_iter().collect();
    let mut graph = WaitGraph::from(tx, &before).await?;
    for (child, awaiting) in awaiting {
        graph.add(awaiting, [child.to_owned()]);
    }
    let mut refused = HashMap::new();
    for order in waiting.iter().filter(|order| !present.contains(&order.request.id)) {
        let id = &order.request.id;
        let after: Vec<&str> = order.request.after.iter().map(|one| one.order.as_str()).collect();
        if let Some(way) = graph.refuse(id, &after, awaited.contains(id)) {
            refused.insert(id.clone(), way);
        }
    }
    Ok(refused)
}
