//! Tests of the pure part: tokens, claims and times in, people and flaws out.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod judged;

use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use openidconnect::core::CoreJsonWebKeySet;
use serde_json::{Map, Value, json};

use super::described::{Described, subject};
use super::flaw::{Flaw, TokenKind, shown};
use super::refetch::Refetch;
use super::repeated::TakenTokens;
use super::signed::{Algorithms, SignedToken};
use super::{OidcProvider, PendingLogin};

/// The example of RFC 7515, appendix A.3: header `{"alg":"ES256"}`, no key is named.
const TOKEN: &str = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";

fn key_of_the_example() -> Value {
    json!({
        "kty": "EC", "crv": "P-256",
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    })
}

fn algorithms(names: &[&str]) -> Algorithms {
    Algorithms::of_names(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap()
}

fn claims_with(keys: Value, allowed: &[&str], token: &str) -> Result<Map<String, Value>, Flaw> {
    let keys: CoreJsonWebKeySet = serde_json::from_value(json!({"keys": keys})).unwrap();
    let token = SignedToken::read(token, TokenKind::Id)?;
    token.claims(&keys, &algorithms(allowed)).map(|claims| claims.0)
}

#[test]
fn qlt_9_a_signature_counts_by_one_key_of_the_provider_and_a_listed_algorithm() {
    let key = key_of_the_example();
    let with = |name: &str, value: &str| {
        let mut key = key.clone();
        key[name] = json!(value);
        key
    };
    let not_one = Err(Flaw::NoKeyNamed);
    for (keys, allowed, expected) in [
        (json!([key]), &["RS256", "ES256"][..], Ok(())),
        (json!([with("use", "sig")]), &["ES256"], Ok(())),
        (json!([with("alg", "ES256"), with("alg", "ES384"), with("use", "enc")]), &["ES256"], Ok(())),
        (json!([key, {"kty": "RSA", "n": "AQAB", "e": "AQAB"}, {"kty": "new"}]), &["ES256"], Ok(())),
        (json!([key]), &["RS256"], Err(Flaw::Algorithm("ES256".into()))),
        (json!([]), &["ES256"], not_one.clone()),
        (json!([with("use", "enc")]), &["ES256"], not_one.clone()),
        (json!([with("alg", "ES384")]), &["ES256"], not_one.clone()),
        (json!([key, with("kid", "other")]), &["ES256"], not_one),
        (json!([with("crv", "P-384")]), &["ES256"], Err(Flaw::Signature)),
        (json!([with("y", "AAAA")]), &["ES256"], Err(Flaw::Signature)),
    ] {
        let found = claims_with(keys.clone(), allowed, TOKEN);
        assert_eq!(found.as_ref().err(), expected.as_ref().err(), "{keys} {allowed:?}");
    }
    let claims = claims_with(json!([key]), &["ES256"], TOKEN).unwrap();
    assert_eq!(claims["iss"], "joe");
}

#[test]
fn qlt_9_what_is_no_token_is_refused_before_anything_else() {
    let changed = TOKEN.replacen("eyJpc3Mi", "eyJpc3Nj", 1);
    assert_eq!(claims_with(json!([key_of_the_example()]), &["ES256"], &changed), Err(Flaw::Signature));
    let long = format!("{TOKEN}{}", "A".repeat(64 * 1024));
    let typed = |header: &str| {
        use base64::Engine as _;
        let header = base64::prelude::BASE64_URL_SAFE_NO_PAD.encode(header);
        format!("{header}.e30.AA")
    };
    for (text, word) in [
        ("", "three parts"),
        ("a.b", "three parts"),
        ("a.b.c.d.e", "three parts"),
        ("!.e30.AA", "Base64"),
        ("e30.e30.AA", "algorithm"),
        (&*long, "64 KiB"),
        (&*typed(r#"{"alg":"ES256","crit":["b64"],"b64":false}"#), "crit"),
        (&*typed(r#"{"alg":"ES256","typ":"logout+jwt"}"#), "type `logout+jwt`"),
        (&*typed(r#"{"alg":"ES256","typ":"at+jwt"}"#), "type `at+jwt`"),
    ] {
        let flaw = SignedToken::read(text, TokenKind::Id).err().unwrap().to_string();
        assert!(flaw.contains(word), "{text:.40}: {flaw}");
    }
    let logout = typed(r#"{"alg":"ES256","typ":"application/logout+JWT"}"#);
    assert!(SignedToken::read(&logout, TokenKind::Logout).is_ok());
}

#[test]
fn qlt_9_no_algorithm_with_a_shared_secret_can_be_listed() {
    for name in ["none", "HS256", "HS512", "RS1", "", "A128GCM"] {
        assert_eq!(Algorithms::of_names(&[name.to_owned()]).err().as_deref(), Some(name));
    }
    let all = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"];
    algorithms(&all);
}

#[test]
fn ui_1_a_person_is_described_by_the_first_claims_that_say_it() {
    let described =
        |groups: &str, name: &str| Described { groups_claim: groups.to_owned(), name_claim: name.to_owned() };
    let id = json!({
        "preferred_username": "ann", "name": "Ann A.", "groups": ["a", "b"], "one": "a", "empty": [], "none": null,
        "realm_access": {"roles": ["r"]}, "https://id.example/groups": ["dotted"], "number": 5, "mixed": ["a", 5],
    });
    let userinfo = json!({"groups": ["other"], "more": ["m"], "name": "Ann", "nick": "annie", "none": ["n"]});
    let (id, userinfo) = (id.as_object().unwrap(), userinfo.as_object().unwrap());
    let of =
        |groups: &str, name: &str| described(groups, name).person("https://id.example", "7", &[id, userinfo]);
    for (claim, expected) in [
        ("groups", &["a", "b"][..]),
        ("one", &["a"]),
        ("empty", &[]),
        ("none", &["n"]),
        ("more", &["m"]),
        ("absent", &[]),
        ("realm_access.roles", &["r"]),
        ("realm_access.absent", &[]),
        ("groups.a", &[]),
        ("https://id.example/groups", &["dotted"]),
    ] {
        assert_eq!(of(claim, "name").unwrap().groups, expected, "{claim}");
    }
    for claim in ["number", "mixed", "realm_access"] {
        let flaw = of(claim, "name").unwrap_err().to_string();
        assert!(flaw.contains(&format!("`{claim}`")) && flaw.contains("list of texts"), "{flaw}");
    }
    for (claim, expected) in
        [("preferred_username", "ann"), ("nick", "annie"), ("absent", "Ann A."), ("number", "Ann A.")]
    {
        assert_eq!(of("groups", claim).unwrap().name, expected, "{claim}");
    }
    let nobody = described("groups", "name").person("https://id.example", "7", &[]).unwrap();
    assert_eq!((nobody.name.as_str(), nobody.groups.len()), ("7", 0));
    assert!(described("groups", "x").has_groups(id) && !described("none", "x").has_groups(id));
}

#[test]
fn ui_1_people_of_two_issuers_are_never_the_same() {
    assert_eq!(subject("https://id.example", "7"), "https://id.example#7");
    assert_ne!(subject("https://id.example", "a/b#7"), subject("https://id.example/a", "b#7"));
}

#[test]
fn qlt_9_unknown_keys_are_asked_for_once_in_half_a_minute() {
    let mut refetch = Refetch::default();
    let start = Instant::now();
    assert!(refetch.takes_turn(start));
    refetch.fetched(start);
    let after = |milliseconds: u64| start + Duration::from_millis(milliseconds);
    // A token every 60 ms for a minute.
    let asked: Vec<u64> =
        (0..1000).map(|n| n * 60).filter(|time| refetch.takes_turn_for_key(after(*time))).collect();
    assert_eq!(asked, [0, 30_000]);
}

#[test]
fn qlt_9_what_the_provider_says_of_itself_is_asked_for_every_hour_and_failures_are_not_repeated_at_once() {
    let mut refetch = Refetch::default();
    let start = Instant::now();
    let after = |seconds: u64| start + Duration::from_secs(seconds);
    // Without anything to go on with, each login tries.
    assert!(refetch.takes_turn(start) && refetch.takes_turn(after(1)));
    refetch.fetched(after(1));
    assert!(!refetch.takes_turn(after(3600)));
    assert!(refetch.takes_turn(after(3601)), "an hour has passed");
    assert!(!refetch.takes_turn(after(3630)), "the attempt has failed a moment ago");
    assert!(refetch.takes_turn(after(3631)));
    refetch.fetched(after(3632));
    assert!(!refetch.takes_turn(after(7000)));
}

#[test]
fn qlt_9_a_logout_token_counts_once_and_the_memory_of_them_is_bounded() {
    let (mut taken, now) = (TakenTokens::default(), Timestamp::UNIX_EPOCH);
    let lasts = SignedDuration::from_mins(7);
    assert!(taken.takes("a", lasts, now) && !taken.takes("a", lasts, now));
    let later = now + SignedDuration::from_mins(7);
    assert!(!taken.takes("a", lasts, later), "it could still be repeated");
    assert!(taken.takes("a", lasts, later + SignedDuration::from_secs(1)), "it is too old by itself");
    for number in 0..30_000 {
        assert!(taken.takes(&format!("n{number}"), lasts, later));
    }
    assert!(taken.takes("n0", lasts, later), "the oldest are forgotten first");
    assert!(!taken.takes("n29999", lasts, later) && !taken.takes("n20002", lasts, later));
}

#[test]
fn qlt_15_texts_from_outside_stay_short_and_on_one_line() {
    assert_eq!(shown("a\nb\u{1b}[31m"), r"`a\nb\u{1b}[31m`");
    assert_eq!(shown(&"ü".repeat(101)), format!("`{}…`", "ü".repeat(100)));
    assert_eq!(shown(&"ü".repeat(100)), format!("`{}`", "ü".repeat(100)));
}

/// Compiles only if it holds: servers move what they wait for between threads.
#[test]
fn each_step_may_be_moved_between_threads() {
    fn may_move<T: Send>(_: fn() -> T) {}
    fn steps<'a>(provider: &'a OidcProvider, kept: &'a PendingLogin, text: &'a str) -> impl Send + 'a {
        (provider.start(text), provider.finish(kept, text, text, text), provider.logged_out(text))
    }
    let _ = steps;
    may_move::<OidcProvider>(|| unreachable!("nothing is made"));
}

proptest::proptest! {
    #[test]
    fn qlt_9_no_text_breaks_the_reader_of_tokens_and_none_is_taken_that_is_another(
        text in proptest::prop_oneof!["[A-Za-z0-9_.=-]{0,60}", "\\PC{0,40}"],
        at in 0..TOKEN.len(), letter in "[A-Za-z0-9_.-]",
    ) {
        for kind in [TokenKind::Id, TokenKind::Logout] {
            let _ = SignedToken::read(&text, kind);
        }
        let mut changed = TOKEN.to_owned();
        changed.replace_range(at..=at, &letter);
        let keys: CoreJsonWebKeySet = serde_json::from_value(json!({"keys": [key_of_the_example()]})).unwrap();
        if let Ok(token) = SignedToken::read(&changed, TokenKind::Id) {
            let claims = token.claims(&keys, &algorithms(&["ES256"]));
            // The last letter of a part has bits that mean nothing.
            proptest::prop_assert!(claims.is_err() || changed == TOKEN || at + 1 == TOKEN.len());
        }
    }
}
