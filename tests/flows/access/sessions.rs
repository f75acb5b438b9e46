//! Sessions of people: opened by a password, kept by a cookie, ended.

use pagurus_harness::nodes::Role;
use reqwest::Method;
use serde_json::json;

use super::{Caller, Proof, ROOT, guarded, log_in, root, token};
use crate::installation::{Installation, PATIENCE, until};
use crate::reload::hang_up;

#[tokio::test]
async fn ui_1_a_wrong_name_and_a_wrong_password_look_alike_and_a_blank_one_is_none() {
    let engine = guarded("access_login", &[Role::Intake], &[]).await;
    let (wrong, _) = log_in(&engine, ROOT.0, "wrong").await;
    let (unknown, _) = log_in(&engine, "nobody", "wrong").await;
    assert_eq!((wrong.status, &wrong.body), (401, &unknown.body));
    assert_eq!(wrong.body["detail"], "the name or the password is wrong");
    for (name, password) in [(ROOT.0, ""), (ROOT.0, "  "), ("", ROOT.1), ("ro\not", ROOT.1)] {
        assert_eq!(log_in(&engine, name, password).await.0.status, 401, "{name:?} {password:?}");
    }
    // Each failure is audited with its reason, and no password is.
    let admin = Caller::of(&engine, root(&engine).await);
    let failures = admin.ask(Method::GET, "/v1/audit?action=login_failed", None).await.success().unwrap();
    let failures = failures["items"].as_array().unwrap().clone();
    assert_eq!(failures.len(), 6, "{failures:?}");
    assert!(
        failures
            .iter()
            .any(|entry| entry["detail"]["why"] == "the password of the local administrator is wrong")
    );
    let logins = admin.ask(Method::GET, "/v1/audit?action=login", None).await.success().unwrap();
    assert_eq!(logins["items"][0]["by"]["name"], "local:root");
}

#[tokio::test]
async fn ui_1_guesses_wait_for_longer_and_longer() {
    let engine = guarded("access_throttle", &[Role::Intake], &[]).await;
    for _ in 0..5 {
        assert_eq!(log_in(&engine, ROOT.0, "guess").await.0.status, 401);
    }
    // Each further guess makes the wait longer: on a slow machine the first may be over already.
    let mut further = 0;
    while log_in(&engine, ROOT.0, ROOT.1).await.0.status != 429 {
        assert!(further < 10, "the right password is not throttled, either");
        for _ in 0..5 {
            log_in(&engine, ROOT.0, "guess").await;
        }
        further += 1;
    }
    until("the owner may log in again", PATIENCE, async || {
        log_in(&engine, ROOT.0, ROOT.1).await.0.status == 200
    })
    .await;
}

#[tokio::test]
async fn ui_1_a_change_in_a_session_needs_the_text_of_our_pages_and_a_logout_ends_it() {
    let engine = guarded("access_csrf", &[Role::Intake], &[]).await;
    let proof = root(&engine).await;
    let Proof::Session { cookie, csrf } = &proof else { panic!("{proof:?}") };
    let asked = json!({"name": "shop", "role": "client"});
    let forged = Proof::Session { cookie: cookie.clone(), csrf: "guess".into() };
    let refused =
        Caller::of(&engine, forged.clone()).ask(Method::POST, "/v1/access/tokens", Some(&asked)).await;
    assert!(
        refused.status == 401 && refused.body["detail"].to_string().contains("X-Csrf-Token"),
        "{refused:?}"
    );
    assert_eq!(
        Caller::of(&engine, forged).status(Method::GET, "/v1/orders", None).await,
        200,
        "reading needs none"
    );
    let me = Caller::of(&engine, proof.clone());
    let who = me.ask(Method::GET, "/v1/session", None).await.success().unwrap();
    let expected =
        json!({"mode": "token", "name": "root", "role": "admin", "method": "local", "csrfToken": csrf});
    assert_eq!(who, expected);
    assert_eq!(me.status(Method::DELETE, "/v1/session", None).await, 204);
    assert_eq!(me.status(Method::GET, "/v1/orders", None).await, 401);
    let nobody = me.ask(Method::GET, "/v1/session", None).await.success().unwrap();
    assert_eq!(nobody, json!({"mode": "token"}));
}

