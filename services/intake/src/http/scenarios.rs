//! Scenarios: check, apply, list, draw; try, complete and migrate in files of their own.

mod completion;
mod migration;
pub(super) mod trial;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::{get, put};
use pagurus_domain::access::AccessRole;
use pagurus_domain::audit::AuditKind;
use pagurus_domain::order::principal::Principal;
use pagurus_runtime::trouble::store_problem;
use pagurus_scenario::Library;
use pagurus_scenario::source::Reading;
use pagurus_store::lists::audit::AuditEntry;
use pagurus_store::outside::scenarios::{self, Applied, Expected};
use pagurus_view::{ListQuery, Views};
use pagurus_wire::bodies::{MigrationBody, TrialBody};
use pagurus_wire::order::Page;
use pagurus_wire::problem::{Problem, Type};
use pagurus_wire::scenarios::{AppliedView, CheckedView, PinnedOperationView, ScenarioLine, VersionLine};
use pagurus_workbench::graph as drawing;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::HttpResult;
use super::body;
use super::caller::{Caller, ScopedViews};
use super::document::{Table, admin, viewer};
use super::preconditions::expected;
use super::query::{NoQuery, Path, Query};
use crate::Intake;

/// Media type of pictures.
const SVG: &str = "image/svg+xml";
/// Longest name in a path.
const MAX_NAME_BYTES: usize = 64;

/// Paths of other requests, whose last word a scenario may have as its name.
const NAMES_TOO: [&str; 5] = [
    "/v1/scenarios/check",
    "/v1/scenarios/complete",
    "/v1/scenarios/graph",
    "/v1/scenarios/migration",
    "/v1/scenarios/test",
];

pub(super) fn routes(table: Table) -> Table {
    NAMES_TOO.into_iter().fold(own_routes(table), also_by_name)
}

/// Adds the scenario that has the last word of a path as its name.
fn also_by_name(table: Table, path: &'static str) -> Table {
    let name = move || Path(path.rsplit('/').next().unwrap_or_default().to_owned());
    let write = move |intake, views, by, headers, _: NoQuery, body: Body| {
        apply(intake, views, name(), by, headers, body)
    };
    let show = move |views, query: Query<VersionQuery>| scenario(views, name(), query);
    table.also(path, "/v1/scenarios/{name}", AccessRole::Admin, put(write)).also(
        path,
        "/v1/scenarios/{name}",
        AccessRole::Viewer,
        get(show),
    )
}

fn own_routes(table: Table) -> Table {
    const YAML: &str = "application/yaml";
    table
        .of("Scenarios", "The definitions that orders run, by name and version.")
        .get("/v1/scenarios", list, viewer("Scenarios by name, each with its newest version.").scoped())
        .post(
            "/v1/scenarios/check",
            check,
            viewer("Tells everything that is wrong with a scenario.").scoped()
                .takes_text(YAML)
                .takes::<Map<String, Value>>(),
        )
        .post(
            "/v1/scenarios/test",
            trial::test,
            viewer("Runs the tests of a scenario in virtual time.").scoped().takes::<TrialBody>(),
        )
        .post(
            "/v1/scenarios/complete",
            completion::complete,
            viewer("What may be written at a place of a text that is not finished.").scoped(),
        )
        .post(
            "/v1/scenarios/graph",
            draw,
            viewer("Draws a workflow that is not applied.").scoped()
                .takes_text(YAML)
                .takes::<Map<String, Value>>()
                .gives_text(SVG, "The picture."),
        )
        .post(
            "/v1/scenarios/migration",
            migration::preview,
            admin("Shows which live orders could be moved to a scenario that is not applied.")
                .takes_text(YAML)
                .takes::<Map<String, Value>>(),
        )
        .put(
            "/v1/scenarios/{name}",
            apply,
            admin("Stores a scenario as a new version.")
                .more("To change a version that you have read, send its `ETag` as `If-Match`: if there is a newer version by now, the answer is 412, and nothing is stored.")
                .header("If-Match", "Tag of the version that must be the newest, or `*` for any.")
                .header("If-None-Match", "`*`: there must be no version.")
                .takes_text(YAML)
                .takes::<Map<String, Value>>()
                .gives::<AppliedView>(201, "A new version.")
                .gives::<AppliedView>(200, "The newest version has this text."),
        )
        .get(
            "/v1/scenarios/{name}",
            scenario,
            viewer("The text as it was applied.")
                .more("The header `ETag` has the tag of the version.")
                .gives_text(YAML, "The text."),
        )
        .get("/v1/scenarios/{name}/versions", versions, viewer("Versions, the newest first."))
        .get(
            "/v1/scenarios/{name}/graph",
            graph,
            viewer("The workflow as a picture.")
                .gives_text(SVG, "The picture.")
                .gives_text("text/vnd.mermaid", "The picture."),
        )
        .post(
            "/v1/scenarios/{name}/migrate",
            migration::migrate,
            admin("Moves live orders to another version, or shows which ones could be moved.")
                .takes::<MigrationBody>(),
        )
}

