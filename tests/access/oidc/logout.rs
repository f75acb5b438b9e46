//! Logout tokens, and how often keys are asked for.

use std::time::Instant;

use jiff::Timestamp;
use pagurus_access::LoginFailure;
use serde_json::json;

use super::liar::{KEYS, Liar, Lies, Manner, Signer};
use super::{login, provider};

type Row = (&'static str, fn(&mut Lies), &'static str);

const LIES: &[Row] = &[
    ("another issuer", |l| l.claims = json!({"iss": "https://id.example"}), "issuer `https://id.example`"),
    ("another audience", |l| l.claims = json!({"aud": "shop"}), "audience `shop`"),
    ("no event", |l| l.claims = json!({"events": null}), "`events`"),
    (
        "another event",
        |l| l.claims = json!({"events": {"http://schemas.openid.net/event/other": {}}}),
        "`events`",
    ),
    ("a nonce", |l| l.claims = json!({"nonce": "n"}), "`nonce`"),
    ("no time", |l| l.claims = json!({"iat": null}), "claim `iat`"),
    ("too old", |l| l.claims = json!({"iat": Timestamp::now().as_second() - 400}), "too old"),
    ("in the future", |l| l.claims = json!({"iat": Timestamp::now().as_second() + 600}), "not valid yet"),
    ("expired", |l| l.claims = json!({"exp": Timestamp::now().as_second() - 61}), "expired"),
    ("no identifier", |l| l.claims = json!({"jti": null}), "claim `jti`"),
    ("nobody", |l| l.claims = json!({"sub": null, "sid": null}), "neither"),
    ("no signature", |l| (l.header, l.signer) = (json!({"alg": "none"}), Signer::Nobody), "algorithm `none`"),
    (
        "the public key as a secret",
        |l| (l.header, l.signer) = (json!({"alg": "HS256"}), Signer::PublicKey),
        "algorithm `HS256`",
    ),
    ("another key of the same name", |l| l.signer = Signer::Key(1), "signature"),
    ("an unknown key", |l| l.header = json!({"alg": "ES256", "kid": "k9"}), "key `k9`"),
    ("another kind", |l| l.header = json!({"alg": "ES256", "kid": "k1", "typ": "at+jwt"}), "type `at+jwt`"),
];

#[tokio::test]
async fn qlt_9_no_lie_signs_anybody_out() {
    for (name, lie, word) in LIES {
        let liar = Liar::start().await;
        liar.lie(lie);
        let found = provider(&liar.issuer(), &[]).logged_out(&liar.logout_token("j")).await;
        let is_expected = matches!(&found, Err(LoginFailure::Refused(text)) if text.contains(word));
        assert!(is_expected, "{name}: {found:?}");
    }
}

#[tokio::test]
async fn qlt_9_a_logout_token_counts_once() {
    let liar = Liar::start().await;
    let provider = provider(&liar.issuer(), &[]);
    let token = liar.logout_token("j1");
    let ended = provider.logged_out(&token).await.unwrap();
    assert_eq!(ended.subject, Some(format!("{}#7", liar.issuer())));
    assert_eq!(ended.provider_session.as_deref(), Some("session-1"));
    let again = provider.logged_out(&token).await.unwrap_err().to_string();
    assert!(again.contains("used before"), "{again}");
    // One that was refused has not used its identifier up.
    liar.lie(|lies| lies.claims = json!({"aud": "shop"}));
    provider.logged_out(&liar.logout_token("j2")).await.unwrap_err();
    liar.lie(|lies| lies.claims = json!({"sid": null}));
    assert_eq!(provider.logged_out(&liar.logout_token("j2")).await.unwrap().provider_session, None);
}

#[tokio::test]
async fn qlt_9_what_signs_in_signs_nobody_out() {
    let liar = Liar::start().await;
    liar.lie(|lies| lies.claims = json!({"events": null, "nonce": "n"}));
    let found = provider(&liar.issuer(), &[]).logged_out(&liar.logout_token("j")).await;
    assert!(matches!(found, Err(LoginFailure::Refused(_))), "{found:?}");
}

#[tokio::test]
async fn qlt_9_a_thousand_tokens_with_unknown_keys_ask_for_the_keys_once_in_half_a_minute() {
    let liar = Liar::start().await;
    let provider = provider(&liar.issuer(), &[]);
    login(&provider).await.unwrap();
    let started = Instant::now();
    for number in 0..1000 {
        liar.lie(|lies| lies.header = json!({"alg": "ES256", "kid": format!("unknown-{number}")}));
        let found = provider.logged_out(&liar.logout_token("j")).await;
        assert!(
            matches!(&found, Err(LoginFailure::Refused(text)) if text.contains("key `unknown-")),
            "{found:?}"
        );
    }
    let most = 2 + started.elapsed().as_secs() / 30;
    let asked = liar.asked(KEYS) as u64;
    assert!((2..=most).contains(&asked), "asked {asked} times");
}

#[tokio::test]
async fn qlt_9_keys_that_the_provider_exchanges_are_found_and_the_former_stay_where_it_fails() {
    let liar = Liar::start().await;
    let provider = provider(&liar.issuer(), &[]);
    login(&provider).await.unwrap();
    login(&provider).await.unwrap();
    assert_eq!(liar.asked(KEYS), 1);
    liar.lie(|lies| {
        lies.published = vec![("k2", 1)];
        (lies.header, lies.signer) = (json!({"alg": "ES256", "kid": "k2"}), Signer::Key(1));
    });
    login(&provider).await.unwrap();
    assert_eq!(liar.asked(KEYS), 2);

    let other = super::provider(&liar.issuer(), &[]);
    login(&other).await.unwrap();
    liar.lie(|lies| {
        lies.manners.insert(KEYS, Manner::Status(500));
        lies.header = json!({"alg": "ES256", "kid": "k3"});
    });
    let found = login(&other).await;
    assert!(matches!(&found, Err(LoginFailure::Refused(text)) if text.contains("key `k3`")), "{found:?}");
    liar.lie(|lies| lies.header = json!({"alg": "ES256", "kid": "k2"}));
    login(&other).await.unwrap();
}
