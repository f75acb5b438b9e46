//! Receivers of the audit log: one of syslog behind TLS that is not trusted at first, and an exchange that is made late.

use std::sync::{Arc, Mutex};

use futures_util::StreamExt as _;
use lapin::options::{BasicConsumeOptions, ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::FieldTable;
use lapin::{Connection, ConnectionProperties, ExchangeKind};
use pagurus_domain::audit::chain::ChainHead;
use pagurus_harness::certificates::{NOW, TestIssuer, TlsFront, server_config};
use pagurus_harness::client::lock;
use pagurus_harness::nodes::Role;
use pagurus_wire::audit::chain::AuditLinkView;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

use super::{ROLES, stop};
use crate::installation::{Installation, PATIENCE, until};

const LAG: &str = "pagurus_audit_export_lag_rows";

/// A receiver of syslog.
pub(crate) struct Receiver {
    messages: Arc<Mutex<Vec<String>>>,
    pub(crate) address: std::net::SocketAddr,
    _task: AbortOnDropHandle<()>,
}

impl Receiver {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let messages = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&messages);
        let task = tokio::spawn(async move {
            while let Ok((mut connection, _)) = listener.accept().await {
                let mut stream = Vec::new();
                if connection.read_to_end(&mut stream).await.is_ok() {
                    lock(&sink).extend(unframed(&stream));
                }
            }
        });
        Self { messages, address, _task: AbortOnDropHandle::new(task) }
    }

    /// Places in the log of the entries that came, in their order.
    pub(crate) fn positions(&self) -> Vec<i64> {
        let position = |message: &String| {
            let (_, rest) = message.split_once("position=\"").unwrap();
            rest.split('"').next().unwrap().parse().unwrap()
        };
        lock(&self.messages).iter().map(position).collect()
    }
}

/// Messages behind their lengths.
fn unframed(mut stream: &[u8]) -> Vec<String> {
    let mut messages = Vec::new();
    while let Some(space) = stream.iter().position(|byte| *byte == b' ') {
        let length: usize = std::str::from_utf8(&stream[..space]).unwrap().parse().unwrap();
        let end = space + 1 + length;
        messages.push(String::from_utf8(stream[space + 1..end].to_vec()).unwrap());
        stream = &stream[end..];
    }
    messages
}

#[tokio::test]
async fn qlt_15_a_receiver_of_syslog_that_was_away_gets_every_entry_in_order() {
    let receiver = Receiver::start().await;
    let (issuer, other) = (TestIssuer::new("logs").unwrap(), TestIssuer::new("other").unwrap());
    let shown = |issuer: &TestIssuer| server_config(&issuer.issue("localhost", NOW).unwrap(), &[]).unwrap();
    // While it shows a certificate of somebody else, it is none for the engine.
    let front = TlsFront::start(receiver.address, shown(&other)).await.unwrap();
    let file = std::env::temp_dir().join(format!("pagurus-audit-{:016x}.pem", rand::random::<u64>()));
    std::fs::write(&file, &issuer.pem).unwrap();
    let url = format!("tls://localhost:{}?cacertfile={}", front.port(), file.display());
    let settings = [("PAGURUS__AUDIT__EXPORT__SYSLOG", url.as_str())];
    let mut engine = Installation::only("audit_syslog", &ROLES, &settings).await;
    for keyword in ["a]\"\\", "b", "c"] {
        stop(&engine, keyword).await;
    }
    engine.until_metric(engine.node(Role::Activator), LAG, |lag| lag >= 3.0).await;
    engine.node(Role::Activator).kill().await.unwrap();
    engine.restart(Role::Activator).await;
    stop(&engine, "d").await;
    engine.until_metric(engine.node(Role::Activator), LAG, |lag| lag >= 4.0).await;
    assert_eq!(receiver.positions(), [0_i64; 0]);
    front.exchange(shown(&issuer));
    until("all came", PATIENCE, async || receiver.positions().last() == Some(&4)).await;
    assert_eq!(receiver.positions(), [1, 2, 3, 4]);
    engine.until_metric(engine.node(Role::Activator), LAG, |lag| lag == 0.0).await;
    let first = lock(&receiver.messages)[0].clone();
    assert!(first.starts_with("<109>1 ") && first.contains("subject=\"a\\]\\\"\\\\\""), "{first}");
    std::fs::remove_file(&file).unwrap();
}

#[tokio::test]
async fn qlt_15_an_exchange_gets_entries_that_can_be_verified_once_it_is_there() {
    let exchange = format!("audit-{:016x}", rand::random::<u64>());
    let settings = [("PAGURUS__AUDIT__EXPORT__EXCHANGE", exchange.as_str())];
    let engine = Installation::only("audit_exchange", &ROLES, &settings).await;
    stop(&engine, "a").await;
    stop(&engine, "b").await;
    engine.until_metric(engine.node(Role::Activator), LAG, |lag| lag >= 2.0).await;
    let connection =
        Connection::connect(engine.env().amqp_url(), ConnectionProperties::default()).await.unwrap();
    let channel = connection.create_channel().await.unwrap();
    let queue = QueueDeclareOptions { exclusive: true, ..QueueDeclareOptions::default() };
    channel.queue_declare(exchange.as_str().into(), queue, FieldTable::default()).await.unwrap();
    let declare = ExchangeDeclareOptions { auto_delete: true, ..ExchangeDeclareOptions::default() };
    let none = FieldTable::default;
    channel.exchange_declare(exchange.as_str().into(), ExchangeKind::Topic, declare, none()).await.unwrap();
    let bind = QueueBindOptions::default();
    let name = || exchange.as_str().into();
    channel.queue_bind(name(), name(), "audit".into(), bind, none()).await.unwrap();
    let options = BasicConsumeOptions { no_ack: true, ..BasicConsumeOptions::default() };
    let mut consumer = channel.basic_consume(name(), "".into(), options, none()).await.unwrap();
    let mut head = ChainHead::default();
    while head.position < 2 {
        let delivery = tokio::time::timeout(PATIENCE, consumer.next()).await.unwrap().unwrap().unwrap();
        let view: AuditLinkView = serde_json::from_slice(&delivery.data).unwrap();
        let id = delivery.properties.message_id().as_ref().unwrap().to_string();
        assert_eq!((id, *delivery.properties.delivery_mode()), (view.position.to_string(), Some(2)));
        // One that comes again is known by its position.
        if view.position > head.position {
            head.follow(&view.link().unwrap(), view.chained().as_ref()).unwrap();
        }
    }
}
