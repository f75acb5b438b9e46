//! Schedules over HTTP: orders at planned times.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode, header};
use axum::response::IntoResponse;
use pagurus_command::PutTerms;
use pagurus_domain::document::pointer_to;
use pagurus_store::outside::scenarios::Expected;
use pagurus_view::{ListQuery, ScheduleRunsQuery, ScheduleTimesQuery};
use pagurus_wire::order::Page;
use pagurus_wire::problem::{Problem, Type};
use pagurus_wire::schedules::{
    ScheduleActionRequest, ScheduleBody, ScheduleOutcome, ScheduleRunOutcome, ScheduleRunRequest,
    ScheduleRunView, ScheduleTimesView, ScheduleView,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::HttpResult;
use super::body::{Sent, read_json};
use super::caller::{Caller, ScopedViews};
use super::document::{Operation, Table, operator, viewer};
use super::preconditions::expected;
use super::query::{Path, Query};
use crate::Intake;

/// Query of a change of a schedule.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ScheduleQuery {
    /// True for a dry run: everything is checked, and nothing is changed. The answer has the next times.
    #[serde(default)]
    dry_run: bool,
}

pub(super) fn routes(table: Table) -> Table {
    table
        .of("Schedules", "Orders at planned times: by a cron expression in a zone, or at an interval.")
        .get("/v1/schedules", list, viewer("Schedules by name, each with its next five times.").scoped())
        .post(
            "/v1/schedules",
            add,
            operator("Makes a schedule.").scoped()
                .more("Each of its times gives one ordinary order with the id `NAME@TIME`, like `nightly@2026-12-01T03:00:00Z`.")
                .takes::<ScheduleBody>()
                .gives::<ScheduleOutcome>(201, "Made.")
                .gives::<ScheduleOutcome>(200, "Of a dry run."),
        )
        .get(
            "/v1/schedules/{name}",
            show,
            viewer("One schedule.")
                .more("The header `ETag` has its tag.")
                .gives::<ScheduleView>(200, "The schedule."),
        )
        .put(
            "/v1/schedules/{name}",
            put,
            tagged(operator("Makes a schedule, or puts it in place of the one that has the name."))
                .header("If-None-Match", "`*`: there must be none of the name.")
                .takes::<ScheduleBody>()
                .gives::<ScheduleOutcome>(201, "Made.")
                .gives::<ScheduleOutcome>(200, "Changed, or unchanged."),
        )
        .patch(
            "/v1/schedules/{name}",
            patch,
            tagged(operator("Changes fields of a schedule."))
                .more("The body is merged into the schedule (RFC 7396); null removes a field.")
                .takes::<Map<String, Value>>()
                .gives::<ScheduleOutcome>(200, "Changed, or unchanged."),
        )
        .delete(
            "/v1/schedules/{name}",
            remove,
            tagged(operator("Removes a schedule; its orders stay.")).gives_nothing("Removed."),
        )
        .post(
            "/v1/schedules/{name}/pause",
            pause,
            operator("Pauses a schedule: no further orders, until it is resumed."),
        )
        .post(
            "/v1/schedules/{name}/resume",
            resume,
            operator("Resumes a paused schedule with its next time; the times during the pause are not made up for."),
        )
        .post(
            "/v1/schedules/{name}/run",
            run,
            operator("Registers an order of a schedule now, or that of a planned time that has passed without one."),
        )
        .get("/v1/schedules/{name}/times", times, viewer("The next times of a schedule."))
        .get(
            "/v1/schedules/{name}/runs",
            runs,
            viewer("Times of a schedule that have come, the newest first, each with its order or the reason why it has none."),
        )
}

/// Describes the header by which a change is made on top of what was read.
fn tagged(operation: Operation) -> Operation {
    operation.header(
        "If-Match",
        "Tag of the schedule to change, or `*` for any: if the stored one has another tag, the answer is 412.",
    )
}

/// `GET /v1/schedules`
async fn list(
    ScopedViews(views): ScopedViews,
    Query(query): Query<ListQuery>,
) -> HttpResult<Json<Page<ScheduleView>>> {
    Ok(Json(views.schedules(&query).await?))
}

/// `GET /v1/schedules/{name}`
async fn show(ScopedViews(views): ScopedViews, Path(name): Path<String>) -> HttpResult<Response<Body>> {
    let view = views.schedule(&name).await?;
    let tag = [(header::ETAG, format!("\"{}\"", view.tag))];
    Ok((tag, Json(view)).into_response())
}

/// `POST /v1/schedules`
async fn add(
    State(intake): State<Intake>,
    ScopedViews(views): ScopedViews,
    Query(query): Query<ScheduleQuery>,
    Caller(by): Caller,
    Sent(body): Sent<ScheduleBody>,
) -> HttpResult<Response<Body>> {
    let Some(name) = body.name.clone() else { return Err(Problem::of_field("/name", "is missing").into()) };
    views.admit_template(&Value::Object(body.order.clone()))?;
    let terms =
        PutTerms { expected: Expected::Nothing, dry_run: query.dry_run, scope: views.scope().clone() };
    let put = intake.commands.put_schedule(&name, body, &terms, &by).await.map_err(|problem| {
        if problem.kind() != Some(Type::PreconditionFailed) {
            return problem;
        }
        Problem::new(Type::Refused, format!("schedule `{name}` is there already; change it by PUT or PATCH"))
    });
    Ok(answer(put?, query.dry_run))
}

