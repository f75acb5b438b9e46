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

    name: Option<String> = ("node.name", OptionalText, "~", Restart, "Name of the node in the registry and in logs, unique among the processes of its role: a process that starts under the same name takes over the work of the one before it, which ends. Default: `<role>-<host>-<pid>`.");
    listen: SocketAddr = ("node.listen", Address, "127.0.0.1:0", Restart, "Address for health, readiness and metrics, and on an intake for the API; port 0 takes a free port.");
    certificate: Option<String> = ("node.certificate", OptionalText, "~", Restart, "File with the certificate of the HTTP server, in PEM; without it, the server does not use TLS. A changed file is read again within a second.");
    key: Option<String> = ("node.key", OptionalText, "~", Restart, "File with the private key of `node.certificate`, in PEM.");
    max_connections: usize = ("node.max_connections", Count { least: 16, most: 1_000_000 }, "4096", Restart, "Most connections of HTTP clients; beyond it, the connection that has been idle longest is closed. A few more are reserved for probes.");
    advertise: Option<String> = ("node.advertise", OptionalText, "~", Restart, "Where others reach the node: `HOST:PORT`, or the base of a URL. Default: `node.listen`; if that covers all addresses of the host, the address from which the host reaches PostgreSQL, or its name.");
    heartbeat: Duration = ("node.heartbeat", Duration, "3s", Live, "How often a node reports that it lives.");
    lost_after: Duration = ("node.lost_after", Duration, "12s", Live, "A node that has been silent for this long is lost, and its work is taken over.");
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

    url: String = ("database.url", SecretUrl, "postgres://pagurus@127.0.0.1:5432/pagurus", Restart, "URL of PostgreSQL. `?sslmode=verify-full`, with `sslrootcert`, `sslcert` and `sslkey` as in libpq, turns on TLS.");
    work_connections: usize = ("database.work_connections", CONNECTIONS, "4", Restart, "Connections for the main work of a process.");
    api_connections: usize = ("database.api_connections", CONNECTIONS, "4", Restart, "Connections for the API, apart from the work so that neither starves the other.");
    report_connections: usize = ("database.report_connections", CONNECTIONS, "2", Restart, "Connections for reports, such as errors in groups, which only read.");
    operation_connections: usize = ("database.operation_connections", CONNECTIONS, "2", Restart, "Connections for bulk operations, so that they never use those for recovery.");
    connect_timeout: Duration = ("database.connect_timeout", Duration, "5s", Restart, "Longest time to open a connection.");
    statement_timeout: Duration = ("database.statement_timeout", Duration, "10s", Restart, "Longest time for one statement.");
    report_timeout: Duration = ("database.report_timeout", Duration, "5s", Restart, "Longest time for one statement of a report.");
    migrate: bool = ("database.migrate", Flag, "true", Restart, "Whether a process brings the schema up to date when it starts; if its user may not do that, it ends when the schema is too old.");
}

section! {
    /// `broker`
    #[derive(Clone)]
    pub struct BrokerSettings;

    url: String = ("broker.url", SecretUrl, "amqp://127.0.0.1:5672/%2f", Restart, "URL of RabbitMQ, with the virtual host. `amqps://`, with `cacertfile`, `certfile` and `keyfile` as options, turns on TLS.");
    prefix: String = ("broker.prefix", Name, "pagurus", Restart, "Prefix of the names of exchanges and queues, so that several installations can share a broker.");
    confirm_timeout: Duration = ("broker.confirm_timeout", Duration, "10s", Restart, "How long the broker may take to confirm a message.");
    prefetch: u16 = ("broker.prefetch", Count { least: 1, most: 65_535 }, "200", Restart, "Messages that each consumer of an intake may hold unacknowledged; multiplied by the longest message that the broker accepts (`max_message_size`), this bounds their memory.");
}
