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

    transport: IntakeTransport = ("intake.transport", Choice(IntakeTransport::WORDS), "both", Restart, "Transports by which this intake takes orders, callbacks and commands. With `http`, it takes nothing from the broker; with `amqp`, it answers only probes and serves no API. An installation needs at least one intake for each transport.");
    batch: usize = ("intake.batch", POSITIVE, "1000", Live, "Most orders that are registered in one transaction.");
    max_body_bytes: usize = ("intake.max_body_bytes", Bytes, "1MiB", Live, "Longest body of one order, and of a message over AMQP.");
    max_batch_body_bytes: usize = ("intake.max_batch_body_bytes", Bytes, "16MiB", Live, "Longest body of a batch of orders.");
    max_batch_orders: usize = ("intake.max_batch_orders", POSITIVE, "10000", Live, "Most orders in one batch, or in one message over AMQP.");
    max_bodies_bytes: usize = ("intake.max_bodies_bytes", Bytes, "64MiB", Restart, "Total size of bodies longer than 64 KiB that are in progress at a time; what is read from them may take twice as much memory. A request that finds no room within five seconds is answered with 429.");
    max_streams: usize = ("intake.max_streams", Count { least: 0, most: 100_000 }, "200", Live, "Most clients that follow the event stream of one intake; if all places are taken, a silent client makes room for one from another address, or the next one is answered with 429.");
    client_share_percentage: usize = ("intake.client_share_percentage", Count { least: 1, most: 100 }, "50", Restart, "Percentage of `node.max_connections`, and of `intake.max_streams`, that one client may use at a time. A client is an IP address, or an IPv6 network of 64 bits. If all clients come through one gateway, they share its address: set `100`.");
    hosts: Vec<String> = ("intake.hosts", Hosts, "[]", Live, "Host names by which clients call the API, besides IP addresses, `localhost`, and the hosts in `node.advertise`, `intake.public_url` and `access.url`; `*.example` stands for every name below it, `*` for every name. A request to another host is answered with 421, so that a page whose host name points to this node cannot act on it through a browser.");
    listen_clients: Option<SocketAddr> = ("intake.listen_clients", OptionalAddress, "~", Restart, "Additional address that serves only what senders of orders need; default: none. The whole API is at `node.listen`.");
    listen_systems: Option<SocketAddr> = ("intake.listen_systems", OptionalAddress, "~", Restart, "Additional address that accepts only answers and heartbeats of called systems and actors, so that it can be open to the internet; default: none.");
    public_confirmed: bool = ("intake.public_confirmed", Flag, "false", Restart, "Confirms that the API may be reached from other hosts without a login.");
    public_url: Option<String> = without_slash("intake.public_url", OptionalText, "~", Live, "Base of the callback URLs for called systems; default: `http://` and the address of an intake that is alive when a worker starts.");
    straight_to_queue: bool = ("intake.straight_to_queue", Flag, "false", Live, "Whether to accept messages that are sent directly to the queue of orders, bypassing the exchange; then anyone who may write to `amq.default` may do what clients may.");

    /// `intake.limits`
    with limits: QuotaLimits = client_limits;
}

/// Keys of the limits of each client.
pub(super) const LIMITS: &[Setting] = rows! {
    ("intake.limits.requests_per_second", Count { least: 0, most: 1_000_000 }, "0", Live, "Requests per second of one client of the API at one intake, beyond a burst; 0 means no limit. A client is an IP address, or an IPv6 network of 64 bits. Callbacks and probes are not counted. Beyond its limits, a client is answered with 429.");
    ("intake.limits.burst", Count { least: 0, most: 1_000_000 }, "0", Live, "Requests that a client may send at once after it has sent none for a while; 0 means as many as `intake.limits.requests_per_second`.");
    ("intake.limits.open_requests", Count { least: 0, most: 1_000_000 }, "0", Live, "Most requests of one client in progress at a time, including long polls and event streams; 0 means no limit.");
    ("intake.limits.bytes_per_second", BytesOrZero, "0", Live, "Bytes of request bodies that one client may send per second, and at once after it has sent none for a while; 0 means no limit. A longer body is accepted if the client has been silent long enough, and the next ones wait for it.");
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

    max_orphans: u32 = ("callbacks.orphans.max", Count { least: 0, most: 1_000_000 }, "10000", Live, "Most callbacks without a matching request that are kept, each with 16 KiB of its body; further ones are answered and counted, but not kept.");
    orphan_retention: Duration = ("callbacks.orphans.retention", Duration, "7d", Live, "How long a callback without a matching request is kept.");
}

section! {
    /// `operations`, `audit`, `refused` and `stats`
    #[derive(Clone, Debug)]
    pub struct RecordSettings;

    operations_retention: Duration = ("operations.retention", Duration, "30d", Live, "How long bulk operations are kept after their end, with the outcome of each order.");
    audit_retention: Duration = ("audit.retention", Duration, "365d", Live, "How long the audit log is kept; at least 30 days.");
    audit_syslog: Option<String> = ("audit.export.syslog", OptionalText, "~", Live, "Syslog receiver that gets the audit log as it happens: `tcp://HOST:PORT`, `udp://HOST:PORT`, or `tls://HOST:PORT`, with `cacertfile`, `certfile` and `keyfile` as options.");
    audit_exchange: Option<String> = ("audit.export.exchange", OptionalText, "~", Live, "Exchange of the broker that gets the audit log as it happens, instead of `audit.export.syslog`. It belongs to others, who bind a queue to it.");
    audit_key: String = ("audit.export.key", Name, "audit", Live, "Routing key of the messages to `audit.export.exchange`.");
    refused_retention: Duration = ("refused.retention", Duration, "90d", Live, "How long a refused message without a decision is kept in the database.");
    refused_max_bytes: usize = ("refused.max_bytes", Bytes, "1GiB", Live, "Most bytes of refused messages in the database; beyond it, the oldest are removed, logged and counted.");
    stats_retention: Duration = ("stats.retention", Duration, "7d", Live, "How long the counts of each minute, which charts show and replays play, are kept.");
}
