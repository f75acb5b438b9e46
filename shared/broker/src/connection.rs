//! A connection that comes back for ever, except to another virtual host.
//!
//! A supervisor task owns the connection as a *generation*: on any error it drops the whole
//! generation, waits, connects, declares the topology, and offers the next one. lapin's own
//! recovery stays off, because it does not bring a channel back and gives up after some attempts.
//! Nothing here publishes or consumes.

use std::{fmt, io, sync::Arc, time::Duration};

use async_rs::TokioRuntime;
use futures_util::StreamExt;
use lapin::{
    Connection, ConnectionProperties, Event,
    tcp::{AMQPUriTcpExt, AsyncTcpStream, RustlsConnector, TLSConfig},
    types::LongString,
    uri::{AMQPScheme, AMQPUri},
};
use pagurus_domain::id::Role;
use pagurus_tls::{ReloadingTls, explained};
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, MissedTickBehavior, interval, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::{
    LinkState,
    error::Error,
    message::short,
    reconnect::Delays,
    socket::{Legible, Socket, Sockets, Transport},
    topology::{self, Names},
};

/// Twice this long without a sign of life ends a connection; the broker's own 60 s are too slow to
/// notice a silent network.
pub(crate) const HEARTBEAT_SECONDS: u16 = 10;
/// Longest frame, as the broker itself has it by default. Said from the start: a connection whose frames grow while it is made
/// writes eight megabytes of zeros that an idle one never uses.
pub(crate) const FRAME_BYTES: u32 = 128 * 1024;
/// A connection that lived this long starts the next series of attempts from the shortest delay.
const STABLE: Duration = Duration::from_secs(10);
/// lapin reports the end of a connection as an event; looking at the state as well costs nothing
/// and does not depend on it.
const LOOK: Duration = Duration::from_secs(1);
/// Longest time for an orderly good-bye.
const CLOSE: Duration = Duration::from_secs(2);

/// Everything that a supervisor needs to connect.
pub(crate) struct ConnectionSettings {
    pub(crate) uri: AMQPUri,
    /// Set where the address asks for TLS.
    pub(crate) tls: Option<Arc<ReloadingTls>>,
    pub(crate) names: Names,
    pub(crate) service: Role,
    pub(crate) connection_name: String,
    pub(crate) connect_timeout: Duration,
}

/// Publishing and consuming have a connection each: under a memory alarm the broker stops reading
/// from connections that publish, and acknowledgements on them would stop as well.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    Publish,
    Consume,
    /// To publish into another virtual host, where nothing of the engine is. One life, and no attempt but the first.
    Foreign,
}

impl fmt::Display for Purpose {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Publish => "publish",
            Self::Consume => "consume",
            Self::Foreign => "other virtual host",
        })
    }
}

/// A life of the connection.
pub(crate) struct Generation {
    pub(crate) number: u64,
    pub(crate) connection: Connection,
    _socket: Arc<Socket>,
}

#[derive(Clone)]
struct View {
    state: LinkState,
    generation: Option<Arc<Generation>>,
    /// Why there will be no further generation.
    ended: Option<Error>,
}

impl View {
    fn new(state: LinkState, generation: Option<Arc<Generation>>) -> Self {
        Self { state, generation, ended: None }
    }
}

/// The others' handle on a supervised connection.
#[derive(Clone)]
pub(crate) struct Link {
    view: watch::Receiver<View>,
}

impl Link {
    /// Starts the supervisor; returns at once, with or without a broker.
    pub(crate) fn start(
        settings: Arc<ConnectionSettings>,
        purpose: Purpose,
        stop: CancellationToken,
    ) -> (Self, JoinHandle<()>) {
        let (sender, view) = watch::channel(View::new(LinkState::Down("not connected yet".to_owned()), None));
        let supervisor = Supervisor { settings, purpose, sender, stop };
        (Self { view }, tokio::spawn(supervisor.run()))
    }

    pub(crate) fn state(&self) -> LinkState {
        self.view.borrow().state.clone()
    }

