//! Flows, called systems, and what operators decided about them.

use pagurus_domain::flow::FlowState;
use pagurus_store::upkeep::flows;
use pagurus_store::upkeep::stops::{self, StoredOverride};
use pagurus_store::upkeep::windows::{self, StoredWindow};
use pagurus_store::{Client, Error};
use pagurus_wire::flows::{FlowView, OpenWindowView, StopView, SystemOrderView, SystemView};
use pagurus_wire::order::Page;
use pagurus_wire::problem::{Problem, Type};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::Views;
use crate::query::{cursor, invalid, limit, page};
use crate::windows::{open_window, parsed};

/// Rows of a page, as usual and at most.
const PAGE: (usize, usize) = (100, 1000);
/// Orders about systems that are read at most.
const MAX_RULES: i64 = 1000;

/// Query of the list of flows.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct FlowsQuery {
    /// Only flows whose name contains this text.
    contains: Option<String>,
    /// Only flows in this state.
    state: Option<String>,
    /// Flows of the page; default: 100.
    #[schemars(with = "Option<u32>", range(min = 1, max = 1000))]
    limit: Option<String>,
    /// Word `next` of the page before.
    cursor: Option<String>,
}

/// Query of the list of called systems.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct SystemsQuery {
    /// Systems of the page; default: 100.
    #[schemars(with = "Option<u32>", range(min = 1, max = 1000))]
    limit: Option<String>,
    /// Word `next` of the page before.
    cursor: Option<String>,
}

/// Query of the list of stops.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct StopsQuery {
    /// True to include those that are over.
    #[serde(default)]
    ended: bool,
    /// Stops of the page; default: 100.
    #[schemars(with = "Option<u32>", range(min = 1, max = 1000))]
    limit: Option<String>,
    /// Word `next` of the page before.
    cursor: Option<String>,
}

impl Views {
    /// Flows by name.
    pub async fn flows(&self, query: &FlowsQuery) -> Result<Page<FlowView>, Problem> {
        let limit = limit(query.limit.as_deref(), PAGE.0, PAGE.1)?;
        let state = query.state.as_deref();
        if let Some(word) = state
            && word.parse::<FlowState>().is_err()
        {
            let words: Vec<&str> = FlowState::ALL.iter().map(|state| state.as_str()).collect();
            return Err(invalid("/state", format!("state must be one of {}", words.join(", "))));
        }
        let after = query.cursor.as_deref().unwrap_or_default();
        let contains = query.contains.as_deref().unwrap_or_default();
        let read = async {
            let client = self.host.store.reports().await?;
            let held = windows::held(&client).await?;
            Ok::<_, Error>((flows::page(&client, after, contains, state, limit as i64).await?, held))
        };
        let (flows, held) = read.await.map_err(self.failed("flows"))?;
        let Page { mut items, next } =
            page(flows, limit, |flow| flow.record.flow.clone(), |flow| flow_view(flow, &held));
        items.retain(|flow| self.has_flow(&flow.record.flow));
        Ok(Page { items, next })
    }

    /// A flow by its name.
    pub async fn flow(&self, flow: &str) -> Result<FlowView, Problem> {
        let read = async {
            let client = self.host.store.reports().await?;
            Ok::<_, Error>((flows::one(&client, flow).await?, windows::held(&client).await?))
        };
        let (found, held) = read.await.map_err(self.failed("flows"))?;
        found.map(|flow| flow_view(flow, &held)).ok_or_else(|| Problem::no_flow(flow))
    }

    /// Stops by hand, the newest first.
    pub async fn stops(&self, query: &StopsQuery) -> Result<Page<StopView>, Problem> {
        let limit = limit(query.limit.as_deref(), PAGE.0, PAGE.1)?;
        let below = cursor(query.cursor.as_deref(), i64::MAX)?;
        let read =
            async { stops::list(&self.host.store.reports().await?, query.ended, below, limit as i64).await };
        let stops = read.await.map_err(self.failed("stops"))?;
        Ok(page(stops, limit, |stop| stop.rule.no.to_string(), stop_view))
    }

