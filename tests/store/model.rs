//! The model of the store that the simulation runs on, against a real PostgreSQL: random sequences of the same calls, the same
//! answers, and the same rows after each. What the simulation finds is worth as much as this.
//! Never compares what only a database has: ids, positions, times.

mod recovery;
mod rows;
mod waiting;

use jiff::{SignedDuration, Timestamp};
use pagurus_domain::activation::{AgeGroups, Stream};
use pagurus_domain::id::{Attempt, Epoch, OrderNo, RequestId};
use pagurus_domain::order::ScenarioStatus;
use pagurus_domain::order::stage::Then;
use pagurus_simulation::chance::Chance;
use pagurus_simulation::store as model;
use pagurus_store::hot::stages::{Claimed, Finished, ReadyStage};
use pagurus_store::outside::answers::NewCallback;
use serde_json::json;
use uuid::Uuid;

use crate::ground::{Ground, callback, fail, finished, poll, retry, success};

/// Sequences, and calls of each.
const SEQUENCES: u64 = 12;
const CALLS: u32 = 70;
const IDS: u64 = 7;

/// A claim in both worlds.
struct Claims {
    real: Claimed,
    model: model::Claimed,
}

struct Both {
    ground: Ground,
    tables: model::Tables,
    chance: Chance,
    claims: Vec<Claims>,
    /// Requests: the real one, and that of the model.
    requests: Vec<(RequestId, RequestId)>,
    epoch: Epoch,
    said: Vec<String>,
}

/// Stages that may run, as far as both can know: order, number, queue.
fn lines<'a>(ready: impl IntoIterator<Item = (OrderNo, Attempt, Option<&'a str>, bool)>) -> Vec<String> {
    let mut lines: Vec<String> = ready
        .into_iter()
        .map(|(no, attempt, queue, woken)| format!("{no}.{attempt} {queue:?} {woken}"))
        .collect();
    lines.sort_unstable();
    lines
}

fn of_real(ready: &[ReadyStage]) -> Vec<String> {
    lines(
        ready
            .iter()
            .map(|one| (one.no, one.attempt, one.place.as_ref().map(|(queue, _)| queue.as_str()), one.woken)),
    )
}

fn of_model(ready: &[model::ReadyStage]) -> Vec<String> {
    lines(
        ready
            .iter()
            .map(|one| (one.no, one.attempt, one.place.as_ref().map(|(queue, _)| queue.as_str()), one.woken)),
    )
}

impl Both {
    async fn new(seed: u64) -> Self {
        Self {
            ground: Ground::new(&format!("model{seed}")).await,
            tables: model::Tables::new(seed, None),
            chance: Chance::of(seed, 9),
            claims: Vec::new(),
            requests: Vec::new(),
            epoch: Epoch(0),
            said: Vec::new(),
        }
    }

    fn same<T: PartialEq + std::fmt::Debug>(&mut self, call: &str, real: T, model: T) {
        self.said.push(format!("{call}: {real:?}"));
        assert_eq!(real, model, "PostgreSQL left, the model right, after\n{}", self.said.join("\n"));
    }

    fn any_no(&mut self) -> OrderNo {
        let numbers: Vec<OrderNo> = self.tables.orders.keys().copied().collect();
        let index = usize::try_from(self.chance.below(numbers.len().max(1) as u64)).unwrap();
        numbers.get(index).copied().unwrap_or(OrderNo(1))
    }

    fn any_claim(&mut self) -> Option<usize> {
        let count = self.claims.len();
        // The latest more often than those that are stale by now.
        let back = self.chance.below(4).min(self.chance.below(count.max(1) as u64));
        count.checked_sub(1 + usize::try_from(back).unwrap())
    }

    async fn call(&mut self) {
        self.tables.now = Timestamp::now();
        match self.chance.below(18) {
            0 | 1 => self.register().await,
            2..=4 => self.claim().await,
            5..=7 => self.finish().await,
            8 => self.request().await,
            9 => self.answer().await,
            10 => self.wake().await,
            11 => self.reissue().await,
            12 => self.end().await,
            13 => self.reopen().await,
            15 => self.register_waiting().await,
            16 => self.look_at_conditions().await,
            17 => self.start_child().await,
            _ => match self.chance.below(3) {
                0 => self.release().await,
                1 => self.save().await,
                _ => self.take_over().await,
            },
        }
        self.compare_rows().await;
    }

