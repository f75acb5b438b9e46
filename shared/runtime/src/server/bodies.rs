//! The bodies of a connection: one that comes with a request, and one that leaves with its answer. Each tells the
//! place of the connection how far it is.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::BoxError;
use axum::body::{Body, Bytes};
use hyper::body::{Frame, Incoming, SizeHint};
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::places::ConnectionPlace;

/// The error of a body that has not come whole when its connection has to make room.
#[derive(Clone, Copy, Debug)]
pub struct MakesRoom;

impl MakesRoom {
    /// True where this is the cause of an error.
    #[must_use]
    pub fn causes(error: &(dyn Error + 'static)) -> bool {
        let mut cause = Some(error);
        while let Some(error) = cause {
            if error.is::<Self>() {
                return true;
            }
            cause = error.source();
        }
        false
    }
}

impl fmt::Display for MakesRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the connection makes room for another")
    }
}

impl Error for MakesRoom {}

/// The body of a request. While the rest of it is waited for, its connection is not at work.
pub(super) struct RequestBody {
    body: Incoming,
    place: Arc<ConnectionPlace>,
    closed: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl RequestBody {
    /// A body that may not have come whole.
    pub fn body(body: Incoming, place: &Arc<ConnectionPlace>) -> Body {
        let closed = Box::pin(place.closed.clone().cancelled_owned());
        Body::new(Self { body, place: place.clone(), closed })
    }
}

impl hyper::body::Body for RequestBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        match Pin::new(&mut this.body).poll_frame(context) {
            Poll::Ready(frame) => {
                if frame.is_none() || this.body.is_end_stream() {
                    this.place.has_sent();
                }
                Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
            }
            Poll::Pending => {
                this.place.sends();
                this.closed.as_mut().poll(context).map(|()| Some(Err(MakesRoom.into())))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of an answer. It ends when the server has taken all of it, which is before it is written.
pub(super) struct Leaving {
    pub body: Body,
    pub place: Arc<ConnectionPlace>,
}

impl hyper::body::Body for Leaving {
    type Data = <Body as hyper::body::Body>::Data;
    type Error = <Body as hyper::body::Body>::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.get_mut().body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.place.handed_over();
    }
}
