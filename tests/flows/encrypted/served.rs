//! The API by TLS, with a certificate that is exchanged.

use pagurus_harness::certificates::{NOW, TestIssuer};
use pagurus_harness::world::program::{CallBack, Program};
use serde_json::json;

use super::Folder;
use crate::installation::{Installation, PATIENCE, asking, until};

/// Asks for the state of the server as a client that trusts one issuer; returns the status, or why there is none.
async fn asked(url: &str, issuer: &TestIssuer) -> Result<u16, String> {
    let trusted = reqwest::Certificate::from_pem(issuer.pem.as_bytes()).unwrap();
    let client = reqwest::Client::builder().no_proxy().tls_certs_only([trusted]).build().unwrap();
    match client.get(url).send().await {
        Ok(answer) => Ok(answer.status().as_u16()),
        Err(error) => Err(format!("{error:?}")),
    }
}

#[tokio::test]
async fn qlt_15_the_api_is_served_by_tls_and_its_certificate_is_exchanged_without_a_restart() {
    let folder = Folder::new("served");
    let (old, new) = (TestIssuer::new("old").unwrap(), TestIssuer::new("new").unwrap());
    let show = |issuer: &TestIssuer| {
        let shown = issuer.issue("127.0.0.1", NOW).unwrap();
        let key = folder.file("server.key", &shown.key);
        (folder.file("server.crt", &shown.certificate), key)
    };
    let (certificate, key) = show(&old);
    let settings = [
        ("PAGURUS__NODE__CERTIFICATE", certificate.to_str().unwrap()),
        ("PAGURUS__NODE__KEY", key.to_str().unwrap()),
    ];
    let engine = Installation::with("tls_served", &settings).await;
    assert!(engine.base().starts_with("https://"), "{}", engine.base());
    engine.scenario("asks", &asking("/ask", "1m")).await;
    engine.world().program(Program::at("/ask").calling_back(CallBack::with(json!({"ok": true}))));
    engine.run(json!({"id": "called-back", "scenario": "asks"}), "success").await;
    let nodes = engine.get("/v1/nodes").await.unwrap().success().unwrap().to_string();
    assert!(nodes.contains("https://127.0.0.1"), "{nodes}");
    let probe = format!("{}/healthz", engine.base());
    assert_eq!(asked(&probe, &old).await, Ok(200));
    assert!(asked(&probe, &new).await.is_err_and(|why| why.contains("UnknownIssuer")));
    let sent = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let senders: Vec<_> = (0..4)
        .map(|lane| {
            // Trusts both, as clients do before an exchange.
            let trusted = [&old, &new].map(|one| reqwest::Certificate::from_pem(one.pem.as_bytes()).unwrap());
            let client = reqwest::Client::builder().no_proxy().tls_certs_only(trusted).build().unwrap();
            let (url, sent) = (format!("{}/v1/orders", engine.base()), sent.clone());
            tokio_util::task::AbortOnDropHandle::new(tokio::spawn(async move {
                for n in 0.. {
                    let order = json!({"id": format!("load-{lane}-{n}"), "scenario": "asks"});
                    let answer = client.post(&url).json(&order).send().await.unwrap();
                    assert_eq!(answer.status().as_u16(), 201);
                    sent.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                }
            }))
        })
        .collect();
    let more = async || {
        let before = sent.load(std::sync::atomic::Ordering::Relaxed);
        until("more orders are taken", PATIENCE, async || {
            sent.load(std::sync::atomic::Ordering::Relaxed) > before + 20
        })
        .await;
    };
    more().await;
    show(&new);
    until("the new certificate is shown", PATIENCE, async || asked(&probe, &new).await == Ok(200)).await;
    more().await;
    assert!(senders.iter().all(|sender| !sender.is_finished()), "an order was not taken");
    drop(senders);
    until("all have ended", PATIENCE, async || {
        let left = engine.get("/v1/counts?idPrefix=load-&status=new,running,wait,retry,fail").await.unwrap();
        left.body["orders"] == 0
    })
    .await;
    assert!(asked(&probe, &old).await.is_err());
    // The command line trusts what this variable names.
    let program = std::path::PathBuf::from(std::env::var_os("PAGURUS_TEST_BIN").unwrap()).join("pagurus");
    for (issuer, succeeds) in [(&new, true), (&old, false)] {
        let mut command = tokio::process::Command::new(&program);
        command.args(["--server", engine.base(), "nodes", "list"]);
        let output =
            command.env("SSL_CERT_FILE", folder.file("trusted.pem", &issuer.pem)).output().await.unwrap();
        assert_eq!(output.status.success(), succeeds, "{}", String::from_utf8_lossy(&output.stderr));
    }
    // A client that forgets the scheme learns of it.
    let plain = engine.env().http().get(probe.replace("https://", "http://")).send().await.unwrap();
    assert_eq!(plain.status().as_u16(), 400);
    assert!(plain.text().await.unwrap().contains("begin with `https://`"));
    engine.run(json!({"id": "afterwards", "scenario": "asks"}), "success").await;
}
