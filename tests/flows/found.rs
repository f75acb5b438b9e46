//! An order that lost its news, or is as long as it may be, is found all the same (REC-4, ORD-6).

use std::time::{Duration, Instant};

use lapin::BasicProperties;
use pagurus_harness::nodes::Role;
use pagurus_harness::proxy::{Mode, Proxy, host_of};
use serde_json::{Value, json};

use crate::installation::{Installation, PATIENCE, call, until};

/// Returns a text of `count` characters of `bytes` bytes each, with no two alike in a row.
fn characters(count: usize, bytes: usize, seed: u32) -> String {
    let (first, range) = if bytes == 4 { (0x1_0000, 0xF_0000) } else { (0x4E00, 0x5000) };
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from_u32(first + (state >> 4) % range)
    };
    std::iter::from_fn(|| Some(next())).flatten().take(count).collect()
}

/// Text of at most 255 bytes, as many as fit.
fn name(bytes: usize, seed: u32) -> String {
    characters(255 / bytes, bytes, seed)
}

// ORD-1, ORD-6, QLT-8: every field at its longest legal value, over both transports.
#[tokio::test]
async fn qlt_8_an_order_with_every_field_at_its_longest_is_taken_over_both_transports_and_found() {
    let engine = Installation::with(
        "longest",
        &[("PAGURUS__DISTRIBUTION__FLOWS__ATTRIBUTES", "[scenario, region, params.text]")],
    )
    .await;
    let scenario = format!("s{}", "x".repeat(63));
    engine.actions(&scenario, &call("/do")).await;
    let client = engine.env().amqp().await.unwrap();
    let receipts = client.listen_directly().await.unwrap();
    for (bytes, over_amqp) in [(3, false), (4, false), (3, true), (4, true)] {
        let seed = u32::try_from(bytes).unwrap() + 10 * u32::from(over_amqp);
        let transaction = characters(1024, bytes, seed);
        let order = json!({
            "id": name(bytes, seed + 100),
            "scenario": scenario,
            "params": {"text": characters(20_000, bytes, seed + 200)},
            "mode": "sequential",
            "queue": name(bytes, seed + 300),
            "priority": "normal",
            "flow": {"region": name(bytes, seed + 400)},
            "transactionId": transaction,
            "labels": (0..16).map(|n| (characters(64 / bytes, bytes, seed + 800 + n), name(bytes, seed + n)))
                .collect::<std::collections::BTreeMap<String, String>>(),
            "notify": {"url": "amqp://?key=done", "correlationId": name(bytes, seed + 500)},
            "lifecycle": {"startAt": "2020-01-01T00:00:00Z", "after": [
                {"order": name(bytes, seed + 600), "states": [name(bytes, seed + 700)]}
            ]},
        });
        let free = json!({"id": format!("free-{seed}"), "scenario": scenario, "params": {"text": ""},
            "mode": "sequential", "queue": order["queue"], "transactionId": transaction});
        // Beside them one of somebody else, which goes through whatever happens to these.
        let neighbour =
            json!({"id": format!("neighbour-{seed}"), "scenario": scenario, "params": {"text": ""}});
        if over_amqp {
            let properties = BasicProperties::default().with_reply_to(receipts.queue().into());
            client
                .publish_orders("order.create", &[order.clone(), free, neighbour], &properties)
                .await
                .unwrap();
            let before = receipts.messages().len();
            let received = receipts
                .wait(PATIENCE, |all| all.len() >= before.max(3) && all.len() % 3 == 0)
                .await
                .unwrap();
            assert!(received.iter().all(|one| one.body["status"] == "accepted"), "{received:?}");
        } else {
            for body in [order.clone(), free, neighbour] {
                engine.accepted(body).await;
            }
        }
        engine.reach(&format!("free-{seed}"), "success").await;
        engine.reach(&format!("neighbour-{seed}"), "success").await;
        let query =
            reqwest::Url::parse_with_params("http://x/v1/orders", [("transactionId", &transaction)]).unwrap();
        let path = format!("/v1/orders?{}", query.query().unwrap());
        let found = engine.get(&path).await.unwrap().success().unwrap();
        let mut ids: Vec<&str> =
            found["items"].as_array().unwrap().iter().filter_map(|one| one["id"].as_str()).collect();
        ids.sort_unstable();
        let free = format!("free-{seed}");
        let mut expected = vec![order["id"].as_str().unwrap(), free.as_str()];
        expected.sort_unstable();
        assert_eq!(ids, expected);
    }
}

// REC-4, DSP-13: an old order whose news was lost is found while newer ones wait all the time.
#[tokio::test]
async fn rec_4_an_old_order_whose_news_was_lost_is_found_under_a_steady_stream_of_newer_ones() {
    let mut engine = Installation::start("lost_news").await;
    let proxy = Proxy::start(&host_of(engine.env().amqp_url())).await.unwrap();
    let behind = proxy.url(engine.env().amqp_url());
    let cut_off = engine.add_with(Role::Intake, "intake-2", &[("PAGURUS__BROKER__URL", &behind)]).await;
    let beside = engine.env().api(&cut_off);
    engine.actions("one", &call("/do")).await;
    engine.scenario("holds", &crate::installation::asking("/silent", "10m")).await;
    engine.run(json!({"id": "old", "scenario": "one"}), "success").await;
    // One holds a queue, and behind it newer ones become ready all the time.
    let queued = |id: String, scenario: &str| json!({"id": id, "scenario": scenario, "mode": "sequential", "queue": "q"});
    engine.run(queued("holder".into(), "holds"), "wait").await;
    let stream = async {
        for number in 0.. {
            engine.accepted(queued(format!("new-{number}"), "one")).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let restarted = async {
        // Until the re-reading has gone beyond the number of the old one.
        until("several rounds have been read", PATIENCE, async || engine.order("new-100").await.is_ok())
            .await;
        proxy.set(Mode::Cut);
        let begun = Instant::now();
        let asked = beside.post("/v1/orders/old/restart", &json!({"reason": "again"})).await.unwrap();
        asked.success().unwrap();
        let order: Value = engine.reach("old", "success").await;
        assert_eq!(order["life"], 2, "{order}");
        begun.elapsed()
    };
    let took = tokio::select! {
        () = stream => unreachable!("it has no end"),
        took = restarted => took,
    };
    // Two rounds of `dispatcher.reread`, and what the news may take to fail.
    assert!(took < Duration::from_secs(12), "found after {took:?}");
}