    async fn register(&mut self) {
        let number = self.chance.below(IDS);
        let mut more = json!({"params": {"n": self.chance.below(2)}});
        if number.is_multiple_of(2) {
            more["mode"] = "sequential".into();
            more["queue"] = format!("q{}", number % 4).into();
        }
        if number == 5 {
            let start = Timestamp::now() + SignedDuration::from_secs(3600);
            more["lifecycle"] = json!({"startAt": start.to_string()});
        }
        let new = self.ground.new_order(&format!("o{number}"), &more);
        let real = self.ground.register(std::slice::from_ref(&new)).await;
        self.tables.now = Timestamp::now();
        let model = self.tables.register(&[new]);
        let real = match &real[0] {
            pagurus_store::outside::orders::Registered::Accepted { no, ready, .. } => {
                format!("{no} {:?}", of_real(ready.as_slice()))
            }
            pagurus_store::outside::orders::Registered::Duplicate(status) => format!("duplicate {status}"),
            pagurus_store::outside::orders::Registered::Conflict(status) => format!("conflict {status}"),
            other => panic!("{other:?}"),
        };
        // A registration that found its id takes a number all the same: the model skips it as well.
        let model = match &model[0] {
            model::Registered::Accepted { no, ready } => format!("{no} {:?}", of_model(ready.as_slice())),
            model::Registered::Duplicate(status) => format!("duplicate {status}"),
            model::Registered::Conflict(status) => format!("conflict {status}"),
            model::Registered::Behind => "behind".to_owned(),
        };
        if real.starts_with("duplicate") || real.starts_with("conflict") {
            self.tables.skip_number();
        }
        self.same(&format!("register o{number}"), real, model);
    }

    async fn claim(&mut self) {
        let no = self.any_no();
        let attempt = self.tables.still_ready(&[no]).first().map_or(Attempt(1), |(_, attempt)| *attempt);
        let attempt = if self.chance.happens(100_000) { attempt.previous() } else { attempt };
        let epoch = if self.chance.happens(100_000) { Epoch(self.epoch.0 + 1) } else { self.epoch };
        let (real, unclaimed) = self.ground.claim_under(epoch, &[(no, attempt)]).await;
        let offered = model::OfferedStage { no, attempt, epoch };
        let work = std::time::Duration::from_secs(600);
        let (model, left) = self.tables.claim(self.ground.node, work, &[offered]);
        let why = |why: String| why;
        let of_real: Vec<String> = real
            .iter()
            .map(|one| {
                format!(
                    "{:?} {} {:?} {} {} {:?}",
                    one.wake, one.restarts, one.queue, one.status, one.head.life, one.snapshot
                )
            })
            .chain(unclaimed.iter().map(|(_, reason)| why(format!("{reason:?}"))))
            .collect();
        let of_model: Vec<String> = model
            .iter()
            .map(|one| {
                format!(
                    "{:?} {} {:?} {} {} {:?}",
                    one.wake, one.restarts, one.queue, one.order.status, one.order.life, one.snapshot
                )
            })
            .chain(left.iter().map(|(_, reason)| why(format!("{reason:?}"))))
            .collect();
        self.same(&format!("claim {no}.{attempt}"), of_real, of_model);
        self.claims.extend(real.into_iter().zip(model).map(|(real, model)| Claims { real, model }));
    }

    fn any_then(&mut self, index: usize) -> (Then, Then) {
        let past = Timestamp::now() - SignedDuration::from_secs(1);
        let soon = self.chance.happens(700_000);
        let at = |then: Then| match then {
            Then::Retry { error, .. } if soon => Then::Retry { at: past, error },
            Then::Poll { .. } if soon => Then::Poll { at: past },
            other => other,
        };
        let until = if soon { past } else { past + SignedDuration::from_secs(3600) };
        let then = match self.chance.below(7) {
            0 => at(retry()),
            1 => at(poll()),
            2 => success(),
            3 => fail(),
            4 => Then::Sleep { until },
            _ => {
                let of_order = |requests: &[(RequestId, RequestId)], no: OrderNo, tables: &model::Tables| {
                    let open = requests
                        .iter()
                        .filter(|(_, model)| tables.requests.get(&model.0).is_some_and(|row| row.no == no));
                    open.copied().rev().take(2).collect::<Vec<_>>()
                };
                let asked = of_order(&self.requests, self.claims[index].model.no, &self.tables);
                let real = asked.iter().map(|(real, _)| *real).collect();
                let model = asked.iter().map(|(_, model)| *model).collect();
                return (Then::Wait { until, requests: real }, Then::Wait { until, requests: model });
            }
        };
        (then.clone(), then)
    }

