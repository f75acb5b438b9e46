//! Maintenance windows over HTTP.

use axum::Json;
use axum::extract::State;
use pagurus_command::WindowAction;
use pagurus_view::WindowsQuery;
use pagurus_wire::order::Page;
use pagurus_wire::windows::{WindowActionRequest, WindowOutcome, WindowRequest, WindowView};

use super::HttpResult;
use super::body::Sent;
use super::caller::{Caller, ScopedViews};
use super::document::{Table, operator, viewer};
use super::query::{Path, Query};
use crate::Intake;

pub(super) fn routes(table: Table) -> Table {
    table
        .of(
            "Maintenance",
            "Planned times, once or by a calendar, at which flows are stopped or a called system is paused.",
        )
        .get("/v1/windows", list, viewer("Maintenance windows, the newest first."))
        .get("/v1/windows/{no}", show, viewer("One maintenance window."))
        .post("/v1/windows", add, operator("Sets a maintenance window ahead."))
        .post(
            "/v1/windows/{no}/end",
            end,
            operator("Ends the present time of a window early; the next ones stay."),
        )
        .post("/v1/windows/{no}/skip", skip, operator("Calls off the next time of a window."))
        .post(
            "/v1/windows/{no}/remove",
            remove,
            operator("Removes a window; if it is open, it ends at once."),
        )
}

/// `GET /v1/windows`
async fn list(
    ScopedViews(views): ScopedViews,
    Query(query): Query<WindowsQuery>,
) -> HttpResult<Json<Page<WindowView>>> {
    Ok(Json(views.windows(&query).await?))
}

/// `GET /v1/windows/{no}`
async fn show(ScopedViews(views): ScopedViews, Path(no): Path<i64>) -> HttpResult<Json<WindowView>> {
    Ok(Json(views.window(no).await?))
}

/// `POST /v1/windows`
async fn add(
    State(intake): State<Intake>,
    Caller(by): Caller,
    Sent(asked): Sent<WindowRequest>,
) -> HttpResult<Json<WindowOutcome>> {
    Ok(Json(intake.commands.add_window(&asked, &by).await?))
}

/// `POST /v1/windows/{no}/end`
async fn end(
    State(intake): State<Intake>,
    Path(no): Path<i64>,
    Caller(by): Caller,
    Sent(asked): Sent<WindowActionRequest>,
) -> HttpResult<Json<WindowOutcome>> {
    Ok(Json(intake.commands.act_on_window(no, WindowAction::End, &asked, &by).await?))
}

/// `POST /v1/windows/{no}/skip`
async fn skip(
    State(intake): State<Intake>,
    Path(no): Path<i64>,
    Caller(by): Caller,
    Sent(asked): Sent<WindowActionRequest>,
) -> HttpResult<Json<WindowOutcome>> {
    Ok(Json(intake.commands.act_on_window(no, WindowAction::Skip, &asked, &by).await?))
}

/// `POST /v1/windows/{no}/remove`
async fn remove(
    State(intake): State<Intake>,
    Path(no): Path<i64>,
    Caller(by): Caller,
    Sent(asked): Sent<WindowActionRequest>,
) -> HttpResult<Json<WindowOutcome>> {
    Ok(Json(intake.commands.act_on_window(no, WindowAction::Remove, &asked, &by).await?))
}
