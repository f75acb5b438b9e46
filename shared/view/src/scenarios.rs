//! Scenarios, their versions, and their texts.

use jiff::Timestamp;
use pagurus_domain::document::Fault;
use pagurus_domain::scenario::script::Scripting;
use pagurus_domain::scenario::{Scenario, source};
use pagurus_store::scenarios;
use pagurus_wire::order::Page;
use pagurus_wire::problem::{Problem, Type};
use serde_json::{Value, json};

use crate::Views;

impl Views {
    /// Scenarios by name, each with its newest version.
    pub async fn scenarios(&self) -> Result<Page<Value>, Problem> {
        let rows = async { scenarios::list(&self.host.store.api().await?).await };
        let rows = rows.await.map_err(self.failed("scenarios"))?.into_iter();
        let items = rows.map(|(name, version, created_at)| {
            json!({"scenario": name, "version": version, "createdAt": created_at})
        });
        Ok(Page { items: items.collect(), next: None })
    }

    /// Versions of a scenario.
    pub async fn versions(&self, name: &str) -> Result<Page<Value>, Problem> {
        let versions = self.versions_of(name).await?.into_iter();
        let items =
            versions.map(|(version, created_at, _)| json!({"version": version, "createdAt": created_at}));
        Ok(Page { items: items.collect(), next: None })
    }

    /// The text of a version as it was applied; of the newest one where none is named.
    pub async fn scenario_text(&self, name: &str, version: Option<i32>) -> Result<String, Problem> {
        let mut versions = self.versions_of(name).await?.into_iter();
        let found = versions.find(|(number, ..)| version.is_none_or(|version| version == *number));
        found.map(|(_, _, text)| text).ok_or_else(|| Problem::no_scenario(name, version))
    }

    /// Reads a text as a scenario, by the bounds of the moment.
    ///
    /// # Errors
    /// All its faults, where it is not sound.
    pub fn compiled(&self, text: &str) -> Result<Scenario, Vec<Fault>> {
        let bounds = &self.host.settings().scenario;
        source::read(text, &Scripting::new(bounds.script.clone()), bounds)
    }

    /// Reads a text as a scenario, and tells its faults as a problem.
    pub fn read_scenario(&self, text: &str) -> Result<Scenario, Problem> {
        self.compiled(text).map_err(|faults| Problem::of_faults(Type::Invalid, &faults))
    }

    async fn versions_of(&self, name: &str) -> Result<Vec<(i32, Timestamp, String)>, Problem> {
        let versions = async { scenarios::versions(&self.host.store.api().await?, name).await };
        let versions = versions.await.map_err(self.failed("scenarios"))?;
        if versions.is_empty() { Err(Problem::no_scenario(name, None)) } else { Ok(versions) }
    }
}
