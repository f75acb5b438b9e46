//! Scenarios and the broker: calls that come as messages, messages into other virtual hosts, and
//! callbacks of messages that rules judge by where the message went (SCN-9, ERR-7).

use lapin::BasicProperties;
use lapin::options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::FieldTable;
use pagurus_harness::client::amqp::Amqp;
use serde_json::{Value, json};

use crate::installation::{Installation, PATIENCE};

#[tokio::test]
async fn scn_9_a_call_over_amqp_is_answered_over_amqp_and_handled_once() {
    let engine = Installation::start("scn_9_amqp").await;
    let text = "initialState: rest\ncalls:\n  add: {actions: [{script: 'vars.n = (if \"n\" in vars { vars.n } else { 0 }) + event.body.by; answer(vars.n);'}]}\n\
                states:\n  rest: {actions: [{sleep: {for: 10m}}], on: {sleep: resting}}\n  \
                resting: {kind: sleeping, on: {timeout: done}}\n  done: {kind: terminal}\n";
    engine.scenario("adds", text).await;
    engine.run(json!({"id": "a", "scenario": "adds"}), "sleep").await;
    let client = engine.env().amqp().await.unwrap();
    let receipts = client.listen_directly().await.unwrap();
    let exchange = format!("{}.orders", engine.env().prefix());
    let send = async |body: Value, mark: &str| {
        let properties = BasicProperties::default()
            .with_reply_to(receipts.queue().into())
            .with_correlation_id(mark.into());
        client.publish(&exchange, "order.call", body.to_string().as_bytes(), &properties).await.unwrap();
    };
    for (mark, key, by) in [("1", "k", 2), ("2", "k", 2), ("3", "l", 5)] {
        send(json!({"id": "a", "name": "add", "key": key, "body": {"by": by}}), mark).await;
        let received =
            receipts.wait(PATIENCE, |all| all.iter().any(|m| m.correlation_id.as_deref() == Some(mark)));
        let received = received.await.unwrap();
        let receipt = received.iter().find(|one| one.correlation_id.as_deref() == Some(mark)).unwrap();
        let expected = if key == "k" { 2 } else { 7 };
        let said = (&receipt.body["status"], &receipt.body["call"]["answer"]);
        assert_eq!(said, (&json!("answered"), &json!(expected)), "{receipt:?}");
    }
    let audit = engine.get("/v1/audit?action=call&subject=a").await.unwrap().success().unwrap();
    let by: Vec<&Value> =
        audit["items"].as_array().unwrap().iter().map(|entry| &entry["by"]["door"]).collect();
    assert_eq!(by, ["amqp", "amqp"], "the repeat is no action: {audit}");
    send(json!({"id": "a", "name": "unknown"}), "4").await;
    let received = receipts.wait(PATIENCE, |all| all.len() == 4).await.unwrap();
    assert_eq!(received[3].body["status"], "rejected", "{:?}", received[3]);
}

