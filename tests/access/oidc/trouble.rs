//! Providers that are away, hang, or show a wrong certificate; and the parts of a login that the browser brings.

use std::time::Duration;

use pagurus_access::LoginFailure;
use pagurus_harness::certificates::{NOW, TestIssuer, TlsFront, exchange, server_config};
use tokio::task::JoinSet;

use super::liar::{DOCUMENT, KEYS, Liar, Manner, TOKEN, USERINFO};
use super::{REDIRECT, asked, login, provider};

fn text_of<T: std::fmt::Debug>(found: Result<T, LoginFailure>) -> String {
    match found {
        Err(LoginFailure::Unavailable(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn qlt_15_a_provider_that_hangs_costs_a_login_no_more_than_its_time() {
    for path in [DOCUMENT, KEYS, TOKEN, USERINFO] {
        let liar = Liar::start().await;
        liar.lie(|lies| {
            lies.claims = serde_json::json!({"groups": null});
            lies.manners.insert(path, Manner::Silent);
        });
        let provider = provider(&liar.issuer(), &[("TIMEOUT", "1s")]);
        // A test that would hang without the time-out.
        let text = text_of(tokio::time::timeout(Duration::from_secs(60), login(&provider)).await.unwrap());
        assert!(text.contains("within 1s") || text.contains("too long"), "{path}: {text}");
    }
}

#[tokio::test]
async fn qlt_15_a_provider_that_is_away_is_said_to_be() {
    let text = text_of(login(&provider("http://127.0.0.1:9/realm", &[])).await);
    assert!(text.contains("http://127.0.0.1/realm/.well-known") && text.contains("refused"), "{text}");
}

#[tokio::test]
async fn qlt_9_no_more_than_eight_conversations_go_on_at_a_time() {
    let liar = Liar::start().await;
    liar.gate.send_replace(false);
    let provider = std::sync::Arc::new(provider(&liar.issuer(), &[]));
    let mut under_way = liar.under_way.subscribe();
    let mut logins = JoinSet::new();
    for _ in 0..20 {
        let provider = std::sync::Arc::clone(&provider);
        logins.spawn(async move { login(&provider).await.map(|_| ()) });
    }
    let mut most = *under_way.wait_for(|count| *count >= 8).await.unwrap();
    liar.gate.send_replace(true);
    while let Some(done) = logins.join_next().await {
        most = most.max(*under_way.borrow_and_update());
        assert_eq!(done.unwrap(), Ok(()));
    }
    assert_eq!(most, 8);
    assert_eq!((liar.asked(DOCUMENT), liar.asked(KEYS)), (1, 1), "many logins ask once");
}

#[tokio::test]
async fn qlt_15_a_provider_is_known_by_its_certificate() {
    let liar = Liar::start().await;
    let (own, foreign) = (TestIssuer::new("ours").unwrap(), TestIssuer::new("theirs").unwrap());
    let shown =
        |issuer: &TestIssuer, name, time| server_config(&issuer.issue(name, time).unwrap(), &[]).unwrap();
    let front = TlsFront::start(liar.address(), shown(&own, "localhost", NOW)).await.unwrap();
    *liar.issuer.lock().unwrap() = format!("https://localhost:{}", front.port());
    let file = std::env::temp_dir().join(format!("pagurus-oidc-{}.pem", std::process::id()));
    std::fs::write(&file, &own.pem).unwrap();
    let issuers = [("ISSUERS", file.to_str().unwrap())];
    login(&provider(&liar.issuer(), &issuers)).await.unwrap();
    for (config, word) in [
        (shown(&foreign, "localhost", NOW), "issuer of the server's certificate"),
        (shown(&own, "id.example", NOW), "another name"),
        (shown(&own, "localhost", (2001, 2002)), "has expired"),
    ] {
        front.exchange(config);
        let text = text_of(login(&provider(&liar.issuer(), &issuers)).await);
        assert!(text.contains(word), "{text}");
    }
    std::fs::remove_file(&file).unwrap();
    let text = text_of(login(&provider(&liar.issuer(), &issuers)).await);
    assert!(text.contains("no certificate can be read"), "{text}");
}

#[tokio::test]
async fn qlt_15_the_certificate_of_the_provider_is_exchanged_while_people_log_in() {
    let liar = Liar::start().await;
    let (old, new) = (TestIssuer::new("old").unwrap(), TestIssuer::new("new").unwrap());
    let shown = |issuer: &TestIssuer| server_config(&issuer.issue("localhost", NOW).unwrap(), &[]);
    let front = TlsFront::start(liar.address(), shown(&old).unwrap()).await.unwrap();
    *liar.issuer.lock().unwrap() = format!("https://localhost:{}", front.port());
    let file = std::env::temp_dir().join(format!("pagurus-exchanged-{:016x}.pem", rand::random::<u64>()));
    let trust = |text: &str| {
        let draft = file.with_extension("draft");
        std::fs::write(&draft, text).unwrap();
        std::fs::rename(&draft, &file).unwrap();
    };
    trust(&old.pem);
    let provider = std::sync::Arc::new(provider(&liar.issuer(), &[("ISSUERS", file.to_str().unwrap())]));
    let mut people = JoinSet::new();
    for _ in 0..4 {
        let provider = std::sync::Arc::clone(&provider);
        people.spawn(async move {
            loop {
                login(&provider).await.unwrap();
            }
        });
    }
    exchange([&old, &new], &[&front], trust, || shown(&new)).await.unwrap();
    let before = liar.asked(TOKEN);
    while liar.asked(TOKEN) < before + 20 {
        // One that ends has failed.
        assert!(people.try_join_next().is_none());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    people.shutdown().await;
    front.exchange(shown(&old).unwrap());
    front.cut();
    // Each connection that was kept fails once.
    let mut texts = Vec::new();
    while texts.len() < 10
        && !texts.iter().any(|text: &String| text.contains("issuer of the server's certificate"))
    {
        texts.push(text_of(login(&provider).await));
    }
    std::fs::remove_file(&file).unwrap();
    assert!(texts.len() < 10, "{texts:?}");
}

#[tokio::test]
async fn qlt_9_a_login_asks_for_what_its_settings_say_and_for_nothing_that_a_thief_could_use() {
    let liar = Liar::start().await;
    let more = [("SCOPES", "[openid, groups]"), ("ACR", "gold silver")];
    let provider = provider(&liar.issuer(), &more);
    let (one, two) = (provider.start(REDIRECT).await.unwrap(), provider.start(REDIRECT).await.unwrap());
    for (name, value) in [
        ("response_type", "code"),
        ("client_id", "pagurus"),
        ("redirect_uri", REDIRECT),
        ("scope", "openid groups"),
        ("acr_values", "gold silver"),
        ("code_challenge_method", "S256"),
    ] {
        assert_eq!(asked(&one, name), value);
    }
    for name in ["state", "nonce", "code_challenge"] {
        assert!(asked(&one, name).len() >= 43 && asked(&one, name) != asked(&two, name), "{name}");
    }
    let kept = serde_json::to_value(&one.pending).unwrap();
    assert!(!one.url.contains(kept["verifier"].as_str().unwrap()));
    assert!(kept.to_string().len() < 300, "it has to fit a cookie");
    assert_eq!(format!("{:?}", one.pending), "PendingLogin { .. }");
    // The class of authentication that was asked for is demanded.
    let text = login(&provider).await.unwrap_err().to_string();
    assert!(text.contains("claim `acr`"), "{text}");
    // The state of another login is no use.
    let found = provider.finish(&one.pending, &asked(&two, "state"), "code", REDIRECT).await.unwrap_err();
    assert!(found.to_string().contains("`state`"), "{found}");
    assert_eq!(liar.asked(TOKEN), 1, "a code with a wrong state is not even exchanged");
}