/// `PUT /v1/schedules/{name}`
async fn put(
    State(intake): State<Intake>,
    ScopedViews(views): ScopedViews,
    Path(name): Path<String>,
    Query(query): Query<ScheduleQuery>,
    Caller(by): Caller,
    headers: HeaderMap,
    Sent(body): Sent<ScheduleBody>,
) -> HttpResult<Response<Body>> {
    views.admit_template(&Value::Object(body.order.clone()))?;
    let terms =
        PutTerms { expected: expected(&headers)?, dry_run: query.dry_run, scope: views.scope().clone() };
    Ok(answer(intake.commands.put_schedule(&name, body, &terms, &by).await?, query.dry_run))
}

/// `PATCH /v1/schedules/{name}`
async fn patch(
    State(intake): State<Intake>,
    ScopedViews(views): ScopedViews,
    Path(name): Path<String>,
    Query(query): Query<ScheduleQuery>,
    Caller(by): Caller,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response<Body>> {
    let changes = read_json(&intake, body).await?;
    if !changes.is_object() {
        return Err(Problem::new(Type::Invalid, "the body must be a JSON object").into());
    }
    let view = intake.whole_views().schedule(&name).await?;
    let asked = expected(&headers)?;
    // Laid over what was read just now: somebody else may have changed it since.
    let expected = if asked == Expected::Anything { Expected::Tagged(vec![view.tag.clone()]) } else { asked };
    let mut whole = serde_json::to_value(whole_of(&view)).unwrap_or_default();
    merge(&mut whole, &changes);
    let body: ScheduleBody = serde_path_to_error::deserialize(&whole).map_err(|error| {
        let pointer =
            error.path().iter().fold(String::new(), |pointer, part| pointer_to(&pointer, &part.to_string()));
        Problem::of_field(&pointer, error.inner().to_string())
    })?;
    views.admit_template(&Value::Object(body.order.clone()))?;
    let terms = PutTerms { expected, dry_run: query.dry_run, scope: views.scope().clone() };
    Ok(answer(intake.commands.put_schedule(&name, body, &terms, &by).await?, query.dry_run))
}

/// The body that a client would have to send for the schedule as it is.
fn whole_of(view: &ScheduleView) -> ScheduleBody {
    let rule = view.rule.clone();
    ScheduleBody {
        name: None,
        order: view.order.as_object().cloned().unwrap_or_default(),
        cron: rule.cron,
        every: rule.every,
        zone: rule.zone,
        from: rule.from,
        until: rule.until,
        exceptions: rule.exceptions,
        catch_up: rule.catch_up,
        overlap: rule.overlap,
        paused: None,
        note: Some(view.note.clone()),
        reason: None,
    }
}

/// Lays changes over a value (RFC 7396).
fn merge(value: &mut Value, changes: &Value) {
    let Value::Object(changes) = changes else {
        *value = changes.clone();
        return;
    };
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    let Value::Object(map) = value else { return };
    for (key, change) in changes {
        if change.is_null() {
            map.remove(key);
        } else {
            merge(map.entry(key.clone()).or_insert(Value::Null), change);
        }
    }
}

fn answer(outcome: ScheduleOutcome, dry_run: bool) -> Response<Body> {
    let is_new = outcome.change == "created" && !dry_run;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    let tag = outcome.tag.as_ref().and_then(|tag| format!("\"{tag}\"").parse().ok());
    let mut response = (status, Json(outcome)).into_response();
    response.headers_mut().extend(tag.map(|tag| (header::ETAG, tag)));
    response
}

/// `DELETE /v1/schedules/{name}`
async fn remove(
    State(intake): State<Intake>,
    Path(name): Path<String>,
    Caller(by): Caller,
    headers: HeaderMap,
) -> HttpResult<StatusCode> {
    intake.commands.remove_schedule(&name, &expected(&headers)?, &by).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /v1/schedules/{name}/pause`
async fn pause(
    State(intake): State<Intake>,
    Path(name): Path<String>,
    Caller(by): Caller,
    Sent(asked): Sent<ScheduleActionRequest>,
) -> HttpResult<Json<ScheduleOutcome>> {
    Ok(Json(intake.commands.pause_schedule(&name, true, &asked.reason, &by).await?))
}

/// `POST /v1/schedules/{name}/resume`
async fn resume(
    State(intake): State<Intake>,
    Path(name): Path<String>,
    Caller(by): Caller,
    Sent(asked): Sent<ScheduleActionRequest>,
) -> HttpResult<Json<ScheduleOutcome>> {
    Ok(Json(intake.commands.pause_schedule(&name, false, &asked.reason, &by).await?))
}

/// `POST /v1/schedules/{name}/run`
async fn run(
    State(intake): State<Intake>,
    ScopedViews(views): ScopedViews,
    Path(name): Path<String>,
    Caller(by): Caller,
    Sent(asked): Sent<ScheduleRunRequest>,
) -> HttpResult<Json<ScheduleRunOutcome>> {
    Ok(Json(intake.commands.run_schedule_now(&name, &asked, &by, views.scope()).await?))
}

/// `GET /v1/schedules/{name}/times`
async fn times(
    ScopedViews(views): ScopedViews,
    Path(name): Path<String>,
    Query(query): Query<ScheduleTimesQuery>,
) -> HttpResult<Json<ScheduleTimesView>> {
    Ok(Json(views.schedule_times(&name, &query).await?))
}

/// `GET /v1/schedules/{name}/runs`
async fn runs(
    ScopedViews(views): ScopedViews,
    Path(name): Path<String>,
    Query(query): Query<ScheduleRunsQuery>,
) -> HttpResult<Json<Page<ScheduleRunView>>> {
    Ok(Json(views.schedule_runs(&name, &query).await?))
}
