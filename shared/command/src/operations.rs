//! Bulk operations (REC-12): made, steered, and carried out piece by piece by the activators. Each order is acted on by
//! the same commands as by hand, under a key of the operation, so that a piece that was carried out and not noted is
//! known when it is carried out again.

mod action;
mod pieces;
mod selection;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use pagurus_domain::access::scope::{AccessScope, OwnedKind};
use pagurus_domain::audit::AuditKind;
use pagurus_domain::document::parse_duration;
use pagurus_domain::json::json_text;
use pagurus_domain::operation::{OperationState, Ramp};
use pagurus_domain::order::Priority;
use pagurus_domain::order::principal::Principal;
use pagurus_domain::search::Search;
use pagurus_runtime::search::Finder;
use pagurus_store::Error;
use pagurus_store::lists::audit::AuditEntry;
use pagurus_store::lists::search::{self, SearchWalk};
use pagurus_store::lists::searches;
use pagurus_store::outside::operations::{self, CreatedOperation, NewOperation};
use pagurus_store::upkeep::clock;
use pagurus_store::upkeep::shift::{self, Shift, Window};
use pagurus_wire::operations::{OperationOutcome, OperationRequest};
use pagurus_wire::problem::{Problem, Type};
use serde_json::{Value, json};

use crate::Commands;
use crate::request::RequestKey;
use crate::texts::checked;
use crate::tries::Tries;
pub use action::BulkAction;
pub use pieces::OperationPiece;
pub use selection::Selected;

/// Longest reason, in bytes.
const MAX_REASON: usize = 4096;
/// Orders that a dry run looks at, at most, and of one step.
const MOST_LOOKED: usize = 200_000;
const STEP: usize = 10_000;
/// Ids that a dry run shows.
const EXAMPLES: usize = 5;

/// A request that was understood.
struct Understood {
    search: Search,
    action: BulkAction,
    urgency: Priority,
    ramp: Option<String>,
    follow_until: Option<Timestamp>,
}

impl Commands {
    /// Makes an operation, or only counts the orders it would take.
    ///
    /// # Errors
    /// The problem to answer with.
    pub async fn operate(
        &self,
        asked: &OperationRequest,
        by: &Principal,
        scope: &AccessScope,
        key: Option<&RequestKey>,
    ) -> Result<(OperationOutcome, Option<i64>), Problem> {
        let understood = self.understood(asked, scope).await?;
        if asked.dry_run {
            return Ok((self.would_be(&understood.search, scope, asked.again).await?, None));
        }
        let own = RequestKey::of_our_own();
        let key = key.unwrap_or(&own);
        let fields = Value::Object(asked.with.clone()).to_string();
        let search = json_text(&understood.search);
        let made_by = by.to_value().to_string();
        let new = NewOperation {
            key: &key.name,
            digest: &key.digest,
            action: &asked.action,
            fields: &fields,
            search: &search,
            again: asked.again,
            reason: &asked.reason,
            by: &made_by,
            urgency: understood.urgency,
            rate: asked.rate,
            ramp: understood.ramp.as_deref(),
            follow_until: understood.follow_until,
            tenants: scope.tenants(),
        };
        let mut tries = Tries::default();
        let made = loop {
            let made = self.create(&new, &understood.action, by).await.map(Ok);
            if let Some(made) = tries.judge(&self.host, "operation", made).await {
                break made?;
            }
        };
        let is_same = match &made.digest {
            Some(digest) => *digest == key.digest,
            None => made.action == [asked.action.as_str(), &fields],
        };
        if !is_same {
            return Err(key.misused(""));
        }
        self.note("operation", by.door, 1);
        Ok((OperationOutcome::default(), Some(made.no)))
    }

    async fn create(
        &self,
        new: &NewOperation<'_>,
        action: &BulkAction,
        by: &Principal,
    ) -> Result<CreatedOperation, Error> {
        let mut client = self.host.store.operations().await?;
        let tx = client.transaction().await?;
        let made = operations::create(&tx, new).await?;
        if made.is_new {
            if let BulkAction::Shift(distance) = action {
                // A record of its own, by which it can be undone.
                let window = Window::open(clock::now(&tx).await?);
                let keyword = format!("operation:{}", made.no);
                let shift = Shift {
                    keyword,
                    distance: distance.unsigned_abs(),
                    window,
                    reason: new.reason.to_owned(),
                };
                let no = shift::begin(&tx, &shift, new.by, None).await?.no;
                operations::set_shift(&tx, made.no, no).await?;
            }
            let subject = made.no.to_string();
            AuditEntry::new(new.action, (AuditKind::Operation, &subject), by, Some(new.reason))
                .with(&json!({"search": parsed(new.search), "with": parsed(new.fields), "again": new.again}))
                .record(&tx)
                .await?;
        }
        tx.commit().await?;
        Ok(made)
    }