#[tokio::test]
async fn ui_1_a_session_ends_when_nothing_is_asked_and_by_an_administrator() {
    let settings = [("PAGURUS__ACCESS__SESSION__IDLE", "3s")];
    let engine = guarded("access_idle", &[Role::Intake], &settings).await;
    let first = root(&engine).await;
    let (_, admin) = token(&engine, &first, "admin", "admin").await;
    let admin = Caller::of(&engine, admin);
    let sessions = admin.ask(Method::GET, "/v1/access/sessions", None).await.success().unwrap();
    assert_eq!(sessions["items"].as_array().unwrap().len(), 1);
    let session = sessions["items"][0].clone();
    assert_eq!(
        (&session["name"], &session["method"], &session["role"]),
        (&json!("root"), &json!("local"), &json!("admin"))
    );
    let path = format!("/v1/access/sessions/{}", session["id"].as_str().unwrap());
    assert_eq!(admin.status(Method::DELETE, &path, None).await, 204);
    assert_eq!(admin.status(Method::DELETE, &path, None).await, 404);
    assert_eq!(Caller::of(&engine, first).status(Method::GET, "/v1/orders", None).await, 401);
    // The time of the last use is kept to the minute, so one that is not used at all ends after three seconds.
    let second = Caller::of(&engine, root(&engine).await);
    let mut asked = std::time::Instant::now();
    until("the session has ended", PATIENCE, async || {
        if asked.elapsed().as_secs() < 4 {
            return false;
        }
        asked = std::time::Instant::now();
        second.status(Method::GET, "/v1/orders", None).await == 401
    })
    .await;
}

#[tokio::test]
async fn ui_1_a_session_is_stored_as_a_digest_ends_after_its_longest_time_and_each_login_has_its_own() {
    let engine = guarded("access_longest", &[Role::Intake], &[]).await;
    let (one, two) = (root(&engine).await, root(&engine).await);
    let secret = |proof: &Proof| match proof {
        Proof::Session { cookie, .. } => cookie.split_once('=').unwrap().1.to_owned(),
        other => panic!("{other:?}"),
    };
    assert_ne!(secret(&one), secret(&two));
    assert_eq!(secret(&one).len(), 64, "256 bits in hexadecimal digits");
    let database = engine.database().await;
    let stored = "SELECT count(*) FROM sessions WHERE digest = sha256(convert_to($1, 'UTF8'))
                   AND ends_at BETWEEN made_at + interval '719 minutes' AND made_at + interval '721 minutes'";
    for proof in [&one, &two] {
        let found: i64 = database.query_one(stored, &[&secret(proof)]).await.unwrap().get(0);
        assert_eq!(found, 1, "it is found by its digest, and lasts for twelve hours");
        let text = "SELECT count(*) FROM sessions s WHERE to_jsonb(s)::text LIKE '%' || $1 || '%'";
        assert_eq!(database.query_one(text, &[&secret(proof)]).await.unwrap().get::<_, i64>(0), 0);
    }
    // However much it is used.
    let caller = Caller::of(&engine, one);
    assert_eq!(caller.status(Method::GET, "/v1/orders", None).await, 200);
    database.batch_execute("UPDATE sessions SET ends_at = now()").await.unwrap();
    until("it is over", PATIENCE, async || caller.status(Method::GET, "/v1/orders", None).await == 401).await;
}

#[tokio::test]
async fn ui_1_a_new_password_of_the_local_administrator_ends_the_sessions_of_the_former_one() {
    let file = |password: &str| {
        let hash = pagurus_access::hash_password(password).unwrap();
        format!("access: {{mode: token, local: {{name: {}, password_hash: '{hash}'}}}}\n", ROOT.0)
    };
    let engine = Installation::configured("access_password", &file(ROOT.1)).await;
    let proof = root(&engine).await;
    let former = Caller::of(&engine, proof.clone());
    let reads = async || former.status(Method::GET, "/v1/orders", None).await;
    assert_eq!(reads().await, 200);
    let (_, program) = token(&engine, &proof, "reports", "viewer").await;
    engine.env().configure(&file("another battery")).unwrap();
    hang_up(&engine);
    until("the session has ended", PATIENCE, async || reads().await == 401).await;
    let ended = "SELECT count(*) FROM audit WHERE kind = 'session' AND action = 'end' AND name = 'settings'";
    let ended: i64 = engine.database().await.query_one(ended, &[]).await.unwrap().get(0);
    assert_eq!(ended, 1, "it is gone, so that the former password cannot bring it back");
    assert_eq!(log_in(&engine, ROOT.0, ROOT.1).await.0.status, 401);
    let (answer, present) = log_in(&engine, ROOT.0, "another battery").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    // Tokens that a session has made stay, and so do the sessions of the new password.
    for proof in [present, program] {
        assert_eq!(Caller::of(&engine, proof).status(Method::GET, "/v1/orders", None).await, 200);
    }
}
