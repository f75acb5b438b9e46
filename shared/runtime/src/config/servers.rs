//! Settings of a node and of the servers that it uses.

use std::net::SocketAddr;
use std::time::Duration;

use pagurus_tls::{CertificateFiles, ServerTls};

use super::kind::Kind::{self, *};
use super::section::section;

/// Connections of one process; Postgres allows 100 in all by default.
const CONNECTIONS: Kind = Count { least: 1, most: 1000 };

section! {
    /// `node`
    #[derive(Clone, Debug)]
    pub struct NodeSettings;

    name: Option<String> = ("node.name", OptionalText, "~", Restart, "Name of the node in the registry and in logs, of one process a role: one that starts under a name takes the work of the one before it, which ends. Left out: `<role>-<host>-<pid>`.");
    listen: SocketAddr = ("node.listen", Address, "127.0.0.1:0", Restart, "Address of health, readiness and metrics, and of the API on intake; port 0 takes a free one.");
    certificate: Option<String> = ("node.certificate", OptionalText, "~", Restart, "File of the certificate by which the HTTP server speaks TLS, in PEM; left out, it speaks none. A file that changes is read again within a second.");
    key: Option<String> = ("node.key", OptionalText, "~", Restart, "File of the private key of `node.certificate`, in PEM.");
    max_connections: usize = ("node.max_connections", Count { least: 16, most: 1_000_000 }, "4096", Restart, "Connections of HTTP clients at most; when there are more, the one that has asked nothing for the longest time is closed. A few more are kept for probes.");
    advertise: Option<String> = ("node.advertise", OptionalText, "~", Restart, "Where others reach the node: `HOST:PORT`, or the base of a URL. Left out: `node.listen`; where that is every address of the host, the one by which the host reaches Postgres, or its name.");
    heartbeat: Duration = ("node.heartbeat", Duration, "3s", Live, "How often a node reports that it lives.");
    lost_after: Duration = ("node.lost_after", Duration, "12s", Live, "A node that has been silent for so long is lost, and its work is taken over.");
}

impl NodeSettings {
    /// Files by which the HTTP server speaks TLS; `None` if it speaks none.
    #[must_use]
    pub fn tls(&self) -> Option<ServerTls> {
        let (certificate, key) = (self.certificate.as_ref()?, self.key.as_ref()?);
        Some(ServerTls(CertificateFiles { certificate: certificate.into(), key: key.into() }))
    }

    /// Scheme of the URLs of the HTTP server.
    #[must_use]
    pub const fn scheme(&self) -> &'static str {
        if self.certificate.is_some() { "https" } else { "http" }
    }
}

section! {
    /// `database`
    #[derive(Clone)]
    pub struct DatabaseSettings;

    url: String = ("database.url", Secret, "postgres://pagurus@127.0.0.1:5432/pagurus", Restart, "Where Postgres is. `?sslmode=verify-full`, with `sslrootcert`, `sslcert` and `sslkey` as libpq has them, asks for TLS.");
    work_connections: usize = ("database.work_connections", CONNECTIONS, "4", Restart, "Connections for the main work of a process.");
    api_connections: usize = ("database.api_connections", CONNECTIONS, "4", Restart, "Connections for the API, apart from the work so that neither starves the other.");
    report_connections: usize = ("database.report_connections", CONNECTIONS, "2", Restart, "Connections for reports, such as errors in groups: they only read.");
    operation_connections: usize = ("database.operation_connections", CONNECTIONS, "2", Restart, "Connections for what is done to many orders at once, so that it never takes those of recovery.");
    connect_timeout: Duration = ("database.connect_timeout", Duration, "5s", Restart, "Limit for opening a connection.");
    statement_timeout: Duration = ("database.statement_timeout", Duration, "10s", Restart, "Limit for one statement.");
    report_timeout: Duration = ("database.report_timeout", Duration, "5s", Restart, "Limit for one statement of a report.");
    migrate: bool = ("database.migrate", Flag, "true", Restart, "Whether a process brings the schema up to date when it starts; one whose user may not do that ends where the schema is older.");
}

section! {
    /// `broker`
    #[derive(Clone)]
    pub struct BrokerSettings;

    url: String = ("broker.url", Secret, "amqp://127.0.0.1:5672/%2f", Restart, "Where RabbitMQ is, with the virtual host. `amqps://`, with `cacertfile`, `certfile` and `keyfile` as options, asks for TLS.");
    prefix: String = ("broker.prefix", Name, "pagurus", Restart, "First part of the names of exchanges and queues, so that installations can share a broker.");
    confirm_timeout: Duration = ("broker.confirm_timeout", Duration, "10s", Restart, "How long the broker may take to confirm a message.");
    prefetch: u16 = ("broker.prefetch", Count { least: 1, most: 65_535 }, "200", Restart, "Messages that each consumer of intake may hold unacknowledged; times the longest message that the broker takes (`max_message_size`), this bounds their memory.");
}
