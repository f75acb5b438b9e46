//! The same random scenarios in the offline runner, in the simulation and on the real services: each order has one path, one
//! status, one result and one class of error in all three, whatever breaks on its way.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pagurus_domain::classes::UNCLASSIFIED;
use pagurus_domain::document::{DocumentLimits, parse};
use pagurus_domain::order::Status;
use pagurus_harness::nodes::Role;
use pagurus_harness::random::play::ended;
use pagurus_harness::world::amqp::{Answer, Question, Responder};
use pagurus_harness::world::program::{CallBack, Program, Step, Then};
use pagurus_scenario::deployment::Deployment;
use pagurus_scenario::script::{Limits, Scripting};
use pagurus_scenario::{Bounds, Scenario, source};
use pagurus_simulation::constant::{self, ConstantEnd, ConstantOutcome, ConstantWorld, IN_VAIN};
use pagurus_simulation::scenarios::{self, constant_names, constant_rules, constant_texts};
use pagurus_workbench::trial;
use serde_json::{Value, json};

use crate::installation::Installation;

/// Seeds whose orders run in the simulation and in the offline runner.
const SEEDS: u64 = 40;
/// Seeds whose orders run on the real services, too.
const LIVE: std::ops::Range<u64> = 0..2;
/// Orders of a seed.
const ORDERS: usize = 20;
/// Numbers that actions have in their URLs, per state; and states.
const PLACES: (usize, usize) = (4, 33);
/// Waits in vain take seconds, and a few of them follow each other; a busy machine may take its time.
const PATIENCE: Duration = Duration::from_secs(150);

fn seeds() -> u64 {
    std::env::var("PAGURUS_TEST_SEEDS").map_or(SEEDS, |seeds| seeds.parse().expect("a number"))
}

fn simulated(seed: u64) -> ConstantOutcome {
    let outcome = constant::run(seed, ORDERS, &scenarios::Deployment::constant().unwrap()).unwrap();
    assert!(outcome.run.is_good(), "{}", outcome.run);
    outcome
}

#[test]
fn scn_13_rec_10_random_orders_end_alike_in_the_simulation_and_in_the_offline_runner() {
    let (mut wrong, mut seen) = (Vec::new(), Vec::new());
    for seed in 0..seeds() {
        let outcome = simulated(seed);
        wrong.extend(differences(seed, &outcome));
        seen.extend(outcome.orders.into_iter().chain(outcome.children.into_iter().map(|child| child.end)));
    }
    assert!(
        wrong.is_empty(),
        "{} differ, such as:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(4)].join("\n\n")
    );
    // A set of orders in which something never happens shows nothing about it.
    let count = |what: &dyn Fn(&ConstantEnd) -> bool| seen.iter().filter(|one| what(one)).count();
    let classes = ["busy", "refused", "odd", "async.timeout", "polling.timeout", UNCLASSIFIED];
    for class in classes {
        assert!(count(&|one| one.class.as_deref() == Some(class)) >= 3, "hardly one fails by `{class}`");
    }
    assert!(count(&|one| one.status == Status::Success && one.result.is_some()) >= 200);
    assert!(count(&|one| one.path.len() >= 5) >= 100);
}

/// Runs the orders of an outcome offline, expecting what the simulation says.
fn differences(seed: u64, outcome: &ConstantOutcome) -> Vec<String> {
    let bounds = Bounds::default();
    let read = |text: &String| {
        let scenario = source::read(text, &Scripting::new(Limits::default()), &bounds).unwrap();
        (scenario.name.to_string(), Arc::new(scenario))
    };
    let texts = constant_texts(seed, "e");
    let scenarios: Vec<(String, Arc<Scenario>)> = texts.iter().map(read).collect();
    let registrations = constant::orders(seed, ORDERS);
    let mut wrong = Vec::new();
    for order in &registrations {
        let end = outcome.orders.iter().find(|one| order["id"] == one.id.as_str()).unwrap();
        let (_, scenario) = scenarios.iter().find(|(name, _)| order["scenario"] == name.as_str()).unwrap();
        let file = trial_file(seed, order, end, outcome).to_string();
        let file = trial::read(&file).unwrap();
        let seen = trial::run(scenario, &Deployment::default(), &file.trials[0], &mut || true);
        if !seen.passed() {
            let story: Vec<String> = seen.story.iter().map(ToString::to_string).collect();
            let (faults, story) = (format!("{:#?}", seen.faults), story.join("\n"));
            let at = scenarios.iter().position(|(name, _)| order["scenario"] == name.as_str()).unwrap();
            wrong.push(format!("{order}\nsimulated {end:?}\n{faults}\n{story}\n{}", texts[at]));
        }
    }
    wrong
}

