//! Rules and policies for failures, as an order meets them where it stands (ERR-15, SCN-19).

use pagurus_domain::retry::{ErrorClass, ErrorPolicy, ErrorRules, Interaction, Outcome as Answered};
use pagurus_domain::system::host_and_path;

use super::super::HttpAction;
use super::names::entry_of;
use super::snapshot::Snapshot;
use super::{Scenario, StageRun, StageTurn};

impl StageRun {
    /// Rules and policies for failures: those of the deployment, behind them those of the operations from the inside to the
    /// outside, and those of the scenario.
    pub(super) fn errors<'t>(&self, turn: &StageTurn<'t>) -> ErrorRules<'t> {
        self.cursor.rules(&turn.settings.errors, turn.scenario)
    }

    /// The class of the outcome of a call, if it is a failure.
    pub(super) fn classify(
        &self,
        http: &HttpAction,
        url: &str,
        answered: &Answered<'_>,
        turn: &StageTurn<'_>,
    ) -> Option<ErrorClass> {
        let (host, path) = host_and_path(url);
        let interaction = Interaction { method: http.method.as_str(), host, path };
        self.errors(turn).classify(&interaction, answered).map(|classified| classified.class)
    }
}

impl Snapshot {
    /// Rules and policies for the next failure of an order that stands here: those of the deployment, behind them those of
    /// the operations from the inside to the outside, and those of the scenario.
    #[must_use]
    pub fn rules<'a>(&self, deployment: &'a ErrorPolicy, scenario: &'a Scenario) -> ErrorRules<'a> {
        let open = self.operations.iter().filter(|_| self.handling.is_none());
        let entries = open.filter_map(|operation| entry_of(scenario, self, operation));
        let rules = ErrorRules::of(deployment, &scenario.errors);
        entries.fold(rules, |rules, enter| rules.inside(&enter.operation.name, &enter.operation.errors))
    }
}
