//! The secrets of the deployment: files of a folder, environment variables, and constants that are secrets by their
//! names (SCN-15).
//!
//! They are read when they are used, so that a changed one counts without a restart. Their values
//! must never reach a log.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pagurus_scenario::value::Secrets;
use pagurus_scenario::{Concealed, Scenario};

use crate::config::LiveSettings;

/// Time for which a value that was read is taken for the present one: many calls a second share one look.
const FRESH: Duration = Duration::from_secs(1);

/// Begin of the names of the environment variables.
const PREFIX: &str = "PAGURUS_SECRET_";

/// Reads secrets.
pub struct DeploymentSecrets {
    live: LiveSettings,
    folder: Option<PathBuf>,
    in_environment: bool,
    read: Mutex<HashMap<String, (Instant, Option<String>)>>,
}

impl fmt::Debug for DeploymentSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeploymentSecrets").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl DeploymentSecrets {
    /// Secrets from the folder of these settings, if there is one, else from the environment.
    #[must_use]
    pub fn of(live: &LiveSettings) -> Self {
        let in_environment = std::env::vars_os().any(|(name, _)| name.to_string_lossy().starts_with(PREFIX));
        let folder = live.now().secrets_folder.clone();
        Self { live: live.clone(), folder, in_environment, read: Mutex::default() }
    }

    /// False where there is no place for any: then nobody need ask which ones a scenario names.
    #[must_use]
    pub fn has_source(&self) -> bool {
        self.folder.is_some() || self.in_environment || !self.live.now().secret_constants.is_empty()
    }

    /// The values of the secrets of these names that this node can read, and of the constants that are secrets, to be
    /// kept out of what is shown and stored.
    pub fn concealed<'n>(&self, names: impl IntoIterator<Item = &'n String>) -> Concealed {
        let mut concealed = Concealed::clone(&self.live.now().secret_constants);
        for secret in names.into_iter().filter_map(|name| self.secret(name)) {
            concealed.add(&secret);
        }
        concealed
    }

    /// The same of the secrets that a scenario names.
    pub fn named_by(&self, scenario: &Scenario) -> Concealed {
        self.concealed(scenario.secrets().flatten())
    }

    fn look(&self, name: &str) -> Option<String> {
        // Names come from scenarios, whose reader lets no separators through.
        let file = self.folder.as_ref().and_then(|folder| std::fs::read_to_string(folder.join(name)).ok());
        let from_file = file.map(|text| text.trim_end_matches(['\r', '\n']).to_owned());
        from_file.or_else(|| std::env::var(variable(name)).ok())
    }
}

impl Secrets for DeploymentSecrets {
    fn secret(&self, name: &str) -> Option<String> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, value)) = read.get(name)
            && at.elapsed() < FRESH
        {
            return value.clone();
        }
        let value = self.look(name);
        read.insert(name.to_owned(), (Instant::now(), value.clone()));
        value
    }
}

/// The environment variable of a secret.
fn variable(name: &str) -> String {
    format!("{PREFIX}{}", name.to_ascii_uppercase().replace('-', "_"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn scn_15_a_secret_is_the_content_of_its_file() {
        let folder = std::env::temp_dir().join(format!("pagurus-secrets-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("token"), "t-1\n").unwrap();
        let of = |pairs: &[(&str, &str)]| {
            let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            let pairs: Vec<_> = pairs.collect();
            DeploymentSecrets::of(&LiveSettings::load(None, pairs.into_iter()).unwrap())
        };
        let secrets = of(&[("PAGURUS__SECRETS__FOLDER", folder.to_str().unwrap())]);
        assert_eq!(secrets.secret("token").as_deref(), Some("t-1"));
        assert_eq!(secrets.secret("absent"), None);
        assert!(!format!("{secrets:?}").contains("t-1"));
        std::fs::write(folder.join("long"), "a-long-one").unwrap();
        let concealed = secrets.concealed(&["long".to_owned(), "absent".to_owned()]);
        assert_eq!(concealed.text("it is a-long-one"), "it is ***");
        assert!(secrets.has_source() && !of(&[]).has_source());
        let constants = of(&[("PAGURUS__CONFIG", "{crm: {url: 'http://crm', api_key: k-canary}}")]);
        assert!(constants.has_source());
        assert_eq!(constants.concealed(&[]).text("k-canary of http://crm"), "*** of http://crm");
        std::fs::remove_dir_all(folder).unwrap();
        assert_eq!(variable("billing-token"), "PAGURUS_SECRET_BILLING_TOKEN");
    }
}