/// A test of an order: the answers of its systems and the ends of its children, and the expected end.
fn trial_file(seed: u64, order: &Value, end: &ConstantEnd, outcome: &ConstantOutcome) -> Value {
    let rules = parse(&constant_rules(), &DocumentLimits::default()).unwrap().to_json();
    let (states, slots) = PLACES;
    let world = ConstantWorld(seed);
    let (scenario, n) = (order["scenario"].as_str().unwrap(), &order["params"]["n"]);
    let slots: Vec<String> = (0..slots).map(|slot| slot.to_string()).chain([IN_VAIN.to_owned()]).collect();
    let places = (0..states).flat_map(|at| slots.iter().map(move |slot| format!("{scenario}/{at}/{slot}")));
    let mut answers: Vec<Value> = places.flat_map(|asked| lines(world, &asked, n)).collect();
    answers.extend(outcome.children.iter().map(|child| {
        let mut line = json!({
            "order": {"scenario": "*", "params": *child.params},
            "status": child.end.status.as_str(),
            "step": child.end.path.last(),
        });
        if let Some(class) = child.end.class.as_deref().filter(|class| *class != UNCLASSIFIED) {
            line["error"] = json!({"class": class, "message": "as simulated"});
        }
        line
    }));
    let mut expect = json!({"status": end.status.as_str(), "path": end.path});
    if let Some(result) = &end.result {
        expect["result"] = result.clone();
    }
    if let Some(class) = &end.class {
        expect["error"] = class.as_str().into();
    }
    let mut of_order = json!({"id": order["id"]});
    if order["queue"].is_string() {
        of_order["queue"] = order["queue"].clone();
    }
    json!({"tests": [{
        "test": order["id"], "order": of_order, "params": order["params"], "config": {"demo": "http://h"},
        "errors": rules, "answers": answers, "expect": expect,
    }]})
}

/// Lines of the table for a place: over HTTP, and as the key of a message.
fn lines(world: ConstantWorld, asked: &str, n: &Value) -> [Value; 2] {
    let url = format!("http://h/constant/{asked}/{n}");
    let answer = world.answer(&url);
    let mut http = json!({"http": url});
    match answer.status {
        None => http["fails"] = "ConnectionClosed".into(),
        Some(status) => {
            http["status"] = status.into();
            http["body"] = json!({"n": answer.number});
        }
    }
    if let Some(word) = answer.callback {
        http["callback"] = json!({"after": "1ms", "stepStatus": word});
    }
    let mut amqp = json!({"amqp": {"key": asked}});
    if !world.is_silent(asked) {
        amqp["callback"] = json!({"after": "1ms", "stepStatus": "fine"});
    }
    [http, amqp]
}

#[tokio::test]
async fn scn_13_rec_10_random_orders_end_alike_in_the_simulation_and_on_the_real_services() {
    let engine =
        Installation::with("alike", &[("PAGURUS__EXECUTION__ERROR_HANDLING", &constant_rules())]).await;
    let exchange = format!("world-{}", engine.env().prefix());
    engine.world().program(
        Program::at("/constant/**")
            .decided_by(|call| answered(world_of(call.path.trim_start_matches("/constant/")), &call.path)),
    );
    let decide = Arc::new(|question: &Question| {
        if world_of(&question.key).is_silent(&question.key) {
            Answer::Silence
        } else {
            Answer::CallBack(Duration::ZERO, Value::Null)
        }
    });
    let _responder =
        Responder::start(engine.env().amqp_url(), &exchange, engine.env().prefix(), decide).await.unwrap();
    let mut expected = Vec::new();
    for seed in LIVE {
        for (text, name) in constant_texts(seed, &exchange).iter().zip(constant_names(seed)) {
            engine.put_scenario(&name, text).await.unwrap();
        }
        let orders = constant::orders(seed, ORDERS);
        engine.post("/v1/orders/batch", &json!(orders)).await.unwrap().success().unwrap();
        expected.extend(simulated(seed).orders);
    }
    let api = engine.env().api(engine.node(Role::Intake));
    let deadline = Instant::now() + PATIENCE;
    let mut wrong = Vec::new();
    for end in &expected {
        let order = ended(&api, &end.id, deadline).await.unwrap();
        let seen = seen_end(&engine, &order).await;
        if seen != *end {
            wrong.push(format!("simulated {end:?}\nlive      {seen:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), expected.len(), wrong.join("\n"));
}

/// The world of a place, by the scenario at its beginning.
fn world_of(place: &str) -> ConstantWorld {
    let scenario = place.split('/').next().unwrap();
    LIVE.map(ConstantWorld).find(|world| constant_names(world.0).iter().any(|name| name == scenario)).unwrap()
}

fn answered(world: ConstantWorld, path: &str) -> Step {
    let answer = world.answer(path);
    let then = match answer.status {
        None => Then::Cut,
        Some(status) => Then::Answer { status, headers: Vec::new(), body: json!({"n": answer.number}) },
    };
    let callback = answer
        .callback
        .map(|word| CallBack { step_status: Some(word.to_owned()), ..CallBack::with(json!({"ok": true})) });
    Step { then, callback, ..Step::fine() }
}

async fn seen_end(engine: &Installation, order: &Value) -> ConstantEnd {
    let id = order["id"].as_str().unwrap();
    let path = engine.transitions(id).await.unwrap();
    let states = path.iter().map(|one| one["to"].as_str().unwrap().to_owned());
    let begin = path.first().map_or_else(|| order["step"].as_str(), |one| one["from"].as_str());
    let failed = order["status"] == "fail";
    let class = order.pointer("/error/class").and_then(Value::as_str).unwrap_or(UNCLASSIFIED);
    ConstantEnd {
        id: id.to_owned(),
        status: order["status"].as_str().unwrap().parse().unwrap(),
        path: std::iter::once(begin.unwrap_or_default().to_owned()).chain(states).collect(),
        result: order.get("result").filter(|result| !result.is_null()).cloned(),
        class: failed.then(|| class.to_owned()),
    }
}
