//! Scenarios of this process: versions never change, so one is parsed once and kept while it is used.
//!
//! A version takes some thirty times the memory of its text. The compiled ones are bounded by the
//! bytes of their texts; what was released is read again from the database when an order needs it,
//! versions that are not the newest of their name first. Only a few words of each version stay: its
//! number, if it is the newest, and what it hides.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};

use pagurus_domain::document::nearest;
use pagurus_domain::id::{ScenarioNo, ScenarioRef};
use pagurus_domain::order::registration::Request;
use pagurus_scenario::script::Scripting;
use pagurus_scenario::{Bounds, Library, Mask, Scenario, source};
use pagurus_store::outside::scenarios::{self, Version, operations};
use pagurus_store::{Client, Connection, Error};

use crate::compute::ScenarioCode;
use crate::config::{LiveSettings, Settings};

/// A version, ready to run.
#[derive(Clone, Debug)]
pub struct Known {
    /// Our number of it.
    pub no: ScenarioNo,
    /// Name and version.
    pub reference: ScenarioRef,
    /// The model; the text of the faults where this program cannot read what another stored.
    pub scenario: Result<Arc<Scenario>, Arc<str>>,
    /// The time that its code takes.
    pub code: Arc<ScenarioCode>,
}

impl Known {
    /// The model, where this program can read it.
    #[must_use]
    pub fn readable(self) -> Option<Arc<Scenario>> {
        self.scenario.ok()
    }
}

/// Parts that any version hides.
#[derive(Clone, Debug, Default)]
pub struct Hidden {
    /// Paths that are masked.
    pub mask: Mask,
    /// Names of the secrets that calls use.
    pub secrets: BTreeSet<String>,
}

/// The catalogue. Cheap to clone.
#[derive(Clone)]
pub struct Catalogue {
    live: LiveSettings,
    /// Reads what is stored.
    stored: Arc<Scripting>,
    inner: Arc<RwLock<Inner>>,
    /// Grows with every use: what was used last has the greatest.
    turn: Arc<AtomicU64>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Every version up to this number has been read.
    read_to: i32,
    newest: HashMap<Arc<str>, (i32, ScenarioNo)>,
    hidden: Hidden,
    /// Compiled versions.
    by_no: HashMap<ScenarioNo, Compiled>,
    by_version: HashMap<(Arc<str>, i32), ScenarioNo>,
    /// Bytes of their texts.
    bytes: usize,
    max_bytes: usize,
}

#[derive(Debug)]
struct Compiled {
    known: Known,
    /// The settings by which it was compiled.
    by: Arc<Settings>,
    bytes: usize,
    used: AtomicU64,
}

impl Compiled {
    /// True where these settings would compile it to the same.
    fn holds_by(&self, settings: &Settings) -> bool {
        self.by.scenario.target_steps == settings.scenario.target_steps
    }
}

impl Catalogue {
    /// The catalogue of a process with these settings.
    #[must_use]
    pub fn of(live: &LiveSettings) -> Self {
        let inner = Inner { max_bytes: live.now().max_cached_scenarios, ..Inner::default() };
        Self {
            live: live.clone(),
            stored: Arc::new(Scripting::of_stored()),
            inner: Arc::new(RwLock::new(inner)),
            turn: Arc::default(),
        }
    }

    /// Reads what was added since the last call: one short query where nothing was. Called before
    /// each batch of registrations, so that a version counts from the moment it is applied.
    pub async fn refresh(&self, client: &Client) -> Result<(), Error> {
        let last = scenarios::last(client).await?.0;
        let mut read_to = self.read().read_to;
        // Nothing below comes later: versions are stored one after the other.
        while read_to < last {
            let page = scenarios::since(client, ScenarioNo(read_to)).await?;
            read_to = page.last().map_or(last, |version| version.no.0);
            self.add(with_operations(client, page).await?, read_to);
        }
        Ok(())
    }

    /// The version with this number, read from the database where it is not compiled.
    pub async fn get(&self, client: &impl Connection, no: ScenarioNo) -> Result<Option<Known>, Error> {
        if let Some(known) = self.compiled(no) {
            return Ok(Some(known));
        }
        let versions = scenarios::get(client, &[no.0]).await?;
        Ok(self.add(with_operations(client, versions).await?, 0))
    }

