//! Orders that wait for others, looks at what they wait for, and children.

use jiff::Timestamp;
use pagurus_domain::order::dependency::{Stand, StartDecision, StartMode};
use pagurus_simulation::store as model;
use pagurus_store::hot::dependencies;
use pagurus_store::outside::children::{self, NewChild};
use pagurus_store::outside::orders::Registered;
use serde_json::json;

use super::{Both, IDS, of_model, of_real};

/// Outcome of a registration, in both worlds.
fn outcome(real: &Registered) -> String {
    match real {
        Registered::Accepted { no, ready, .. } => format!("{no} {:?}", of_real(ready.as_slice())),
        Registered::Duplicate(status) => format!("duplicate {status}"),
        Registered::Conflict(status) => format!("conflict {status}"),
        Registered::Behind { .. } => "behind".to_owned(),
        other => panic!("{other:?}"),
    }
}

fn outcome_of_model(model: &model::Registered) -> String {
    match model {
        model::Registered::Accepted { no, ready } => format!("{no} {:?}", of_model(ready.as_slice())),
        model::Registered::Duplicate(status) => format!("duplicate {status}"),
        model::Registered::Conflict(status) => format!("conflict {status}"),
        model::Registered::Behind => "behind".to_owned(),
    }
}

impl Both {
    /// The database gives a number to a registration that finds its id, too.
    fn compare_registration(&mut self, call: &str, real: &Registered, model: &model::Registered) {
        if matches!(real, Registered::Duplicate(_) | Registered::Conflict(_)) {
            self.tables.skip_number();
        }
        self.same(call, outcome(real), outcome_of_model(model));
    }

    /// An order that waits for one or two of those without conditions, which may come later, or have ended.
    pub(super) async fn register_waiting(&mut self) {
        let number = self.chance.below(4);
        let states = [json!(["a"]), json!(["a", "b"]), json!(["b"])];
        let state = usize::try_from(self.chance.below(3)).unwrap();
        let otherwise = ["fail", "cancel", "wait"][usize::try_from(self.chance.below(3)).unwrap()];
        let mut named = vec![self.chance.below(IDS), self.chance.below(IDS)];
        named.sort_unstable();
        named.dedup();
        let after: Vec<_> = named
            .iter()
            .map(|before| json!({"order": format!("o{before}"), "states": states[state], "otherwise": otherwise}))
            .collect();
        let mut more = json!({"lifecycle": {"after": after}, "notify": {"url": "amqp://?key=k"}});
        if number == 0 {
            more["mode"] = "sequential".into();
            more["queue"] = "q0".into();
        }
        let mut new = self.ground.new_order(&format!("w{number}"), &more);
        if self.chance.happens(300_000) {
            new.start_mode = StartMode::Polling;
        }
        let real = self.ground.register(std::slice::from_ref(&new)).await;
        self.tables.now = Timestamp::now();
        let model = self.tables.register(&[new]);
        self.compare_registration(&format!("register w{number}"), &real[0], &model[0]);
    }

    /// Work of an activator for all that wait, but for the ends that follow.
    pub(super) async fn look_at_conditions(&mut self) {
        let nos = self.tables.waiting_for_others();
        let numbers: Vec<i64> = nos.iter().map(|no| no.0).collect();
        let mut client = self.ground.work().await;
        let tx = client.transaction().await.unwrap();
        let waiting = dependencies::lock_waiting(&tx, &numbers).await.unwrap();
        let (mut starts, mut found) = (Vec::new(), Vec::new());
        for (no, conditions) in dependencies::judged(&tx, &waiting).await.unwrap() {
            let decision = dependencies::verdict(&conditions);
            if matches!(decision, StartDecision::Fail(_) | StartDecision::Cancel(_)) {
                continue;
            }
            let new = conditions.iter().filter(|one| one.stand == Stand::Found);
            found.extend(new.map(|one| (no, one.before.clone(), Stand::Open)));
            starts.extend((decision == StartDecision::Start).then_some(no.0));
        }
        dependencies::settle(&tx, &found).await.unwrap();
        let real = dependencies::start(&tx, &starts).await.unwrap();
        tx.commit().await.unwrap();
        self.tables.now = Timestamp::now();
        let settled = self.tables.look_at_conditions(&nos, |_, _| true);
        self.same("look at conditions", of_real(&real), of_model(&settled.ready));
    }

    /// A stage starts a child whose end answers one of its requests, or one that somebody else has started.
    pub(super) async fn start_child(&mut self) {
        let Some(index) = self.any_claim() else { return };
        let parent = self.claims[index].real.head.no;
        let id = format!("c{}", self.chance.below(5));
        let more = match self.chance.happens(500_000) {
            true => json!({"mode": "sequential", "queue": "q0"}),
            false => json!({}),
        };
        let mut order = self.ground.new_order(&id, &more);
        let request = self.requests.last().copied();
        order.answers = request.map(|(real, _)| real);
        let mut client = self.ground.work().await;
        let tx = client.transaction().await.unwrap();
        let child = NewChild { parent, order: order.clone() };
        let real = children::register(&tx, &[child], &[1]).await.unwrap();
        tx.commit().await.unwrap();
        self.tables.now = Timestamp::now();
        order.answers = request.map(|(_, model)| model);
        let model = self.tables.register_child(parent, &order);
        self.compare_registration(&format!("order {parent} starts {id}"), &real[0], &model);
    }
}
