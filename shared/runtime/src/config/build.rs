//! Makes the settings out of the values of the keys: sections read themselves, and what is no section is read here.
//! Checks what no single key can tell, such as one limit that must stay below another.

mod flows;
pub(super) mod keys;
mod ldap;
mod servers;
mod tenants;
mod trees;

use pagurus_domain::activation::{ActivationMode, AgeGroups};
use pagurus_domain::document::Fault;
use pagurus_domain::flow::DistributionMode;
use pagurus_scenario::{Bounds, Concealed, script};

use super::builder::SettingsBuilder;
use super::section::days;
use super::values::Values;
use super::*;
use crate::compute::script_clock;

/// The settings, or all faults in the order of the file.
pub(super) fn settings(values: Values) -> Result<Settings, Vec<Fault>> {
    let mut builder = SettingsBuilder { values };
    let settings = builder.settings();
    if let Ok(settings) = &settings {
        builder.check_relations(settings);
    }
    let mut faults = builder.values.faults;
    match settings {
        Ok(settings) if faults.is_empty() => return Ok(settings),
        Ok(_) => {}
        Err(slip) => faults.push(slip),
    }
    faults.sort_by_key(|fault| (fault.at.is_none(), fault.at));
    Err(faults)
}

impl SettingsBuilder {
    fn settings(&mut self) -> Result<Settings, Fault> {
        let constants = self.constants()?;
        Ok(Settings {
            node: NodeSettings::read(self)?,
            database: DatabaseSettings::read(self)?,
            broker: BrokerSettings::read(self)?,
            log: LogSettings::read(self)?,
            telemetry: TelemetrySettings::read(self)?,
            intake: IntakeSettings::read(self)?,
            callbacks: CallbackSettings::read(self)?,
            records: RecordSettings::read(self)?,
            distribution: DistributionSettings::read(self)?,
            systems: self.systems()?,
            dispatcher: DispatcherSettings::read(self)?,
            worker: WorkerSettings::read(self)?,
            activation: ActivationSettings::read(self)?,
            start_control: StartControlSettings::read(self)?,
            recovery: RecoverySettings::read(self)?,
            retention: RetentionSettings::read(self)?,
            failover: FailoverSettings::read(self)?,
            shutdown: ShutdownSettings::read(self)?,
            scenario: self.scenario()?,
            max_cached_scenarios: self.value("scenario.max_cached_bytes")?,
            errors: self.errors()?,
            resource_control: ResourceControlSettings::read(self)?,
            notify: NotifySettings::read(self)?,
            access: AccessSettings::read(self)?,
            oidc: OidcSettings::read(self)?,
            reply: self.reply_allow()?,
            ldap: LdapSettings::read(self)?,
            secrets_folder: self.value::<Option<String>>("secrets.folder")?.map(Into::into),
            secret_constants: Concealed::of_constants(&constants).into(),
            constants,
        })
    }

    pub(super) fn call_rules(&mut self) -> Result<CallRules, Fault> {
        Ok(CallRules {
            allow: self.value("worker.http.allow")?,
            deny: self.value("worker.http.deny")?,
            issuers: self.value::<Option<String>>("worker.http.issuers")?.map(Into::into),
            certificates: self.value::<Option<String>>("worker.http.certificates")?.map(Into::into),
            secrets: self.secret_targets()?,
        })
    }

    pub(super) fn exchange_rules(&mut self) -> Result<ExchangeRules, Fault> {
        Ok(ExchangeRules { allow: self.value("worker.amqp.allow")?, deny: self.value("worker.amqp.deny")? })
    }

    pub(super) fn age_groups(&mut self) -> Result<AgeGroups, Fault> {
        Ok(AgeGroups {
            youngest: days(self.value("activation.groups.sleep.youngest.age_in_days")?),
            middle: days(self.value("activation.groups.sleep.middle.age_in_days")?),
        })
    }

