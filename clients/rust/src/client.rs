//! The client of the API: each method is one request, or several that belong together.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::transport::{Patience, Request, Transport, encoded, path};
use crate::{Answered, Error, Options, Order, Registered, Search, Status};

/// Longest wait that one request asks for.
const LONG_POLL: Duration = Duration::from_secs(30);
/// Most orders of one request.
const BATCH: usize = 500;
/// Shortest time between two requests that wait: an engine that stops answers at once.
const LEAST_POLL: Duration = Duration::from_millis(200);

/// Client of one installation. Clones share their connections.
#[derive(Clone, Debug)]
pub struct Client {
    transport: Transport,
}

impl Client {
    /// A client of the installation at this address, like `http://127.0.0.1:8080`.
    ///
    /// # Errors
    /// This machine cannot speak HTTP.
    pub fn new(server: &str) -> Result<Self, Error> {
        Ok(Self { transport: Transport::new(server)? })
    }

    /// Time for which a request is repeated while the engine is away or busy; a minute unless it is set.
    #[must_use]
    pub const fn with_patience(mut self, patience: Duration) -> Self {
        self.transport.patience = patience;
        self
    }

    /// Token of this program, where the API asks for one. It goes to this server alone.
    #[must_use]
    pub fn with_token(mut self, token: &str) -> Self {
        self.transport.token = Some(token.to_owned());
        self
    }

