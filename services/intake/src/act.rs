//! Actions of clients and operators on one order: each asks the law, then writes under a lock.

mod asked;
mod release;
mod restart;

use std::sync::Arc;
use std::time::Duration;

use pagurus_domain::order::Status;
use pagurus_domain::order::transition::{self, Cause, Refused};
use pagurus_domain::scenario::Scenario;
use pagurus_domain::scenario::stage::Snapshot;
use pagurus_runtime::metrics::Count;
use pagurus_runtime::news::Told;
use pagurus_runtime::scenarios::Known;
use pagurus_store::control::{self, Ending, Locked};
use pagurus_store::{Error, Tx, history};
use pagurus_wire::problem::{Problem, Type};
use serde_json::{Value, json};

pub(crate) use self::asked::{Asked, Key, OF_OTHERS, OF_RESTART};
pub(crate) use self::release::release_queue;
pub(crate) use self::restart::Restart;
use crate::Intake;
use crate::register::tell_conditions;

/// An order that moves while it is locked is tried this often.
const TRIES: u32 = 8;

/// What is asked.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// Give the order up.
    Cancel,
    /// Stop it before it begins.
    Interrupt,
    /// Stop it while it runs or waits.
    Kill,
    /// Begin a new life.
    Restart(Restart),
}

impl Action {
    /// The same with what the body of the request says of it.
    pub fn with(self, asked: &Asked) -> Self {
        match self {
            Self::Restart(restart) => {
                Self::Restart(Restart { from: asked.from.clone(), params: asked.params.clone(), ..restart })
            }
            other => other,
        }
    }

    const fn cause(&self) -> Cause {
        match self {
            Self::Cancel => Cause::Canceled,
            Self::Interrupt => Cause::Interrupted,
            Self::Kill => Cause::Killed,
            Self::Restart(_) => Cause::Restarted,
        }
    }

    /// All that the action may have been before the law, for one who looks for it in the history.
    const fn causes(&self) -> &'static [Cause] {
        match self {
            Self::Cancel => &[Cause::Canceled],
            Self::Interrupt => &[Cause::Interrupted],
            Self::Kill => &[Cause::Killed],
            Self::Restart(_) => &[Cause::Restarted, Cause::Rerun],
        }
    }
}

/// Who acts, why, and on what condition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms<'a> {
    /// Which door it came through.
    pub source: &'a str,
    /// Why, for the history.
    pub reason: Option<&'a str>,
    /// The status in which the order must still be.
    pub if_status: Option<Status>,
    /// By which a repeat is known.
    pub key: Option<&'a Key>,
}

impl Terms<'_> {
    /// The detail of an event with what a repeat of the request is known by.
    fn keyed(&self, mut detail: Value) -> Value {
        if let Some(key) = self.key {
            detail["key"] = key.name.as_str().into();
            detail["request"] = key.digest.as_str().into();
        }
        detail
    }
}

/// What the client is told of an action that was carried out, now or when it was asked for first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Acted {
    /// The status that followed.
    pub status: Status,
    /// The life that was ended or begun.
    pub life: i32,
    /// What was not done quite as asked for.
    pub note: Option<String>,
}

/// What was done, and what is to be told below the commit.
struct Done {
    acted: Acted,
    /// None where it was done before.
    told: Option<Told>,
}

/// Carries an action out. The same request again, by its key, is answered as it was the first
/// time, and nothing is done.
///
/// # Errors
/// The problem to answer with: not found, refused by the law, invalid, or not available.
pub(crate) async fn act(
    intake: &Intake,
    id: &str,
    action: &Action,
    terms: Terms<'_>,
) -> Result<Acted, Problem> {
    let mut tries = Tries::default();
    let own = Key::of_our_own();
    let keyed = Terms { key: terms.key.or(Some(&own)), ..terms };
    let done = loop {
        let may_be_done = terms.key.is_some() || tries.is_again();
        let outcome = try_act(intake, id, action, keyed, may_be_done).await;
        if let Some(done) = tries.judge(intake, "act", outcome).await {
            break done?;
        }
    };
    Ok(tell(intake, action, done).await)
}

/// The same in one try, for a door at which others stand behind. The request may have been carried out by
/// a try before.
///
/// # Errors
/// The database failed, or the order is locked: nothing was done, or it is not known.
pub(crate) async fn act_at_once(
    intake: &Intake,
    id: &str,
    action: &Action,
    terms: Terms<'_>,
    may_be_done: bool,
) -> Result<Result<Acted, Problem>, Error> {
    Ok(match try_act(intake, id, action, terms, may_be_done).await? {
        Ok(done) => Ok(tell(intake, action, done).await),
        Err(problem) => Err(problem),
    })
}

/// Tells the others, below the commit.
async fn tell(intake: &Intake, action: &Action, done: Done) -> Acted {
    let Some(told) = done.told else { return done.acted };
    intake.host.metrics.count(Count::Actions, action.cause().as_str(), 1);
    told.send(&intake.host).await;
    if matches!(action, Action::Cancel | Action::Interrupt | Action::Kill) {
        tell_conditions(&intake.host).await;
    }
    done.acted
}

/// Tries of something that is done to one order, while the order moves under the hand.
#[derive(Default)]
pub(crate) struct Tries(u32);

impl Tries {
    /// Whether there was a try before, which may have been carried out: the answer to its commit may be
    /// what was lost.
    pub const fn is_again(&self) -> bool {
        self.0 > 0
    }

