//! The settings of a process as a snapshot that a reload replaces. A file with a fault changes nothing. A key
//! that changes only with a restart keeps the value of the start in every snapshot, for every reader at any time.
//!
//! Never decides when to read again, and never shows a value: what it tells are names of keys.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use pagurus_domain::document::Fault;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;

use super::keys;
use super::kind::Typed;
use super::section::Reload;
use super::{Settings, build, load};

/// The value of each key.
type KeyValues = BTreeMap<&'static str, Typed>;

/// The settings of a process as they are at the moment. Cheap to clone.
#[derive(Clone)]
pub struct LiveSettings {
    source: Arc<SettingsSource>,
    present: Arc<watch::Sender<Present>>,
}

/// The places that the settings come from.
struct SettingsSource {
    file: Option<PathBuf>,
    environment: Vec<(String, String)>,
    /// Changes every snapshot, where one process runs several services.
    adjust: Box<dyn Fn(&mut Settings) + Send + Sync>,
}

/// The snapshot, and all that is reported of it.
struct Present {
    settings: Arc<Settings>,
    /// The values that the settings were made of.
    values: KeyValues,
    state: ConfigurationState,
    /// Version of the file that was read last, with or without faults.
    last_read: Option<String>,
}

/// The configuration that a process runs, for those who ask it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigurationState {
    /// The first digits of the SHA-256 of the file; none without a file.
    pub version: Option<String>,
    /// Number of the snapshot, 1 being that of the start.
    pub snapshot: u64,
    /// Moment at which file and environment were last read without a fault.
    pub read_at: Timestamp,
    /// True while what was read after that has faults.
    pub refused: bool,
    /// Keys that have another value by now, and take effect when the process starts again.
    pub needs_restart: Vec<&'static str>,
}

/// Outcome of a reload.
#[derive(Debug, PartialEq)]
pub(crate) enum Reloaded {
    /// The names of the keys that changed: some took effect, others will when the process starts again.
    Taken { live: Vec<&'static str>, needs_restart: Vec<&'static str> },
    /// Nothing has changed: these faults were found.
    Refused(Vec<Fault>),
}

impl LiveSettings {
    /// Reads the file, if there is one, and the environment.
    ///
    /// # Errors
    /// All faults of both.
    pub fn load(
        file: Option<PathBuf>,
        environment: impl Iterator<Item = (String, String)>,
    ) -> Result<Self, Vec<Fault>> {
        let source = SettingsSource { file, environment: environment.collect(), adjust: Box::new(|_| {}) };
        let text = source.text().map_err(|fault| vec![fault])?;
        let (settings, values) = source.read(&text, None)?;
        let version = source.version_of(&text);
        let state = ConfigurationState {
            version: version.clone(),
            snapshot: 1,
            read_at: Timestamp::now(),
            refused: false,
            needs_restart: Vec::new(),
        };
        let present = Present { settings: Arc::new(settings), values, state, last_read: version };
        Ok(Self { source: Arc::new(source), present: Arc::new(watch::Sender::new(present)) })
    }

    /// The same with something changed in every snapshot, the present one included.
    #[must_use]
    pub fn adjusted(self, adjust: impl Fn(&mut Settings) + Send + Sync + 'static) -> Self {
        let SettingsSource { file, environment, .. } = &*self.source;
        let (file, environment) = (file.clone(), environment.clone());
        self.present.send_modify(|present| adjust(Arc::make_mut(&mut present.settings)));
        let source = SettingsSource { file, environment, adjust: Box::new(adjust) };
        Self { source: Arc::new(source), present: self.present }
    }

    /// Returns the settings of this moment. Work that goes in turns asks again in each of them.
    #[must_use]
    pub fn now(&self) -> Arc<Settings> {
        self.present.borrow().settings.clone()
    }

    /// The configuration that the process runs.
    #[must_use]
    pub fn state(&self) -> ConfigurationState {
        self.present.borrow().state.clone()
    }

    /// Sleeps for as long as the settings say, by the new ones where they change meanwhile.
    pub async fn sleep(&self, time: impl Fn(&Settings) -> Duration) {
        self.sleep_since(Instant::now(), time).await;
    }

