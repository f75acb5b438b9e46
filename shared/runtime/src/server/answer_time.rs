//! A stream that gives up when the other side does not take what is written. Knows nothing of HTTP.

use std::future::Future as _;
use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// Pace at which the other side has to take what is written: a number of bytes within each span of time.
#[derive(Clone, Copy, Debug)]
pub(super) struct AnswerPace {
    pub within: Duration,
    pub bytes: usize,
}

/// A stream whose writes fail when what was to be written is taken too slowly. The time begins with the
/// first write that has to wait and ends with one that is taken whole; it begins again for a client that has kept
/// the pace. One that takes a byte now and then gains nothing by it.
///
/// The system tells that there is room again when a third of its buffer is free, so that a steady reader
/// is seen to take a third of it at a time.
pub(super) struct AnswerTime<S, F> {
    stream: S,
    pace: AnswerPace,
    waits: Option<WriteWait>,
    /// Called whenever all that was to be written has been handed to the system.
    written: F,
}

/// A span of time in which writes wait.
struct WriteWait {
    ends: Pin<Box<Sleep>>,
    /// Bytes that were taken in it.
    taken: usize,
}

impl<S, F: Fn()> AnswerTime<S, F> {
    pub(super) const fn new(stream: S, pace: AnswerPace, written: F) -> Self {
        Self { stream, pace, waits: None, written }
    }

    /// Notes the result of a write of `of` bytes.
    fn note(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<Result<usize>>,
        of: usize,
    ) -> Poll<Result<usize>> {
        if let Poll::Ready(written) = written {
            match &written {
                Ok(bytes) if *bytes == of => self.waits = None,
                Ok(bytes) => self.waits.iter_mut().for_each(|waits| waits.taken += bytes),
                Err(_) => {}
            }
            return Poll::Ready(written);
        }
        let AnswerPace { within, bytes } = self.pace;
        let waits = self
            .waits
            .get_or_insert_with(|| WriteWait { ends: Box::pin(tokio::time::sleep(within)), taken: 0 });
        loop {
            ready!(waits.ends.as_mut().poll(context));
            if waits.taken < bytes {
                let message = "the client does not read its answer";
                return Poll::Ready(Err(Error::new(ErrorKind::TimedOut, message)));
            }
            waits.taken = 0;
            waits.ends.as_mut().reset(Instant::now() + within);
        }
    }
}

impl<S: AsyncWrite + Unpin, F: Fn() + Unpin> AsyncWrite for AnswerTime<S, F> {
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
        let this = self.get_mut();
        let flushed = Pin::new(&mut this.stream).poll_flush(context);
        if matches!(flushed, Poll::Ready(Ok(()))) {
            (this.written)();
        }
        flushed
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

impl<S: AsyncRead + Unpin, F: Unpin> AsyncRead for AnswerTime<S, F> {
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

    const PACE: AnswerPace = AnswerPace { within: Duration::from_millis(200), bytes: 100 };

    #[tokio::test]
    async fn qlt_8_an_answer_that_nobody_takes_is_given_up_and_one_that_is_taken_is_not() {
        let (ours, mut theirs) = tokio::io::duplex(1000);
        let mut ours = AnswerTime::new(ours, PACE, || {});
        ours.write_all(&[0; 1000]).await.unwrap();
        theirs.read_exact(&mut [0; 99]).await.unwrap();
        let failed = ours.write_all(&[0; 1000]).await.unwrap_err();
        assert_eq!(failed.kind(), ErrorKind::TimedOut, "a part was taken, and then nothing");

        let (ours, mut theirs) = tokio::io::duplex(1000);
        let mut ours = AnswerTime::new(ours, PACE, || {});
        let reader = tokio::spawn(async move { theirs.read_exact(&mut [0; 20_000]).await.map(|_| ()) });
        ours.write_all(&[0; 20_000]).await.unwrap();
        reader.await.unwrap().unwrap();
    }

    /// Sends an answer of 6 000 bytes of which `bytes` are taken every ten milliseconds.
    async fn taken_by(bytes: usize) -> Result<()> {
        let (ours, mut theirs) = tokio::io::duplex(1000);
        let mut ours = AnswerTime::new(ours, PACE, || {});
        tokio::spawn(async move {
            let mut buffer = vec![0; bytes];
            while theirs.read_exact(&mut buffer).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
        ours.write_all(&[0; 6000]).await
    }

    #[tokio::test]
    async fn qlt_8_who_keeps_the_pace_gets_all_and_who_takes_a_little_now_and_then_does_not() {
        let begun = Instant::now();
        taken_by(50).await.unwrap();
        assert!(begun.elapsed() > PACE.within * 2, "it took no longer than one that is slow: {begun:?}");
        // Less than sixty of the hundred bytes in each span.
        assert_eq!(taken_by(3).await.unwrap_err().kind(), ErrorKind::TimedOut);
    }
}
