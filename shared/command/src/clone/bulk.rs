//! Clones that operations make: registered here, because an operation has no intake to send them to.

use std::sync::Arc;

use jiff::Timestamp;
use pagurus_domain::access::scope::AccessScope;
use pagurus_domain::order::principal::Principal;
use pagurus_domain::order::registration::Request;
use pagurus_store::Error;
use pagurus_store::outside::orders::{self, Registered};
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
        (by, scope): (&Principal, &AccessScope),
        key: &RequestKey,
    ) -> Result<(), Problem> {
        if self.cloned_before(id, changes, Some(key)).await?.is_some() {
            return Ok(());
        }
        let (request, origin) = self.clone_of(id, changes, Some(key)).await?;
        let request = Arc::new(request);
        let mut tries = Tries::default();
        let registered = loop {
            let outcome = self.try_register(&request, &origin, (by, scope)).await;
            if let Some(done) = tries.judge(&self.host, "clone", outcome).await {
                break done?;
            }
        };
        if matches!(registered, Registered::Accepted { .. }) {
            self.note(EVENT, by.door, 1);
            self.announce(&[(registered, request)]).await;
        }
        Ok(())
    }

    /// Tries once to register a clone with its origin; the inner error says why it cannot be.
    async fn try_register(
        &self,
        request: &Arc<Request>,
        origin: &CloneOrigin,
        (by, scope): (&Principal, &AccessScope),
    ) -> Result<Result<Registered, Problem>, Error> {
        let mut client = self.host.store.recovery().await?;
        self.catalogue.refresh(&client).await?;
        let order = match self.admitted(&client, request, Timestamp::now(), scope).await? {
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
}