    /// True while there is no connection.
    pub(crate) fn is_down(&self) -> bool {
        matches!(self.view.borrow().state, LinkState::Down(_))
    }

    /// The present generation, if there is one and it takes messages.
    pub(crate) fn usable(&self) -> Result<Arc<Generation>, Error> {
        let view = self.view.borrow();
        if let Some(error) = &view.ended {
            return Err(error.clone());
        }
        match (&view.state, &view.generation) {
            (LinkState::Up, Some(generation)) => Ok(Arc::clone(generation)),
            (LinkState::Blocked(reason), _) => Err(Error::Blocked(reason.clone())),
            (LinkState::Down(reason), _) => Err(Error::Down(reason.clone())),
            (LinkState::Up, None) => Err(Error::Down("not connected yet".to_owned())),
        }
    }

    /// The same, after waiting for it for at most `patience`.
    pub(crate) async fn usable_within(&self, patience: Duration) -> Result<Arc<Generation>, Error> {
        let mut view = self.view.clone();
        let up = view.wait_for(|view| view.state == LinkState::Up || view.ended.is_some());
        // The answer after the wait says why it was in vain.
        let _ = timeout(patience, up).await;
        self.usable()
    }

    /// Waits for a connection as long as it takes. Ends with an error only when the broker handle
    /// is closed.
    pub(crate) async fn connected(&self) -> Result<Arc<Generation>, Error> {
        let mut view = self.view.clone();
        let closed = |_| Error::Down("closed".to_owned());
        let view = view.wait_for(|view| view.generation.is_some()).await.map_err(closed)?;
        let generation = view.generation.as_ref().map(Arc::clone);
        generation.ok_or_else(|| Error::Down("closed".to_owned()))
    }

    /// Waits until this generation is over. lapin can forget an operation that begins in the moment
    /// in which its connection fails, so callers that await one await this as well.
    pub(crate) async fn lost(&self, number: u64) {
        let mut view = self.view.clone();
        let over = |view: &View| view.generation.as_ref().map(|present| present.number) != Some(number);
        // Without a supervisor there is no generation either.
        let _ = view.wait_for(over).await;
    }
}

struct Supervisor {
    settings: Arc<ConnectionSettings>,
    purpose: Purpose,
    sender: watch::Sender<View>,
    stop: CancellationToken,
}

impl Supervisor {
    async fn run(self) {
        let mut delays = Delays::new();
        let mut number = 0;
        while !self.stop.is_cancelled() {
            number += 1;
            let opened = tokio::select! {
                () = self.stop.cancelled() => break,
                opened = self.open(number) => opened,
            };
            let error = match opened {
                Ok(generation) => {
                    let since = Instant::now();
                    let failures = delays.failures();
                    tracing::info!(connection = %self.purpose, failures, "connected to the message broker");
                    let reason = self.watch(Arc::new(generation)).await;
                    if since.elapsed() >= STABLE {
                        delays.reset();
                    }
                    Error::Down(reason)
                }
                Err(error) => error,
            };
            if matches!(self.purpose, Purpose::Foreign) {
                return self.end(error);
            }
            let reason = match error {
                Error::Down(reason) => reason,
                error => error.to_string(),
            };
            self.offer(LinkState::Down(reason.clone()), None);
            if self.stop.is_cancelled() {
                break;
            }
            let delay = delays.next();
            if delays.worth_logging() {
                let failures = delays.failures();
                tracing::warn!(connection = %self.purpose, failures, ?delay, %reason,
                    "no connection to the message broker; trying on");
            }
            tokio::select! {
                () = self.stop.cancelled() => break,
                () = tokio::time::sleep(delay) => {}
            }
        }
        self.offer(LinkState::Down("closed".to_owned()), None);
    }

    fn offer(&self, state: LinkState, generation: Option<Arc<Generation>>) {
        self.sender.send_replace(View::new(state, generation));
    }

