//! Scenarios: check, apply, migrate, and try in a file of its own.

pub(super) mod trial;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;
use pagurus_command::migrate::{Migrated, Migration};
use pagurus_domain::audit::AuditKind;
use pagurus_domain::order::principal::Principal;
use pagurus_domain::scenario::source::Reading;
use pagurus_runtime::trouble::store_problem;
use pagurus_store::audit::AuditEntry;
use pagurus_store::scenarios::{self, Applied};
use pagurus_wire::problem::{Problem, Type};
use serde_json::{Value, json};

use super::Outcome;
use super::body::{self, read_json};
use super::caller::Caller;
use super::query::Path;
use crate::Intake;

/// Longest name in a path.
const MAX_NAME_BYTES: usize = 64;

/// Reads the text of a scenario from a body, and the scenario from it, with the warnings about both.
async fn read(intake: &Intake, body: Body) -> Outcome<(String, Reading)> {
    let bytes = body::read(intake, body).await?;
    let text = String::from_utf8(bytes.to_vec())
        .map_err(|_| Problem::new(Type::Malformed, "the text of a scenario is UTF-8"))?;
    let reading = intake.views.examine_scenario(&text).await?;
    Ok((text, reading))
}

/// `POST /v1/scenarios/check`
pub(super) async fn check(State(intake): State<Intake>, body: Body) -> Outcome<Json<Value>> {
    let (_, Reading { scenario, warnings, .. }) = read(&intake, body).await?;
    Ok(Json(json!({
        "scenario": scenario.name, "states": scenario.states.len(), "faults": [],
        "warnings": Problem::of_faults(Type::Invalid, &warnings).errors,
    })))
}

/// `PUT /v1/scenarios/{name}`
pub(super) async fn apply(
    State(intake): State<Intake>,
    Path(name): Path<String>,
    Caller(by): Caller,
    body: Body,
) -> Outcome<Response<Body>> {
    let (text, Reading { scenario, warnings, .. }) = read(&intake, body).await?;
    if scenario.name != name {
        let told = format!("the text is of scenario `{}`, the path names `{}`", scenario.name, cut(&name));
        return Err(Problem::new(Type::Invalid, told).at("/scenario").into());
    }
    let applied = store(&intake, &name, &text, &by)
        .await
        .map_err(|error| store_problem(&intake.host, "apply", &error))?;
    let (status, version) = match applied {
        Applied::New(version) => (StatusCode::CREATED, version),
        Applied::Unchanged(version) => (StatusCode::OK, version),
    };
    let warnings = Problem::of_faults(Type::Invalid, &warnings).errors;
    Ok((status, Json(json!({"scenario": name, "version": version, "warnings": warnings}))).into_response())
}

async fn store(
    intake: &Intake,
    name: &str,
    text: &str,
    by: &Principal,
) -> Result<Applied, pagurus_store::Error> {
    let mut client = intake.host.store.api().await?;
    let tx = client.transaction().await?;
    let applied = scenarios::apply(&tx, name, text).await?;
    if let Applied::New(version) = applied {
        AuditEntry::new("apply", (AuditKind::Scenario, name), by, None)
            .with(&json!({"version": version}))
            .record(&tx)
            .await?;
    }
    tx.commit().await?;
    intake.catalogue.refresh(&client).await?;
    Ok(applied)
}

/// `POST /v1/scenarios/{name}/migrate`
pub(super) async fn migrate(
    State(intake): State<Intake>,
    Path(name): Path<String>,
    Caller(by): Caller,
    body: Body,
) -> Outcome<Json<Value>> {
    let asked = Migration::read(&*read_json(&intake, body).await?)?;
    let Migrated { moved, left, next } = intake.commands.migrate(&name, &asked, &by).await?;
    let count: u64 = left.values().map(|left| left.orders).sum();
    let reasons: Vec<Value> = left
        .into_iter()
        .map(|(reason, left)| json!({"reason": reason, "orders": left.orders, "examples": left.examples}))
        .collect();
    Ok(Json(json!({
        "scenario": name, "from": asked.from, "to": asked.to, "applied": asked.apply,
        "moved": moved, "left": count, "reasons": reasons, "next": next.map(|next| next.0.to_string()),
    })))
}

/// A name without measure, as an answer repeats it.
pub(super) fn cut(name: &str) -> &str {
    &name[..name.floor_char_boundary(MAX_NAME_BYTES)]
}