    /// Called systems by name, each with what an operator decided about it.
    pub async fn systems(&self, query: &SystemsQuery) -> Result<Page<SystemView>, Problem> {
        let limit = limit(query.limit.as_deref(), PAGE.0, PAGE.1)?;
        let after = query.cursor.as_deref().unwrap_or_default();
        let read = async {
            let client = self.host.store.reports().await?;
            let decided = OperatorDecisions::read(&client).await?;
            Ok::<_, Error>((flows::systems(&client, after, limit as i64).await?, decided))
        };
        let (systems, decided) = read.await.map_err(self.failed("systems"))?;
        let is_full = systems.len() == limit;
        let view = |system| self.of_own_flows(system_view(system, &decided));
        let mut items: Vec<SystemView> = systems.into_iter().map(view).collect();
        // An order about a system that nothing has called yet is shown, too, at its place by name.
        let last = items.last().map(|one| one.record.system.clone()).filter(|_| is_full);
        let is_here = |name: &str| name > after && last.as_deref().is_none_or(|last| name < last);
        items.extend(unseen(&decided, &items).into_iter().filter(|one| is_here(&one.record.system)));
        items.sort_by(|one, other| one.record.system.cmp(&other.record.system));
        let goes_on = is_full || items.len() > limit;
        items.truncate(limit);
        let next = items.last().filter(|_| goes_on).map(|last| last.record.system.clone());
        Ok(Page { items, next })
    }

    /// A called system by its name.
    pub async fn system(&self, system: &str) -> Result<SystemView, Problem> {
        let read = async {
            let client = self.host.store.reports().await?;
            Ok::<_, Error>((flows::system(&client, system).await?, OperatorDecisions::read(&client).await?))
        };
        let (found, decided) = read.await.map_err(self.failed("systems"))?;
        let found = found.map(|found| self.of_own_flows(system_view(found, &decided)));
        found
            .or_else(|| unseen(&decided, &[]).into_iter().find(|one| one.record.system == system))
            .ok_or_else(|| Problem::new(Type::NotFound, format!("no call of a system `{system}` is known")))
    }

    /// The system without the names of flows that are not seen: the system itself belongs to no tenant.
    fn of_own_flows(&self, mut system: SystemView) -> SystemView {
        system.record.flows.retain(|flow| self.has_flow(flow));
        system
    }
}

fn flow_view(written: flows::Written<pagurus_domain::flow::FlowRecord>, held: &[StoredWindow]) -> FlowView {
    let flows::Written { mut record, at } = written;
    // That is between dispatchers.
    record.memory = Value::Null;
    let of_flow = |window: &StoredWindow| window.rule.target.has_flow(&record.flow);
    let maintenance = open_window(held.iter().filter(|window| of_flow(window)));
    FlowView { record, written_at: at, maintenance }
}

/// Decisions of operators about systems: orders and maintenance windows.
struct OperatorDecisions {
    orders: Vec<StoredOverride>,
    windows: Vec<StoredWindow>,
}

impl OperatorDecisions {
    async fn read(client: &Client) -> Result<Self, Error> {
        Ok(Self { orders: stops::overrides(client, MAX_RULES).await?, windows: windows::held(client).await? })
    }

    fn order_about(&self, system: &str) -> Option<SystemOrderView> {
        self.orders.iter().find(|order| order.rule.system == system).map(order_view)
    }

    fn window_of(&self, system: &str) -> Option<OpenWindowView> {
        open_window(self.windows.iter().filter(|window| window.rule.target.has_system(system)))
    }
}

fn system_view(
    written: flows::Written<pagurus_domain::flow::SystemRecord>,
    decided: &OperatorDecisions,
) -> SystemView {
    let flows::Written { mut record, at } = written;
    record.memory = Value::Null;
    record.state = record.shown_state();
    let (order, maintenance) = (decided.order_about(&record.system), decided.window_of(&record.system));
    SystemView { record, written_at: at, order, maintenance }
}

/// Systems of which nothing is known but what an operator decided.
fn unseen(decided: &OperatorDecisions, seen: &[SystemView]) -> Vec<SystemView> {
    let is_seen = |system: &str| seen.iter().any(|one| one.record.system == system);
    let unseen = decided.orders.iter().filter(|order| !is_seen(&order.rule.system));
    unseen
        .map(|order| SystemView {
            record: pagurus_domain::flow::SystemRecord {
                system: order.rule.system.clone(),
                ..Default::default()
            },
            written_at: order.made_at,
            order: Some(order_view(order)),
            maintenance: decided.window_of(&order.rule.system),
        })
        .collect()
}

fn order_view(order: &StoredOverride) -> SystemOrderView {
    SystemOrderView {
        order: order.rule.order.to_string(),
        from: order.rule.from,
        until: order.rule.until,
        reason: order.reason.clone(),
        by: parsed(&order.made_by),
    }
}

fn stop_view(stop: stops::StoredStop) -> StopView {
    let (lifted_at, lifted_by, lift_reason) = match stop.lifted {
        Some((at, by, reason)) => (Some(at), Some(parsed(&by)), Some(reason)),
        None => (None, None, None),
    };
    StopView {
        stop: stop.rule.no,
        keyword: stop.rule.keyword,
        from: stop.rule.from,
        until: stop.rule.until,
        reason: stop.reason,
        by: parsed(&stop.made_by),
        made_at: stop.made_at,
        holds: stop.holds,
        lifted_at,
        lifted_by,
        lift_reason,
    }
}