    /// Registers an order. Repeats by itself while the engine is away or busy: the id makes that harmless.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn register(&self, order: &Order) -> Result<Registered, Error> {
        self.register_with(order, &Options::default()).await
    }

    /// Registers an order with a trace context, or only checks it.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn register_with(&self, order: &Order, options: &Options) -> Result<Registered, Error> {
        let body = json!(order);
        let place = if options.dry_run { "/v1/orders?dryRun=true" } else { "/v1/orders" };
        let request = Request::post(place, &body).header("traceparent", options.traceparent.as_deref());
        self.transport.ask(&request).await
    }

    /// Registers many orders, and returns the outcome of each in their order. What is wrong with one of them is the `error` of
    /// its outcome. Repeats those of which the engine does not know whether they were registered.
    ///
    /// # Errors
    /// See [`Error`]; orders before those of the failed request are registered.
    pub async fn register_many(&self, orders: &[Order]) -> Result<Vec<Registered>, Error> {
        let mut outcomes = Vec::with_capacity(orders.len());
        for part in orders.chunks(BATCH) {
            let mut outcome = self.register_part(part.iter()).await?;
            let mut patience = Patience::new(self.transport.patience, None);
            loop {
                let open: Vec<usize> =
                    (0..part.len()).filter(|index| outcome[*index].status == "unavailable").collect();
                if open.is_empty() {
                    break;
                }
                let Some(pause) = patience.pause(None) else { break };
                tokio::time::sleep(pause).await;
                let again = self.register_part(open.iter().map(|index| &part[*index])).await?;
                for (index, one) in open.into_iter().zip(again) {
                    outcome[index] = one;
                }
            }
            outcomes.append(&mut outcome);
        }
        Ok(outcomes)
    }

    /// Returns one outcome for each of the orders.
    async fn register_part(
        &self,
        orders: impl ExactSizeIterator<Item = &Order>,
    ) -> Result<Vec<Registered>, Error> {
        let count = orders.len();
        let body = json!(orders.collect::<Vec<_>>());
        let outcome: Vec<Registered> = self.transport.ask(&Request::post("/v1/orders/batch", &body)).await?;
        if outcome.len() != count {
            return Err(Error::Unreachable(format!("{} outcomes for {count} orders", outcome.len())));
        }
        Ok(outcome)
    }

    /// Returns the order with everything that is known about it.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn get(&self, id: &str) -> Result<Value, Error> {
        self.transport.ask(&Request::get(&path(id, ""))).await
    }

    /// Returns the status of the order.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn status(&self, id: &str) -> Result<Status, Error> {
        self.transport.ask(&Request::get(&path(id, "/status"))).await
    }

    /// Explains why the order does not run.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn explain(&self, id: &str) -> Result<String, Error> {
        let answer: Value = self.transport.ask(&Request::get(&path(id, "/explain"))).await?;
        Ok(answer["explanation"].as_str().unwrap_or_default().to_owned())
    }

    /// Follows the order until it has ended, or the time is over; [`Status::is_final`] says which.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn wait(&self, id: &str, timeout: Option<Duration>) -> Result<Status, Error> {
        let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            let begun = Instant::now();
            let left = until.map_or(LONG_POLL, |until| until.saturating_duration_since(begun).min(LONG_POLL));
            let place = path(id, &format!("/wait?timeout={}ms", left.as_millis()));
            let status: Status = self.transport.ask_until(&Request::get(&place), until).await?;
            if status.is_final || until.is_some_and(|until| Instant::now() >= until) {
                return Ok(status);
            }
            tokio::time::sleep(left.min(LEAST_POLL).saturating_sub(begun.elapsed())).await;
        }
    }

    /// Finds the orders that fulfil all conditions, such as `[("scenario", "change-tariff"), ("status", "fail")]`.
    #[must_use]
    pub fn find(&self, conditions: &[(&str, &str)]) -> Search {
        Search::new(self.transport.clone(), conditions)
    }

    /// Ends an order that has not begun, rests, or failed.
    ///
    /// # Errors
    /// See [`Error`]; what the status does not allow is a problem of the kind `refused`.
    pub async fn cancel(&self, id: &str, reason: &str) -> Result<Status, Error> {
        self.act(id, "cancel", reason, Map::new()).await
    }

    /// Ends an order that has not begun, for somebody to decide later.
    ///
    /// # Errors
    /// As [`Self::cancel`].
    pub async fn interrupt(&self, id: &str, reason: &str) -> Result<Status, Error> {
        self.act(id, "interrupt", reason, Map::new()).await
    }

    /// Ends an order where it stands.
    ///
    /// # Errors
    /// As [`Self::cancel`].
    pub async fn kill(&self, id: &str, reason: &str) -> Result<Status, Error> {
        self.act(id, "kill", reason, Map::new()).await
    }

    /// Runs an order again, from its last entry point, from `initial`, or from a state.
    ///
    /// # Errors
    /// As [`Self::cancel`].
    pub async fn restart(&self, id: &str, reason: &str, from: Option<&str>) -> Result<Status, Error> {
        let more = from.map(|from| ("from".to_owned(), json!(from))).into_iter().collect();
        self.act(id, "restart", reason, more).await
    }

    /// Lets an order that is stuck go on, with `failedAction`, or with a `state` and perhaps `action` and `vars`.
    ///
    /// # Errors
    /// As [`Self::cancel`].
    pub async fn repair(&self, id: &str, reason: &str, more: Map<String, Value>) -> Result<Status, Error> {
        self.act(id, "repair", reason, more).await
    }

    /// Does something to an order, with a reason for its history, and further fields of the action.
    ///
    /// # Errors
    /// As [`Self::cancel`].
    pub async fn act(
        &self,
        id: &str,
        action: &str,
        reason: &str,
        more: Map<String, Value>,
    ) -> Result<Status, Error> {
        let mut body = more;
        body.insert("reason".to_owned(), json!(reason));
        let (place, body) = (path(id, &format!("/{action}")), Value::Object(body));
        // The same key over all repeats: the action is done once.
        let key = Uuid::new_v4().to_string();
        self.transport.ask(&Request::post(&place, &body).header("Idempotency-Key", Some(&key))).await
    }

    /// Changes an order that has not gone on yet: `params`, `priority`, `notify`, or `lifecycle`. Returns the order.
    ///
    /// # Errors
    /// As [`Self::cancel`].
    pub async fn update(&self, id: &str, reason: &str, changes: Map<String, Value>) -> Result<Value, Error> {
        let mut body = changes;
        body.insert("reason".to_owned(), json!(reason));
        let (place, body, key) = (path(id, ""), Value::Object(body), Uuid::new_v4().to_string());
        self.transport.ask(&Request::patch(&place, &body).header("Idempotency-Key", Some(&key))).await
    }

    /// Registers a new order like this one, with the given fields laid over it.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn clone_order(&self, id: &str, fields: Map<String, Value>) -> Result<Registered, Error> {
        let (place, body, key) = (path(id, "/clone"), Value::Object(fields), Uuid::new_v4().to_string());
        self.transport.ask(&Request::post(&place, &body).header("Idempotency-Key", Some(&key))).await
    }

    /// Calls a live order, and waits for its answer until the time is over.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn call(
        &self,
        id: &str,
        name: &str,
        body: Value,
        timeout: Duration,
    ) -> Result<Answered, Error> {
        let asked = json!({"name": name, "body": body, "key": Uuid::new_v4().to_string()});
        let place = path(id, &format!("/calls?timeout={}ms", timeout.as_millis()));
        self.transport.ask(&Request::post(&place, &asked).wait(timeout)).await
    }

    /// Answers a request of an order, by its `${request.url}` or `${request.id}`; the verdict is `accepted`, `duplicate`,
    /// `late` or `orphan`.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn answer(
        &self,
        callback: &str,
        body: &Value,
        step_status: Option<&str>,
    ) -> Result<String, Error> {
        let is_url = callback.starts_with("http://") || callback.starts_with("https://");
        let place = if is_url { callback.to_owned() } else { format!("/v1/callbacks/{}", encoded(callback)) };
        let request = Request::post(&place, body).header("step-status", step_status);
        let taken: Value = self.transport.ask(&request).await?;
        Ok(taken["status"].as_str().unwrap_or_default().to_owned())
    }
}
