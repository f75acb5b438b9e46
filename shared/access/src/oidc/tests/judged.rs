//! Tables of claims, and what is said of each.

use super::super::claims::{ExpectedClaims, JudgedLogout, TokenClaims};
use super::*;

const NOW: i64 = 1_800_000_000;
const LOGOUT_EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";

fn expected(acr: &[&str]) -> ExpectedClaims {
    ExpectedClaims {
        issuer: "https://id.example".into(),
        client_id: "pagurus".into(),
        acr: acr.iter().map(|class| (*class).to_owned()).collect(),
        skew: SignedDuration::from_secs(60),
    }
}

fn now() -> Timestamp {
    Timestamp::from_second(NOW).unwrap()
}

/// The claims with this one changed; `null` takes it away.
fn claims(mut base: Value, claim: &str, value: Value) -> TokenClaims {
    let map = base.as_object_mut().unwrap();
    map.insert(claim.to_owned(), value.clone());
    if value.is_null() {
        map.remove(claim);
    }
    TokenClaims(map.clone())
}

fn of_id(claim: &str, value: Value) -> TokenClaims {
    let base = json!({
        "iss": "https://id.example", "aud": "pagurus", "sub": "7", "nonce": "n", "iat": NOW, "exp": NOW + 300,
    });
    claims(base, claim, value)
}

fn of_logout(claim: &str, value: Value) -> TokenClaims {
    let base = json!({
        "iss": "https://id.example", "aud": ["pagurus"], "sub": "7", "sid": "s", "iat": NOW, "jti": "j",
        "exp": NOW + 120, "events": {LOGOUT_EVENT: {}},
    });
    claims(base, claim, value)
}

#[test]
fn qlt_9_an_id_token_is_refused_with_the_part_that_is_wrong() {
    for (claim, value, word) in [
        ("iss", json!("https://id.example/"), "issuer `https://id.example/`"),
        ("iss", Value::Null, "lacks the claim `iss`"),
        ("iss", json!(5), "claim `iss` in a wrong form"),
        ("aud", json!("other"), "audience `other`"),
        ("aud", json!(["other", "third"]), "audience `other`, `third`"),
        ("aud", json!([]), "audience of nobody"),
        ("aud", json!(["pagurus", "other"]), "`azp`"),
        ("aud", json!(["pagurus", 5]), "claim `aud` in a wrong form"),
        ("aud", Value::Null, "lacks the claim `aud`"),
        ("azp", json!("other"), "client `other`"),
        ("exp", json!(NOW - 60), "expired"),
        ("exp", json!(f64::NAN.to_string()), "claim `exp` in a wrong form"),
        ("exp", json!(1e300), "claim `exp` in a wrong form"),
        ("exp", Value::Null, "lacks the claim `exp`"),
        ("iat", json!(NOW + 61), "not valid yet: its claim `iat`"),
        ("iat", Value::Null, "lacks the claim `iat`"),
        ("nbf", json!(NOW + 61), "not valid yet: its claim `nbf`"),
        ("nonce", json!("m"), "`nonce` that is not the one of this login"),
        ("nonce", Value::Null, "lacks the claim `nonce`"),
        ("sub", Value::Null, "lacks the claim `sub`"),
        ("sub", json!(""), "claim `sub` in a wrong form"),
        ("sub", json!("a\nb"), "claim `sub` in a wrong form"),
        ("sub", json!("7".repeat(256)), "claim `sub` in a wrong form"),
    ] {
        let flaw = of_id(claim, value.clone()).judge_id(&expected(&[]), "n", now()).unwrap_err().to_string();
        assert!(flaw.contains(word), "{claim} {value}: {flaw}");
    }
}