    /// What a try came to; none where there is to be another, after a pause.
    pub async fn judge<T>(
        &mut self,
        intake: &Intake,
        operation: &str,
        outcome: Result<Result<T, Problem>, Error>,
    ) -> Option<Result<T, Problem>> {
        let error = match outcome {
            Ok(outcome) => return Some(outcome),
            Err(error) => error,
        };
        self.0 += 1;
        if error.is_transient() && self.0 < TRIES {
            tokio::time::sleep(Duration::from_millis(10 << self.0)).await;
            return None;
        }
        if matches!(error, Error::Contended) {
            let told = "the order changes too fast to be acted on; try again";
            return Some(Err(Problem::new(Type::Busy, told)));
        }
        Some(Err(crate::http::store_problem(&intake.host, operation, &error)))
    }
}

async fn try_act(
    intake: &Intake,
    id: &str,
    action: &Action,
    terms: Terms<'_>,
    may_be_done: bool,
) -> Result<Result<Done, Problem>, Error> {
    let mut client = intake.host.store.recovery().await?;
    intake.catalogue.refresh(&client).await?;
    let tx = client.transaction().await?;
    let Some(order) = control::lock(&tx, id).await? else {
        return Ok(Err(not_found(id)));
    };
    let cause = action.cause();
    if let Some(key) = terms.key.filter(|_| may_be_done) {
        for cause in action.causes() {
            if let Some(before) = history::of_key(&tx, order.no, cause.as_str(), &key.name).await? {
                return Ok(repeated(&before, *cause, key));
            }
        }
    }
    if let Some(wanted) = terms.if_status.filter(|wanted| *wanted != order.status) {
        let told = format!("the order is `{}` and not `{wanted}` any more", order.status);
        return Ok(Err(Problem::new(Type::Refused, told).with_status(order.status)));
    }
    let asked = match cause {
        Cause::Restarted => transition::restart_of(order.status, order.error_class.as_deref()),
        cause => cause,
    };
    let allowed = match order.may(asked) {
        Ok(allowed) => allowed,
        Err(refusal) => return Ok(Err(refused(refusal))),
    };
    let mut told = Told::default();
    let (life, note) = match action {
        Action::Restart(restart) => match restart::reopen(intake, &tx, allowed, restart, terms).await? {
            Ok((ready, note)) => {
                told.ready.push(ready);
                (order.life + 1, note)
            }
            Err(problem) => return Ok(Err(problem)),
        },
        Action::Cancel | Action::Interrupt | Action::Kill => {
            let detail = json!({"reason": terms.reason, "from": order.status.as_str()});
            let ending =
                Ending { error: None, source: terms.source, detail: terms.keyed(detail).to_string() };
            told.end(&order, control::end_life(&tx, allowed, &ending).await?);
            (order.life, None)
        }
    };
    tx.commit().await?;
    let acted = Acted { status: allowed.to(), life, note };
    Ok(Ok(Done { acted, told: Some(told) }))
}

/// What was answered the first time, read from the event of the action.
fn repeated(before: &history::Event, cause: Cause, key: &Key) -> Result<Done, Problem> {
    let detail: Value = serde_json::from_str(&before.detail).unwrap_or_default();
    if detail["request"] != key.digest.as_str() {
        let told = format!(
            "the key `{}` was used at {} for a request with another content; a new request needs a new key",
            key.name, before.at
        );
        return Err(Problem::new(Type::Invalid, told));
    }
    // Each of these causes leads to one status, whatever was before.
    let status = transition::TABLE.iter().find(|(known, _, _)| *known == cause).map(|(_, _, to)| *to);
    let acted = Acted {
        status: status.unwrap_or(Status::Reopen),
        life: before.life,
        note: detail["note"].as_str().map(str::to_owned),
    };
    Ok(Done { acted, told: None })
}

/// The answer where the law refuses.
pub(crate) fn refused(refused: Refused) -> Problem {
    Problem::new(Type::Refused, refused.to_string()).with_status(refused.status)
}

/// Position and variables of an order; blank where it has none. One that cannot be read is an error:
/// taken for blank, it would cost the order its variables.
pub(crate) async fn stored_snapshot(tx: &Tx<'_>, order: &Locked) -> Result<Snapshot, Error> {
    let Some(text) = control::snapshot(tx, order.no).await? else { return Ok(Snapshot::default()) };
    let read = serde_json::from_str::<Value>(&text)
        .map_err(|error| error.to_string())
        .and_then(|value| Snapshot::from_value(&value).map_err(|error| error.to_string()));
    read.map_err(|found| Error::Broken { what: "contexts.snapshot", found })
}

/// The version of the scenario that an order runs.
///
/// # Errors
/// The database fails.
pub(crate) async fn scenario_of(
    intake: &Intake,
    tx: &Tx<'_>,
    order: &Locked,
) -> Result<Result<Arc<Scenario>, Problem>, Error> {
    let known = intake.catalogue.get(tx, order.scenario_no).await?;
    Ok(known.and_then(Known::readable).ok_or_else(|| {
        let told = format!("scenario `{}` version {} cannot be read", order.scenario, order.scenario_version);
        Problem::new(Type::UnknownScenario, told)
    }))
}

/// No such order.
pub(crate) fn not_found(id: &str) -> Problem {
    let mut id = id.to_owned();
    id.truncate(id.floor_char_boundary(255));
    Problem::new(Type::NotFound, format!("there is no order `{id}`"))
}
