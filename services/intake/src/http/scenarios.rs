//! Scenarios: apply, check, list, draw; tests and migration stand in files of their own.

pub(super) mod migrate;
pub(super) mod trial;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode, header};
use axum::response::IntoResponse;
use pagurus_domain::document::Fault;
use pagurus_domain::scenario::script::Scripting;
use pagurus_domain::scenario::{Scenario, graph as drawing, source};
use pagurus_runtime::trouble::store_problem;
use pagurus_store::scenarios::{self, Applied};
use pagurus_wire::problem::{Problem, Type};
use serde_json::{Value, json};

use super::query::{Nothing, Path, Query};
use super::{Answer, Outcome, body};
use crate::Intake;

/// Longest name in a path.
const MAX_NAME_BYTES: usize = 64;

/// Reads a scenario by the bounds of the moment.
fn compiled(intake: &Intake, text: &str) -> Result<Scenario, Vec<Fault>> {
    let bounds = &intake.host.settings().scenario;
    source::read(text, &Scripting::new(bounds.script.clone()), bounds)
}

/// Reads the text of a scenario from a body, and the scenario from it.
async fn read(intake: &Intake, body: Body) -> Outcome<(String, Scenario)> {
    let bytes = body::read(intake, body).await?;
    let text = String::from_utf8(bytes.to_vec())
        .map_err(|_| Problem::new(Type::Malformed, "the text of a scenario is UTF-8"))?;
    let scenario = compiled(intake, &text).map_err(|faults| Problem::of_faults(Type::Invalid, &faults))?;
    Ok((text, scenario))
}

/// `POST /v1/scenarios/check`
pub(super) async fn check(State(intake): State<Intake>, body: Body) -> Outcome<Json<Value>> {
    let (_, scenario) = read(&intake, body).await?;
    Ok(Json(json!({"scenario": scenario.name, "states": scenario.states.len(), "faults": []})))
}

/// `PUT /v1/scenarios/{name}`
pub(super) async fn apply(
    State(intake): State<Intake>,
    Path(name): Path<String>,
    body: Body,
) -> Outcome<Response<Body>> {
    let (text, scenario) = read(&intake, body).await?;
    if scenario.name != name {
        let mut problem = Problem::new(
            Type::Invalid,
            format!("the text is of scenario `{}`, the path names `{}`", scenario.name, cut(&name)),
        );
        problem.pointer = Some("/scenario".into());
        return Err(Answer(problem));
    }
    let applied =
        store(&intake, &name, &text).await.map_err(|error| store_problem(&intake.host, "apply", &error))?;
    let (status, version) = match applied {
        Applied::New(version) => (StatusCode::CREATED, version),
        Applied::Unchanged(version) => (StatusCode::OK, version),
    };
    Ok((status, Json(json!({"scenario": name, "version": version}))).into_response())
}

async fn store(intake: &Intake, name: &str, text: &str) -> Result<Applied, pagurus_store::Error> {
    let mut client = intake.host.store.api().await?;
    let tx = client.transaction().await?;
    let applied = scenarios::apply(&tx, name, text).await?;
    tx.commit().await?;
    intake.catalogue.refresh(&client).await?;
    Ok(applied)
}

/// `GET /v1/scenarios`
pub(super) async fn list(State(intake): State<Intake>, _: Query<Nothing>) -> Outcome<Json<Value>> {
    let rows = async {
        let client = intake.host.store.api().await?;
        scenarios::list(&client).await
    }
    .await
    .map_err(|error| store_problem(&intake.host, "scenarios", &error))?;
    let items: Vec<Value> = rows
        .into_iter()
        .map(|(name, version, created_at)| json!({"scenario": name, "version": version, "createdAt": created_at}))
        .collect();
    Ok(Json(json!({"items": items})))
}

async fn versions_of(intake: &Intake, name: &str) -> Outcome<Vec<(i32, jiff::Timestamp, String)>> {
    let versions = async {
        let client = intake.host.store.api().await?;
        scenarios::versions(&client, name).await
    }
    .await
    .map_err(|error| store_problem(&intake.host, "scenarios", &error))?;
    if versions.is_empty() {
        return Err(Answer(Problem::new(Type::NotFound, format!("there is no scenario `{}`", cut(name)))));
    }
    Ok(versions)
}

/// Query of what shows one version.
#[derive(Debug, serde::Deserialize)]
pub(super) struct VersionQuery {
    /// Left out: the newest one.
    version: Option<i32>,
    /// Of a picture: `svg` or `mermaid`.
    format: Option<String>,
}

/// The text of the version that is asked for.
async fn text_of(intake: &Intake, name: &str, version: Option<i32>) -> Outcome<String> {
    let versions = versions_of(intake, name).await?;
    let mut versions = versions.into_iter();
    let found = versions.find(|(number, ..)| version.is_none_or(|version| version == *number));
    found.map(|(_, _, text)| text).ok_or_else(|| {
        let version = version.unwrap_or_default();
        Answer(Problem::new(Type::NotFound, format!("scenario `{}` has no version {version}", cut(name))))
    })
}

/// `GET /v1/scenarios/{name}`: the text as it was applied.
pub(super) async fn show(
    State(intake): State<Intake>,
    Path(name): Path<String>,
    Query(query): Query<VersionQuery>,
) -> Outcome<Response<Body>> {
    let text = text_of(&intake, &name, query.version).await?;
    Ok(([(header::CONTENT_TYPE, "application/yaml")], text).into_response())
}

/// `GET /v1/scenarios/{name}/graph`: the workflow as a picture.
pub(super) async fn graph(
    State(intake): State<Intake>,
    Path(name): Path<String>,
    Query(query): Query<VersionQuery>,
) -> Outcome<Response<Body>> {
    let draw = match query.format.as_deref() {
        None | Some("svg") => drawing::svg,
        Some("mermaid") => drawing::mermaid,
        Some(other) => {
            let mut problem = Problem::new(
                Type::Invalid,
                format!("there is no format `{}`; write svg or mermaid", cut(other)),
            );
            problem.pointer = Some("/format".into());
            return Err(Answer(problem));
        }
    };
    let text = text_of(&intake, &name, query.version).await?;
    let scenario = compiled(&intake, &text).map_err(|faults| Problem::of_faults(Type::Invalid, &faults))?;
    let kind = if query.format.as_deref() == Some("mermaid") {
        "text/vnd.mermaid; charset=utf-8"
    } else {
        "image/svg+xml"
    };
    // The picture has a sheet of its own and nothing else that a page could run.
    let policy = "default-src 'none'; style-src 'unsafe-inline'";
    let headers = [(header::CONTENT_TYPE, kind), (header::CONTENT_SECURITY_POLICY, policy)];
    Ok((headers, draw(&scenario)).into_response())
}

/// `GET /v1/scenarios/{name}/versions`
pub(super) async fn versions(State(intake): State<Intake>, Path(name): Path<String>) -> Outcome<Json<Value>> {
    let items: Vec<Value> = versions_of(&intake, &name)
        .await?
        .into_iter()
        .map(|(version, created_at, _)| json!({"version": version, "createdAt": created_at}))
        .collect();
    Ok(Json(json!({"items": items})))
}

fn cut(name: &str) -> &str {
    &name[..name.floor_char_boundary(MAX_NAME_BYTES)]
}
