//! The address under which others reach a process. Where it listens on every address of its host, that
//! says nothing to anybody else.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::net::{UdpSocket, lookup_host};

use crate::host_name;

/// The address that the registry gets: `HOST:PORT`, or the base of a URL. The configuration may set it; else it
/// is the one on the way to the database.
pub(crate) async fn advertised(
    configured: Option<&str>,
    speaks_tls: bool,
    database: &str,
    listen: SocketAddr,
) -> String {
    if let Some(configured) = configured {
        return configured.trim_end_matches('/').to_owned();
    }
    let address = found(database, listen).await;
    if speaks_tls { format!("https://{address}") } else { address }
}

async fn found(database: &str, listen: SocketAddr) -> String {
    if !listen.ip().is_unspecified() {
        return listen.to_string();
    }
    let server = pagurus_store::server_of(database);
    match towards(server).await {
        Some(ip) => SocketAddr::new(ip, listen.port()).to_string(),
        None => format!("{}:{}", host_name(), listen.port()),
    }
}

/// A server that the services need, and how the configuration names it.
#[derive(Clone, Debug)]
pub struct NeededServer {
    /// Name of the server for people.
    pub name: &'static str,
    /// Key of the configuration.
    pub key: &'static str,
    /// Variable of the environment.
    pub variable: &'static str,
    /// Host and port, without user and password; none where it is not reached over TCP.
    pub address: Option<(String, u16)>,
}

impl NeededServer {
    /// The two that these addresses of the configuration name.
    #[must_use]
    pub fn of(database: &str, broker: &str) -> [Self; 2] {
        [
            Self {
                name: "PostgreSQL",
                key: "database.url",
                variable: "PAGURUS__DATABASE__URL",
                address: pagurus_store::server_of(database),
            },
            Self {
                name: "RabbitMQ",
                key: "broker.url",
                variable: "PAGURUS__BROKER__URL",
                address: pagurus_broker::server_of(broker),
            },
        ]
    }
}

/// The base of URLs at an address of the registry.
#[must_use]
pub fn base_of(address: &str) -> String {
    if is_url(address) { address.to_owned() } else { format!("http://{address}") }
}

/// True if a text can be such an address.
pub(crate) fn is_one(text: &str) -> bool {
    let host_and_port = text.rsplit_once(':').is_some_and(|(host, port)| {
        !host.is_empty() && !host.contains(['/', ' ']) && port.parse::<u16>().is_ok_and(|port| port > 0)
    });
    is_url(text) || host_and_port
}

fn is_url(text: &str) -> bool {
    text.starts_with("http://") || text.starts_with("https://")
}

/// Our own address on the way to a server; none where that is on this host.
async fn towards(server: Option<(String, u16)>) -> Option<IpAddr> {
    let server = lookup_host(server?).await.ok()?.next()?;
    let any: IpAddr =
        if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0)).await.ok()?;
    // Sends nothing: the system only chooses the way.
    socket.connect(server).await.ok()?;
    let ip = socket.local_addr().ok()?.ip();
    (!ip.is_loopback() && !ip.is_unspecified()).then_some(ip)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::config::load;

    async fn registered(listen: &str, advertise: Option<&str>) -> String {
        let variables = [("PAGURUS__NODE__LISTEN", Some(listen)), ("PAGURUS__NODE__ADVERTISE", advertise)];
        let variables = variables.into_iter().filter_map(|(name, value)| Some((name.into(), value?.into())));
        let settings = load(None, variables).unwrap();
        let (node, database) = (&settings.node, &settings.database.url);
        advertised(node.advertise.as_deref(), false, database, node.listen).await
    }

    #[tokio::test]
    async fn rec_7_a_node_registers_under_an_address_that_others_can_reach() {
        assert_eq!(registered("127.0.0.1:8080", None).await, "127.0.0.1:8080");
        assert_eq!(registered("10.1.2.3:8080", None).await, "10.1.2.3:8080");
        assert_eq!(registered("0.0.0.0:8080", Some("intake.example:80")).await, "intake.example:80");
        assert_eq!(registered("0.0.0.0:8080", Some("https://api.example/")).await, "https://api.example");
        // The database of the defaults is on this host: the way to it says nothing, the name does.
        for listen in ["0.0.0.0:8080", "[::]:8080"] {
            assert_eq!(registered(listen, None).await, format!("{}:8080", host_name()));
        }
        assert_eq!(base_of("a:1"), "http://a:1");
        assert_eq!(base_of("https://api.example"), "https://api.example");
    }

    #[test]
    fn rec_7_an_address_has_a_port_or_is_a_url() {
        for good in ["a:1", "10.0.0.1:80", "[::1]:80", "http://a", "https://a/b"] {
            assert!(is_one(good), "{good}");
        }
        for bad in ["a", ":80", "a:0", "a:b", "a b:1", "ftp://a:1", "a:70000"] {
            assert!(!is_one(bad), "{bad}");
        }
    }
}
