//! The configuration: one YAML file for all services, overlaid by the environment, checked as a
//! whole, and handed on as plain typed settings.
//!
//! Nothing here connects to anything or starts anything, and no default stands anywhere but in
//! the table of keys. Settings hold secrets: they must never be logged as a whole.

mod access;
mod audit;
mod build;
mod builder;
pub mod calls;
mod convert;
mod destinations;
mod distribution;
mod exchanges;
mod intake;
mod keys;
mod kind;
mod ldap;
mod live;
mod load;
mod log;
mod notify;
mod oidc;
mod page;
mod recovery;
mod schema;
mod secret_targets;
mod section;
mod servers;
mod telemetry;
mod values;
mod warnings;
mod worker;

use std::path::Path;
use std::sync::Arc;

use pagurus_domain::document::Fault;
use pagurus_domain::order::notification::AllowList;
use pagurus_domain::order::registration::Rules;
use pagurus_domain::retry::ErrorPolicy;
use pagurus_scenario::deployment::Deployment;
use pagurus_scenario::{Bounds, Concealed};

pub use access::AccessSettings;
pub use audit::AuditReceiver;
pub use calls::CallRules;
pub use convert::{Converted, convert};
pub use destinations::AllowedDestination;
pub use distribution::{DispatcherSettings, DistributionSettings, SystemSettings};
pub use exchanges::{AllowedExchange, ExchangeRules};
pub use intake::{CallbackSettings, IntakeSettings, RecordSettings};
pub use ldap::{LdapServer, LdapSettings};
pub(crate) use live::Reloaded;
pub use live::{ConfigurationState, LiveSettings};
pub use log::{LogFormat, LogSettings};
pub use notify::{NotifySettings, WebhookSettings};
pub use oidc::{OidcSettings, is_on_this_host};
pub use recovery::{
    CheckSettings, FailoverSettings, RecoverySettings, RetentionSettings, ShutdownSettings, WhenLost,
};
pub use secret_targets::{SecretTarget, SecretTargets};
pub use servers::{BrokerSettings, DatabaseSettings, NodeSettings};
pub use telemetry::TelemetrySettings;
pub(crate) use telemetry::{NO_COLLECTOR, is_collector};
pub use worker::{ActivationSettings, ResourceControlSettings, StartControlSettings, WorkerSettings};

/// Reads the file, if there is one, and the environment.
///
/// # Errors
/// All faults of both: unknown keys, wrong values, unreadable files.
pub fn load(
    file: Option<&Path>,
    environment: impl Iterator<Item = (String, String)>,
) -> Result<Settings, Vec<Fault>> {
    let text = match file {
        Some(path) => load::read_text(path).map_err(|fault| vec![fault])?,
        None => String::new(),
    };
    build::settings(load::values(&text, environment))
}

/// The variables of this process by which keys are set. Those of others are not read: they may hold anything.
///
/// # Errors
/// Name or value of one is no text.
pub fn environment() -> Result<Vec<(String, String)>, Vec<Fault>> {
    load::environment(std::env::vars_os())
}

/// All faults of the text of a file with an environment, and where there are none, those that `more` finds in the settings.
pub(crate) fn check_and(
    text: &str,
    environment: impl Iterator<Item = (String, String)>,
    more: impl FnOnce(&Settings) -> Vec<Fault>,
) -> Vec<Fault> {
    let values = load::values(text, environment);
    match build::settings(values.clone()) {
        Ok(settings) => more(&settings).into_iter().map(|fault| values.placed(fault)).collect(),
        Err(faults) => faults,
    }
}

/// All faults of the values of a file and an environment. What a start refuses besides, [`crate::start::check`] tells.
#[must_use]
pub fn check(text: &str, environment: impl Iterator<Item = (String, String)>) -> Vec<Fault> {
    check_and(text, environment, |_| Vec::new())
}

/// Warnings about settings that can be used, but hardly are what was meant. Faulty settings give none.
#[must_use]
pub fn warnings(text: &str, environment: impl Iterator<Item = (String, String)>) -> Vec<String> {
    let settings = build::settings(load::values(text, environment));
    settings.as_ref().map(warnings::of).unwrap_or_default()
}

/// True if no part of the value of this key may be shown. A URL with a password is shown without it.
#[must_use]
pub fn is_hidden(key: &str) -> bool {
    keys::find(key).is_some_and(|setting| setting.kind == kind::Kind::OptionalSecret)
}

/// Every key with its default and its meaning, as a file that could be used as it stands.
#[must_use]
pub fn defaults_page() -> String {
    page::defaults()
}

/// The reference page of the documentation, in Markdown.
#[must_use]
pub fn reference_page() -> String {
    page::reference()
}

/// The JSON Schema of the configuration file, by which editors complete and check it. What one key has to do with
/// another, only [`check`] tells.
#[must_use]
pub fn editor_schema() -> serde_json::Value {
    schema::of_settings()
}

