//! Refused messages over HTTP.

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use pagurus_store::outside::refused::RefusedSelection;
use pagurus_view::moment;
use pagurus_wire::bodies::ReasonBody;
use pagurus_wire::order::Page;
use pagurus_wire::problem::{Problem, Type};
use pagurus_wire::refused::{
    RefusedDecision, RefusedDropBody, RefusedDropped, RefusedLine, RefusedStatus, RefusedView, ReplayBody,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::HttpResult;
use super::body::Sent;
use super::caller::Caller;
use super::document::{Table, operator, viewer};
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
            viewer("Refused messages, the newest first.")
                .more("What lies in the broker queue of refused messages is taken out of it and kept in the database."),
        )
        .get("/v1/refused/{message}", show, operator("One refused message, with its properties and its body."))
        .post(
            "/v1/refused/drop",
            drop_selected,
            operator("Drops the oldest refused messages that meet each of the given conditions.")
                .more("A thousand at most; `more` says that the same request would drop others."),
        )
        .post("/v1/refused/{message}/replay", replay, operator("Sends a refused message again, as it was or with another body."))
        .post("/v1/refused/{message}/drop", drop_one, operator("Drops a refused message."))
}

/// Query of a list of refused messages.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RefusedQuery {
    /// Messages of the page; default: 50.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<i64>,
    /// Word `next` of the page before.
    cursor: Option<i64>,
    /// Status: `open`, `answered` or `all`; default: `open`.
    status: Option<RefusedStatus>,
    /// Only messages whose reason begins with this word, such as `conflict`.
    reason_type: Option<String>,
    /// Only messages that were refused before: a time, or a duration back from now.
    refused_before: Option<String>,
}

fn selection(
    status: Option<RefusedStatus>,
    reason_type: Option<String>,
    before: Option<&str>,
) -> Result<RefusedSelection, Problem> {
    let read = |text| {
        moment(text, Timestamp::now()).ok_or_else(|| {
            Problem::new(Type::Invalid, "refusedBefore must be a time or a duration").at("/refusedBefore")
        })
    };
    let answered = match status.unwrap_or_default() {
        RefusedStatus::Open => Some(false),
        RefusedStatus::Answered => Some(true),
        RefusedStatus::All => None,
    };
    Ok(RefusedSelection { answered, reason_type, before: before.map(read).transpose()? })
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
    let selection = selection(query.status, query.reason_type, query.refused_before.as_deref())?;
    let found = intake.refused.list(&selection, query.cursor.unwrap_or(i64::MAX), limit).await?;
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

async fn drop_selected(
    State(intake): State<Intake>,
    Caller(by): Caller,
    Sent(asked): Sent<RefusedDropBody>,
) -> HttpResult<Json<RefusedDropped>> {
    if asked.status.is_none() && asked.reason_type.is_none() && asked.refused_before.is_none() {
        let text = "name at least one condition: status, reasonType or refusedBefore; status `all` means every message";
        return Err(Problem::new(Type::Invalid, text).into());
    }
    let selection = selection(asked.status, asked.reason_type, asked.refused_before.as_deref())?;
    Ok(Json(intake.refused.drop_selected(&selection, &asked.reason, &by).await?))
}
