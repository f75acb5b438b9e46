//! Migrations: live orders of one version of a scenario go on under another (SCN-13).
//!
//! A migration looks first, at everything, without a lock; where it is to be applied, each batch is looked at again
//! under locks, because what an order was a moment ago decides nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use pagurus_domain::audit::AuditKind;
use pagurus_domain::id::{OrderNo, ScenarioNo};
use pagurus_domain::order::Status;
use pagurus_domain::order::principal::Principal;
use pagurus_runtime::Effects;
use pagurus_runtime::trouble::store_problem;
use pagurus_scenario::Scenario;
use pagurus_scenario::migration::{Hindrance, move_to, restart_under};
use pagurus_scenario::stage::Snapshot;
use pagurus_store::hot::stages::ReadyStage;
use pagurus_store::lists::audit::AuditEntry;
use pagurus_store::outside::scenarios::{self, Live};
use pagurus_store::{Client, Error};
use pagurus_wire::problem::{Problem, Type};
use serde_json::{Value, json};

use crate::request::{text_of, unknown};
use crate::tries::Tries;
use crate::{Commands, caused};

/// Orders of one transaction: few enough that nobody waits long for their locks.
const BATCH: i64 = 100;
/// Live orders that one request looks at; the answer says where the next one goes on.
const LOOKED_AT: i64 = 20_000;
/// Orders that are named for each reason.
const EXAMPLES: usize = 10;

/// Request for a migration.
#[derive(Clone, Debug)]
pub struct Migration {
    /// The version that the orders run.
    pub from: i32,
    /// The version that they are to run.
    pub to: i32,
    /// True where orders are moved, false where they are only looked at.
    pub apply: bool,
    /// Reason, for the history.
    reason: Option<String>,
    /// Only orders behind this one are looked at.
    after: OrderNo,
}

/// Fields of the body of a migration.
const FIELDS: &[&str] = &["from", "to", "apply", "reason", "after"];

impl Migration {
    /// Reads `{"from": …, "to": …, "apply": …, "reason": …, "after": …}`.
    ///
    /// # Errors
    /// The problem to answer with.
    pub fn read(body: &Value) -> Result<Self, Problem> {
        let invalid = |pointer: &str, message: &str| Problem::of_field(pointer, message);
        let version = |key: &str| {
            let number = body.get(key).and_then(Value::as_i64).and_then(|number| i32::try_from(number).ok());
            number
                .filter(|number| *number > 0)
                .ok_or_else(|| invalid(&format!("/{key}"), "must be a version, like 1"))
        };
        if let Some(map) = body.as_object() {
            let unknown: Vec<_> = map
                .keys()
                .filter(|key| !FIELDS.contains(&key.as_str()))
                .map(|key| unknown(key, FIELDS))
                .collect();
            if !unknown.is_empty() {
                return Err(Problem::of_faults(Type::Invalid, &unknown));
            }
        }
        let (from, to) = (version("from")?, version("to")?);
        if from == to {
            return Err(invalid("/to", "is the version that the orders have already"));
        }
        let apply = match body.get("apply") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(apply)) => *apply,
            Some(_) => return Err(invalid("/apply", "must be true or false")),
        };
        let reason = body.as_object().map_or(Ok(None), |map| text_of(map, "reason"));
        let reason = reason.map_err(|fault| Problem::of_faults(Type::Invalid, &[fault]))?;
        let after = match body.get("after") {
            None | Some(Value::Null) => OrderNo(0),
            Some(after) => behind(after.as_str().unwrap_or_default())?,
        };
        Ok(Self { from, to, apply, reason, after })
    }
}

/// The order behind which a migration continues, from the word `next` of an answer.
///
/// # Errors
/// The problem to answer with: it is another word.
pub fn behind(next: &str) -> Result<OrderNo, Problem> {
    let no =
        next.parse().map_err(|_| Problem::of_field("/after", "must be what `next` of an answer says"))?;
    Ok(OrderNo(no))
}

