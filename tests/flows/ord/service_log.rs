//! The log of the services about orders (ORD-6).

use pagurus_harness::nodes::Role;
use serde_json::{Value, json};

use crate::installation::{Installation, PATIENCE, until};

#[tokio::test]
async fn ord_6_each_service_names_the_order_and_its_business_transaction() {
    let settings = [
        ("PAGURUS__LOG__FORMAT", "json"),
        ("PAGURUS__LOG__LEVEL", "info,orders=debug"),
        ("PAGURUS__NOTIFY__ALLOW", "[{url: 'http://127.0.0.1:*', secret: hooks}]"),
        ("PAGURUS_SECRET_HOOKS", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
    ];
    let engine = Installation::with("ord_6_services", &settings).await;
    let rests = "initialState: rest\ntargetStates: [done]\nstates:\n  rest:\n    actions: [{sleep: {for: 100ms}}]\n    \
        on: {sleep: sleeps}\n  sleeps: {kind: sleeping, on: {timeout: done}}\n  done: {kind: terminal}\n";
    engine.scenario("rests", rests).await;
    let notify = json!({"url": format!("{}/end", engine.world().url())});
    let order = json!({"id": "o-1", "scenario": "rests", "transactionId": "t-1", "notify": notify});
    engine.run(order, "success").await;
    for (role, wanted) in [
        (Role::Intake, "an order was registered"),
        (Role::Activator, "an order was woken"),
        (Role::Worker, "a stage has ended"),
        (Role::Notifier, "a notification was delivered"),
    ] {
        let log = engine.node(role).spec.log.clone();
        until(wanted, PATIENCE, async || {
            let text = std::fs::read_to_string(&log).unwrap();
            let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let mut of_orders = lines.filter(|line| line["target"] == "orders");
            of_orders.any(|line| {
                line["order"] == "o-1" && line["transaction"] == "t-1" && line.to_string().contains(wanted)
            })
        })
        .await;
    }
}
