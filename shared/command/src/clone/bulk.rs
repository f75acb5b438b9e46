//! Clones that operations make: registered here, because an operation is carried out where no door is.

use std::sync::Arc;

use jiff::Timestamp;
use pagurus_domain::activation::Stream;
use pagurus_domain::order::principal::Principal;
use pagurus_domain::order::registration::{NewOrder, Request};
use pagurus_runtime::metrics::Count;
use pagurus_runtime::scenarios::Known;
use pagurus_runtime::stats::Series;
use pagurus_runtime::{Effects, costly};
use pagurus_scenario::{admission, params};
use pagurus_store::outside::orders::{self, Registered};
use pagurus_store::{Client, Error};
use pagurus_wire::problem::{Problem, Type};
use serde_json::Value;

use super::{CloneOrigin, EVENT};
use crate::Commands;
use crate::request::RequestKey;
use crate::tries::Tries;

impl Commands {
    /// Makes a clone of an order, once under this key.
    ///
    /// # Errors
    /// The problem that keeps it from being registered.
    pub(crate) async fn clone_order(
        &self,
        id: &str,
        changes: &Value,
        by: &Principal,
        key: &RequestKey,
    ) -> Result<(), Problem> {
        if self.cloned_before(id, changes, Some(key)).await?.is_some() {
            return Ok(());
        }
        let (request, origin) = self.clone_of(id, changes, Some(key)).await?;
        let (scenario, request) = (request.scenario.clone(), Arc::new(request));
        let mut tries = Tries::default();
        let registered = loop {
            let outcome = self.try_register(&request, &origin, by).await;
            if let Some(done) = tries.judge(&self.host, "clone", outcome).await {
                break done?;
            }
        };
        let Registered::Accepted { no, ready, conditional, .. } = registered else { return Ok(()) };
        self.note(EVENT, by.door, 1);
        self.host.metrics.count(Count::Registrations, "accepted", 1);
        self.host.stats.count(Series::Registered, &scenario);
        let changed = if ready.is_none() { vec![no] } else { Vec::new() };
        let mut effects = Effects { changed, ..Effects::of_ready(&ready) };
        if conditional {
            effects.timer(Stream::Dependent, Timestamp::now());
        }
        effects.send(&self.host).await;
        Ok(())
    }

    /// Tries once to register a clone with its origin; the inner error says why it cannot be.
    async fn try_register(
        &self,
        request: &Arc<Request>,
        origin: &CloneOrigin,
        by: &Principal,
    ) -> Result<Result<Registered, Problem>, Error> {
        let mut client = self.host.store.recovery().await?;
        let order = match self.admitted(&client, request).await? {
            Ok(order) => order,
            Err(problem) => return Ok(Err(problem)),
        };
        let tx = client.transaction().await?;
        let registered = orders::register(&tx, &[order]).await?.remove(0);
        match &registered {
            Registered::Accepted { no, .. } => origin.record(&tx, *no, by).await?,
            Registered::Duplicate(_) => {}
            Registered::Conflict(_) => {
                return Ok(Err(Problem::new(Type::Conflict, "another order has the id of its clone")));
            }
            Registered::Cycle(_) | Registered::Behind { .. } => {
                return Ok(Err(Problem::new(Type::Invalid, "its clone would wait for itself")));
            }
        }
        tx.commit().await?;
        Ok(Ok(registered))
    }

    /// The order that a request asks for, held against its scenario.
    async fn admitted(
        &self,
        client: &Client,
        request: &Arc<Request>,
    ) -> Result<Result<NewOrder, Problem>, Error> {
        self.catalogue.refresh(client).await?;
        let known = self.catalogue.find(client, &request.scenario, request.scenario_version).await?;
        let Some((no, scenario)) = known.and_then(|known| Some((known.no, Known::readable(known)?))) else {
            let text = format!("there is no scenario `{}` that can be read", request.scenario);
            return Ok(Err(Problem::new(Type::UnknownScenario, text)));
        };
        let rules = self.host.settings().registration_rules();
        let checked = costly::run(params::is_costly(&request.params, &scenario), || {
            admission::check_request(Arc::clone(request), no, &scenario, &rules, Timestamp::now())
        });
        Ok(checked.map_err(|faults| Problem::of_faults(Type::Invalid, &faults)))
    }
}
