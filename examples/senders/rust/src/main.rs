//! Sends an order over AMQP, and prints its receipt and its notification.

use std::error::Error;

use futures_util::StreamExt as _;
use lapin::options::{
    BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, ConfirmSelectOptions, QueueBindOptions,
    QueueDeclareOptions,
};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Connection, ConnectionProperties};
use serde_json::{Value, json};

const DIRECT_REPLY: &str = "amq.rabbitmq.reply-to";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let set = |name: &str, otherwise: &str| std::env::var(name).unwrap_or_else(|_| otherwise.to_owned());
    let mut words = std::env::args().skip(1);
    let (Some(id), Some(scenario)) = (words.next(), words.next()) else {
        return Err("usage: send-order ID SCENARIO".into());
    };
    let prefix = set("PAGURUS_PREFIX", "pagurus");
    // The mark by which our notifications are routed: each system takes one of its own.
    let key = set("NOTIFY_KEY", "shop.orders");
    let url = set("AMQP_URL", "amqp://guest:guest@localhost:5672/%2f");
    let connection = Connection::connect(&url, ConnectionProperties::default()).await?;
    let channel = connection.create_channel().await?;
    channel.confirm_select(ConfirmSelectOptions::default()).await?;

    // A queue that outlives this program, so that no notification is missed.
    let durable = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
    channel.queue_declare(key.as_str().into(), durable, FieldTable::default()).await?;
    let exchange = format!("{prefix}.notifications");
    let options = QueueBindOptions::default();
    channel
        .queue_bind(key.as_str().into(), exchange.into(), key.as_str().into(), options, FieldTable::default())
        .await?;
    let consume = |queue: &str, no_ack| {
        let options = BasicConsumeOptions { no_ack, ..BasicConsumeOptions::default() };
        channel.basic_consume(queue.into(), "".into(), options, FieldTable::default())
    };
    let mut notifications = consume(&key, false).await?;
    let mut receipts = consume(DIRECT_REPLY, true).await?;

    let order = json!({
        "id": id,
        "scenario": scenario,
        "params": {"msisdn": "79110000001"},
        "notify": {"url": format!("amqp://?key={key}"), "correlationId": id},
    });
    let properties = BasicProperties::default()
        .with_content_type("application/json".into())
        .with_delivery_mode(2)
        .with_message_id(id.as_str().into())
        .with_correlation_id(id.as_str().into())
        .with_reply_to(DIRECT_REPLY.into());
    let mandatory = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
    let body = order.to_string();
    let exchange = format!("{prefix}.orders");
    let publish = channel
        .basic_publish(exchange.into(), "order.create".into(), mandatory, body.as_bytes(), properties)
        .await?;
    // The broker has stored it; what it returns, nobody takes.
    if publish.await?.take_message().is_some() {
        return Err("nobody takes orders there".into());
    }

    let receipt = receipts.next().await.ok_or("the connection has ended")??;
    println!("receipt: {}", String::from_utf8_lossy(&receipt.data));
    let status: Value = serde_json::from_slice(&receipt.data)?;
    if !matches!(status["status"].as_str(), Some("accepted" | "duplicate")) {
        return Err("the order was not taken".into());
    }
    // An order that was sent before and has ended had its notification then.
    if matches!(status["orderStatus"].as_str(), Some("success" | "fail" | "canceled" | "interrupted")) {
        return Ok(());
    }
    while let Some(delivery) = notifications.next().await {
        let delivery = delivery?;
        let notice: Value = serde_json::from_slice(&delivery.data)?;
        delivery.ack(BasicAckOptions::default()).await?;
        // A notification may come twice, under the same message_id: the receiver must be able to handle that.
        if notice["id"] == id.as_str() {
            println!("notification: {notice}");
            return Ok(());
        }
    }
    Err("the connection has ended".into())
}
