//! `pagurus dev`: all five services in one process, for development.
//!
//! As `pagurus serve` runs them, at a port that is found. Which servers they look for is said first.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use futures_util::future::join_all;
use pagurus_domain::id::Role;
use pagurus_runtime::address::NeededServer;
use pagurus_runtime::config::LiveSettings;
use pagurus_runtime::{live_settings, start_logging};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::client::ApiClient;
use crate::failure::CliError;
use crate::scenario::watch;
use crate::screen::Screen;
use crate::serve::{self, reachable};

/// Port at which the other commands look for the API.
const USUAL_PORT: u16 = 8080;
/// Longest time for a server to let us connect before it is said to be away.
const PATIENCE: Duration = Duration::from_secs(2);

/// Runs until a signal, or the failure of a service.
pub(crate) async fn run(
    config: Option<&Path>,
    listen: Option<SocketAddr>,
    scenarios: Option<PathBuf>,
    screen: &Screen,
) -> Result<(), CliError> {
    let settings = live_settings(config)?;
    start_logging(&settings.now().log).context("log.orders_file")?;
    let listen = known_address(listen.unwrap_or(settings.now().node.listen))?;
    let settings = of_one_process(settings, listen);
    screen.note(&format!(
        "the API is at http://{} (PAGURUS_SERVER, --server); Ctrl-C stops it",
        reachable(listen)
    ));
    let now = settings.now();
    for line in look(&NeededServer::of(&now.database.url, &now.broker.url)).await {
        screen.note(&line);
    }

    let free = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let addresses = Role::ALL.iter().map(|role| (*role, if *role == Role::Intake { listen } else { free }));
    let services = serve::together(&settings, addresses.collect());
    let Some(folder) = scenarios else { return Ok(services.await?) };
    let scheme = now.node.scheme();
    let client = ApiClient::new(&format!("{scheme}://{}", reachable(listen)))?;
    let written = watch::Arguments::of_folder(folder);
    // The services end with the signal, and the watch with them.
    tokio::select! {
        ended = services => Ok(ended?),
        ended = async {
            match watch::run(&written, &client, config, screen).await {
                Ok(()) => std::future::pending().await,
                failed => failed,
            }
        } => ended,
    }
}

/// Words about these servers: where each is looked for, and what to do where nobody answers.
async fn look(servers: &[NeededServer]) -> Vec<String> {
    let looks = servers.iter().map(|server| async move {
        let NeededServer { name, key, variable, address } = server;
        let (host, port) = address.as_ref()?;
        let connected = timeout(PATIENCE, TcpStream::connect((host.as_str(), *port))).await;
        Some(if matches!(connected, Ok(Ok(_))) {
            format!("{name} is at {host}:{port} (`{key}`)")
        } else {
            format!(
                "no {name} answers at {host}:{port} (`{key}`): start one there, or say where yours is by {variable}; \
                 the services wait for it"
            )
        })
    });
    join_all(looks).await.into_iter().flatten().collect()
}

/// The settings of all services, now and after each reload. Their names have the host and the process in them,
/// so that two installations on one database share the work and never displace each other.
fn of_one_process(settings: LiveSettings, listen: SocketAddr) -> LiveSettings {
    settings.adjusted(move |settings| {
        settings.node.name = None;
        settings.node.listen = listen;
        let scheme = settings.node.scheme();
        settings.intake.public_url.get_or_insert_with(|| format!("{scheme}://{}", reachable(listen)));
    })
}

/// The address with a port that is known before anything listens there, because callbacks name
/// it. Without a wish it is the port at which the other commands look, if that is free. A port that
/// is taken is reported here, before a service has registered or taken any work.
fn known_address(wanted: SocketAddr) -> anyhow::Result<SocketAddr> {
    if wanted.port() != 0 {
        TcpListener::bind(wanted).with_context(|| format!("node.listen: {wanted}"))?;
        return Ok(wanted);
    }
    let usual = SocketAddr::new(wanted.ip(), USUAL_PORT);
    if TcpListener::bind(usual).is_ok() {
        return Ok(usual);
    }
    let free = TcpListener::bind(wanted).and_then(|listener| listener.local_addr());
    free.with_context(|| format!("node.listen: {wanted}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_port_before_anything_listens() {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        assert_eq!(known_address(free).unwrap(), free);
        assert_ne!(known_address("127.0.0.1:0".parse().unwrap()).unwrap().port(), 0);
    }

    #[test]
    fn rec_7_an_address_that_is_taken_is_reported_before_anything_registers() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        let error = known_address(address).unwrap_err();
        assert!(format!("{error:#}").starts_with(&format!("node.listen: {address}: ")), "{error:#}");
    }

    #[test]
    fn rec_7_services_of_one_process_have_names_of_the_process_and_answers_come_to_its_address() {
        let named = [("PAGURUS__NODE__NAME".to_owned(), "shared".to_owned())];
        let settings = LiveSettings::load(None, named.into_iter()).unwrap();
        let settings = of_one_process(settings, "127.0.0.1:1234".parse().unwrap()).now();
        assert_eq!((settings.node.name.as_deref(), settings.node.listen.port()), (None, 1234));
        assert_eq!(settings.intake.public_url.as_deref(), Some("http://127.0.0.1:1234"));
    }

    #[tokio::test]
    async fn a_server_that_is_away_is_named_with_what_to_do() {
        let there = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = there.local_addr().unwrap().port();
        let away = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let named = [
            ("PAGURUS__DATABASE__URL", format!("postgres://u:hidden@127.0.0.1:{port}/pagurus")),
            ("PAGURUS__BROKER__URL", format!("amqp://u:hidden@127.0.0.1:{away}/%2f")),
        ];
        let named = named.into_iter().map(|(name, value)| (name.to_owned(), value));
        let settings = LiveSettings::load(None, named).unwrap();
        let now = settings.now();
        let said = look(&NeededServer::of(&now.database.url, &now.broker.url)).await;
        assert_eq!(said[0], format!("PostgreSQL is at 127.0.0.1:{port} (`database.url`)"));
        let away =
            format!("no RabbitMQ answers at 127.0.0.1:{away} (`broker.url`): start one there, or say where");
        assert!(said[1].starts_with(&away) && said[1].contains("PAGURUS__BROKER__URL"), "{said:?}");
        assert!(!said.concat().contains("hidden"), "{said:?}");
    }
}
