//! Registration of orders that the engine makes by itself, for operations and schedules.

use std::sync::Arc;

use jiff::Timestamp;
use pagurus_domain::access::scope::AccessScope;
use pagurus_domain::order::registration::{NewOrder, Request};
use pagurus_runtime::metrics::Count;
use pagurus_runtime::scenarios::Known;
use pagurus_runtime::stats::Series;
use pagurus_runtime::{Effects, costly, order_log};
use pagurus_scenario::{admission, params};
use pagurus_store::outside::orders::Registered;
use pagurus_store::{Connection, Error};
use pagurus_wire::problem::{Problem, Type};

use crate::Commands;

impl Commands {
    /// The order that a request of this time asks for, held against its scenario. The catalogue was refreshed
    /// before.
    ///
    /// # Errors
    /// The database failed; the inner error says why the order cannot be registered.
    pub(crate) async fn admitted(
        &self,
        client: &impl Connection,
        request: &Arc<Request>,
        sent_at: Timestamp,
        scope: &AccessScope,
    ) -> Result<Result<NewOrder, Problem>, Error> {
        let known = self.catalogue.find(client, &request.scenario, request.scenario_version).await?;
        let Some((no, scenario)) = known.and_then(|known| Some((known.no, Known::readable(known)?))) else {
            let text = format!("there is no scenario `{}` that can be read", request.scenario);
            return Ok(Err(Problem::new(Type::UnknownScenario, text).at("/scenario")));
        };
        let rules = self.host.settings().registration_rules();
        let checked = costly::run(params::is_costly(&request.params, &scenario), || {
            admission::check_request(Arc::clone(request), no, &scenario, &rules, sent_at)
        });
        let order = match checked {
            Ok(order) => order,
            Err(faults) => return Ok(Err(Problem::of_faults(Type::Invalid, &faults))),
        };
        // Parameters may decide flow and queue.
        if scope.has_order(&order.flow, order.queue.as_deref(), &request.scenario) {
            return Ok(Ok(order));
        }
        let message = "its scenario, flow or queue belongs to a tenant that is not yours (`access.tenants`)";
        Ok(Err(Problem::new(Type::Forbidden, message)))
    }

    /// Counts and logs orders that were registered, each by its request, and notifies those who go on with them: below the
    /// commit.
    pub(crate) async fn announce(&self, registered: &[(Registered, Arc<Request>)]) {
        let mut effects = Effects::default();
        for (one, request) in registered {
            if matches!(one, Registered::Accepted { .. }) {
                self.host.metrics.count(Count::Registrations, "accepted", 1);
                self.host.stats.count(Series::Registered, &request.scenario);
                order_log::registered(request, None);
            }
            effects.registered(one);
        }
        effects.send(&self.host).await;
    }
}
