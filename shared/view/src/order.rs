//! An order with all its parts.

use std::sync::Arc;

use jiff::Timestamp;
use pagurus_domain::id::{Attempt, ScenarioNo};
use pagurus_domain::number::saturated;
use pagurus_domain::order::notification::{self, Target, shown_url};
use pagurus_domain::time;
use pagurus_runtime::scenarios::Known;
use pagurus_scenario::stage::Snapshot;
use pagurus_scenario::{Mask, Scenario, holds_credentials};
use pagurus_store::hot::asking;
use pagurus_store::hot::dependencies::graph::Graph;
use pagurus_store::hot::history;
use pagurus_store::hot::outbox;
use pagurus_store::hot::requests;
use pagurus_store::lists::promises::{self, JeopardyMark};
use pagurus_store::lists::scope;
use pagurus_store::outside::answers;
use pagurus_store::outside::children;
use pagurus_store::outside::orders::{self, OrderRow as Row};
use pagurus_store::recovery::consistency::marks::{self, InconsistencyMark};
use pagurus_store::{Client, Error};
use pagurus_wire::consistency::InconsistencyView;
use pagurus_wire::notices::{EndNotice, NoticeError};
use pagurus_wire::order::{ChildView, ErrorView, OrderView, Page, StartedView, StatusView, UnsentView};
use pagurus_wire::parts::{AskingView, CallbackView, FailedOverView, ProgressView, RequestView};
use pagurus_wire::problem::{Problem, Type};
use serde_json::Value;

use crate::hidden::{HiddenParts, mask};
use crate::history::{OrderMoves, parsed};
use crate::part::PartQuery;
use crate::query::page;
use crate::stand::{self, entry_points, failed_action};
use crate::{Views, dependencies, foresight, retry};

/// Everything about an order that does not stand in its row.
struct OrderParts {
    hidden: Option<HiddenParts>,
    known: Option<Arc<Scenario>>,
    moves: OrderMoves,
    unsent: Vec<UnsentView>,
    /// Orders around it, as conditions connect them.
    after: Graph,
    parent: Option<String>,
    /// Child orders, each with its status.
    children: Vec<(String, String)>,
    mark: Option<InconsistencyMark>,
    /// Set where it is late.
    late: Option<JeopardyMark>,
    asking: Option<AskingView>,
    failed_over: Option<FailedOverView>,
}

impl Views {
    /// Returns an order with everything that is known about it.
    pub async fn order(&self, id: &str) -> Result<OrderView, Problem> {
        let (client, row) = self.found(id).await?;
        let parts = self.parts(&client, &row).await.map_err(self.failed("read"))?;
        drop(client);
        let cycles = retry::cycles(&self.host.settings(), parts.known.as_deref(), &row, Timestamp::now());
        let (step, scenario_status) = stand::stand(&row, parts.known.as_deref());
        let position = snapshot(&row);
        let entry_points =
            parts.known.as_deref().map_or_else(Vec::new, |known| entry_points(&row, known, &parts.moves));
        Ok(OrderView {
            progress: stand::progress(&row),
            more_transitions: parts.moves.are_more(),
            transitions: parts.moves.shown(),
            vars: vars(parts.hidden.as_ref(), position.as_ref()),
            entry_points,
            failed_action: position
                .as_ref()
                .and_then(|position| failed_action(position, parts.known.as_deref())),
            retry: cycles.waiting,
            async_retry: cycles.asynchronous,
            inconsistent: parts.mark.map(inconsistency),
            unsent_notifications: parts.unsent.into_iter().map(unsent_view).collect(),
            params: params(parts.hidden.as_ref(), &row),
            parent: parts.parent,
            children: parts.children.into_iter().map(|(id, status)| ChildView { id, status }).collect(),
            notify: row.notify.as_deref().map(notification::shown),
            result: row.result.as_deref().map(parsed),
            error: error_view(&row),
            after: dependencies::conditions(&row.id, parts.after),
            no: row.no.0,
            id: row.id,
            scenario: row.scenario,
            scenario_version: row.scenario_version,
            status: row.status.to_string(),
            scenario_status: scenario_status.to_string(),
            step,
            mode: row.mode.to_string(),
            queue: row.queue,
            position: row.position,
            priority: row.priority.to_string(),
            flow: row.flow,
            transaction_id: row.transaction_id,
            labels: row.labels,
            message: row.message,
            life: row.life.0,
            stages: row.stages,
            retries: row.retries,
            node: row.node,
            created_at: row.created_at,
            started_at: row.started_at.or(row.running.map(|(_, at)| at)),
            finished_at: row.finished_at,
            duration_ms: duration_ms(row.started_at, row.finished_at),
            updated_at: row.updated_at,
            start_at: row.start_at,
            promise: row.promise_at.map(|at| foresight::promise_view(at, None, parts.late)),
            start_deadline: row.start_deadline,
            due_at: row.due_at,
            ready_since: row.ready_since,
            entry_point: row.entry_point,
            asking: parts.asking,
            failed_over: parts.failed_over,
        })
    }

