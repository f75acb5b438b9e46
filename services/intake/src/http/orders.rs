//! Orders: register, wait, act.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::{get, patch};
use pagurus_command::request::{ActionRequest, OF_OTHERS, OF_RESTART, RequestKey};
use pagurus_command::{Acted, LifeAction, Restart, Terms};
use pagurus_domain::access::AccessRole;
use pagurus_domain::order::principal::Principal;
use pagurus_wire::bodies::{ActionBody, OrderBody, RestartBody};
use pagurus_wire::order::{RegistrationAnswer, StatusView};

use super::body::read_json_if_any;
use super::caller::{Caller, ScopedViews};
use super::document::{Table, client, operator, viewer};
use super::dry_run::ActionQuery;
use super::idempotency::key_of;
use super::query::{Path, Query};
use super::{HttpResult, amendments, batch, exports, parts, search, start};
use crate::Intake;
use crate::headers::sent_time_of;

/// Handler of an action on the life of an order that takes no fields of its own.
macro_rules! act_on {
    ($action:expr) => {
        |State(intake): State<Intake>,
         Path(id): Path<String>,
         Query(query): Query<ActionQuery>,
         Caller(by): Caller,
         headers: HeaderMap,
         body: Body| async move {
            act(&intake, id, $action, (OF_OTHERS, query.dry_run), (&by, &headers, body)).await
        }
    };
}

pub(super) fn routes(table: Table) -> Table {
    let action = |summary: &'static str| client(summary).key().may_take::<ActionBody>();
    table
        .of("Orders", "Register orders, look for them, and act on them.")
        .post(
            "/v1/orders",
            start::create,
            client("Registers an order.")
                .scoped()
                .more("The same id with the same content is answered as `duplicate` and changes nothing; with other content it is refused.")
                .header("traceparent", "W3C trace context.")
                .header("request-sent-time", "Time of sending, RFC 3339 or milliseconds since 1970: `periodToStart` counts from it.")
                .takes::<OrderBody>()
                .gives::<RegistrationAnswer<'static>>(201, "Registered.")
                .more("With `wait`, the answer comes when the order has ended or the time has passed, and shows the order as it is then.")
                .gives::<RegistrationAnswer<'static>>(200, "Registered before, or a dry run."),
        )
        .get(
            "/v1/orders",
            search::orders,
            viewer("Orders that fulfil all conditions, the newest first; by `idPrefix` in the order of ids.")
                .scoped()
                .more("Values of a list are separated by commas. `params.PATH=VALUE` and `vars.PATH=VALUE` ask for values of parameters and variables, in narrowed searches only. A page looks at a bounded number of orders: it may be short and have a next one."),
        )
        .post(
            "/v1/orders/batch",
            batch::create,
            client("Registers many orders, with a result for each.")
                .scoped()
                .more("A JSON array, or one order a line as `application/x-ndjson`.")
                .takes::<Vec<OrderBody>>()
                .takes_text("application/x-ndjson"),
        )
        .get("/v1/export/orders", exports::export, viewer("Orders with all that is kept of them, by ascending number.").scoped())
        // An order may have the name.
        .also("/v1/orders/batch", "/v1/orders/{id}", AccessRole::Client, get(parts::order_named_batch))
        .also("/v1/orders/batch", "/v1/orders/{id}", AccessRole::Operator, patch(amendments::update_named_batch))
        .get("/v1/orders/{id}/wait", start::wait, client("Waits until an order is final, or the time has passed."))
        .post("/v1/orders/{id}/cancel", act_on!(LifeAction::Cancel), action("Gives an order up for good."))
        .post("/v1/orders/{id}/interrupt", act_on!(LifeAction::Interrupt), action("Stops an order before it starts."))
        .post("/v1/orders/{id}/kill", act_on!(LifeAction::Kill), action("Stops an order that runs, waits or retries."))
        .post(
            "/v1/orders/{id}/restart",
            restart,
            client("Begins a new life of an order that has ended.").key().may_take::<RestartBody>(),
        )
        .post(
            "/v1/orders/{id}/resend",
            resend,
            operator("Sends the unconfirmed notifications of an order again.").may_take::<ActionBody>(),
        )
        .post(
            "/v1/orders/{id}/check",
            check,
            operator("Looks for contradictions between the rows of an order, and repairs what has one right repair.").may_take::<ActionBody>(),
        )
}

/// `POST /v1/orders/{id}/restart`
async fn restart(
    State(intake): State<Intake>,
    Path(id): Path<String>,
    Query(query): Query<ActionQuery>,
    Caller(by): Caller,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Json<StatusView>> {
    let restart = Restart { sent_at: sent_time_of(&headers)?, ..Restart::default() };
    act(&intake, id, LifeAction::Restart(restart), (OF_RESTART, query.dry_run), (&by, &headers, body)).await
}

/// `POST /v1/orders/{id}/resend`
async fn resend(
    State(intake): State<Intake>,
    ScopedViews(views): ScopedViews,
    Path(id): Path<String>,
    Caller(by): Caller,
    body: Body,
) -> HttpResult<Json<StatusView>> {
    let asked = read_json_if_any(&intake, body).await?;
    let asked = ActionRequest::read(&asked, OF_OTHERS)?.of_path(&id)?;
    let count = intake.commands.resend(&id, &by, asked.reason.as_deref()).await?;
    let note = match count {
        0 => "no notification of it is unconfirmed: nothing was sent".to_owned(),
        1 => "1 notification is sent again".to_owned(),
        count => format!("{count} notifications are sent again"),
    };
    Ok(Json(StatusView { note: Some(note), ..views.status(&id).await? }))
}

/// `POST /v1/orders/{id}/check`
async fn check(
    State(intake): State<Intake>,
    ScopedViews(views): ScopedViews,
    Path(id): Path<String>,
    Caller(by): Caller,
    body: Body,
) -> HttpResult<Json<StatusView>> {
    let asked = read_json_if_any(&intake, body).await?;
    let asked = ActionRequest::read(&asked, OF_OTHERS)?.of_path(&id)?;
    let outcome = intake.commands.check(&[&id], &by, asked.reason.as_deref()).await.pop();
    let note = outcome.transpose()?.unwrap_or_default().summary();
    Ok(Json(StatusView { note: Some(note), ..views.status(&id).await? }))
}

/// Does an action with the caller, the headers and the body of the request; the body may have these fields.
async fn act(
    intake: &Intake,
    id: String,
    action: LifeAction,
    (fields, dry_run): (&[&str], bool),
    (by, headers, body): (&Principal, &HeaderMap, Body),
) -> HttpResult<Json<StatusView>> {
    let asked = read_json_if_any(intake, body).await?;
    let key = RequestKey::read(key_of(headers)?, &asked)?;
    let asked = ActionRequest::read(&asked, fields)?.of_path(&id)?;
    let (reason, if_status) = (asked.reason.as_deref(), asked.if_status);
    let terms = Terms { by, reason, if_status, key: key.as_ref(), dry_run };
    let Acted { status, life, note } = intake.commands.act(&id, &action.with(&asked), terms).await?;
    Ok(Json(StatusView { id, status: status.to_string(), is_final: status.is_final(), life, note }))
}
