//! What-if: what services count of real orders, and its replay.

use pagurus_harness::nodes::Role;
use pagurus_harness::proxy::{Mode, Proxy, host_of};
use pagurus_harness::world::program::{Program, Step};
use serde_json::{Value, json};

use crate::installation::{Installation, LOG, PATIENCE, asking, call, until};
use crate::sight::cli;

/// Orders of the flow `tariff` that succeed; one more fails.
const ORDERS: i64 = 30;

/// Lets orders of two flows call one system, and moves what is counted into the past: a record ends with the last whole minute.
pub async fn recorded(engine: &Installation) {
    engine.world().program(Program::at("/do").first(1, &Step::answer(503, json!({}))));
    engine.actions("tariff", &call("/do")).await;
    engine.actions("bills", &call("/do")).await;
    engine.run(json!({"id": "failed", "scenario": "tariff"}), "fail").await;
    for number in 0..ORDERS {
        engine.accepted(json!({"id": format!("t-{number}"), "scenario": "tariff"})).await;
    }
    engine.run(json!({"id": "b", "scenario": "bills"}), "success").await;
    for number in 0..ORDERS {
        engine.reach(&format!("t-{number}"), "success").await;
    }
    let session = engine.database().await;
    let counted =
        "SELECT count(*) = 2 FROM (SELECT what FROM stats WHERE what IN ('flows.stages', 'flows.came')
                     AND key = 'tariff' GROUP BY what HAVING sum(count)::bigint > $1) AS whole";
    until("all is counted", PATIENCE, async || session.query_one(counted, &[&ORDERS]).await.unwrap().get(0))
        .await;
    session.execute("UPDATE stats SET minute = minute - interval '2 minutes'", &[]).await.unwrap();
}

async fn play(engine: &Installation, flow: &str, changes: Value) -> pagurus_harness::client::Answer {
    engine.post(&format!("/v1/flows/{flow}/what-if"), &changes).await.unwrap()
}

/// Asserts that the command shows the sums side by side.
async fn assert_shown(engine: &Installation) {
    let (shown, code) = cli(engine, &["flows", "what-if", "tariff", "--load", "2", "--max-limit", "3"]).await;
    assert!(code == 0 && shown.contains("AS IT WAS") && shown.contains("was never at its limit"), "{shown}");
    let came = shown.lines().find(|line| line.contains("stages that came")).unwrap_or_default();
    assert_eq!(came.split_whitespace().rev().take(3).collect::<Vec<_>>(), ["62", "31", "31"], "{shown}");
}

