//! `./dev run --storm`: a called system that slows down, goes away and comes back, and what the engine makes of it, in
//! numbers and as a chart, a line a second.

use std::time::Duration;

use anyhow::{Context, Result};
use pagurus_harness::client::{Api, http};
use serde_json::{Value, json};

use crate::capacity::{COUNTS, SWITCH, WORK};
use pagurus_dev::place::Record;

/// Orders sent each second: more than the system can take.
const ORDERS_A_SECOND: usize = 300;
/// Width of the chart in characters, and the calls a second that fill it.
const CHART: (usize, f64) = (40, 240.0);

/// Behaviour of the system for a while.
struct Weather {
    name: &'static str,
    seconds: u64,
    switch: Value,
    /// Calls a second that it can take.
    capacity: f64,
}

fn weather() -> [Weather; 4] {
    let weather = |name, seconds, switch, capacity| Weather { name, seconds, switch, capacity };
    [
        weather("as ever", 12, json!({"servers": 10, "ms": 50, "away": false}), 200.0),
        weather("slower", 12, json!({"ms": 150}), 66.7),
        weather("away", 10, json!({"away": true}), 0.0),
        weather("back", 14, json!({"ms": 50, "away": false}), 200.0),
    ]
}

/// Plays it.
pub async fn play(record: &Record, server: &str) -> Result<()> {
    let api = Api::new(http()?, server);
    let port = record.demo_port.context("the storm needs the demo system")?;
    let system = Api::new(http()?, format!("http://127.0.0.1:{port}"));
    let scenario = format!(
        "scenario: storm\nkind: workflow\ninitialState: work\nstates:\n  work:\n    actions:\n      \
         - http: {{method: POST, url: \"${{config.demo}}{WORK}\", timeout: 5s}}\n    on: {{success: done, fail: failed}}\n  \
         done: {{kind: terminal}}\n  failed: {{kind: terminal, outcome: fail}}\n"
    );
    api.put_scenario("storm", &scenario).await?;
    println!(
        "\n==> a storm: orders come faster than the called system can take; a line is a second, `|` is its capacity\n"
    );
    println!(
        "    {:<8} {:>8} {:>7} {:>12} {:>6}  {:<9} answered a second",
        "system", "answered", "refused", "in progress", "ready", "flow"
    );
    let tag = &uuid::Uuid::new_v4().simple().to_string()[..6];
    let (mut sent, mut before) = (0, counts(&system).await?);
    for weather in weather() {
        system.post(SWITCH, &weather.switch).await?.success()?;
        for _ in 0..weather.seconds {
            let orders: Vec<Value> = (sent..sent + ORDERS_A_SECOND)
                .map(|n| json!({"id": format!("storm-{tag}-{n}"), "scenario": "storm"}))
                .collect();
            sent += ORDERS_A_SECOND;
            let orders = Value::Array(orders);
            let (answer, ()) = tokio::join!(
                api.post("/v1/orders/batch", &orders),
                tokio::time::sleep(Duration::from_secs(1))
            );
            answer?.success()?;
            let now = counts(&system).await?;
            // It is known from its first stage on.
            let flow = api.get("/v1/flows/storm").await?.body;
            println!("{}", line(&weather, (now.0 - before.0, now.1 - before.1), &flow));
            before = now;
        }
    }
    println!("\n    the last decisions of the dispatcher about it: `pagurus flows show storm`");
    Ok(())
}

async fn counts(system: &Api) -> Result<(u64, u64)> {
    let counts = system.get(COUNTS).await?.success()?;
    Ok((counts["answered"].as_u64().unwrap_or(0), counts["refused"].as_u64().unwrap_or(0)))
}

fn line(weather: &Weather, (answered, refused): (u64, u64), flow: &Value) -> String {
    let ready: u64 = ["high", "normal", "low"].iter().filter_map(|name| flow["ready"][name].as_u64()).sum();
    let limit = flow["limit"].as_u64().map_or_else(|| "-".to_owned(), |limit| limit.to_string());
    format!(
        "    {:<8} {answered:>8} {refused:>7} {:>12} {ready:>6}  {:<9} {}",
        weather.name,
        format!("{} / {limit}", flow["inProgress"].as_u64().unwrap_or(0)),
        flow["state"].as_str().unwrap_or("-"),
        bar(answered as f64, weather.capacity)
    )
}

/// A bar of what was answered, with a mark where the system has its capacity.
fn bar(answered: f64, capacity: f64) -> String {
    let (width, most) = CHART;
    let place = |value: f64| ((value / most * width as f64).round() as usize).min(width);
    let (filled, mark) = (place(answered), place(capacity));
    (0..=width)
        .map(|at| match () {
            () if at == mark => '|',
            () if at < filled => '#',
            () => ' ',
        })
        .collect::<String>()
        .trim_end()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_shows_what_was_answered_beside_what_is_borne() {
        assert_eq!(bar(120.0, 240.0), format!("{}{}|", "#".repeat(20), " ".repeat(20)));
        assert_eq!(bar(0.0, 0.0), "|");
        assert_eq!(bar(1000.0, 120.0), format!("{}|{}", "#".repeat(20), "#".repeat(19)));
    }
}