    /// Reads and checks everything that a request asks for.
    async fn understood(&self, asked: &OperationRequest, scope: &AccessScope) -> Result<Understood, Problem> {
        checked("reason", &asked.reason, MAX_REASON)?;
        let action = BulkAction::read(&asked.action, &asked.with, &asked.reason)?;
        let now = Timestamp::now();
        let search = match (&asked.search, &asked.saved, asked.again) {
            (Some(search), None, None) => Search::read(search, now).map_err(|mut faults| {
                faults.iter_mut().for_each(|fault| fault.pointer = format!("/search{}", fault.pointer));
                Problem::of_faults(Type::Invalid, &faults)
            })?,
            (None, Some(name), None) => self.saved_search(name, now).await?,
            (None, None, Some(no)) => {
                self.operation_to_repeat(no, scope).await?;
                Search::default()
            }
            _ => {
                let message = "name the orders by one of `search`, `saved` and `again`";
                return Err(Problem::new(Type::Invalid, message).at("/search"));
            }
        };
        if let Some(condition) = search.payload_condition().filter(|_| scope.hides_payloads()) {
            return Err(Problem::payloads_are_hidden(condition));
        }
        check_clones(asked, scope)?;
        if search.is_empty() && asked.again.is_none() {
            let message = "a search without conditions would be every order: name one";
            return Err(Problem::new(Type::Invalid, message).at("/search"));
        }
        let urgency = asked.urgency.as_deref().map_or(Ok(Priority::Normal), str::parse);
        let urgency = urgency.map_err(|unknown| Problem::of_field("/urgency", unknown.to_string()))?;
        if asked.rate.is_some_and(|rate| !(0.001..=1_000_000.0).contains(&rate)) {
            let message = "is a number of orders a second from 0.001 to 1000000";
            return Err(Problem::of_field("/rate", message));
        }
        let follow_until = asked.follow.as_deref().map(|text| end_of_following(text, now)).transpose()?;
        Ok(Understood { search, action, urgency, ramp: ramp(asked.ramp.as_ref())?, follow_until })
    }

    async fn saved_search(&self, name: &str, now: Timestamp) -> Result<Search, Problem> {
        let found = async { searches::find(&self.host.store.operations().await?, name).await };
        let found = found.await.map_err(self.failed("searches"))?;
        let found = found.ok_or_else(|| Problem::no_search(name).at("/saved"))?;
        let value = serde_json::from_str(&found.search).unwrap_or_default();
        Search::read(&value, now).map_err(|faults| Problem::of_faults(Type::Invalid, &faults))
    }

    async fn operation_to_repeat(&self, no: i64, scope: &AccessScope) -> Result<(), Problem> {
        let found = async { operations::find(&self.host.store.operations().await?, no).await };
        match found.await.map_err(self.failed("operation"))? {
            Some(found) if !scope.has_work_of(found.tenants.as_deref()) => {
                Err(Problem::no_operation(no).at("/again"))
            }
            None => Err(Problem::no_operation(no).at("/again")),
            Some(found) if !found.state.is_over() => {
                let message = format!("operation {no} is {}: it still goes on with its orders", found.state);
                Err(Problem::new(Type::Refused, message).at("/again"))
            }
            Some(_) => Ok(()),
        }
    }

    /// Counts the orders that the operation would take now.
    async fn would_be(
        &self,
        search: &Search,
        scope: &AccessScope,
        again: Option<i64>,
    ) -> Result<OperationOutcome, Problem> {
        let looked = async {
            let client = self.host.store.operations().await?;
            if let Some(former) = again {
                let counts =
                    operations::find(&client, former).await?.map(|found| found.counts).unwrap_or_default();
                let orders = counts.failed + counts.failed_again + counts.failed_otherwise;
                return Ok((orders, true, Vec::new()));
            }
            let Some(mut walk) = SearchWalk::begin(&client, search.clone(), scope, None).await? else {
                return Ok((0, true, Vec::new()));
            };
            let (mut orders, mut looked, mut examples) = (0, 0, Vec::new());
            while looked < MOST_LOOKED {
                let step = self.finder().step(&client, &mut walk, STEP).await?;
                looked += step.looked;
                orders += step.found.len() as u64;
                examples.extend(step.found.iter().take(EXAMPLES - examples.len()).map(|order| order.no));
                if step.is_last {
                    return Ok((orders, true, examples));
                }
            }
            Ok::<_, Error>((orders, false, examples))
        };
        let (orders, complete, examples) = looked.await.map_err(self.failed("operation"))?;
        let named = async { search::ids_of(&self.host.store.operations().await?, &examples).await };
        let named = named.await.map_err(self.failed("operation"))?;
        Ok(OperationOutcome {
            operation: None,
            orders: Some(orders),
            complete: Some(complete),
            examples: examples.iter().filter_map(|no| named.get(no).cloned()).collect(),
        })
    }

