//! Requests byte for byte, as no library sends them, and what comes back.

use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Longest wait for an answer, or for the end of the connection: the longest time-out of the server is 30 s.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longest answer that is looked at.
const LONGEST: usize = 64 * 1024 * 1024;

/// Bytes that are sent over a connection of their own.
#[derive(Clone, Debug, Default)]
pub struct Sent {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Pause after each byte; none sends all at once.
    pub pause: Option<Duration>,
    /// True to say at the end that no more will come.
    pub ends: bool,
    /// True where the answer has no body whatever its head says.
    pub is_head: bool,
}

/// Reply to what was sent.
#[derive(Clone, Debug)]
pub enum Reply {
    /// The connection ended without an answer.
    Closed,
    /// An answer.
    Answer { status: u16, body: Vec<u8> },
    /// Neither in time.
    Nothing,
}

impl Reply {
    /// The body as JSON; null if it is none.
    pub fn json(&self) -> Value {
        match self {
            Self::Answer { body, .. } => serde_json::from_slice(body).unwrap_or_default(),
            _ => Value::Null,
        }
    }

    /// Beginning of the answer, for people.
    pub fn shown(&self) -> String {
        match self {
            Self::Closed => "closed".to_owned(),
            Self::Nothing => format!("nothing within {PATIENCE:?}"),
            Self::Answer { status, body, .. } => {
                format!("{status} {}", String::from_utf8_lossy(&body[..body.len().min(400)]))
            }
        }
    }
}

/// Sends, and waits for the answer or the end of the connection.
pub async fn ask(address: &str, sent: &Sent) -> Reply {
    let Ok(stream) = TcpStream::connect(address).await else { return Reply::Closed };
    let (mut from, mut to) = stream.into_split();
    let bytes = sent.clone();
    // Beside the reading: who is refused early may not be read to the end.
    let writing = tokio::spawn(async move {
        let written = match bytes.pause {
            None => to.write_all(&bytes.bytes).await,
            Some(pause) => slowly(&mut to, &bytes.bytes, pause).await,
        };
        if bytes.ends && written.is_ok() {
            let _ = to.shutdown().await;
        }
        // Dropped, it would say that no more comes.
        to
    });
    let reply = tokio::time::timeout(PATIENCE, answer(&mut from, sent.is_head)).await;
    writing.abort();
    reply.unwrap_or(Reply::Nothing)
}

async fn slowly(
    to: &mut tokio::net::tcp::OwnedWriteHalf,
    bytes: &[u8],
    pause: Duration,
) -> std::io::Result<()> {
    for byte in bytes {
        to.write_all(&[*byte]).await?;
        tokio::time::sleep(pause).await;
    }
    Ok(())
}

async fn answer(from: &mut tokio::net::tcp::OwnedReadHalf, is_head: bool) -> Reply {
    let mut bytes = Vec::new();
    loop {
        let mut piece = vec![0; 64 * 1024];
        let read = from.read(&mut piece).await.unwrap_or(0);
        bytes.extend_from_slice(&piece[..read]);
        match read_answer(&bytes, is_head, read == 0) {
            Some(reply) => return reply,
            None if read == 0 || bytes.len() > LONGEST => return Reply::Closed,
            None => {}
        }
    }
}

/// The answer that these bytes begin with, if it is whole.
fn read_answer(bytes: &[u8], is_head: bool, is_end: bool) -> Option<Reply> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    let status: u16 = head.split(' ').nth(1)?.parse().ok()?;
    if status < 200 {
        return read_answer(&bytes[end..], is_head, is_end);
    }
    let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let rest = &bytes[end..];
    let body = if is_head || status == 204 || status == 304 {
        Vec::new()
    } else if field("transfer-encoding:") == Some("chunked") {
        chunks(rest)?
    } else if let Some(length) = field("content-length:") {
        rest.get(..length.parse().ok()?)?.to_vec()
    } else if is_end {
        rest.to_vec()
    } else {
        return None;
    };
    Some(Reply::Answer { status, body })
}

fn chunks(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = rest.windows(2).position(|two| two == b"\r\n")?;
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..line]).ok()?, 16).ok()?;
        rest = &rest[line + 2..];
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(rest.get(..size)?);
        rest = rest.get(size + 2..)?;
    }
}
