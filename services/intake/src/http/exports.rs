//! Exports over HTTP: few at a time, because each holds a page of whole orders until its client has taken it.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderValue, Response, header};
use axum::response::IntoResponse;
use futures_util::stream;
use pagurus_domain::json::json_text;
use pagurus_runtime::{ClientAddress, Peer};
use pagurus_view::ExportQuery;
use pagurus_wire::export::ExportedOrder;
use pagurus_wire::order::Page;
use pagurus_wire::problem::{Problem, Type};

use super::HttpResult;
use super::caller::ScopedViews;
use super::query::Query;
use crate::Intake;

/// Exports at a time; each holds some 8 MiB beside its longest order.
const MOST: usize = 4;
/// Exports of one client at a time, so that one that takes its pages slowly leaves turns to others.
const MOST_OF_ONE: usize = 2;
/// Bytes of an answer that are handed over at a time. Its turn ends with the last of them.
const PIECE: usize = 64 * 1024;

/// The turns of all exports in progress. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exports(Arc<Mutex<Vec<ClientAddress>>>);

/// The turn of one export.
#[derive(Debug)]
pub(super) struct ExportTurn {
    client: ClientAddress,
    all: Exports,
}

impl Exports {
    /// Takes a turn, if there is one.
    pub(super) fn take(&self, client: ClientAddress) -> HttpResult<ExportTurn> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_it = all.iter().filter(|other| **other == client).count();
        if all.len() >= MOST || of_it >= MOST_OF_ONE {
            let detail = format!(
                "{MOST} exports at a time, and {MOST_OF_ONE} of one client, are possible on a node; try again when one has ended"
            );
            return Err(Problem::new(Type::Busy, detail).into());
        }
        all.push(client);
        Ok(ExportTurn { client, all: self.clone() })
    }
}

impl Drop for ExportTurn {
    fn drop(&mut self) {
        let mut all = self.all.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = all.iter().position(|client| *client == self.client) {
            all.swap_remove(index);
        }
    }
}

/// A page, with the turn of its export.
pub(super) struct Exported {
    page: Page<ExportedOrder>,
    turn: ExportTurn,
}

impl IntoResponse for Exported {
    fn into_response(self) -> Response<Body> {
        let Self { page, turn } = self;
        let bytes = Bytes::from(json_text(&page));
        drop(page);
        let pieces = stream::unfold((bytes, turn), |(mut bytes, turn)| async move {
            let piece = bytes.split_to(bytes.len().min(PIECE));
            (!piece.is_empty()).then(|| (Ok::<Bytes, Infallible>(piece), (bytes, turn)))
        });
        let mut response = Body::from_stream(pieces).into_response();
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }
}

/// `GET /v1/export/orders`
pub(super) async fn export(
    State(intake): State<Intake>,
    ScopedViews(views): ScopedViews,
    Query(query): Query<ExportQuery>,
    Extension(peer): Extension<Peer>,
) -> HttpResult<Exported> {
    let turn = intake.exports.take(peer.client())?;
    Ok(Exported { page: views.export(query).await?, turn })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn qlt_8_exports_are_few_at_a_time_and_one_client_leaves_turns_to_others() {
        let exports = Exports::default();
        let take = |host: u8| exports.take(Peer(([10, 0, 0, host], 1).into()).client());
        let refused = |outcome: HttpResult<ExportTurn>| outcome.unwrap_err().0.status;
        let first = take(1).unwrap();
        let second = take(1).unwrap();
        assert_eq!(refused(take(1)), 429);
        let _others = [take(2).unwrap(), take(3).unwrap()];
        assert_eq!(refused(take(4)), 429);
        drop(second);
        let page = Page { items: Vec::new(), next: Some("x".repeat(3 * PIECE)) };
        let mut body = Exported { page, turn: first }.into_response().into_body();
        let mut taken = 0;
        for _ in 0..3 {
            taken += body.frame().await.unwrap().unwrap().into_data().unwrap().len();
        }
        let held = take(5).unwrap();
        assert_eq!(refused(take(6)), 429, "its turn lasts until all of it is taken: {taken}");
        while let Some(frame) = body.frame().await {
            taken += frame.unwrap().into_data().unwrap().len();
        }
        assert!(taken > 3 * PIECE && take(6).is_ok());
        drop(held);
    }
}
