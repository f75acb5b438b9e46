//! Calls of recovery, of operators and of the dispatcher, and those by which a stage gets on.

use jiff::{SignedDuration, Timestamp};
use pagurus_domain::order::ScenarioStatus;
use pagurus_domain::order::transition::Cause;
use pagurus_domain::recovery::{Finding, Remedy, Suspicion, remedy};
use pagurus_simulation::store as model;
use pagurus_simulation::witness::MAX_RESTARTS;
use pagurus_store::hot::control;
use pagurus_store::hot::dependencies;
use pagurus_store::hot::stages;
use pagurus_store::hot::stages::advance::{Advance, Entered, advance};
use pagurus_store::outside::amend;
use pagurus_store::outside::amend::Postponement;
use pagurus_store::outside::ends::{self, Ending};
use pagurus_store::recovery::leases;
use pagurus_store::recovery::lost;

use super::{Both, Claims, model_finished, of_model, of_real};

impl Both {
    pub(super) async fn reissue(&mut self) {
        let no = self.any_no();
        let finding = if self.chance.happens(500_000) { Finding::NodeLost } else { Finding::Released };
        let mut client = self.ground.work().await;
        let tx = client.transaction().await.unwrap();
        let stuck = lost::of_orders(&tx, &[no.0]).await.unwrap();
        let again: Vec<_> = stuck
            .iter()
            .filter_map(|one| {
                match remedy(
                    finding,
                    u16::try_from(one.restarts).unwrap(),
                    Suspicion::default(),
                    MAX_RESTARTS,
                ) {
                    Remedy::HandOutAgain { restarts, .. } => Some((one, i16::try_from(restarts).unwrap())),
                    Remedy::Poison => None,
                }
            })
            .collect();
        let real = of_real(&lost::reissue(&tx, &again, "test", finding.as_str()).await.unwrap());
        tx.commit().await.unwrap();
        let (ready, ..) = self.tables.hand_out_again(&[no], finding, MAX_RESTARTS);
        self.same(&format!("reissue {no}"), real, of_model(&ready));
    }

    pub(super) async fn end(&mut self) {
        let no = self.any_no();
        let causes = [
            Cause::Killed,
            Cause::Canceled,
            Cause::Interrupted,
            Cause::ProcessTimedOut,
            Cause::StartDeadlinePassed,
        ];
        let cause = causes[usize::try_from(self.chance.below(5)).unwrap()];
        let mut client = self.ground.work().await;
        let tx = client.transaction().await.unwrap();
        let orders = control::lock_all(&tx, &[no.0]).await.unwrap().orders;
        let real = match orders.first().map(|order| order.may(cause)) {
            None => None,
            Some(Err(refused)) => Some(Err(refused)),
            Some(Ok(allowed)) => {
                let ending = Ending { error: None, step: None, source: "test", detail: "{}".to_owned() };
                ends::end_lives(&tx, &[(allowed, ending)]).await.unwrap();
                Some(Ok(()))
            }
        };
        tx.commit().await.unwrap();
        let model = self.tables.end_life(no, &model::Ending { cause, error: None, pass: None });
        self.same(&format!("{cause} {no}"), real, model.map(|ended| ended.map(|_| ())));
    }

    pub(super) async fn reopen(&mut self) {
        let no = self.any_no();
        let mut client = self.ground.work().await;
        let tx = client.transaction().await.unwrap();
        let orders = control::lock_all(&tx, &[no.0]).await.unwrap().orders;
        // What it waited for and was not met, it waits for again.
        let unmet = !dependencies::closed(&tx, &[no.0]).await.unwrap().is_empty();
        let cause = if unmet { Cause::RestartPostponed } else { Cause::Restarted };
        let real = match orders.first().map(|order| order.may(cause)) {
            None => None,
            Some(Err(refused)) => Some(Err(refused)),
            Some(Ok(allowed)) => {
                let new = amend::Reopening {
                    keeps_answers: false,
                    snapshot: None,
                    entry_point: None,
                    scenario: None,
                    postponed: unmet.then_some(Postponement::ForOthers),
                    params: None,
                    start_deadline: None,
                    process_timeout: None,
                    source: "test",
                    detail: "{}".to_owned(),
                };
                Some(Ok(of_real(&amend::reopen_all(&tx, &[(allowed, new)]).await.unwrap())))
            }
        };
        tx.commit().await.unwrap();
        self.tables.now = Timestamp::now();
        assert_eq!(unmet, self.tables.has_closed_conditions(no), "order {no}");
        let model = self.tables.reopen(no, cause, true);
        let ready = |ready: Option<model::ReadyStage>| of_model(ready.as_slice());
        self.same(&format!("{cause} {no}"), real, model.map(|begun| begun.map(ready)));
    }

    pub(super) async fn release(&mut self) {
        let Some(index) = self.any_claim() else { return };
        let claims = &self.claims[index];
        let (no, pass, model_pass) = (claims.real.head.no, claims.real.pass, claims.model.pass);
        let mut client = self.ground.work().await;
        let tx = client.transaction().await.unwrap();
        let real = stages::give_queue_up(&tx, no, pass).await.unwrap();
        tx.commit().await.unwrap();
        let model = self.tables.give_queue_up(no, model_pass);
        self.same(&format!("release {no}"), real, model);
    }

    pub(super) async fn save(&mut self) {
        let Some(index) = self.any_claim() else { return };
        let Claims { real, model } = &self.claims[index];
        let until = Timestamp::now() + SignedDuration::from_secs(900);
        let entered = Entered {
            step: "a".to_owned(),
            entry_point: Some("a".to_owned()),
            attempt: real.attempt,
            scenario_status: ScenarioStatus::OnTarget,
            visited: 2,
            distance: Some(1),
            started_at: real.now,
            snapshot: "{}".to_owned(),
            history: "{}".to_owned(),
            answers: Vec::new(),
            notifications: Vec::new(),
        };
        let stage = Advance { no: real.head.no, pass: real.pass, until, entered: Some(entered) };
        let saved = model::Finished { until, visited: 2, ..model_finished(model, None) };
        let no = real.head.no;
        let mut client = self.ground.work().await;
        let tx = client.transaction().await.unwrap();
        let ours = advance(&tx, "w-1", &[&stage]).await.unwrap().contains(&no);
        tx.commit().await.unwrap();
        let model = self.tables.advance(&[saved])[0];
        self.same(&format!("save {no}"), ours, model);
    }

    pub(super) async fn take_over(&mut self) {
        let node = self.ground.node;
        let ttl = std::time::Duration::ZERO;
        let mut client = self.ground.work().await;
        let tx = client.transaction().await.unwrap();
        let real = leases::acquire(&tx, "dispatcher", node, ttl, None).await.unwrap();
        tx.commit().await.unwrap();
        self.tables.now = Timestamp::now();
        let model = self.tables.acquire(node, ttl);
        self.epoch = real.unwrap_or(self.epoch);
        self.same("take over", real, model);
    }
}
