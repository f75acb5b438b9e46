//! A publisher that writes AMQP 0-9-1 byte for byte, for what no honest client library sends: text in
//! another encoding, headers nested without end. Never reads more than it needs to publish.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Longest wait for one answer of the broker.
const PATIENCE: Duration = Duration::from_secs(10);

const METHOD: u8 = 1;
const HEADER: u8 = 2;
const BODY: u8 = 3;
/// Payload of one body frame; the broker's frames are 128 KiB by default.
const FRAME: usize = 100_000;

/// Properties as bytes; none are left out, but a message is persistent where nothing else is said.
#[derive(Clone, Debug, Default)]
pub struct RawProperties {
    /// MIME type.
    pub content_type: Option<Vec<u8>>,
    /// Encoding.
    pub content_encoding: Option<Vec<u8>>,
    /// The entries of the table of headers, encoded.
    pub headers: Option<Vec<u8>>,
    /// Correlation id.
    pub correlation_id: Option<Vec<u8>>,
    /// Queue for the answer.
    pub reply_to: Option<Vec<u8>>,
    /// Identity of the message.
    pub message_id: Option<Vec<u8>>,
    /// Seconds since 1970, or whatever.
    pub timestamp: Option<u64>,
    /// Kind of the message.
    pub kind: Option<Vec<u8>>,
    /// Program that sent it.
    pub app_id: Option<Vec<u8>>,
    /// Delivery mode; left out: 2.
    pub delivery_mode: Option<u8>,
    /// Priority.
    pub priority: Option<u8>,
    /// Milliseconds until it expires, as text.
    pub expiration: Option<Vec<u8>>,
    /// User of the broker that sent it.
    pub user_id: Option<Vec<u8>>,
    /// Cluster, as AMQP 0-8 had it.
    pub cluster_id: Option<Vec<u8>>,
}

impl RawProperties {
    fn encode(&self) -> Vec<u8> {
        let (mut flags, mut bytes) = (0_u16, Vec::new());
        let mut put = |bit: u16, encoded: Option<Vec<u8>>| {
            if let Some(encoded) = encoded {
                flags |= 1 << bit;
                bytes.extend(encoded);
            }
        };
        let text = |text: &Option<Vec<u8>>| text.as_deref().map(short);
        put(15, text(&self.content_type));
        put(14, text(&self.content_encoding));
        put(13, self.headers.as_deref().map(long));
        put(12, Some(vec![self.delivery_mode.unwrap_or(2)]));
        put(11, self.priority.map(|priority| vec![priority]));
        put(10, text(&self.correlation_id));
        put(9, text(&self.reply_to));
        put(8, text(&self.expiration));
        put(7, text(&self.message_id));
        put(6, self.timestamp.map(|seconds| seconds.to_be_bytes().to_vec()));
        put(5, text(&self.kind));
        put(4, text(&self.user_id));
        put(3, text(&self.app_id));
        put(2, text(&self.cluster_id));
        [&flags.to_be_bytes()[..], &bytes].concat()
    }
}

/// A short string: at most 255 bytes.
#[must_use]
pub fn short(text: &[u8]) -> Vec<u8> {
    let text = &text[..text.len().min(255)];
    [&[u8::try_from(text.len()).unwrap_or(u8::MAX)][..], text].concat()
}

/// Bytes with their number in 32 bits before them.
#[must_use]
pub fn long(bytes: &[u8]) -> Vec<u8> {
    [&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes()[..], bytes].concat()
}

/// The entries of a table of headers: names with encoded values.
#[must_use]
pub fn entries(entries: &[(&[u8], Vec<u8>)]) -> Vec<u8> {
    entries.iter().flat_map(|(name, value)| [short(name), value.clone()].concat()).collect()
}

/// A value that is a list in a list in a list.
#[must_use]
pub fn nested_lists(depth: usize) -> Vec<u8> {
    (0..depth).fold(vec![b'V'], |inner, _| [&b"A"[..], &long(&inner)].concat())
}