    async fn parts(&self, client: &Client, row: &Row) -> Result<OrderParts, Error> {
        let (parent, mut children) = children::family(client, row.no).await?;
        let family = parent.iter().chain(children.iter().map(|(id, _)| id)).cloned();
        let seen = scope::within_by_id(client, &self.scope, family).await?;
        children.retain(|(id, _)| seen.has(id));
        Ok(OrderParts {
            hidden: self.hidden_in(client, row).await?,
            known: self.catalogue.get(client, ScenarioNo(row.scenario_no)).await?.and_then(Known::readable),
            moves: OrderMoves::read(client, row).await?,
            unsent: outbox::shown::of_order(client, row.no).await?,
            after: dependencies::graph_around(client, &self.scope, &row.id, 1).await?,
            parent: parent.filter(|id| seen.has(id)),
            children,
            mark: marks::of_order(client, row.no).await?,
            late: promises::of_order(client, row.no).await?,
            asking: asking_of(client, row).await?,
            failed_over: failed_over(client, row).await?,
        })
    }

    /// An order that was registered just now, or before, as its client may wait for it.
    pub async fn started(&self, id: &str, registered: &str, note: Option<String>) -> Result<Value, Problem> {
        let (client, row) = self.found(id).await?;
        let known =
            self.catalogue.get(&client, ScenarioNo(row.scenario_no)).await.map_err(self.failed("read"))?;
        let (step, scenario_status) = stand::stand(&row, known.and_then(Known::readable).as_deref());
        let started_at = row.started_at.or(row.running.map(|(_, at)| at));
        let result = row.result.as_deref().map(parsed);
        let error = error_view(&row);
        let order = EndNotice {
            id: &row.id,
            correlation_id: None,
            transaction_id: row.transaction_id.as_deref(),
            labels: row.labels.given(),
            scenario: &row.scenario,
            scenario_version: row.scenario_version,
            status: row.status.as_str(),
            scenario_status: scenario_status.as_str(),
            step: step.as_deref(),
            result: result.as_ref(),
            message: row.message.as_deref(),
            error: error
                .as_ref()
                .map(|error| NoticeError { class: error.class.as_deref(), message: &error.message }),
            created_at: time::shown(row.created_at),
            started_at: started_at.map(time::shown),
            finished_at: row.finished_at.map(time::shown),
            duration_ms: duration_ms(row.started_at, row.finished_at),
            life: row.life.0,
            stages: row.stages,
            retries: row.retries,
            parked: None,
            jeopardy: None,
        };
        let view = StartedView { registered, is_final: row.status.is_final(), note, order };
        serde_json::to_value(&view).map_err(|error| Problem::new(Type::Internal, error.to_string()))
    }

    /// Status and life of an order.
    pub async fn status(&self, id: &str) -> Result<StatusView, Problem> {
        let found = async { orders::status(&self.host.store.api().await?, id).await };
        let found = found.await.map_err(self.failed("status"))?;
        let (status, life) = found.ok_or_else(|| Problem::no_order(id))?;
        Ok(StatusView {
            id: id.to_owned(),
            status: status.to_string(),
            is_final: status.is_final(),
            life: life.0,
            note: None,
        })
    }

    /// Parameters of an order.
    pub async fn params(&self, id: &str) -> Result<Value, Problem> {
        let (client, row) = self.found(id).await?;
        let hidden = self.hidden_in(&client, &row).await.map_err(self.failed("read"))?;
        Ok(params(hidden.as_ref(), &row))
    }

    /// Progress of an order, from 0 to 1.
    pub async fn progress(&self, id: &str) -> Result<ProgressView, Problem> {
        Ok(ProgressView { progress: stand::progress(&self.found(id).await?.1) })
    }

    /// Questions of an order to other systems.
    pub async fn requests(&self, id: &str, query: &PartQuery) -> Result<Page<RequestView>, Problem> {
        let (before, size) = query.counted()?;
        let (client, row) = self.found(id).await?;
        let count = |items: usize| saturated::<i64>(items);
        let asked = requests::of_order(&client, row.no, count(before), count(size)).await;
        let asked = asked.map_err(self.failed("read"))?;
        let next = (asked.len() >= size).then(|| (before + asked.len()).to_string());
        Ok(Page { items: asked, next })
    }

