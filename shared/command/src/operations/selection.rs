//! The selection of an operation's orders: a walk in bounded steps, each in a transaction with the place where the next
//! one goes on.

use pagurus_domain::access::scope::{AccessScope, TenantMembership};
use pagurus_domain::number::saturated;
use pagurus_domain::operation::{BulkKind, OperationState};
use pagurus_domain::search::Search;
use pagurus_store::lists::search::SearchWalk;
use pagurus_store::outside::operations::{self, StoredOperation, items};
use pagurus_store::{Client, Error};

use super::STEP;
use crate::Commands;

/// The outcome of a step of a selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selected {
    /// More orders are to be looked at.
    More,
    /// Everything was looked at for now.
    All,
    /// Another activator is at it, or the operation does not select any more.
    NotMine,
}

impl Commands {
    /// Scope of those who asked for an operation.
    pub(super) fn scope_of(&self, operation: &StoredOperation) -> AccessScope {
        match &operation.tenants {
            None => AccessScope::WHOLE,
            Some(names) => self.host.settings().access.tenants.scope(&TenantMembership::Of(names.clone())),
        }
    }

    /// Carries out one step of the selection of an operation.
    pub async fn select_orders(&self, no: i64) -> Result<Selected, Error> {
        let mut client = self.host.store.operations().await?;
        let tx = client.transaction().await?;
        if !operations::try_selection(&tx, no).await? {
            return Ok(Selected::NotMine);
        }
        // Read below the turn: its former holder has moved the place on.
        let operation = operations::find(&tx, no).await?;
        let Some(operation) = operation.filter(|one| one.state == OperationState::Running) else {
            return Ok(Selected::NotMine);
        };
        let Some(place) = operation.selection.clone() else { return Ok(Selected::NotMine) };
        let (next, looked, added) = match operation.again {
            Some(former) => {
                let after = place.parse().unwrap_or(0);
                let step = items::add_failed(&tx, no, former, after, saturated::<i64>(STEP)).await?;
                (step.last.map(|last| last.to_string()), step.looked, step.added)
            }
            None => {
                let (next, looked, found) =
                    self.look_for(&self.host.store.api().await?, &operation, &place).await?;
                let looked = saturated::<i64>(looked);
                (next, looked, items::add(&tx, no, &found).await?)
            }
        };
        let is_last = next.is_none();
        let follows = operation.follow_until.is_some_and(|until| operation.now < until);
        // What is followed is looked through again, from its begin.
        let place = next.or_else(|| follows.then(String::new));
        if operations::advance(&tx, no, place.as_deref(), looked, added).await? {
            tx.commit().await?;
        }
        Ok(if is_last { Selected::All } else { Selected::More })
    }

    /// The orders of the next step, and where the one after it goes on.
    async fn look_for(
        &self,
        client: &Client,
        operation: &StoredOperation,
        place: &str,
    ) -> Result<(Option<String>, usize, Vec<i64>), Error> {
        let mut search: Search = serde_json::from_str(&operation.search)
            .map_err(|error| Error::Broken { what: "operations.search", found: error.to_string() })?;
        if operation.action == BulkKind::Clone.as_str() {
            // Else it would come upon its own clones.
            let until = search.created_until.map_or(operation.made_at, |until| until.min(operation.made_at));
            search.created_until = Some(until);
        }
        let cursor = Some(place).filter(|place| !place.is_empty());
        let scope = self.scope_of(operation);
        let Some(mut walk) = SearchWalk::begin(client, search, &scope, cursor).await? else {
            return Ok((None, 0, Vec::new()));
        };
        let step = self.finder().step(client, &mut walk, STEP).await?;
        let found = step.found.iter().map(|order| order.no).collect();
        Ok(((!step.is_last).then(|| walk.cursor()), step.looked, found))
    }
}
