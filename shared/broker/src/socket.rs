//! The socket under a connection: what comes in passes the [`Mender`] before the client library sees
//! it, what goes out passes [`LateFrames`], and the socket can be closed under the library.
//!
//! lapin takes the kind of its sockets from a runtime, so [`Sockets`] is tokio's with another kind.

use std::{
    future::{self, Future},
    io::{self, Read, Write},
    mem,
    net::{Shutdown, SocketAddr, TcpStream},
    os::fd::AsFd,
    pin::Pin,
    sync::{Mutex, PoisonError},
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use async_rs::{Runtime, Tokio, traits::Reactor, util::RuntimeParts};
use futures_io::{AsyncRead, AsyncWrite};
use futures_util::Stream;
use lapin::tcp::AsyncTcpStream;

use crate::frames::{LateFrames, Mender};

/// Bytes that are read at a time: some hundred small messages.
const READ: usize = 64 * 1024;
/// A buffer that a large frame has stretched is released when it is empty.
const KEPT: usize = 256 * 1024;

/// A connection over TCP, or over TLS on top of it.
pub(crate) type Transport = AsyncTcpStream<<Tokio as Reactor>::TcpStream>;

/// The runtime that lapin gets: tokio's, but for its sockets.
#[derive(Clone, Debug)]
pub(crate) struct Sockets(Tokio);

impl Sockets {
    /// Bound to the present runtime.
    pub(crate) fn runtime() -> Runtime<RuntimeParts<Tokio, Self>> {
        Runtime::new(RuntimeParts::new(Tokio::current(), Self(Tokio::current())))
    }
}

impl Reactor for Sockets {
    type TcpStream = Legible<Transport>;
    type Sleep = <Tokio as Reactor>::Sleep;

    /// Neither this nor the connect below is used: connections are made with their TLS, and given to lapin.
    fn register<H: Read + Write + Send + 'static>(
        &self,
        _: H,
    ) -> io::Result<impl AsyncRead + AsyncWrite + Send + Unpin + 'static> {
        Err::<Self::TcpStream, _>(io::ErrorKind::Unsupported.into())
    }

    fn sleep(&self, duration: Duration) -> Self::Sleep {
        self.0.sleep(duration)
    }

    fn interval(&self, duration: Duration) -> impl Stream<Item = Instant> + Send + 'static {
        self.0.interval(duration)
    }

    fn tcp_connect_addr(
        &self,
        _: SocketAddr,
    ) -> impl Future<Output = io::Result<Self::TcpStream>> + Send + 'static {
        future::ready(Err(io::ErrorKind::Unsupported.into()))
    }
}

/// A stream whose reader gets only frames that the client library can read, and whose other side
/// gets only frames that it still expects.
#[derive(Debug)]
pub(crate) struct Legible<S> {
    stream: S,
    mender: Mender,
    /// Bytes up to `filled`, and room behind them.
    buffer: Vec<u8>,
    /// The reader has had what lies before.
    read: usize,
    /// The mender has passed what lies before.
    passed: usize,
    filled: usize,
    late: LateFrames,
    outgoing: Outgoing,
}

/// Bytes of the last call of the writer.
#[derive(Debug, Default)]
struct Outgoing {
    /// Bytes that the broker gets; those before `sent` are sent.
    kept: Vec<u8>,
    sent: usize,
    /// Number of all, which is reported as written once the broker has got its part.
    taken: usize,
}

