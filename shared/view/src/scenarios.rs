//! Scenarios, their versions, and their texts.

mod users;

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use pagurus_domain::access::scope::OwnedKind;
use pagurus_domain::document::Fault;
use pagurus_domain::retry::{ErrorPolicy, Interaction};
use pagurus_domain::system::host_and_path;
use pagurus_runtime::aside;
use pagurus_runtime::config::SecretTargets;
use pagurus_scenario::script::Scripting;
use pagurus_scenario::source::{self, Reading};
use pagurus_scenario::value::Secrets as _;
use pagurus_scenario::{Library, Scenario};
use pagurus_store::outside::scenarios;
use pagurus_wire::order::Page;
use pagurus_wire::problem::{Problem, Type};
use pagurus_wire::scenarios::{ScenarioLine, VersionLine};
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::Views;
use crate::query::{ListQuery, cursor, page};

/// Texts that are examined at the same time: that needs processors that orders need, too.
static CHECKED: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(aside::places()));

fn defect() -> Problem {
    Problem::new(Type::Internal, "the engine failed; its log has details")
}

impl Views {
    /// Scenarios by name, each with its newest version.
    pub async fn scenarios(&self, query: &ListQuery) -> Result<Page<ScenarioLine>, Problem> {
        let (limit, behind) = (query.limit()?, query.cursor().unwrap_or_default());
        let rows = async { scenarios::list(&self.host.store.api().await?, behind, limit as i64).await };
        let rows = rows.await.map_err(self.failed("scenarios"))?;
        let line = |(scenario, version, created_at)| ScenarioLine { scenario, version, created_at };
        let mut page = page(rows, limit, |(name, ..)| name.clone(), line);
        page.items.retain(|line| self.scope.has(OwnedKind::Scenario, &line.scenario));
        Ok(page)
    }

    /// Versions of a scenario.
    pub async fn versions(&self, name: &str, query: &ListQuery) -> Result<Page<VersionLine>, Problem> {
        let (limit, below) = (query.limit()?, cursor(query.cursor(), i32::MAX)?);
        let rows =
            async { scenarios::versions(&self.host.store.api().await?, name, below, limit as i64).await };
        let rows = rows.await.map_err(self.failed("scenarios"))?;
        if rows.is_empty() && query.cursor().is_none() {
            return Err(Problem::no_scenario(name, None));
        }
        let line = |(version, created_at)| VersionLine { version, created_at };
        Ok(page(rows, limit, |(version, _)| version.to_string(), line))
    }

    /// The text of a version as it was applied, with its number; of the newest one where none is named.
    pub async fn scenario_text(&self, name: &str, version: Option<i32>) -> Result<(i32, String), Problem> {
        let found = async { scenarios::text(&self.host.store.api().await?, name, version).await };
        let found = found.await.map_err(self.failed("scenarios"))?;
        found.ok_or_else(|| Problem::no_scenario(name, version))
    }

    /// Reads a text as a scenario, with these operations and by the bounds of the moment.
    ///
    /// # Errors
    /// All its faults, where it is not sound.
    pub fn compiled(&self, text: &str, library: &Library) -> Result<Scenario, Vec<Fault>> {
        let bounds = &self.host.settings().scenario;
        source::read_with(text, library, &Scripting::new(bounds.script.clone()), bounds)
    }

    /// A stored version, ready to run; the newest one where none is named.
    pub async fn scenario(&self, name: &str, version: Option<i32>) -> Result<Arc<Scenario>, Problem> {
        let found = async {
            let client = self.host.store.api().await?;
            self.catalogue.refresh(&client).await?;
            self.catalogue.find(&client, name, version).await
        };
        let known = found.await.map_err(self.failed("scenarios"))?;
        let known = known.ok_or_else(|| Problem::no_scenario(name, version))?;
        known.scenario.map_err(|faults| Problem::new(Type::Invalid, faults.to_string()))
    }