/// Reads the text of a scenario from a body, and the scenario from it, with the warnings about both, and the operations that
/// it runs.
async fn read(intake: &Intake, views: &Views, body: Body) -> HttpResult<(String, Reading, Library)> {
    let bytes = body::read(intake, body).await?;
    let text = String::from_utf8(bytes.to_vec())
        .map_err(|_| Problem::new(Type::Malformed, "the text of a scenario is UTF-8"))?;
    let (reading, library) = views.examine_scenario(&text).await?;
    Ok((text, reading, library))
}

/// `POST /v1/scenarios/check`
async fn check(
    State(intake): State<Intake>,
    ScopedViews(views): ScopedViews,
    body: Body,
) -> HttpResult<Json<CheckedView>> {
    let (text, Reading { scenario, warnings, .. }, _) = read(&intake, &views, body).await?;
    Ok(Json(CheckedView {
        used_by: views.operation_users(&scenario, &text).await?,
        states: scenario.states.len(),
        scenario: scenario.name,
        faults: Vec::new(),
        warnings: Problem::of_faults(Type::Invalid, &warnings).errors,
    }))
}

/// `PUT /v1/scenarios/{name}`
async fn apply(
    State(intake): State<Intake>,
    ScopedViews(views): ScopedViews,
    Path(name): Path<String>,
    Caller(by): Caller,
    headers: HeaderMap,
    body: Body,
) -> HttpResult<Response<Body>> {
    let expected = expected(&headers)?;
    let (text, Reading { scenario, warnings, .. }, library) = read(&intake, &views, body).await?;
    if scenario.name != name {
        let detail = format!("the text is of scenario `{}`, the path names `{}`", scenario.name, cut(&name));
        return Err(Problem::new(Type::Invalid, detail).at("/scenario").into());
    }
    let used_by = views.operation_users(&scenario, &text).await?;
    let applied = store(&intake, (&name, &text, &library), &expected, &by)
        .await
        .map_err(|error| store_problem(&intake.host, "apply", &error))?;
    let (status, version) = match applied {
        Applied::New(version) => (StatusCode::CREATED, version),
        Applied::Unchanged(version) => (StatusCode::OK, version),
        Applied::Unexpected(newest) => return Err(unexpected(&name, newest.as_deref()).into()),
    };
    let warnings = Problem::of_faults(Type::Invalid, &warnings).errors;
    let operations = pinned(&library);
    let tag = scenarios::tag_of(version, &text);
    let headers = [(header::ETAG, format!("\"{tag}\""))];
    let view = AppliedView { scenario: name, version, operations, used_by, tag, warnings };
    Ok((status, headers, Json(view)).into_response())
}

/// The operations that a scenario runs itself.
fn pinned(library: &Library) -> Vec<PinnedOperationView> {
    let entries = library.uses_of_root().filter_map(|(_, no)| library.entry(no));
    let pinned = entries.filter_map(|entry| {
        Some(PinnedOperationView { operation: entry.name.clone(), version: entry.version? })
    });
    pinned.collect()
}

/// Returns the problem of a version that is another than expected.
fn unexpected(name: &str, newest: Option<&str>) -> Problem {
    let detail = match newest {
        Some(tag) => {
            format!("the newest version of `{name}` is \"{tag}\"; read it and put the change on top of it")
        }
        None => format!("there is no version of `{name}`; leave `If-Match` out to store the first one"),
    };
    Problem::new(Type::PreconditionFailed, detail)
}

