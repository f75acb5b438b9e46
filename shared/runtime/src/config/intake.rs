//! Settings of what comes in, and of what is kept of it.

use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::time::Duration;

use pagurus_domain::document::Fault;
use pagurus_domain::id::{IntakeTransport, Vocabulary as _};
use pagurus_domain::quota::{QuotaLimits, QuotaRate};

use super::builder::SettingsBuilder;
use super::kind::Kind::*;
use super::section::{POSITIVE, Setting, rows, section, without_slash};

section! {
    /// `intake`
    #[derive(Clone, Debug)]
    pub struct IntakeSettings;

    transport: IntakeTransport = ("intake.transport", Choice(IntakeTransport::WORDS), "both", Restart, "Transports by which this intake takes orders, callbacks and commands. `http` takes nothing from the broker; `amqp` answers probes only, and serves no API. An installation needs at least one intake of each.");
    batch: usize = ("intake.batch", POSITIVE, "1000", Live, "Orders that are registered in one transaction at most.");
    max_body_bytes: usize = ("intake.max_body_bytes", Bytes, "1MiB", Live, "Longest body of one order.");
    max_batch_body_bytes: usize = ("intake.max_batch_body_bytes", Bytes, "16MiB", Live, "Longest body of a batch of orders.");
    max_batch_orders: usize = ("intake.max_batch_orders", POSITIVE, "10000", Live, "Orders in one batch at most.");
    max_bodies_bytes: usize = ("intake.max_bodies_bytes", Bytes, "64MiB", Restart, "Bodies longer than 64 KiB that are in progress at a time, in all; what is read from them may take twice as much memory. A request that finds no room within five seconds is answered with 429.");
    max_streams: usize = ("intake.max_streams", Count { least: 0, most: 100_000 }, "200", Live, "Clients that follow the stream of orders' news at one intake at a time; where all places are taken, a silent one makes room for one of another address, or the next one is answered with 429.");
    client_share_percentage: usize = ("intake.client_share_percentage", Count { least: 1, most: 100 }, "50", Restart, "Part of `node.max_connections`, and of `intake.max_streams`, that one client may have at a time: an address, of IPv6 a network of 64 bits. Where all clients come through one gateway, they have its address: set `100` there.");
    hosts: Vec<String> = ("intake.hosts", Hosts, "[]", Live, "Names by which clients call the API, besides IP addresses, `localhost`, and the hosts of `node.advertise`, `intake.public_url` and `access.url`; `*.example` is every name below one, and `*` every name. A request to another host is answered with 421: so a page whose name leads to this node cannot act on it by a browser.");
    listen_clients: Option<SocketAddr> = ("intake.listen_clients", OptionalAddress, "~", Restart, "A further address, at which only what senders of orders need is served; left out: none. The whole API is at `node.listen`.");
    listen_systems: Option<SocketAddr> = ("intake.listen_systems", OptionalAddress, "~", Restart, "A further address, at which only answers and signs of life of called systems and actors are taken, so that it may be reached from anywhere; left out: none.");
    public_confirmed: bool = ("intake.public_confirmed", Flag, "false", Restart, "Confirms that the API may be reached without login from beyond this host.");
    public_url: Option<String> = without_slash("intake.public_url", OptionalText, "~", Live, "Base of the callback URLs that called systems get; left out: `http://` and the address of an intake that lives when a worker starts.");
    straight_to_queue: bool = ("intake.straight_to_queue", Flag, "false", Live, "Whether messages that are sent straight to the queue of orders, past the exchange, are taken; anyone who may write to `amq.default` may then do what clients may.");

    /// `intake.limits`
    with limits: QuotaLimits = client_limits;
}

/// Keys of the limits of each client.
pub(super) const LIMITS: &[Setting] = rows! {
    ("intake.limits.requests_per_second", Count { least: 0, most: 1_000_000 }, "0", Live, "Requests a second of one client of the API at one intake, beyond a burst; 0 is no limit. A client is an address, of IPv6 a network of 64 bits. Callbacks are not counted, nor probes. Beyond its limits a client is answered with 429.");
    ("intake.limits.burst", Count { least: 0, most: 1_000_000 }, "0", Live, "Requests that a client may send at once after it has sent none for a while; 0 is as many as `intake.limits.requests_per_second` has.");
    ("intake.limits.open_requests", Count { least: 0, most: 1_000_000 }, "0", Live, "Requests of one client in progress at a time, long polls and event streams among them; 0 is no limit.");
    ("intake.limits.bytes_per_second", BytesOrZero, "0", Live, "Bytes of the bodies that one client sends in a second, and at once after it has sent none for a while; 0 is no limit. A longer body is taken where the client has sent none for so long, and those after it wait for that.");
};

/// The limits of each client.
fn client_limits(builder: &mut SettingsBuilder) -> Result<QuotaLimits, Fault> {
    let number = |key: &str| Ok(NonZeroU64::new(builder.value(key)?));
    let rate = |per_second: Option<NonZeroU64>, burst: Option<NonZeroU64>| {
        per_second.map(|per_second| QuotaRate { per_second, burst: burst.unwrap_or(per_second) })
    };
    let requests = number("intake.limits.requests_per_second")?;
    Ok(QuotaLimits {
        requests: rate(requests, number("intake.limits.burst")?),
        bytes: rate(number("intake.limits.bytes_per_second")?, None),
        open: number("intake.limits.open_requests")?,
    })
}

section! {
    /// `callbacks`
    #[derive(Clone, Copy, Debug)]
    pub struct CallbackSettings;

    max_orphans: u32 = ("callbacks.orphans.max", Count { least: 0, most: 1_000_000 }, "10000", Live, "Callbacks for nobody that are kept at most, each with 16 KiB of its body; more are answered alike, counted, and not kept.");
    orphan_retention: Duration = ("callbacks.orphans.retention", Duration, "7d", Live, "How long a callback for nobody is kept.");
}

section! {
    /// `operations`, `audit`, `refused` and `stats`
    #[derive(Clone, Debug)]
    pub struct RecordSettings;

    operations_retention: Duration = ("operations.retention", Duration, "30d", Live, "How long bulk operations are kept after their end, with the outcome of each order.");
    audit_retention: Duration = ("audit.retention", Duration, "365d", Live, "How long it is kept who did what from outside; 30 days at least.");
    audit_syslog: Option<String> = ("audit.export.syslog", OptionalText, "~", Live, "Receiver of syslog that gets the audit log as it happens: `tcp://HOST:PORT`, `udp://HOST:PORT`, or `tls://HOST:PORT`, with `cacertfile`, `certfile` and `keyfile` as options.");
    audit_exchange: Option<String> = ("audit.export.exchange", OptionalText, "~", Live, "Exchange of the broker that gets the audit log as it happens, in place of `audit.export.syslog`. It belongs to others, who bind a queue to it.");
    audit_key: String = ("audit.export.key", Name, "audit", Live, "Routing key of the messages to `audit.export.exchange`.");
    refused_retention: Duration = ("refused.retention", Duration, "90d", Live, "How long a refused message is kept in the database that nobody has decided about.");
    refused_max_bytes: usize = ("refused.max_bytes", Bytes, "1GiB", Live, "Bytes of refused messages that are kept in the database; of more the oldest are removed, logged and counted.");
    stats_retention: Duration = ("stats.retention", Duration, "7d", Live, "How long the counts of each minute are kept, of which charts are drawn.");
}
