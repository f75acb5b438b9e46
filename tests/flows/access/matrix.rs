//! Every operation of the document, by every role and every way of login.

use pagurus_harness::nodes::Role;
use reqwest::Method;
use serde_json::{Value, json};

use super::{Caller, Proof, guarded, log_in, root, token};

/// True if a role admits to an operation, written down a second time: by the role that it asks for, and by whether it reads.
fn admits(role: &str, needed: &str, reads: bool) -> bool {
    match needed {
        "anyone" => true,
        "viewer" => ["viewer", "operator", "admin"].contains(&role),
        "operator" => ["operator", "admin"].contains(&role),
        "admin" => role == "admin",
        "client" => ["client", "operator", "admin"].contains(&role) || reads && role == "viewer",
        "system" => ["system", "operator", "admin"].contains(&role),
        other => panic!("an unknown role: {other}"),
    }
}

/// Operations of the document: method, path with values in place of its parameters, and the role that it asks for.
fn operations(document: &Value) -> Vec<(Method, String, String)> {
    let mut operations = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        let filled: Vec<&str> =
            path.split('/').map(|part| if part.starts_with('{') { "1" } else { part }).collect();
        for (method, operation) in methods.as_object().unwrap() {
            let role =
                operation["x-role"].as_str().unwrap_or_else(|| panic!("{method} {path} has no x-role"));
            let method = method.to_uppercase().parse().unwrap();
            operations.push((method, filled.join("/"), role.to_owned()));
        }
    }
    operations
}

#[tokio::test]
async fn ui_1_every_operation_asks_every_way_of_login_for_its_role() {
    let engine = guarded("access_matrix", &[Role::Intake, Role::Dispatcher], &[]).await;
    let admin = root(&engine).await;
    let mut callers: Vec<(Option<&str>, Proof)> = vec![(None, Proof::None)];
    for role in ["viewer", "operator", "admin", "client", "system"] {
        callers.push((Some(role), token(&engine, &admin, role, role).await.1));
    }
    let (id, revoked) = token(&engine, &admin, "gone", "admin").await;
    let path = format!("/v1/access/tokens/{id}");
    assert_eq!(Caller::of(&engine, admin.clone()).status(Method::DELETE, &path, None).await, 204);
    callers.push((None, revoked));
    callers.push((None, Proof::Token("pgr_nonsense".into())));
    let strange = Proof::Session { cookie: format!("__Host-pagurus={}", "0".repeat(64)), csrf: "x".into() };
    callers.push((None, strange));
    callers.push((Some("admin"), admin));

    let document = engine.get("/openapi.json").await.unwrap().success().unwrap();
    let operations = operations(&document);
    assert!(operations.len() > 100, "{}", operations.len());
    let mut differences = Vec::new();
    for (method, path, needed) in &operations {
        for (role, proof) in &callers {
            // It would end the session that the next operations need.
            if (method, path.as_str()) == (&Method::DELETE, "/v1/session") {
                continue;
            }
            let reads = *method == Method::GET;
            let body = (!reads && *method != Method::DELETE).then(|| json!({}));
            let status = Caller::of(&engine, proof.clone()).status(method.clone(), path, body.as_ref()).await;
            // The address of a request is proof enough for an answer.
            let expected = match role {
                _ if needed == "anyone" || needed == "system" => None,
                None => Some(401),
                Some(role) => (!admits(role, needed, reads)).then_some(403),
            };
            let holds = match expected {
                Some(expected) => status == expected,
                None => ![401, 403].contains(&status) && status < 500,
            };
            if !holds {
                differences.push(format!("{method} {path} ({needed}) by {role:?}: {status}"));
            }
        }
    }
    assert!(differences.is_empty(), "{} differences: {differences:#?}", differences.len());
}

#[tokio::test]
async fn ui_1_paths_that_have_two_handlers_and_bodies_that_take_more_ask_for_their_roles_too() {
    let engine = guarded("access_also", &[Role::Intake], &[]).await;
    let admin = root(&engine).await;
    let (_, viewer) = token(&engine, &admin, "v", "viewer").await;
    let (_, operator) = token(&engine, &admin, "o", "operator").await;
    for (path, method) in [("/v1/orders/batch", Method::GET), ("/v1/flows/stop", Method::GET)] {
        let asked = |proof: &Proof| Caller::of(&engine, proof.clone());
        assert_eq!(asked(&Proof::None).status(method.clone(), path, None).await, 401, "{path}");
        assert_eq!(asked(&viewer).status(method.clone(), path, None).await, 404, "{path}");
    }
    let change = json!({"priority": "low", "reason": "r"});
    let patched = Caller::of(&engine, viewer).status(Method::PATCH, "/v1/orders/batch", Some(&change)).await;
    assert_eq!(patched, 403);
    // What takes an administrator for one order takes one for many.
    let repair = json!({"action": "repair", "search": {"status": ["fail"]}, "with": {"state": "a"}, "reason": "r", "dryRun": true});
    let refused = Caller::of(&engine, operator).ask(Method::POST, "/v1/operations", Some(&repair)).await;
    assert_eq!(refused.status, 403, "{refused:?}");
    let permitted = Caller::of(&engine, admin).ask(Method::POST, "/v1/operations", Some(&repair)).await;
    assert_eq!(permitted.status, 200, "{permitted:?}");
}

#[tokio::test]
async fn ui_1_an_open_api_asks_nobody_and_says_so() {
    let engine = crate::installation::Installation::only("access_open", &[Role::Intake], &[]).await;
    let who = engine.get("/v1/session").await.unwrap().success().unwrap();
    assert_eq!(who, json!({"mode": "public", "role": "admin", "method": "public"}));
    let (answer, proof) = log_in(&engine, "anna", "secret").await;
    assert!(answer.status == 401 && matches!(proof, Proof::None), "{answer:?}");
    let with_a_stale_token = Caller::of(&engine, Proof::Token("pgr_old".into()));
    assert_eq!(with_a_stale_token.status(Method::GET, "/v1/orders", None).await, 200);
}
