//! Scenarios, their versions, and their texts.

use std::collections::BTreeSet;

use jiff::Timestamp;
use pagurus_domain::document::Fault;
use pagurus_domain::scenario::Scenario;
use pagurus_domain::scenario::script::Scripting;
use pagurus_domain::scenario::source::{self, Reading};
use pagurus_domain::scenario::value::Secrets as _;
use pagurus_store::scenarios;
use pagurus_wire::order::Page;
use pagurus_wire::problem::{Problem, Type};
use pagurus_wire::scenarios::{ScenarioLine, VersionLine};

use crate::Views;

impl Views {
    /// Scenarios by name, each with its newest version.
    pub async fn scenarios(&self) -> Result<Page<ScenarioLine>, Problem> {
        let rows = async { scenarios::list(&self.host.store.api().await?).await };
        let rows = rows.await.map_err(self.failed("scenarios"))?.into_iter();
        let items =
            rows.map(|(scenario, version, created_at)| ScenarioLine { scenario, version, created_at });
        Ok(Page { items: items.collect(), next: None })
    }

    /// Versions of a scenario.
    pub async fn versions(&self, name: &str) -> Result<Page<VersionLine>, Problem> {
        let versions = self.versions_of(name).await?.into_iter();
        let items = versions.map(|(version, created_at, _)| VersionLine { version, created_at });
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

    /// Reads a text as a scenario with its warnings, or with all its faults where it is not sound. Warned of is also what
    /// this deployment does not have: constants, secrets, and scenarios of children. They may come later.
    pub async fn examine_scenario(&self, text: &str) -> Result<Reading, Problem> {
        let settings = self.host.settings();
        let scripting = Scripting::new(settings.scenario.script.clone());
        let read = source::read_with_warnings(text, &scripting, &settings.scenario);
        let mut reading = read.map_err(|faults| Problem::of_faults(Type::Invalid, &faults))?;
        let unknown = self.unknown_here(&reading).await?;
        reading.warnings.extend(unknown);
        Ok(reading)
    }

    async fn unknown_here(&self, reading: &Reading) -> Result<Vec<Fault>, Problem> {
        let settings = self.host.settings();
        let known = &settings.constants;
        let constants = reading.constants.iter().filter(|(name, _)| known.get(name.as_str()).is_none());
        let mut unknown: Vec<Fault> = constants
            .map(|(name, at)| {
                let told = format!("this deployment has no constant `config.{name}`");
                let remedy =
                    format!("add `{name}` under `config` of its configuration before the first order");
                Fault::placed(Some(*at), "", told).hint(remedy)
            })
            .collect();
        let secrets: BTreeSet<&String> = reading.scenario.secrets().flatten().collect();
        unknown.extend(secrets.into_iter().filter(|name| self.secrets.secret(name).is_none()).map(|name| {
            let told = format!("this node can read no secret `{name}`");
            Fault::placed(None, "", told)
                .hint("give it to all nodes of intake and worker before the first order")
        }));
        for child in reading.children().into_iter().filter(|child| *child != reading.scenario.name) {
            let found = async { scenarios::versions(&self.host.store.api().await?, child).await };
            if found.await.map_err(self.failed("scenarios"))?.is_empty() {
                let told = format!("there is no scenario `{child}` for its child orders");
                unknown.push(Fault::placed(None, "", told).hint("apply it before the first order"));
            }
        }
        Ok(unknown)
    }

    async fn versions_of(&self, name: &str) -> Result<Vec<(i32, Timestamp, String)>, Problem> {
        let versions = async { scenarios::versions(&self.host.store.api().await?, name).await };
        let versions = versions.await.map_err(self.failed("scenarios"))?;
        if versions.is_empty() { Err(Problem::no_scenario(name, None)) } else { Ok(versions) }
    }
}
