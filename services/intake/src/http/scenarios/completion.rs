//! `POST /v1/scenarios/complete`: what may be written at a place of a text. Touches no order and no database.

use axum::Json;
use pagurus_wire::bodies::CompletionBody;
use pagurus_wire::scenarios::{CompletionView, CompletionsView, TextPlaceView};
use pagurus_workbench::complete;

use super::super::HttpResult;
use super::super::body::{Sent, off_runtime};

/// `POST /v1/scenarios/complete`
pub(in crate::http) async fn complete(Sent(body): Sent<CompletionBody>) -> HttpResult<Json<CompletionsView>> {
    let CompletionBody { text, line, column } = body;
    let found = off_runtime(text.len(), || complete::complete(&text, line, column));
    let items = found.items.into_iter().map(|item| CompletionView {
        label: item.label,
        kind: item.kind.as_str().to_owned(),
        detail: item.detail,
        insert: item.insert,
    });
    let from = TextPlaceView { line, column: found.column };
    Ok(Json(CompletionsView { from, items: items.collect() }))
}
