//! Scenarios that run an operation (SCN-19): and the faults that they would have if they were applied again.

use std::collections::BTreeSet;

use pagurus_domain::access::scope::OwnedKind;
use pagurus_domain::document::Fault;
use pagurus_runtime::aside;
use pagurus_scenario::script::Scripting;
use pagurus_scenario::{Library, LibraryEntry, MOST_NESTED, Scenario, ScenarioKind, source};
use pagurus_store::outside::scenarios::operations::{self, OperationUser};
use pagurus_wire::problem::{Problem, Type};
use pagurus_wire::scenarios::OperationUserView;

use super::{CHECKED, defect};
use crate::Views;

/// Most scenarios that are looked at for one operation.
const MOST_USERS: usize = 50;

/// Number under which the text in question stands among the stored ones.
const IN_QUESTION: i32 = -1;

impl Views {
    /// The operations that a text which is not stored names: what it would mean by them if it were stored now.
    pub async fn operations_of(&self, text: &str) -> Result<Library, Problem> {
        let mut named = source::operations_of(text);
        named.retain(|(name, _)| self.scope.has(OwnedKind::Scenario, name));
        if named.is_empty() {
            return Ok(Library::pinned(Library::UNSTORED, [], []));
        }
        let found = async { operations::wanted(&self.host.store.api().await?, &named).await };
        found.await.map_err(self.failed("operations"))
    }

    /// The newest versions of the scenarios that run an operation, each with what would be wrong with it if it were applied
    /// now, with the operation as it is in question. At most fifty are looked at.
    pub async fn operation_users(
        &self,
        operation: &Scenario,
        text: &str,
    ) -> Result<Vec<OperationUserView>, Problem> {
        if operation.kind != ScenarioKind::Operation {
            return Ok(Vec::new());
        }
        let found = async { self.users(&operation.name).await }.await;
        let mut users = found.map_err(self.failed("operations"))?;
        users.retain(|(_, user, _)| self.scope.has(OwnedKind::Scenario, &user.name));
        if users.is_empty() {
            return Ok(Vec::new());
        }
        let (name, text) = (operation.name.clone(), text.to_owned());
        let settings = self.host.settings();
        let judged = aside::run("users", move || {
            let scripting = Scripting::new(settings.scenario.script.clone());
            let judge = |(operation, user, library): (String, OperationUser, Library)| {
                let entry =
                    LibraryEntry { name: name.clone(), version: None, file: None, text: text.clone() };
                let library = library.with(IN_QUESTION, entry);
                let read = source::read_with(&user.source, &library, &scripting, &settings.scenario);
                view(operation, &user, &read.err().unwrap_or_default())
            };
            users.into_iter().map(judge).collect::<Vec<_>>()
        });
        let Ok(place) = CHECKED.acquire().await else { return Err(defect()) };
        let judged = judged.await.ok_or_else(defect)?;
        drop(place);
        Ok(judged)
    }

    /// Scenarios that run the operation, and those that run one of them, each with the operation that it runs.
    async fn users(&self, name: &str) -> Result<Vec<(String, OperationUser, Library)>, pagurus_store::Error> {
        let client = self.host.store.api().await?;
        let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
        let mut names = vec![name.to_owned()];
        for _ in 0..MOST_NESTED {
            let mut next = Vec::new();
            for name in names {
                for user in operations::users(&client, &name, MOST_USERS as i64).await? {
                    if found.len() < MOST_USERS && seen.insert(user.name.clone()) {
                        let library =
                            operations::wanted(&client, &source::operations_of(&user.source)).await?;
                        next.push(user.name.clone());
                        found.push((name.clone(), user, library));
                    }
                }
            }
            names = next;
        }
        Ok(found)
    }
}

fn view(operation: String, user: &OperationUser, faults: &[Fault]) -> OperationUserView {
    OperationUserView {
        scenario: user.name.clone(),
        version: user.version,
        operation,
        operation_version: user.pinned,
        faults: Problem::of_faults(Type::Invalid, faults).errors,
    }
}
