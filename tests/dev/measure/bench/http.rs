//! HTTP/1.1 with as little work as possible, for the ends of a measurement: a keep-alive responder and a caller.
//! Never meant for anything but our own peers on this machine: no chunked bodies, no redirects, no TLS.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// A request or an answer.
#[derive(Debug)]
pub struct Message {
    /// First line and headers.
    pub head: String,
    /// Body of the answer.
    pub body: Vec<u8>,
}

impl Message {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.head, name)
    }

    /// The status of an answer.
    pub fn status(&self) -> Option<u16> {
        self.head.split(' ').nth(1)?.parse().ok()
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().skip(1).find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// Serves for ever; the handler gives the whole answer, head included.
pub async fn serve(
    listener: TcpListener,
    handler: impl Fn(Message) -> &'static [u8] + Send + Sync + 'static,
) {
    let handler = Arc::new(handler);
    loop {
        let Ok((mut stream, _)) = listener.accept().await else { continue };
        let handler = Arc::clone(&handler);
        tokio::spawn(async move {
            // An error here is a peer that went away, and that is how every connection ends.
            let _ = stream.set_nodelay(true);
            let mut buffer = Vec::with_capacity(4096);
            while let Ok(Some(request)) = read(&mut stream, &mut buffer).await {
                if stream.write_all(handler(request)).await.is_err() {
                    return;
                }
            }
        });
    }
}

/// The next message; `None` when the peer has closed. What was read beyond it stays in the buffer.
pub async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Result<Option<Message>> {
    let mut searched = 0;
    loop {
        let found = buffer[searched..].windows(4).position(|four| four == b"\r\n\r\n");
        if let Some(end) = found.map(|at| searched + at + 4) {
            let head = std::str::from_utf8(&buffer[..end])?.to_owned();
            let length: usize = header(&head, "content-length").map_or(Ok(0), str::parse)?;
            while buffer.len() < end + length {
                if stream.read_buf(buffer).await? == 0 {
                    bail!("the peer closed in the middle of a body");
                }
            }
            let body = buffer[end..end + length].to_vec();
            buffer.drain(..end + length);
            return Ok(Some(Message { head, body }));
        }
        searched = buffer.len().saturating_sub(3);
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

/// Calls one address over connections that stay open.
#[derive(Debug)]
pub struct Caller {
    address: String,
    /// Header line that proves who calls, with its end; empty for nobody.
    credential: String,
    idle: Mutex<Vec<TcpStream>>,
    permits: Semaphore,
}

impl Caller {
    /// A caller of `host:port` with at most this number of connections.
    pub fn new(address: &str, connections: usize) -> Self {
        Self {
            address: address.to_owned(),
            credential: String::new(),
            idle: Mutex::default(),
            permits: Semaphore::new(connections),
        }
    }

    /// The same, with this token in each request.
    #[must_use]
    pub fn with_token(self, token: &str) -> Self {
        Self { credential: format!("authorization: Bearer {token}\r\n"), ..self }
    }

    /// Posts a body and waits for the answer.
    pub async fn post(&self, path: &str, content_type: &str, body: &[u8]) -> Result<Message> {
        let _permit = self.permits.acquire().await?;
        let mut bytes = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\n{}content-type: {content_type}\r\ncontent-length: {}\r\n\r\n",
            self.address,
            self.credential,
            body.len()
        )
        .into_bytes();
        bytes.extend_from_slice(body);
        let kept = self.lock().pop();
        if let Some(stream) = kept
            && let Ok(answer) = self.exchange(stream, &bytes).await
        {
            return Ok(answer);
        }
        // None is kept, or the peer has closed the one that was.
        let stream = TcpStream::connect(&self.address).await?;
        stream.set_nodelay(true)?;
        self.exchange(stream, &bytes).await
    }

    async fn exchange(&self, mut stream: TcpStream, bytes: &[u8]) -> Result<Message> {
        stream.write_all(bytes).await?;
        let mut buffer = Vec::with_capacity(1024);
        let answer = read(&mut stream, &mut buffer).await?.context("the peer closed without an answer")?;
        self.lock().push(stream);
        Ok(answer)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<TcpStream>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[tokio::test]
    async fn calls_share_a_connection_and_carry_their_bodies() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        tokio::spawn(serve(listener, |request| {
            if request.head.starts_with("POST /echo ")
                && request.body == b"{}"
                && request.header("Host").is_some()
            {
                b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ntrue"
            } else {
                b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n"
            }
        }));
        let caller = Caller::new(&address, 1);
        for (path, status, body) in
            [("/echo", 200, &b"true"[..]), ("/other", 400, b""), ("/echo", 200, b"true")]
        {
            let answer = caller.post(path, "application/json", b"{}").await.unwrap();
            assert_eq!((answer.status(), answer.body.as_slice()), (Some(status), body));
        }
        assert_eq!(caller.lock().len(), 1);
    }
}
