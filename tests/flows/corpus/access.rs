//! Proofs of who asks, as nobody should send them: tokens, cookies, logins; and names of entries of a directory.

use pagurus_harness::nodes::Role;
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;

use super::data::{Piece, files, words};
use super::http;
use super::watch::{CANARY, Watch};
use crate::access::{Caller, Proof, guarded, root, token};
use crate::installation::{LOG, PATIENCE, until, with_actions};

#[tokio::test]
async fn qlt_9_every_proof_of_the_corpus_is_refused_or_taken_as_the_contract_says_and_harms_nobody() {
    let engine = guarded("corpus_access", &Role::ALL, &[]).await;
    let admin = root(&engine).await;
    let text = |proof: Proof| match proof {
        Proof::Token(token) => token,
        other => panic!("{other:?}"),
    };
    let client = text(token(&engine, &admin, "shop", "client").await.1);
    let viewer = text(token(&engine, &admin, "eyes", "viewer").await.1);
    let (id, revoked) = token(&engine, &admin, "gone", "admin").await;
    let caller = Caller::of(&engine, admin.clone());
    assert_eq!(caller.status(Method::DELETE, &format!("/v1/access/tokens/{id}"), None).await, 204);
    let Proof::Session { cookie, csrf } = &admin else { panic!("no session") };
    let scenario = format!("scenario: {CANARY}\nkind: workflow\n{}", with_actions(LOG));
    let applied = admin.on(engine.env().http().put(format!("{}/v1/scenarios/{CANARY}", engine.base())));
    let applied = applied.header("content-type", "application/yaml").body(scenario).send().await.unwrap();
    assert_eq!(applied.status().as_u16(), 201);
    let first = json!({"id": "canary-first", "scenario": CANARY});
    assert_eq!(caller.status(Method::POST, "/v1/orders", Some(&first)).await, 201);
    until("the first order has ended", PATIENCE, async || {
        caller.ask(Method::GET, "/v1/orders/canary-first", None).await.body["status"] == "success"
    })
    .await;
    let words = [
        ("<client>", client.as_str()),
        ("<client, half>", &client[..client.len() / 2]),
        ("<viewer>", &viewer),
        ("<revoked>", &text(revoked)),
        ("<cookie>", cookie),
        ("<csrf>", csrf),
    ];
    let mut watch = Watch::over(&engine, format!("authorization: Bearer {client}\r\n"));
    let address = engine.node(Role::Intake).address();
    let count = http::run(&mut watch, &address, "access", &words).await;
    watch.finish("proofs", count).await;
}

/// Names of entries that are compared.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Names {
    items: Vec<Name>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Name {
    #[serde(deserialize_with = "words")]
    name: String,
    one: Piece,
    other: Piece,
    same: bool,
}

#[test]
fn qlt_9_every_name_of_the_corpus_is_that_of_its_own_entry_alone() {
    let mut wrong = Vec::new();
    for (_, file) in files::<Names>("directory") {
        println!("directory: {} inputs", file.items.len());
        for item in file.items {
            let (one, other) = (item.one.text(""), item.other.text(""));
            if pagurus_access::is_same_dn(&one, &other) != item.same {
                wrong.push(format!("{}: same is {}, by {:.100}", item.name, !item.same, one));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