async fn store(
    intake: &Intake,
    (name, text, library): (&str, &str, &Library),
    expected: &Expected,
    by: &Principal,
) -> Result<Applied, pagurus_store::Error> {
    let mut client = intake.host.store.api().await?;
    let tx = client.transaction().await?;
    let applied = scenarios::apply(&tx, name, text, library, expected).await?;
    if let Applied::New(version) = applied {
        // Versions of a name follow each other without a gap.
        let before = if version > 1 { json!({"version": version - 1}) } else { Value::Null };
        AuditEntry::new("apply", (AuditKind::Scenario, name), by, None)
            .changed(before, json!({"version": version}), json!({"version": version}))
            .record(&tx)
            .await?;
    }
    tx.commit().await?;
    intake.catalogue.refresh(&client).await?;
    Ok(applied)
}

/// `GET /v1/scenarios`
async fn list(
    ScopedViews(views): ScopedViews,
    Query(query): Query<ListQuery>,
) -> HttpResult<Json<Page<ScenarioLine>>> {
    Ok(Json(views.scenarios(&query).await?))
}

/// `GET /v1/scenarios/{name}/versions`
async fn versions(
    ScopedViews(views): ScopedViews,
    Path(name): Path<String>,
    Query(query): Query<ListQuery>,
) -> HttpResult<Json<Page<VersionLine>>> {
    Ok(Json(views.versions(&name, &query).await?))
}

/// Query of what shows one version.
#[derive(Debug, Deserialize, JsonSchema)]
struct VersionQuery {
    /// Version; default: the newest one.
    version: Option<i32>,
    /// Format of a picture.
    #[schemars(extend("enum" = ["svg", "mermaid"]))]
    format: Option<String>,
}

/// `GET /v1/scenarios/{name}`: the text as it was applied.
async fn scenario(
    ScopedViews(views): ScopedViews,
    Path(name): Path<String>,
    Query(query): Query<VersionQuery>,
) -> HttpResult<Response<Body>> {
    let (version, text) = views.scenario_text(&name, query.version).await?;
    let tag = format!("\"{}\"", scenarios::tag_of(version, &text));
    let headers = [(header::CONTENT_TYPE, "application/yaml"), (header::ETAG, tag.as_str())];
    Ok((headers, text).into_response())
}

/// `GET /v1/scenarios/{name}/graph`: the workflow as a picture.
async fn graph(
    ScopedViews(views): ScopedViews,
    Path(name): Path<String>,
    Query(query): Query<VersionQuery>,
) -> HttpResult<Response<Body>> {
    let (kind, draw): (_, fn(&_) -> String) = match query.format.as_deref() {
        None | Some("svg") => (SVG, drawing::svg),
        Some("mermaid") => ("text/vnd.mermaid; charset=utf-8", drawing::mermaid),
        Some(other) => {
            let detail = format!("there is no format `{}`; write svg or mermaid", cut(other));
            return Err(Problem::new(Type::Invalid, detail).at("/format").into());
        }
    };
    let scenario = views.scenario(&name, query.version).await?;
    Ok(picture(kind, draw(&scenario)))
}

/// `POST /v1/scenarios/graph`
async fn draw(
    State(intake): State<Intake>,
    ScopedViews(views): ScopedViews,
    body: Body,
) -> HttpResult<Response<Body>> {
    let (_, Reading { scenario, .. }, _) = read(&intake, &views, body).await?;
    Ok(picture(SVG, drawing::svg(&scenario)))
}

fn picture(kind: &'static str, drawn: String) -> Response<Body> {
    // The picture has a sheet of its own and nothing else that a page could run.
    let policy = "default-src 'none'; style-src 'unsafe-inline'";
    let headers = [(header::CONTENT_TYPE, kind), (header::CONTENT_SECURITY_POLICY, policy)];
    (headers, drawn).into_response()
}

/// Returns a name of any length as an answer repeats it: cut.
fn cut(name: &str) -> &str {
    &name[..name.floor_char_boundary(MAX_NAME_BYTES)]
}