    fn scenario(&mut self) -> Result<Bounds, Fault> {
        Ok(Bounds {
            max_states: self.value("scenario.max_states")?,
            max_vars_bytes: self.value("scenario.max_vars_bytes")?,
            max_children: self.value("scenario.max_children")?,
            max_each: self.value("scenario.max_each")?,
            min_sleep: self.value("scenario.min_sleep")?,
            max_transitions_per_stage: self.value("scenario.max_transitions_per_stage")?,
            script: script::Limits {
                max_operations: self.value("scenario.script.max_operations")?,
                max_string_bytes: self.value("scenario.script.max_string_bytes")?,
                max_elements: self.value("scenario.script.max_elements")?,
                max_call_depth: self.value("scenario.script.max_call_depth")?,
                max_duration: self.value("scenario.script.max_duration")?,
                clock: script::Clock(script_clock),
            },
            target_steps: self.target_steps()?,
        })
    }

    /// Checks what no single key can tell.
    fn check_relations(&mut self, settings: &Settings) {
        self.check_access(settings);
        // Three signs of life must fit, or one lost packet would look like a lost node.
        if settings.node.lost_after < 3 * settings.node.heartbeat {
            let message = "must be at least three times `node.heartbeat`";
            self.values.fault("node.lost_after", message);
        }
        // The registry, and the names of sessions at both servers, have to take it.
        if settings
            .node
            .name
            .as_deref()
            .is_some_and(|name| name.len() > 255 || name.contains(char::is_control))
        {
            self.values.fault("node.name", "must have at most 255 bytes, and no control characters");
        }
        if settings.node.advertise.as_deref().is_some_and(|base| !crate::address::is_one(base)) {
            let message = "must be `HOST:PORT`, or begin with `http://` or `https://`";
            self.values.fault("node.advertise", message);
        }
        if settings.intake.max_batch_body_bytes < settings.intake.max_body_bytes {
            let message = "must not be less than `intake.max_body_bytes`";
            self.values.fault("intake.max_batch_body_bytes", message);
        }
        if settings.intake.max_bodies_bytes < settings.intake.max_batch_body_bytes {
            let message = "must not be less than `intake.max_batch_body_bytes`";
            self.values.fault("intake.max_bodies_bytes", message);
        }
        if settings.activation.groups.middle < settings.activation.groups.youngest {
            let message = "must not be less than `activation.groups.sleep.youngest.age_in_days`";
            self.values.fault("activation.groups.sleep.middle.age_in_days", message);
        }
        // A limit holds orders back that were woken already: nobody would wake those whose command is lost meanwhile.
        if settings.activation.mode == ActivationMode::AtMostOnce
            && settings.distribution.flows.mode != DistributionMode::Simple
        {
            let message = "`at_most_once` works only with `distribution.mode: simple`: flows that are held back need \
                           `at_least_once` or `at_least_once_inprogress`";
            self.values.fault("activation.mode", message);
        }
        if settings.notify.retry_max < settings.notify.retry_initial {
            self.values.fault("notify.retry.max", "must not be less than `notify.retry.initial`");
        }
        if !settings.intake.transport.serves_http() {
            let (clients, systems) = (settings.intake.listen_clients, settings.intake.listen_systems);
            let more = [("intake.listen_clients", clients), ("intake.listen_systems", systems)];
            for (key, _) in more.into_iter().filter(|(_, address)| address.is_some()) {
                self.values.fault(key, "requires an `intake.transport` that serves HTTP");
            }
        }
        let url = settings.intake.public_url.as_deref();
        if url.is_some_and(|url| !url.starts_with("http://") && !url.starts_with("https://")) {
            self.values.fault("intake.public_url", "must begin with `http://` or `https://`");
        }
        for (key, message) in settings.oidc.faults() {
            self.values.fault(key, message);
        }
        self.check_audit(settings);
        self.check_servers(settings);
        self.check_ldap(settings);
    }
}
