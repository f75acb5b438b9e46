//! A stream that gives up when the other side does not take what is written. Knows nothing of HTTP.

use std::future::Future as _;
use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// A stream whose writes fail when what was to be written has not been taken in time. The time begins
/// with the first write that has to wait and ends with one that is taken whole: who takes a byte now
/// and then does not gain any by it.
pub(super) struct AnswerTime<S> {
    stream: S,
    limit: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> AnswerTime<S> {
    pub(super) const fn new(stream: S, limit: Duration) -> Self {
        Self { stream, limit, stalled: None }
    }

    /// What a write came to, of so many bytes.
    fn note(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<Result<usize>>,
        of: usize,
    ) -> Poll<Result<usize>> {
        if let Poll::Ready(written) = written {
            if matches!(written, Ok(bytes) if bytes == of) {
                self.stalled = None;
            }
            return Poll::Ready(written);
        }
        let limit = self.limit;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(Error::new(ErrorKind::TimedOut, "the client does not read its answer")))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for AnswerTime<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(context, bytes);
        this.note(context, written, bytes.len())
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write_vectored(context, parts);
        this.note(context, written, parts.iter().map(|part| part.len()).sum())
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for AnswerTime<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(context, buffer)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn qlt_8_an_answer_that_nobody_takes_is_given_up_and_one_that_is_taken_is_not() {
        let limit = Duration::from_millis(50);
        let (ours, mut theirs) = tokio::io::duplex(1000);
        let mut ours = AnswerTime::new(ours, limit);
        ours.write_all(&[0; 1000]).await.unwrap();
        theirs.read_exact(&mut [0; 500]).await.unwrap();
        let failed = ours.write_all(&[0; 1000]).await.unwrap_err();
        assert_eq!(failed.kind(), ErrorKind::TimedOut, "a part was taken, and then nothing");

        let (ours, mut theirs) = tokio::io::duplex(1000);
        let mut ours = AnswerTime::new(ours, limit);
        let reader = tokio::spawn(async move { theirs.read_exact(&mut [0; 20_000]).await.map(|_| ()) });
        ours.write_all(&[0; 20_000]).await.unwrap();
        reader.await.unwrap().unwrap();
    }
}
