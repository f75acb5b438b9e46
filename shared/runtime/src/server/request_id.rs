//! Id of a request: what a client says when it asks for help, and what the log says of a failure.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Request, Response};
use axum::middleware::Next;
use uuid::Uuid;

/// Header of requests and of answers.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Letters of an id that a client gives.
const MOST_LETTERS: usize = 128;

tokio::task_local! {
    static PRESENT: HeaderValue;
}

/// Id of the request that this task answers; none of work that is done for many requests at once.
#[must_use]
pub fn present_request() -> Option<String> {
    PRESENT.try_with(|id| id.to_str().map(str::to_owned).ok()).ok().flatten()
}

/// Answers a request under the id that its client or a gateway gave it, or under a new one.
pub(super) async fn with_request_id(request: Request<Body>, next: Next) -> Response<Body> {
    let given = request.headers().get(&REQUEST_ID).filter(|id| is_plain(id.as_bytes())).cloned();
    let id = given.unwrap_or_else(new_id);
    let mut response = PRESENT.scope(id.clone(), next.run(request)).await;
    response.headers_mut().insert(REQUEST_ID, id);
    response
}

/// True for an id that can stand in a log and in a header as it is.
fn is_plain(id: &[u8]) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:/+=@".contains(byte);
    (1..=MOST_LETTERS).contains(&id.len()) && id.iter().all(plain)
}

fn new_id() -> HeaderValue {
    let mut text = Uuid::encode_buffer();
    let text = Uuid::new_v4().simple().encode_lower(&mut text);
    HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static("none"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qlt_8_an_id_of_a_client_is_taken_if_it_can_stand_in_a_log() {
        for good in ["1", "req_8fA-1.2:3/4+5=@", &"a".repeat(128)] {
            assert!(is_plain(good.as_bytes()), "{good}");
        }
        for bad in ["", " ", "a b", "a\tb", "\"", "<script>", "é", &"a".repeat(129)] {
            assert!(!is_plain(bad.as_bytes()), "{bad}");
        }
        assert_eq!(new_id().len(), 32);
        assert_ne!(new_id(), new_id());
        assert_eq!(present_request(), None);
    }
}
