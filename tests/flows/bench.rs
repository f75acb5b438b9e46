//! `pagurus bench` against the engine: figures that are true, failures by class, a load that is broken off.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use pagurus_harness::process::{Identity, Signal};
use serde_json::{Value, json};

use crate::err::pagurus;
use crate::installation::{Installation, LOG, PATIENCE, until};

/// Runs a measurement; returns its exit code and its figures.
async fn bench(engine: &Installation, rest: &str) -> (i32, Value) {
    let line = format!("--server {} bench --yes --json {rest}", engine.base());
    let words: Vec<&str> = line.split(' ').collect();
    let output = pagurus(&words).await;
    let figures = serde_json::from_slice(output.stdout.split(|byte| *byte == b'\n').next().unwrap());
    (output.status.code().unwrap(), figures.unwrap_or_else(|error| panic!("{error}: {output:?}")))
}

#[tokio::test]
async fn ui_a_measurement_tells_how_many_orders_were_accepted_and_ended() {
    let engine = Installation::start("ui_bench").await;
    engine.actions("good", LOG).await;
    engine.actions("bad", "- script: fail(\"no\", \"shop.closed\")").await;
    let (code, figures) = bench(&engine, "--scenario good --orders 2150 --parallel 3 --batch 100").await;
    assert_eq!(code, 0, "{figures}");
    for (figure, expected) in
        [("sent", 2150), ("accepted", 2150), ("ended", 2150), ("succeeded", 2150), ("notEnded", 0)]
    {
        assert_eq!(figures[figure], expected, "{figure}: {figures}");
    }
    let quantile = |of: &str, part: &str| figures[of][part].as_f64().unwrap();
    for times in ["acceptedMillis", "endedMillis"] {
        assert!(
            0.0 < quantile(times, "p50") && quantile(times, "p50") <= quantile(times, "p99"),
            "{figures}"
        );
    }
    assert!(figures["endedPerSecond"].as_f64().unwrap() > 1.0, "{figures}");
    // What it says is what there is.
    let prefix = figures["idPrefix"].as_str().unwrap();
    let counts = engine.get(&format!("/v1/counts?idPrefix={prefix}&by=status")).await.unwrap().body;
    assert_eq!(counts["items"][0]["orders"], 2150, "{counts}");

    let (code, figures) = bench(&engine, "--scenario bad --orders 20 --batch 7").await;
    assert_eq!((code, &figures["succeeded"]), (1, &json!(0)), "{figures}");
    assert_eq!(figures["failures"], json!([{"class": "shop.closed", "orders": 20}]));

    // A batch that is refused as a whole is the last one.
    let (code, figures) = bench(&engine, "--scenario nobody --orders 5000 --parallel 1 --batch 10").await;
    assert_eq!((code, &figures["sent"], &figures["accepted"]), (4, &json!(10), &json!(0)), "{figures}");
    assert_eq!(figures["failures"], json!([{"class": "not registered: unknown-scenario", "orders": 10}]));
}

#[tokio::test]
async fn ui_a_measurement_that_is_broken_off_shows_what_was_measured() {
    let engine = Installation::start("ui_bench_stop").await;
    engine.actions("good", LOG).await;
    let (code, figures) = bench(&engine, "--scenario good --for 1s --parallel 1 --batch 5").await;
    assert_eq!((code, &figures["notEnded"]), (0, &json!(0)), "{figures}");
    assert!(figures["sent"].as_u64().unwrap() > 5, "{figures}");

    let program = PathBuf::from(std::env::var_os("PAGURUS_TEST_BIN").unwrap()).join("pagurus");
    let line = format!("--server {} bench --yes --scenario good --orders 100000000 --batch 5", engine.base());
    let mut command = tokio::process::Command::new(program);
    command.args(line.split(' ')).stdout(Stdio::piped()).stderr(Stdio::piped());
    let orders = async || {
        let counts = engine.get("/v1/counts?idPrefix=bench-&by=status").await.unwrap().body;
        counts["orders"].as_u64().unwrap()
    };
    let before = orders().await;
    let running = command.spawn().unwrap();
    until("it has sent some", PATIENCE, async || orders().await > before + 200).await;
    let process = Identity::of(running.id().unwrap()).unwrap();
    process.signal(Signal::Interrupt).unwrap();
    let output =
        tokio::time::timeout(Duration::from_secs(30), running.wait_with_output()).await.unwrap().unwrap();
    let shown = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(
        shown.contains("ORDERS/S") && shown.contains("accepted") && shown.contains("ended"),
        "{output:?}"
    );

    // It asks first, and nobody is there.
    let output = pagurus(&["--server", engine.base(), "bench", "--scenario", "good"]).await;
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}