    /// The newest version of a name, or the one asked for, read where it is not compiled.
    pub async fn find(
        &self,
        client: &impl Connection,
        name: &str,
        version: Option<i32>,
    ) -> Result<Option<Known>, Error> {
        let found = {
            let inner = self.read();
            let Some(&(newest, no)) = inner.newest.get(name) else { return Ok(None) };
            match version.filter(|version| *version != newest) {
                None => Some(no),
                // Versions count from 1 without gaps: nobody is asked for one that cannot be.
                Some(version) if !(1..newest).contains(&version) => return Ok(None),
                Some(version) => inner.by_version.get(&(Arc::from(name), version)).copied(),
            }
        };
        match (found, version) {
            (Some(no), _) => self.get(client, no).await,
            (None, Some(version)) => {
                let versions = scenarios::find(client, name, version).await?;
                Ok(self.add(with_operations(client, versions).await?, 0))
            }
            (None, None) => Ok(None),
        }
    }

    /// The queue that an order will stand in, as far as it is known without a look at the database: its own word, or that
    /// of its scenario.
    #[must_use]
    pub fn queue_of(&self, request: &Request) -> Option<String> {
        let of_scenario = || {
            let no = {
                let inner = self.read();
                match request.scenario_version {
                    None => inner.newest.get(request.scenario.as_str()).map(|(_, no)| *no),
                    Some(version) => {
                        inner.by_version.get(&(Arc::from(request.scenario.as_str()), version)).copied()
                    }
                }
            };
            let scenario = self.compiled(no?)?.readable()?;
            scenario.queue.as_ref()?.queue(&request.params).ok()
        };
        request.queue.clone().or_else(of_scenario)
    }

    /// The name of a scenario that was most probably meant by this one.
    #[must_use]
    pub fn nearest(&self, name: &str) -> Option<String> {
        nearest(name, self.read().newest.keys().map(|known| &**known)).map(str::to_owned)
    }

    /// Parts that any version hides that was ever read.
    #[must_use]
    pub fn hidden(&self) -> Hidden {
        self.read().hidden.clone()
    }

