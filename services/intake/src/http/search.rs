//! Searches over HTTP: orders in lists and counts, and searches that somebody gave a name.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use pagurus_view::{CountsFields, LedgerFields, LedgerQuery, OrdersFields, OrdersQuery, SearchesQuery};
use pagurus_wire::ledger::LedgerSumsView;
use pagurus_wire::order::{OrderLine, Page};
use pagurus_wire::search::{OrderCounts, SavedSearch, SearchBody};

use super::HttpResult;
use super::body::read_json;
use super::caller::{Caller, ScopedViews};
use super::document::{Table, operator, viewer};
use super::query::{Pairs, Path, Query};
use crate::Intake;

pub(super) fn routes(table: Table) -> Table {
    table
        .of("Searches", "Orders in groups, and searches that have a name.")
        .get(
            "/v1/counts",
            counts,
            viewer("Counts of the orders that fulfil all conditions, by what they have in common.").scoped()
                .more("Conditions are those of `GET /v1/orders`. Where `complete` is false, the counts are lower bounds."),
        )
        .get(
            "/v1/ledger",
            ledger,
            viewer("Where the time of many orders went, by reason, within a range.").scoped()
                .more("Conditions are those of `GET /v1/orders`; `flow` or `scenario` is the usual one. Orders count that were there in the range, with the part of their time that lies in it. Of many orders a sample is summed that is spread evenly over all; `orders` and `summed` say how many there are of each."),
        )
        .get("/v1/searches", searches, viewer("Saved searches, by name.").scoped())
        .get("/v1/searches/{name}", show, viewer("One saved search.").scoped())
        .put(
            "/v1/searches/{name}",
            save,
            operator("Saves conditions under a name, in place of those that had it.")
                .more("Times that are counted back from now, like `2h`, stay so.")
                .takes::<SearchBody>(),
        )
        .delete("/v1/searches/{name}", forget, operator("Removes a saved search.").gives_nothing("Removed."))
}

/// `GET /v1/orders`
pub(super) async fn orders(
    ScopedViews(views): ScopedViews,
    Pairs(pairs, _): Pairs<OrdersFields>,
) -> HttpResult<Json<Page<OrderLine>>> {
    Ok(Json(views.orders(OrdersQuery::read(&pairs)?).await?))
}

/// `GET /v1/counts`
async fn counts(
    ScopedViews(views): ScopedViews,
    Pairs(pairs, _): Pairs<CountsFields>,
) -> HttpResult<Json<OrderCounts>> {
    Ok(Json(views.order_counts(OrdersQuery::read(&pairs)?).await?))
}

/// `GET /v1/ledger`
async fn ledger(
    ScopedViews(views): ScopedViews,
    Pairs(pairs, _): Pairs<LedgerFields>,
) -> HttpResult<Json<LedgerSumsView>> {
    Ok(Json(views.ledger_sums(LedgerQuery::read(&pairs)?).await?))
}

/// `GET /v1/searches`
async fn searches(
    ScopedViews(views): ScopedViews,
    Query(query): Query<SearchesQuery>,
) -> HttpResult<Json<Page<SavedSearch>>> {
    Ok(Json(views.searches(&query).await?))
}

/// `GET /v1/searches/{name}`
async fn show(ScopedViews(views): ScopedViews, Path(name): Path<String>) -> HttpResult<Json<SavedSearch>> {
    Ok(Json(views.search(&name).await?))
}

/// `PUT /v1/searches/{name}`: the body has the conditions.
async fn save(
    State(intake): State<Intake>,
    ScopedViews(views): ScopedViews,
    Path(name): Path<String>,
    Caller(by): Caller,
    body: Body,
) -> HttpResult<Json<SavedSearch>> {
    let asked = read_json(&intake, body).await?;
    intake.commands.save_search(&name, &asked, &by).await?;
    Ok(Json(views.search(&name).await?))
}

/// `DELETE /v1/searches/{name}`
async fn forget(
    State(intake): State<Intake>,
    Path(name): Path<String>,
    Caller(by): Caller,
) -> HttpResult<StatusCode> {
    intake.commands.forget_search(&name, &by).await?;
    Ok(StatusCode::NO_CONTENT)
}