    /// Callbacks of an order.
    pub async fn callbacks_of(&self, id: &str, query: &PartQuery) -> Result<Page<CallbackView>, Problem> {
        let (after, size) = query.above()?;
        let (client, row) = self.found(id).await?;
        let read = async {
            let hidden = self.hidden_in(&client, &row).await?;
            let most = saturated::<i64>(size);
            Ok((hidden, answers::callbacks_of_order(&client, row.no, after, most).await?))
        };
        let (hidden, callbacks) = read.await.map_err(self.failed("read"))?;
        let view = |(_, callback)| masked(callback, hidden.as_ref());
        Ok(page(callbacks, size, |(no, _)| no.to_string(), view))
    }

    /// An order, and the session by which more of it is read.
    pub(crate) async fn found(&self, id: &str) -> Result<(Client, Row), Problem> {
        let read = async {
            let client = self.host.store.api().await?;
            let row = orders::view(&client, id).await?;
            Ok(row.map(|row| (client, row)))
        };
        read.await.map_err(self.failed("read"))?.ok_or_else(|| Problem::no_order(id))
    }

    /// The parts of an order that its scenario hides.
    pub(crate) async fn hidden_in(&self, client: &Client, row: &Row) -> Result<Option<HiddenParts>, Error> {
        self.hidden_by(client, Some(ScenarioNo(row.scenario_no))).await
    }
}

/// Stages of an order that were taken over from nodes that were lost; an order that was handed out once has none.
async fn failed_over(client: &Client, row: &Row) -> Result<Option<FailedOverView>, Error> {
    if row.attempt == Attempt::FIRST {
        return Ok(None);
    }
    let (times, last_at) = history::failovers(client, row.no).await?;
    Ok(last_at.map(|last_at| FailedOverView { times, last_at }))
}

/// Question that the running stage of an order waits for, where that takes its time.
pub(crate) async fn asking_of(client: &Client, row: &Row) -> Result<Option<AskingView>, Error> {
    let Some((attempt, _)) = row.running else { return Ok(None) };
    asking::of_order(client, row.no, attempt).await
}

/// The error of an order, where it has one.
fn error_view(row: &Row) -> Option<ErrorView> {
    let message = row.error_message.clone()?;
    Some(ErrorView { class: row.error_class.clone(), message, system: row.error_system.clone() })
}

/// The mark of an order whose rows contradict each other.
fn inconsistency(mark: InconsistencyMark) -> InconsistencyView {
    InconsistencyView { findings: mark.findings, found_at: mark.found_at }
}

/// Variables, without secrets that a called system may have returned.
fn vars(hidden: Option<&HiddenParts>, position: Option<&Snapshot>) -> Value {
    let mut vars = Value::Object(position.map(|position| position.vars.clone()).unwrap_or_default());
    // Masks are about parameters; of variables only secrets are hidden.
    mask(hidden, &mut vars, |_, _| ());
    vars
}

/// The parameters, without what the scenario masks (SCN-15).
fn params(hidden: Option<&HiddenParts>, row: &Row) -> Value {
    let mut params = parsed(&row.params);
    mask(hidden, &mut params, Mask::params);
    params
}

fn masked(mut callback: CallbackView, hidden: Option<&HiddenParts>) -> CallbackView {
    mask(hidden, &mut callback.body, Mask::body);
    mask(hidden, &mut callback.headers, Mask::headers);
    if let Some(fields) = callback.headers.as_object_mut() {
        // Those of callbacks that were stored by a version before.
        fields.retain(|name, _| !holds_credentials(name));
    }
    callback
}

/// Position and variables of an order; none where it has none that can be read.
pub(crate) fn snapshot(row: &Row) -> Option<Snapshot> {
    Snapshot::from_value(&serde_json::from_str(row.snapshot.as_deref()?).ok()?).ok()
}

/// Masks the target of a notification. The id of a request is shown to nobody: who knows it may answer it.
pub(crate) fn unsent_view(unsent: UnsentView) -> UnsentView {
    let target = match Target::stored(&unsent.target) {
        Ok(Target::Callback(_)) => "the order that started it".to_owned(),
        _ => shown_url(&unsent.target).into_owned(),
    };
    UnsentView { target, ..unsent }
}

/// Milliseconds of a life that is over, as its notification has them.
fn duration_ms(started: Option<Timestamp>, finished: Option<Timestamp>) -> Option<i64> {
    let (started, finished) = started.zip(finished)?;
    Some((finished.as_millisecond() - started.as_millisecond()).max(0))
}