    /// Pauses, resumes or aborts an operation. Does nothing if it is in that state already.
    ///
    /// # Errors
    /// The problem to answer with: not found, over already, or not available.
    pub async fn steer_operation(
        &self,
        no: i64,
        to: OperationState,
        by: &Principal,
        reason: Option<&str>,
    ) -> Result<(), Problem> {
        let mut tries = Tries::default();
        loop {
            let steered = self.try_steer(no, to, by, reason).await;
            if let Some(done) = tries.judge(&self.host, "operation", steered).await {
                return done;
            }
        }
    }

    async fn try_steer(
        &self,
        no: i64,
        to: OperationState,
        by: &Principal,
        reason: Option<&str>,
    ) -> Result<Result<(), Problem>, Error> {
        let mut client = self.host.store.operations().await?;
        let tx = client.transaction().await?;
        let Some(operation) = operations::lock(&tx, no).await? else {
            return Ok(Err(Problem::no_operation(no)));
        };
        if operation.state == to {
            return Ok(Ok(()));
        }
        if operation.state.is_over() {
            let message = format!("operation {no} is {}: nothing of it goes on", operation.state);
            return Ok(Err(Problem::new(Type::Refused, message)));
        }
        operations::set_state(&tx, no, to, reason).await?;
        let (subject, word) = (no.to_string(), to.as_str());
        AuditEntry::new(word, (AuditKind::Operation, &subject), by, reason)
            .changed(json!({"state": operation.state.as_str()}), json!({"state": word}), json!({}))
            .record(&tx)
            .await?;
        tx.commit().await?;
        Ok(Ok(()))
    }

    /// The finder of orders by conditions.
    fn finder(&self) -> Finder {
        Finder { catalogue: self.catalogue.clone(), secrets: std::sync::Arc::clone(&self.secrets) }
    }
}

/// Refuses clones that would become orders which those who ask do not see.
fn check_clones(asked: &OperationRequest, scope: &AccessScope) -> Result<(), Problem> {
    if scope.has_every_name() {
        return Ok(());
    }
    for kind in [OwnedKind::Scenario, OwnedKind::Queue, OwnedKind::Flow] {
        let Some(given) = asked.with.get(kind.as_str()) else { continue };
        if given.as_str().is_none_or(|name| !scope.has(kind, name)) {
            let message = format!("names a {kind} that is not of your tenants");
            return Err(Problem::new(Type::Forbidden, message).at(format!("/with/{kind}")));
        }
    }
    Ok(())
}

/// JSON that this program has written.
fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// The ramp as it is kept.
fn ramp(asked: Option<&Value>) -> Result<Option<String>, Problem> {
    let Some(value) = asked.filter(|value| !value.is_null()) else { return Ok(None) };
    let read: Ramp = serde_json::from_value(value.clone())
        .map_err(|error| Problem::of_field("/ramp", error.to_string()))?;
    read.check().map_err(|(field, message)| Problem::of_field(&format!("/ramp/{field}"), message))?;
    Ok(serde_json::to_string(&read).ok())
}

/// Longest time for which orders that come to match are taken.
const MAX_FOLLOW: Duration = Duration::from_hours(31 * 24);

fn end_of_following(text: &str, now: Timestamp) -> Result<Timestamp, Problem> {
    let bad = |message: &str| Problem::of_field("/follow", message);
    let duration = parse_duration(text).map_err(|message| bad(&message))?;
    if duration.is_zero() || duration > MAX_FOLLOW {
        return Err(bad("the duration is longer than 0, and 31 days at most"));
    }
    let end = SignedDuration::try_from(duration).ok().and_then(|length| now.checked_add(length).ok());
    end.ok_or_else(|| bad("it is too long"))
}
