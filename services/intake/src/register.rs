//! Registration: many orders in one transaction, over whichever transport they came.

mod after;
mod dry_run;
mod outcome;
mod reader;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use pagurus_domain::access::scope::AccessScope;
use pagurus_domain::order::Status;
use pagurus_domain::order::dependency::behind_holder;
use pagurus_domain::order::registration::{NewOrder, Request, Rules};
use pagurus_runtime::metrics::{Count, Work};
use pagurus_runtime::scenarios::{Catalogue, Known};
use pagurus_runtime::stats::Series;
use pagurus_runtime::{Effects, Host, costly};
use pagurus_scenario::{admission, params};
use pagurus_store::outside::orders::{self, Registered};
use pagurus_store::{Client, Error, Patience};
use pagurus_view::admit_names;
use pagurus_wire::json;
use pagurus_wire::problem::{Problem, Type};
use serde_json::Value;

pub(crate) use self::dry_run::Earlier;
pub(crate) use self::outcome::RegistrationOutcome;
use crate::order_log;
use crate::traced::RegistrationTrace;

/// A registration that was read.
#[derive(Clone, Debug)]
pub(crate) struct Submission {
    /// The order that the client asks for; shared, because several places look at it until it is stored.
    pub request: Arc<Request>,
    /// The queue that it will stand in, as far as it is known before its scenario is read: what comes later for the same
    /// queue stays behind it.
    pub queue: Option<String>,
    /// Time at which the client says it sent the request.
    pub sent_at: Option<Timestamp>,
    /// Time at which we got it.
    pub received_at: Timestamp,
    /// Place of the registration in the trace of its client.
    pub trace: RegistrationTrace,
    /// Scope of the client: its scenario decides the queue, and may not be known before.
    pub scope: AccessScope,
}

impl Submission {
    /// A request that was received then, sent in no trace, by somebody who sees everything.
    pub fn of(request: impl Into<Arc<Request>>, sent_at: Option<Timestamp>, received_at: Timestamp) -> Self {
        let request = request.into();
        Self {
            queue: request.queue.clone(),
            request,
            sent_at,
            received_at,
            trace: RegistrationTrace::none(),
            scope: AccessScope::WHOLE,
        }
    }
}

/// Size, by estimate, from which on a value is a large one, in bytes.
const LARGE: usize = 1024 * 1024;

/// Reads a JSON value as a registration.
///
/// # Errors
/// The problem to answer with.
pub(crate) fn read_value(value: Value) -> Result<Request, Problem> {
    Request::read(value).map_err(|faults| Problem::of_faults(Type::Invalid, &faults))
}

/// Reads JSON.
///
/// # Errors
/// The problem to answer with.
pub(crate) fn parse(body: &[u8]) -> Result<Value, Problem> {
    let read = if weight(body) > LARGE { reader::parse(body) } else { json::parse(body) };
    read.map_err(|error| {
        let text = if error.is_data() { "the body cannot be taken" } else { "the body is not JSON" };
        Problem::new(Type::Malformed, format!("{text}: {error}"))
    })
}

/// Returns the memory that a JSON text may take once it is read: a map with one entry takes 640 bytes however short
/// its text is, an entry of a large one three times its parts, a value 32 and the same again while its
/// list grows. An estimate from above. Counted by vector instructions: a long text of few values costs next to nothing.
pub(crate) fn weight(text: &[u8]) -> usize {
    let all = |byte: u8| memchr::memchr_iter(byte, text).count();
    text.len() + all(b'{') * 639 + all(b':') * 129 + (all(b',') + all(b'[')) * 64
}

/// End of the transaction of a registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Commit,
    /// Rolled back: nothing of it stays.
    TakeBack,
}

/// Registers batches.
#[derive(Clone)]
pub(crate) struct Registrar {
    pub host: Host,
    pub catalogue: Catalogue,
}

impl Registrar {
    /// Registers a batch. Returns one outcome for each submission, in order: `None` for one whose
    /// parameters take long to check. The others would wait for it, and nothing is done with it until it
    /// is handed in alone.
    ///
    /// # Errors
    /// The database failed: nothing is known to be registered, the same call may be repeated.
    pub async fn register(&self, batch: &[Submission]) -> Result<Vec<Option<RegistrationOutcome>>, Error> {
        let (client, known) = self.scenarios_of(batch).await?;
        let mut behind: HashSet<&str> = HashSet::new();
        let is_costly: Vec<bool> = batch
            .iter()
            .zip(&known)
            .map(|(submission, known)| {
                // What stands behind one in its queue, or has its id, stays behind.
                let id = &submission.request.id;
                let names = || submission.queue.as_deref().into_iter().chain([id.as_str()]);
                let later = !behind.is_empty() && names().any(|name| behind.contains(name));
                let is_costly = later || is_costly(submission, known.as_ref());
                if is_costly {
                    behind.extend(names());
                }
                is_costly
            })
            .collect();
        if !is_costly.contains(&true) {
            let outcomes = self.register_checked(client, batch, known).await?;
            return Ok(outcomes.into_iter().map(Some).collect());
        }
        let all = batch.iter().cloned().zip(known).zip(&is_costly);
        let (cheap, of_cheap): (Vec<Submission>, Vec<Option<Known>>) =
            all.filter(|(_, is_costly)| !**is_costly).map(|(cheap, _)| cheap).unzip();
        let mut outcomes = self.register_checked(client, &cheap, of_cheap).await?.into_iter();
        Ok(is_costly.into_iter().map(|is_costly| if is_costly { None } else { outcomes.next() }).collect())
    }

