//! Orders that are in the scope of somebody whose names are limited.

use std::collections::HashSet;

use pagurus_domain::access::scope::AccessScope;
use pagurus_domain::id::OrderNo;

use crate::row::read;
use crate::sql::{in_scope, statements};
use crate::{Connection, Result};

statements! {
    WITHIN = concat!("SELECT o.no FROM orders o WHERE o.no = ANY($1::bigint[]) AND ", in_scope!("$2", "$3"));
    WITHIN_BY_ID = concat!("SELECT o.id FROM orders o WHERE o.id = ANY($1::text[]) AND ", in_scope!("$2", "$3"));
    NAMES_OF_ORDER = "
        SELECT o.flow, o.queue, s.name AS scenario FROM orders o
          JOIN scenarios s ON s.no = o.scenario
         WHERE o.id = $1";
}

/// Orders out of many that are seen.
#[derive(Clone, Debug)]
pub struct SeenOrders<K>(Option<HashSet<K>>);

impl<K: std::hash::Hash + Eq> SeenOrders<K> {
    /// True if this one is seen.
    pub fn has(&self, order: &K) -> bool {
        self.0.as_ref().is_none_or(|seen| seen.contains(order))
    }
}

/// Returns the orders of a list that are in the scope. Reads nothing where the scope has every name.
pub async fn within(
    client: &impl Connection,
    scope: &AccessScope,
    nos: impl Iterator<Item = OrderNo>,
) -> Result<SeenOrders<OrderNo>> {
    if scope.has_every_name() {
        return Ok(SeenOrders(None));
    }
    let [hidden, own] = scope.as_likes();
    let nos: Vec<i64> = nos.map(|no| no.0).collect();
    let rows = client.query(&client.prepare_cached(WITHIN).await?, &[&nos, &hidden, &own]).await?;
    Ok(SeenOrders(Some(rows.iter().map(|row| OrderNo(row.get("no"))).collect())))
}

/// Does the same by the clients' ids.
pub async fn within_by_id(
    client: &impl Connection,
    scope: &AccessScope,
    ids: impl Iterator<Item = String>,
) -> Result<SeenOrders<String>> {
    if scope.has_every_name() {
        return Ok(SeenOrders(None));
    }
    let [hidden, own] = scope.as_likes();
    let ids: Vec<String> = ids.collect();
    let rows = client.query(&client.prepare_cached(WITHIN_BY_ID).await?, &[&ids, &hidden, &own]).await?;
    Ok(SeenOrders(Some(rows.iter().map(|row| row.get("id")).collect())))
}

/// Names of an order that tenants may own.
#[derive(Clone, Debug)]
pub struct OwnedNames {
    flow: String,
    queue: Option<String>,
    scenario: String,
}

impl OwnedNames {
    /// True if an order of these names is in the scope.
    #[must_use]
    pub fn are_in(&self, scope: &AccessScope) -> bool {
        scope.has_order(&self.flow, self.queue.as_deref(), &self.scenario)
    }
}

/// The names of an order; none if there is no such order.
pub async fn names_of(client: &impl Connection, id: &str) -> Result<Option<OwnedNames>> {
    let row = client.query_opt(&client.prepare_cached(NAMES_OF_ORDER).await?, &[&id]).await?;
    Ok(row.map(|row| read!(row => OwnedNames { flow, queue, scenario })))
}
