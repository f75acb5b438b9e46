//! The rules by which stages run: made of the settings of the moment, once for each snapshot of these. A stage
//! goes by those of its start.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pagurus_runtime::Host;
use pagurus_runtime::address::base_of;
use pagurus_runtime::config::Settings;
use pagurus_runtime::node::chain;
use pagurus_runtime::secrets::DeploymentSecrets;
use pagurus_scenario::script::Scripting;
use pagurus_scenario::stage::StageSettings;
use pagurus_store::recovery::cluster;

/// Interval between two looks for an intake.
const INTAKE_PAUSE: Duration = Duration::from_millis(200);

/// The rules of the moment.
pub(crate) struct StageRules {
    host: Host,
    /// Base of callback URLs while no setting gives another.
    callback_base: String,
    secrets: Arc<DeploymentSecrets>,
    /// Last rules, with the settings that they were made of.
    made: Mutex<(Arc<Settings>, Arc<StageSettings>)>,
}

impl StageRules {
    /// Waits until the address is known at which called systems answer; `None` if the process is to stop before.
    pub async fn of(host: &Host) -> Option<Self> {
        let callback_base = callback_base(host).await?;
        let settings = host.settings();
        let secrets = Arc::new(DeploymentSecrets::of(&host.live));
        let stage = Arc::new(stage_settings(host, &settings, &callback_base, secrets.clone()));
        Some(Self { host: host.clone(), callback_base, secrets, made: Mutex::new((settings, stage)) })
    }

    /// Returns the rules for a stage that begins now.
    pub fn now(&self) -> Arc<StageSettings> {
        let settings = self.host.settings();
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if !Arc::ptr_eq(&made.0, &settings) {
            let stage = stage_settings(&self.host, &settings, &self.callback_base, self.secrets.clone());
            *made = (settings, Arc::new(stage));
        }
        made.1.clone()
    }
}

/// Returns the address at which called systems answer. Without a setting it is an intake of the registry; a
/// first start waits until there is one. `None` if the process is to stop before.
async fn callback_base(host: &Host) -> Option<String> {
    loop {
        if let Some(url) = &host.settings().intake.public_url {
            return Some(url.clone());
        }
        let found = async {
            let client = host.store.api().await?;
            cluster::intake_address(&client).await
        };
        match found.await {
            Ok(Some(address)) => {
                let there = base_of(&address);
                tracing::warn!(
                    callbacks = there,
                    "intake.public_url is not set: called systems will be asked to answer there"
                );
                return Some(there);
            }
            Ok(None) => {}
            Err(error) => tracing::warn!(error = chain(&error), "no intake could be looked for"),
        }
        if host.sleep_unless_draining(INTAKE_PAUSE).await {
            return None;
        }
    }
}

fn stage_settings(
    host: &Host,
    settings: &Settings,
    callback_base: &str,
    secrets: Arc<DeploymentSecrets>,
) -> StageSettings {
    let callback_base = settings.intake.public_url.as_deref().unwrap_or(callback_base);
    StageSettings {
        scripting: Scripting::new(settings.scenario.script.clone()),
        bounds: settings.scenario.clone(),
        errors: settings.errors.clone(),
        systems: settings.systems.names.clone(),
        constants: settings.constants.clone(),
        secret_constants: settings.secret_constants.clone(),
        secrets,
        vhost: host.broker.vhost().to_owned(),
        callback_base: callback_base.trim_end_matches('/').to_owned(),
        call_timeout: settings.worker.timeout,
        max_sync_duration: settings.resource_control.max_sync_duration,
        max_acquisition_duration: settings.resource_control.max_acquisition_duration,
        max_wait_sequential: settings.resource_control.max_wait_sequential,
        max_wait_parallel: settings.resource_control.max_wait_parallel,
        max_retry_after: settings.systems.rules.max_retry_after,
    }
}