    /// The same for a time that began before.
    pub async fn sleep_since(&self, begun: Instant, time: impl Fn(&Settings) -> Duration) {
        let mut changes = self.present.subscribe();
        loop {
            let left = time(&self.now()).saturating_sub(begun.elapsed());
            tokio::select! {
                () = tokio::time::sleep(left) => return,
                _ = changes.changed() => {}
            }
        }
    }

    /// The text of the file as it is now, empty where there is none; blocks while it is read.
    pub(crate) fn file(&self) -> Result<String, Fault> {
        self.source.text()
    }

    /// The version that a text of the file has; none without a file.
    pub(crate) fn version_of(&self, text: &str) -> Option<String> {
        self.source.version_of(text)
    }

    /// Goes on by this text of the file, and by the environment as it is now; blocks while files of that are read.
    /// Only one task of a process may do so.
    pub(crate) fn reload(&self, text: Result<String, Fault>) -> Reloaded {
        let (running, before) = {
            let present = self.present.borrow();
            (present.values.clone(), present.settings.clone())
        };
        let version = text.as_ref().ok().and_then(|text| self.source.version_of(text));
        let read = text.map_err(|fault| vec![fault]).and_then(|text| self.source.read(&text, Some(&running)));
        let (settings, values) = match read {
            Ok(read) => read,
            Err(faults) => {
                self.present.send_modify(|present| {
                    present.state.refused = true;
                    present.last_read = version;
                });
                return Reloaded::Refused(faults);
            }
        };
        let changed = |change| {
            let keys = keys::settings().filter(move |setting| setting.change == change);
            let keys = keys.filter(|setting| values.get(setting.path) != running.get(setting.path));
            keys.map(|setting| setting.path).collect::<Vec<_>>()
        };
        let (live, needs_restart) = (changed(Reload::Live), changed(Reload::Restart));
        // The same snapshot where nothing is new: nobody remakes anything for it.
        let settings = if live.is_empty() { before } else { Arc::new(settings) };
        let mut kept = values;
        keep(&mut kept, &running);
        self.present.send_modify(|present| {
            present.settings = settings;
            present.values = kept;
            present.last_read.clone_from(&version);
            present.state = ConfigurationState {
                version,
                snapshot: present.state.snapshot + u64::from(!live.is_empty()),
                read_at: Timestamp::now(),
                refused: false,
                needs_restart: needs_restart.clone(),
            };
        });
        Reloaded::Taken { live, needs_restart }
    }

    /// Version of the file that was read last.
    pub(crate) fn last_read(&self) -> Option<String> {
        self.present.borrow().last_read.clone()
    }
}

impl SettingsSource {
    /// The text of the file, empty where there is none.
    fn text(&self) -> Result<String, Fault> {
        self.file.as_deref().map_or_else(|| Ok(String::new()), load::read_text)
    }

    fn version_of(&self, text: &str) -> Option<String> {
        self.file.as_ref().map(|_| version_of(text))
    }

    /// Checks everything as at a start, and then with what cannot change while the process runs. Settings, and
    /// the values of file and environment, also those that wait for a restart.
    fn read(&self, text: &str, running: Option<&KeyValues>) -> Result<(Settings, KeyValues), Vec<Fault>> {
        let read = load::values(text, self.environment.iter().cloned());
        let values = read.of_keys();
        let mut settings = build::settings(read.clone())?;
        if let Some(running) = running {
            let mut mixed = read;
            keep(&mut mixed.typed, running);
            settings = build::settings(mixed)
                .map_err(|faults| faults.into_iter().map(contradicts).collect::<Vec<_>>())?;
        }
        (self.adjust)(&mut settings);
        Ok((settings, values))
    }
}

/// Puts the running values of all keys that need a restart in place of others.
fn keep(values: &mut KeyValues, running: &KeyValues) {
    for setting in keys::settings().filter(|setting| setting.change == Reload::Restart) {
        if let Some(value) = running.get(setting.path) {
            values.insert(setting.path, value.clone());
        }
    }
}

/// A fault that only the values of the start bring about.
fn contradicts(fault: Fault) -> Fault {
    fault
        .hint("a key that needs a restart keeps its old value until then; restart the process to change both")
}

/// The first digits of the SHA-256 of a file, as `sha256sum` prints it.
fn version_of(text: &str) -> String {
    let digest: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