    /// Gives up: the next publisher to another virtual host opens a connection of its own, since nobody may ever do so again.
    fn end(&self, error: Error) {
        tracing::debug!(connection = %self.purpose, %error, "no connection to the message broker");
        let state = LinkState::Down(error.to_string());
        self.sender.send_replace(View { ended: Some(error), ..View::new(state, None) });
    }

    /// Connects and declares, within the time-out: lapin has none for the AMQP handshake.
    async fn open(&self, number: u64) -> Result<Generation, Error> {
        let socket = Arc::new(Socket::default());
        let attempt = async {
            let connection = self.connect(&socket).await?;
            if !matches!(self.purpose, Purpose::Foreign) {
                topology::prepare(&connection, &self.settings.names, self.settings.service).await?;
            }
            Ok::<_, Error>(connection)
        };
        let limit = self.settings.connect_timeout;
        let connection = timeout(limit, attempt).await.map_err(|_| Error::TimedOut(limit))??;
        Ok(Generation { number, connection, _socket: socket })
    }

    async fn connect(&self, socket: &Arc<Socket>) -> Result<Connection, Error> {
        let name = format!("{} ({})", self.settings.connection_name, self.purpose);
        let properties = ConnectionProperties::default().with_connection_name(LongString::from(name));
        // lapin keeps the closure as long as its thread runs, which must not keep the socket open.
        let socket = Arc::downgrade(socket);
        let tls = self.settings.tls.clone();
        let tokio = TokioRuntime::tokio_current();
        let connection = Connection::connector(
            self.settings.uri.clone(),
            Sockets::runtime(),
            async move |uri, _| {
                let host = uri.authority.host.clone();
                let plain = AMQPUri { scheme: AMQPScheme::AMQP, ..uri };
                let mut stream: Transport =
                    plain.connect_with_config_async(TLSConfig::default(), &tokio).await?;
                if let Transport::Plain(plain) = &stream {
                    let socket = socket.upgrade().ok_or(io::ErrorKind::TimedOut);
                    socket.map_err(io::Error::from)?.hold(plain.get_ref())?;
                }
                if let Some(tls) = &tls {
                    let connector = RustlsConnector::from(tls.config().map_err(io::Error::other)?);
                    let secured = stream.into_rustls(&connector, &host).await;
                    stream = secured.map_err(|error| explained(&error).map_or(error, io::Error::other))?;
                }
                // Above TLS, where there are frames to be seen.
                Ok(AsyncTcpStream::Plain(Legible::new(stream)))
            },
            properties,
        );
        // With TLS 1.3 a server refuses a certificate only after the handshake.
        connection.await.map_err(|error| explained(&error).map_or_else(|| error.into(), Error::Down))
    }

    /// Offers the generation and returns why it ended.
    async fn watch(&self, generation: Arc<Generation>) -> String {
        let connection = &generation.connection;
        let mut events = Box::pin(connection.events_listener());
        self.offer(LinkState::Up, Some(Arc::clone(&generation)));
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut last_error = None;
        loop {
            let event = tokio::select! {
                () = self.stop.cancelled() => {
                    let goodbye = async { connection.close(200, short("text", "OK")?).await.map_err(Error::from) };
                    if let Ok(Err(error)) = timeout(CLOSE, goodbye).await {
                        tracing::debug!(connection = %self.purpose, %error, "the connection did not close in order");
                    }
                    return "closed".to_owned();
                }
                event = events.next() => event,
                _ = look.tick() => None,
            };
            match event {
                Some(Event::ConnectionBlocked(reason)) => {
                    tracing::warn!(connection = %self.purpose, %reason, "blocked by the message broker");
                    self.offer(LinkState::Blocked(reason), Some(Arc::clone(&generation)));
                }
                Some(Event::ConnectionUnblocked) => {
                    tracing::info!(connection = %self.purpose, "no longer blocked by the message broker");
                    self.offer(LinkState::Up, Some(Arc::clone(&generation)));
                }
                Some(Event::Error(error)) => last_error = Some(error.to_string()),
                _ => {}
            }
            if !connection.status().connected() {
                return last_error.unwrap_or_else(|| "the connection ended".to_owned());
            }
        }
    }
}
