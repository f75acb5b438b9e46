//! A page of a part of an order as an answer: an array of its items, and in the header `Link` the address of the next page
//! (RFC 8288), relative to that of this page.

use axum::Json;
use axum::http::Uri;
use axum::http::header::{CONTENT_TYPE, LINK};
use axum::response::{IntoResponse, Response};
use pagurus_wire::order::Page;
use serde::Serialize;

/// A page of a part.
pub(super) struct Part<T> {
    items: Vec<T>,
    /// Query of the next page.
    next: Option<String>,
}

impl<T> Part<T> {
    /// The page that answers a request at this address, where `parameter` says where a page begins.
    pub(super) fn of(page: Page<T>, uri: &Uri, parameter: &str) -> Self {
        let next = page.next.map(|next| {
            let others = uri.query().unwrap_or_default().split('&');
            let is_other = |pair: &&str| !pair.is_empty() && pair.split('=').next() != Some(parameter);
            let mut query: Vec<&str> = others.filter(is_other).collect();
            let begin = format!("{parameter}={next}");
            query.push(&begin);
            query.join("&")
        });
        Self { items: page.items, next }
    }
}

impl<T: Serialize> IntoResponse for Part<T> {
    fn into_response(self) -> Response {
        let link = self.next.map(|query| [(LINK, format!("<?{query}>; rel=\"next\""))]);
        (link, Json(self.items)).into_response()
    }
}

impl<T> Part<T> {
    /// The page as text, with a line for each item.
    pub(super) fn into_text(self, line: impl Fn(&T) -> String) -> Response {
        self.into_lines("text/plain; charset=utf-8", line)
    }

    /// The page as text of this media type, with a line for each item.
    pub(super) fn into_lines(self, kind: &'static str, line: impl Fn(&T) -> String) -> Response {
        let link = self.next.map(|query| [(LINK, format!("<?{query}>; rel=\"next\""))]);
        let text: String = self.items.iter().map(line).collect();
        (link, [(CONTENT_TYPE, kind)], text).into_response()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn rec_15_the_next_page_is_asked_for_as_this_one_was() {
        let link = |uri: &str, next: Option<&str>| {
            let page = Page { items: vec![1], next: next.map(str::to_owned) };
            let answer = Part::of(page, &uri.parse().unwrap(), "cursor").into_response();
            answer.headers().get(LINK).map(|link| link.to_str().unwrap().to_owned())
        };
        let next = |query: &str| Some(format!("<?{query}>; rel=\"next\""));
        assert_eq!(link("/v1/orders/a/steps", Some("7")), next("cursor=7"));
        assert_eq!(link("/v1/orders/a/steps?", Some("7")), next("cursor=7"));
        assert_eq!(link("/v1/orders/a/steps?cursor=5&limit=2", Some("7")), next("limit=2&cursor=7"));
        assert_eq!(link("/v1/orders/a/steps?limit=2", None), None);
    }
}
