//! The answer of a called system.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use hyper::{HeaderMap, Response};

use super::Broken;
use super::connection::HttpConnection;
use super::pool::Pool;

/// An answer whose body is still to be read. Dropped before its end, it closes its connection.
pub struct HttpReply {
    response: Response<Incoming>,
    /// `None` once the body was read.
    connection: Option<HttpConnection>,
    pool: Arc<Pool>,
}

impl HttpReply {
    pub(super) fn new(response: Response<Incoming>, connection: HttpConnection, pool: Arc<Pool>) -> Self {
        Self { response, connection: Some(connection), pool }
    }

    /// The HTTP status.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// The header fields.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// The length of the body in bytes, where it is known before it is read.
    #[must_use]
    pub fn content_length(&self) -> Option<u64> {
        self.response.body().size_hint().exact()
    }

    /// The next part of the body; none at its end.
    ///
    /// # Errors
    /// The body ends early, or is none.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, Broken> {
        while let Some(connection) = &mut self.connection {
            let Some(frame) = connection.driven(self.response.body_mut().frame()).await else {
                self.give_back();
                break;
            };
            // Trailers say nothing that a caller reads.
            if let Ok(data) = frame.map_err(Broken::Body)?.into_data() {
                return Ok(Some(data));
            }
        }
        Ok(None)
    }

    /// The connection waits for the next call, if it can be used again.
    fn give_back(&mut self) {
        if let Some(mut connection) = self.connection.take()
            && connection.is_alive()
        {
            self.pool.put(connection);
        }
    }
}
