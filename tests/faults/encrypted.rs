//! Connections to PostgreSQL and RabbitMQ by TLS: who is checked, and certificates that are exchanged under load.

mod broker;

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::Path;

use pagurus_harness::certificates::{NOW, TestCertificate, TestIssuer};
use pagurus_store::{Options, Store};

use crate::installation::{Installation, PATIENCE};
use crate::load::{Load, notified};
use crate::restart::tempfolder;
use crate::servers::Server;

/// Gives the server a certificate, from now on.
async fn show(server: &Server, shown: &TestCertificate) {
    let data = server.postgres.data();
    let owner = std::fs::metadata(data).unwrap();
    for (name, text) in [("server.crt", &shown.certificate), ("server.key", &shown.key)] {
        let file = data.join(name);
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        chown(&file, Some(owner.uid()), Some(owner.gid())).unwrap();
    }
    let session = server.session("postgres").await;
    session.batch_execute("ALTER SYSTEM SET ssl = on").await.unwrap();
    session.batch_execute("SELECT pg_reload_conf()").await.unwrap();
    // A session that began before the reload was heard of shows the old certificate.
    let file = data.join("server.crt");
    let begun = std::time::Instant::now();
    while begun.elapsed() < PATIENCE {
        let on: String = server.session("postgres").await.query_one("SHOW ssl", &[]).await.unwrap().get(0);
        if on == "on" && file.exists() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("the server does not speak TLS");
}

fn by_tls(server: &Server, mode: &str, issuers: &Path) -> String {
    format!("{}?sslmode={mode}&sslrootcert={}", server.url(), issuers.display())
}

/// Returns why a connection fails; nothing where it is made.
async fn failure(url: &str) -> String {
    let store = Store::new(&Options::of(url, "try")).unwrap();
    let Err(error) = store.ping().await else { return String::new() };
    let mut text = error.to_string();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(next) = cause.source() {
        text = format!("{text}: {next}");
        cause = next;
    }
    text
}

#[tokio::test]
async fn qlt_15_a_certificate_of_the_database_is_checked_as_the_url_says() {
    let folder = tempfolder("certificates");
    let server = Server::with_engine(&folder).await;
    let (ours, others) = (TestIssuer::new("ours").unwrap(), TestIssuer::new("others").unwrap());
    let file = folder.with_extension("issuers");
    std::fs::write(&file, &ours.pem).unwrap();
    for (certificate, mode, says) in [
        (ours.issue("127.0.0.1", NOW).unwrap(), "verify-full", ""),
        (ours.issue("elsewhere.example", NOW).unwrap(), "verify-ca", ""),
        (ours.issue("elsewhere.example", NOW).unwrap(), "verify-full", "is for another name"),
        (ours.issue("127.0.0.1", (2020, 2021)).unwrap(), "verify-ca", "has expired"),
        (others.issue("127.0.0.1", NOW).unwrap(), "verify-ca", "is not trusted here"),
        (others.issue("127.0.0.1", NOW).unwrap(), "require", "is not trusted here"),
        (others.issue("127.0.0.1", NOW).unwrap(), "prefer", ""),
    ] {
        show(&server, &certificate).await;
        let url = by_tls(&server, mode, &file);
        let found = failure(&url).await;
        assert!(found.contains(says) && found.is_empty() == says.is_empty(), "{mode}, {says}: {found}");
    }
    server.end().await;
}

#[tokio::test]
async fn qlt_15_certificates_of_the_database_are_exchanged_under_load_without_a_restart() {
    let folder = tempfolder("exchange");
    let server = Server::with_engine(&folder).await;
    let (old, new) = (TestIssuer::new("old").unwrap(), TestIssuer::new("new").unwrap());
    show(&server, &old.issue("127.0.0.1", NOW).unwrap()).await;
    let file = folder.with_extension("issuers");
    std::fs::write(&file, &old.pem).unwrap();
    let url = by_tls(&server, "verify-full", &file);
    let mut engine = Installation::behind("exchange", |_| ("PAGURUS__DATABASE__URL", url)).await;
    // The test's own queries go without TLS.
    engine.database = server.url();
    let amqp = engine.env.amqp().await.unwrap();
    let inbox = engine.listen(&amqp).await;
    let session = server.session("postgres").await;
    let encrypted = "SELECT count(*) FILTER (WHERE s.ssl), count(*) FILTER (WHERE NOT s.ssl)
                       FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid) WHERE a.datname = 'engine'";
    let row = session.query_one(encrypted, &[]).await.unwrap();
    assert!(row.get::<_, i64>(0) > 0 && row.get::<_, i64>(1) == 0, "{row:?}");
    let load = Load::with_naps("a", 30);
    load.publish(&amqp).await;
    inbox.wait(PATIENCE, |messages| notified(messages).len() >= 10).await.unwrap();
    // Both are trusted before the server shows the new one, and the old one no longer once it does.
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'engine'";
    for trusted in [format!("{}{}", old.pem, new.pem), new.pem.clone()] {
        std::fs::write(&file, trusted).unwrap();
        show(&server, &new.issue("127.0.0.1", NOW).unwrap()).await;
        session.execute(cut, &[]).await.unwrap();
    }
    let during = Load::with_naps("b", 30);
    during.publish(&amqp).await;
    Load::check_all(&[load, during], &engine, &inbox, 2 * PATIENCE).await;
    drop(engine);
    server.end().await;
}