impl<S> Legible<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self {
            stream,
            mender: Mender::default(),
            buffer: Vec::new(),
            read: 0,
            passed: 0,
            filled: 0,
            late: LateFrames::default(),
            outgoing: Outgoing::default(),
        }
    }

    /// Hands out what has passed.
    fn hand_out(&mut self, into: &mut [u8]) -> usize {
        let count = into.len().min(self.passed - self.read);
        into[..count].copy_from_slice(&self.buffer[self.read..self.read + count]);
        self.read += count;
        count
    }

    /// Moves an unfinished frame to the front, so that the buffer is little longer than the longest
    /// frame, and makes room behind it.
    fn make_room(&mut self) {
        self.buffer.copy_within(self.read..self.filled, 0);
        self.filled -= self.read;
        self.passed -= self.read;
        self.read = 0;
        if self.filled == 0 && self.buffer.len() > KEPT {
            self.buffer = Vec::new();
        }
        if self.buffer.len() < self.filled + READ {
            self.buffer.resize(self.filled + READ, 0);
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Legible<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        while this.read == this.passed && !into.is_empty() {
            this.make_room();
            let room = &mut this.buffer[this.filled..];
            let count = ready!(Pin::new(&mut this.stream).poll_read(cx, room))?;
            if count == 0 {
                return Poll::Ready(Ok(0));
            }
            this.filled += count;
            let mended = this.mender.mend(&mut this.buffer[this.passed..this.filled]);
            this.passed += mended.map_err(io::Error::other)?;
        }
        Poll::Ready(Ok(this.hand_out(into)))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Legible<S> {
    /// Takes the bytes once, at the first call: until it is ready, the writer comes again with the same ones.
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let Self { stream, late, outgoing, .. } = self.get_mut();
        if outgoing.taken == 0 {
            late.filter(bytes, &mut outgoing.kept);
            outgoing.taken = bytes.len();
        }
        while outgoing.sent < outgoing.kept.len() {
            match ready!(Pin::new(&mut *stream).poll_write(cx, &outgoing.kept[outgoing.sent..]))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => outgoing.sent += count,
            }
        }
        outgoing.kept.clear();
        outgoing.kept.shrink_to(KEPT);
        outgoing.sent = 0;
        Poll::Ready(Ok(mem::take(&mut outgoing.taken)))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_close(cx)
    }
}

/// A second handle on the socket of a connection. lapin's I/O thread sits on the socket and cannot
/// be asked to leave when a handshake hangs; closing the socket under it ends it.
#[derive(Default)]
pub(crate) struct Socket(Mutex<Option<TcpStream>>);

impl Socket {
    pub(crate) fn hold(&self, stream: &tokio::net::TcpStream) -> io::Result<()> {
        // A client that redials a closed local port can be given that same port as its own and
        // then talks to itself, and keeps the broker from coming back.
        if stream.local_addr()? == stream.peer_addr()? {
            return Err(io::Error::other("connected to itself"));
        }
        let copy = TcpStream::from(stream.as_fd().try_clone_to_owned()?);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(copy);
        Ok(())
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let held = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(stream) = held.take() {
            // Fails if the other side was faster, which is as good.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    /// A socket that takes some bytes at each call, nothing where the script says so, and all of them behind its end.
    #[derive(Default)]
    struct Scripted {
        script: VecDeque<Option<usize>>,
        taken: Vec<u8>,
    }

    impl AsyncWrite for Scripted {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            let Some(most) = self.script.pop_front().unwrap_or(Some(usize::MAX)) else {
                return Poll::Pending;
            };
            let count = most.min(bytes.len());
            self.taken.extend_from_slice(&bytes[..count]);
            Poll::Ready(Ok(count))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    /// A method of channel 1.
    fn method(class: u8, number: u8) -> Vec<u8> {
        vec![1, 0, 1, 0, 0, 0, 4, 0, class, 0, number, 0xce]
    }

    #[test]
    fn amqp_1_bytes_count_as_written_when_the_broker_has_got_its_part_of_them() {
        let script = VecDeque::from([Some(5), None, None]);
        let mut stream = Legible::new(Scripted { script, ..Scripted::default() });
        let mut write = |bytes: &[u8]| {
            Pin::new(&mut stream)
                .poll_write(&mut Context::from_waker(std::task::Waker::noop()), bytes)
                .map(Result::unwrap)
        };
        let (open, close, publish) = (method(20, 10), method(20, 41), method(60, 40));
        let first = [open.clone(), close.clone(), publish.clone()].concat();
        assert_eq!(write(&first), Poll::Pending);
        // The writer comes again with the same, and with more behind it.
        let more = [first.clone(), publish.clone()].concat();
        assert_eq!(write(&more), Poll::Pending);
        assert_eq!(write(&more), Poll::Ready(first.len()));
        assert_eq!(write(&publish), Poll::Ready(publish.len()), "all of it comes too late");
        assert_eq!(stream.stream.taken, [open, close].concat());
    }
}