    /// Reads a text as a scenario with its warnings, or with all its faults where it is not sound. Warned of is also what
    /// this deployment does not have: constants, secrets, and scenarios of children. They may come later.
    /// The operations that it runs are those that it would mean if it were stored now, and come with it.
    pub async fn examine_scenario(&self, text: &str) -> Result<(Reading, Library), Problem> {
        let settings = self.host.settings();
        let library = self.operations_of(text).await?;
        let text = text.to_owned();
        let read = aside::run("check", move || {
            let scripting = Scripting::new(settings.scenario.script.clone());
            let read = source::read_with_warnings(&text, &library, &scripting, &settings.scenario);
            read.map(|reading| (reading, library))
        });
        let Ok(place) = CHECKED.acquire().await else { return Err(defect()) };
        let read = read.await.ok_or_else(defect)?;
        drop(place);
        let (mut reading, library) = read.map_err(|faults| Problem::of_faults(Type::Invalid, &faults))?;
        let unknown = self.unknown_here(&reading).await?;
        reading.warnings.extend(unknown);
        let settings = self.host.settings();
        let targets = &settings.worker.calls.secrets;
        reading.warnings.extend(kept_secrets(&reading.scenario, targets, &settings.constants));
        reading.warnings.extend(overruled(&reading.scenario, &settings.errors, &settings.constants));
        Ok((reading, library))
    }

    async fn unknown_here(&self, reading: &Reading) -> Result<Vec<Fault>, Problem> {
        let settings = self.host.settings();
        let known = &settings.constants;
        let constants = reading.constants.iter().filter(|(name, _)| known.get(name.as_str()).is_none());
        let mut unknown: Vec<Fault> = constants
            .map(|(name, at)| {
                let message = format!("this deployment has no constant `config.{name}`");
                let remedy =
                    format!("add `{name}` under `config` in its configuration before the first order");
                Fault::placed(Some(*at), "", message).hint(remedy)
            })
            .collect();
        let secrets: BTreeSet<&String> = reading.scenario.secrets().flatten().collect();
        unknown.extend(secrets.into_iter().filter(|name| self.secrets.secret(name).is_none()).map(|name| {
            let message = format!("this node cannot read a secret `{name}`");
            Fault::placed(None, "", message)
                .hint("give it to all intake and worker nodes before the first order")
        }));
        for child in reading.children().into_iter().filter(|child| *child != reading.scenario.name) {
            let found = async { scenarios::text(&self.host.store.api().await?, child, None).await };
            let found = found.await.map_err(self.failed("scenarios"))?;
            if found.is_none() || !self.scope.has(OwnedKind::Scenario, child) {
                let message = format!("there is no scenario `{child}`, which its child orders need");
                unknown.push(Fault::placed(None, "", message).hint("apply it before the first order"));
            }
        }
        Ok(unknown)
    }
}

/// Warnings of calls that will fail because a secret of them may not be sent to their host. What an address decides is seen
/// when it is called.
fn kept_secrets(scenario: &Scenario, targets: &SecretTargets, constants: &Value) -> Vec<Fault> {
    let mut warnings: Vec<Fault> = Vec::new();
    for (url, secrets) in scenario.called_with_secrets(constants) {
        let (authority, usual) = (host_and_path(&url).0, if url.starts_with("https:") { 443 } else { 80 });
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, port.parse().unwrap_or(usual)),
            _ => (authority, usual),
        };
        if let Err(message) = targets.left_to_address(secrets, host.trim_matches(['[', ']']), port) {
            let warning =
                Fault::placed(None, "", message).hint("each such call fails with `secret.forbidden`");
            if warnings.iter().all(|other| other.message != warning.message) {
                warnings.push(warning);
            }
        }
    }
    warnings
}

/// Warnings of failures for which the scenario brings a class along, and the deployment, which is asked first, has another.
fn overruled(scenario: &Scenario, deployment: &ErrorPolicy, constants: &Value) -> Vec<Fault> {
    let mut warnings: Vec<Fault> = Vec::new();
    for (method, url) in scenario.called(constants) {
        let rest = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let interaction = Interaction { method, host, path };
        for taken in scenario.errors.overruled_by(deployment, &interaction) {
            let message = format!(
                "the rules of this deployment give the class `{}` where this scenario gives `{}` ({} of {method} {path})",
                taken.class, taken.own, taken.outcome
            );
            let hint =
                "use that class in the policies, or ask for a rule of the deployment with a narrower path";
            let warning = Fault::placed(None, "/errors", message).hint(hint);
            if warnings.iter().all(|other| other.message != warning.message) {
                warnings.push(warning);
            }
        }
    }
    warnings
}
