//! A directory whose certificate is exchanged while people log in.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pagurus_harness::certificates::{TlsFront, exchange, server_config};
use tokio::task::JoinSet;

use super::*;

#[tokio::test]
async fn qlt_15_the_certificate_of_the_directory_is_exchanged_while_people_log_in() {
    let directory = OpenLdap::start(false).await;
    let (old, new) = (TestIssuer::new("old").unwrap(), TestIssuer::new("new").unwrap());
    let shown = |issuer: &TestIssuer| server_config(&issuer.issue("localhost", NOW).unwrap(), &[]);
    let target = ([127, 0, 0, 1], directory.server.port()).into();
    let front = TlsFront::start(target, shown(&old).unwrap()).await.unwrap();
    let issuers = directory.folder.write("exchanged.pem", &old.pem);
    let url = format!("ldaps://localhost:{}", front.port());
    let template = ("bind_template", "uid={name},ou=people,dc=corp,dc=example");
    let by = directory.by(&[template, ("url", &url), ("issuers", &issuers), ("timeout", "60s")]);
    let logins = Arc::new(AtomicUsize::new(0));
    let mut people = JoinSet::new();
    for _ in 0..4 {
        let (by, logins) = (by.clone(), Arc::clone(&logins));
        people.spawn(async move {
            loop {
                by.login("anna", PASSWORD).await.unwrap();
                logins.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    let trust = |text: &str| drop(directory.folder.write("exchanged.pem", text));
    exchange([&old, &new], &[&front], trust, || shown(&new)).await.unwrap();
    let before = logins.load(Ordering::Relaxed);
    while logins.load(Ordering::Relaxed) < before + 20 {
        // One that ends has failed.
        assert!(people.try_join_next().is_none());
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    // The old certificate is no use any more.
    front.exchange(shown(&old).unwrap());
    assert!(people.join_next().await.unwrap().unwrap_err().to_string().contains("not trusted here"));
}