fn rabbitmqctl(arguments: &[&str]) {
    let program = std::env::var_os("RABBITMQCTL").expect("`./dev test` says where it is");
    let output = std::process::Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// An exchange with one queue, which keeps what comes.
async fn place(client: &Amqp, name: &str) {
    let channel = client.channel();
    let (exchange, table) = (ExchangeDeclareOptions::default(), FieldTable::default());
    channel.exchange_declare(name.into(), lapin::ExchangeKind::Topic, exchange, table.clone()).await.unwrap();
    let kept = QueueDeclareOptions { auto_delete: true, ..QueueDeclareOptions::default() };
    channel.queue_declare(name.into(), kept, table.clone()).await.unwrap();
    channel
        .queue_bind(name.into(), name.into(), "#".into(), QueueBindOptions::default(), table)
        .await
        .unwrap();
}

#[tokio::test]
async fn scn_7_a_message_goes_into_the_virtual_host_that_its_action_names() {
    let engine = Installation::start("scn_vhost").await;
    let vhost = format!("other-{}", engine.env().prefix());
    rabbitmqctl(&["add_vhost", &vhost]);
    rabbitmqctl(&["set_permissions", "-p", &vhost, "guest", ".*", ".*", ".*"]);
    let url = engine.env().amqp_url();
    let base = url.rsplit_once('/').unwrap().0;
    let client = Amqp::connect(&format!("{base}/{vhost}"), "x").await.unwrap();
    place(&client, "network").await;
    let action = format!(
        "- amqp: {{exchange: network, key: k.1, vhost: \"{vhost}\", body: {{n: \"${{params.n}}\"}}}}"
    );
    engine.actions("tells", &action).await;
    engine.run(json!({"id": "a", "scenario": "tells", "params": {"n": 7}}), "success").await;
    let got = client.channel().basic_get("network".into(), lapin::options::BasicGetOptions { no_ack: true });
    let message = got.await.unwrap().expect("the message");
    assert_eq!(serde_json::from_slice::<Value>(&message.data).unwrap(), json!({"n": 7}));
    let gone = action.replace("exchange: network", "exchange: nowhere");
    engine.actions("lost", &gone).await;
    let order = engine.run(json!({"id": "b", "scenario": "lost", "params": {"n": 7}}), "fail").await;
    assert_eq!(order["error"]["class"], "amqp.unroutable", "{order}");
    rabbitmqctl(&["delete_vhost", &vhost]);
}

#[tokio::test]
async fn qlt_8_names_of_virtual_hosts_that_orders_make_up_keep_nobody_from_one_that_is_there() {
    let engine = Installation::start("vhosts").await;
    let real = format!("real-{}", engine.env().prefix());
    rabbitmqctl(&["add_vhost", &real]);
    rabbitmqctl(&["set_permissions", "-p", &real, "guest", ".*", ".*", ".*"]);
    let base = engine.env().amqp_url().rsplit_once('/').unwrap().0.to_owned();
    let client = Amqp::connect(&format!("{base}/{real}"), "x").await.unwrap();
    place(&client, "network").await;
    engine.actions("tells", "- amqp: {exchange: network, key: k.1, vhost: \"${params.v}\", body: {}}").await;
    let order = |id: &str, vhost: &str| json!({"id": id, "scenario": "tells", "params": {"v": vhost}});
    let made_up: Vec<String> = (0..40).map(|n| format!("m-{n}")).collect();
    for id in &made_up {
        engine.accepted(order(id, &format!("nobody-{id}"))).await;
    }
    // While they are being tried, and once they have failed.
    engine.run(order("meanwhile", &real), "success").await;
    for id in &made_up {
        let order = engine.reach(id, "fail").await;
        assert_eq!(order["error"]["class"], "amqp.unroutable", "{order}");
        let message = order["error"]["message"].as_str().unwrap();
        assert!(message.contains(&format!("nobody-{id}")), "{order}");
    }
    engine.run(order("after", &real), "success").await;
    rabbitmqctl(&["delete_vhost", &real]);
}

#[tokio::test]
async fn err_7_the_answer_to_a_message_is_judged_by_where_the_message_went() {
    let rules = |exchange: &str| {
        format!(
            "{{async: {{classification: {{rules: {{r: {{requests: {{amqp: [{{path: \"%2F?exchange={exchange}&key=act.*\"}}]}}, \
             classes: {{net.refused: {{responses: [{{step_status_keywords: [k2, \"7\"]}}]}}}}}}}}}}, \
             retry: {{policies: {{p: {{error_classes: [net.refused], \
             parameters: {{initial_interval: 200ms, multiplier: 1, max_interval: 1s, jitter: 0, max_attempts: 1}}}}}}}}}}}}"
        )
    };
    let engine =
        Installation::with("err_7", &[("PAGURUS__EXECUTION__ERROR_HANDLING", &rules("err7-*"))]).await;
    let client = engine.env().amqp().await.unwrap();
    let exchange = format!("err7-{}", engine.env().prefix());
    place(&client, &exchange).await;
    let text = format!(
        "initialState: ask\nstates:\n  ask:\n    entryPoint: true\n    actions:\n      \
         - amqp: {{exchange: {exchange}, key: act.1, body: {{}}, request: act}}\n      - wait: {{timeout: 20s}}\n    \
         on: {{wait: asked, fail: failed}}\n  asked: {{kind: waiting, on: {{callback: done, timeout: failed, fail: refused}}}}\n  \
         done: {{kind: terminal}}\n  failed: {{kind: terminal, outcome: fail}}\n  refused: {{kind: terminal, outcome: fail}}\n"
    );
    engine.scenario("asks", &text).await;
    engine.accepted(json!({"id": "a", "scenario": "asks"})).await;
    let text = lapin::types::AMQPValue::LongString("k2".into());
    // Neither the case of the name nor the type of the value is for us to choose.
    for (name, status) in [("step-status", text), ("Step-Status", lapin::types::AMQPValue::LongInt(7))] {
        let mut question = None;
        while question.is_none() {
            let got = client
                .channel()
                .basic_get(exchange.as_str().into(), lapin::options::BasicGetOptions { no_ack: true });
            question = got.await.unwrap();
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        let asked = question.unwrap();
        let mut headers = FieldTable::default();
        headers.insert(name.into(), status);
        let properties = BasicProperties::default()
            .with_correlation_id(asked.delivery.properties.correlation_id().clone().unwrap())
            .with_headers(headers);
        client
            .publish(&format!("{}.callbacks", engine.env().prefix()), "answer", b"{}", &properties)
            .await
            .unwrap();
    }
    // One retry, then the scenario learns of it, by the event that tells a failed answer from a good one.
    let order = engine.reach("a", "fail").await;
    assert_eq!(
        (&order["step"], &order["error"]["class"]),
        (&json!("refused"), &json!("net.refused")),
        "{order}"
    );
}