/// The outcome of a migration, or of a look at what it would do.
#[derive(Clone, Debug, Default)]
pub struct Migrated {
    /// Orders that were moved, or could be.
    pub moved: u64,
    /// Orders that were left where they are, by the reason.
    pub left: BTreeMap<String, LeftOrders>,
    /// The order behind which the next request goes on; none where all were looked at.
    pub next: Option<OrderNo>,
}

/// Orders that a migration left for one reason.
#[derive(Clone, Debug, Default)]
pub struct LeftOrders {
    /// Number of orders.
    pub orders: u64,
    /// Ids of the first of them.
    pub examples: Vec<String>,
}

impl Migrated {
    fn leave(&mut self, id: &str, why: &Hindrance) {
        let left = self.left.entry(why.to_string()).or_default();
        left.orders += 1;
        if left.examples.len() < EXAMPLES {
            left.examples.push(id.to_owned());
        }
    }
}

/// Both versions, ready to be compared.
struct MigrationVersions {
    from: ScenarioNo,
    old: Arc<Scenario>,
    new: Arc<Scenario>,
}

/// Version that orders are moved to, and the event of an order that is moved.
struct MigrationTarget<'a> {
    to: ScenarioNo,
    /// Name of the scenario.
    name: &'a str,
    asked: &'a Migration,
    by: &'a Principal,
    detail: String,
}

impl Commands {
    /// Moves the live orders of one version of a scenario to another, batch by batch, or only tells which ones could be.
    ///
    /// # Errors
    /// The problem to answer with: no such version, one that cannot be read, or the database is away.
    pub async fn migrate(&self, name: &str, asked: &Migration, by: &Principal) -> Result<Migrated, Problem> {
        let failed = |error| store_problem(&self.host, "migrate", &error);
        // A look pages by keys, and wants the plans of the hot path like the change itself.
        let mut client = self.host.store.operations().await.map_err(failed)?;
        self.catalogue.refresh(&client).await.map_err(failed)?;
        let (from, old) = self.readable_version(&client, name, asked.from).await?;
        let (to, new) = self.readable_version(&client, name, asked.to).await?;
        let versions = MigrationVersions { from, old, new };
        let detail = json!({"from": asked.from, "to": asked.to, "reason": asked.reason});
        let detail = caused(detail, by).to_string();
        let target = asked.apply.then_some(MigrationTarget { to, name, asked, by, detail });
        self.walk(&mut client, &versions, asked.after, target.as_ref()).await
    }

    /// Tells which live orders of a version could be moved to a scenario that is not stored.
    ///
    /// # Errors
    /// The problem to answer with: no such version, one that cannot be read, or the database is away.
    pub async fn preview_migration(
        &self,
        new: Scenario,
        from: i32,
        after: OrderNo,
    ) -> Result<Migrated, Problem> {
        let failed = |error| store_problem(&self.host, "migrate", &error);
        let mut client = self.host.store.operations().await.map_err(failed)?;
        self.catalogue.refresh(&client).await.map_err(failed)?;
        let (from, old) = self.readable_version(&client, &new.name, from).await?;
        self.walk(&mut client, &MigrationVersions { from, old, new: Arc::new(new) }, after, None).await
    }

    /// Looks at the live orders behind one, batch by batch, and moves them if there is a target.
    async fn walk(
        &self,
        client: &mut Client,
        versions: &MigrationVersions,
        mut after: OrderNo,
        target: Option<&MigrationTarget<'_>>,
    ) -> Result<Migrated, Problem> {
        let mut migrated = Migrated::default();
        for _ in 0..LOOKED_AT / BATCH {
            let page = scenarios::live(client, versions.from, after, BATCH).await;
            let page = page.map_err(|error| store_problem(&self.host, "migrate", &error))?;
            let Some(last) = page.last else { return Ok(migrated) };
            after = last;
            let mut fit = Vec::new();
            for order in page.orders {
                match judge(versions, &order) {
                    Ok(()) => fit.push(order),
                    Err(why) => migrated.leave(&order.id, &why),
                }
            }
            migrated.moved += match target {
                Some(target) if !fit.is_empty() => {
                    let moved = self.move_orders(client, versions, target, &fit, &mut migrated).await?;
                    self.note("migrated", target.by.door, moved);
                    moved as u64
                }
                _ => fit.len() as u64,
            };
        }
        Ok(Migrated { next: Some(after), ..migrated })
    }

