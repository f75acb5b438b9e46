//! What a viewer sees does not depend on what only others may see: in random sequences, what others do with their orders changes
//! no answer that the viewer gets.

use std::collections::BTreeMap;

use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use reqwest::Method;
use serde_json::{Value, json};

use super::{Proof, Zoo};
use crate::installation::{PATIENCE, until};

/// Sequences of a usual run; `PAGURUS_TENANT_SEQUENCES` plays others.
const USUAL: usize = 120;

/// Requests of the viewer whose answers are compared.
fn asked() -> Vec<String> {
    let mut paths: Vec<String> = [
        "/v1/orders",
        "/v1/orders?status=fail",
        "/v1/orders?status=wait&limit=3",
        "/v1/counts",
        "/v1/counts?by=scenario,status",
        "/v1/counts?by=flow",
        "/v1/counts?by=label:animal",
        "/v1/orders?idPrefix=zebra",
        "/v1/orders?labels.animal=zebra",
        "/v1/errors",
        "/v1/errors?by=scenario",
        "/v1/errors/orders",
        "/v1/queues",
        "/v1/scenarios",
        "/v1/schedules",
        "/v1/operations",
        "/v1/callbacks",
        "/v1/notifications",
        "/v1/export/orders",
        "/v1/stats",
        "/v1/searches",
        "/v1/audit",
        "/v1/refused",
        "/v1/doctor",
        "/v1/orders/zebra-r-1",
        "/v1/queues/zebra-queue",
        "/v1/flows/zebra-ends",
        "/v1/schedules/zebra-nightly",
        "/v1/scenarios/zebra-ends",
    ]
    .map(str::to_owned)
    .to_vec();
    for id in ["own-1", "own-2", "own-3", "own-5"] {
        for part in [
            "",
            "/params",
            "/events",
            "/log",
            "/steps",
            "/requests",
            "/callbacks",
            "/dependencies",
            "/transitions",
        ] {
            paths.push(format!("/v1/orders/{id}{part}"));
        }
    }
    paths
}

/// An answer without what changes by itself: the moments at which it was made and things were looked at, and the places where
/// pages go on.
fn at_rest(mut value: Value) -> Value {
    match &mut value {
        Value::Object(members) => {
            for moving in ["at", "since", "next", "stepSeconds", "updatedAt"] {
                members.remove(moving);
            }
            members.values_mut().for_each(|member| *member = at_rest(member.take()));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = at_rest(item.take())),
        _ => {}
    }
    value
}

/// Something that somebody does who sees it all, with orders and things of the other tenant.
async fn act(zoo: &Zoo, theirs: &Proof, dice: &mut StdRng, orders: &mut u32) {
    let any = |dice: &mut StdRng, orders: u32| format!("zebra-r-{}", dice.random_range(1..=orders.max(1)));
    let reason = json!({"reason": "r"});
    match dice.random_range(0..9) {
        0..=2 => {
            *orders += 1;
            let kind = ["ends", "fails", "waits"][dice.random_range(0..3)];
            let mut order = json!({"id": format!("zebra-r-{orders}"), "scenario": format!("zebra-{kind}"),
                "params": {"secret": "zebra"}, "labels": {"animal": "zebra"}});
            if dice.random_range(0..3) == 0 {
                order["mode"] = "sequential".into();
                order["queue"] = "zebra-queue".into();
            }
            assert_eq!(zoo.post(theirs, "/v1/orders", order).await.status, 201);
        }
        3 => drop(zoo.post(theirs, &format!("/v1/orders/{}/kill", any(dice, *orders)), reason).await),
        4 => drop(zoo.post(theirs, &format!("/v1/orders/{}/restart", any(dice, *orders)), reason).await),
        5 => {
            let clone = json!({"id": format!("zebra-c-{}", dice.random::<u64>())});
            drop(zoo.post(theirs, &format!("/v1/orders/{}/clone", any(dice, *orders)), clone).await);
        }
        6 => {
            let change = json!({"priority": "low", "reason": "r"});
            let path = format!("/v1/orders/{}", any(dice, *orders));
            zoo.caller(theirs).ask(Method::PATCH, &path, Some(&change)).await;
        }
        7 => drop(zoo.post(theirs, "/v1/schedules/zebra-nightly/run", reason).await),
        _ => {
            let bulk = json!({"action": "resend", "search": {"idPrefix": "zebra", "status": ["fail"]}, "reason": "r"});
            assert_eq!(zoo.post(theirs, "/v1/operations", bulk).await.status, 201);
        }
    }
}

/// Status and body of each answer, at rest.
async fn answers(zoo: &Zoo, viewer: &Proof, paths: &[String]) -> BTreeMap<String, (u16, Value)> {
    let mut answers = BTreeMap::new();
    for path in paths {
        let answer = zoo.get(viewer, path).await;
        answers.insert(path.clone(), (answer.status, at_rest(answer.body)));
    }
    answers
}

#[tokio::test]
async fn ui_1_what_others_do_with_theirs_changes_no_answer() {
    let sequences = std::env::var("PAGURUS_TENANT_SEQUENCES").ok();
    let sequences = sequences.map_or(USUAL, |text| text.parse().expect("a number"));
    let seed = std::env::var("PAGURUS_TENANT_SEED").ok().map_or(1, |text| text.parse().expect("a number"));
    let zoo = Zoo::of("tenants_random", "viewer").await;
    for prefix in ["own", "zebra"] {
        zoo.populate(prefix, prefix).await;
    }
    let viewer = zoo.token("viewer", &["ours"]).await;
    let theirs = zoo.token("operator", &["theirs"]).await;
    let paths = asked();
    let mut before = answers(&zoo, &viewer, &paths).await;
    until("nothing moves by itself", PATIENCE, async || {
        let former = std::mem::replace(&mut before, answers(&zoo, &viewer, &paths).await);
        former == before
    })
    .await;
    let (mut dice, mut orders) = (StdRng::seed_from_u64(seed), 0);
    for number in 0..sequences {
        for _ in 0..dice.random_range(1..=2) {
            act(&zoo, &theirs, &mut dice, &mut orders).await;
        }
        let path = &paths[dice.random_range(0..paths.len())];
        let answer = zoo.get(&viewer, path).await;
        let now = (answer.status, at_rest(answer.body));
        assert_eq!(now, before[path], "seed {seed}, sequence {number}: {path}");
    }
}