#[tokio::test]
async fn dsp_15_the_last_hour_of_a_flow_is_played_through_other_settings() {
    let engine = Installation::start("what_if").await;
    engine.scenario("asks", &asking("/silent", "10m")).await;
    engine.run(json!({"id": "asks", "scenario": "asks"}), "wait").await;
    let url = engine.calls("/silent", 1).await[0].headers["x-callback-url"].clone();
    engine.env().http().post(url).json(&json!({"code": 0})).send().await.unwrap();
    engine.reach("asks", "success").await;
    recorded(&engine).await;

    let session = engine.database().await;
    let rows = session.query("SELECT what, key, sum(count)::bigint FROM stats WHERE what LIKE 'flows.%' OR what LIKE 'calls.%' GROUP BY 1, 2 ORDER BY 1, 2", &[]).await.unwrap();
    let counts: Vec<(String, String, i64)> =
        rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect();
    let count = |what: &str, key: &str| {
        let fits = |one: &&(String, String, i64)| {
            one.0 == what && (one.1 == key || one.1.ends_with(&format!(" {key}")))
        };
        counts.iter().find(fits).map(|one| one.2)
    };
    for what in ["flows.came", "flows.stages", "flows.waits"] {
        assert_eq!(count(what, "tariff"), Some(ORDERS + 1), "{what}: {counts:?}");
    }
    assert_eq!(
        (count("calls.answered", "tariff"), count("calls.failed", "tariff")),
        (Some(ORDERS), Some(1)),
        "{counts:?}"
    );
    assert_eq!(
        (count("calls.answered", "bills"), count("calls.called_back", "asks")),
        (Some(1), Some(1)),
        "{counts:?}"
    );

    let view = play(&engine, "tariff", json!({"load": 2, "maxLimit": 3})).await.success().unwrap();
    let totals = &view["totals"];
    let sums =
        |figure: &str| ["recorded", "replayed", "changed"].map(|of| totals[of][figure].as_f64().unwrap());
    assert_eq!((sums("came"), sums("ended")[0]), ([31.0, 31.0, 62.0], 31.0), "{view}");
    let system = &view["systems"][0];
    assert_eq!((view["systems"].as_array().unwrap().len(), &system["wasFull"]), (1, &json!(false)), "{view}");
    assert!(view["likeness"].as_f64().unwrap() > 0.5, "{view}");
    let steps = view["steps"].as_array().unwrap();
    assert!(
        steps.iter().all(|step| step["at"].is_string() && step["recorded"]["came"].is_number()),
        "{view}"
    );
    // One stage asks, and the one after the answer calls nothing.
    let asynchronous = play(&engine, "asks", json!({"callTime": 2})).await.success().unwrap();
    assert_eq!(asynchronous["totals"]["recorded"]["ended"], 2.0, "{asynchronous}");
    assert_eq!(asynchronous["totals"]["replayed"]["came"], 2.0, "{asynchronous}");

    assert_shown(&engine).await;
    for (changes, pointer) in [
        (json!({"load": 0}), "/load"),
        (json!({"callTime": 101}), "/callTime"),
        (json!({"capacity": "much"}), "/capacity"),
        (json!({"maxLimit": 0}), "/maxLimit"),
        (json!({"weight": 1001}), "/weight"),
        (json!({"mode": "best"}), "/mode"),
        (json!({"speed": 2}), "/speed"),
    ] {
        let answer = play(&engine, "tariff", changes.clone()).await;
        assert_eq!((answer.status, &answer.body["pointer"]), (422, &json!(pointer)), "{changes}: {answer:?}");
    }
    // Neither a name that is cut to another one, nor the word for all names beyond the bound.
    for strange in ["nobody", "tariff%01", "other", &"x".repeat(300)] {
        let unknown = play(&engine, strange, json!({})).await;
        assert_eq!(unknown.status, 404, "{strange}: {unknown:?}");
    }
    session.execute("DELETE FROM stats", &[]).await.unwrap();
    let nothing = play(&engine, "tariff", json!({})).await;
    assert!(
        nothing.status == 404 && nothing.body["detail"].as_str().unwrap().contains("nothing was recorded"),
        "{nothing:?}"
    );
}

// DSP-15: a record that news alone made would show less work than there was whenever news is lost or late.
#[tokio::test]
async fn dsp_15_stages_whose_news_was_lost_are_counted_when_they_are_found() {
    let mut engine = Installation::start("what_if_lost_news").await;
    let proxy = Proxy::start(&host_of(engine.env().amqp_url())).await.unwrap();
    let behind = proxy.url(engine.env().amqp_url());
    let cut_off = engine.add_with(Role::Intake, "intake-2", &[("PAGURUS__BROKER__URL", &behind)]).await;
    let beside = engine.env().api(&cut_off);
    engine.actions("tariff", LOG).await;
    proxy.set(Mode::Cut);
    for id in ["a", "b", "c"] {
        let order = json!({"id": id, "scenario": "tariff"});
        beside.post("/v1/orders", &order).await.unwrap().success().unwrap();
    }
    for id in ["a", "b", "c"] {
        engine.reach(id, "success").await;
    }
    let session = engine.database().await;
    let counted =
        "SELECT coalesce(sum(count), 0)::bigint FROM stats WHERE what = 'flows.came' AND key = 'tariff'";
    let came = async || session.query_one(counted, &[]).await.unwrap().get::<_, i64>(0);
    until("those without news are counted", PATIENCE, async || came().await == 3).await;
    proxy.set(Mode::Pass);
    engine.run(json!({"id": "d", "scenario": "tariff"}), "success").await;
    until("one with news is counted", PATIENCE, async || came().await >= 4).await;
    assert_eq!(came().await, 4);
}
