//! Called systems and the broker behind fronts that speak TLS.

use std::net::SocketAddr;

use pagurus_harness::certificates::{NOW, TestIssuer, TlsFront, server_config};
use pagurus_harness::world::program::Program;
use serde_json::json;

use super::Folder;
use crate::installation::{Installation, PATIENCE, until};

pub(super) fn address(url: &str) -> SocketAddr {
    let host = url.split_once("://").unwrap().1;
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    host.split('/').next().unwrap().parse().unwrap()
}

/// A scenario that calls `https://localhost` at this port.
fn calling(port: u16, auth: &str) -> String {
    format!("- http: {{url: 'https://localhost:{port}/do'{auth}}}")
}

#[tokio::test]
async fn qlt_15_scn_20_a_called_system_is_checked_and_gets_the_certificate_that_the_scenario_names() {
    let folder = Folder::new("calls");
    let (ours, others) = (TestIssuer::new("ours").unwrap(), TestIssuer::new("others").unwrap());
    let issuers = folder.file("issuers.pem", &ours.pem);
    for (name, issuer) in [("bank", &ours), ("wrong", &others)] {
        let shown = issuer.issue(name, NOW).unwrap();
        folder.file(&format!("{name}.crt"), &shown.certificate);
        folder.file(&format!("{name}.key"), &shown.key);
    }
    let settings = [
        ("PAGURUS__WORKER__HTTP__ISSUERS", issuers.to_str().unwrap()),
        ("PAGURUS__WORKER__HTTP__CERTIFICATES", folder.text()),
        ("PAGURUS__NOTIFY__ALLOW", "[{url: 'https://localhost:*', secret: hooks}]"),
        ("PAGURUS_SECRET_HOOKS", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
    ];
    let engine = Installation::with("tls_calls", &settings).await;
    engine.world().program(Program::at("/do"));
    let world = address(engine.world().url());
    let localhost = ours.issue("localhost", NOW).unwrap();
    let open = TlsFront::start(world, server_config(&localhost, &[]).unwrap()).await.unwrap();
    let closed = TlsFront::start(world, server_config(&localhost, &[&ours]).unwrap()).await.unwrap();
    let elsewhere = ours.issue("elsewhere.example", NOW).unwrap();
    let elsewhere = TlsFront::start(world, server_config(&elsewhere, &[]).unwrap()).await.unwrap();
    let expired = ours.issue("localhost", (2020, 2021)).unwrap();
    let expired = TlsFront::start(world, server_config(&expired, &[]).unwrap()).await.unwrap();
    let unknown = others.issue("localhost", NOW).unwrap();
    let unknown = TlsFront::start(world, server_config(&unknown, &[]).unwrap()).await.unwrap();
    for (number, (front, auth, says)) in [
        (&open, "", ""),
        (&open, ", auth: {certificate: bank}", ""),
        (&closed, ", auth: {certificate: bank}", ""),
        (&closed, ", auth: {certificate: bank, bearer: token}", ""),
        (&closed, "", "asks for a certificate, and none is set"),
        (&closed, ", auth: {certificate: wrong}", "refuses the certificate that it is shown"),
        (&closed, ", auth: {certificate: missing}", "no certificate can be read from"),
        (&elsewhere, "", "is for another name"),
        (&expired, "", "has expired"),
        (&unknown, "", "is not trusted here"),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("s{number}");
        engine.actions(&name, &calling(front.port(), auth)).await;
        let status = if says.is_empty() { "success" } else { "fail" };
        let order = engine.run(json!({"id": name, "scenario": name}), status).await;
        let message = order.pointer("/error/message").and_then(|text| text.as_str()).unwrap_or_default();
        assert!(message.contains(says), "{auth}: {message}");
    }
    let notify = json!({"url": format!("https://localhost:{}/hook", open.port()), "on": ["final"]});
    engine.run(json!({"id": "webhook", "scenario": "s0", "notify": notify}), "success").await;
    until("the webhook is called", PATIENCE, async || !engine.world().calls("/hook").is_empty()).await;
    let bearer =
        engine.world().calls("/do").into_iter().filter(|call| call.headers.contains_key("authorization"));
    assert_eq!(bearer.count(), 1);
}

#[tokio::test]
async fn qlt_15_certificates_of_the_broker_and_of_calls_are_exchanged_under_load_without_a_restart() {
    let folder = Folder::new("exchange");
    let (old, new) = (TestIssuer::new("old").unwrap(), TestIssuer::new("new").unwrap());
    let issuers = folder.file("issuers.pem", &old.pem);
    let shown = |issuer: &TestIssuer, asks: &[&TestIssuer]| {
        server_config(&issuer.issue("localhost", NOW).unwrap(), asks).unwrap()
    };
    let show = |issuer: &TestIssuer| {
        let own = issuer.issue("worker", NOW).unwrap();
        for (kind, text) in [("crt", &own.certificate), ("key", &own.key)] {
            folder.file(&format!("own.{kind}"), text);
        }
    };
    show(&old);
    let amqp = std::env::var("AMQP_URL").unwrap();
    let broker = TlsFront::start(address(&amqp), shown(&old, &[&old])).await.unwrap();
    let (user, path) = amqp.split_once("://").unwrap().1.split_once('@').unwrap();
    let (port, files) = (broker.port(), folder.text());
    let vhost = path.split_once('/').map_or("", |(_, vhost)| vhost);
    let url = format!(
        "amqps://{user}@localhost:{port}/{vhost}?cacertfile={files}/issuers.pem&certfile={files}/own.crt&keyfile={files}/own.key"
    );
    let settings = [
        ("PAGURUS__BROKER__URL", url.as_str()),
        ("PAGURUS__WORKER__HTTP__ISSUERS", issuers.to_str().unwrap()),
        ("PAGURUS__WORKER__HTTP__CERTIFICATES", folder.text()),
    ];
    let engine = Installation::with("tls_exchange", &settings).await;
    engine.world().program(Program::at("/do"));
    let system = TlsFront::start(address(engine.world().url()), shown(&old, &[&old])).await.unwrap();
    engine.actions("calls", &calling(system.port(), ", auth: {certificate: own}")).await;
    let probe = TlsFront::start(address(engine.world().url()), shown(&new, &[&old])).await.unwrap();
    engine.actions("probe", &calling(probe.port(), ", auth: {certificate: own}")).await;
    begin(&engine, "before").await;
    // Both are trusted on both sides before anybody shows the new ones, and the old ones no longer once all do.
    folder.file("issuers.pem", &format!("{}{}", old.pem, new.pem));
    files_are_read(&engine, &probe).await;
    begin(&engine, "during").await;
    broker.exchange(shown(&new, &[&old, &new]));
    broker.cut();
    system.exchange(shown(&new, &[&old, &new]));
    show(&new);
    probe.exchange(shown(&new, &[&new]));
    files_are_read(&engine, &probe).await;
    broker.exchange(shown(&new, &[&new]));
    broker.cut();
    system.exchange(shown(&new, &[&new]));
    folder.file("issuers.pem", &new.pem);
    for round in ["before", "during"] {
        all_succeed(&engine, round).await;
    }
    system.cut();
    begin(&engine, "after").await;
    all_succeed(&engine, "after").await;
}

/// Orders of a round.
fn ids(round: &str) -> impl Iterator<Item = String> {
    (0..30).map(move |number| format!("{round}-{number}"))
}

async fn begin(engine: &Installation, round: &str) {
    for id in ids(round) {
        engine.accepted(json!({"id": id, "scenario": "calls"})).await;
    }
}

async fn all_succeed(engine: &Installation, round: &str) {
    for id in ids(round) {
        engine.reach(&id, "success").await;
    }
}

/// Waits until a call of the probe succeeds: the worker has read the files as they are.
async fn files_are_read(engine: &Installation, probe: &TlsFront) {
    until("the files are read", PATIENCE, async || {
        // On a connection of an earlier call nothing is shown.
        probe.cut();
        let id = uuid::Uuid::new_v4().to_string();
        engine.accepted(json!({"id": id, "scenario": "probe"})).await;
        let status = async || engine.order(&id).await.unwrap()["status"].as_str().unwrap().to_owned();
        until("the probe ends", PATIENCE, async || ["success", "fail"].contains(&&*status().await)).await;
        status().await == "success"
    })
    .await;
}
