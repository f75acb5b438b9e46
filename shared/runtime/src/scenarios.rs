//! Scenarios of this process: parsed once a version, because versions never change.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};

use pagurus_domain::id::{ScenarioNo, ScenarioRef};
use pagurus_domain::scenario::script::Scripting;
use pagurus_domain::scenario::{Bounds, Scenario, source};
use pagurus_store::scenarios::{self, Version};
use pagurus_store::{Client, Connection, Error};

/// One version, ready to run.
#[derive(Clone, Debug)]
pub struct Known {
    /// Our number of it.
    pub no: ScenarioNo,
    /// Name and version.
    pub reference: ScenarioRef,
    /// The model; the text of the faults where this program cannot read what another stored.
    pub scenario: Result<Arc<Scenario>, Arc<str>>,
}

/// The catalogue. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Catalogue {
    scripting: Arc<Scripting>,
    /// Reads what is stored.
    stored: Arc<Scripting>,
    bounds: Bounds,
    inner: Arc<RwLock<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Every version up to this number has been read.
    read_to: ScenarioNoOrNone,
    by_no: HashMap<ScenarioNo, Known>,
    newest: HashMap<Arc<str>, ScenarioNo>,
    by_version: HashMap<(Arc<str>, i32), ScenarioNo>,
}

#[derive(Clone, Copy, Debug, Default)]
struct ScenarioNoOrNone(i32);

impl Catalogue {
    /// An empty catalogue.
    #[must_use]
    pub fn new(scripting: Arc<Scripting>, bounds: Bounds) -> Self {
        let stored = Arc::new(Scripting::of_stored(bounds.script.clone()));
        Self { scripting, stored, bounds, inner: Arc::default() }
    }

    /// The sandbox in which scenarios are compiled.
    #[must_use]
    pub fn scripting(&self) -> &Scripting {
        &self.scripting
    }

    /// Reads what was added since the last call: one short query where nothing was. Called before
    /// each batch of registrations, so that a version counts from the moment it is applied.
    ///
    /// # Errors
    /// The database fails.
    pub async fn refresh(&self, client: &Client) -> Result<(), Error> {
        let last = scenarios::last(client).await?;
        let read_to = self.read().read_to.0;
        if last.0 > read_to {
            // Nothing below comes later: versions are stored one after the other.
            let since = scenarios::since(client, ScenarioNo(read_to)).await?;
            self.add(since, Some(last));
        }
        Ok(())
    }

    /// The version with this number, read from the database where it is not known yet.
    ///
    /// # Errors
    /// The database fails.
    pub async fn get(&self, client: &impl Connection, no: ScenarioNo) -> Result<Option<Known>, Error> {
        if let Some(known) = self.known(no) {
            return Ok(Some(known));
        }
        let versions = scenarios::get(client, &[no.0]).await?;
        self.add(versions, None);
        Ok(self.known(no))
    }

    /// The version with this number, if it has been read.
    #[must_use]
    pub fn known(&self, no: ScenarioNo) -> Option<Known> {
        self.read().by_no.get(&no).cloned()
    }

    /// The newest version of a name, or the one asked for.
    #[must_use]
    pub fn find(&self, name: &str, version: Option<i32>) -> Option<Known> {
        let inner = self.read();
        let no = match version {
            None => inner.newest.get(name),
            Some(version) => inner.by_version.get(&(Arc::from(name), version)),
        };
        no.and_then(|no| inner.by_no.get(no)).cloned()
    }

    /// Every version that was read and that this program can read.
    #[must_use]
    pub fn scenarios(&self) -> Vec<Arc<Scenario>> {
        self.read().by_no.values().filter_map(|known| known.scenario.clone().ok()).collect()
    }

    fn add(&self, versions: Vec<Version>, read_to: Option<ScenarioNo>) {
        // Parsing happens outside the lock: others read on meanwhile.
        let parsed: Vec<Known> = versions
            .into_iter()
            .filter(|version| self.known(version.no).is_none())
            .map(|version| self.parse(version))
            .collect();
        let mut inner = self.inner.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        for known in parsed {
            let ScenarioRef { name, version } = known.reference.clone();
            let newer = inner
                .newest
                .get(&name)
                .and_then(|no| inner.by_no.get(no))
                .is_none_or(|present| present.reference.version < version);
            if newer {
                inner.newest.insert(name.clone(), known.no);
            }
            inner.by_version.insert((name, version), known.no);
            inner.by_no.insert(known.no, known);
        }
        if let Some(read_to) = read_to {
            inner.read_to = ScenarioNoOrNone(read_to.0.max(inner.read_to.0));
        }
    }

    fn parse(&self, version: Version) -> Known {
        let scenario =
            source::read(&version.source, &self.stored, &self.bounds).map(Arc::new).map_err(|faults| {
                let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
                Arc::from(lines.join("; "))
            });
        Known {
            no: version.no,
            reference: ScenarioRef { name: version.name.into(), version: version.version },
            scenario,
        }
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Inner> {
        self.inner.read().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
