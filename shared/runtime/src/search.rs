//! Searches with conditions on values of parameters and variables: what a scenario hides is not found by its value.

use std::sync::Arc;

use pagurus_domain::search::Search;
use pagurus_scenario::stage::Snapshot;
use pagurus_store::lists::search::{self, CarriedValues, SearchStep, SearchWalk};
use pagurus_store::{Client, Error};
use serde_json::Value;

use crate::scenarios::{Catalogue, Known};
use crate::secrets::DeploymentSecrets;

/// Orders of a step whose values are read: some megabytes at most.
const MOST_READ: usize = 500;

/// Finds orders. Cheap to clone.
#[derive(Clone)]
pub struct Finder {
    /// Scenarios, which say what is hidden.
    pub catalogue: Catalogue,
    /// Secrets that nothing that is shown may hold.
    pub secrets: Arc<DeploymentSecrets>,
}

impl Finder {
    /// Makes the next step of a walk, in which at most `rows` orders are looked at.
    pub async fn step(
        &self,
        client: &Client,
        walk: &mut SearchWalk,
        rows: usize,
    ) -> Result<SearchStep, Error> {
        if !walk.search().reads_payloads() {
            return walk.next(client, rows).await;
        }
        let mut step = walk.next(client, rows.min(MOST_READ)).await?;
        let numbers: Vec<i64> = step.found.iter().map(|order| order.no).collect();
        let carried = search::carried(client, &numbers).await?;
        let mut fitting = Vec::with_capacity(step.found.len());
        for order in step.found {
            let Some(values) = carried.get(&order.no) else { continue };
            if self.fits(client, walk.search(), values).await? {
                fitting.push(order);
            }
        }
        step.found = fitting;
        Ok(step)
    }

    /// True if an order has the values that are wanted, and its scenario shows them.
    async fn fits(&self, client: &Client, search: &Search, carried: &CarriedValues) -> Result<bool, Error> {
        let known = self.catalogue.get(client, carried.scenario).await?.and_then(Known::readable);
        let Some(scenario) = known else { return Ok(false) };
        let secrets = self.secrets.named_by(&scenario);
        if !search.params.is_empty() {
            let params = carried.params.as_deref().and_then(|text| serde_json::from_str::<Value>(text).ok());
            let Some(mut params) = params else { return Ok(false) };
            scenario.mask.params(&mut params);
            if !Search::has_values(&search.params, &secrets.value(&params)) {
                return Ok(false);
            }
        }
        if search.vars.is_empty() {
            return Ok(true);
        }
        let snapshot = carried
            .snapshot
            .as_deref()
            .and_then(|text| Snapshot::from_value(&serde_json::from_str::<Value>(text).ok()?).ok());
        Ok(snapshot.is_some_and(|snapshot| {
            Search::has_values(&search.vars, &secrets.value(&Value::Object(snapshot.vars)))
        }))
    }
}
