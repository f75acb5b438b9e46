//! A table of lies: what is made of each, and the words that its text must have.

use jiff::Timestamp;
use pagurus_access::{LoginFailure, Person};
use serde_json::json;

use super::liar::{ACCESS, DOCUMENT, ELSEWHERE, KEYS, Liar, Lies, Manner, Signer, TOKEN, USERINFO};
use super::{SECRET, login, provider};

/// End of a login.
#[derive(Clone, Copy)]
enum Outcome {
    /// A person with these groups.
    Person(&'static [&'static str]),
    Refused(&'static str),
    Unavailable(&'static str),
}

use Outcome::{Person as Taken, Refused, Unavailable};

type Row = (&'static str, fn(&mut Lies), Outcome);

/// Claims of the ID token.
const CLAIMS: &[Row] = &[
    ("the truth", |_| {}, Taken(&["operators"])),
    (
        "another issuer",
        |l| l.claims = json!({"iss": "https://id.example"}),
        Refused("issuer `https://id.example`"),
    ),
    ("no issuer", |l| l.claims = json!({"iss": null}), Refused("claim `iss`")),
    ("another audience", |l| l.claims = json!({"aud": "shop"}), Refused("audience `shop`")),
    ("no audience", |l| l.claims = json!({"aud": []}), Refused("audience")),
    ("two audiences", |l| l.claims = json!({"aud": ["pagurus", "shop"]}), Refused("`azp`")),
    (
        "another client",
        |l| l.claims = json!({"aud": ["pagurus", "shop"], "azp": "shop"}),
        Refused("client `shop`"),
    ),
    (
        "two audiences, this client",
        |l| l.claims = json!({"aud": ["pagurus", "shop"], "azp": "pagurus"}),
        Taken(&["operators"]),
    ),
    ("another nonce", |l| l.claims = json!({"nonce": "n"}), Refused("`nonce`")),
    ("no nonce", |l| l.claims = json!({"nonce": null}), Refused("`nonce`")),
    ("expired", |l| l.claims = json!({"exp": in_seconds(-61)}), Refused("expired")),
    ("expired by the skew of clocks", |l| l.claims = json!({"exp": in_seconds(-5)}), Taken(&["operators"])),
    ("no end", |l| l.claims = json!({"exp": null}), Refused("claim `exp`")),
    ("not valid yet", |l| l.claims = json!({"nbf": in_seconds(600)}), Refused("not valid yet")),
    ("issued in the future", |l| l.claims = json!({"iat": in_seconds(600)}), Refused("compare the clocks")),
    ("no subject", |l| l.claims = json!({"sub": null}), Refused("claim `sub`")),
    ("a number as groups", |l| l.claims = json!({"groups": 5}), Refused("claim `groups`")),
    ("a number among groups", |l| l.claims = json!({"groups": ["admins", 5]}), Refused("claim `groups`")),
    ("one group", |l| l.claims = json!({"groups": "admins"}), Taken(&["admins"])),
];

/// Keys and signatures.
const SIGNATURES: &[Row] = &[
    (
        "no signature",
        |l| (l.header, l.signer) = (json!({"alg": "none"}), Signer::Nobody),
        Refused("algorithm `none`"),
    ),
    (
        "no algorithm in capitals",
        |l| (l.header, l.signer) = (json!({"alg": "NONE"}), Signer::Nobody),
        Refused("algorithm `NONE`"),
    ),
    ("a listed algorithm without a signature", |l| l.signer = Signer::Nobody, Refused("signature")),
    (
        "the public key as a secret",
        |l| (l.header, l.signer) = (json!({"alg": "HS256", "kid": "k1"}), Signer::PublicKey),
        Refused("algorithm `HS256`"),
    ),
    ("another key of the same name", |l| l.signer = Signer::Key(1), Refused("signature")),
    (
        "an unknown key",
        |l| (l.header, l.signer) = (json!({"alg": "ES256", "kid": "k9"}), Signer::Key(1)),
        Refused("key `k9`"),
    ),
    ("a key of another kind", |l| l.header = json!({"alg": "RS256", "kid": "k1"}), Refused("key `k1`")),
    ("no name, one key", |l| l.header = json!({"alg": "ES256"}), Taken(&["operators"])),
    (
        "no name, two keys",
        |l| (l.header, l.published) = (json!({"alg": "ES256"}), vec![("k1", 0), ("k2", 1)]),
        Refused("names no key"),
    ),
    (
        "changed on the way",
        |l| l.distort = |token| Some(token.replacen(".ey", ".fy", 1)),
        Refused("signature"),
    ),
    (
        "a logout token",
        |l| l.header = json!({"alg": "ES256", "kid": "k1", "typ": "logout+jwt"}),
        Refused("type `logout+jwt`"),
    ),
    (
        "an unknown condition",
        |l| l.header = json!({"alg": "ES256", "kid": "k1", "crit": ["x"], "x": 1}),
        Refused("`crit`"),
    ),
    ("no token", |l| l.distort = |_| None, Refused("no ID token")),
    ("a text as token", |l| l.distort = |_| Some("nonsense".into()), Refused("three parts")),
];

/// Answers of the endpoints.
const ANSWERS: &[Row] = &[
    ("userinfo has the groups", |l| userinfo(l, json!({"sub": "7", "groups": ["night"]})), Taken(&["night"])),
    ("nobody has the groups", |l| userinfo(l, json!({"sub": "7"})), Taken(&[])),
    (
        "userinfo of another person",
        |l| userinfo(l, json!({"sub": "8", "groups": ["admins"]})),
        Refused("subject `8`"),
    ),
    ("userinfo of nobody", |l| userinfo(l, json!({"groups": ["admins"]})), Refused("claim `sub`")),
    ("userinfo is no object", |l| userinfo(l, json!(["admins"])), Unavailable("JSON")),
    (
        "discovery of another issuer",
        |l| l.document = json!({"issuer": "https://id.example"}),
        Refused("issuer `https://id.example`"),
    ),
    (
        "keys without TLS",
        |l| l.document = json!({"jwks_uri": "http://id.example/keys"}),
        Unavailable("`jwks_uri` does not begin with `https://`"),
    ),
    (
        "no place for codes",
        |l| l.document = json!({"token_endpoint": null}),
        Unavailable("`token_endpoint` is missing"),
    ),
    ("no keys", |l| l.document = json!({"jwks_uri": null}), Unavailable("JSON")),
    ("an empty set of keys", |l| l.published = vec![], Refused("key `k1`")),
    (
        "the code is refused",
        |l| answers(l, TOKEN, Manner::Refusal("invalid_grant")),
        Refused("`invalid_grant`"),
    ),
    (
        "the client is refused",
        |l| answers(l, TOKEN, Manner::Refusal("invalid_client")),
        Refused("client_secret"),
    ),
    ("discovery not found", |l| answers(l, DOCUMENT, Manner::Status(404)), Unavailable("404")),
    ("keys fail", |l| answers(l, KEYS, Manner::Status(500)), Unavailable("500")),
    ("tokens fail", |l| answers(l, TOKEN, Manner::Status(500)), Unavailable("500")),
    ("userinfo fails", |l| without_groups(l, Manner::Status(503)), Unavailable("503")),
    ("discovery elsewhere", |l| answers(l, DOCUMENT, Manner::Redirect), Unavailable("redirect")),
    ("keys elsewhere", |l| answers(l, KEYS, Manner::Redirect), Unavailable("redirect")),
    ("tokens elsewhere", |l| answers(l, TOKEN, Manner::Redirect), Unavailable("redirect")),
    ("userinfo elsewhere", |l| without_groups(l, Manner::Redirect), Unavailable("redirect")),
    ("discovery is nonsense", |l| answers(l, DOCUMENT, Manner::Garbage), Unavailable("JSON")),
    ("keys are nonsense", |l| answers(l, KEYS, Manner::Garbage), Unavailable("JSON")),
    ("tokens are nonsense", |l| answers(l, TOKEN, Manner::Garbage), Unavailable("no token response")),
    ("userinfo is nonsense", |l| without_groups(l, Manner::Garbage), Unavailable("JSON")),
    ("endless discovery", |l| answers(l, DOCUMENT, Manner::Huge), Unavailable("1 MiB")),
    ("endless keys", |l| answers(l, KEYS, Manner::Huge), Unavailable("1 MiB")),
    ("endless tokens", |l| answers(l, TOKEN, Manner::Huge), Unavailable("1 MiB")),
    ("endless userinfo", |l| without_groups(l, Manner::Huge), Unavailable("1 MiB")),
];

fn in_seconds(seconds: i64) -> i64 {
    Timestamp::now().as_second() + seconds
}

fn answers(lies: &mut Lies, path: &'static str, manner: Manner) {
    lies.manners.insert(path, manner);
}

fn userinfo(lies: &mut Lies, said: serde_json::Value) {
    (lies.claims, lies.userinfo) = (json!({"groups": null}), said);
}

fn without_groups(lies: &mut Lies, manner: Manner) {
    lies.claims = json!({"groups": null});
    answers(lies, USERINFO, manner);
}

/// Carries out a table; returns what differs from it.
async fn differences(rows: &[Row]) -> Vec<String> {
    let mut differences = Vec::new();
    for (name, lie, expected) in rows {
        let liar = Liar::start().await;
        liar.lie(lie);
        let found = login(&provider(&liar.issuer(), &[])).await.map(|login| login.person);
        let is_expected = match (&found, expected) {
            (Ok(person), Taken(groups)) => {
                let subject = format!("{}#7", liar.issuer());
                let groups = groups.iter().map(|group| (*group).to_owned()).collect();
                *person == Person { subject, name: person.name.clone(), groups }
            }
            (Err(LoginFailure::Refused(text)), Refused(word)) => text.contains(word),
            (Err(LoginFailure::Unavailable(text)), Unavailable(word)) => text.contains(word),
            _ => false,
        };
        let text = found.as_ref().err().map(ToString::to_string).unwrap_or_default();
        let has_secret = [SECRET, ACCESS, "code-of-", "eyJ"].iter().any(|secret| text.contains(secret));
        if !is_expected || has_secret || liar.asked(ELSEWHERE) > 0 {
            differences.push(format!("{name}: {found:?}"));
        }
    }
    differences
}

#[tokio::test]
async fn qlt_9_no_lie_about_a_person_signs_anybody_in() {
    assert_eq!(differences(CLAIMS).await, Vec::<String>::new());
}

#[tokio::test]
async fn qlt_9_no_lie_about_keys_and_signatures_signs_anybody_in() {
    assert_eq!(differences(SIGNATURES).await, Vec::<String>::new());
}

#[tokio::test]
async fn qlt_9_no_answer_of_another_kind_signs_anybody_in() {
    assert_eq!(differences(ANSWERS).await, Vec::<String>::new());
}
