//! Subscriptions over HTTP: standing receivers of notifications.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode, header};
use axum::response::IntoResponse as _;
use pagurus_wire::order::Page;
use pagurus_wire::subscriptions::{
    PauseBody, ReplayRequest, ReplayView, ResumeBody, SubscriptionBody, SubscriptionOutcome, SubscriptionView,
};

use super::HttpResult;
use super::body::{Sent, read_json};
use super::caller::{Caller, ScopedViews};
use super::document::{Table, admin, operator, viewer};
use super::preconditions::expected;
use super::query::Path;
use crate::Intake;

pub(super) fn routes(table: Table) -> Table {
    table
        .of("Subscriptions", "Standing receivers of notifications, by scenario, label and outcome.")
        .get("/v1/subscriptions", list, viewer("All subscriptions, by name."))
        .get("/v1/subscriptions/{name}", show, viewer("One subscription."))
        .put(
            "/v1/subscriptions/{name}",
            put,
            admin("Makes a subscription, or changes the one of this name as a whole.")
                .more("It counts for every order that ends from the answer on. `If-Match` names the tag that is to be changed.")
                .takes::<SubscriptionBody>()
                .gives::<SubscriptionView>(201, "Made.")
                .gives::<SubscriptionView>(200, "Changed.")
                .gives_nothing("A dry run: it could be stored."),
        )
        .delete(
            "/v1/subscriptions/{name}",
            remove,
            admin("Removes a subscription, with what waits for its receiver.").gives_nothing("Removed."),
        )
        .post(
            "/v1/subscriptions/{name}/pause",
            pause,
            operator("Pauses a subscription: nothing is stored for it. What is stored is still sent."),
        )
        .post(
            "/v1/subscriptions/{name}/resume",
            resume,
            operator("Resumes a subscription, and sends what is parked for it again."),
        )
        .get(
            "/v1/subscriptions/{name}/replays",
            replays,
            viewer("The latest replays of a subscription, the newest first."),
        )
        .post(
            "/v1/subscriptions/{name}/replays",
            replay,
            operator("Notifies a subscription again of the orders that ended in a time range.")
                .more("In the background, under the same message ids as the first time."),
        )
        .delete(
            "/v1/subscriptions/{name}/replays/{no}",
            stop,
            operator("Stops a replay.").gives_nothing("Stopped."),
        )
}

/// `GET /v1/subscriptions`
async fn list(ScopedViews(views): ScopedViews) -> HttpResult<Json<Page<SubscriptionView>>> {
    Ok(Json(views.subscriptions().await?))
}

/// `GET /v1/subscriptions/{name}`
async fn show(
    ScopedViews(views): ScopedViews,
    Path(name): Path<String>,
) -> HttpResult<Json<SubscriptionView>> {
    Ok(Json(views.subscription(&name).await?))
}

/// `PUT /v1/subscriptions/{name}`
async fn put(
    State(intake): State<Intake>,
    ScopedViews(views): ScopedViews,
    Path(name): Path<String>,
    Caller(by): Caller,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response<Body>> {
    let expected = expected(&headers)?;
    let asked = read_json(&intake, body).await?;
    let Some(is_new) = intake.commands.put_subscription(&name, &asked, &expected, &by).await? else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let view = views.subscription(&name).await?;
    let headers = [(header::ETAG, format!("\"{}\"", view.tag))];
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, headers, Json(view)).into_response())
}

/// `DELETE /v1/subscriptions/{name}`
async fn remove(
    State(intake): State<Intake>,
    Path(name): Path<String>,
    Caller(by): Caller,
) -> HttpResult<StatusCode> {
    intake.commands.remove_subscription(&name, &by).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /v1/subscriptions/{name}/pause`
async fn pause(
    State(intake): State<Intake>,
    Path(name): Path<String>,
    Caller(by): Caller,
    Sent(asked): Sent<PauseBody>,
) -> HttpResult<Json<SubscriptionOutcome>> {
    intake.commands.pause_subscription(&name, &asked.reason, &by).await?;
    outcome(&intake, &name, None).await
}

/// `POST /v1/subscriptions/{name}/resume`
async fn resume(
    State(intake): State<Intake>,
    Path(name): Path<String>,
    Caller(by): Caller,
    Sent(asked): Sent<ResumeBody>,
) -> HttpResult<Json<SubscriptionOutcome>> {
    let replay = intake.commands.resume_subscription(&name, asked.replay, &asked.reason, &by).await?;
    outcome(&intake, &name, replay).await
}

/// `GET /v1/subscriptions/{name}/replays`
async fn replays(
    ScopedViews(views): ScopedViews,
    Path(name): Path<String>,
) -> HttpResult<Json<Page<ReplayView>>> {
    Ok(Json(views.replays(&name).await?))
}

/// `POST /v1/subscriptions/{name}/replays`
async fn replay(
    State(intake): State<Intake>,
    Path(name): Path<String>,
    Caller(by): Caller,
    Sent(asked): Sent<ReplayRequest>,
) -> HttpResult<Json<SubscriptionOutcome>> {
    let replay = intake.commands.replay(&name, &asked, &by).await?;
    outcome(&intake, &name, Some(replay)).await
}

/// `DELETE /v1/subscriptions/{name}/replays/{no}`
async fn stop(
    State(intake): State<Intake>,
    Path((name, no)): Path<(String, i64)>,
    Caller(by): Caller,
) -> HttpResult<StatusCode> {
    intake.commands.stop_replay(&name, no, &by).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn outcome(intake: &Intake, name: &str, replay: Option<i64>) -> HttpResult<Json<SubscriptionOutcome>> {
    Ok(Json(SubscriptionOutcome { subscription: intake.whole_views().subscription(name).await?, replay }))
}
