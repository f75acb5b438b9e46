//! Bulk operations, with their progress and the results of their orders.

use pagurus_domain::number::saturated;
use pagurus_domain::operation::{Aftermath, ItemOutcome, OperationState};
use pagurus_store::outside::operations::items::{self, OperationOrder};
use pagurus_store::outside::operations::{self, StoredOperation};
use pagurus_wire::operations::{AftermathView, OperationOrderView, OperationView, ReasonView};
use pagurus_wire::order::Page;
use pagurus_wire::problem::Problem;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::Views;
use crate::query::{cursor, invalid, limit};

/// Operations on a page, by default and at most.
const PAGE: (usize, usize) = (50, 500);
/// Orders of an operation on a page, by default and at most.
const ORDERS: (usize, usize) = (100, 1000);
/// Orders that one page looks at, at most.
const MOST_ROWS: usize = 50_000;

/// The word for an order that an operation has not come to.
const OPEN: &str = "open";

/// Query of a list of operations.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct OperationsQuery {
    /// Only operations in this state: `running`, `paused`, `done` or `aborted`.
    state: Option<String>,
    /// Operations of the page; default: 50.
    #[schemars(with = "Option<u32>", range(min = 1, max = 500))]
    limit: Option<String>,
    /// Word `next` of the page before.
    cursor: Option<String>,
}

/// Query of the orders of an operation.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct OperationOrdersQuery {
    /// Only orders with this outcome: `done`, `skipped`, `failed`, or `open` where nothing was done yet.
    outcome: Option<String>,
    /// Only orders with this later outcome: `succeeded`, `failed_again`, `failed_otherwise` or `left`.
    aftermath: Option<String>,
    /// Orders of the page; default: 100.
    #[schemars(with = "Option<u32>", range(min = 1, max = 1000))]
    limit: Option<String>,
    /// Word `next` of the page before.
    cursor: Option<String>,
}

impl Views {
    /// Operations, the newest first.
    pub async fn operations(&self, query: &OperationsQuery) -> Result<Page<OperationView>, Problem> {
        let limit = limit(query.limit.as_deref(), PAGE.0, PAGE.1)?;
        let below = cursor(query.cursor.as_deref(), i64::MAX)?;
        let state = query.state.as_deref().map(str::parse::<OperationState>).transpose();
        let state = state.map_err(|unknown| invalid("/state", unknown.to_string()))?;
        let wanted = saturated::<i64>(limit);
        let tenants = self.scope.tenants();
        let found =
            async { operations::list(&self.host.store.api().await?, below, state, tenants, wanted).await };
        let found = found.await.map_err(self.failed("operations"))?;
        let next = found.last().filter(|_| found.len() == limit).map(|last| last.no.to_string());
        Ok(Page { items: found.into_iter().map(|one| view(one, Vec::new())).collect(), next })
    }

    /// Returns an operation with the reasons for what it did not do.
    pub async fn operation(&self, no: i64) -> Result<OperationView, Problem> {
        let found = async {
            let client = self.host.store.api().await?;
            let Some(found) = operations::find(&client, no).await? else { return Ok(None) };
            Ok(Some((found, operations::reasons(&client, no).await?)))
        };
        let (found, reasons) =
            found.await.map_err(self.failed("operation"))?.ok_or_else(|| Problem::no_operation(no))?;
        Ok(view(found, reasons))
    }

    /// Orders of an operation, by the order in which they were registered.
    pub async fn operation_orders(
        &self,
        no: i64,
        query: &OperationOrdersQuery,
    ) -> Result<Page<OperationOrderView>, Problem> {
        let limit = limit(query.limit.as_deref(), ORDERS.0, ORDERS.1)?;
        let mut after = cursor(query.cursor.as_deref(), 0_i64)?;
        let outcome = query.outcome.as_deref().filter(|word| *word != OPEN);
        let outcome = outcome.map(str::parse::<ItemOutcome>).transpose();
        let outcome = outcome.map_err(|unknown| invalid("/outcome", format!("{unknown}, {OPEN}")))?;
        let is_any = query.outcome.is_none();
        let aftermath = query.aftermath.as_deref().map(str::parse::<Aftermath>).transpose();
        let aftermath = aftermath.map_err(|unknown| invalid("/aftermath", unknown.to_string()))?;
        let fits = |order: &OperationOrder| {
            (is_any || order.outcome == outcome) && (aftermath.is_none() || order.aftermath == aftermath)
        };
        let rows = if is_any && aftermath.is_none() { limit } else { ORDERS.1 };
        let read = async {
            let client = self.host.store.api().await?;
            let (mut items, mut looked) = (Vec::new(), 0);
            while looked < MOST_ROWS {
                let page = items::page(&client, no, after, saturated::<i64>(rows)).await?;
                let is_last = page.len() < rows;
                looked += page.len();
                for order in page {
                    if items.len() == limit {
                        return Ok(Page { items, next: Some(after.to_string()) });
                    }
                    after = order.no;
                    if fits(&order) {
                        items.push(order_view(order));
                    }
                }
                if is_last {
                    return Ok(Page { items, next: None });
                }
            }
            Ok(Page { items, next: Some(after.to_string()) })
        };
        let page = read.await.map_err(self.failed("operation"))?;
        if page.items.is_empty() && query.cursor.is_none() {
            // Distinguishes an operation without orders from one that does not exist.
            self.operation(no).await?;
        }
        Ok(page)
    }
}

fn outcome_of(order: &OperationOrder) -> &'static str {
    order.outcome.map_or(OPEN, |outcome| outcome.as_str())
}

fn order_view(order: OperationOrder) -> OperationOrderView {
    OperationOrderView {
        outcome: outcome_of(&order).to_owned(),
        id: order.id,
        reason: order.reason,
        aftermath: order.aftermath.map(|aftermath| aftermath.to_string()),
    }
}

fn view(stored: StoredOperation, reasons: Vec<ReasonView>) -> OperationView {
    let json = |text: &str| serde_json::from_str(text).unwrap_or_default();
    let counts = stored.counts;
    let awaits_ends = matches!(stored.action.as_str(), "restart" | "repair");
    let is_running = stored.state == OperationState::Running;
    let speed = if is_running { stored.speed } else { 0.0 };
    OperationView {
        no: stored.no,
        with: json(&stored.fields),
        search: json(&stored.search),
        again: stored.again,
        reason: stored.reason,
        by: json(&stored.made_by),
        made_at: stored.made_at,
        urgency: stored.urgency.to_string(),
        rate: stored.rate,
        ramp: stored.ramp.as_deref().map(json),
        follow_until: stored.follow_until,
        state: stored.state.to_string(),
        because: stored.because,
        selecting: is_running && stored.selection.is_some(),
        total: counts.total,
        done: counts.done,
        skipped: counts.skipped,
        failed: counts.failed,
        aftermath: awaits_ends.then(|| AftermathView {
            succeeded: counts.succeeded,
            failed_again: counts.failed_again,
            failed_otherwise: counts.failed_otherwise,
            left: counts.left,
            open: counts.unsettled(),
        }),
        speed,
        seconds_left: (is_running && speed >= 0.01).then(|| counts.open() as f64 / speed),
        ended_at: stored.ended_at,
        reasons,
        action: stored.action,
    }
}
