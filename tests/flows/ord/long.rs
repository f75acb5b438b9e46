//! An order with a long history: it costs its readers no more than others do (UI-3), and is all there, page by page (ORD-25).

use serde_json::{Value, json};

use crate::installation::Installation;

/// Moves to and fro six hundred times within a stage, passes an entry point, and fails there.
const CIRCLES: &str = "initialState: begin
targetStates: [done]
states:
  begin: {entryPoint: true, actions: [{script: 'vars.n = 0'}], on: {success: there, fail: failed}}
  there: {actions: [{script: 'vars.n += 1; if vars.n < 300 { fail() }'}], on: {fail: back, success: late}}
  back: {actions: [{script: 'log(`back`)'}], on: {success: there, fail: failed}}
  late: {entryPoint: true, actions: [{script: 'fail()'}], on: {success: done, fail: failed}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
";

#[tokio::test]
async fn ui_3_an_order_shows_its_first_transitions_and_says_that_there_are_more() {
    let engine = Installation::start("ui_3_long").await;
    engine.put_scenario("circles", &format!("scenario: circles\nkind: workflow\n{CIRCLES}")).await.unwrap();
    let order = engine.run(json!({"id": "a", "scenario": "circles"}), "fail").await;
    let shown = order["transitions"].as_array().unwrap();
    assert_eq!((shown.len(), &order["moreTransitions"]), (250, &json!(true)));
    let all = engine.transitions("a").await.unwrap();
    assert_eq!(all.len(), 601);
    assert_eq!(all[..250], shown[..]);
    assert_eq!(names(&order), ["begin", "late"], "also one that it visited later than those transitions");

    // Hundreds of rows without a transition, as many retries leave them.
    let rows = "INSERT INTO history (order_no, number, life, kind, source, detail)
                SELECT o.no, o.events + 2 * n - 1, 1, 'stage', 'w', '{}' FROM orders o, generate_series(1, 600) AS n WHERE o.id = 'a'";
    let database = engine.database().await;
    database.execute(rows, &[]).await.unwrap();
    database.execute("UPDATE orders SET events = events + 1200 WHERE id = 'a'", &[]).await.unwrap();
    assert_eq!(names(&engine.order("a").await.unwrap()), ["begin", "late"]);

    let again = json!({"reason": "once more", "from": "late"});
    engine.act("a", "restart", &again).await.success().unwrap();
    let order = engine.reach("a", "fail").await;
    assert_eq!((order["life"].clone(), names(&order)), (json!(2), vec!["late".to_owned()]));
}

fn names(order: &Value) -> Vec<String> {
    let visited = order["entryPoints"].as_array().unwrap();
    visited.iter().map(|one| one["state"].as_str().unwrap().to_owned()).collect()
}