    fn compiled(&self, no: ScenarioNo) -> Option<Known> {
        let inner = self.read();
        let compiled = inner.by_no.get(&no).filter(|compiled| compiled.holds_by(&self.live.now()))?;
        compiled.used.store(self.turn.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        Some(compiled.known.clone())
    }

    /// Compiles versions. Everything up to this number has been read then. The last of them.
    fn add(&self, versions: Vec<(Version, Library)>, read_to: i32) -> Option<Known> {
        let (mut last, settings) = (None, self.live.now());
        for (version, library) in versions {
            let bytes = version.source.len() + library.bytes();
            // Parsing happens outside the lock: others read on meanwhile.
            let known = self.parse(version, &library, &settings);
            last = Some(known.clone());
            let used = AtomicU64::new(self.turn.fetch_add(1, Ordering::Relaxed));
            self.write().put(Compiled { known, by: settings.clone(), bytes, used });
        }
        let mut inner = self.write();
        inner.read_to = inner.read_to.max(read_to);
        last
    }

    fn parse(&self, version: Version, library: &Library, settings: &Settings) -> Known {
        // What was let in is read, however few states a new one may have by now.
        let bounds = Bounds { max_states: usize::MAX, ..settings.scenario.clone() };
        let scenario = source::read_with(&version.source, library, &self.stored, &bounds).map(Arc::new);
        let scenario = scenario.map_err(|faults| {
            let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
            Arc::from(lines.join("; "))
        });
        Known {
            no: version.no,
            reference: ScenarioRef { name: version.name.into(), version: version.version },
            scenario,
            code: Arc::new(ScenarioCode::of(version.no)),
        }
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Inner> {
        self.inner.read().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Inner> {
        self.inner.write().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Reads the operations that versions run. Most run none, and cost no query.
async fn with_operations(
    client: &impl Connection,
    versions: Vec<Version>,
) -> Result<Vec<(Version, Library)>, Error> {
    let runs_some = |version: &&Version| !source::operations_of(&version.source).is_empty();
    let nos: Vec<i32> = versions.iter().filter(runs_some).map(|version| version.no.0).collect();
    let mut libraries = HashMap::new();
    if !nos.is_empty() {
        libraries.extend(nos.iter().copied().zip(operations::libraries(client, &nos).await?));
    }
    let with = |version: Version| {
        let library = libraries.remove(&version.no.0).unwrap_or_default();
        (version, library)
    };
    Ok(versions.into_iter().map(with).collect())
}

impl Inner {
    fn put(&mut self, compiled: Compiled) {
        let Known { no, reference, scenario, .. } = compiled.known.clone();
        let ScenarioRef { name, version } = reference;
        if let Ok(scenario) = scenario {
            self.hidden.mask.join(&scenario.mask);
            self.hidden.secrets.extend(scenario.secrets().flatten().cloned());
        }
        let newest = self.newest.entry(name.clone()).or_insert((version, no));
        if newest.0 < version {
            *newest = (version, no);
        }
        self.by_version.insert((name, version), no);
        self.bytes += compiled.bytes;
        if let Some(former) = self.by_no.insert(no, compiled) {
            self.bytes -= former.bytes;
        }
        // The one that was just put in stays, however long it is.
        while self.bytes > self.max_bytes && self.by_no.len() > 1 {
            self.release_oldest(no);
        }
    }

    /// Releases the version that was not used for longest, the newest ones of their names last.
    fn release_oldest(&mut self, of_now: ScenarioNo) {
        let others = self.by_no.iter().filter(|(no, _)| **no != of_now);
        let oldest = others.min_by_key(|(no, compiled)| {
            let newest = self.newest.get(&compiled.known.reference.name);
            let is_newest = newest.is_some_and(|(_, newest)| newest == *no);
            (is_newest, compiled.used.load(Ordering::Relaxed))
        });
        let Some(gone) = oldest.map(|(no, _)| *no).and_then(|no| self.by_no.remove(&no)) else { return };
        self.bytes -= gone.bytes;
        let ScenarioRef { name, version } = gone.known.reference;
        self.by_version.remove(&(name, version));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn version(no: i32, name: &str, version: i32) -> Version {
        let source = format!(
            "scenario: {name}\nkind: workflow\ninitialState: done\ntargetStates: [done]\nmask: [params.p{no}]\n\
             states: {{done: {{kind: terminal}}}}\n"
        );
        Version { no: ScenarioNo(no), name: name.to_owned(), version, source }
    }

    /// Versions that run no operations.
    fn alone<const N: usize>(versions: [Version; N]) -> Vec<(Version, Library)> {
        versions.into_iter().map(|version| (version, Library::default())).collect()
    }

    fn catalogue(max_bytes: usize) -> Catalogue {
        let bound = ("PAGURUS__SCENARIO__MAX_CACHED_BYTES".to_owned(), max_bytes.to_string());
        Catalogue::of(&LiveSettings::load(None, [bound].into_iter()).unwrap())
    }

    #[test]
    fn qlt_3_versions_leave_memory_the_newest_of_each_name_last() {
        let bytes = version(1, "a", 1).source.len();
        let catalogue = catalogue(bytes * 4);
        let of_other = catalogue.add(alone([version(1, "b", 1)]), 1).unwrap();
        assert!(of_other.scenario.is_ok(), "{of_other:?}");
        for no in 2..10 {
            catalogue.add(alone([version(no, "a", no - 1)]), no);
            // The first of them is in use.
            assert!(catalogue.compiled(ScenarioNo(2)).is_some());
        }
        let compiled: Vec<i32> = (1..10).filter(|no| catalogue.compiled(ScenarioNo(*no)).is_some()).collect();
        assert_eq!(compiled, [1, 2, 8, 9]);
        let inner = catalogue.read();
        assert!(inner.bytes <= bytes * 4 && inner.by_version.len() == 4, "{} bytes", inner.bytes);
        assert_eq!((inner.read_to, inner.newest["a"]), (9, (8, ScenarioNo(9))));
    }

    #[test]
    fn scn_15_what_a_version_hides_stays_hidden_when_it_has_left_memory() {
        let catalogue = catalogue(1);
        catalogue.add(alone([version(1, "a", 1), version(2, "a", 2)]), 2);
        assert!(catalogue.compiled(ScenarioNo(1)).is_none() && catalogue.compiled(ScenarioNo(2)).is_some());
        let mut params = serde_json::json!({"p1": "x", "p2": "x", "p3": "x"});
        catalogue.hidden().mask.params(&mut params);
        assert_eq!(params["p3"], "x");
        assert!(params["p1"] != "x" && params["p2"] != "x", "{params}");
    }
}
