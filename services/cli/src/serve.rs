//! `pagurus serve`: the services of one role or several in a process.
//!
//! Each has an HTTP server, a node and connections of its own. What services of one process send each other does not go through
//! the broker, which saves an order the way there and back. The end of one of them ends all.

use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use anyhow::Context as _;
use clap::Args;
use pagurus_domain::id::Role;
use pagurus_runtime::config::LiveSettings;
use pagurus_runtime::{Host, InProcess, LocalConsumers, handle_signals, live_settings, start_logging};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::failure::CliError;

/// Roles of one process.
#[derive(Clone, Debug, Args)]
pub(crate) struct Arguments {
    /// Roles of this process, separated by commas. The first listens at node.listen, each further one at the next port
    #[arg(long, value_name = "ROLES", value_delimiter = ',', default_values_t = Role::ALL.iter().copied())]
    roles: Vec<Role>,
}

impl Arguments {
    /// Roles of the process.
    pub(crate) fn roles(&self) -> &[Role] {
        &self.roles
    }
}

type Services = JoinSet<(Role, anyhow::Result<()>)>;

/// Runs until a signal, or the failure of a service.
pub(crate) async fn run(arguments: &Arguments, config: Option<&Path>) -> Result<(), CliError> {
    let settings = live_settings(config)?;
    start_logging(&settings.now().log).context("log.orders_file")?;
    let addresses = addresses(&arguments.roles, settings.now().node.listen)?;
    let intake = addresses.iter().find(|(role, _)| *role == Role::Intake).map(|(_, address)| *address);
    // Workers of the same process name it in their calls, unless another address is set.
    let intake = intake.filter(|address| addresses.len() > 1 && address.port() != 0);
    let settings = settings.adjusted(move |settings| {
        if let Some(address) = intake {
            let scheme = settings.node.scheme();
            settings.intake.public_url.get_or_insert_with(|| format!("{scheme}://{}", reachable(address)));
        }
    });
    Ok(together(&settings, addresses).await?)
}

/// The address of each role: the first has the given one, each further one the next port.
fn addresses(roles: &[Role], listen: SocketAddr) -> anyhow::Result<Vec<(Role, SocketAddr)>> {
    let mut addresses: Vec<(Role, SocketAddr)> = Vec::new();
    for role in roles {
        anyhow::ensure!(addresses.iter().all(|(other, _)| other != role), "--roles names {role} twice");
        let mut address = listen;
        if listen.port() != 0 {
            let after =
                u16::try_from(addresses.len()).ok().and_then(|place| listen.port().checked_add(place));
            address.set_port(
                after.with_context(|| format!("node.listen: {listen}: no port is left for {role}"))?,
            );
        }
        addresses.push((*role, address));
    }
    Ok(addresses)
}

/// Runs services of these roles, each at its address, until a signal or the failure of one.
pub(crate) async fn together(
    settings: &LiveSettings,
    addresses: Vec<(Role, SocketAddr)>,
) -> anyhow::Result<()> {
    let draining = CancellationToken::new();
    handle_signals(settings, &draining).context("signals")?;
    let local = (addresses.len() > 1).then(LocalConsumers::default);
    let mut services = Services::new();
    for (role, listen) in addresses {
        let process = InProcess { listen, draining: draining.clone(), local: local.clone() };
        match role {
            Role::Intake => start(&mut services, role, settings, process, pagurus_intake::run),
            Role::Dispatcher => start(&mut services, role, settings, process, pagurus_dispatcher::run),
            Role::Activator => start(&mut services, role, settings, process, pagurus_activator::run),
            Role::Worker => start(&mut services, role, settings, process, pagurus_worker::run),
            Role::Notifier => start(&mut services, role, settings, process, pagurus_notifier::run),
        }
    }
    join(services, &draining).await
}

fn start<F, R>(services: &mut Services, role: Role, settings: &LiveSettings, process: InProcess, run: F)
where
    F: Fn(Host) -> R + Send + Sync + 'static,
    R: Future<Output = anyhow::Result<()>> + Send + 'static,
{
    let settings = settings.clone();
    services.spawn(async move { (role, pagurus_runtime::serve(role, settings, process, run).await) });
}

/// Waits for all services. The first that ends makes the others drain; returns the first failure.
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

/// Returns the address at which programs of this host reach what listens there.
pub(crate) fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn run_1_every_role_of_a_process_has_a_port_of_its_own() {
        let at = |port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let found = addresses(&[Role::Worker, Role::Intake], at(8080)).unwrap();
        assert_eq!(found, [(Role::Worker, at(8080)), (Role::Intake, at(8081))]);
        assert_eq!(addresses(&[Role::Worker, Role::Intake], at(0)).unwrap()[1], (Role::Intake, at(0)));
        let fault = |roles: &[Role], port| addresses(roles, at(port)).unwrap_err().to_string();
        assert_eq!(fault(&[Role::Worker, Role::Worker], 0), "--roles names worker twice");
        assert!(fault(&[Role::Worker, Role::Intake], u16::MAX).ends_with("no port is left for intake"));
    }

    #[test]
    fn callbacks_come_to_an_address_that_can_be_reached() {
        assert_eq!(reachable("0.0.0.0:80".parse().unwrap()), "127.0.0.1:80".parse().unwrap());
        assert_eq!(reachable("[::]:80".parse().unwrap()), "[::1]:80".parse().unwrap());
        assert_eq!(reachable("10.0.0.1:80".parse().unwrap()), "10.0.0.1:80".parse().unwrap());
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