    /// A version of a scenario that this node can read.
    async fn readable_version(
        &self,
        client: &Client,
        name: &str,
        version: i32,
    ) -> Result<(ScenarioNo, Arc<Scenario>), Problem> {
        let found = self.catalogue.find(client, name, Some(version)).await;
        let found = found.map_err(|error| store_problem(&self.host, "migrate", &error))?;
        let known = found.ok_or_else(|| Problem::no_scenario(name, Some(version)))?;
        let unreadable =
            |why| Problem::new(Type::Invalid, format!("version {version} cannot be read: {why}"));
        Ok((known.no, known.scenario.map_err(unreadable)?))
    }

    /// Moves a batch; one that met another writer is tried again, and counts only once. How many were moved.
    async fn move_orders(
        &self,
        client: &mut Client,
        versions: &MigrationVersions,
        target: &MigrationTarget<'_>,
        fit: &[Live],
        migrated: &mut Migrated,
    ) -> Result<usize, Problem> {
        let mut tries = Tries::default();
        let MigratedBatch { count, left, stages } = loop {
            let outcome = move_at_once(client, versions, target, fit).await.map(Ok);
            if let Some(moved) = tries.judge(&self.host, "migrate", outcome).await {
                break moved?;
            }
        };
        for (id, why) in left {
            migrated.leave(id, &why);
        }
        Effects::of_ready(&stages).send(&self.host).await;
        Ok(count)
    }
}

/// The outcome of one batch: orders that were moved, those that moved meanwhile, and the stages that may run.
struct MigratedBatch<'a> {
    count: usize,
    left: Vec<(&'a str, Hindrance)>,
    stages: Vec<ReadyStage>,
}

async fn move_at_once<'a>(
    client: &mut Client,
    versions: &MigrationVersions,
    target: &MigrationTarget<'_>,
    fit: &'a [Live],
) -> Result<MigratedBatch<'a>, Error> {
    let nos: Vec<i64> = fit.iter().map(|order| order.no.0).collect();
    let tx = client.transaction().await?;
    let locked = scenarios::lock_resting(&tx, versions.from, &nos).await?;
    let (mut moving, mut left) = (Vec::new(), Vec::new());
    for order in fit {
        match locked.iter().find(|one| one.no == order.no).map(|one| judge(versions, one)) {
            Some(Ok(())) => moving.push(order.no.0),
            Some(Err(why)) => left.push((order.id.as_str(), why)),
            // It was claimed since it was looked at, or it ended.
            None => left.push((order.id.as_str(), Hindrance::NotResting("running"))),
        }
    }
    // One that an operator named needs only be there.
    let marked = |name: &str| {
        versions.old.state_named(name).is_some_and(|state| versions.old.state(state).entry_point)
    };
    let states = versions.new.states.iter().filter(|state| state.entry_point || !marked(&state.name));
    let entry_points: Vec<&str> = states.map(|state| state.name.as_str()).collect();
    let MigrationTarget { to, name, asked, by, detail } = target;
    let stages = scenarios::migrate(&tx, &moving, *to, &entry_points, by.source(), detail).await?;
    AuditEntry::new("migrate", (AuditKind::Scenario, name), by, asked.reason.as_deref())
        .changed(
            json!({"version": asked.from}),
            json!({"version": asked.to}),
            json!({"from": asked.from, "to": asked.to, "orders": moving.len()}),
        )
        .record(&tx)
        .await?;
    tx.commit().await?;
    Ok(MigratedBatch { count: moving.len(), left, stages })
}

fn judge(versions: &MigrationVersions, order: &Live) -> Result<(), Hindrance> {
    if order.status == Status::Fail {
        return restart_under(&versions.new, order.entry_point.as_deref());
    }
    let snapshot = match &order.snapshot {
        None => Snapshot::default(),
        Some(text) => serde_json::from_str::<Value>(text)
            .ok()
            .and_then(|value| Snapshot::from_value(&value).ok())
            .ok_or(Hindrance::Unreadable)?,
    };
    move_to(&versions.old, &versions.new, order.status, &snapshot)
}
