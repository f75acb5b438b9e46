//! "Why is it not running?", in one plain sentence (ORD-28).

mod actor;
mod capacity;
mod eta;
mod flow;
mod promise;
mod sentence;
mod system;

use pagurus_domain::MASKED;
use pagurus_domain::id::ScenarioNo;
use pagurus_domain::order::wait_reason::WaitReason;
use pagurus_runtime::scenarios::Known;
use pagurus_store::hot::outbox;
use pagurus_store::recovery::consistency::marks::{self, InconsistencyMark};
use pagurus_wire::explain::Explanation;
use pagurus_wire::order::UnsentView;
use pagurus_wire::problem::Problem;

use crate::{Views, foresight, retry};
pub use promise::{Foresight, plain_reason};
use sentence::Explainer;

/// Prefix of the names of requests to actors.
const ACTOR: &str = "actor.";

impl Views {
    /// Explains where an order stands and what it waits for.
    pub async fn explain(&self, id: &str) -> Result<Explanation, Problem> {
        let (client, mut row) = self.found(id).await?;
        if self.scope.hides_payloads() {
            // Messages and targets are made of payloads.
            row.error_message = row.error_message.map(|_| MASKED.to_owned());
        }
        let settings = &self.host.settings();
        let read = async {
            let known = self.catalogue.get(&client, ScenarioNo(row.scenario_no)).await?;
            let scenario = known.and_then(Known::readable);
            let cycles = retry::cycles(settings, scenario.as_deref(), &row, jiff::Timestamp::now());
            let explainer = Explainer { settings, scope: &self.scope };
            let (mut reason, mut explanation) = explainer.sentence(&client, &row, &cycles).await?;
            if let Some((of_actor, clause)) = self.of_actor(&client, &row, reason).await? {
                reason = of_actor;
                explanation.push_str(&clause);
            }
            explanation.extend(marks::of_order(&client, row.no).await?.map(|mark| marked(&mark)));
            let mut unsent = outbox::shown::of_order(&client, row.no).await?;
            if self.scope.hides_payloads() {
                unsent.iter_mut().for_each(|one| one.last_error = None);
            }
            explanation.extend(undelivered(&unsent));
            let promise = promise::of_order(&client, &row).await?;
            explanation.extend(promise.as_ref().and_then(foresight::clause));
            let (eta, still) = eta::of(&client, &row, settings, jiff::Timestamp::now()).await?;
            explanation.extend(still);
            Ok((reason, explanation, eta, promise))
        };
        let (reason, explanation, eta, promise) = read.await.map_err(self.failed("read"))?;
        let (status, reason) = (row.status.to_string(), reason.to_string());
        Ok(Explanation { id: row.id, status, reason, explanation, eta, promise })
    }
}

/// Further clause for an order whose rows contradict each other.
fn marked(mark: &InconsistencyMark) -> String {
    format!(
        "; it has been inconsistent since {} ({}): a person has to check it, and repair or restart it",
        mark.found_at,
        mark.findings.join(", ")
    )
}

/// Further clause for an order with notifications that need a person.
fn undelivered(unsent: &[UnsentView]) -> Option<String> {
    let mut parked = unsent.iter().filter_map(|one| Some((one, one.parked_because.as_deref()?)));
    let (first, why) = parked.next()?;
    let (others, are, them) = match parked.count() {
        0 => (String::new(), "is", "it"),
        count => (format!(" and {count} more"), "are", "them"),
    };
    let error = first.last_error.as_deref().map_or_else(String::new, |error| format!(": {error}"));
    Some(format!(
        "; its notification `{}`{others} {are} parked ({why}{error}) until somebody sends {them} again (`resend`)",
        first.kind
    ))
}

/// A reason with its sentence.
type WaitSentence = (WaitReason, String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ord_19_what_is_parked_is_said_and_what_is_on_its_way_is_not() {
        let unsent = |kind: &str, why: Option<&str>| UnsentView {
            life: 1,
            kind: kind.into(),
            subscription: None,
            target: "amqp://?key=k".into(),
            attempts: 1,
            parked_because: why.map(str::to_owned),
            last_error: why.map(|_| "nobody listens".to_owned()),
            next_at: None,
        };
        assert_eq!(undelivered(&[unsent("final", None)]), None);
        let parked =
            [unsent("final", Some("unroutable")), unsent("parked", None), unsent("final-2", Some("gone"))];
        let text = undelivered(&parked).unwrap_or_default();
        assert_eq!(
            text,
            "; its notification `final` and 1 more are parked (unroutable: nobody listens) until somebody sends them again \
             (`resend`)"
        );
    }
}