    /// Registers one order, however long its parameters take to check.
    ///
    /// # Errors
    /// See [`Registrar::register`].
    pub async fn register_alone(&self, submission: &Submission) -> Result<RegistrationOutcome, Error> {
        let batch = std::slice::from_ref(submission);
        let (client, known) = self.scenarios_of(batch).await?;
        let mut outcomes = self.register_checked(client, batch, known).await?;
        Ok(outcomes.remove(0))
    }

    /// Returns the scenario of each, and the connection over which it was looked for.
    async fn scenarios_of(&self, batch: &[Submission]) -> Result<(Client, Vec<Option<Known>>), Error> {
        let client = self.host.store.work().await?;
        self.catalogue.refresh(&client).await?;
        let mut known = Vec::with_capacity(batch.len());
        for submission in batch {
            let Request { scenario, scenario_version, .. } = &*submission.request;
            known.push(self.catalogue.find(&client, scenario, *scenario_version).await?);
        }
        Ok((client, known))
    }

    async fn register_checked(
        &self,
        client: Client,
        batch: &[Submission],
        known: Vec<Option<Known>>,
    ) -> Result<Vec<RegistrationOutcome>, Error> {
        let begun = Instant::now();
        let (outcomes, registered) = self.judge(client, batch, known, End::Commit).await?;
        self.tell(&registered).await;
        for (outcome, submission) in outcomes.iter().zip(batch) {
            self.host.metrics.count(Count::Registrations, outcome.word(), 1);
            let Request { id, scenario, .. } = &*submission.request;
            let (word, problem) = (outcome.word(), outcome.problem());
            submission.trace.record(id, scenario, word, problem.as_ref());
            order_log::outcome(&submission.request, &submission.trace, word, problem.as_ref());
            if matches!(outcome, RegistrationOutcome::Accepted { .. }) {
                self.host.stats.count(Series::Registered, &submission.request.scenario);
            }
        }
        self.host.metrics.batch(Work::Register, begun.elapsed());
        Ok(outcomes)
    }

    /// Checks orders and writes those that may be registered. Returns the outcome of each, and what was written.
    async fn judge(
        &self,
        mut client: Client,
        batch: &[Submission],
        known: Vec<Option<Known>>,
        end: End,
    ) -> Result<(Vec<RegistrationOutcome>, Vec<Registered>), Error> {
        let rules = self.host.settings().registration_rules();
        let mut checked: Vec<Result<NewOrder, Problem>> = batch
            .iter()
            .zip(known)
            .map(|(submission, known)| {
                costly::run(is_costly(submission, known.as_ref()), || {
                    check(submission, known, &self.catalogue, &rules)
                })
            })
            .collect();
        after::check(&client, &self.catalogue, &mut checked).await?;
        // The first of an id goes in; the others of the same batch are held against it.
        let mut first: HashMap<&str, usize> = HashMap::new();
        let mut new = Vec::with_capacity(batch.len());
        for order in checked.iter().flatten() {
            let next = new.len();
            if *first.entry(order.request.id.as_str()).or_insert(next) == next {
                new.push(order.clone());
            }
        }
        let registered = if new.is_empty() {
            Vec::new()
        } else {
            let patience = self.host.store.patience();
            store(&mut client, &new, patience, end).await.inspect_err(|error| patience.note(error))?
        };
        // The repeat of what was taken once is answered so, whatever would be refused by now (ORD-2).
        let refused: Vec<&str> = checked
            .iter()
            .zip(batch)
            .filter(|(order, _)| order.is_err())
            .map(|(_, submission)| submission.request.id.as_str())
            .collect();
        let known =
            if refused.is_empty() { HashMap::new() } else { orders::known(&client, &refused).await? };
        drop(client);
        let mut taken = vec![false; new.len()];
        let outcomes = checked
            .iter()
            .zip(batch)
            .map(|(order, submission)| match order {
                Err(problem) => match known.get(&submission.request.id) {
                    Some((digest, status)) if submission.request.has_digest(digest) => {
                        RegistrationOutcome::Duplicate(*status)
                    }
                    Some((_, status)) => RegistrationOutcome::Conflict(*status),
                    None => RegistrationOutcome::Rejected(problem.clone()),
                },
                Ok(order) => {
                    let index = first[order.request.id.as_str()];
                    let again = std::mem::replace(&mut taken[index], true);
                    outcome(order, &new[index], &registered[index], again, submission)
                }
            })
            .collect();
        Ok((outcomes, registered))
    }

