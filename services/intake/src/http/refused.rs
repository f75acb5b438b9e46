//! Refused messages over HTTP.

use axum::Json;
use axum::extract::State;
use pagurus_wire::bodies::ReasonBody;
use pagurus_wire::order::Page;
use pagurus_wire::problem::{Problem, Type};
use pagurus_wire::refused::{RefusedDecision, RefusedLine, RefusedView, ReplayBody};
use schemars::JsonSchema;
use serde::Deserialize;

use super::HttpResult;
use super::body::Sent;
use super::caller::Caller;
use super::document::{Table, operation};
use super::query::{Path, Query};
use crate::Intake;

/// Default and largest number of messages on a page.
const USUAL_LIMIT: i64 = 50;
const MAX_LIMIT: i64 = 500;

pub(super) fn routes(table: Table) -> Table {
    table
        .of("Refused messages", "Messages that can never be handled as they are, kept until a person decides about each.")
        .get(
            "/v1/refused",
            list,
            operation("Refused messages, the newest first.")
                .more("What lies in the broker queue of refused messages is taken out of it and kept in the database."),
        )
        .get("/v1/refused/{message}", show, "One refused message, with its properties and its body.")
        .post("/v1/refused/{message}/replay", replay, "Sends a refused message again, as it was or with another body.")
        .post("/v1/refused/{message}/drop", drop_one, "Drops a refused message.")
}

/// Query of a list of refused messages.
#[derive(Debug, Deserialize, JsonSchema)]
struct RefusedQuery {
    /// Messages of the page; left out: 50.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<i64>,
    /// Word `next` of the page before.
    cursor: Option<i64>,
}

async fn list(
    State(intake): State<Intake>,
    Query(query): Query<RefusedQuery>,
) -> HttpResult<Json<Page<RefusedLine>>> {
    let limit = query.limit.unwrap_or(USUAL_LIMIT);
    if !(1..=MAX_LIMIT).contains(&limit) {
        return Err(Problem::new(Type::Invalid, format!("limit must be 1 to {MAX_LIMIT}"))
            .at("/limit")
            .into());
    }
    let found = intake.refused.list(query.cursor.unwrap_or(i64::MAX), limit).await?;
    let is_full = i64::try_from(found.len()).is_ok_and(|count| count == limit);
    let next = found.last().filter(|_| is_full).map(|(no, _)| no.to_string());
    Ok(Json(Page { items: found.into_iter().map(|(_, line)| line).collect(), next }))
}

async fn show(State(intake): State<Intake>, Path(message): Path<String>) -> HttpResult<Json<RefusedView>> {
    Ok(Json(intake.refused.show(&message).await?))
}

async fn replay(
    State(intake): State<Intake>,
    Path(message): Path<String>,
    Caller(by): Caller,
    Sent(asked): Sent<ReplayBody>,
) -> HttpResult<Json<RefusedDecision>> {
    Ok(Json(intake.refused.replay(&message, &asked, &by).await?))
}

async fn drop_one(
    State(intake): State<Intake>,
    Path(message): Path<String>,
    Caller(by): Caller,
    Sent(asked): Sent<ReasonBody>,
) -> HttpResult<Json<RefusedDecision>> {
    Ok(Json(intake.refused.drop_one(&message, &asked.reason, &by).await?))
}
