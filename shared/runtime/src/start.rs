//! Faults for which a process does not start though no value of its configuration is wrong in itself: the role that it has, the
//! host that it runs on, and the variables of OpenTelemetry. A start and `pagurus config check` ask the same function, so that
//! neither refuses what the other lets pass.

use std::net::{SocketAddr, TcpListener};

use pagurus_domain::document::Fault;
use pagurus_domain::id::Role;

use crate::config::{self, Settings};
use crate::traces;

/// Process that is to start, as far as its faults depend on it.
#[derive(Clone, Copy, Debug)]
pub struct NewProcess {
    /// Service of the process.
    pub role: Role,
    /// Address of its HTTP server.
    pub listen: SocketAddr,
    /// Host on which it runs; none where the settings are meant for another one.
    pub host: Option<HostFacts>,
}

/// Facts about a host beside the configuration.
#[derive(Clone, Copy, Debug)]
pub struct HostFacts {
    /// The variables of the environment.
    pub variable: fn(&str) -> Option<String>,
}

impl HostFacts {
    /// Returns the facts about the host on which this process runs.
    #[must_use]
    pub const fn of_this_process() -> Self {
        Self { variable: traces::own_variable }
    }
}

/// Everything for which the process does not start with settings that have no fault. Runs inside a runtime.
#[must_use]
pub fn refusals(settings: &Settings, process: NewProcess) -> Vec<Fault> {
    let mut faults = Vec::new();
    if process.role == Role::Intake {
        faults.extend(settings.check_public_access().err());
    }
    if let Some(host) = process.host {
        faults.extend(foreign_address(process.listen));
        faults.extend(traces::refused(&settings.telemetry, &host.variable));
    }
    faults
}

/// All faults of the text of a file with an environment, for processes of these roles; none if all of them can start.
#[must_use]
pub fn check(
    text: &str,
    environment: impl Iterator<Item = (String, String)>,
    roles: &[Role],
    host: Option<HostFacts>,
) -> Vec<Fault> {
    config::check_and(text, environment, |settings| {
        let mut found: Vec<Fault> = Vec::new();
        for role in roles {
            let process = NewProcess { role: *role, listen: settings.node.listen, host };
            let new = refusals(settings, process).into_iter().filter(|fault| !found.contains(fault));
            let new: Vec<Fault> = new.collect();
            found.extend(new);
        }
        found
    })
}

/// An address that no interface of this host has. Whether a port is free is asked by nobody but the start: the process that has
/// it may be the one that runs with this configuration.
fn foreign_address(listen: SocketAddr) -> Option<Fault> {
    let error = TcpListener::bind(SocketAddr::new(listen.ip(), 0)).err()?;
    (error.kind() == std::io::ErrorKind::AddrNotAvailable).then(|| {
        let message = format!("{} is no address of this host", listen.ip());
        Fault::placed(None, "/node/listen", message).hint("`0.0.0.0` or `[::]` stands for all of them")
    })
}
