//! Faults for which a process does not start though no value of its configuration is wrong in itself: the role that it has, the
//! host that it runs on, and the variables of OpenTelemetry. A start and `pagurus config check` ask the same function, so that
//! neither refuses what the other lets pass.

use std::net::{SocketAddr, TcpListener};

use pagurus_domain::document::Fault;
use pagurus_domain::id::Role;

use pagurus_tls::{CertificateCheck, ClientTls, TlsFiles};

use crate::config::{self, AuditReceiver, CallRules, Settings};
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
        faults.extend(settings.oidc.unpaired());
        faults.extend(settings.access.unpaired());
    }
    if settings.node.certificate.is_some() != settings.node.key.is_some() {
        let message = "`node.certificate` and `node.key` belong together: set both, or neither";
        faults.push(Fault::placed(None, "/node/certificate", message));
    }
    if let Some(host) = process.host {
        faults.extend(foreign_address(process.listen));
        faults.extend(unusable_files(settings, process.role));
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

/// Files of certificates that cannot be used on this host now.
fn unusable_files(settings: &Settings, role: Role) -> Vec<Fault> {
    let ldap = (role == Role::Intake).then(|| settings.ldap.tls()).flatten();
    let syslog = match settings.records.audit_receiver() {
        Some(AuditReceiver::Syslog(address)) if role == Role::Activator => address.tls_fault(),
        _ => None,
    };
    let of_servers = [
        ("/database/url", pagurus_store::tls_fault(&settings.database.url)),
        ("/broker/url", pagurus_broker::tls_fault(&settings.broker.url)),
        ("/access/ldap/issuers", ldap.as_ref().and_then(fault_of)),
        ("/audit/export/syslog", syslog),
    ];
    let calls = matches!(role, Role::Worker | Role::Notifier).then_some(&settings.worker.calls);
    // A machine that trusts nobody may call systems without TLS.
    let issuers = calls.and_then(|calls| calls.issuers.clone());
    let issuers = issuers.map(|file| ClientTls { issuers: Some(file), ..ClientTls::default() });
    let of_issuers = ("/worker/http/issuers", issuers.as_ref().and_then(fault_of));
    let names = calls.map_or_else(Vec::new, CallRules::certificate_names);
    let shown = |name: &String| {
        let check = CertificateCheck::Nothing;
        Some(ClientTls { check, certificate: Some(calls?.certificate(name)?), ..ClientTls::default() })
    };
    let of_certificates = names.iter().filter_map(shown).filter_map(|tls| fault_of(&tls));
    let of_certificates = of_certificates.map(|fault| ("/worker/http/certificates", Some(fault)));
    let all = of_servers.into_iter().chain([of_issuers]).chain(of_certificates);
    let own = settings.node.tls().as_ref().and_then(fault_of);
    let of_provider = (role == Role::Intake && settings.oidc.issuers.is_some()).then(|| settings.oidc.tls());
    let of_provider = of_provider.as_ref().and_then(fault_of);
    let all = all.chain([("/node/certificate", own), ("/access/oidc/issuers", of_provider)]);
    let of_webhooks =
        unusable_webhook_certificates(settings, role).into_iter().map(|fault| ("/notify/allow", Some(fault)));
    all.chain(of_webhooks).filter_map(|(place, fault)| Some(Fault::placed(None, place, fault?))).collect()
}

/// Faults of the certificates that entries of `notify.allow` name.
fn unusable_webhook_certificates(settings: &Settings, role: Role) -> Vec<String> {
    if role != Role::Notifier {
        return Vec::new();
    }
    let fault = |name: &str| {
        let Some(files) = settings.worker.calls.certificate(name) else {
            return Some(format!(
                "the certificate `{name}` is named, and `worker.http.certificates` is not set"
            ));
        };
        let check = CertificateCheck::Nothing;
        fault_of(&ClientTls { check, certificate: Some(files), ..ClientTls::default() })
    };
    settings.notify.allow.certificates().filter_map(fault).collect()
}

fn fault_of(tls: &impl TlsFiles) -> Option<String> {
    tls.config().err().map(|fault| fault.to_string())
}

/// An address that no interface of this host has. Whether a port is free is asked by nobody but the start: the process that has
/// it may be the one that runs with this configuration.
fn foreign_address(listen: SocketAddr) -> Option<Fault> {
    let error = TcpListener::bind(SocketAddr::new(listen.ip(), 0)).err()?;
    (error.kind() == std::io::ErrorKind::AddrNotAvailable).then(|| {
        let message = format!("{} is not an address of this host", listen.ip());
        Fault::placed(None, "/node/listen", message).hint("`0.0.0.0` or `[::]` stands for all of them")
    })
}