/// Everything that can be set. Meanings of the fields: the page of defaults.
#[derive(Clone)]
pub struct Settings {
    /// `node`
    pub node: NodeSettings,
    /// `database`
    pub database: DatabaseSettings,
    /// `broker`
    pub broker: BrokerSettings,
    /// `log`
    pub log: LogSettings,
    /// `telemetry`
    pub telemetry: TelemetrySettings,
    /// `intake`
    pub intake: IntakeSettings,
    /// `callbacks`
    pub callbacks: CallbackSettings,
    /// `operations`, `audit`, `refused` and `stats`: how long records are kept.
    pub records: RecordSettings,
    /// `distribution`
    pub distribution: DistributionSettings,
    /// `systems`
    pub systems: SystemSettings,
    /// `dispatcher`
    pub dispatcher: DispatcherSettings,
    /// `worker`
    pub worker: WorkerSettings,
    /// `activation`
    pub activation: ActivationSettings,
    /// `execution.start_control`
    pub start_control: StartControlSettings,
    /// `recovery`
    pub recovery: RecoverySettings,
    /// `db.orders`
    pub retention: RetentionSettings,
    /// `failover`
    pub failover: FailoverSettings,
    /// `shutdown`
    pub shutdown: ShutdownSettings,
    /// `scenario`, with `execution.state_classification.target`
    pub scenario: Bounds,
    /// `scenario.max_cached_bytes`
    pub max_cached_scenarios: usize,
    /// `execution.error_handling`, with `retry_duration_control.mode`
    pub errors: ErrorPolicy,
    /// `resource_control`
    pub resource_control: ResourceControlSettings,
    /// `notify`
    pub notify: NotifySettings,
    /// `access`
    pub access: AccessSettings,
    /// `access.oidc`
    pub oidc: OidcSettings,
    /// `reply.allow`; direct reply-to is allowed besides.
    pub reply: AllowList,
    /// `access.ldap`
    pub ldap: LdapSettings,
    /// `secrets.folder`: where the secrets of scenarios are.
    pub secrets_folder: Option<std::path::PathBuf>,
    /// `config`: the constants of scenarios, always a JSON object.
    pub constants: Arc<serde_json::Value>,
    /// Constants that are secrets by their names.
    pub secret_constants: Arc<Concealed>,
}

impl Settings {
    /// Rules that registrations are checked against.
    #[must_use]
    pub fn registration_rules(&self) -> Rules {
        Rules {
            flow_attributes: self.distribution.flow_attributes.clone(),
            notify: self.notify.allow.clone(),
            process_timeout: self.recovery.process_timeout,
            start_mode: self.start_control.conditional,
        }
    }

    /// Deployment that a test of a scenario meets which is run by these settings.
    #[must_use]
    pub fn trial_deployment(&self) -> Deployment {
        let control = &self.resource_control;
        Deployment {
            bounds: self.scenario.clone(),
            errors: Arc::new(self.errors.clone()),
            call_timeout: self.worker.timeout,
            max_sync_duration: control.max_sync_duration,
            max_acquisition_duration: control.max_acquisition_duration,
            max_wait_sequential: control.max_wait_sequential,
            max_wait_parallel: control.max_wait_parallel,
            max_retry_after: self.systems.rules.max_retry_after,
            process_timeout: self.recovery.process_timeout,
        }
    }

    /// True if the API may listen where the settings say: without login only on this host, unless
    /// somebody confirmed that the network around is trusted (UI-1).
    ///
    /// # Errors
    /// The fault to show; only a process that serves the API has it.
    pub fn check_public_access(&self) -> Result<(), Fault> {
        let is_open = self.access.mode == pagurus_domain::access::AccessMode::Public;
        // At `intake.listen_systems` nothing is done without the address of a request.
        let addresses = [
            ("/node/listen", Some(self.node.listen)),
            ("/intake/listen_clients", self.intake.listen_clients),
        ];
        let reached = addresses.into_iter().find_map(|(place, listen)| {
            listen.filter(|listen| !listen.ip().to_canonical().is_loopback()).map(|listen| (place, listen))
        });
        let Some((place, listen)) = reached.filter(|_| is_open && !self.intake.public_confirmed) else {
            return Ok(());
        };
        let message = format!("the API would be open to everybody who reaches {listen}");
        Err(Fault::placed(None, place, message)
            .hint("listen on a loopback address, choose another `access.mode`, or set `intake.public_confirmed: true`"))
    }
}

/// Constants hold secrets and URLs hold passwords, which must not get into logs by way of a debug
/// line; the same for the two below.
impl std::fmt::Debug for Settings {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Settings").field("node", &self.node).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for DatabaseSettings {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("DatabaseSettings").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for BrokerSettings {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("BrokerSettings").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
