//! Receivers of notifications, of the audit log and of spans, whose certificates are exchanged while orders run.

use std::collections::BTreeSet;

use pagurus_harness::certificates::{NOW, READ_AGAIN, TestIssuer, TlsFront, exchange, server_config};
use rustls::ServerConfig;
use serde_json::json;

use super::Folder;
use super::calls::address;
use crate::audit::receivers::Receiver;
use crate::audit::stop;
use crate::installation::{Installation, LOG, PATIENCE, until};
use crate::telemetry::collector::Collector;

/// Orders of a round, and those after which the audit log gets an entry.
const ORDERS: usize = 20;
const AUDITED: usize = 5;

/// Servers behind fronts that speak TLS and ask for a certificate, and the files of their clients.
struct Receivers {
    folder: Folder,
    issuers: [TestIssuer; 2],
    logs: Receiver,
    spans: Collector,
    of_logs: TlsFront,
    of_spans: TlsFront,
}

impl Receivers {
    async fn start() -> Self {
        let folder = Folder::new("receivers");
        let issuers = ["old", "new"].map(|name| TestIssuer::new(name).unwrap());
        let old = &issuers[0];
        let (logs, spans) = (Receiver::start().await, Collector::start().await);
        let of_logs = TlsFront::start(logs.address, shown(old, &[old])).await.unwrap();
        let of_spans = TlsFront::start(address(spans.url()), shown(old, &[old])).await.unwrap();
        folder.file("issuers.pem", &old.pem);
        let receivers = Self { folder, issuers, logs, spans, of_logs, of_spans };
        receivers.show(&receivers.issuers[0]);
        receivers
    }

    /// The certificate of the engine.
    fn show(&self, issuer: &TestIssuer) {
        let own = issuer.issue("pagurus", NOW).unwrap();
        for (kind, text) in [("crt", &own.certificate), ("key", &own.key)] {
            self.folder.file(&format!("own.{kind}"), text);
        }
    }

    async fn engine(&self) -> Installation {
        let files = self.folder.text();
        let port = self.of_logs.port();
        let syslog = format!(
            "tls://localhost:{port}?cacertfile={files}/issuers.pem&certfile={files}/own.crt&keyfile={files}/own.key"
        );
        let settings = [
            ("PAGURUS__AUDIT__EXPORT__SYSLOG", syslog),
            ("PAGURUS__TELEMETRY__OTLP__ENDPOINT", format!("https://localhost:{}", self.of_spans.port())),
            ("PAGURUS__TELEMETRY__OTLP__ISSUERS", format!("{files}/issuers.pem")),
            ("PAGURUS__TELEMETRY__OTLP__CERTIFICATE", format!("{files}/own.crt")),
            ("PAGURUS__TELEMETRY__OTLP__KEY", format!("{files}/own.key")),
            ("PAGURUS__WORKER__HTTP__ISSUERS", format!("{files}/issuers.pem")),
            ("PAGURUS__WORKER__HTTP__CERTIFICATES", files.to_owned()),
            (
                "PAGURUS__NOTIFY__ALLOW",
                "[{url: 'https://localhost:*', secret: hooks, certificate: own}]".to_owned(),
            ),
            ("PAGURUS_SECRET_HOOKS", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned()),
        ];
        let settings = settings.each_ref().map(|(name, value)| (*name, value.as_str()));
        let engine = Installation::with("tls_receivers", &settings).await;
        engine.actions("one", LOG).await;
        engine
    }

    /// Exchanges what the servers show, then what the engine shows, then what the servers trust.
    async fn exchange(&self, hooks: &TlsFront) {
        let [old, new] = &self.issuers;
        let fronts = [&self.of_logs, &self.of_spans, hooks];
        let trust = |text: &str| drop(self.folder.file("issuers.pem", text));
        exchange([old, new], &fronts, trust, || Ok(shown(new, &[old, new]))).await.unwrap();
        self.show(new);
        tokio::time::sleep(READ_AGAIN).await;
        for front in fronts {
            front.exchange(shown(new, &[new]));
        }
        hooks.cut();
    }
}

fn shown(issuer: &TestIssuer, clients: &[&TestIssuer]) -> ServerConfig {
    server_config(&issuer.issue("localhost", NOW).unwrap(), clients).unwrap()
}

/// Sends orders whose end is reported to this port, and writes into the audit log.
async fn round(engine: &Installation, name: &str, port: u16) {
    for number in 0..ORDERS {
        let id = format!("{name}-{number}");
        let notify = json!({"url": format!("https://localhost:{port}/hook")});
        engine.accepted(json!({"id": id, "scenario": "one", "notify": notify})).await;
        if number % AUDITED == 0 {
            stop(engine, &id).await;
        }
    }
}

#[tokio::test]
async fn qlt_15_certificates_of_receivers_are_exchanged_under_load_and_nothing_is_lost() {
    const ROUNDS: [&str; 3] = ["before", "during", "after"];
    let receivers = Receivers::start().await;
    let engine = receivers.engine().await;
    let old = &receivers.issuers[0];
    let hooks = TlsFront::start(address(engine.world().url()), shown(old, &[old])).await.unwrap();
    round(&engine, ROUNDS[0], hooks.port()).await;
    tokio::join!(receivers.exchange(&hooks), round(&engine, ROUNDS[1], hooks.port()));
    round(&engine, ROUNDS[2], hooks.port()).await;

    let ids = |round: &'static str| (0..ORDERS).map(move |number| format!("{round}-{number}"));
    let wanted: BTreeSet<String> = ROUNDS.into_iter().flat_map(ids).collect();
    until("all ends are reported", PATIENCE, async || {
        let calls = engine.world().calls("/hook");
        let ids = calls.iter().filter_map(|call| call.body["id"].as_str().map(str::to_owned));
        ids.collect::<BTreeSet<_>>() == wanted
    })
    .await;
    // One more than those of the rounds: the scenario was applied.
    let entries = i64::try_from(ROUNDS.len() * ORDERS / AUDITED).unwrap() + 1;
    let last = || receivers.logs.positions().last().copied();
    until("the audit log is received", PATIENCE, async || last() == Some(entries)).await;
    assert_eq!(receivers.logs.positions(), (1..=entries).collect::<Vec<_>>());
    let of_stages = receivers.spans.wait(PATIENCE, |spans| {
        let stages = spans.iter().filter(|span| span.name == "order.stage");
        let ids = stages.filter_map(|span| span.attributes.get("pagurus.order.id"));
        ids.cloned().collect::<BTreeSet<_>>() == wanted
    });
    of_stages.await;
    for node in &engine.nodes {
        let dropped = engine.metric(node, "pagurus_spans_total{outcome=\"failed\"}").await;
        assert!(dropped == 0.0, "{dropped} spans of {} were dropped", node.spec.name);
    }
}