    async fn finish(&mut self) {
        let Some(index) = self.any_claim() else { return };
        let (real_then, model_then) = self.any_then(index);
        let claims = &self.claims[index];
        let (no, pass) = (claims.real.head.no, claims.real.pass);
        let end = Finished { has_deadlines: true, ..finished(&claims.real, real_then) };
        let model_end = model_finished(&claims.model, Some(model_then));
        let call = format!("finish {no}.{} {:?}", claims.real.attempt, end.then.status());
        let real = self.ground.finish_under(no, pass, &end).await;
        self.tables.now = Timestamp::now();
        let (applied, ready) = self.tables.finish(&[model_end], &AgeGroups::default());
        let model = applied[0].then(|| of_model(&ready));
        self.same(&call, real.map(|ready| of_real(&ready)), model);
    }

    async fn request(&mut self) {
        let Some(index) = self.any_claim() else { return };
        let action = u32::try_from(self.chance.below(2)).unwrap();
        let claims = &self.claims[index];
        let real = self.ground.request(&claims.real, action).await;
        let of_model = &claims.model;
        let model = self.tables.register_request(
            (of_model.no, of_model.pass),
            of_model.order.life,
            (1, action),
            &format!("r{action}"),
        );
        let no = of_model.no;
        self.same(&format!("request {no} {action}"), real.is_some(), model.is_some());
        let before = self.requests.len();
        self.requests.extend(real.zip(model));
        // The same action of the same visit has the same request, in both.
        if let Some(last) = self.requests.get(before).copied() {
            let earlier: Vec<_> = self.requests[..before]
                .iter()
                .filter(|one| one.0 == last.0 || one.1 == last.1)
                .copied()
                .collect();
            assert!(earlier.iter().all(|one| *one == last), "{earlier:?} {last:?}");
        }
    }

    async fn answer(&mut self) {
        let index = usize::try_from(self.chance.below(self.requests.len() as u64 + 1)).unwrap();
        let unknown = RequestId(Uuid::from_u128(1));
        let (real, model) = self.requests.get(index).copied().unwrap_or((unknown, unknown));
        let callbacks: Vec<NewCallback> = vec![callback(real)];
        let (verdicts, woken) = self.ground.answer(&[real]).await;
        assert_eq!(callbacks.len(), verdicts.len());
        self.tables.now = Timestamp::now();
        let (words, awake) =
            self.tables.answer(&[model::NewCallback { request: model.0, content: "".into() }]);
        self.same("answer", (verdicts[0].as_str(), of_real(&woken)), (words[0], of_model(&awake)));
    }

    async fn wake(&mut self) {
        for stream in [Stream::Youngest, Stream::Wait, Stream::Polling, Stream::Retry] {
            let mut real = self.ground.wake(stream).await;
            real.sort_unstable();
            self.tables.now = Timestamp::now();
            let due: Vec<OrderNo> = self.tables.due_now(stream, 100).into_iter().map(|(no, _)| no).collect();
            let mut model: Vec<OrderNo> =
                self.tables.wake(stream, &due, None).iter().map(|one| one.no).collect();
            model.sort_unstable();
            self.same(&format!("wake {stream}"), real, model);
        }
    }
}

/// The same end in the words of the model.
fn model_finished(claimed: &model::Claimed, then: Option<Then>) -> model::Finished {
    let scenario_status = ScenarioStatus::OnTarget;
    model::Finished {
        no: claimed.no,
        pass: claimed.pass,
        life: claimed.order.life,
        attempt: claimed.attempt,
        wake: claimed.wake,
        then,
        scenario_status,
        step: Some("a".to_owned()),
        entry_point: None,
        visited: 1,
        started_at: claimed.now,
        result: None,
        snapshot: Some("{}".to_owned()),
        had_snapshot: claimed.snapshot.is_some(),
        queue: claimed.queue.clone(),
        released: false,
        moves: Vec::new(),
        until: Timestamp::MIN,
    }
}

#[tokio::test]
async fn qlt_14_the_model_of_the_store_answers_as_the_database_does() {
    let seed = std::env::var("PAGURUS_MODEL_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    for sequence in seed..seed + SEQUENCES {
        let mut both = Both::new(sequence).await;
        for _ in 0..CALLS {
            both.call().await;
        }
        assert!(both.tables.witness.violations.is_empty(), "{:?}", both.tables.witness.violations);
    }
}