#[test]
fn qlt_9_an_id_token_is_taken_within_a_minute_of_clock_skew() {
    for (claim, value) in [
        ("exp", json!(NOW - 59)),
        ("exp", json!(NOW as f64 + 0.5)),
        ("iat", json!(NOW + 60)),
        ("nbf", json!(NOW + 60)),
        ("nbf", json!(0)),
        ("aud", json!(["pagurus"])),
        ("azp", json!("pagurus")),
        ("email_verified", json!("nonsense")),
    ] {
        assert_eq!(of_id(claim, value).judge_id(&expected(&[]), "n", now()), Ok(()), "{claim}");
    }
    let TokenClaims(mut several) = of_id("azp", json!("pagurus"));
    several.insert("aud".into(), json!(["other", "pagurus"]));
    assert_eq!(TokenClaims(several).judge_id(&expected(&[]), "n", now()), Ok(()));
}

#[test]
fn qlt_9_a_class_of_authentication_is_demanded_where_one_is_set() {
    let asked = expected(&["silver", "gold"]);
    assert_eq!(of_id("acr", json!("gold")).judge_id(&asked, "n", now()), Ok(()));
    let other = of_id("acr", json!("bronze")).judge_id(&asked, "n", now());
    assert_eq!(other, Err(Flaw::Class("bronze".into())));
    let none = of_id("acr", Value::Null).judge_id(&asked, "n", now());
    assert_eq!(none, Err(Flaw::Missing("acr")));
}

#[test]
fn qlt_9_a_logout_token_is_refused_with_the_part_that_is_wrong() {
    for (claim, value, word) in [
        ("iss", json!("https://other.example"), "issuer `https://other.example`"),
        ("aud", json!("other"), "audience `other`"),
        ("events", Value::Null, "event"),
        ("events", json!({"http://schemas.openid.net/event/other": {}}), "event"),
        ("events", json!({LOGOUT_EVENT: true}), "event"),
        ("events", json!(LOGOUT_EVENT), "event"),
        ("nonce", json!("n"), "`nonce`, which only ID tokens may have"),
        ("iat", Value::Null, "lacks the claim `iat`"),
        ("iat", json!(NOW - 361), "too old"),
        ("iat", json!(NOW + 61), "not valid yet"),
        ("exp", json!(NOW - 60), "expired"),
        ("jti", Value::Null, "lacks the claim `jti`"),
        ("jti", json!("j".repeat(256)), "claim `jti` in a wrong form"),
        ("sid", json!(7), "claim `sid` in a wrong form"),
    ] {
        let flaw =
            of_logout(claim, value.clone()).judge_logout(&expected(&[]), now()).unwrap_err().to_string();
        assert!(flaw.contains(word), "{claim} {value}: {flaw}");
    }
    let TokenClaims(mut nobody) = of_logout("sub", Value::Null);
    nobody.remove("sid");
    assert_eq!(TokenClaims(nobody).judge_logout(&expected(&[]), now()), Err(Flaw::NobodyNamed));
}

#[test]
fn qlt_9_a_logout_token_names_a_person_or_a_session() {
    let judged = |sub: Option<&str>, sid: Option<&str>| {
        let owned = |id: Option<&str>| id.map(str::to_owned);
        Ok(JudgedLogout { sub: owned(sub), sid: owned(sid), jti: "j".into() })
    };
    for (claim, value, expected_one) in [
        ("iat", json!(NOW - 360), judged(Some("7"), Some("s"))),
        ("exp", Value::Null, judged(Some("7"), Some("s"))),
        ("sub", Value::Null, judged(None, Some("s"))),
        ("sid", Value::Null, judged(Some("7"), None)),
    ] {
        assert_eq!(of_logout(claim, value).judge_logout(&expected(&[]), now()), expected_one, "{claim}");
    }
}

/// Each is signed by the same provider for the same client: nothing but the claims parts them.
#[test]
fn qlt_9_neither_kind_of_token_passes_for_the_other() {
    let id = of_id("jti", json!("j")).judge_logout(&expected(&[]), now());
    assert_eq!(id, Err(Flaw::NoEvent));
    let logout = of_logout("x", Value::Null).judge_id(&expected(&[]), "n", now());
    assert_eq!(logout, Err(Flaw::Missing("nonce")));
}
