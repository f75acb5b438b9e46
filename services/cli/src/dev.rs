//! `pagurus dev`: all five services in one process, for development.
//!
//! The same services as everywhere, each with its own door, node and connections: only the
//! process is shared. Whatever one of them ends by ends all.

use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use pagurus_domain::id::Role;
use pagurus_runtime::config::Settings;
use pagurus_runtime::{Arguments, Host, load_settings, serve, start_logging};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;
use crate::screen::Screen;

/// Where the other commands look for the API.
const USUAL_PORT: u16 = 8080;

type Services = JoinSet<(Role, anyhow::Result<()>)>;

/// Runs until a signal, or the failure of a service.
pub(crate) async fn run(
    config: Option<&Path>,
    listen: Option<SocketAddr>,
    screen: &Screen,
) -> Result<(), Failure> {
    let mut settings = load_settings(&Arguments { config: config.map(Path::to_owned) })?;
    start_logging(&settings.log);
    settings.node.listen = door(listen.unwrap_or(settings.node.listen))?;
    let address = reachable(settings.node.listen);
    settings.intake.public_url.get_or_insert_with(|| format!("http://{address}"));
    screen.note(&format!("the API is at http://{address} (PAGURUS_SERVER, --server); Ctrl-C ends"));

    let draining = CancellationToken::new();
    drain_on_signals(draining.clone()).context("signals")?;
    let mut services = Services::new();
    start(&mut services, Role::Intake, &settings, &draining, pagurus_intake::run);
    start(&mut services, Role::Dispatcher, &settings, &draining, pagurus_dispatcher::run);
    start(&mut services, Role::Activator, &settings, &draining, pagurus_activator::run);
    start(&mut services, Role::Worker, &settings, &draining, pagurus_worker::run);
    start(&mut services, Role::Notifier, &settings, &draining, pagurus_notifier::run);
    Ok(join(services, &draining).await?)
}

fn start<F, R>(services: &mut Services, role: Role, settings: &Settings, draining: &CancellationToken, run: F)
where
    F: Fn(Host) -> R + Send + Sync + 'static,
    R: Future<Output = anyhow::Result<()>> + Send + 'static,
{
    let settings = Arc::new(settings_of(role, settings));
    let draining = draining.clone();
    services.spawn(async move { (role, serve(role, settings, draining, run).await) });
}

/// The settings of one of the services: a name and a door of its own. The name has the host and the
/// process in it, so that two installations on one database share the work and never displace each other.
fn settings_of(role: Role, settings: &Settings) -> Settings {
    let mut settings = settings.clone();
    settings.node.name = None;
    if role != Role::Intake {
        settings.node.listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    }
    settings
}

/// Waits for all of them. The first that ends makes the others drain; the first failure is told.
async fn join(mut services: Services, draining: &CancellationToken) -> anyhow::Result<()> {
    let mut outcome = Ok(());
    while let Some(ended) = services.join_next().await {
        draining.cancel();
        let ended = match ended {
            Ok((role, ended)) => ended.with_context(|| role.to_string()),
            Err(panic) => Err(panic.into()),
        };
        outcome = outcome.and(ended);
    }
    outcome
}

/// The address with a port that is known before anything listens there, because callbacks name
/// it. Without a wish it is the port at which the other commands look, if that is free. A port that
/// is taken is told here, before a service has registered or taken any work.
fn door(wanted: SocketAddr) -> anyhow::Result<SocketAddr> {
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

/// Where programs of this host reach what listens there.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

/// The first SIGTERM or Ctrl-C begins the drain, the second ends the process at once.
fn drain_on_signals(draining: CancellationToken) -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::spawn(async move {
        for first in [true, false] {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            if first {
                eprintln!("stopping; once more ends at once");
                draining.cancel();
            }
        }
        std::process::exit(130);
    });
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn a_door_has_a_port_before_it_opens() {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        assert_eq!(door(free).unwrap(), free);
        assert_ne!(door("127.0.0.1:0".parse().unwrap()).unwrap().port(), 0);
    }

    #[test]
    fn rec_7_a_door_that_is_taken_is_told_before_anything_registers() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        let error = door(address).unwrap_err();
        assert!(format!("{error:#}").starts_with(&format!("node.listen: {address}: ")), "{error:#}");
    }

    #[test]
    fn callbacks_come_to_an_address_that_can_be_reached() {
        assert_eq!(reachable("0.0.0.0:80".parse().unwrap()), "127.0.0.1:80".parse().unwrap());
        assert_eq!(reachable("[::]:80".parse().unwrap()), "[::1]:80".parse().unwrap());
        assert_eq!(reachable("10.0.0.1:80".parse().unwrap()), "10.0.0.1:80".parse().unwrap());
    }

    #[test]
    fn rec_7_each_service_has_a_name_of_this_process_and_only_intake_the_door() {
        let named = [("PAGURUS__NODE__NAME".to_owned(), "shared".to_owned())];
        let mut settings = pagurus_runtime::config::load(None, named.into_iter()).unwrap();
        settings.node.listen = "127.0.0.1:1234".parse().unwrap();
        let worker = settings_of(Role::Worker, &settings);
        assert_eq!((worker.node.name.as_deref(), worker.node.listen.port()), (None, 0));
        let intake = settings_of(Role::Intake, &settings);
        assert_eq!((intake.node.name.as_deref(), intake.node.listen.port()), (None, 1234));
    }

    #[tokio::test]
    async fn the_end_of_one_service_drains_the_others() {
        let draining = CancellationToken::new();
        let mut services = Services::new();
        services.spawn(async { (Role::Worker, Err(anyhow::anyhow!("lost its loop"))) });
        let other = draining.clone();
        services.spawn(async move {
            other.cancelled().await;
            (Role::Intake, Ok(()))
        });
        let error = join(services, &draining).await.unwrap_err();
        assert_eq!(format!("{error:#}"), "worker: lost its loop");
    }
}
