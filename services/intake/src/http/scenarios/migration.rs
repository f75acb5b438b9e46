//! Migrations of live orders to another version, and looks at what one would do.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use pagurus_command::migrate::{Migrated, Migration, behind};
use pagurus_domain::id::OrderNo;
use pagurus_scenario::source::Reading;
use pagurus_wire::scenarios::{LeftView, MigratedView};
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::HttpResult;
use super::super::body::read_json;
use super::super::caller::{Caller, ScopedViews};
use super::super::query::{Path, Query};
use super::read;
use crate::Intake;

/// `POST /v1/scenarios/{name}/migrate`
pub(in crate::http) async fn migrate(
    State(intake): State<Intake>,
    Path(name): Path<String>,
    Caller(by): Caller,
    body: Body,
) -> HttpResult<Json<MigratedView>> {
    let asked = Migration::read(&*read_json(&intake, body).await?)?;
    let migrated = intake.commands.migrate(&name, &asked, &by).await?;
    Ok(Json(migrated_view(name, [asked.from, asked.to], asked.apply, migrated)))
}

fn migrated_view(scenario: String, [from, to]: [i32; 2], applied: bool, migrated: Migrated) -> MigratedView {
    let Migrated { moved, left, next } = migrated;
    let count = left.values().map(|left| left.orders).sum();
    let reasons = left.into_iter();
    let reasons =
        reasons.map(|(reason, left)| LeftView { reason, orders: left.orders, examples: left.examples });
    let (reasons, next) = (reasons.collect(), next.map(|next| next.0.to_string()));
    MigratedView { scenario, from, to, applied, moved, left: count, reasons, next }
}

/// Query of a migration that is only looked at.
#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::http) struct PreviewQuery {
    /// Version that the orders run; default: the newest one.
    #[schemars(range(min = 1))]
    from: Option<i32>,
    /// Word `next` of the answer before.
    after: Option<String>,
}

/// `POST /v1/scenarios/migration`: the text would be the next version.
pub(in crate::http) async fn preview(
    State(intake): State<Intake>,
    ScopedViews(views): ScopedViews,
    Query(query): Query<PreviewQuery>,
    body: Body,
) -> HttpResult<Json<MigratedView>> {
    let after = query.after.as_deref().map_or(Ok(OrderNo(0)), behind)?;
    let (_, Reading { scenario, .. }, _) = read(&intake, &views, body).await?;
    let (newest, _) = views.scenario_text(&scenario.name, None).await?;
    let (name, from) = (scenario.name.clone(), query.from.unwrap_or(newest));
    let migrated = intake.commands.preview_migration(scenario, from, after).await?;
    Ok(Json(migrated_view(name, [from, newest + 1], false, migrated)))
}