    /// Notifies the dispatcher of what may run, and the activators of what starts soon. A hint: what is lost is found by their
    /// re-reading.
    async fn tell(&self, registered: &[Registered]) {
        let mut effects = Effects::default();
        registered.iter().for_each(|one| effects.registered(one));
        effects.send(&self.host).await;
    }
}

/// Returns the order that a submission asks for, checked against its scenario.
fn check(
    submission: &Submission,
    known: Option<Known>,
    catalogue: &Catalogue,
    rules: &Rules,
) -> Result<NewOrder, Problem> {
    let request = &submission.request;
    let Some(known) = known else { return Err(unknown_scenario(request, catalogue)) };
    let scenario = known.scenario.map_err(|why| {
        let text =
            format!("scenario `{}` cannot be read by this version of the engine: {why}", request.scenario);
        Problem::new(Type::UnknownScenario, text)
    })?;
    // A time in the future would switch the deadline off.
    let sent_at = submission.sent_at.map_or(submission.received_at, |sent| sent.min(submission.received_at));
    let mut order = admission::check_request(request.clone(), known.no, &scenario, rules, sent_at)
        .map_err(|faults| Problem::of_faults(Type::Invalid, &faults))?;
    admit_names(&submission.scope, &request.scenario, Some(&order.flow), order.queue.as_deref())?;
    order.trace = submission.trace.stored();
    Ok(order)
}

fn unknown_scenario(request: &Request, catalogue: &Catalogue) -> Problem {
    let name = &request.scenario;
    let near = catalogue.nearest(name);
    let text = match (request.scenario_version, near) {
        (Some(version), Some(near)) if near == *name => format!("scenario `{name}` has no version {version}"),
        (_, Some(near)) => format!("there is no scenario `{name}`; did you mean `{near}`?"),
        (_, None) => return Problem::unknown_scenario(name),
    };
    Problem::new(Type::UnknownScenario, text).at("/scenario")
}

fn is_costly(submission: &Submission, known: Option<&Known>) -> bool {
    let scenario = known.and_then(|known| known.scenario.as_ref().ok());
    scenario.is_some_and(|scenario| params::is_costly(&submission.request.params, scenario))
}

async fn store(
    client: &mut Client,
    new: &[NewOrder],
    patience: &Patience,
    end: End,
) -> Result<Vec<Registered>, Error> {
    let tx = client.transaction().await?;
    patience.bound(&tx).await?;
    let registered = orders::register(&tx, new).await?;
    match end {
        End::Commit => tx.commit().await?,
        End::TakeBack => tx.rollback().await?,
    }
    Ok(registered)
}

fn outcome(
    order: &NewOrder,
    first: &NewOrder,
    registered: &Registered,
    again: bool,
    submission: &Submission,
) -> RegistrationOutcome {
    let same = order.request.digest == first.request.digest;
    match registered {
        Registered::Accepted { ready, .. } => {
            let status = if ready.is_some() { Status::New } else { Status::Postponed };
            match (again, same) {
                (false, _) => RegistrationOutcome::Accepted {
                    status,
                    clamped: submission.sent_at.is_some_and(|sent| sent > submission.received_at),
                    uncorrelated: order
                        .request
                        .notify
                        .as_ref()
                        .is_some_and(|notify| notify.iter().any(|one| one.correlation_id.is_none())),
                },
                (true, true) => RegistrationOutcome::Duplicate(status),
                (true, false) => RegistrationOutcome::Conflict(status),
            }
        }
        // It cannot be known what another of this batch with the same id would have been.
        Registered::Cycle(way) => RegistrationOutcome::Rejected(after::of_cycle(way)),
        // Of children only, which no client can send.
        Registered::Behind { queue, awaiting } => RegistrationOutcome::Rejected(
            Problem::new(Type::Invalid, behind_holder(queue, awaiting)).at("/queue"),
        ),
        Registered::Duplicate(status) if same => RegistrationOutcome::Duplicate(*status),
        Registered::Conflict(status) if same => RegistrationOutcome::Conflict(*status),
        // The stored one equals the first of this batch, or not; this one differs from that first.
        Registered::Duplicate(status) | Registered::Conflict(status) => {
            RegistrationOutcome::Conflict(*status)
        }
    }
}
