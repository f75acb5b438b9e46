//! A broker that speaks TLS, and logs its clients in by their certificates.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use pagurus_broker::{Broker, Config, ConsumeSpec, LinkState, Message, Published, QueueSource};
use pagurus_domain::id::Role;
use pagurus_harness::certificates::{NOW, TestCertificate, TestIssuer};
use pagurus_harness::client::raw::{RawAmqp, RawProperties};
use pagurus_harness::of_test::OfTest;
use pagurus_harness::ports::{Owner, Ports};
use pagurus_harness::rabbit::{PORTS, Rabbit};

use crate::installation::PATIENCE;
use crate::restart::tempfolder;

/// Writes a certificate and its key; returns the options of a URL that name them.
fn shown(folder: &Path, name: &str, certificate: &TestCertificate) -> String {
    let (of_certificate, of_key) = (folder.join(format!("{name}.crt")), folder.join(format!("{name}.key")));
    std::fs::write(&of_certificate, &certificate.certificate).unwrap();
    std::fs::write(&of_key, &certificate.key).unwrap();
    format!("&certfile={}&keyfile={}", of_certificate.display(), of_key.display())
}

/// Waits until a connection is made, or until it fails for this reason.
async fn comes_to(url: &str, says: Option<&str>) {
    let broker = Broker::connect(Config::new(url, "pagurus", Role::Intake, "try")).unwrap();
    let mut seen = BTreeSet::new();
    let begun = Instant::now();
    loop {
        let found = match broker.state().publish {
            LinkState::Down(why) if why == "not connected yet" => false,
            LinkState::Down(why) => seen.insert(why.clone()) && says.is_some_and(|says| why.contains(says)),
            LinkState::Up | LinkState::Blocked(_) => {
                assert_eq!(says, None, "{url} is reached");
                true
            }
        };
        if found {
            return broker.close().await;
        }
        assert!(begun.elapsed() < PATIENCE, "{url}: {seen:?}, not {says:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Asserts that over TLS, too, a message that no library can read stops nobody, however much comes before it.
async fn mends_frames(url: &str, raw: &mut RawAmqp) {
    const LARGE: usize = 50;
    let broker = Broker::connect(Config::new(url, "pagurus", Role::Intake, "mends")).unwrap();
    broker.ready(PATIENCE).await.unwrap();
    let names = broker.names();
    let spec = ConsumeSpec {
        queue: QueueSource::Named(names.orders_in.clone()),
        prefetch: 20,
        ack_on_take: true,
        own_connection: false,
    };
    let consumer = broker.consume(spec).unwrap();
    let mut counted = 0;
    let mut illegible = 0;
    for round in 0..3 {
        let large = Message::json(&names.orders, "order.create", vec![b'x'; 512 * 1024]);
        let results = broker.publish_many(vec![large; LARGE]).await;
        assert!(results.iter().all(|result| *result == Published::Confirmed), "{results:?}");
        let latin = RawProperties { correlation_id: Some(b"caf\xe9".to_vec()), ..RawProperties::default() };
        raw.publish(&names.orders, b"order.create", &latin, b"{}").await.unwrap();
        while counted < (round + 1) * (LARGE + 1) {
            let batch = tokio::time::timeout(PATIENCE, consumer.next_batch(20)).await.expect("a delivery");
            illegible += batch.iter().filter(|delivery| delivery.illegible().is_some()).count();
            counted += batch.len();
        }
        assert_eq!(illegible, round + 1);
    }
    drop(consumer);
    broker.close().await;
}

#[tokio::test]
async fn qlt_15_amqp_5_a_broker_is_checked_and_logs_in_by_the_certificate_that_is_shown() {
    let folder = tempfolder("amqps");
    let ports = Ports::reserve(PORTS + 1, &Owner::this_process().unwrap()).unwrap();
    let port = ports.first() + PORTS;
    let (ours, others) = (TestIssuer::new("ours").unwrap(), TestIssuer::new("others").unwrap());
    let rabbit = Rabbit::prepare(&folder, ports.first(), false).unwrap();
    let rabbit = OfTest(rabbit.by_tls(port, &ours.pem, &ours.issue("localhost", NOW).unwrap()).unwrap());
    rabbit.start().await.unwrap();
    rabbit.control(&["add_user", "worker", "never used"]).await.unwrap();
    rabbit.control(&["set_permissions", "worker", ".*", ".*", ".*"]).await.unwrap();
    let worker = shown(&folder, "worker", &ours.issue("worker", NOW).unwrap());
    let stranger = shown(&folder, "stranger", &ours.issue("stranger", NOW).unwrap());
    let other = shown(&folder, "other", &others.issue("worker", NOW).unwrap());
    let issuers = |name: &str, issuer: &TestIssuer| {
        let file = folder.join(name);
        std::fs::write(&file, &issuer.pem).unwrap();
        format!("auth_mechanism=external&cacertfile={}", file.display())
    };
    let (trusting, mistrusting) = (issuers("ours.pem", &ours), issuers("others.pem", &others));
    // This server sends its reason and resets the connection at once: the reset may be all that comes.
    const REFUSED: &str = "";
    for (host, options, says) in [
        ("localhost", format!("{trusting}{worker}"), None),
        ("localhost", format!("{trusting}{stranger}"), Some("ACCESS_REFUSED")),
        ("localhost", trusting.clone(), Some(REFUSED)),
        ("localhost", format!("{trusting}{other}"), Some(REFUSED)),
        ("localhost", format!("{mistrusting}{worker}"), Some("is not trusted here")),
        ("localhost", format!("{mistrusting}{worker}&verify=verify_none"), None),
        ("127.0.0.1", format!("{trusting}{worker}"), Some("is for another name")),
    ] {
        comes_to(&format!("amqps://worker@{host}:{port}/%2f?{options}"), says).await;
    }
    let mut raw = RawAmqp::connect(&rabbit.url()).await.unwrap();
    mends_frames(&format!("amqps://worker@localhost:{port}/%2f?{trusting}{worker}"), &mut raw).await;
    rabbit.stop().await.unwrap();
    // A folder that stays costs only space.
    let _ = std::fs::remove_dir_all(&folder);
}