/// A connection with one channel in confirm mode.
#[derive(Debug)]
pub struct RawAmqp(TcpStream);

impl RawAmqp {
    /// Connects to `amqp://user:password@host:port/…` and opens the default virtual host.
    ///
    /// # Errors
    /// The broker cannot be reached, or speaks otherwise than it should.
    pub async fn connect(url: &str) -> Result<Self> {
        let rest = url.strip_prefix("amqp://").context("not an AMQP URL")?;
        let (login, place) = rest.split_once('@').unwrap_or(("guest:guest", rest));
        let address = place.split('/').next().unwrap_or_default();
        let (user, password) = login.split_once(':').context("no password in the URL")?;
        let mut raw = Self(TcpStream::connect(address).await?);
        raw.0.write_all(b"AMQP\x00\x00\x09\x01").await?;
        raw.expect(10, 10).await?;
        let response = format!("\0{user}\0{password}");
        let start_ok = [long(b""), short(b"PLAIN"), long(response.as_bytes()), short(b"en_US")].concat();
        raw.method(0, 10, 11, &start_ok).await?;
        let tune = raw.expect(10, 30).await?;
        // No heartbeats: such a connection does not live long.
        raw.method(0, 10, 31, &[&tune[..6], &[0, 0]].concat()).await?;
        raw.method(0, 10, 40, &[short(b"/"), short(b""), vec![0]].concat()).await?;
        raw.expect(10, 41).await?;
        raw.method(1, 20, 10, &short(b"")).await?;
        raw.expect(20, 11).await?;
        raw.method(1, 85, 10, &[0]).await?;
        raw.expect(85, 11).await?;
        Ok(raw)
    }

    /// Publishes one message and waits until the broker has it.
    ///
    /// # Errors
    /// The broker refused it, and with it the channel or the connection.
    pub async fn publish(
        &mut self,
        exchange: &str,
        key: &[u8],
        properties: &RawProperties,
        body: &[u8],
    ) -> Result<()> {
        let publish = [vec![0, 0], short(exchange.as_bytes()), short(key), vec![0]].concat();
        self.method(1, 60, 40, &publish).await?;
        let size = u64::try_from(body.len())?.to_be_bytes();
        let header = [&[0, 60, 0, 0][..], &size, &properties.encode()].concat();
        self.frame(HEADER, 1, &header).await?;
        for part in body.chunks(FRAME) {
            self.frame(BODY, 1, part).await?;
        }
        self.expect(60, 80).await.map(drop)
    }

    async fn method(&mut self, channel: u16, class: u16, method: u16, fields: &[u8]) -> Result<()> {
        let payload = [&class.to_be_bytes()[..], &method.to_be_bytes(), fields].concat();
        self.frame(METHOD, channel, &payload).await
    }

    async fn frame(&mut self, kind: u8, channel: u16, payload: &[u8]) -> Result<()> {
        let frame = [&[kind][..], &channel.to_be_bytes(), &long(payload), &[0xce]].concat();
        Ok(self.0.write_all(&frame).await?)
    }

    /// The fields of the next method, which must be this one.
    async fn expect(&mut self, class: u16, method: u16) -> Result<Vec<u8>> {
        let payload = tokio::time::timeout(PATIENCE, self.next_method()).await.context("no answer")??;
        let wanted = [class.to_be_bytes(), method.to_be_bytes()].concat();
        if payload.get(..4) != Some(&wanted) {
            bail!("the broker said {:?} instead of {class}.{method}", String::from_utf8_lossy(&payload));
        }
        Ok(payload[4..].to_vec())
    }

    async fn next_method(&mut self) -> Result<Vec<u8>> {
        loop {
            let mut head = [0; 7];
            self.0.read_exact(&mut head).await?;
            let size = u32::from_be_bytes([head[3], head[4], head[5], head[6]]);
            let mut rest = vec![0; usize::try_from(size)? + 1];
            self.0.read_exact(&mut rest).await?;
            rest.pop();
            if head[0] == METHOD {
                return Ok(rest);
            }
        }
    }
}
